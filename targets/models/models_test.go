package models

import (
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets"
)

func policy(files ...ir.FileRule) *ir.Policy {
	return &ir.Policy{
		Name: "p", Version: 1, Targets: []ir.Target{ir.Bwrap, ir.Seatbelt}, Files: files, Unix: ir.UnixRule{Origin: "builtin/unix"},
	}
}

// TestAll asks every model about one policy, and each again without artifacts.
func TestAll(t *testing.T) {
	p := policy(
		ir.FileRule{Path: ir.MustPath("/usr"), Level: ir.Read, Origin: "p/filesystem.read[0]"},
		ir.FileRule{Path: ir.MustPath("${workspace}"), Level: ir.Write, Origin: "p/filesystem.write[0]"},
		ir.FileRule{Path: ir.MustPath("${workspace}/keys"), Level: ir.Deny, Origin: "p/filesystem.deny[0]"},
	)
	artifacts, err := targets.Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, a := range artifacts {
		files[a.Name] = a.Data
	}
	asked := map[ir.Target]bool{}
	for _, m := range All() {
		asked[m.Target] = true
		answers, err := m.Model(p, files, ir.Binding{}.With(ir.Workspace, ir.MustPath("/srv/w")))
		if err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			word ir.RequestKind
			path string
			want bool
		}{
			{ir.ReadRequest, "/usr/x", true},
			{ir.ReadRequest, "/etc/shadow", false},
			{ir.WriteRequest, "${workspace}/x", true},
			{ir.WriteRequest, "/srv/w/x", true},
			{ir.ReadRequest, "${workspace}/keys/x", false},
		} {
			r := ir.Request{Kind: tt.word, Path: ir.MustPath(tt.path)}
			if got, layer := answers.Decide(r); got != tt.want || layer == "" {
				t.Errorf("the model of %s says %v to %s by %q, want %v", m.Target, got, r, layer, tt.want)
			}
		}
		if _, err := m.Model(p, nil, ir.Binding{}); err == nil {
			t.Errorf("the model of %s reads artifacts that are missing", m.Target)
		}
	}
	if !asked[ir.Bwrap] || !asked[ir.Seatbelt] {
		t.Errorf("All() = %v, want every target of ir", asked)
	}
}
