package compiler

import (
	"reflect"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
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
		{"limits", `scope = "tree"`, `scope = "watched"`, `the scope of limits: "tree" and "watched"`},
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
