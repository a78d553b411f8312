package landlock

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
)

// policy reads statements as a policy would make them: "read /usr",
// "execute only(/usr/bin/env)", "write optional(${home}/x)".
func policy(statements ...string) *ir.Policy {
	p := &ir.Policy{Name: "p", Version: 1, Targets: []ir.Target{ir.Bwrap}}
	for _, s := range statements {
		verb, path, _ := strings.Cut(s, " ")
		path, only := unwrap(path, "only")
		path, optional := unwrap(path, "optional")
		at, origin := ir.MustPath(path), ir.Origin("p/"+s)
		level := map[string]ir.Level{"deny": ir.Deny, "read": ir.Read, "write": ir.Write}[verb]
		if verb == "execute" {
			p.Execute = append(p.Execute, ir.ExecuteRule{Path: at, Only: only, Optional: optional, Origin: origin})
			continue
		}
		p.Files = append(p.Files, ir.FileRule{Path: at, Level: level, Only: only, Optional: optional, Origin: origin})
	}
	slices.SortFunc(p.Files, func(a, b ir.FileRule) int { return a.Path.Compare(b.Path) })
	slices.SortFunc(p.Execute, func(a, b ir.ExecuteRule) int { return a.Path.Compare(b.Path) })
	return p
}

func unwrap(path, word string) (string, bool) {
	inner, ok := strings.CutPrefix(path, word+"(")
	return strings.TrimSuffix(inner, ")"), ok
}

func TestNeeded(t *testing.T) {
	for _, tt := range []struct {
		name   string
		policy *ir.Policy
		want   bool
	}{
		{"nothing readable", policy(), false},
		{"nothing starts", policy("read /usr"), true},
		{"the same directory", policy("read /usr", "execute /usr"), false},
		{"a directory above", policy("read /usr/bin", "execute /usr"), false},
		{"a directory below", policy("read /usr", "execute /usr/bin"), true},
		{"one node only", policy("read /usr", "execute only(/usr)"), true},
		{"one node of one node", policy("read only(/bin/sh)", "execute only(/bin/sh)"), false},
		{"a hole where nothing starts", policy("read /usr/bin", "read /usr", "deny /usr/share", "execute /usr/bin"), true},
		{"a hole around all that does not start", policy("deny /usr", "read /usr/bin", "execute /usr/bin"), false},
		{"a window", policy("read /usr", "deny /usr/a", "read /usr/a/b", "execute /usr"), false},
		{"a rule that may be unsaid", policy("read /usr", "execute optional(/usr)"), true},
		{"a read that may be unsaid", policy("read /usr", "read optional(/opt)", "execute /usr"), true},
		{"a slot", policy("read /usr", "write ${workspace}", "execute /usr"), true},
		{"a slot that starts", policy("write ${workspace}", "execute ${workspace}"), false},
		{"everything", policy("read /usr", "write ${workspace}", "read ${home}", "execute /"), false},
		{"all is readable, one slot starts", policy("read /", "execute ${workspace}"), true},
		{"all is readable and starts", policy("read /", "execute /"), false},
		{"execution without reading", policy("execute /usr"), false},
		{"the configuration's carve-out", policy("write ${workspace}", "read optional(${config})", "execute ${workspace}"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := Compile(tt.policy)
			if r.Needed() != tt.want {
				t.Errorf("Compile(%s).Needed() = %v, want %v", tt.policy.Text(), r.Needed(), tt.want)
			}
			back, err := Parse(r.JSON())
			if err != nil || !back.Equal(r) {
				t.Errorf("Parse(%s) = %v, %v, want %v", r.JSON(), back, err, r)
			}
			checkAgainstDecide(t, tt.policy, back)
		})
	}
}

