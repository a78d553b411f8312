package diff

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
)

// meaningless are the fields of the IR, by type, that say nothing about what is
// allowed: a difference in one of them alone is none.
var meaningless = []string{
	"Policy.Name", "Endpoint.Name",
	"FileRule.Origin", "ExecuteRule.Origin", "UnixRule.Origin", "Endpoint.Origin", "RequestRule.Origin", "HostRule.Origin", "LoopbackRule.Origin", "Variable.Origin", "Limit.Origin",
	"Name.Origin", "SyscallRule.Origin", "Command.Origin", "Waiver.Origin",
}

// everything is a policy with something of everything that counts in each of its
// fields.
func everything() *ir.Policy {
	return &ir.Policy{
		Name: "p", Version: 1, Targets: []ir.Target{ir.Bwrap}, Workspace: ir.FreshWorkspace,
		Files: []ir.FileRule{
			{Path: ir.MustPath("/a"), Level: ir.Read, Only: true, Optional: true, Origin: "p/a"},
			{Path: ir.MustPath("/b"), Level: ir.Write, Backing: ir.TmpFS, Size: 1 << 20, Origin: "p/b"},
		},
		Execute:  []ir.ExecuteRule{{Path: ir.MustPath("/b/x"), Only: true, Optional: true, Origin: "p/x"}},
		Unix:     ir.UnixRule{Visible: true, Origin: "p/unix"},
		Loopback: ir.LoopbackRule{Host: true, Origin: "p/l"},
		Endpoints: []ir.Endpoint{
			{Name: "e", Host: ir.HostPattern{Name: "a.test"}, Ports: []uint16{443}, Executables: []ir.Path{ir.MustPath("/b/x")}, Origin: "p/e"},
			{
				Name: "f", Host: ir.HostPattern{Wildcard: ir.ManyLabels, Name: "b.test"}, Ports: []uint16{80}, Protocol: ir.REST, Origin: "p/f",
				Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12")},
				Requests: []ir.RequestRule{
					{Allow: true, Methods: []string{"GET", "POST"}, Path: "/a/**", Origin: "p/f.a"},
					{Methods: []string{"GET"}, Path: "/a/b", Origin: "p/f.d"},
				},
			},
		},
		DeniedHosts: []ir.HostRule{{Host: ir.HostPattern{Wildcard: ir.OneLabel, Name: "ads.b.test"}, Origin: "p/d"}},
		Environment: []ir.Variable{
			{Name: "V", Value: ir.Value{ir.Literal("v"), ir.SlotRef(ir.Home)}, Origin: "p/v"},
		},
		Limits:   []ir.Limit{{Name: ir.Memory, Value: 1 << 20, Scope: ir.TreeScope, Origin: "p/m"}, {Name: ir.Timeout, Value: 1000, Origin: "p/l"}},
		Syscalls: []ir.SyscallRule{{Name: "ptrace", Allow: true, Origin: "p/y"}},
		System: ir.System{
			Services: []ir.Name{{Name: "s", Origin: "p/s"}}, Sysctls: []ir.Name{{Name: "s", Origin: "p/s"}},
			IPC: []ir.Name{{Name: "s", Origin: "p/s"}}, IOKit: []ir.Name{{Name: "s", Origin: "p/s"}},
		},
		Commands: []ir.Command{{
			Name: "c", Executable: ir.MustPath("/b/x"), SHA256: "aa", Rest: "r",
			Arguments: []ir.Value{{ir.FieldRef("i"), ir.Literal("l"), ir.FieldRef("n")}, {ir.Literal("--")}},
			Fields: []ir.Field{
				{Name: "i", Form: ir.IdentifierForm, MaxBytes: 9}, {Name: "n", Form: ir.IntegerForm, Min: 1, Max: 9}, {Name: "r", Form: ir.RestForm},
			},
			Result: &ir.Result{Name: "r", Fields: []ir.ResultField{
				{Name: "e", Kind: ir.EnumResult, Values: []string{"a", "b"}},
				{Name: "i", Kind: ir.IdentifierResult, MaxBytes: 9}, {Name: "n", Kind: ir.IntegerResult, Min: 1, Max: 9},
			}},
			Origin: "p/c",
		}},
		Waivers: []ir.Waiver{{Target: ir.Bwrap, Feature: ir.FeatureTimeout, Reason: "r", Origin: "p/w"}},
	}
}

