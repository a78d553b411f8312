package ir

import (
	"strings"
	"testing"
)

func TestFieldAccept(t *testing.T) {
	id := Field{Name: "f", Form: IdentifierForm, MaxBytes: 8}
	n := Field{Name: "f", Form: IntegerForm, Min: -5, Max: 10}
	rest := Field{Name: "f", Form: RestForm}
	for _, tt := range []struct {
		field Field
		text  string
		ok    bool
	}{
		{id, "a", true}, {id, "A9._-x", true}, {id, "12345678", true},
		{id, "", false}, {id, "123456789", false}, {id, "-x", false}, {id, ".x", false}, {id, "_x", false}, {id, "a/b", false},
		{id, "a b", false}, {id, "a\n", false}, {id, "é", false}, {id, "a\x00", false}, {id, "$(x)", false},
		{n, "0", true}, {n, "10", true}, {n, "-5", true},
		{n, "", false}, {n, "11", false}, {n, "-6", false}, {n, "+1", false}, {n, "01", false}, {n, "-0", false}, {n, "1.0", false},
		{n, "1e1", false}, {n, " 1", false}, {n, "0x1", false}, {n, "1_0", false}, {n, "99999999999999999999", false}, {n, "１", false},
		{rest, "", true}, {rest, "-rf", true}, {rest, "a b\n", true}, {rest, "a\x00b", false}, {rest, "\xff", false},
		{Field{Name: "f"}, "a", false}, {Field{Name: "f", Form: "text"}, "a", false},
	} {
		if err := tt.field.Accept(tt.text); (err == nil) != tt.ok {
			t.Errorf("a field of form %q accepts %q: %v, want ok %v", tt.field.Form, tt.text, err, tt.ok)
		}
	}
}

func TestValueJoin(t *testing.T) {
	v := Value{Literal("a="), FieldRef("x"), Literal("@"), SlotRef(Workspace), Literal("/y")}
	b := Binding{}.With(Workspace, MustPath("/w"))
	got, err := v.Join(b, map[string]string{"x": "${workspace}<x>"})
	if want := "a=${workspace}<x>@/w/y"; err != nil || got != want {
		t.Errorf("Join = %q, %v, want %q: what a caller says is never read again", got, err, want)
	}
	if _, err := v.Join(Binding{}, map[string]string{"x": ""}); err == nil || !strings.Contains(err.Error(), "workspace") {
		t.Errorf("Join without the slot: %v", err)
	}
	if _, err := v.Join(b, nil); err == nil || !strings.Contains(err.Error(), `"x"`) {
		t.Errorf("Join without the field: %v", err)
	}
	if got, err := Value(nil).Join(Binding{}, nil); got != "" || err != nil {
		t.Errorf("Join of nothing = %q, %v", got, err)
	}
	if got, want := v.String(), "a=<x>@${workspace}/y"; got != want {
		t.Errorf("String = %q, want %q", got, want)
	}
}
