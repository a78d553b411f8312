package lang

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// asked are the tests of src, about the smallest configuration with a variable
// and a local, and what is found.
func asked(src string) ([]*Test, string, []string) {
	policies := smallest + "\nvariable \"host\" {\ndefault = \"example.com\"\n}\nlocals {\nkeys = [\"${home}/.ssh\", \"/etc/shadow\"]\n}\n"
	src = strings.ReplaceAll(src, " ⏎ ", "\n")
	config, diags := Parse(Sources{"p": []byte(strings.ReplaceAll(policies, " ⏎ ", "\n"))}, Options{Tests: Sources{"t": []byte(src)}})
	var found []string
	for _, d := range diags {
		found = append(found, fmt.Sprintf("%s %s", d.Code, underlined(src, d.At)))
	}
	help := ""
	if len(diags) > 0 {
		help = diags[0].Help
	}
	return config.Tests, help, found
}

// inTest puts text into the one block of a test.
func inTest(block, text string) string {
	return fmt.Sprintf("test \"t\" {\n%s {\n%s\n}\n}\n", block, text)
}

func TestTestsAreRead(t *testing.T) {
	tests, _, found := asked(`test "keys stay closed" {
  policy = "p"
  bind {
    workspace = "/srv/w"
    home = "/home/u"
  }
  deny {
    read = concat(local.keys, ["${workspace}/.env"])
    connect-unix = ["/run/docker.sock"]
    link = [["/etc/shadow", "${workspace}/x"], [tmp, home]]
  }
  allow {
    by = "/usr/bin/curl"
    connect = ["${var.host}:443"]
  }
  allow {
    execute = []
    list = [workspace]
  }
}
`)
	if len(found) > 0 || len(tests) != 1 {
		t.Fatalf("%d tests, found %v", len(tests), found)
	}
	test := tests[0]
	var got []string
	for _, b := range test.Bind {
		got = append(got, b.Slot.Value+"="+shown(b.Path))
	}
	for _, e := range test.Expectations {
		line := fmt.Sprintf("%d: %v %s", e.Range.Start.Line, e.Allow, e.Word.Value)
		for _, o := range e.Objects {
			line += " " + shown(o)
		}
		if !e.By.Range.IsZero() {
			line += " by " + shown(e.By)
		}
		got = append(got, line)
	}
	want := []string{
		"workspace=/srv/w", "home=/home/u",
		"8: false read ${home}/.ssh", "8: false read /etc/shadow", "8: false read ${workspace}/.env",
		"9: false connect-unix /run/docker.sock",
		"10: false link /etc/shadow ${workspace}/x", "10: false link ${tmp} ${home}",
		"14: true connect example.com:443 by /usr/bin/curl",
		"18: true list ${workspace}",
	}
	if test.Name.Value != "keys stay closed" || test.Policy.Value != "p" || !slices.Equal(got, want) {
		t.Errorf("the test %q of %q holds\n%s\nwant\n%s", test.Name.Value, test.Policy.Value, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestFindingsInTests has a row for what can be wrong with a test: the text, the
// code, what is underlined, a piece of the help, and a twin with the fault mended.
func TestFindingsInTests(t *testing.T) {
	one := inTest("deny", `read = ["/x"]`)
	for _, tt := range []struct{ text, code, at, help, twin string }{
		{`tets "t" {}`, "unknown-block", `tets`, "did you mean test?", one},
		{`policy "q" { ⏎ version = 1 ⏎ }`, "unknown-block", `policy`, "*.policy.hcl", one},
		{`locals { ⏎ a = 1 ⏎ }`, "unknown-block", `locals`, "*.policy.hcl", one},
		{"x = 1\n" + one, "unknown-attribute", `x`, "into a test block", one},
		{`test { ⏎ deny { ⏎ read = ["/x"] ⏎ } ⏎ }`, "block-label", `test`, `test "NAME"`, one},
		{`test "t" { ⏎ polcy = "p" ⏎ }` + "\n", "unknown-attribute", `polcy`, "did you mean policy?", one},
		{`test "t" { ⏎ allowed { ⏎ read = ["/x"] ⏎ } ⏎ }`, "unknown-block", `allowed`, "did you mean allow?", one},
		{`test "t" { ⏎ deny = ["/x"] ⏎ }`, "unknown-attribute", `deny`, "is a block", one},
		{`test "t" {}`, "test-empty", `test "t"`, "what must hold", one},
		{inTest("allow", ``), "test-empty", `test "t"`, "what must hold", one},
		{inTest("allow", `read = []`), "test-empty", `test "t"`, "what must hold", one},
		{inTest("bind", `workspace = "/w"`), "test-empty", `test "t"`, "what must hold", one},
		{one + one, "duplicate-test", `"t"`, "another name", one + strings.ReplaceAll(one, `"t"`, `"u"`)},
		{strings.ReplaceAll(one, `"t"`, `""`), "name-malformed", `""`, "a title", one},
		{strings.ReplaceAll(one, `"t"`, `"a  b"`), "name-malformed", `"a  b"`, "single blanks", strings.ReplaceAll(one, `"t"`, `"Größe: 2 > 1, a & b?"`)},
		{strings.ReplaceAll(one, `"t"`, `"a\tb"`), "name-malformed", `"a\tb"`, "a title", one},
		{strings.ReplaceAll(one, `"t"`, `"`+strings.Repeat("a", 121)+`"`), "name-malformed", `"` + strings.Repeat("a", 121) + `"`, "120", strings.ReplaceAll(one, `"t"`, `"`+strings.Repeat("a", 120)+`"`)},

		{inTest("deny", `reed = ["/x"]`), "unknown-attribute", `reed`, "did you mean read?", one},
		{inTest("deny", `connect_unix = ["/x"]`), "unknown-attribute", `connect_unix`, "did you mean connect-unix?", inTest("deny", `connect-unix = ["/x"]`)},
		{inTest("deny", `request = ["https://a.test/"]`), "request-malformed", `"https://a.test/"`, "write both", inTest("deny", `request = ["GET https://a.test/"]`)},
		{inTest("deny", `request = ["GET https://${home}/"]`), "slot-misplaced", `"GET https://${home}/"`, "write it out", ""},
		{inTest("deny", `read = "/x"`), "wrong-type", `"/x"`, "a list", one},
		{inTest("deny", `read = ["/x", 1]`), "wrong-type", `1`, "in quotes", one},
		{inTest("deny", `read = [["/x"]]`), "wrong-type", `["/x"]`, "a string", one},
		{inTest("deny", `read = [optional("/x")]`), "modifier-misplaced", `optional("/x")`, "the path alone", one},
		{inTest("deny", `read = ["/x/${only("/y")}"]`), "modifier-misplaced", `"/x/${only("/y")}"`, "", one},
		{inTest("deny", `read = [identifier("a")]`), "field-misplaced", `identifier("a")`, "arguments", one},
		{inTest("deny", `read = [upper(home)]`), "slot-in-function", `upper(home)`, "literal part", inTest("deny", `read = [home]`)},
		{inTest("deny", `read = [local.kys]`), "unknown-name", `local.kys`, "did you mean local.keys?", inTest("deny", `read = local.keys`)},
		{inTest("deny", `read = ["/\u0000"]`), "path-control-character", `/\u0000`, "", one},
		{inTest("deny", `rename = ["/x", "/y"]`), "wrong-type wrong-type", `"/x"`, "two paths", inTest("deny", `rename = [["/x", "/y"]]`)},
		{inTest("deny", `link = [["/x"]]`), "pair-length", `["/x"]`, `link = [["`, inTest("deny", `link = [["/x", "/y"]]`)},
		{inTest("deny", `link = [["/x", "/y", "/z"]]`), "pair-length", `["/x", "/y", "/z"]`, `link = [["`, ""},
		{inTest("deny", `link = [["/x", only("/y")]]`), "modifier-misplaced", `["/x", only("/y")]`, "the path alone", ""},
		{inTest("deny", `link = [["/x", 2]]`), "wrong-type", `["/x", 2]`, "in quotes", ""},
		{inTest("deny", `connect = ["${home}:1"]`), "slot-misplaced", `"${home}:1"`, "write it out", inTest("deny", `connect = ["home:1"]`)},
		{inTest("deny", `connect = [443]`), "wrong-type", `443`, "in quotes", inTest("deny", `connect = ["a.test:443"]`)},
		{inTest("deny", "by = \"/x\"\nread = [\"/x\"]"), "by-misplaced by-misplaced", `by`, "beside it", one},
		{inTest("deny", `by = "/x"`), "by-misplaced", `by`, "beside it", one},
		{inTest("deny", "connect = [\"a.test:1\"]\nby = \"/x\"\nstat = [\"/x\"]"), "by-misplaced", `stat`, "block of its own", inTest("deny", "connect = [\"a.test:1\"]\nby = \"/x\"")},
		{inTest("deny", "connect = [\"a.test:1\"]\nby = [\"/x\"]"), "wrong-type", `["/x"]`, "a string", ""},
		{inTest("deny", "connect = [\"a.test:1\"]\nby = optional(\"/x\")"), "modifier-misplaced", `optional("/x")`, "the path alone", ""},

		{one + "test \"u\" {\nbind {\nhme = \"/h\"\n}\ndeny {\nread = [\"/x\"]\n}\n}\n", "unknown-attribute", `hme`, "did you mean home?", ""},
		{one + "test \"u\" {\nbind {\nhome = workspace\n}\ndeny {\nread = [\"/x\"]\n}\n}\n", "slot-misplaced", `workspace`, "write it out", ""},
		{one + "test \"u\" {\nbind {\n}\nbind {\n}\ndeny {\nread = [\"/x\"]\n}\n}\n", "duplicate-block", `bind`, "one block", ""},
		{one + "test \"u\" {\npolicy = p\n}\n", "unknown-name", `p`, "known here", ""},
		{one + "test \"u\" {\n", "syntax", `{`, "add }", ""},
		{"\xff", "not-text", "\xff", "UTF-8", one},
	} {
		t.Run(tt.code+"/"+tt.text, func(t *testing.T) {
			_, help, found := asked(tt.text)
			var codes []string
			for _, f := range found {
				code, _, _ := strings.Cut(f, " ")
				codes = append(codes, code)
			}
			if strings.Join(codes, " ") != tt.code {
				t.Fatalf("the text finds %q, want %q", found, tt.code)
			}
			if _, at, _ := strings.Cut(found[0], " "); at != strings.ReplaceAll(tt.at, " ⏎ ", "\n") {
				t.Errorf("the text underlines %q, want %q", at, tt.at)
			}
			if !strings.Contains(help, tt.help) {
				t.Errorf("the text helps %q, want %q in it", help, tt.help)
			}
			if tt.twin == "" {
				return
			}
			if _, _, found := asked(tt.twin); len(found) > 0 {
				t.Errorf("its twin finds %q, want nothing", found)
			}
		})
	}
}

// TestFaultsOfBothSides asks that tests and policies are read in one run, and
// that tests become no part of the configuration.
func TestFaultsOfBothSides(t *testing.T) {
	tests := Sources{"t": []byte(inTest("deny", `reed = ["/x"]`))}
	_, diags := Parse(Sources{"p": []byte("policy \"p\" {\n}\n")}, Options{Tests: tests})
	if len(diags) != 2 || diags[0].Code != "missing-attribute" || diags[1].Code != "unknown-attribute" {
		t.Errorf("found %v, want one fault of each side", diags)
	}
	config, _ := Parse(Sources{"p": []byte("policy \"p\" {\nversion = 1\n}\n")}, Options{Tests: tests})
	if len(config.Sources) != 1 {
		t.Errorf("the configuration has the sources %v, want the policy alone", slices.Sorted(maps.Keys(config.Sources)))
	}
}

func TestReadTests(t *testing.T) {
	fsys := fstest.MapFS{
		"c/b.test.hcl":       {Data: []byte("b")},
		"c/a.test.hcl":       {Data: []byte("a")},
		"c/a.policy.hcl":     {Data: []byte("p")},
		"c/.a.test.hcl":      {Data: []byte("editor")},
		"c/below/d.test.hcl": {Data: []byte("d")},
		"none/a.policy.hcl":  {Data: []byte("p")},
		"dir/d.test.hcl/x":   {Data: []byte("x")},
		"big/a.test.hcl":     {Data: []byte(strings.Repeat("#", MaxFileBytes+1))},
	}
	for _, tt := range []struct{ path, files, code, err string }{
		{"c", "c/a.test.hcl c/b.test.hcl", "", ""},
		{"c/b.test.hcl", "c/b.test.hcl", "", ""},
		{"none", "", "", ""},
		{"big", "", "file-too-large", ""},
		{"missing", "", "", "missing"},
		{"dir", "", "", "dir/d.test.hcl: it is a directory"},
	} {
		sources, diags, err := ReadTests(fsys, tt.path)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("ReadTests(%q) fails with %v, want %q", tt.path, err, tt.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("ReadTests(%q) fails with %v", tt.path, err)
		}
		if got := strings.Join(slices.Sorted(maps.Keys(sources)), " "); got != tt.files {
			t.Errorf("ReadTests(%q) reads %q, want %q", tt.path, got, tt.files)
		}
		if tt.code == "" && len(diags) > 0 || tt.code != "" && (len(diags) != 1 || diags[0].Code != tt.code) {
			t.Errorf("ReadTests(%q) finds %v, want %q", tt.path, diags, tt.code)
		}
	}
}

// FuzzTests asks of test files what FuzzParse asks of policies.
func FuzzTests(f *testing.F) {
	f.Add(inTest("deny", `read = concat(local.keys, ["${workspace}/x"])`))
	f.Add(inTest("allow", "by = \"/x\"\nconnect = [\"${var.host}:443\"]"))
	f.Add(inTest("allow", `rename = [for k in local.keys : [k, "${workspace}/x"]]`))
	f.Add("test \"t\" {\npolicy = \"p\"\nbind {\nhome = \"/home/u\"\n}\n}\n")
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) > 20_000 {
			return
		}
		policies := "policy \"p\" {\nversion = 1\n}\nvariable \"host\" {\ndefault = \"a.test\"\n}\nlocals {\nkeys = [\"${home}/.ssh\"]\n}\n"
		config, diags := Parse(Sources{"q": []byte(policies)}, Options{Tests: Sources{"p": []byte(src)}})
		for _, d := range diags {
			checkPlace(t, src, d.At)
			checkWords(t, d)
		}
		for _, test := range config.Tests {
			for _, e := range test.Expectations {
				if want := 1 + strings.Count("rename link", e.Word.Value); len(e.Objects) != want {
					t.Errorf("Parse(%q): %s asks about %d things", src, e.Word.Value, len(e.Objects))
				}
				for _, o := range append(e.Objects, e.By) {
					for _, part := range o.Parts {
						if part.Kind == FieldPart || part.Text == "" || strings.Contains(part.Text, nul) {
							t.Errorf("Parse(%q): %s asks about the part %q", src, e.Word.Value, part.Text)
						}
					}
				}
			}
		}
	})
}

// A title is what this expression says, which takes too long to be compiled in
// every start.
func TestTitles(t *testing.T) {
	form := regexp.MustCompile(`^[\pL\pN\pP\pS](?: ?[\pL\pM\pN\pP\pS]){0,119}$`)
	for _, name := range []string{
		"", "a", " a", "a ", "a b", "a  b", "a\tb", "a\nb", "größe, 2 € (neu)!", "e\u0301", "\u0301e", "a \u0301", "\xff", "a\u202eb", "a\u00a0b", "a\x00",
		strings.Repeat("a", 120), strings.Repeat("a", 121), strings.Repeat("a ", 119) + "a", strings.Repeat("a ", 120) + "a", "世界", "🙂 ok",
	} {
		if got, want := isTitle(name), form.MatchString(name); got != want {
			t.Errorf("isTitle(%q) = %v, want %v", name, got, want)
		}
	}
}
