package propose_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/obspc/obspc/compiler"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/compiler/ir/propose"
	"github.com/obspc/obspc/lang"
)

// body is what the tests' policy says.
const body = `
  filesystem {
    read    = ["/usr", "/files", only("/opt"), "${home}/notes"]
    write   = [workspace, "/srv/out"]
    deny    = ["${workspace}/.hidden", "/usr/secret"]
    execute = ["/usr/bin/tool"]
  }`

const carveOut = `
  filesystem {
    write = [workspace]
    read  = ["${workspace}/kept"]
  }`

// compiled is a policy of HCL text, with what is to be merged in as a template.
func compiled(t testing.TB, body, more string) *ir.Policy {
	t.Helper()
	text := "policy \"p\" {\n  version = 1\n  extends = [template.more]\n" + body + "\n}\ntemplate \"more\" {\n" + more + "}\n"
	config, diags := lang.Parse(lang.Sources{"p.policy.hcl": []byte(text)}, lang.Options{})
	if diags.HasErrors() {
		t.Fatalf("%s\n%v", text, diags)
	}
	results, diags := compiler.Compile(config, compiler.Options{})
	if diags.HasErrors() {
		t.Fatalf("%s\n%v", text, diags)
	}
	return results[0].Policy
}

var binding = ir.Binding{}.With(ir.Workspace, ir.MustPath("/home/u/work")).With(ir.Home, ir.MustPath("/home/u")).With(ir.Tmp, ir.MustPath("/tmp"))