// TestEveryFieldCounts changes each field of the IR in turn: whoever adds one is
// told to compare it, or to say that it means nothing.
func TestEveryFieldCounts(t *testing.T) {
	tells := map[string]bool{} // by field: a change of it, somewhere, is told or noted
	counts := func(name string, change func(p *ir.Policy)) {
		p := everything()
		change(p)
		got := Policies(everything(), p, nil)
		tells[name] = tells[name] || len(got.Changes)+len(got.Notes) > 0
		if slices.Contains(meaningless, name) && len(got.Changes) > 0 {
			t.Errorf("another %s makes a difference: %s", name, show(everything(), p, got))
		}
	}
	fields(reflect.ValueOf(everything()).Elem(), nil, func(name string, at []int) {
		counts(name, func(p *ir.Policy) { alter(t, name, reach(reflect.ValueOf(p).Elem(), at)) })
	})
	counts("HostPattern.Addr", func(p *ir.Policy) {
		p.Endpoints[0].Host = ir.HostPattern{Addr: netip.MustParseAddr("10.0.0.1")}
	})
	for name, told := range tells {
		if !told && !slices.Contains(meaningless, name) {
			t.Errorf("another %s makes no difference: compare it, or list it as meaningless", name)
		}
	}
	for _, name := range meaningless {
		if _, ok := tells[name]; !ok {
			t.Errorf("%s is no field, or is never changed", name)
		}
	}
	if len(tells) < 50 {
		t.Errorf("%d fields, want 50", len(tells))
	}
}

// leaves are types that are changed as a whole.
var leaves = []reflect.Type{reflect.TypeFor[ir.Path](), reflect.TypeFor[ir.Value](), reflect.TypeFor[netip.Addr](), reflect.TypeFor[netip.Prefix]()}

// fields calls each with every field below v that holds a value, and the way to it.
func fields(v reflect.Value, at []int, each func(name string, at []int)) {
	switch {
	case slices.Contains(leaves, v.Type()):
	case v.Kind() == reflect.Pointer:
		fields(v.Elem(), append(slices.Clone(at), 0), each)
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			fields(v.Index(i), append(slices.Clone(at), i), each)
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			way := append(slices.Clone(at), i)
			if f := v.Field(i); f.Kind() != reflect.Struct && !f.IsZero() || f.Type() == leaves[0] {
				each(v.Type().Name()+"."+v.Type().Field(i).Name, way)
			}
			fields(v.Field(i), way, each)
		}
	}
}

func reach(v reflect.Value, at []int) reflect.Value {
	for _, i := range at {
		switch v.Kind() {
		case reflect.Pointer:
			v = v.Elem()
		case reflect.Slice:
			v = v.Index(i)
		default:
			v = v.Field(i)
		}
	}
	return v
}

// alter gives a field another value; a list loses its last element.
func alter(t *testing.T, name string, v reflect.Value) {
	t.Helper()
	switch {
	case v.Type() == leaves[0]:
		v.Set(reflect.ValueOf(ir.MustPath("/other")))
	case name == "FileRule.Size", name == "Policy.Version":
		v.SetInt(v.Int() - 1)
	case name == "FileRule.Backing":
		v.SetString("")
	case name == "FileRule.Level":
		v.SetUint(uint64(ir.Deny))
	case name == "Policy.Workspace":
		v.SetString(string(ir.SharedWorkspace))
	case name == "Command.Rest":
		v.SetString("")
	case name == "Field.Form" && v.String() == string(ir.IntegerForm):
		v.SetString(string(ir.RestForm))
	case name == "Field.Form":
		v.SetString(string(ir.IntegerForm))
	case name == "Command.Fields":
		v.Index(0).Field(0).SetString("other")
	case name == "Endpoint.Protocol" && v.String() == string(ir.REST):
		v.SetString(string(ir.Web))
	case name == "Endpoint.Protocol":
		v.SetString(string(ir.REST))
	case v.Kind() == reflect.Slice:
		v.SetLen(v.Len() - 1)
	case v.Kind() == reflect.Pointer:
		v.SetZero()
	case v.Kind() == reflect.String:
		v.SetString(fmt.Sprintf("%sx", v.String()))
	case v.Kind() == reflect.Bool:
		v.SetBool(!v.Bool())
	case v.CanInt():
		v.SetInt(v.Int() + 1)
	case v.CanUint():
		v.SetUint(v.Uint() + 1)
	default:
		t.Errorf("no other value for %s", name)
	}
}

// TestEveryKindHasAnEffectAndAMirror holds the table of kinds.
func TestEveryKindHasAnEffectAndAMirror(t *testing.T) {
	for k, row := range kinds {
		back := kinds[row.mirror]
		if row.effect == Same || back.mirror != k || row.effect != Mixed && back.effect != Mixed&^row.effect {
			t.Errorf("%s: %v, its mirror %s: %v", k, row, row.mirror, back)
		}
	}
}
