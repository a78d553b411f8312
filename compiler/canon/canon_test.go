package canon

import (
	"errors"
	"strings"
	"testing"
)

type sample struct {
	Name  string            `json:"name"`
	Count int64             `json:"count"`
	Tags  []string          `json:"tags,omitempty"`
	Env   map[string]string `json:"env,omitempty"`
	On    bool              `json:"on"`
}

func TestMarshal(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   any
		want string
	}{
		{"keys sorted", sample{Name: "a", Count: 2, On: true}, `{"count":2,"name":"a","on":true}`},
		{"nothing of HTML is escaped", "<&>\u2028é", "\"<&>\u2028é\""},
		{"control characters", "\x00\x1f\n\t\"\\/", `"\u0000\u001f\n\t\"\\/"`},
		{"nil slice", []string(nil), `[]`},
		{"map", map[string]int{"b": 1, "a": 2, "B": 3}, `{"B":3,"a":2,"b":1}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Marshal(tt.in)
			if err != nil || string(got) != tt.want {
				t.Errorf("Marshal(%#v) = %s, %v, want %s", tt.in, got, err, tt.want)
			}
		})
	}
	for _, bad := range []any{1.5, "\xff", int64(1) << 53, (*int)(nil), map[string]int{"é": 1}, map[int]int{1: 1}} {
		if got, err := Marshal(bad); err == nil {
			t.Errorf("Marshal(%#v) = %s, want an error", bad, got)
		}
	}
}

func TestUnmarshalRefusesOtherForms(t *testing.T) {
	const good = `{"count":2,"name":"a","on":true}`
	var v sample
	if err := Unmarshal([]byte(good), &v); err != nil {
		t.Fatalf("Unmarshal(%s) = %v", good, err)
	}
	for _, bad := range []string{
		`{"count":2,"name":"b","name":"a","on":true}`, // duplicate
		`{"count":2,"Name":"a","on":true}`,            // case
		`{"name":"a","count":2,"on":true}`,            // order
		`{"count":2, "name":"a","on":true}`,           // space
		`{"count":2.0,"name":"a","on":true}`,
		`{"count":2,"name":"a","on":true}` + "\n",
		`{"count":2,"name":"a","on":true}{}`,
		`{"count":2,"name":"a","on":true,"x":1}`,
		`{"count":2,"name":"a","on":true,"tags":[]}`,
		`{"count":2,"name":"\u0061","on":true}`,
		`{"count":2,"name":null,"on":true}`,
		`{"count":2,"name":"a"}`,
		"", "null", "[]",
	} {
		var v sample
		if err := Unmarshal([]byte(bad), &v); !errors.Is(err, ErrNotCanonical) {
			t.Errorf("Unmarshal(%s) = %v, want ErrNotCanonical", bad, err)
		}
	}
	var deep any
	if err := Unmarshal([]byte(strings.Repeat("[", 100_000)), &deep); !errors.Is(err, ErrNotCanonical) {
		t.Errorf("Unmarshal of 100,000 brackets = %v, want ErrNotCanonical", err)
	}
}

func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte(`{"count":2,"name":"a","on":true}`))
	f.Add([]byte(`{"count":2,"name":"\n","on":false,"tags":["x"]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var v sample
		if err := Unmarshal(data, &v); err != nil {
			return
		}
		again, err := Marshal(v)
		if err != nil || string(again) != string(data) {
			t.Errorf("Unmarshal(%q) accepted what Marshal writes as %q, %v", data, again, err)
		}
	})
}
