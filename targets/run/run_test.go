package run

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
)

// payment uses everything a plan holds once.
func payment() *ir.Policy {
	return &ir.Policy{
		Name: "payment-batch", Version: 3, Targets: []ir.Target{ir.Bwrap}, Workspace: ir.FreshWorkspace,
		Files: []ir.FileRule{
			{Path: ir.MustPath("/usr"), Level: ir.Read, Origin: "std/base/filesystem.read[0]"},
			{Path: ir.MustPath("${home}/.ssh"), Level: ir.Deny, Origin: "payment-batch/filesystem.deny[0]"},
			{Path: ir.MustPath("${workspace}"), Level: ir.Write, Origin: "payment-batch/filesystem.write[0]"},
		},
		Execute: []ir.ExecuteRule{
			{Path: ir.MustPath("/usr/bin"), Origin: "std/base/filesystem.execute[0]"},
			{Path: ir.MustPath("/opt/bank/post"), Only: true, Origin: "payment-batch/filesystem.execute[0]"},
			{Path: ir.MustPath("/usr/lib/ld.so"), Optional: true, Origin: "std/base/filesystem.execute[1]"},
			{Path: ir.MustPath("/usr/share/tools"), Only: true, Origin: "payment-batch/filesystem.execute[1]"},
			{Path: ir.MustPath("${workspace}/bin"), Origin: "payment-batch/filesystem.execute[2]"},
		},
		Unix: ir.UnixRule{Origin: "builtin/unix"},
		Environment: []ir.Variable{
			{Name: "CACHE", Value: ir.Value{ir.SlotRef(ir.Workspace), ir.Literal("/cache")}, Origin: "payment-batch/environment.CACHE"},
			{Name: "EMPTY", Origin: "payment-batch/environment.EMPTY"},
			{Name: "LANG", Value: ir.Value{ir.Literal("C.UTF-8")}, Origin: "payment-batch/environment.LANG"},
		},
		Limits: []ir.Limit{
			{Name: ir.OpenFiles, Value: 256, Origin: "payment-batch/limits.open_files"},
			{Name: ir.Timeout, Value: 30000, Origin: "payment-batch/limits.timeout"},
		},
		Commands: []ir.Command{post(), plain()},
	}
}

func post() ir.Command {
	return ir.Command{
		Name: "post-batch", Executable: ir.MustPath("/usr/bin/curl"), SHA256: strings.Repeat("ab", 32),
		Arguments: []ir.Value{
			{ir.Literal("-q")}, {}, {ir.Literal("https://example.com/"), ir.FieldRef("batch_id"), ir.Literal("?n="), ir.FieldRef("count")},
			{ir.Literal("--output="), ir.SlotRef(ir.Workspace), ir.Literal("/out")}, {ir.Literal("--")},
		},
		Rest: "more",
		Fields: []ir.Field{
			{Name: "batch_id", Form: ir.IdentifierForm, MaxBytes: 16},
			{Name: "count", Form: ir.IntegerForm, Min: -5, Max: 100},
			{Name: "more", Form: ir.RestForm},
		},
		Result: &ir.Result{Name: "batch", Fields: []ir.ResultField{
			{Name: "id", Kind: ir.IdentifierResult, MaxBytes: 8},
			{Name: "ok", Kind: ir.BooleanResult},
			{Name: "state", Kind: ir.EnumResult, Values: []string{"done", "queued now", "ü"}},
			{Name: "status", Kind: ir.IntegerResult, Min: 100, Max: 599},
		}},
		Origin: "payment-batch/command.post-batch",
	}
}

func plain() ir.Command {
	return ir.Command{Name: "run-local", Executable: ir.MustPath("${workspace}/bin/tool"), Origin: "payment-batch/command.run-local"}
}

func binding() ir.Binding {
	return ir.Binding{}.With(ir.Workspace, ir.MustPath("/w")).With(ir.Tmp, ir.MustPath("/tmp"))
}

func TestPlanIsReadBack(t *testing.T) {
	p := payment()
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	plan := Compile(p)
	back, err := Parse(plan.JSON())
	if err != nil || !back.Equal(plan) {
		t.Fatalf("Parse(%s) = %v, %v", plan.JSON(), back, err)
	}
	if want := []ir.Root{ir.Home, ir.Workspace}; !slices.Equal(back.Slots, want) || !back.Uses(ir.Home) || back.Uses(ir.Tmp) {
		t.Errorf("Slots = %v, want %v", back.Slots, want)
	}
	if n, ok := back.Limit(ir.Timeout); n != 30000 || !ok {
		t.Errorf("Limit(timeout) = %d, %v", n, ok)
	}
	if _, ok := back.Limit(ir.Stdout); ok {
		t.Error("Limit(stdout) is stated, want not")
	}
	if _, ok := back.Command("post-batch"); !ok {
		t.Error("Command(post-batch) is missing")
	}
	if _, ok := back.Command("post"); ok {
		t.Error("Command(post) is there, want not")
	}
	again, err := back.Commands[0].Argv(map[string][]string{"batch_id": {"b"}, "count": {"1"}}, binding())
	if err != nil || len(again) != 6 {
		t.Errorf("Argv after reading back = %q, %v", again, err)
	}
}

