package compiler

import (
	"testing"

	"github.com/obspc/obspc/compiler/ir"
)

// TestSyscallsMerge: a policy's own word about a call replaces its templates', also
// to take back what one denies.
func TestSyscallsMerge(t *testing.T) {
	result, diags := compile(t, `
template "still" {
  syscalls {
    deny = ["mkdir", "mkdirat", "kill"]
  }
}
policy "p" {
  version = 1
  extends = [template.still]
  targets = ["bwrap"]
  syscalls {
    deny  = ["fork"]
    allow = ["kill", "ptrace"]
  }
}
`)
	if diags.HasErrors() || len(result) != 1 {
		t.Fatal(diags)
	}
	want := []ir.SyscallRule{
		{Name: "fork", Origin: "p/syscalls.deny[0]"},
		{Name: "kill", Allow: true, Origin: "p/syscalls.allow[0]"},
		{Name: "mkdir", Origin: "template.still/syscalls.deny[0]"},
		{Name: "mkdirat", Origin: "template.still/syscalls.deny[1]"},
		{Name: "ptrace", Allow: true, Origin: "p/syscalls.allow[1]"},
	}
	got := result[0].Policy.Syscalls
	if len(got) != len(want) {
		t.Fatalf("Syscalls = %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("Syscalls[%d] = %+v, want %+v", i, got[i], want[i])
		}
	}
}