// checkAgainstDecide holds the read-back rules to the policy, on each path named
// and below it: what is readable starts exactly when both say so, and nothing that
// the policy allows is refused.
func checkAgainstDecide(t *testing.T, p *ir.Policy, r *Rules) {
	t.Helper()
	d := ir.NewDecider(p)
	named := namedPaths(p)
	for at := range named {
		for _, q := range []ir.Path{at, unnamedBelow(at, named)} {
			read := d.Decide(ir.Request{Kind: ir.ReadRequest, Path: q}).Allow
			want := d.Decide(ir.Request{Kind: ir.ExecuteRequest, Path: q}).Allow
			if got := read && r.Executes(q); got != want {
				t.Errorf("read and Executes(%s) = %v, Decide says %v", q, got, want)
			}
			if read && !r.Reads(q) {
				t.Errorf("Reads(%s) = false, Decide lets it be read", q)
			}
			if d.Decide(ir.Request{Kind: ir.WriteRequest, Path: q}).Allow && !r.Writes(q) {
				t.Errorf("Writes(%s) = false, Decide lets it be written", q)
			}
			if d.Decide(ir.Request{Kind: ir.CreateRequest, Path: q.Join("new")}).Allow && !r.Writes(q) {
				t.Errorf("Writes(%s) = false where names can be made", q)
			}
		}
	}
}

// TestRulesFollowLevels: each list is the policy's rules of one level, whatever
// they are backed by, and what a deny says is no rule.
func TestRulesFollowLevels(t *testing.T) {
	p := policy("read /usr", "deny /usr/share", "write ${workspace}", "read ${workspace}/.git", "write optional(${home}/cache)", "write only(/srv/one)", "execute /usr/bin")
	p.Files = append(p.Files,
		ir.FileRule{Path: ir.MustPath("/proc"), Level: ir.Read, Backing: ir.ProcFS},
		ir.FileRule{Path: ir.MustPath("/dev/null"), Level: ir.Write, Only: true, Backing: ir.DevFS},
		ir.FileRule{Path: ir.MustPath("/dev/shm"), Level: ir.Write, Backing: ir.TmpFS, Size: 1})
	slices.SortFunc(p.Files, func(a, b ir.FileRule) int { return a.Path.Compare(b.Path) })
	r := Compile(p)
	for _, tt := range []struct {
		list string
		have []Rule
		want []string
	}{
		{"execute", r.Execute, []string{"/usr/bin"}},
		{"read", r.Read, []string{"/proc", "/usr", "${workspace}/.git"}},
		{"write", r.Write, []string{"/dev/null", "/dev/shm", "/srv/one", "${home}/cache", "${workspace}"}},
	} {
		var got []string
		for _, rule := range tt.have {
			got = append(got, rule.Path.String())
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s is %q, want %q", tt.list, got, tt.want)
		}
	}
	bound := r.Bind(ir.Binding{}.With(ir.Workspace, ir.MustPath("/w")))
	want := []Rule{
		{ir.MustPath("/dev/null"), true, false, ""}, {ir.MustPath("/dev/shm"), false, false, ""},
		{ir.MustPath("/srv/one"), true, false, "p/write only(/srv/one)"}, {ir.MustPath("/w"), false, false, "p/write ${workspace}"},
	}
	if !slices.Equal(bound.Write, want) {
		t.Errorf("Bind(workspace=/w).Write = %v, want %v", bound.Write, want)
	}
}

