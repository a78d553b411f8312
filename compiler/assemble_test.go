package compiler

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/testdata/cases"
)

// TestEveryOriginHasARange: a finding about anything in the IR can be shown.
func TestEveryOriginHasARange(t *testing.T) {
	results, _ := compile(t, designExample(t)+cases.Policy(everyKind))
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
	p := compileOne(t, cases.Policy(everyKind))
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

// TestSameTextSameBytes: nothing depends on the order of a map, of files or of
// blocks.
func TestSameTextSameBytes(t *testing.T) {
	blocks := []string{designExample(t), twoTemplates(`read = ["/x"]`, `read = ["/y"]`), strings.Replace(cases.Policy(everyKind), `"p"`, `"every"`, 1)}
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
