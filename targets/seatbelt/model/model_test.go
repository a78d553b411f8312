package model_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/seatbelt"
	"github.com/obspc/obspc/targets/seatbelt/model"
	"github.com/obspc/obspc/targets/seatbelt/operations"
	"github.com/obspc/obspc/targets/seatbelt/sbpl"
	"github.com/obspc/obspc/testdata/cases"
)

// supported are the releases that obspc writes profiles for.
var supported = []operations.Release{operations.Catalina, operations.Monterey, operations.Ventura, operations.Sonoma}

// binding is where these tests put the slots; guarded has a configuration directory
// inside the workspace too.
var (
	binding = ir.Binding{}.
		With(ir.Home, ir.MustPath("/Users/u")).
		With(ir.Tmp, ir.MustPath("/private/var/folders/zz/T/run")).
		With(ir.Workspace, ir.MustPath("/Users/u/src/w"))
	guarded = binding.With(ir.Config, ir.MustPath("/Users/u/src/w/.obspc"))
)

// canonical is the policy as a Mac's kernel sees it: bound, with the paths that lead
// through links of / resolved, and less what Linux alone has.
func canonical(t *testing.T, p *ir.Policy, b ir.Binding) *ir.Policy {
	t.Helper()
	q, err := p.Bind(b)
	if err != nil {
		t.Fatal(err)
	}
	q.Files = slices.DeleteFunc(q.Files, func(r ir.FileRule) bool { return r.Path.Root() == ir.Config || linuxOnly(r) })
	for i := range q.Files {
		q.Files[i].Path = resolved(q.Files[i].Path)
	}
	for i := range q.Execute {
		q.Execute[i].Path = resolved(q.Execute[i].Path)
	}
	return q
}

// noDevices are nodes of the minimal /dev that macOS lacks (its devfs, hier(7)).
var noDevices = []string{"/dev/core", "/dev/full", "/dev/pts", "/dev/shm"}

// linuxOnly are rules without a thing behind them on a Mac.
func linuxOnly(r ir.FileRule) bool {
	return r.Backing == ir.ProcFS || r.Backing != ir.HostFile && slices.Contains(noDevices, r.Path.String())
}

func resolved(p ir.Path) ir.Path { return ir.MustPath(sbpl.Canonical(p.String())) }

// classes are paths that stand for all: each path that a rule names, what lies above
// it, a name below and one beside that no rule knows.
func classes(q *ir.Policy) []ir.Path {
	var out []ir.Path
	add := func(p ir.Path) {
		for up := range p.Upward() {
			out = append(out, up, up.Join("unnamed-star"), up.Join("unnamed-star/deep"))
			if up.Rel() != "" {
				out = append(out, ir.MustPath(up.String()+"x"))
			}
		}
	}
	for _, r := range q.Files {
		add(r.Path)
	}
	for _, r := range q.Execute {
		add(r.Path)
	}
	add(ir.MustPath("/unnamed/elsewhere"))
	slices.SortFunc(out, ir.Path.Compare)
	return slices.Compact(out)
}

// requests are every word about every class; the words about two paths pair each
// class with its neighbours in order and with one that is mostly free.
func requests(q *ir.Policy) (out []ir.Request) {
	paths := classes(q)
	free := binding.Path(ir.RootPath(ir.Workspace)).Join("free-name")
	for i, p := range paths {
		for _, kind := range ir.FileRequests() {
			out = append(out, ir.Request{Kind: kind, Path: p})
		}
		for _, other := range []ir.Path{free, paths[(i+1)%len(paths)], paths[(i+7)%len(paths)]} {
			for _, kind := range []ir.RequestKind{ir.RenameRequest, ir.LinkRequest} {
				out = append(out, ir.Request{Kind: kind, Path: p, To: other}, ir.Request{Kind: kind, Path: other, To: p})
			}
		}
	}
	for _, host := range []string{"api.example.com:443", "192.0.2.7:80", "127.0.0.1:8080", "[::1]:22", "localhost:80"} {
		if r, err := ir.ParseRequest([]string{"connect", host}); err == nil {
			out = append(out, r)
		}
	}
	return out
}

// tally counts requests by word and by what the policy says.
type tally map[ir.RequestKind]*[2]int

func (c tally) add(kind ir.RequestKind, allow bool) {
	if c[kind] == nil {
		c[kind] = &[2]int{}
	}
	i := 0
	if allow {
		i = 1
	}
	c[kind][i]++
}

// mix holds the requests to a mix that could show a fault of either kind.
func (c tally) mix(t *testing.T) {
	t.Helper()
	for _, kind := range ir.RequestKinds() {
		least := map[ir.RequestKind]int{ir.ConnectRequest: 0, ir.ConnectUnixRequest: 10}
		want, few := least[kind]
		if !few {
			want = 50
		}
		if n := c[kind]; n == nil || n[0] < 50 || n[1] < want {
			t.Errorf("%s: %v requests denied and allowed, want at least 50 and %d", kind, n, want)
		}
	}
}

