package lang

import (
	"strings"
	"testing"
)

func TestVariables(t *testing.T) {
	for _, tt := range []struct {
		name, block, given string // given: NAME=VALUE, or empty
		code               string // of the one finding
		value              string // as JSON
	}{
		{"default", `default = "a"`, "", "", `"a"`},
		{"default of a type", "type = number\ndefault = 3", "", "", `3`},
		{"list", "type = list(string)\ndefault = [\"b\", \"a\"]", "", "", `["b","a"]`},
		{"map", "type = map(number)\ndefault = { b = 2, a = 1 }", "", "", `{"a":1,"b":2}`},
		{"list of lists", "type = list(list(bool))\ndefault = [[true], []]", "", "", `[[true],[]]`},
		{"description", "description = \"d\"\ntype = string\ndefault = \"\"", "", "", `""`},
		{"given string", "type = string", `v=a,"b" = ${c}`, "", `"a,\"b\" = ${c}"`},
		{"given without type", "", "v=3", "", `"3"`},
		{"given for the default's type", "default = 1", "v=3", "", `3`},
		{"given number", "type = number", "v=-1.5", "", `-1.5`},
		{"given bool", "type = bool\ndefault = true", "v=false", "", `false`},
		{"given list", "type = list(string)", `v=["a", "b"]`, "", `["a","b"]`},
		{"given map", "type = map(bool)", `v={a = true}`, "", `{"a":true}`},
		{"given over a default", "type = string\ndefault = \"a\"", "v=b", "", `"b"`},
		{"fraction and exponent", "type = list(number)", `v=[1e3, 0.1]`, "", `[1000,0.1]`},

		{"no value", "type = string", "", "variable-without-value", ""},
		{"unknown", `default = "a"`, "w=a", "unknown-variable", ""},
		{"unknown type", "type = strin\ndefault = \"a\"", "", "unknown-type", ""},
		{"type of nothing", "type = list()\ndefault = []", "", "unknown-type", ""},
		{"list without a type", "default = []", "", "missing-attribute", ""},
		{"default of another type", "type = number\ndefault = \"3\"", "", "wrong-type", ""},
		{"element of another type", "type = list(string)\ndefault = [\"a\", 1]", "", "wrong-type", ""},
		{"null", "default = null", "", "wrong-type", ""},
		{"computed default", "default = workspace", "", "not-constant", ""},
		{"computed default, call", "default = upper(\"a\")", "", "not-constant", ""},
		{"given number as text", "type = number", `v="3"`, "wrong-type", ""},
		{"given text for a number", "type = number", "v=x y", "wrong-type", ""},
		{"given nothing for a number", "type = number", "v=", "wrong-type", ""},
		{"given text for a list", "type = list(string)", "v=a", "wrong-type", ""},
		{"given a name in a list", "type = list(string)", `v=["a", b]`, "wrong-type", ""},
		{"given a word for a bool", "type = bool", "v=yes", "wrong-type", ""},
		{"given a for expression", "type = list(string)", `v=[for x in ["a"] : x]`, "", `["a"]`},
		{"given a slot", "type = string", "v=${workspace}/a", "slot-in-variable", ""},
		{"given a slot in a list", "type = list(string)", `v=["${home}/a"]`, "slot-in-variable", ""},
		{"given the text of a slot, escaped", "type = list(string)", `v=["$${home}/a"]`, "", `["${home}/a"]`},
		{"given a dollar sign", "type = string", "v=$workspace", "", `"$workspace"`},
		{"given a call", "type = number", "v=length([])", "wrong-type", ""},
		{"given depth", "type = list(string)", "v=" + strings.Repeat("[", 100_000), "nesting-too-deep", ""},
		{"given exponent", "type = number", "v=1e100000000", "number-too-large", ""},
		{"given NUL", "type = string", "v=\x00workspace\x00", "control-character", ""},
		{"given NUL in a list", "type = list(string)", `v=["\u0000"]`, "control-character", ""},
		{"given bytes", "type = string", "v=\xff", "not-text", ""},
		{"given bytes in a list", "type = list(string)", "v=[\"\xff\"]", "not-text", ""},
		{"given what turns", "type = string", "v=a\u202eb", "control-character", ""},
		{"given accents", "type = string", "v=u\u0308", "not-normal-form", ""},
		{"unknown attribute", "default = \"a\"\nsensitive = true", "", "unknown-attribute", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			src := "variable \"v\" {\n" + tt.block + "\n}\n" + smallest
			var given []string
			if tt.given != "" {
				given = []string{tt.given}
			}
			if got := codes(src, given...); got != tt.code {
				t.Fatalf("Parse(%s) with %q finds %q, want %q", tt.block, tt.given, got, tt.code)
			}
			if tt.code == "" {
				if got := parsed(t, src, given...).Variables["v"]; got != tt.value {
					t.Errorf("Parse(%s) with %q has the value %s, want %s", tt.block, tt.given, got, tt.value)
				}
			}
		})
	}
}

