package run

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
)

func TestArgv(t *testing.T) {
	type fields = map[string][]string
	ok := []string{"/usr/bin/curl", "-q", "", "https://example.com/b-1?n=7", "--output=/w/out", "--"}
	for _, tt := range []struct {
		name   string
		fields fields
		want   []string
		faults []string // the fields refused, in order
	}{
		{"every field", fields{"batch_id": {"b-1"}, "count": {"7"}, "more": {"-x", "", "two words"}}, append(slices.Clone(ok), "-x", "", "two words"), nil},
		{"no rest", fields{"batch_id": {"b-1"}, "count": {"7"}}, ok, nil},
		{"an empty rest", fields{"batch_id": {"b-1"}, "count": {"7"}, "more": {}}, ok, nil},
		{"nothing", nil, nil, []string{"batch_id", "count"}},
		{"an empty list", fields{"batch_id": {}, "count": {"7"}}, nil, []string{"batch_id"}},
		{"an empty identifier", fields{"batch_id": {""}, "count": {"7"}}, nil, []string{"batch_id"}},
		{"two values", fields{"batch_id": {"a", "b"}, "count": {"7"}}, nil, []string{"batch_id"}},
		{"unknown fields", fields{"batch_id": {"a"}, "count": {"7"}, "z": {"1"}, "Batch_id": nil}, nil, []string{"Batch_id", "z"}},
		{"an option for an identifier", fields{"batch_id": {"-a"}, "count": {"7"}}, nil, []string{"batch_id"}},
		{"a path for an identifier", fields{"batch_id": {"a/../b"}, "count": {"7"}}, nil, []string{"batch_id"}},
		{"a line more", fields{"batch_id": {"a\n"}, "count": {"7"}}, nil, []string{"batch_id"}},
		{"17 bytes of 16", fields{"batch_id": {"abcdefghijklmnopq"}, "count": {"7"}}, nil, []string{"batch_id"}},
		{"a leading zero", fields{"batch_id": {"a"}, "count": {"07"}}, nil, []string{"count"}},
		{"a plus sign", fields{"batch_id": {"a"}, "count": {"+7"}}, nil, []string{"count"}},
		{"minus zero", fields{"batch_id": {"a"}, "count": {"-0"}}, nil, []string{"count"}},
		{"above the range", fields{"batch_id": {"a"}, "count": {"101"}}, nil, []string{"count"}},
		{"past 64 bits", fields{"batch_id": {"a"}, "count": {"99999999999999999999"}}, nil, []string{"count"}},
		{"NUL in rest", fields{"batch_id": {"a"}, "count": {"7"}, "more": {"ok", "a\x00b"}}, nil, []string{"more"}},
		{"rest not UTF-8", fields{"batch_id": {"a"}, "count": {"7"}, "more": {"\xff"}}, nil, []string{"more"}},
		{"three faults", fields{"count": {"x"}, "more": {"\xff"}}, nil, []string{"batch_id", "count", "more"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Command{post()}.Argv(tt.fields, binding())
			if !slices.Equal(got, tt.want) || !slices.Equal(refused(err), tt.faults) {
				t.Errorf("Argv(%q) = %q, %v, want %q and faults in %q", tt.fields, got, err, tt.want, tt.faults)
			}
		})
	}
}

// refused lists the fields of the FieldErrors joined in err.
func refused(err error) []string {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	var out []string
	for _, e := range joined.Unwrap() {
		var field *FieldError
		if errors.As(e, &field) {
			out = append(out, field.Field)
		}
	}
	return out
}

func TestArgvErrorsDoNotQuoteValues(t *testing.T) {
	_, err := Command{post()}.Argv(map[string][]string{"batch_id": {"/secret-1/"}, "count": {"secret-2"}, "more": {"secret-3\x00"}}, binding())
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("Argv = %v, want an error without the values", err)
	}
}

func TestArgvIsBounded(t *testing.T) {
	fields := func(rest ...string) map[string][]string {
		return map[string][]string{"batch_id": {"a"}, "count": {"7"}, "more": rest}
	}
	longest := strings.Repeat("x", MaxStringBytes)
	for _, tt := range []struct {
		name string
		rest []string
		ok   bool
	}{
		{"the longest string", []string{longest}, true},
		{"a byte more", []string{longest + "x"}, false},
		{"two of the longest", []string{longest, longest}, false},
		{"many empty ones", make([]string, MaxArgvBytes/9), false},
		{"as many as fit", make([]string, 29000), true},
	} {
		if _, err := (Command{post()}).Argv(fields(tt.rest...), binding()); (err == nil) != tt.ok {
			t.Errorf("%s: Argv = %v, want ok %v", tt.name, err, tt.ok)
		}
	}
}

