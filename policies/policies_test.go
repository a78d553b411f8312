package policies_test

import (
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"testing"

	"github.com/obspc/obspc/compiler"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/policies"
	embedded "github.com/obspc/obspc/policies/library"
)

// parsed holds the embedded templates by name.
var parsed = sync.OnceValue(func() map[string]*lang.Body {
	out := map[string]*lang.Body{}
	for _, name := range policies.Names() {
		out[name], _ = embedded.Template(name)
	}
	return out
})

func library(name string) (*lang.Body, bool) {
	body := parsed()[name]
	return body, body != nil
}

// extend compiles a policy that extends the template and states nothing itself.
func extend(t *testing.T, name string) *ir.Policy {
	t.Helper()
	return compileOne(t, "policy \"p\" {\n  version = 1\n  extends = [\""+name+"\"]\n}\n")
}

// compileOne compiles the text of one policy.
func compileOne(t *testing.T, text string) *ir.Policy {
	t.Helper()
	return compileResult(t, text).Policy
}

func compileResult(t *testing.T, text string) compiler.Result {
	t.Helper()
	config, diags := lang.Parse(lang.Sources{"p.policy.hcl": []byte(text)}, lang.Options{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	results, diags := compiler.Compile(config, compiler.Options{Library: library, LibraryNames: policies.Names()})
	if len(diags) > 0 || len(results) != 1 {
		t.Fatalf("compiler.Compile(%s) = %v", text, diags)
	}
	return results[0]
}

// TestTemplates holds every embedded template to its page and its probes.
func TestTemplates(t *testing.T) {
	if len(policies.Names()) == 0 {
		t.Fatal("no template is embedded")
	}
	for _, name := range policies.Names() {
		t.Run(name, func(t *testing.T) {
			body, ok := library(name)
			if !ok || body.Name.Value != path.Base(name) {
				t.Fatalf("%s: the file must hold one template named %q", name, path.Base(name))
			}
			if page, err := os.ReadFile(name + "/" + path.Base(name) + ".md"); err != nil || len(page) == 0 {
				t.Errorf("%s has no page: %v", name, err)
			}
			d := ir.NewDecider(compileOne(t, extending([]string{name})))
			for _, p := range readProbes(t, name+"/probes.txt") {
				if got := d.Decide(p.request); got.Allow != p.allow {
					t.Errorf("%s: %s is %v by %v, want %v", name, p.request, got.Allow, got.Rule, p.allow)
				}
			}
		})
	}
}

type probe struct {
	request ir.Request
	allow   bool
}

func readProbes(t *testing.T, file string) []probe {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []probe
	for line := range strings.Lines(string(text)) {
		want, request, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		r, err := ir.ParseRequest(strings.Fields(request))
		if !ok || err != nil || want != "allow" && want != "deny" {
			t.Fatalf("%s: %q: %v", file, line, err)
		}
		out = append(out, probe{r, want == "allow"})
	}
	return out
}

// TestTemplatesGrantNothingOfYours: what a policy's own text has to say stands in no
// template: writing and starting in the workspace, and the home directory at all.
func TestTemplatesGrantNothingOfYours(t *testing.T) {
	yours := func(p ir.Path) bool {
		if ir.MustPath("${workspace}/.git").Covers(p) {
			return false // std/git reads there, and takes away
		}
		return p.Root() == ir.Workspace || p.Root() == ir.Home || ir.MustPath("/home").Covers(p) || ir.MustPath("/Users").Covers(p)
	}
	for _, name := range policies.Names() {
		p := extend(t, name)
		for _, r := range p.Files {
			if yours(r.Path) || r.Level == ir.Write && r.Backing == ir.HostFile {
				t.Errorf("%s states %s (%s)", name, &r, r.Origin)
			}
		}
		for _, r := range p.Execute {
			if yours(r.Path) {
				t.Errorf("%s states %s (%s)", name, &r, r.Origin)
			}
		}
		if p.Unix.Visible || len(p.Endpoints)+len(p.Commands)+len(p.Waivers)+len(p.Limits) > 0 {
			t.Errorf("%s states more than files, environment and system", name)
		}
	}
}

// TestBaseStaysSmall keeps the standard template out of other people's files.
func TestBaseStaysSmall(t *testing.T) {
	p := extend(t, "std/base")
	for _, r := range p.Files {
		text := r.Path.String()
		if text == "/etc" {
			t.Errorf("std/base grants all of /etc (%s)", r.Origin)
		}
		for _, dir := range []string{"/home", "/root", "/run", "/var/lib", "/srv", "/opt", "${home}", "${workspace}"} {
			if ir.MustPath(dir).Covers(r.Path) {
				t.Errorf("std/base names %s (%s)", text, r.Origin)
			}
		}
		if r.Level == ir.Write && r.Backing == ir.HostFile {
			t.Errorf("std/base writes the host's %s (%s)", text, r.Origin)
		}
	}
}

// TestDemoParses keeps the embedded demo in step with the language.
func TestDemoParses(t *testing.T) {
	sources, diags, err := lang.Read(policies.Demo(), ".")
	if err != nil || diags.HasErrors() {
		t.Fatalf("the demo cannot be read: %v, %v", diags, err)
	}
	config, diags := lang.Parse(sources, lang.Options{Vars: map[string]string{"batch": "/srv/batch.csv"}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	results, diags := compiler.Compile(config, compiler.Options{Library: library, LibraryNames: policies.Names()})
	if diags.HasErrors() || len(results) != 2 {
		t.Errorf("the demo compiles to %d policies, want 2: %v", len(results), diags)
	}
	if _, err := fs.Stat(policies.Demo(), "demo.policy.hcl"); err != nil {
		t.Error(err)
	}
}
