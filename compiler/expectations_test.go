package compiler

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/lang/diag"
)

// asked are the tests of a text, about the policies p and q.
func asked(t *testing.T, policies, src string) ([]Test, diag.List) {
	t.Helper()
	cfg, diags := lang.Parse(lang.Sources{"p.policy.hcl": []byte(policies)}, lang.Options{Tests: lang.Sources{"t": []byte(src)}})
	results, more := Compile(cfg, options)
	diags.Add(more...)
	tests, more := Tests(cfg, results)
	diags.Add(more...)
	return tests, diags.Sorted()
}

const twoPolicies = "policy \"p\" {\nversion = 1\nfilesystem {\nwrite = [workspace]\ndeny = [\"/data/secret\"]\n}\n}\npolicy \"q\" {\nversion = 1\n}\n"

func inTestBlock(text string) string { return "test \"t\" {\n" + text + "\n}\n" }

func TestTestsAreTyped(t *testing.T) {
	tests, diags := asked(t, twoPolicies, inTestBlock(`policy = "p"
bind {
  workspace = "/data/w/"
}
allow {
  rename = [["${workspace}/a", "${workspace}//b/"]]
}
deny {
  read = ["/etc/./shadow"]
  connect = ["API.example.com.:443", "[2001:db8::7]:80"]
}
deny {
  by = "${workspace}/curl"
  connect = ["10.0.0.1:1"]
}`))
	if len(diags) > 0 || len(tests) != 1 {
		t.Fatalf("%d tests, found %v", len(tests), diags)
	}
	var got []string
	for _, e := range tests[0].Expectations {
		got = append(got, fmt.Sprintf("%d %v %s", e.At.Start.Line, e.Allow, e.Request))
	}
	want := []string{
		"7 true rename ${workspace}/a ${workspace}/b",
		"10 false read /etc/shadow",
		"11 false connect api.example.com:443",
		"11 false connect [2001:db8::7]:80",
		"15 false connect 10.0.0.1:1 by ${workspace}/curl",
	}
	at, _ := tests[0].Binding.At(ir.Workspace)
	if !slices.Equal(got, want) || tests[0].Policy.Policy.Name != "p" || at != ir.MustPath("/data/w") {
		t.Errorf("policy %s, workspace %s:\n%s\nwant\n%s", tests[0].Policy.Policy.Name, at, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestFindingsInTests has a row for what is wrong with a test once paths, hosts
// and policies are known; its twin has the fault mended.
func TestFindingsInTests(t *testing.T) {
	deny := func(text string) string { return inTestBlock("policy = \"p\"\ndeny {\n" + text + "\n}") }
	bind := func(text string) string {
		return inTestBlock("policy = \"p\"\nbind {\n" + text + "\n}\ndeny {\nread = [\"/x\"]\n}")
	}
	for _, tt := range []struct{ text, code, at, help, twin string }{
		{inTestBlock("deny {\nread = [\"/x\"]\n}"), "test-without-policy", `test "t"`, `policy = "p"`, deny(`read = ["/x"]`)},
		{inTestBlock("policy = \"pp\"\ndeny {\nread = [\"/x\"]\n}"), "unknown-policy", `"pp"`, "did you mean p?", deny(`read = ["/x"]`)},
		{deny(`read = ["x"]`), "path-not-absolute", `"x"`, "${workspace}/x", deny(`read = ["${workspace}/x"]`)},
		{deny(`read = ["~/.ssh"]`), "path-tilde", `"~/.ssh"`, "${home}/.ssh", deny(`read = ["${home}/.ssh"]`)},
		{deny(`read = ["${workspace}/*.env"]`), "path-wildcard", `"${workspace}/*.env"`, "one file", deny(`read = ["${workspace}/a.env"]`)},
		{deny(`rename = [["/a", "/b/../c"]]`), "path-dot-dot", `["/a", "/b/../c"]`, `"/c"`, deny(`rename = [["/a", "/c"]]`)},
		{deny(`connect = ["a.test"]`), "connect-malformed", `"a.test"`, "api.example.com:443", deny(`connect = ["a.test:443"]`)},
		{deny(`request = ["get https://a.test/"]`), "request-malformed", `"get https://a.test/"`, "GET https://api", deny(`request = ["GET https://a.test/"]`)},
		{deny(`request = ["GET a.test"]`), "request-malformed", `"GET a.test"`, "", deny(`request = ["GET http://a.test"]`)},
		{deny(`request = ["GET https://u@a.test/"]`), "request-malformed", `"GET https://u@a.test/"`, "", ""},
		{deny(`request = ["GET https://a.test/../x"]`), "request-malformed", `"GET https://a.test/../x"`, "", deny(`request = ["GET https://a.test/y/../x?q"]`)},
		{deny(`connect = [""]`), "connect-malformed", `""`, "api.example.com:443", ""},
		{deny(`connect = ["a.test:0"]`), "connect-malformed", `"a.test:0"`, "", ""},
		{deny(`connect = ["*.a.test:443"]`), "connect-malformed", `"*.a.test:443"`, "one host", deny(`connect = ["b.a.test:443"]`)},
		{deny(`connect = ["2001:db8::7:443"]`), "connect-malformed", `"2001:db8::7:443"`, "[2001:db8::7]:443", deny(`connect = ["[2001:db8::7]:443"]`)},
		{deny("connect = [\"a.test:443\"]\nby = \"curl\""), "path-not-absolute", `"curl"`, "", ""},
		{bind(`workspace = "w"`), "path-not-absolute", `"w"`, "", bind(`workspace = "/w/w"`)},
		{bind(`workspace = "/usr/w"`), "binding-inadmissible", `"/usr/w"`, "another path", bind(`workspace = "/w/w"`)},
		{bind("home = \"/h/u\"\nworkspace = \"/h/u\""), "binding-inadmissible", `"/h/u"`, "another path", bind("home = \"/h/u\"\nworkspace = \"/h/u/w\"")},
		{bind(`workspace = "/data"`), "binding-inadmissible", `"/data"`, "another path", bind(`workspace = "/data/w"`)},
	} {
		t.Run(tt.code+"/"+tt.text, func(t *testing.T) {
			_, diags := asked(t, twoPolicies, tt.text)
			if len(diags) != 1 || diags[0].Code != tt.code {
				t.Fatalf("%s: found %v, want %s", tt.text, diags, tt.code)
			}
			if at := underlined(tt.text, diags[0].At); at != tt.at {
				t.Errorf("%s underlines %q, want %q", tt.text, at, tt.at)
			}
			if !strings.Contains(diags[0].Help, tt.help) {
				t.Errorf("%s helps %q, want %q in it", tt.text, diags[0].Help, tt.help)
			}
			style(t, diags[0])
			if tt.twin == "" {
				return
			}
			if _, diags := asked(t, twoPolicies, tt.twin); len(diags) > 0 {
				t.Errorf("its twin finds %v, want nothing", diags)
			}
		})
	}
}

// TestTestsOfFaultyPolicies asks that a policy's fault is not reported again by
// its tests, and that the other policy's tests remain.
func TestTestsOfFaultyPolicies(t *testing.T) {
	text := strings.Replace(twoPolicies, `"/data/secret"`, `"data"`, 1)
	ask := func(name, policy string) string {
		return fmt.Sprintf("test %q {\npolicy = %q\ndeny {\nread = [\"/x\"]\n}\n}\n", name, policy)
	}
	tests, diags := asked(t, text, ask("t", "p")+ask("u", "q"))
	if len(diags) != 1 || diags[0].Code != "path-not-absolute" || len(tests) != 1 || tests[0].Name != "u" {
		t.Errorf("%d tests, found %v, want the test of q and the fault of p", len(tests), diags)
	}
}