func TestArgvNeedsItsSlots(t *testing.T) {
	if got, err := (Command{plain()}).Argv(nil, binding()); err != nil || !slices.Equal(got, []string{"/w/bin/tool"}) {
		t.Errorf("Argv = %q, %v, want the tool in the workspace", got, err)
	}
	for _, c := range []ir.Command{plain(), post()} {
		if got, err := (Command{c}).Argv(map[string][]string{}, ir.Binding{}); err == nil {
			t.Errorf("Argv without a workspace = %q, want an error", got)
		}
	}
}

func TestEnvironment(t *testing.T) {
	p := Compile(payment())
	got, err := p.Environment(binding())
	if want := []string{"CACHE=/w/cache", "EMPTY=", "LANG=C.UTF-8"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("Environment = %q, %v, want %q", got, err, want)
	}
	if got, err := p.Environment(ir.Binding{}); err == nil {
		t.Errorf("Environment without a workspace = %q, want an error", got)
	}
	p.Variables = append(p.Variables, ir.Variable{Name: "LONG", Value: ir.Value{ir.Literal(strings.Repeat("x", MaxStringBytes))}})
	if _, err := p.Environment(binding()); err == nil {
		t.Error("Environment with a string that execve refuses = nil error")
	}
}

// TestSearchOrder: own rules, then those of templates as login(1) orders them, then
// the directories of loaders.
func TestSearchOrder(t *testing.T) {
	p := &Plan{}
	for _, r := range [][2]string{
		{"/bin/sh", "std/shell"}, {"/lib64/ld.so", "std/base"}, {"/usr/bin/sh", "std/shell"},
		{"/usr/local/bin/node", "std/node"}, {"/usr/local/gobin/go", "std/go"}, {"/w/tools/x", "p"}, {"/usr/bin/mine", "p"},
	} {
		p.Execute = append(p.Execute, ir.ExecuteRule{Path: ir.MustPath(r[0]), Origin: ir.Origin(r[1] + "/filesystem.execute[0]")})
	}
	program := func(ir.Path) Found { return Program }
	want := []string{"PATH=/w/tools:/usr/bin:/usr/local/bin:/usr/local/gobin:/bin:/lib64"}
	if got, err := p.Additions(ir.Binding{}, program); err != nil || !slices.Equal(got, want) {
		t.Errorf("Additions = %q, %v, want %q", got, err, want)
	}
}

func TestAdditions(t *testing.T) {
	directories := []string{"/usr/bin", "/usr/share/tools", "/w/bin"}
	find := func(p ir.Path) Found {
		switch {
		case slices.Contains(directories, p.String()):
			return Directory
		case p.Base() == "missing":
			return Nothing
		}
		return Program
	}
	p := Compile(payment())
	p.Execute = append(p.Execute,
		ir.ExecuteRule{Path: ir.MustPath("/opt/old/missing"), Optional: true, Origin: "payment-batch/filesystem.execute[3]"},
		ir.ExecuteRule{Path: ir.MustPath("${workspace}"), Origin: "payment-batch/filesystem.execute[4]"},
	)
	for _, tt := range []struct {
		name   string
		stated []string
		b      ir.Binding
		want   []string
	}{
		{"nothing stated", nil, binding(), []string{"HOME=/w", "PATH=/opt/bank:/w/bin:/usr/bin:/usr/lib", "TMPDIR=/tmp"}},
		{"a home of its own", []string{"HOME"}, binding(), []string{"PATH=/opt/bank:/w/bin:/usr/bin:/usr/lib", "TMPDIR=/tmp"}},
		{"all stated", []string{"HOME", "PATH", "TMPDIR"}, binding(), nil},
		{"no slots", nil, ir.Binding{}, []string{"PATH=/opt/bank:/usr/bin:/usr/lib"}},
		{"a colon in the workspace", nil, ir.Binding{}.With(ir.Workspace, ir.MustPath("/a:b")), []string{"HOME=/a:b", "PATH=/opt/bank:/usr/bin:/usr/lib"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := *p
			q.Variables = nil
			for _, name := range tt.stated {
				q.Variables = append(q.Variables, ir.Variable{Name: name})
			}
			if got, err := q.Additions(tt.b, find); err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("Additions = %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}
