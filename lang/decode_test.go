package lang

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/testdata/cases"
)

// parsed is the configuration of src, which has no findings.
func parsed(t *testing.T, src string, vars ...string) *Config {
	t.Helper()
	opts := Options{Vars: map[string]string{}}
	for _, v := range vars {
		name, value, _ := strings.Cut(v, "=")
		opts.Vars[name] = value
	}
	config, diags := Parse(Sources{"p": []byte(src)}, opts)
	if len(diags) > 0 {
		t.Fatalf("Parse(%s) finds %v, want nothing", src, diags)
	}
	return config
}

// shown writes a text with slots as ${name} and fields as <name>.
func shown(t Text) string {
	var out strings.Builder
	for _, p := range t.Parts {
		switch p.Kind {
		case SlotPart:
			out.WriteString("${" + p.Text + "}")
		case FieldPart:
			out.WriteString("<" + p.Text + ">")
		default:
			out.WriteString(p.Text)
		}
	}
	return out.String()
}

func shownPaths(paths []Path) string {
	var out []string
	for _, p := range paths {
		s := shown(p.Text)
		switch p.Modifier {
		case Optional:
			s = "optional " + s
		case Only:
			s = "only " + s
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

// TestDesignExample parses the example of design.md, section 4, and asks for
// what it holds and where each element stands.
func TestDesignExample(t *testing.T) {
	text, err := os.ReadFile("testdata/design.policy.hcl")
	if err != nil {
		t.Fatal(err)
	}
	src := string(text)
	config := parsed(t, src)
	if len(config.Policies) != 1 || config.Variables["bank_host"] != `"example.com"` {
		t.Fatalf("the example has %d policies and the variables %v", len(config.Policies), config.Variables)
	}
	p := config.Policies[0]
	c := p.Commands[0]
	e := p.Network.Endpoints[0]
	var limits []string
	for _, l := range p.Limits {
		if l.Number != nil {
			limits = append(limits, fmt.Sprintf("%s %d", l.Name.Value, l.Number.Value))
		} else {
			limits = append(limits, l.Name.Value+" "+l.Value.Value)
		}
	}
	for _, tt := range []struct{ what, got, want string }{
		{"name", p.Name.Value, "payment-batch"},
		{"version", fmt.Sprint(p.Version.Value), "3"},
		{"write", shownPaths(p.Filesystem.Write), "${workspace}"},
		{"read", shownPaths(p.Filesystem.Read), "/usr/share/zoneinfo, optional /opt/bank/ca"},
		{"deny", shownPaths(p.Filesystem.Deny), "${workspace}/.git/hooks, ${home}/.ssh"},
		{"execute", shownPaths(p.Filesystem.Execute), "/usr/bin/curl"},
		{"host", e.Host.Value, "example.com"},
		{"environment", p.Environment[0].Name.Value + "=" + shown(p.Environment[0].Value), "LANG=C.UTF-8"},
		{"limits", strings.Join(limits, ", "), "timeout 30s, open_files 256, file_size 64MiB, stdout 1MiB, stderr 1MiB"},
		{"executable", shown(c.Executable.Text), "/usr/bin/curl"},
		{"argument 7", shown(c.Arguments[7]), `{"http_status":%{http_code}}`},
		{"argument 8", shown(c.Arguments[8]), "https://example.com/batches/<batch_id>"},
		{"fields", fmt.Sprint(c.Fields[0].Form, c.Fields[0].Name, c.Fields[0].MaxBytes), "identifierbatch_id128"},
		{"result", fmt.Sprint(c.Result.Name.Value, " ", c.Result.Fields[0].Name.Value, c.Result.Fields[0].Minimum.Value, c.Result.Fields[0].Maximum.Value), "batch http_status100 599"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s of the example = %q, want %q", tt.what, tt.got, tt.want)
		}
	}
	for _, tt := range []struct {
		what, text string
		at         diag.Range
		line       string
	}{
		{"block", `policy "payment-batch"`, p.Range, "7:1"},
		{"name", `"payment-batch"`, p.Name.Range, "7:8"},
		{"version", `3`, p.Version.Range, "8:17"},
		{"second template", `"std/tls"`, p.Extends[1].Name.Range, "10:30"},
		{"first target", `"seatbelt"`, p.Targets[0].Range, "11:18"},
		{"write", `workspace`, p.Filesystem.Write[0].Range, "14:16"},
		{"second read", `optional("/opt/bank/ca")`, p.Filesystem.Read[1].Range, "15:39"},
		{"second deny", `"${home}/.ssh"`, p.Filesystem.Deny[1].Range, "16:43"},
		{"stated", `execute`, p.Filesystem.Stated["execute"], "17:5"},
		{"host", `var.bank_host`, e.Host.Range, "22:15"},
		{"port", `443`, e.Ports[0].Range, "23:16"},
		{"open_files", `256`, p.Limits[1].Number.Range, "35:18"},
		{"field", `identifier("batch_id")`, c.Fields[0].Range, "46:43"},
		{"argument", `"https://${var.bank_host}/batches/${identifier("batch_id")}"`, c.Arguments[8].Range, "46:7"},
		{"maximum", `599`, c.Result.Fields[0].Maximum.Range, "51:19"},
		{"kind", `integer`, c.Result.Fields[0].Kind.Range, "49:7"},
	} {
		if got := underlined(src, tt.at); got != tt.text {
			t.Errorf("the range of the %s holds %q, want %q", tt.what, got, tt.text)
		}
		if got := strings.TrimPrefix(tt.at.String(), "p:"); got != tt.line {
			t.Errorf("the range of the %s begins at %s, want %s", tt.what, got, tt.line)
		}
	}
}

// TestPaths asks that slots and modifiers come through every way of computing a
// list.
func TestPaths(t *testing.T) {
	for _, tt := range []struct{ locals, list, want string }{
		{"", `[]`, ""},
		{"", `["/a", workspace, "${home}/x${tmp}"]`, "/a, ${workspace}, ${home}/x${tmp}"},
		{"", `(["/a"])`, "/a"},
		{"a = workspace", `["${local.a}/x"]`, "${workspace}/x"},
		{"a = [workspace, optional(\"/x\")]", `local.a`, "${workspace}, optional /x"},
		{"a = [only(home)]", `concat(["/a"], local.a, [optional(tmp)])`, "/a, only ${home}, optional ${tmp}"},
		{"a = [[workspace], [only(home)]]", `flatten(local.a)`, "${workspace}, only ${home}"},
		{"a = optional(\"${workspace}/x\")", `[local.a]`, "optional ${workspace}/x"},
		{"", `[for p in ["a", "b"] : "${workspace}/${p}"]`, "${workspace}/a, ${workspace}/b"},
		{"", `[for p in [workspace, home] : optional("${p}/x")]`, "optional ${workspace}/x, optional ${home}/x"},
		{"", `[for p in [workspace, only(home)] : p]`, "${workspace}, only ${home}"},
		{"", `[for k, v in { b = workspace, a = "/x" } : "${v}/${k}"]`, "/x/a, ${workspace}/b"},
		{"", `[join("/", [workspace, "a", "b"])]`, "${workspace}/a/b"},
		{"", `[join(workspace, ["/a"])]`, "/a"},
		{"", `[true ? workspace : "/x", false ? workspace : "/x"]`, "${workspace}, /x"},
		{"", `true ? [workspace] : []`, "${workspace}"},
		{"", `true ? [workspace, home] : ["/a"]`, "${workspace}, ${home}"},
		{"", `false ? [workspace, home] : ["/a"]`, "/a"},
		{"", `values({ a = workspace, b = only("/b") })`, "${workspace}, only /b"},
		{"", `values(merge({ a = workspace }, { a = home }))`, "${home}"},
		{"", `keys({ "/a" = workspace })`, "/a"},
		{"", `reverse([workspace, "/a"])`, "/a, ${workspace}"},
		{"", `[element([workspace, "/a"], 0), [workspace, "/a"][0]]`, "${workspace}, ${workspace}"},
		{"", `[coalesce("", workspace)]`, "${workspace}"},
		{"", `[lookup({ a = workspace }, "b", only(home))]`, "only ${home}"},
		{"a = { x = { y = workspace } }", `[local.a.x.y, local.a["x"].y]`, "${workspace}, ${workspace}"},
		{"a = [{ p = workspace }, { p = \"/b\" }]", `local.a[*].p`, "${workspace}, /b"},
		{"a = [{ p = workspace }, { p = \"/b\" }]", `local.a.*.p`, "${workspace}, /b"},
		{"a = [[workspace]]", `concat(local.a...)`, "${workspace}"},
		{"", `split(",", "/a,/b")`, "/a, /b"},
		{"", `sort(distinct(["/b", "/a", "/b"]))`, "/a, /b"},
		{"", `[lower("/A"), trimprefix("/a/b", "/a"), trimsuffix("/ab", "b"), trimspace(" /c "), replace("/a", "a", "d")]`, "/a, /b, /a, /c, /d"},
		{"", `[for p in ["/a", "/b", "/ac"] : p if startswith(p, "/a") && !endswith(p, "c")]`, "/a"},
		{"", `[contains(["x"], "x") ? "/a" : "/b", length("äb") == 2 && length(["a"]) == 1 ? "/c" : "/d"]`, "/a, /c"},
		{"", `["/${tonumber("1") + 1}/${tobool("true")}/${tostring(3)}/${7 % 4}"]`, "/2/true/3/3"},
		{"", "[<<EOT\n/a\nEOT\n]", "/a\n"},
	} {
		t.Run(tt.list, func(t *testing.T) {
			config := parsed(t, "locals {\n"+tt.locals+"\n}\n"+cases.Wrap("filesystem", "read = "+tt.list))
			if got := shownPaths(config.Policies[0].Filesystem.Read); got != tt.want {
				t.Errorf("read = %s is %q, want %q", tt.list, got, tt.want)
			}
		})
	}
}

// TestRanges asks where the elements of computed lists stand.
func TestRanges(t *testing.T) {
	for _, tt := range []struct{ list, want string }{
		{`["/a", ("/b")]`, `"/a" ("/b")`},
		{`concat(["/a"], local.a, ["/b"])`, `"/a" local.a local.a "/b"`},
		{`local.a`, `local.a local.a`},
		{`[for p in ["/a", "/b"] : p]`, `[for p in ["/a", "/b"] : p] [for p in ["/a", "/b"] : p]`},
	} {
		src := "locals {\na = [\"/x\", workspace]\n}\n" + cases.Wrap("filesystem", "read = "+tt.list)
		var got []string
		for _, p := range parsed(t, src).Policies[0].Filesystem.Read {
			got = append(got, underlined(src, p.Range))
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("the elements of %s stand at %s, want %s", tt.list, got, tt.want)
		}
	}
}

func TestAbsentAndEmpty(t *testing.T) {
	b := parsed(t, cases.Wrap("filesystem", "read = []")).Policies[0]
	if b.Filesystem.Read == nil || b.Filesystem.Write != nil || b.Targets != nil || b.Commands != nil {
		t.Errorf("an empty list is nil, or an absent one is not: %+v", b)
	}
	if _, ok := b.Filesystem.Stated["read"]; !ok || len(b.Filesystem.Stated) != 1 {
		t.Errorf("Stated = %v, want read alone", b.Filesystem.Stated)
	}
	if c := parsed(t, cases.Wrap("command", "arguments = [\"\", \"a\"]")).Policies[0].Commands[0]; len(c.Arguments) != 2 || len(c.Arguments[0].Parts) != 0 {
		t.Errorf("an empty argument is %+v, want one without parts", c.Arguments)
	}
}

func TestFields(t *testing.T) {
	src := "locals {\nid = identifier(\"id\", 8)\n}\n" +
		cases.Wrap("command", `arguments = [local.id, "x${local.id}-${integer("n", -1, 5)}", "--", rest("more")]`)
	c := parsed(t, src).Policies[0].Commands[0]
	var got []string
	for _, f := range c.Fields {
		got = append(got, fmt.Sprintf("%s %s %d %d %d", f.Name, f.Form, f.MaxBytes, f.Min, f.Max))
	}
	want := []string{"id identifier 8 0 0", "id identifier 8 0 0", "n integer 0 -1 5", "more rest 0 0 0"}
	if !slices.Equal(got, want) {
		t.Errorf("fields = %q, want %q", got, want)
	}
	if got := shown(c.Arguments[1]); got != "x<id>-<n>" {
		t.Errorf("argument 1 = %q, want x<id>-<n>", got)
	}
}

func TestExtends(t *testing.T) {
	src := "locals {\nnames = [\"std/a\"]\n}\n" + cases.Wrap("policy", `extends = ["std/base", template.x, "std/${"y"}"]`) +
		"template \"x\" {\nextends = local.names\n}\n"
	config := parsed(t, src)
	want := []Extend{{Name: String{Value: "std/base"}, Embedded: true}, {Name: String{Value: "x"}}, {Name: String{Value: "std/y"}, Embedded: true}}
	for i, e := range config.Policies[0].Extends {
		if e.Name.Value != want[i].Name.Value || e.Embedded != want[i].Embedded {
			t.Errorf("extends[%d] = %+v, want %+v", i, e, want[i])
		}
	}
	if got := underlined(src, config.Policies[0].Extends[1].Name.Range); got != "template.x" {
		t.Errorf("extends[1] stands at %q, want template.x", got)
	}
	if e := config.Templates[0].Extends; len(e) != 1 || e[0].Name.Value != "std/a" {
		t.Errorf("extends of the template = %+v, want std/a", e)
	}
}