func TestUnknownVariable(t *testing.T) {
	_, diags := Parse(Sources{"p": []byte("variable \"bank_host\" {\ndefault = \"\"\n}\n" + smallest)}, Options{Vars: map[string]string{"bankhost": "x"}})
	if len(diags) != 1 || diags[0].Help != "did you mean bank_host?" || diags[0].At.String() != "--var bankhost" {
		t.Errorf("Parse with --var bankhost finds %v, help %q", diags, diags[0].Help)
	}
}

// TestListsGivenAsWords: the help shows the value at hand as a list.
func TestListsGivenAsWords(t *testing.T) {
	for _, tt := range []struct{ element, given, want string }{
		{"string", "cat", `--var 'v=["cat"]'`},
		{"string", "cat, ls", `--var 'v=["cat", "ls"]'`},
		{"string", `"cat"`, `--var 'v=["a", "b"]'`},
		{"string", "it's", `--var 'v=["a", "b"]'`},
		{"number", "1,2", `--var 'v=[1, 2]'`},
	} {
		src := "variable \"v\" {\ntype = list(" + tt.element + ")\n}\n" + smallest
		_, diags := Parse(Sources{"p": []byte(src)}, Options{Vars: map[string]string{"v": tt.given}})
		if len(diags) != 1 || diags[0].Code != "wrong-type" || !strings.HasSuffix(diags[0].Help, tt.want) {
			t.Errorf("Parse with v=%s finds %v, help %q, want wrong-type and %s", tt.given, diags, diags[0].Help, tt.want)
		}
	}
}

func TestLocals(t *testing.T) {
	for _, tt := range []struct{ name, locals, code string }{
		{"any order", "a = local.b\nb = local.c\nc = 1", ""},
		{"twice the same", "a = local.b + local.b\nb = 1", ""},
		{"circle of one", "a = local.a", "local-cycle"},
		{"circle of three", "a = local.b\nb = local.c\nc = local.a", "local-cycle"},
		{"two circles", "a = local.b\nb = local.a\nc = local.d\nd = local.c", "local-cycle local-cycle"},
		{"what uses a circle is silent", "a = local.b\nb = local.a\nc = local.a", "local-cycle"},
		{"what uses a fault is silent", "a = upper()\nb = local.a\nc = [local.b]", "wrong-arguments"},
		{"what uses a variable without a value is silent", "a = var.v", "variable-without-value"},
		{"hidden by a for expression", "a = [for local in [{a = 1}] : 1]", "reserved-name"},
		{"unknown", "aaa = 1\nb = local.aab", "unknown-name"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			src := "locals {\n" + tt.locals + "\n}\n" + smallest
			if strings.Contains(src, "var.v") {
				src = "variable \"v\" {}\n" + src
			}
			if got := codes(src); got != tt.code {
				t.Errorf("Parse(%s) finds %q, want %q", tt.locals, got, tt.code)
			}
		})
	}
}

func TestLocalCycleShowsTheCircle(t *testing.T) {
	_, diags := Parse(Sources{"p": []byte("locals {\nx = local.a\na = local.b\nb = local.c\nc = local.a\n}\n" + smallest)}, Options{})
	want := "locals use each other in a circle: local.a → local.b → local.c → local.a"
	if len(diags) != 1 || diags[0].Message != want || len(diags[0].Related) != 2 || diags[0].At.Start.Line != 3 {
		t.Errorf("Parse finds %+v, want %q at line 3 with two more places", diags, want)
	}
}