func request(t testing.TB, text string) ir.Request {
	t.Helper()
	r, err := ir.ParseRequest(strings.Fields(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// one is propose.For of one access.
func one(t testing.TB, p *ir.Policy, text string, m propose.Machine) (propose.Setting, []propose.Finding) {
	t.Helper()
	s := propose.Setting{Policy: p, Binding: binding}
	found, err := propose.For(s, []propose.Access{{Request: request(t, text), Program: "/usr/bin/x", Errno: "ENOENT", Count: 1, Machine: m}})
	if err != nil {
		t.Fatal(err)
	}
	return s, found
}

var directory = propose.Machine{Directory: true}

// TestLines: the narrowest lines for each word; merged into the policy as text they
// allow the request, and nothing of what lies around it.
func TestLines(t *testing.T) {
	for _, tt := range []struct {
		request string
		machine propose.Machine
		want    string // list element, comma between
		still   string // requests that stay denied, comma between
	}{
		{"read /etc/hostname", propose.Machine{}, `read "/etc/hostname"`, "read /etc/passwd,write /etc/hostname,list /etc,read /etc/hostnames"},
		{"read /home/u/.config/git/ignore", propose.Machine{}, `read "${home}/.config/git/ignore"`, "read /home/u/.config/git/credentials,list /home/u/.config"},
		{"read /home/u/.local/lib/python3.13/site-packages/x.py", propose.Machine{}, `read "${home}/.local/lib/python3.13/site-packages/x.py"`, "read /home/u/.local/lib/x"},
		{"list /home/u", directory, `read only(home)`, "read /home/u/x,list /home/u/.ssh"},
		{"read /home/u", propose.Machine{}, `read only(home)`, "read /home/u/x,read /home/u/.ssh/config"},
		{"read /", propose.Machine{}, `read only("/")`, "read /home/u/x,read /etc/shadow"},
		{"read /home", propose.Machine{}, `read only("/home")`, "read /home/u/x,read /home/v/.ssh/config"},
		{"read /etc", propose.Machine{}, `read only("/etc")`, "read /etc/shadow"},
		{"list /etc", directory, `read only("/etc")`, "read /etc/hostname,stat /etc/hostname,write /etc,list /etc/x"},
		{"stat /var/lib", directory, `read only("/var/lib")`, "list /var,read /var/lib/x,stat /var/lib/x"},
		{"stat /etc/hosts", propose.Machine{}, `read "/etc/hosts"`, "read /etc/passwd"},
		{"read /opt/tool", propose.Machine{Real: ir.MustPath("/opt/tool-2/bin/tool")}, `read "/opt/tool", read "/opt/tool-2/bin/tool"`, "read /opt/tool-2/bin/other"},
		{"read /opt/lib", propose.Machine{Real: ir.MustPath("/usr/lib/x")}, `read "/opt/lib"`, "read /opt/other"},
		{"write /files/file", propose.Machine{}, `write "/files/file"`, "write /files/other,create /files/new,remove /files/file"},
		{"write /files/dir", directory, `write "/files/dir"`, "write /files/other"},
		{"create /files/sub/new", propose.Machine{}, `write "/files/sub"`, "create /files/new,write /files/other,remove /files/sub"},
		{"remove /files/notes/x/old", propose.Machine{}, `write "/files/notes/x"`, "remove /files/notes/old"},
		{"create /files/cache/new", propose.Machine{}, `write "/files/cache"`, "create /files/other"},
		{"rename /files/a/x /files/b/y", propose.Machine{}, `write "/files/a", write "/files/b"`, "create /files/c,write /files/z"},
		{"rename /home/u/work/x /files/b/y", propose.Machine{}, `write "/files/b"`, "create /files/c"},
		{"rename /files/a/x /files/a/y", propose.Machine{}, `write "/files/a"`, "create /files/c"},
		{"link /files/a/x /home/u/work/y", propose.Machine{}, `write "/files/a/x"`, "write /files/a/z,remove /files/a/x"},
		{"link /files/a/x /files/b/y", propose.Machine{}, `write "/files/b", write "/files/a/x"`, "write /files/a/z,write /files/c"},
		{"execute /usr/bin/other", propose.Machine{}, `execute "/usr/bin/other"`, "execute /usr/bin/third"},
		{"execute /srv/tool", propose.Machine{}, `read "/srv/tool", execute "/srv/tool"`, "read /srv/other,execute /srv/other"},
		{"execute /home/u/work/run", propose.Machine{}, `execute "${workspace}/run"`, "execute /home/u/work/other"},
		{"execute /opt/tool", propose.Machine{Real: ir.MustPath("/opt/real")}, `read "/opt/tool", read "/opt/real", execute "/opt/tool", execute "/opt/real"`, "read /opt/other"},
		{`read /etc/a"b\c$d`, propose.Machine{}, `read "/etc/a\"b\\c$d"`, "read /etc/a"},
		{"read /etc/%{if}", propose.Machine{}, "", ""}, // a brace is a wildcard
		{"connect example.org:8443", propose.Machine{}, "endpoint example.org:8443", "connect example.org:443,connect a.example.org:8443"},
		{"connect 93.184.216.34:443", propose.Machine{}, "endpoint 93.184.216.34:443", "connect 93.184.216.35:443"},
		{"connect [2606:4700::7]:443", propose.Machine{}, "endpoint 2606:4700::7:443", "connect [2606:4700::8]:443"},
	} {
		t.Run(tt.request, func(t *testing.T) {
			before := compiled(t, body, "")
			s, found := one(t, before, tt.request, tt.machine)
			if len(found) != 1 {
				t.Fatalf("%d findings", len(found))
			}
			report := propose.NewReport(s, ir.Bwrap, found, func(ir.Origin) (string, int, bool) { return "", 0, false })
			var lines []string
			for _, l := range report.Denied[0].Add {
				lines = append(lines, l.List+" "+l.Element)
			}
			if got := strings.Join(lines, ", "); got != tt.want {
				t.Fatalf("lines %q, withheld %q, want %q", got, found[0].Withheld, tt.want)
			}
			if tt.want == "" {
				return
			}
			if got := string(hclwrite.Format([]byte(report.HCL))); got != report.HCL {
				t.Errorf("hclwrite formats it as\n%s, it is\n%s", got, report.HCL)
			}
			after, err := compiled(t, body, report.HCL).Bind(binding)
			if err != nil {
				t.Fatal(err)
			}
			bound, err := before.Bind(binding)
			if err != nil {
				t.Fatal(err)
			}
			if r := request(t, tt.request); !ir.Decide(after, r).Allow || ir.Decide(bound, r).Allow {
				t.Errorf("%s: denied before and allowed after is not so, with\n%s", r, report.HCL)
			}
			for _, other := range strings.Split(tt.still, ",") {
				if r := request(t, other); ir.Decide(after, r).Allow || ir.Decide(bound, r).Allow {
					t.Errorf("%s: denied before and after is not so, with\n%s", r, report.HCL)
				}
			}
		})
	}
}

// TestInstead: a path that the policy states already changes its list.
func TestInstead(t *testing.T) {
	s, found := one(t, compiled(t, body, ""), "create /files/new", propose.Machine{})
	report := propose.NewReport(s, ir.Bwrap, found, func(o ir.Origin) (string, int, bool) { return "p.policy.hcl", 7, o == "p/filesystem.read[1]" })
	d := report.Denied[0]
	if len(d.Add) != 1 || d.Add[0] != (propose.Line{List: "write", Element: `"/files"`, Instead: "read"}) {
		t.Errorf("lines %+v", d.Add)
	}
	if d.Rule == nil || d.Rule.File != "p.policy.hcl" || d.Rule.Line != 7 || d.Rule.Text != "read /files" {
		t.Errorf("rule %+v", d.Rule)
	}
	var text strings.Builder
	report.Text(&text, "# ")
	for _, want := range []string{"# policy p denied one access\n", "create /files/new: ENOENT, by /usr/bin/x\n", "read /files at p.policy.hcl:7 (p/filesystem.read[1])", `move "/files" from read to write`, "    # take \"/files\" out of read: a path has one level\n"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in\n%s", want, &text)
		}
	}
}

// TestWithheld: what is listed and not proposed. Each beside an access like it, of
// which a line is proposed.
func TestWithheld(t *testing.T) {
	for _, tt := range []struct {
		body, request string
		machine       propose.Machine
		says          string
		twin          string
	}{
		{body, "read /home/u/.ssh/config", propose.Machine{}, "SSH keys", "read /home/u/sshconfig"},
		{body, "list /home/u/.ssh", directory, "SSH keys", "list /home/u/shh"},
		{body, "stat /home/u/.gnupg/x", propose.Machine{}, "GnuPG", "stat /home/u/gnupg/x"},
		{body, "read /etc/host.key", propose.Machine{}, "a key", "read /etc/host.keys"},
		{body, "read /srv/id_ed25519", propose.Machine{}, "SSH key", "read /srv/ident"},
		{body, "read /srv/.config/gh/hosts.yml", propose.Machine{}, "GitHub", "read /srv/.config/ghc/hosts.yml"},
		{body, "read /srv/.cargo/credentials.toml", propose.Machine{}, "crates.io", "read /srv/.cargo/config.toml"},
		{body, "execute /home/u/.aws/tool", propose.Machine{}, "AWS", "execute /home/u/aws/tool"},
		{body, "rename /srv/x/a /srv/x/.env", propose.Machine{}, "secrets of a program", "rename /srv/x/a /srv/x/env"},
		{body, "read /srv/link", propose.Machine{Real: ir.MustPath("/home/u/.netrc")}, "passwords", "read /srv/link"},
		{body, "read /etc/shadow", propose.Machine{}, "password hashes", "read /etc/passwd"},
		{body, "read /etc/ssl/certs/ca.pem.x", propose.Machine{Missing: true}, "no such thing", "read /etc/ssl/certs/ca.pem"},
		{body, "read /home/u/work/.hidden/x", propose.Machine{}, "deny ${workspace}/.hidden", "read /home/u/hidden/x"},
		{body, "read /usr/secret/x", propose.Machine{}, "deny /usr/secret", "write /files/x"},
		{carveOut, "write /home/u/work/kept/x", propose.Machine{}, "read ${workspace}/kept", "write /srv/kept/x"},
		{body, "remove /home/u/work/.hidden", propose.Machine{}, "put there to refuse it", "remove /srv/x/hidden"},
		{body, "remove /srv/out", propose.Machine{}, "its name stays", "remove /srv/x/out"},
		{body, "create /home/u/new", propose.Machine{}, "in a home directory", "create /srv/d/new"},
		{body, "create /opt/new", propose.Machine{}, "writing all of /opt", "create /files/new"},
		{body, "create /srv/new", propose.Machine{}, "writing all of /srv", "create /srv/d/new"},
		{body, "create /home/w", propose.Machine{}, "writing all of /home;", "create /srv/d/new"},
		{body, "write /srv/.bashrc", propose.Machine{}, "a shell starts with it", "write /srv/bashrc"},
		{body, "write /srv/repo/.git/hooks/pre-push", propose.Machine{}, "Git runs", "write /srv/repo/.git/index"},
		{body, "write /etc/hosts", propose.Machine{}, "the system's", "write /files/hosts"},
		{body, "write /srv/link", propose.Machine{Real: ir.MustPath("/home/u/notes/x")}, "${home}/notes/x, and in a home directory", "write /srv/link"},
		{body, "create /srv/link/x", propose.Machine{Real: ir.MustPath("/home/u/.config/autostart/x")}, "${home}/.config is hidden", "create /srv/link/x"},
		{body, "write /srv/link", propose.Machine{Real: ir.MustPath("/srv/.bashrc")}, "a shell starts with it", "write /srv/link"},
		{body, "link /home/u/notes/x /home/u/work/y", propose.Machine{}, "in a home directory", "link /files/a/x /home/u/work/y"},
		{body, "rename /srv/x/a /home/u/.config/a", propose.Machine{}, "hidden in a home directory", "rename /srv/x/a /srv/y/a"},
		{body, "execute /home/u/.x/tool", propose.Machine{}, "hidden in a home directory", "execute /home/u/.cargo/bin/tool"},
		{body, "create /home/u/d", propose.Machine{There: true}, "in a home directory", "create /srv/d/new"},
		{body, "create /srv/d/new", propose.Machine{There: true}, `write = ["/srv/d/new"]`, "create /srv/d/new"},
		{body, "write /srv/d/x", propose.Machine{Refused: true}, "outside the sandbox", "write /srv/d/x"},
		{body, "read /etc/[x", propose.Machine{}, "wildcards", "read /etc/x"},
		{body, "connect-unix /run/x/socket", propose.Machine{}, `unix = "visible"`, "read /run/x/socket"},
		{body + "\n  network {\n    unix = \"visible\"\n  }", "connect-unix /run/docker.sock", propose.Machine{}, "containers", "connect-unix /run/nscd.sock"},
		{body, "connect 10.0.0.2:53", propose.Machine{}, "resolved outside", "connect 9.9.9.9:54"},
		{body, "connect 127.0.0.1:80", propose.Machine{}, "loopback of its own", "connect 9.9.9.9:80"},
		{body, "connect 10.0.0.1:80", propose.Machine{}, "private (10.0.0.0/8", "connect 11.0.0.1:80"},
		{body, "connect [64:ff9b::a00:1]:80", propose.Machine{}, "NAT64", "connect [2a00::a00:1]:80"},
		{body, "connect 169.254.169.254:80", propose.Machine{}, "a metadata service", "connect 169.253.169.254:80"},
	} {
		t.Run(tt.request, func(t *testing.T) {
			p := compiled(t, tt.body, "")
			_, found := one(t, p, tt.request, tt.machine)
			if len(found) != 1 || len(found[0].Add) > 0 || !strings.Contains(found[0].Withheld, tt.says) {
				t.Errorf("%+v, want it withheld with %q", found, tt.says)
			}
			if _, found := one(t, p, tt.twin, propose.Machine{Directory: tt.machine.Directory}); len(found) != 1 || found[0].Withheld != "" || len(found[0].Add) == 0 {
				t.Errorf("%s: %+v, want a line", tt.twin, found)
			}
		})
	}
}

// TestKept: what the targets could not keep is not proposed, and their reason said.
func TestKept(t *testing.T) {
	s := propose.Setting{Policy: compiled(t, body, ""), Binding: binding, Keeps: func(p *ir.Policy) error {
		if slices.ContainsFunc(p.Files, func(r ir.FileRule) bool { return r.Origin == propose.Proposed && r.Path == ir.MustPath("/kept/x") }) {
			return errors.New("not there")
		}
		return nil
	}}
	found, err := propose.For(s, []propose.Access{{Request: request(t, "read /kept/x")}, {Request: request(t, "read /etc/x")}})
	if err != nil || len(found) != 2 || found[1].Withheld != "no line of its own would do: not there" || found[0].Withheld != "" {
		t.Errorf("%+v, %v", found, err)
	}
	if _, err := propose.For(propose.Setting{Policy: s.Policy, Binding: binding.With(ir.Workspace, ir.MustPath("/usr"))}, nil); err == nil {
		t.Error("a binding that is not admissible was taken")
	}
}

// TestKeptTogether: the targets are asked about many lines at once, and what they do not
// keep is found among those that they do.
func TestKeptTogether(t *testing.T) {
	asked := 0
	s := propose.Setting{Policy: compiled(t, body, ""), Binding: binding, Keeps: func(p *ir.Policy) error {
		asked++
		if slices.ContainsFunc(p.Files, func(r ir.FileRule) bool { return r.Path == ir.MustPath("/kept/77") }) {
			return errors.New("not there")
		}
		return nil
	}}
	var list []propose.Access
	for i := range 200 {
		list = append(list, propose.Access{Request: request(t, fmt.Sprintf("%s /kept/%d", []string{"read", "write"}[i/100], i%100)), Count: 1})
	}
	found, err := propose.For(s, list)
	if err != nil || len(found) != len(list) {
		t.Fatalf("%d findings of %d, %v", len(found), len(list), err)
	}
	for _, f := range found {
		bad := f.Request.Path == ir.MustPath("/kept/77")
		if bad != (f.Withheld == "no line of its own would do: not there") || bad == (len(f.Add) > 0) {
			t.Errorf("%s: %+v", f.Request, f)
		}
	}
	if asked > 40 {
		t.Errorf("the targets were asked %d times about %d accesses", asked, len(list))
	}
}

// TestMerge: what is allowed by one line is not said in another, and the merged
// block allows all of it.
func TestMerge(t *testing.T) {
	p := compiled(t, body, "")
	var list []propose.Access
	for _, text := range []string{
		"create /srv/d/x", "write /srv/d/x", "read /srv/d/y", "list /etc/conf", "read /etc/conf", "read /etc/b", "read /etc/a",
		"write /etc2/a/f", "read /etc2/a/f", "execute /srv/d/tool", "read /usr/bin/granted", "connect b.example:80", "connect b.example:443", "connect a.example:80",
	} {
		list = append(list, propose.Access{Request: request(t, text), Count: 1})
	}
	s := propose.Setting{Policy: p, Binding: binding}
	found, err := propose.For(s, list)
	if err != nil || len(found) != len(list)-1 {
		t.Fatalf("%d findings of %d accesses, one of them granted; %v", len(found), len(list), err)
	}
	want := `filesystem {
  read = [
    "/etc/a",
    "/etc/b",
    "/etc/conf",
  ]
  write = [
    "/srv/d",
    "/etc2/a/f",
  ]
  execute = [
    "/srv/d/tool",
  ]
}
network {
  endpoint "a-example" {
    host  = "a.example"
    ports = [80]
  }
  endpoint "b-example" {
    host  = "b.example"
    ports = [80, 443]
  }
}
`
	got := propose.HCL(propose.Merge(found))
	if got != want {
		t.Errorf("merged:\n%s\nwant:\n%s", got, want)
	}
	after, err := compiled(t, body, got).Bind(binding)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range list {
		// A program that is named is held inside what can be written.
		if !ir.Decide(after, a.Request).Allow {
			t.Errorf("%s is denied after all", a.Request)
		}
	}
}

// TestReport: JSON holds what text says, and counts what is not listed.
func TestReport(t *testing.T) {
	p := compiled(t, body, "")
	s := propose.Setting{Policy: p, Binding: binding}
	found, err := propose.For(s, []propose.Access{
		{Request: request(t, "read /home/u/work/.hidden/\u00e9"), Program: "/x/\x1b[31m", Errno: "EACCES", Count: 3},
		{Request: request(t, "stat /nowhere"), Errno: "ENOENT", Count: 4, Machine: propose.Machine{Missing: true}},
		{Request: request(t, "execute /usr/bin/other"), Errno: "EACCES", Count: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := propose.NewReport(s, ir.Bwrap, found, func(ir.Origin) (string, int, bool) { return "", 0, false })
	r.Calls = append(r.Calls, propose.Call{Name: "socket", What: "AF_UNIX", Errno: "EAFNOSUPPORT", Count: 2})
	r.Tighter = append(r.Tighter, propose.TriedOf(binding, propose.Access{Request: request(t, "rename /home/u/work/a /tmp/b"), Errno: "EXDEV", Count: 1}))
	var back propose.Report
	if err := json.Unmarshal(r.JSON(), &back); err != nil || back.Schema != propose.Schema || len(back.Denied) != 2 || back.Missing != 4 {
		t.Errorf("%s, %v", r.JSON(), err)
	}
	var text strings.Builder
	r.Text(&text, "")
	for _, want := range []string{
		"policy p denied 2 accesses\n", "read ${workspace}/.hidden/\u00e9: EACCES, 3 times, by /x/?[31m\n", "no execute rule covers it\n", "socket (AF_UNIX): EAFNOSUPPORT, 2 times\n",
		"rename ${workspace}/a ${tmp}/b: EXDEV\n", "4 more failed for what this machine does not have either\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in\n%s", want, &text)
		}
	}
	empty := propose.NewReport(s, ir.Bwrap, nil, nil)
	if text := string(empty.JSON()); !strings.Contains(text, `"denied": []`) || strings.Contains(text, "null") {
		t.Errorf("an empty report is %s", text)
	}
}

// TestNames: an endpoint's name is one, and free.
func TestNames(t *testing.T) {
	p := compiled(t, body, "")
	for host, want := range map[string]string{"example.org:80": "example-org", "9.example:80": "to-9-example", "[2606:4700::1]:80": "to-2606-4700--1"} {
		_, found := one(t, p, "connect "+host, propose.Machine{})
		if got := found[0].Add[0].Endpoint.Name; got != want || !ir.IsName(got) {
			t.Errorf("the endpoint for %s is named %q, want %q", host, got, want)
		}
	}
	q := *p
	q.Endpoints = []ir.Endpoint{{Name: "example-org", Host: ir.HostPattern{Name: "example.org"}, Ports: []uint16{443}}}
	if _, found := one(t, &q, "connect example.org:80", propose.Machine{}); found[0].Add[0].Endpoint.Name != "example-org-2" {
		t.Errorf("the name of the policy's own endpoint was taken: %+v", found[0].Add[0].Endpoint)
	}
}

func ExampleHCL() {
	fmt.Print(propose.HCL([]propose.Addition{{List: "read", Path: ir.MustPath("${home}/.gitconfig")}, {List: "write", Path: ir.RootPath(ir.Workspace)}}))
	// Output:
	// filesystem {
	//   read = [
	//     "${home}/.gitconfig",
	//   ]
	//   write = [
	//     workspace,
	//   ]
	// }
}
