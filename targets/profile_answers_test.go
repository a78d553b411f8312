package targets

import (
	"slices"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/seatbelt/model"
	"github.com/obspc/obspc/targets/seatbelt/operations"
	"github.com/obspc/obspc/targets/seatbelt/sbpl"
)

// profileAnswers asks the general evaluator of profiles, which shares nothing with the
// proof, whether a changed profile still answers every question as before.
type profileAnswers struct {
	params    map[string]string
	questions []sbplQuestion
	before    []sbpl.Decision
}

type sbplQuestion struct {
	operation string
	known     sbpl.Context
}

// profileWords are the properties that requests may have besides, by the names of
// their filters, with values that rules of the samples name and one that none does.
var profileWords = map[string][]string{
	"target": {"self", "same-sandbox", "others"}, "socket-domain": {"AF_UNIX", "AF_INET", "AF_INET6", "AF_ROUTE"}, "socket-type": {"SOCK_STREAM", "SOCK_DGRAM"},
	"mac-policy-name": {"AMFI", "Sandbox", "x"},
	"global-name":     {"com.example.service", "com.example.x", "x"}, "sysctl-name": {"hw.ncpu", "x"}, "ipc-posix-name": {"example.shm", "x"},
	"iokit-registry-entry-class": {"ExampleClient", "x"}, "path": {"/x"}, "remote": nil,
	"local": {"tcp 127.0.0.1:80", "tcp [::1]:80", "udp 127.0.0.1:80", "tcp 192.0.2.1:80"}, "extension": nil, "vnode-type": nil, "process-path": nil,
}

// nested is a binding with each slot inside another, and the configuration in the
// first write of the policy.
func nested(p *ir.Policy) ir.Binding {
	b := ir.Binding{}.With(ir.Home, ir.MustPath("/Users/u")).With(ir.Tmp, ir.MustPath("/Users/u/t")).With(ir.Workspace, ir.MustPath("/Users/u/src/w"))
	for _, r := range p.Files {
		if r.Level == ir.Write && !r.Only && r.Backing == ir.HostFile {
			at := ir.MustPath(sbpl.Canonical(b.Path(r.Path).String()))
			return b.With(ir.Config, at.Join("in/.c"))
		}
	}
	return b
}

func newProfileAnswers(t *testing.T, p *ir.Policy, profile string) *profileAnswers {
	b := nested(p)
	s := &profileAnswers{params: model.Params(b)}
	paths := map[string]bool{"/foreign/x": true}
	note := func(at ir.Path) {
		for q := range b.Path(at).Upward() {
			for _, path := range []string{q.String(), q.Join("_").String(), strings.ToUpper(q.String())} {
				paths[sbpl.Canonical(path)] = true
			}
		}
	}
	for _, r := range p.Files {
		note(r.Path)
	}
	for _, r := range p.Execute {
		note(r.Path)
	}
	for _, o := range operations.All() {
		if !o.In(operations.Newest) {
			continue
		}
		ask := func(filter, value string) {
			known := sbpl.Context{filter: {value}}
			for name := range profileWords {
				if name != filter {
					known[name] = nil // the request has no such property
				}
			}
			s.questions = append(s.questions, sbplQuestion{o.Name, known})
		}
		if strings.HasPrefix(o.Name, "file") || strings.HasPrefix(o.Name, "process-exec") || o.Name == "network-outbound" {
			for path := range paths {
				ask("path", path)
			}
			for _, to := range []string{
				"tcp 192.0.2.1:443", "tcp 192.0.2.1:49152", "tcp 127.0.0.1:49152", "tcp [::1]:49152", "tcp 127.0.0.1:80", "tcp [::1]:80", "udp 127.0.0.1:49152",
			} {
				ask("remote", to)
			}
			continue
		}
		if o.Name == "system-socket" {
			for _, family := range profileWords["socket-domain"] {
				for _, kind := range profileWords["socket-type"] {
					ask("socket-domain", family)
					s.questions[len(s.questions)-1].known["socket-type"] = []string{kind}
				}
			}
		}
		for filter, values := range profileWords {
			for _, value := range values {
				ask(filter, value)
			}
		}
	}
	var ok bool
	if s.before, ok = s.answers(profile); !ok {
		t.Fatalf("the general reader does not read\n%s", profile)
	}
	return s
}

func (s *profileAnswers) answers(profile string) ([]sbpl.Decision, bool) {
	read, err := sbpl.Parse(seatbeltFile, []byte(profile), sbpl.Options{Params: s.params})
	if err != nil {
		return nil, false
	}
	out := make([]sbpl.Decision, len(s.questions))
	for i, q := range s.questions {
		answer, err := read.Evaluate(q.operation, q.known)
		if err != nil {
			return nil, false
		}
		out[i] = answer.Decision
	}
	return out, true
}

func (s *profileAnswers) has(profile string) bool {
	after, ok := s.answers(profile)
	return ok && slices.Equal(s.before, after)
}
