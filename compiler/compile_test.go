package compiler

import (
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/testdata/cases"
)

// library stands in for the embedded templates, so that these tests ask about the
// compiler and not about what the templates say.
var library = map[string]string{
	"std/base": `template "base" {
  filesystem {
    read    = [only("/"), "/usr/lib", "/usr/bin", optional("/etc/hosts")]
    write   = [tmp]
    execute = ["/usr/lib/ld.so"]
  }
  system {
    devices = "minimal"
    shm     = "64MiB"
  }
}`,
	"std/tls": `template "tls" {
  extends = ["std/base"]
  filesystem {
    read = ["/etc/ssl/certs"]
  }
}`,
}

var options = Options{
	LibraryNames: []string{"std/base", "std/tls"},
	Library: func(name string) (*lang.Body, bool) {
		text, ok := library[name]
		if !ok {
			return nil, false
		}
		cfg, diags := lang.Parse(lang.Sources{name + ".policy.hcl": []byte(text)}, lang.Options{Library: true})
		if diags.HasErrors() {
			panic(diags[0].String())
		}
		return cfg.Templates[0], true
	},
}

// compile takes text through lang and the compiler. ir.Check judges every policy
// without errors after every pass from the one on that makes policies.
func compile(t testing.TB, text string) ([]Result, diag.List) {
	t.Helper()
	cfg, diags := lang.Parse(lang.Sources{"p.policy.hcl": []byte(text)}, lang.Options{})
	results, more := run(cfg, options, func(p pass, c *compilation) {
		for _, d := range c.drafts {
			if d.policy == nil || !d.body.sound() || cfg.Partial {
				continue
			}
			if err := d.policy.Check(); err != nil {
				t.Errorf("after the pass %q, policy %s: %v", p.name, d.body.name, err)
			}
		}
	})
	diags.Add(more...)
	return results, diags.Sorted()
}

// compileOne is the one policy of a text without findings of any kind.
func compileOne(t testing.TB, text string) *ir.Policy {
	t.Helper()
	results, diags := compile(t, text)
	for _, d := range diags {
		t.Errorf("%s", d)
	}
	if len(results) != 1 {
		t.Fatalf("%d policies of\n%s\nwant 1", len(results), text)
	}
	return results[0].Policy
}

// filesystem wraps the lists of a filesystem block.
func filesystem(lists string) string { return cases.Policy("filesystem {\n" + lists + "\n}") }

func TestPassOrder(t *testing.T) {
	want := `templates bound, rules bounded, settings known, files placed, levels single, endpoints placed, hosts denied, environment typed, ` +
		`limits counted, system calls known, system named, commands typed, waivers known, templates merged, allowed calls refused, builtins stated, ` +
		`limits applied, endpoints agree, policies assembled, slots placeable, ` +
		`protections certain, names apart by more than case, programs startable`
	var names []string
	for _, p := range passes {
		names = append(names, p.name)
		if p.why == "" || p.run == nil {
			t.Errorf("pass %q wants a function and a reason", p.name)
		}
	}
	if got := strings.Join(names, ", "); got != want {
		t.Errorf("the passes are\n%s\nwant\n%s", got, want)
	}
}
