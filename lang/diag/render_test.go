package diag

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// span of src from the first occurrence of text, as a Range.
func rangeOf(t *testing.T, file, src, text string) Range {
	t.Helper()
	i := strings.Index(src, text)
	if i < 0 {
		t.Fatalf("%q does not hold %q", src, text)
	}
	return Range{File: file, Start: posOf(src, i), End: posOf(src, i+len(text))}
}

func posOf(src string, i int) Pos {
	before := src[:i]
	return Pos{
		Line:   1 + strings.Count(before, "\n"),
		Column: 1 + len([]rune(before[strings.LastIndex(before, "\n")+1:])),
		Byte:   i,
	}
}

func render(t *testing.T, l List, src map[string]string, colour bool) string {
	t.Helper()
	files := map[string][]byte{}
	for name, text := range src {
		files[name] = []byte(text)
	}
	var out bytes.Buffer
	if err := Render(&out, l, files, RenderOptions{Colour: colour}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestRender(t *testing.T) {
	finding := func(src, text string) Diagnostic {
		return Diagnostic{Code: "some-code", At: rangeOf(t, "p.policy.hcl", src, text), Message: "message", Help: "help"}
	}
	for _, tt := range []struct {
		name, src, text, want string
	}{
		{"one line", "a\n\n\n\n\n\n  write = [\"build/out\"]\n", `"build/out"`, `
p.policy.hcl:7:12: error: message [some-code]
  |
7 |   write = ["build/out"]
  |            ^^^^^^^^^^^
  = help: help
`},
		{"ten lines", strings.Repeat("\n", 9) + "x = 1", "x", `
p.policy.hcl:10:1: error: message [some-code]
   |
10 | x = 1
   | ^
   = help: help
`},
		{"tabs", "\tx\t= [\"a\"]", `"a"`, `
p.policy.hcl:1:7: error: message [some-code]
  |
1 |     x   = ["a"]
  |            ^^^
  = help: help
`},
		{"wide and combining", "x = [\"世界e\u0301\", \"b\"]", `"b"`, `
p.policy.hcl:1:14: error: message [some-code]
  |
1 | x = ["世界` + "e\u0301" + `", "b"]
  |               ^^^
  = help: help
`},
		{"several lines", "x = [\n  1,\n  2,\n]\ny = 1", "[\n  1,\n  2,\n]", `
p.policy.hcl:1:5: error: message [some-code]
  |
1 | x = [
  |     ^
...
4 | ]
  | ^
  = help: help
`},
		{"two lines", "x = [1,\n  2]", "1,\n  2", `
p.policy.hcl:1:6: error: message [some-code]
  |
1 | x = [1,
  |      ^^
2 |   2]
  |   ^
  = help: help
`},
		{"ends with a line", "x = 1\ny = 2\n", "= 1\n", `
p.policy.hcl:1:3: error: message [some-code]
  |
1 | x = 1
  |   ^^^
  = help: help
`},
		{"nothing between two characters", "x = ", "", `
p.policy.hcl:1:1: error: message [some-code]
  |
1 | x =
  | ^
  = help: help
`},
		{"control characters", "x = \"\x1b[2J\u202e\x00\"", "\x00", `
p.policy.hcl:1:11: error: message [some-code]
  |
1 | x = "␛[2J<U+202E>␀"
  |                  ^
  = help: help
`},
		{"carriage return", "x = 1\r\ny = 2\r\n", "1\r\n", `
p.policy.hcl:1:5: error: message [some-code]
  |
1 | x = 1
  |     ^
  = help: help
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := finding(tt.src, tt.text)
			got := render(t, List{d}, map[string]string{"p.policy.hcl": tt.src}, false)
			if want := tt.want[1:]; got != want {
				t.Errorf("Render(%q at %q) =\n%s\nwant\n%s", tt.src, tt.text, got, want)
			}
		})
	}
}

func TestRenderPlaces(t *testing.T) {
	src := "policy \"p\" {\n}\npolicy \"p\" {\n}\n"
	first := rangeOf(t, "a.policy.hcl", src, `"p"`)
	second := first
	second.Start = posOf(src, strings.LastIndex(src, `"p"`))
	second.End = posOf(src, strings.LastIndex(src, `"p"`)+3)
	files := map[string]string{"a.policy.hcl": src}
	for _, tt := range []struct {
		name string
		d    Diagnostic
		want string
	}{
		{"related", Diagnostic{Code: "c", At: second, Message: "m", Help: "h",
			Related: []Related{{At: first, Message: "first stated here"}}}, `
a.policy.hcl:3:8: error: m [c]
  |
3 | policy "p" {
  |        ^^^
a.policy.hcl:1:8: note: first stated here
  |
1 | policy "p" {
  |        ^^^
  = help: h
`},
		{"warning without help", Diagnostic{Severity: Warning, Code: "c", At: first, Message: "m"}, `
a.policy.hcl:1:8: warning: m [c]
  |
1 | policy "p" {
  |        ^^^
`},
		{"no place", Diagnostic{Code: "c", Message: "m", Help: "h"}, `
error: m [c]
  = help: h
`},
		{"whole file", Diagnostic{Code: "c", At: Range{File: "b"}, Message: "m", Help: "h"}, `
b: error: m [c]
  = help: h
`},
		{"another file", Diagnostic{Code: "c", At: Range{File: "b", Start: Pos{3, 4, 5}, End: Pos{3, 5, 6}}, Message: "m"}, `
b:3:4: error: m [c]
`},
		{"beyond the file", Diagnostic{Code: "c", At: Range{File: "a.policy.hcl", Start: Pos{99, 4, 5000}, End: Pos{99, 5, 5001}}, Message: "m"}, `
a.policy.hcl:99:4: error: m [c]
`},
		{"escapes in words", Diagnostic{Code: "c", Message: "m \x1b[31m", Help: "\x07"}, `
error: m ␛[31m [c]
  = help: ␇
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, want := render(t, List{tt.d}, files, false), tt.want[1:]; got != want {
				t.Errorf("Render(%v) =\n%s\nwant\n%s", tt.d, got, want)
			}
		})
	}
}

func TestRenderLongLine(t *testing.T) {
	src := `x = "` + strings.Repeat("ä", 300_000) + `needle` + strings.Repeat("世", 300_000) + `"`
	d := Diagnostic{Code: "c", At: rangeOf(t, "f", src, "needle"), Message: "m"}
	got := render(t, List{d}, map[string]string{"f": src}, false)
	lines := strings.Split(got, "\n")
	if len(got) > 1000 || !strings.Contains(lines[2], "…") {
		t.Fatalf("Render of a long line is %d bytes: %.300s", len(got), got)
	}
	text, carets := []rune(lines[2]), lines[3]
	at := strings.Index(carets, "^")
	if string(text[at:at+6]) != "needle" {
		t.Errorf("Render of a long line underlines %q, want %q", string(text[at:at+6]), "needle")
	}
}

func TestRenderCap(t *testing.T) {
	var l List
	for i := range 60 {
		l.Add(Diagnostic{Code: "c", At: Range{File: fmt.Sprintf("f%02d", i)}, Message: "m"})
	}
	got := render(t, l, nil, false)
	if n := strings.Count(got, "error: m"); n != MaxRendered {
		t.Errorf("Render of 60 findings shows %d, want %d", n, MaxRendered)
	}
	if !strings.HasSuffix(got, "\nand 10 more\n") {
		t.Errorf("Render of 60 findings ends in %q, want the number of those left", got[len(got)-40:])
	}
}

func TestRenderColour(t *testing.T) {
	d := Diagnostic{Code: "c", At: rangeOf(t, "f", "x = 1", "1"), Message: "m", Help: "h"}
	plain := render(t, List{d}, map[string]string{"f": "x = 1"}, false)
	coloured := render(t, List{d}, map[string]string{"f": "x = 1"}, true)
	if strings.Contains(plain, "\x1b") || !strings.Contains(coloured, "\x1b[1;31m^\x1b[0m") {
		t.Errorf("Render with and without colour = %q, %q", coloured, plain)
	}
	for _, c := range []string{bold, red, yellow, blue, ""} {
		coloured = strings.ReplaceAll(coloured, "\x1b["+c+"m", "")
	}
	if coloured = strings.ReplaceAll(coloured, "\x1b[0m", ""); coloured != plain {
		t.Errorf("Render with colour, colours removed = %q, want %q", coloured, plain)
	}
}

// FuzzRender asks that no bytes of a source or message reach the output raw.
func FuzzRender(f *testing.F) {
	f.Add("x = 1\n", "m", 0, 1, 1, 1)
	f.Add("x = \x1b[2J\xff\u202e\n\t\ty", "m\x1b", 3, 9, 1, 2)
	f.Add("", "", -5, 1<<40, 0, -1)
	f.Fuzz(func(t *testing.T, src, message string, from, to, line, end int) {
		at := Range{File: "f\x1b", Start: Pos{line, 1, from}, End: Pos{end, 1, to}}
		l := List{{Code: "c", At: at, Message: message, Help: message, Related: []Related{{At: at, Message: message}}}}
		got := render(t, l, map[string]string{"f\x1b": src}, false)
		for _, r := range got {
			if r < 0x20 && r != '\n' || escaped(r) {
				t.Fatalf("Render(%q) writes %U raw: %q", src, r, got)
			}
		}
		if !json.Valid(JSON(l)) {
			t.Fatalf("JSON(%v) is not JSON", l)
		}
	})
}

func TestJSON(t *testing.T) {
	at := rangeOf(t, "f.policy.hcl", "x = \"<é>\"", `"<é>"`)
	got := string(JSON(List{
		{Code: "b", At: at, Message: "<m>", Help: "h", Related: []Related{{At: Range{File: "g"}, Message: "r"}}},
		{Severity: Warning, Code: "a", Message: "n"},
	}))
	want := `{
  "schema": "obspc.diagnostics/v1",
  "diagnostics": [
    {
      "severity": "warning",
      "code": "a",
      "message": "n"
    },
    {
      "severity": "error",
      "code": "b",
      "message": "<m>",
      "help": "h",
      "file": "f.policy.hcl",
      "start": {
        "line": 1,
        "column": 5,
        "byte": 4
      },
      "end": {
        "line": 1,
        "column": 10,
        "byte": 10
      },
      "related": [
        {
          "message": "r",
          "file": "g"
        }
      ]
    }
  ]
}
`
	if got != want {
		t.Errorf("JSON = %s\nwant %s", got, want)
	}
	if got, want := string(JSON(nil)), "{\n  \"schema\": \"obspc.diagnostics/v1\",\n  \"diagnostics\": []\n}\n"; got != want {
		t.Errorf("JSON(nil) = %q, want %q", got, want)
	}
}

func TestSorted(t *testing.T) {
	at := func(file string, b int) Range { return Range{File: file, Start: Pos{1, 1, b}, End: Pos{1, 1, b + 1}} }
	l := List{
		{Code: "b", At: at("b", 1), Message: "m"},
		{Code: "a", At: at("b", 1), Message: "m"},
		{Code: "b", At: at("b", 1), Message: "m"},
		{Code: "z", At: at("a", 9), Message: "m"},
		{Code: "z", At: at("a", 2), Message: "m"},
	}
	want := "[a:1:1: error: m [z] a:1:1: error: m [z] b:1:1: error: m [a] b:1:1: error: m [b]]"
	if got := fmt.Sprint(l.Sorted()); got != want {
		t.Errorf("Sorted = %s, want %s", got, want)
	}
}
