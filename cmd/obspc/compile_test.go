package main

import (
	"fmt"
	"testing"

	"github.com/obspc/obspc/compiler"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/targets"
)

// TestAFailedValidationLeadsToItsLine: the artifact's fault names the line of the
// policy that it is about.
func TestAFailedValidationLeadsToItsLine(t *testing.T) {
	conf := &configuration{}
	r := compiler.Result{Ranges: map[ir.Origin]diag.Range{
		"p/filesystem.read[0]": {File: "p.policy.hcl", Start: diag.Pos{Line: 7, Column: 3}},
	}}
	for origin, want := range map[ir.Origin]string{"p/filesystem.read[0]": "; the statement is at p.policy.hcl:7:3", "builtin/proc": "", "": ""} {
		err := fmt.Errorf("policy p: %w", &targets.ValidationError{Origin: origin})
		if got := conf.stated(r, err); got != want {
			t.Errorf("stated(%q) = %q, want %q", origin, got, want)
		}
	}
	if got := conf.stated(r, fmt.Errorf("another fault")); got != "" {
		t.Errorf("stated(another fault) = %q", got)
	}
}
