package seatbelt

import (
	"slices"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/testdata/cases"
)

// asked are the leaves that a request word needs, all of them.
var asked = map[ir.RequestKind][]string{
	ir.ReadRequest:    readOperations,
	ir.ListRequest:    {"file-read-data"},
	ir.StatRequest:    seenOperations,
	ir.CreateRequest:  {"file-write-create"},
	ir.RemoveRequest:  {"file-write-unlink"},
	ir.ExecuteRequest: executeOperations,
	ir.WriteRequest: {
		"file-write-data", "file-write-mode", "file-write-owner", "file-write-flags", "file-write-times",
		"file-write-xattr", "file-write-acl", "file-write-finderinfo", "file-link", "file-clone",
	},
}

// permits answers a request about bound paths as the kernel would. Leaves of one
// word that disagree are an error: the levels would not be of one granularity.
func (m *machine) permits(t *testing.T, r ir.Request) bool {
	t.Helper()
	path := kernelPath(r.Path)
	switch r.Kind {
	case ir.RenameRequest:
		return m.allows("file-write-unlink", event{Path: path}) && m.allows("file-write-create", event{Path: kernelPath(r.To)})
	case ir.LinkRequest:
		to := event{Path: kernelPath(r.To)}
		return m.allows("file-link", event{Path: path}) && m.allows("file-link", to) && m.allows("file-write-create", to)
	case ir.ConnectUnixRequest:
		return m.allows("system-socket", event{Words: map[string]string{"socket-domain": "AF_UNIX"}}) &&
			m.allows("network-outbound", event{Path: path})
	}
	answers := map[bool]bool{}
	all := true
	for _, op := range asked[r.Kind] {
		one := m.allows(op, event{Path: path})
		answers[one], all = true, all && one
	}
	seen := r.Kind == ir.ReadRequest && m.allows("file-read-metadata", event{Path: path})
	if len(answers) > 1 && !seen {
		t.Errorf("%s: operations of %s disagree", m.release, r)
	}
	return all
}

// kernelPath is p as the kernel spells it.
func kernelPath(p ir.Path) string {
	p, _, _ = resolve(p)
	return p.String()
}

// bound is where these tests put the slots.
var bound = ir.Binding{}.
	With(ir.Home, ir.MustPath("/Users/u")).
	With(ir.Tmp, ir.MustPath("/private/var/folders/zz/T/run")).
	With(ir.Workspace, ir.MustPath("/Users/u/src/w"))

// arguments are the -D parameters of a binding.
func arguments(b ir.Binding) map[string]string {
	out := map[string]string{}
	for slot, name := range parameters {
		if at, ok := b.At(slot); ok {
			out[name] = at.String()
		}
	}
	return out
}

// machines loads the profile of p on every release.
func machines(t *testing.T, p *ir.Policy, b ir.Binding) []*machine {
	t.Helper()
	var out []*machine
	for r := range numReleases {
		out = append(out, onRelease(t, p, b, release(r)))
	}
	return out
}

// onRelease loads the profile of p on one release.
func onRelease(t *testing.T, p *ir.Policy, b ir.Binding, r release) *machine {
	t.Helper()
	profile, err := Compile(p)
	if err != nil {
		t.Fatalf("Compile(%s) = %v", p.Name, err)
	}
	m, err := load(profile, r, arguments(b))
	if err != nil {
		t.Fatalf("%v in\n%s", err, profile)
	}
	return m
}

// statements reads the second column of decisions.tsv.
func statements(text string) *ir.Policy {
	p := &ir.Policy{Name: "p", Version: 1, Targets: []ir.Target{ir.Seatbelt}}
	text, _, _ = strings.Cut(text, " (")
	for text != "" && strings.Contains(text, "=[") {
		word, rest, _ := strings.Cut(text, "=[")
		list, rest, _ := strings.Cut(rest, "]")
		for item := range strings.SplitSeq(list, ", ") {
			path := slotPath(unquoted(item))
			origin := ir.Origin("p/filesystem." + word + "[0]")
			switch word = strings.TrimSpace(word); word {
			case "execute":
				p.Execute = append(p.Execute, ir.ExecuteRule{Path: path, Origin: origin})
			default:
				level := map[string]ir.Level{"deny": ir.Deny, "read": ir.Read, "write": ir.Write}[word]
				p.Files = append(p.Files, ir.FileRule{Path: path, Level: level, Origin: origin})
			}
		}
		text = strings.TrimSpace(rest)
	}
	sortRules(p)
	return p
}

func sortRules(p *ir.Policy) {
	slices.SortFunc(p.Files, func(a, b ir.FileRule) int { return a.Path.Compare(b.Path) })
	slices.SortFunc(p.Execute, func(a, b ir.ExecuteRule) int { return a.Path.Compare(b.Path) })
}

func unquoted(item string) string {
	if strings.HasPrefix(item, `"`) {
		return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(item[1 : len(item)-1])
	}
	return item
}

func slotPath(text string) ir.Path {
	for short, slot := range map[string]string{"W": "${workspace}", "H": "${home}"} {
		if text == short || strings.HasPrefix(text, short+"/") {
			text = slot + text[1:]
		}
	}
	return ir.MustPath(text)
}

// request reads the third column: the paths may hold spaces.
func request(t *testing.T, text string) ir.Request {
	t.Helper()
	word, rest, _ := strings.Cut(text, " ")
	r := ir.Request{Kind: ir.RequestKind(word)}
	if r.Kind == ir.RenameRequest || r.Kind == ir.LinkRequest {
		first, second, _ := strings.Cut(rest, " ")
		r.Path, r.To = slotPath(first), slotPath(second)
		return r
	}
	r.Path = slotPath(rest)
	return r
}

func TestDecisions(t *testing.T) {
	rows, err := cases.Rows("decisions.tsv", 4)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, c := range rows {
		// The proxy's answers (endpoints) are no matter of a profile.
		if strings.HasPrefix(c[1], "endpoint") {
			continue
		}
		asked++
		t.Run(c[0], func(t *testing.T) {
			p, r, want := statements(c[1]), request(t, c[2]), c[3] == "allow"
			if got := ir.Decide(p, r); got.Allow != want {
				t.Errorf("Decide(%s, %s) = %v, want %s", c[1], r, got.Allow, c[3])
			}
			r.Path, r.To = bound.Path(r.Path), bound.Path(r.To)
			for _, m := range machines(t, p, bound) {
				if got := m.permits(t, r); got != want {
					t.Errorf("%s: profile of %s allows %s: %v, want %s", m.release, c[1], r, got, c[3])
				}
			}
		})
	}
	if asked < 37 {
		t.Errorf("%d cases were asked", asked)
	}
}