// planJSON is the twin that each fault below is put into.
func planJSON() string { return string(Compile(payment()).JSON()) }

func TestParseRefuses(t *testing.T) {
	good := planJSON()
	for _, tt := range []struct{ name, from, to string }{
		{"another schema", "obspc.run/v1", "obspc.run/v2"},
		{"a policy name that is a path", `"policy":"payment-batch"`, `"policy":"../etc"`},
		{"version 0", `"version":3`, `"version":0`},
		{"an unknown workspace", `"workspace":"fresh"`, `"workspace":"host"`},
		{"an unknown slot", `["home","workspace"]`, `["home","root","workspace"]`},
		{"a slot used and not listed", `["home","workspace"]`, `["home"]`},
		{"slots out of order", `["home","workspace"]`, `["workspace","home"]`},
		{"a slot twice", `["home","workspace"]`, `["home","home","workspace"]`},
		{"sockets neither none nor visible", `"sockets":"none"`, `"sockets":"some"`},
		{"an execute path that is not clean", `"/usr/bin"`, `"/usr//bin"`},
		{"an execute path with ..", `"/usr/bin"`, `"/usr/../bin"`},
		{"a loader variable", `"name":"LANG"`, `"name":"LD_PRELOAD"`},
		{"variables out of order", `"name":"LANG"`, `"name":"AAA"`},
		{"a variable with an equals sign", `"name":"LANG"`, `"name":"LA=NG"`},
		{"a field in the environment", `"literal":"C.UTF-8"`, `"field":"batch_id"`},
		{"the config slot in a value", `{"slot":"workspace"},{"literal":"/cache"}`, `{"slot":"config"},{"literal":"/cache"}`},
		{"NUL in a value", `"literal":"C.UTF-8"`, `"literal":"C\u0000"`},
		{"two literals in a row", `{"literal":"C.UTF-8"}`, `{"literal":"C"},{"literal":".UTF-8"}`},
		{"a part that is two things", `{"literal":"C.UTF-8"}`, `{"literal":"C.UTF-8","slot":"home"}`},
		{"an unknown limit", `"name":"timeout"`, `"name":"tinytime"`},
		{"a limit of nothing", `"value":30000`, `"value":0`},
		{"a digest in capitals", "abab", "ABAB"},
		{"a command name that is a path", `"name":"post-batch"`, `"name":"post/batch"`},
		{"commands out of order", `"name":"run-local"`, `"name":"a-local"`},
		{"an executable that is not clean", `"/usr/bin/curl"`, `"/usr/bin/curl/"`},
		{"an unknown form", `"form":"identifier"`, `"form":"anything"`},
		{"bounds of another form", `"form":"rest"`, `"form":"rest","max":1`},
		{"an identifier without end", `"maxBytes":16`, `"maxBytes":100000`},
		{"an empty range", `"max":100,`, `"max":-6,`},
		{"an argument with an unknown field", `{"field":"count"}`, `{"field":"counts"}`},
		{"rest in an argument", `{"field":"count"}`, `{"field":"more"}`},
		{"no -- before rest", `{"literal":"--"}`, `{"literal":"-"}`},
		{"a result without a name", `"resultName":"batch",`, ``},
		{"an unknown kind", `"kind":"boolean"`, `"kind":"float"`},
		{"bounds of another kind", `"kind":"boolean"`, `"kind":"boolean","max":1`},
		{"an enum of nothing", `,"values":["done","queued now","ü"]`, ``},
		{"an unknown member", `"policy"`, `"x":1,"policy"`},
		{"a number with an exponent", `"value":30000`, `"value":3e4`},
		{"white space", `,"policy"`, `, "policy"`},
		{"more after the end", `"workspace":"fresh"}`, `"workspace":"fresh"}{}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bad := strings.Replace(good, tt.from, tt.to, 1)
			if bad == good {
				t.Fatalf("%q is not in %s", tt.from, good)
			}
			if p, err := Parse([]byte(bad)); err == nil {
				t.Errorf("Parse(%s) = %v, want an error", bad, p)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(planJSON()))
	f.Add(Compile(&ir.Policy{Name: "p", Version: 1}).JSON())
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Parse(data)
		if err != nil {
			return
		}
		if again := p.JSON(); !bytes.Equal(again, data) {
			t.Errorf("Parse(%q).JSON() = %q", data, again)
		}
		b := binding().With(ir.Home, ir.MustPath("/h"))
		if _, err := p.Environment(b); err != nil && !strings.Contains(err.Error(), "passed on") {
			t.Errorf("Environment of %q = %v", data, err)
		}
		p.Additions(b, func(ir.Path) Found { return Directory })
		for _, c := range p.Commands {
			c.Argv(nil, b)
		}
	})
}
