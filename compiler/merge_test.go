package compiler

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang"
)

func TestMerge(t *testing.T) {
	for _, tt := range []struct {
		name string
		text string
		want []string // lines of the text form, less the builtins
	}{
		{"own statement replaces", twoTemplates(`read = ["/x", "/y"]`, `deny = ["/z"]`) + own(`write = ["/x"]`),
			[]string{"write /x # q/filesystem.write[0]", "read /y # template.a/filesystem.read[1]", "deny /z # template.b/filesystem.deny[0]"}},
		{"templates that agree", twoTemplates(`read = ["/x"]`, `read = ["/x/"]`) + own(``),
			[]string{"read /x # template.a/filesystem.read[0]"}},
		{"one of two needs the path", twoTemplates(`read = [optional("/x")]`, `read = ["/x"]`) + own(``),
			[]string{"read /x # template.a/filesystem.read[0]"}},
		{"the policy settles it", twoTemplates(`read = ["/x"]`, `write = ["/x"]`) + own(`deny = ["/x"]`),
			[]string{"deny /x # q/filesystem.deny[0]"}},
		{"execute and read are two questions", twoTemplates(`execute = ["/x"]`, `read = ["/x"]`) + own(``),
			[]string{"read /x # template.b/filesystem.read[0]", "execute /x # template.a/filesystem.execute[0]"}},
		{"a template's own statement replaces what it extends", `
template "base" {
  filesystem {
    read = ["/x", "/y"]
  }
}
template "more" {
  extends = [template.base]
  filesystem {
    write = ["/x"]
  }
}
policy "q" {
  version = 1
  extends = [template.more]
}`, []string{"write /x # template.more/filesystem.write[0]", "read /y # template.base/filesystem.read[1]"}},
		{"the same template by two ways", `
template "base" {
  filesystem {
    read = ["/x"]
  }
}
template "a" {
  extends = [template.base]
}
template "b" {
  extends = [template.base, template.a]
}
policy "q" {
  version = 1
  extends = [template.a, template.b, template.a]
}`, []string{"read /x # template.base/filesystem.read[0]"}},
		{"limits, variables, endpoints and settings", `
template "a" {
  workspace = "shared"
  environment {
    A = "a"
    B = "a"
  }
  limits {
    timeout = "1s"
    stdout  = "1KiB"
  }
  network {
    unix = "visible"
    endpoint "e" {
      host  = "a.test"
      ports = [1]
    }
  }
}
policy "q" {
  version   = 1
  workspace = "fresh"
  extends   = [template.a]
  environment {
    B = "q"
  }
  limits {
    timeout = "2s"
  }
  network {
    endpoint "e" {
      host  = "b.test"
      ports = [1]
    }
  }
}`, []string{"workspace fresh", `unix = "visible" # template.a/network.unix`, "endpoint b.test:1 # q/network.endpoint.e",
			`A="a" # template.a/environment.A`, `B="q" # q/environment.B`, "stdout 1024 # template.a/limits.stdout", "timeout 2000 # q/limits.timeout"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := strings.Replace(tt.text, "policy \"p\" {\nversion = 1\nextends = [template.a, template.b]\n}\n", "", 1)
			results, diags := compile(t, text)
			if len(results) != 1 {
				t.Fatalf("%s\n%v", text, diags)
			}
			if got := lines(results[0].Policy); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%s\nmeans\n%s\nwant\n%s", text, strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

// own is a policy of both templates with lists of its own.
func own(lists string) string {
	return "policy \"q\" {\nversion = 1\nextends = [template.a, template.b]\nfilesystem {\n" + lists + "\n}\n}\n"
}

// lines is the text form without white space, headings and builtins.
func lines(p *ir.Policy) []string {
	var out []string
	for l := range strings.Lines(p.Text()) {
		l = strings.Join(strings.Fields(l), " ")
		if l != "" && l[0] != '[' && !strings.Contains(l, "builtin/") && !strings.HasPrefix(l, "policy ") && !strings.HasPrefix(l, "targets ") {
			out = append(out, l)
		}
	}
	return out
}

func TestTemplatesDisagreeAboutAnything(t *testing.T) {
	for _, tt := range []struct{ block, a, b, about string }{
		{"environment", `X = "1"`, `X = "2"`, `the variable X: "1" and "2"`},
		{"limits", `timeout = "1s"`, `timeout = "2s"`, "the limit timeout: 1000 and 2000"},
		{"network", `unix = "none"`, `unix = "visible"`, `unix: "none" and "visible"`},
		{"network", "endpoint \"e\" {\nhost = \"a.test\"\nports = [1]\n}", "endpoint \"e\" {\nhost = \"a.test\"\nports = [2]\n}", "endpoint e: endpoint a.test:1 and endpoint a.test:2"},
		{"system", `devices = "none"`, `devices = "minimal"`, `devices: "none" and "minimal"`},
		{"system", `shm = "4KiB"`, `shm = "8KiB"`, "shm: 4096 bytes and 8192 bytes"},
		{"waive \"bwrap\"", "features = [\"limits.timeout\"]\nreason = \"a\"", "features = [\"limits.timeout\"]\nreason = \"b\"", `the waiver of limits.timeout: "a" and "b"`},
		{"command \"c\"", `executable = "/a"`, `executable = "/b"`, "command c: /a and /b"},
	} {
		in := func(name, body string) string {
			return "template \"" + name + "\" {\n" + tt.block + " {\n" + body + "\n}\n}\n"
		}
		_, diags := compile(t, in("a", tt.a)+in("b", tt.b)+"policy \"p\" {\nversion = 1\nextends = [template.a, template.b]\n}\n")
		d, ok := find(diags, "template-conflict")
		if !ok || len(diags) != 1 || !strings.HasSuffix(d.Message, "disagree about "+tt.about) || len(d.Related) != 2 {
			t.Errorf("%s against %s: %v, want one finding about %s", tt.a, tt.b, diags, tt.about)
		}
	}
}

// TestConflictOfOneTemplatesTemplates: the finding stands where the policy can
// settle it.
func TestConflictOfOneTemplatesTemplates(t *testing.T) {
	text := strings.Replace(twoTemplates(`read = ["/x"]`, `write = ["/x"]`), "policy \"p\" {\nversion = 1\n", "template \"both\" {\n", 1)
	_, diags := compile(t, text+"policy \"p\" {\nversion = 1\nextends = [template.both]\n}\npolicy \"q\" {\nversion = 1\nextends = [template.both]\nfilesystem {\nread = [\"/x\"]\n}\n}\n")
	d, ok := find(diags, "template-conflict")
	if !ok || len(diags) != 1 || underlined(text+"policy \"p\" {\nversion = 1\nextends = [template.both]", d.At) != "template.both" {
		t.Errorf("found %v, want one template-conflict at template.both of policy p", diags)
	}
}

func TestSystemStatements(t *testing.T) {
	const devices = "system {\ndevices = \"minimal\"\nshm = \"1MiB\"\n}\n"
	p := compileOne(t, policy(devices))
	count := 0
	for _, r := range p.Files {
		if r.Backing == ir.DevFS && r.Origin == "p/system.devices" {
			count++
		}
	}
	if count != len(minimalDevices) {
		t.Errorf("devices = minimal states %d rules, want %d", count, len(minimalDevices))
	}
	for _, tt := range []struct {
		list, path string
		want       string
	}{
		{`write = ["/dev/null"]`, "/dev/null", "write only(/dev/null) dev"}, // the sandbox's own, as before
		{`read = ["/dev/null"]`, "/dev/null", "read /dev/null "},
		{`deny = ["/dev/tty"]`, "/dev/tty", "deny /dev/tty "},
		{`read = ["/dev"]`, "/dev", "read /dev "}, // all of the host's, not the node alone
		{`read = [only("/dev")]`, "/dev", "read only(/dev) dev"},
		{`write = ["/dev/shm"]`, "/dev/shm", "write /dev/shm tmpfs"},
		{`write = ["/dev/kvm"]`, "/dev/kvm", "write /dev/kvm "},
	} {
		p := compileOne(t, policy(devices+"filesystem {\n"+tt.list+"\n}"))
		got := ""
		for _, r := range p.Files {
			if r.Path.String() == tt.path {
				got = r.String() + " " + string(r.Backing)
			}
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.list, got, tt.want)
		}
	}
	if p := compileOne(t, policy("system {\ndevices = \"none\"\n}")); len(p.Files) != 1 {
		t.Errorf("devices = none states %v", p.Files)
	}
}

func TestBuiltins(t *testing.T) {
	for _, tt := range []struct {
		text   string
		config bool
	}{
		{policy(""), false},
		{filesystem(`read = ["/x"]`), false},
		{filesystem(`write = [tmp]`), false}, // nothing of the host
		{policy("system {\ndevices = \"minimal\"\n}"), false},
		{filesystem(`write = [workspace]`), true},
	} {
		p := compileOne(t, tt.text)
		proc, config := false, false
		for _, r := range p.Files {
			proc = proc || r.Origin == "builtin/proc" && r.Backing == ir.ProcFS && r.Level == ir.Read
			config = config || r.Origin == "builtin/config" && r.Optional && r.Level == ir.Read
		}
		if !proc || config != tt.config || p.Unix != (ir.UnixRule{Origin: "builtin/unix"}) {
			t.Errorf("%s: proc %v, config %v, %v; want true, %v, unix none", tt.text, proc, config, p.Unix, tt.config)
		}
	}
}

// designExample is the policy of docs/design.md, section 4.
func designExample(t *testing.T) string {
	t.Helper()
	doc, err := os.ReadFile("../docs/design.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(doc), "```hcl\n")
	text, _, ok2 := strings.Cut(rest, "```\n")
	if !ok || !ok2 {
		t.Fatal("docs/design.md has no hcl block")
	}
	return text
}

func TestDesignExample(t *testing.T) {
	p := compileOne(t, designExample(t))
	for request, want := range map[string]bool{
		"read /usr/share/zoneinfo/UTC": true, "read /etc/ssl/certs/x.pem": true, "read /etc/shadow": false,
		"write ${workspace}/out": true, "write ${workspace}/.git/hooks/x": false, "read ${home}/.ssh/id": false,
		"create ${workspace}/.git/hooks": false, "rename ${workspace}/.git ${workspace}/g": false,
		"execute /usr/bin/curl": true, "execute /usr/bin/env": false, "execute /usr/lib/ld.so": true,
		"write /dev/null": true, "write ${tmp}/x": true, "read /proc/self/status": true, "list /": true, "list /usr": false, "stat /usr": true,
		"connect example.com:443": true, "connect example.com:80": false, "connect a.example.com:443": false, "connect 10.0.0.1:443": false,
		"connect-unix ${workspace}/s": false,
	} {
		r, err := ir.ParseRequest(strings.Fields(request))
		if err != nil {
			t.Fatal(err)
		}
		if got := ir.Decide(p, r); got.Allow != want {
			t.Errorf("Decide(%s) = %v (%s), want %v", request, got.Allow, got.Reason, want)
		}
	}
	cmd, ok := p.Command("post-batch")
	if !ok || len(cmd.Arguments) != 9 || cmd.Arguments[7].String() != `{"http_status":%{http_code}}` || cmd.Arguments[8].String() != "https://example.com/batches/<batch_id>" {
		t.Errorf("the command is %v", cmd.Arguments)
	}
	if n, ok := p.Limit(ir.Timeout); !ok || n != 30_000 {
		t.Errorf("timeout is %d ms, want 30000", n)
	}
}

// TestEveryOriginHasARange: a finding about anything in the IR can be shown.
func TestEveryOriginHasARange(t *testing.T) {
	results, _ := compile(t, designExample(t)+policy(everyKind))
	if len(results) != 2 {
		t.Fatal("the policies do not compile")
	}
	for _, r := range results {
		seen := map[ir.Origin]bool{}
		for _, o := range origins(r.Policy) {
			seen[o] = true
			if at, ok := r.Ranges[o]; !ok || at.IsZero() {
				t.Errorf("%s has no range", o)
			}
		}
		for o := range r.Ranges {
			if !seen[o] && !strings.Contains(string(o), "system.devices") && !strings.Contains(string(o), "system.shm") && !strings.Contains(string(o), "workspace") {
				t.Errorf("the range of %s belongs to nothing", o)
			}
		}
	}
}

const everyKind = `
workspace = "shared"
waive "seatbelt" {
  features = ["system.shm", "system.devices"]
  reason   = "macOS has its own"
}
system {
  services = ["b", "a", "b"]
  iokit    = ["x"]
  shm      = "1MiB"
  devices  = "minimal"
}
network {
  unix = "visible"
  endpoint "b" {
    address     = "::ffff:10.0.0.1"
    ports       = [443, 80, 443]
    executables = ["/b", "/a", "/b"]
  }
}
`

func origins(p *ir.Policy) []ir.Origin {
	var out []ir.Origin
	for _, r := range p.Files {
		out = append(out, r.Origin)
	}
	for _, r := range p.Execute {
		out = append(out, r.Origin)
	}
	for _, e := range p.Endpoints {
		out = append(out, e.Origin)
	}
	for _, v := range p.Environment {
		out = append(out, v.Origin)
	}
	for _, l := range p.Limits {
		out = append(out, l.Origin)
	}
	for _, list := range [][]ir.Name{p.System.Services, p.System.Sysctls, p.System.IPC, p.System.IOKit} {
		for _, n := range list {
			out = append(out, n.Origin)
		}
	}
	for _, c := range p.Commands {
		out = append(out, c.Origin)
	}
	for _, w := range p.Waivers {
		out = append(out, w.Origin)
	}
	return append(out, p.Unix.Origin)
}

func TestListsAreSets(t *testing.T) {
	p := compileOne(t, policy(everyKind))
	e := p.Endpoints[0]
	if e.String() != "endpoint 10.0.0.1:80,443 by /a /b" {
		t.Errorf("the endpoint is %s", e)
	}
	if want := []ir.Name{{Name: "a", Origin: "p/system.services[1]"}, {Name: "b", Origin: "p/system.services[0]"}}; !reflect.DeepEqual(p.System.Services, want) {
		t.Errorf("services are %v, want %v", p.System.Services, want)
	}
	if p.Waivers[0].Feature != ir.FeatureDevices || p.Waivers[0].Origin != "p/waive.seatbelt[1]" || p.Waivers[1].Origin != "p/waive.seatbelt[0]" {
		t.Errorf("waivers are %v", p.Waivers)
	}
}

func TestLimitUnits(t *testing.T) {
	for _, tt := range []struct {
		text string
		want int64
	}{
		{`timeout = "250ms"`, 250}, {`timeout = "5m"`, 300_000}, {`timeout = "1h"`, 3_600_000}, {`timeout = "1h2m3s4ms"`, 3_723_004}, {`timeout = "720h"`, 2_592_000_000},
		{`cpu_time = "1m30s"`, 90}, {`open_files = 16`, 16},
		{`file_size = "1B"`, 1}, {`file_size = "512KiB"`, 1 << 19}, {`file_size = "64MiB"`, 64 << 20}, {`file_size = "1GiB"`, 1 << 30}, {`file_size = "1024TiB"`, 1 << 50}, {`file_size = "10MB"`, 10_000_000},
	} {
		p := compileOne(t, policy("limits {\n"+tt.text+"\n}"))
		if len(p.Limits) != 1 || p.Limits[0].Value != tt.want {
			t.Errorf("%s is %v, want %d", tt.text, p.Limits, tt.want)
		}
	}
}

// TestSameTextSameBytes: nothing depends on the order of a map, of files or of
// blocks.
func TestSameTextSameBytes(t *testing.T) {
	blocks := []string{designExample(t), twoTemplates(`read = ["/x"]`, `read = ["/y"]`), strings.Replace(policy(everyKind), `"p"`, `"every"`, 1)}
	compileAll := func(order []int) []byte {
		src := lang.Sources{}
		for i, n := range order {
			src[fmt.Sprintf("%d.policy.hcl", i)] = []byte(blocks[n])
		}
		cfg, diags := lang.Parse(src, lang.Options{})
		results, more := Compile(cfg, options)
		if diags.HasErrors() || more.HasErrors() || len(results) != 3 {
			t.Fatal(diags, more)
		}
		var out []byte
		for _, r := range results {
			out = append(out, r.Policy.JSON()...)
		}
		return out
	}
	first := compileAll([]int{0, 1, 2})
	for range 20 {
		for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}} {
			if !bytes.Equal(compileAll(order), first) {
				t.Fatalf("files in the order %v give other bytes", order)
			}
		}
	}
}

func TestMapJSON(t *testing.T) {
	results, _ := compile(t, "policy \"p\" {\n  version = 1\n  filesystem {\n    read = [\"/é\", \"/x\"]\n  }\n}\n")
	want := `{"schema":"obspc.ir.map/v1","statements":{` +
		`"builtin/proc":{"column":1,"endColumn":11,"endLine":1,"file":"p.policy.hcl","line":1},` +
		`"builtin/unix":{"column":1,"endColumn":11,"endLine":1,"file":"p.policy.hcl","line":1},` +
		`"p/filesystem.read[0]":{"column":13,"endColumn":17,"endLine":4,"file":"p.policy.hcl","line":4},` +
		`"p/filesystem.read[1]":{"column":19,"endColumn":23,"endLine":4,"file":"p.policy.hcl","line":4}}}`
	if got := string(results[0].MapJSON()); got != want {
		t.Errorf("MapJSON() =\n%s\nwant\n%s", got, want)
	}
}