// single are the words whose operations must all be decided alike: a refused write
// is refused in each of its ways.
var single = []ir.RequestKind{ir.ReadRequest, ir.ListRequest, ir.StatRequest, ir.WriteRequest, ir.CreateRequest, ir.RemoveRequest, ir.ExecuteRequest}

// same reports whether the model's answer is the policy's.
func same(t *testing.T, m *model.Model, request ir.Request, allow bool) bool {
	t.Helper()
	if got, ok := m.Decide(request); !ok || got != allow {
		return false
	}
	if !slices.Contains(single, request.Kind) {
		return true
	}
	replies, err := m.Replies(request)
	if err != nil {
		t.Fatal(err)
	}
	return !slices.ContainsFunc(replies, func(r model.Reply) bool { return (r.Decision == sbpl.Allow) != allow })
}

// agree holds a profile against the policy that it was made of.
func agree(t *testing.T, name string, p *ir.Policy, profile []byte, b ir.Binding, r operations.Release, count tally) {
	t.Helper()
	m, err := model.Read(name, profile, b, r)
	if err != nil {
		t.Fatalf("%s: %v", r, err)
	}
	q := canonical(t, p, b)
	q.Endpoints = nil // what they allow is the proxy's to decide
	decider := ir.NewDecider(q)
	faults := 0
	for _, request := range requests(q) {
		want := decider.Decide(request)
		count.add(request.Kind, want.Allow)
		if same(t, m, request, want.Allow) {
			continue
		}
		if faults++; faults <= 5 {
			t.Errorf("macOS %s: %s: the policy says %v (%s), the profile\n%s", r, request, want.Allow, want.Reason, m.Explain(request))
		}
	}
	if faults > 5 {
		t.Errorf("macOS %s: %d requests disagree", r, faults)
	}
}

// TestCorpus holds the profiles of the corpus to their policies.
func TestCorpus(t *testing.T) {
	cases, err := filepath.Glob("../../../testdata/corpus/*/seatbelt.sb")
	if err != nil || len(cases) < 12 {
		t.Fatalf("%d profiles in the corpus, %v", len(cases), err)
	}
	count := tally{}
	for _, file := range cases {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			p, err := ir.ParseJSON(read(t, filepath.Join(filepath.Dir(file), "ir.json")))
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range supported {
				agree(t, file, p, read(t, file), binding, r, count)
			}
			// The configuration is only named when a write covers it.
			inside := ir.Request{Kind: ir.WriteRequest, Path: ir.MustPath("/Users/u/src/w/.obspc")}
			if ir.Decide(canonical(t, p, binding), inside).Allow && p.Admit(guarded) == nil {
				agree(t, file, p, read(t, file), guarded, operations.Newest, count)
			}
			systemNames(t, p, read(t, file))
		})
	}
	count.mix(t)
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// systemNames holds the profile to the policy's names of services and the like.
func systemNames(t *testing.T, p *ir.Policy, text []byte) {
	t.Helper()
	for _, r := range supported {
		profile, err := sbpl.Parse("p", text, sbpl.Options{Release: r, Params: model.Params(binding)})
		if err != nil {
			t.Fatal(err)
		}
		for _, list := range []struct {
			op, filter string
			names      []ir.Name
		}{
			{"mach-lookup", "global-name", p.System.Services},
			{"sysctl-read", "sysctl-name", p.System.Sysctls},
			{"ipc-posix-shm-read-data", "ipc-posix-name", p.System.IPC},
			{"iokit-open", "iokit-registry-entry-class", p.System.IOKit},
		} {
			for _, n := range list.names {
				for name, want := range map[string]sbpl.Decision{n.Name: sbpl.Allow, n.Name + "x": sbpl.Deny} {
					op := list.op
					if op == "iokit-open" && r >= operations.Monterey {
						op = "iokit-open-user-client"
					}
					if got, err := profile.Evaluate(op, sbpl.Context{list.filter: {name}}); err != nil || got.Decision != want {
						t.Errorf("macOS %s: %s %s: %v, %v; want %v", r, list.op, name, got.Decision, err, want)
					}
				}
			}
		}
	}
}

