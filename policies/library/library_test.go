package library

import (
	"path"
	"testing"

	"github.com/obspc/obspc/policies"
)

func TestTemplate(t *testing.T) {
	for _, name := range policies.Names() {
		if body, ok := Template(name); !ok || body.Name.Value != path.Base(name) {
			t.Errorf("Template(%q) = %v, %v", name, body, ok)
		}
	}
	if _, ok := Template("std/none"); ok {
		t.Error(`Template("std/none") is there`)
	}
}