func TestExecutes(t *testing.T) {
	r := Compile(policy("read /", "execute /usr/bin", "execute only(/opt/tool)", "execute ${workspace}/bin", "execute optional(/srv)"))
	for path, want := range map[string]bool{
		"/usr/bin": true, "/usr/bin/env": true, "/usr/bin/a/b": true, "/usr": false, "/usr/binary": false, "/": false,
		"/opt/tool": true, "/opt/tool/x": false, "/srv/x": true,
		"${workspace}/bin/x": true, "${workspace}/x": false, "${home}/bin/x": false,
	} {
		if got := r.Executes(ir.MustPath(path)); got != want {
			t.Errorf("Executes(%s) = %v, want %v", path, got, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	good := `{"execute":[{"only":true,"origin":"o","path":"/a"},{"origin":"o","path":"/b"}],"levels":[{"abi":2,"files":["execute","write_file",` +
		`"read_file","read_dir","remove_dir","remove_file","make_char","make_dir","make_reg","make_sock","make_fifo","make_block","make_sym","refer"]},` +
		`{"abi":3,"files":["truncate"]},{"abi":5,"files":["ioctl_dev"]},{"abi":6,"scopes":["abstract_unix_socket","signal"]},` +
		`{"abi":7,"logging":["log_subdomains_off"]}],"needs":2,"policy":"p","read":[{"origin":"o","path":"/usr"}],"schema":"obspc.landlock/v2",` +
		`"write":[{"origin":"o","path":"${workspace}"}]}`
	if _, err := Parse([]byte(good)); err != nil {
		t.Fatalf("Parse(%s) = %v", good, err)
	}
	for _, tt := range []struct{ name, from, to string }{
		{"the schema before", "landlock/v2", "landlock/v1"},
		{"another ABI needed", `"needs":2`, `"needs":1`},
		{"none needed, with rules for execution", `"needs":2`, `"needs":0`},
		{"none needed, and execution handled", `"needs":2,`, `"needs":0,`},
		{"one right less", `"execute","write_file"`, `"write_file"`},
		{"another right", `"truncate"]`, `"bind_tcp"]`},
		{"rights swapped", `"execute","write_file"`, `"write_file","execute"`},
		{"a level less", `{"abi":3,"files":["truncate"]},`, ``},
		{"a level too early", `{"abi":3,"files":["truncate"]}`, `{"abi":2,"files":["truncate"]}`},
		{"a level too late", `{"abi":5,"files"`, `{"abi":6,"files"`},
		{"a scope less", `["abstract_unix_socket","signal"]`, `["signal"]`},
		{"another logging", `["log_subdomains_off"]`, `["log_new_exec_on"]`},
		{"a policy name that is a path", `"policy":"p"`, `"policy":"../p"`},
		{"the same path twice", `"/b"`, `"/a"`},
		{"paths out of order", `"/a"`, `"/c"`},
		{"a path that is not clean", `"/b"`, `"/b/"`},
		{"a path with ..", `"/b"`, `"/b/../etc"`},
		{"a relative path", `"/b"`, `"b"`},
		{"an unknown slot", "${workspace}", "${root}"},
		{"an unknown member", `"policy"`, `"x":1,"policy"`},
		{"a false that is stated", `{"only":true`, `{"only":false`},
		{"white space", `,"policy"`, `, "policy"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bad := strings.Replace(good, tt.from, tt.to, 1)
			if bad == good {
				t.Fatalf("%q is not in the twin", tt.from)
			}
			if r, err := Parse([]byte(bad)); err == nil {
				t.Errorf("Parse(%s) = %v, want an error", bad, r)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(Compile(policy("read /usr", "write ${workspace}", "execute /usr/bin", "execute only(/bin/sh)")).JSON())
	f.Add(Compile(policy("read /usr", "execute /usr")).JSON())
	f.Add([]byte(`{"levels":[],"needs":0,"policy":"p","schema":"obspc.landlock/v2"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Parse(data)
		if err != nil {
			return
		}
		if again := r.JSON(); !bytes.Equal(again, data) {
			t.Errorf("Parse(%q).JSON() = %q", data, again)
		}
		b := ir.Binding{}.With(ir.Workspace, ir.MustPath("/w")).With(ir.Home, ir.MustPath("/h")).With(ir.Tmp, ir.MustPath("/tmp"))
		bound := r.Bind(b)
		for _, rule := range slices.Concat(bound.Execute, bound.Read, bound.Write) {
			if rule.Path.Root() != ir.Host {
				t.Errorf("Bind of %q gives %s", data, rule.Path)
			}
		}
	})
}