// golden are the policies of the emitter's own profiles, in the words of
// decisions.tsv; only marks paths that stand for themselves alone.
var golden = map[string]struct {
	statements string
	only       []string
	unix       bool
}{
	"nothing":   {},
	"read":      {statements: "read=[/usr] execute=[/usr/bin]"},
	"carve-out": {statements: "write=[W] read=[W/.git/hooks]"},
	"hole":      {statements: "write=[W] deny=[W/secret] read=[W/secret/pub]"},
	"home":      {statements: "read=[/, H] deny=[H/.ssh, /etc] write=[W]"},
	"links":     {statements: "read=[/etc/hosts, /private/etc/hosts, /var/db/timezone] write=[/tmp/x]"},
	"execute":   {statements: "read=[/opt, H/tools, /usr/lib, /] deny=[/opt/x] execute=[/opt, H, W/bin] write=[W]", only: []string{"/"}},
	"unix":      {statements: "read=[/private/var/run, W] deny=[/private/var/run/secret]", unix: true},
	"system":    {statements: "read=[/usr/lib]"},
	"tmp-config": {statements: "write=[W, T, /dev/null] read=[/dev, /dev/fd]",
		only: []string{"/dev", "/dev/null"}},
	"odd-names": {statements: ""},
}

// TestGolden holds the emitter's own profiles to their policies.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("../testdata/*.sb")
	if err != nil || len(files) != len(golden) {
		t.Fatalf("%d profiles, %v; want %d", len(files), err, len(golden))
	}
	count := tally{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".sb")
		t.Run(name, func(t *testing.T) {
			g, ok := golden[name]
			if !ok {
				t.Fatalf("no policy is known for %s", file)
			}
			p := policy(t, g.statements)
			p.Unix.Visible = g.unix
			for i := range p.Files {
				p.Files[i].Only = slices.Contains(g.only, p.Files[i].Path.String())
			}
			for _, r := range supported {
				agree(t, file, p, read(t, file), binding, r, count)
			}
		})
	}
	count.mix(t)
}

// TestDecisions compiles the black-box cases and asks the profile.
func TestDecisions(t *testing.T) {
	rows, err := cases.Rows("decisions.tsv", 4)
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, c := range rows {
		if strings.Contains(c[1], "endpoint") {
			continue
		}
		tried++
		p := policy(t, c[1])
		profile, err := seatbelt.Compile(p)
		if err != nil {
			t.Fatal(err)
		}
		words := requestOf(c[2])
		request, err := ir.ParseRequest(words)
		if err != nil {
			t.Fatal(err)
		}
		request.Path, request.To = binding.Path(request.Path), binding.Path(request.To)
		for _, r := range supported {
			m, err := model.Read(c[0], profile, binding, r)
			if err != nil {
				t.Fatal(err)
			}
			if got, ok := m.Decide(request); !ok || got != (c[3] == "allow") {
				t.Errorf("%s on %s: %s: %v, %v; want %s\n%s", c[0], r, request, got, ok, c[3], m.Explain(request))
			}
		}
	}
	if tried < 37 {
		t.Errorf("%d cases tried, want at least 37", tried)
	}
}

// policy reads the second column of decisions.tsv: words and lists of paths, in which
// W is the workspace and H the home.
func policy(t *testing.T, statements string) *ir.Policy {
	t.Helper()
	p := &ir.Policy{Name: "p", Version: 1, Targets: []ir.Target{ir.Seatbelt}, Unix: ir.UnixRule{Origin: "builtin/unix"}}
	levels := map[string]ir.Level{"deny": ir.Deny, "read": ir.Read, "write": ir.Write}
	for rest := statements; ; {
		word, after, ok := strings.Cut(rest, "=[")
		if !ok {
			break
		}
		list, next, _ := strings.Cut(after, "]")
		word, rest = strings.TrimSpace(word), next
		for item := range strings.SplitSeq(list, ", ") {
			if strings.HasPrefix(item, `"`) {
				item = strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(strings.Trim(item, `"`))
			}
			path, origin := ir.MustPath(slots(item)), ir.Origin("p/filesystem."+word+"[0]")
			if word == "execute" {
				p.Execute = append(p.Execute, ir.ExecuteRule{Path: path, Origin: origin})
				continue
			}
			p.Files = append(p.Files, ir.FileRule{Path: path, Level: levels[word], Origin: origin})
		}
	}
	slices.SortFunc(p.Files, func(a, b ir.FileRule) int { return a.Path.Compare(b.Path) })
	slices.SortFunc(p.Execute, func(a, b ir.ExecuteRule) int { return a.Path.Compare(b.Path) })
	return p
}

// slots writes W, H and T as slots.
func slots(item string) string {
	for letter, slot := range map[string]string{"W": "${workspace}", "H": "${home}", "T": "${tmp}"} {
		if rest, ok := strings.CutPrefix(item, letter); ok && (rest == "" || rest[0] == '/') {
			return slot + rest
		}
	}
	return item
}

func requestOf(text string) []string {
	word, rest, _ := strings.Cut(text, " ")
	objects := []string{rest}
	if word == "rename" || word == "link" {
		objects = strings.Fields(rest)
	}
	out := []string{word}
	for _, o := range objects {
		out = append(out, slots(o))
	}
	return out
}
