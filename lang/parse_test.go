package lang

import (
	"slices"
	"strings"
	"testing"
)

func TestStepOrder(t *testing.T) {
	var got []string
	for _, s := range steps {
		got = append(got, s.name)
	}
	want := []string{"scanned", "parsed", "declared", "valued", "evaluated", "decoded", "asked"}
	if !slices.Equal(got, want) {
		t.Errorf("the steps are %v, want %v", got, want)
	}
}

// TestAllFaultsInOneRun asks for each of many faults once, wherever others are.
func TestAllFaultsInOneRun(t *testing.T) {
	a := `variable "v" {
  type = number
  default = "x"
}
locals {
  bad = upper()
  use = local.bad
}
policy "p" {
  version = "1"
  extends = ["std/base", local.use, var.v, 3]
  filesystem {
    reed = ["/a"]
    read = ["/a", local.use, uper("/b"), 4]
    deny = ["${hom}/x"]
  }
  network {
    endpoint "e" {
      host = local.bad
      ports = [0, "x", 443, 70000]
    }
    endpoint "E" {
      ports = []
    }
  }
  environment {
    A-B = local.nothing
    LD_X = "y"
  }
}
`
	b := `policy "p" {
  description = 3
}
`
	config, diags := Parse(Sources{"a.policy.hcl": []byte(a), "b.policy.hcl": []byte(b)}, Options{})
	var got []string
	for _, d := range diags {
		got = append(got, strings.TrimSuffix(d.At.File, ".policy.hcl")+strings.TrimPrefix(d.At.String(), d.At.File)+" "+d.Code)
	}
	want := []string{
		"a:3:13 wrong-type",
		"a:6:9 wrong-arguments",
		"a:10:13 wrong-type",
		"a:11:44 wrong-type",
		"a:13:5 unknown-attribute",
		"a:14:30 unknown-function",
		"a:14:42 wrong-type",
		"a:15:16 unknown-name",
		"a:20:16 port-range",
		"a:20:19 wrong-type",
		"a:20:29 port-range",
		"a:22:5 missing-attribute",
		"a:22:14 name-malformed",
		"a:23:15 ports-empty",
		"a:27:5 environment-name",
		"a:27:11 unknown-name",
		"a:28:5 environment-loader-variable",
		"b:1:1 missing-attribute",
		"b:1:8 duplicate-policy",
		"b:2:17 wrong-type",
	}
	if !slices.Equal(got, want) {
		t.Errorf("Parse finds\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, p := range config.Policies {
		if !p.Partial {
			t.Errorf("policy %s at %s is not partial", p.Name.Value, p.Range)
		}
	}
}

func TestPartial(t *testing.T) {
	src := "locals {\nbad = upper()\n}\npolicy \"a\" {\nversion = 1\n}\npolicy \"b\" {\nversion = 1\nfilesystem {\nread = local.bad\n}\n}\n"
	config, _ := Parse(Sources{"p": []byte(src)}, Options{})
	if config.Policies[0].Partial || !config.Policies[1].Partial {
		t.Errorf("policies a and b are partial: %v, %v, want false, true", config.Policies[0].Partial, config.Policies[1].Partial)
	}
}

func TestLibrary(t *testing.T) {
	src := Sources{"t": []byte("template \"t\" {}\n")}
	if _, diags := Parse(src, Options{Library: true}); len(diags) > 0 {
		t.Errorf("Parse of a template, Library, finds %v, want nothing", diags)
	}
	if _, diags := Parse(Sources{"t": []byte("\n")}, Options{Library: true}); len(diags) != 1 || diags[0].Code != "no-policy" {
		t.Errorf("Parse of nothing, Library, finds %v, want no-policy", diags)
	}
	if _, diags := Parse(nil, Options{}); len(diags) != 1 || diags[0].Code != "no-policy" {
		t.Errorf("Parse of no file finds %v, want no-policy", diags)
	}
}

func TestFilesAreOneConfiguration(t *testing.T) {
	src := Sources{
		"a": []byte("policy \"p\" {\nversion = local.one\nextends = [template.t]\n}\n"),
		"b": []byte("locals {\none = var.n\n}\n"),
		"c": []byte("variable \"n\" {\ntype = number\ndefault = 7\n}\ntemplate \"t\" {}\n"),
	}
	config, diags := Parse(src, Options{})
	if len(diags) > 0 || config.Policies[0].Version.Value != 7 || len(config.Templates) != 1 {
		t.Errorf("Parse of three files finds %v, policies %+v", diags, config.Policies)
	}
}

func TestTooManyFindings(t *testing.T) {
	_, diags := Parse(Sources{"p": []byte(strings.Repeat("x {}\n", 100_000))}, Options{})
	if n := len(diags); n != maxFindings+1 || diags[n-1].Code != "too-many-findings" || !strings.HasPrefix(diags[n-1].Message, "99000 more") {
		t.Errorf("Parse finds %d, the last %v, want %d and how many more", n, diags[n-1], maxFindings)
	}
}

func TestSyntax(t *testing.T) {
	for _, src := range []string{
		`policy "p" {`, `policy "p`, `policy p = {}`, `policy "p" { version = 1`, "policy \"p\" {\n version 1\n}", "x = ", "x = [1 2]", "x = [1,",
		"x = {a 1}", "x = {a = 1", "x = f(1 2)", "x = f(1", "x = (1", "x = 1 +", "x = true ? 1", "x = \"${1\"", "x = \"a\nb\"", `x = "\q"`,
		"x = 1 y = 2", "x = 'a'", "x = 1; y = 2", "x = a & b", "x = 1\nx = 2", `"x" = 1`, "x = [for]", "x = [for a in b]", "x = 0x10",
		"a { b = 1 c = 2 }", "a { b = 1", "a {} b {}", "x = `a`", "x = “a”", "x = <<EOT\na", "}", "]", "x = a[", "x = a.", "policy \"${x}\" {}", "x = 1 2", "*", "x = \"a\\u00\"",
	} {
		_, diags := Parse(Sources{"p": []byte(src)}, Options{})
		if len(diags) != 1 || diags[0].Code != "syntax" {
			t.Errorf("Parse(%q) finds %v, want one finding, syntax", src, diags)
			continue
		}
		checkWords(t, diags[0])
		if strings.Contains(diags[0].Help, "docs/language.md") {
			t.Errorf("Parse(%q) finds %v, which has no words of its own", src, diags[0])
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"read", "write", "deny", "execute", "workspace", "home", "tmp"}
	for _, tt := range []struct{ given, want string }{
		{"reed", "read"}, {"rea", "read"}, {"raed", "read"}, {"hom", "home"}, {"worskpace", "workspace"}, {"excute", "execute"},
		{"READ", "read"}, {"exec", "execute"}, {"cwd", "workspace"}, {"exe", "execute"}, {"x", ""}, {"", ""}, {"something", ""}, {"tm", "tmp"}, {"wrote", "write"},
	} {
		if got := nearest(tt.given, names); got != tt.want {
			t.Errorf("nearest(%q) = %q, want %q", tt.given, got, tt.want)
		}
	}
}
