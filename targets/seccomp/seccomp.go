// Package seccomp turns a policy into the classic BPF program that bubblewrap's
// --seccomp loads, and reads such a program back into what it grants. It keeps
// what mounts cannot: connect(2) on a Unix-domain socket passes a read-only
// bind, so where the policy says unix = "none" no such socket can be made. The
// caller's keyrings, the sandbox's PID 1 and set-user-ID files left behind are
// kept out of reach under every policy.
//
// Its one rule: a program is written from two tables (tables.go) and read back
// without them, so Grants judges a program that anybody wrote. Which calls exist
// and what they answer is data there; how BPF expresses it is in compile.go.
//
// What the filter does not see: descriptors that are handed in. A Unix-domain
// socket inherited from outside, or received over one, is used freely; the
// runtime hands in none.
package seccomp

import (
	"fmt"

	"github.com/obspc/obspc/lang/diag"
)

// Arch is a machine architecture, as uname -m names it.
type Arch string

// The architectures that releases hold programs for. Both are little endian.
const (
	X86_64  Arch = "x86_64"
	AArch64 Arch = "aarch64"
)

// Arches lists every architecture, in the order in which artifacts are written.
func Arches() []Arch { return []Arch{AArch64, X86_64} }

// audit is the architecture's token in seccomp_data.arch (linux/audit.h:
// AUDIT_ARCH_X86_64 and AUDIT_ARCH_AARCH64, the ELF machine with the bits for
// 64-bit and little endian).
func (a Arch) audit() uint32 {
	switch a {
	case X86_64:
		return 0xc000003e
	case AArch64:
		return 0xc00000b7
	}
	diag.Bug("seccomp has no tables for the architecture %q", a)
	return 0
}

// archOf is the architecture with that token.
func archOf(token uint32) (Arch, bool) {
	for _, a := range Arches() {
		if a.audit() == token {
			return a, true
		}
	}
	return "", false
}

// x32Bit marks the numbers of the x32 interface, which shares its architecture
// token with x86_64 (__X32_SYSCALL_BIT in asm/unistd.h).
const x32Bit = 0x40000000

// Action is what the kernel does with a system call: the value a filter returns
// (linux/seccomp.h).
type Action uint32

// The actions that programs hold. Errno(n) makes the third: the call is not
// carried out and fails with that number.
const (
	Allow       Action = 0x7fff0000 // SECCOMP_RET_ALLOW
	KillProcess Action = 0x80000000 // SECCOMP_RET_KILL_PROCESS

	errnoBase Action = 0x00050000 // SECCOMP_RET_ERRNO; the low 16 bits hold the number
)

// maxErrno is the largest error number the kernel hands out (MAX_ERRNO in
// linux/err.h).
const maxErrno = 4095

// Errno is the action that fails a call with the error number n, from 1 to 4095.
func Errno(n uint16) Action { return errnoBase | Action(n) }

// Errno is the number the call fails with; false when the action is another.
func (a Action) Errno() (uint16, bool) {
	return uint16(a), a&^0xffff == errnoBase
}

func (a Action) String() string {
	if a == Allow {
		return "allow"
	}
	if a == KillProcess {
		return "kill process"
	}
	if n, ok := a.Errno(); ok {
		for _, e := range errorNames {
			if e.number == n {
				return "errno " + e.name
			}
		}
		return fmt.Sprintf("errno %d", n)
	}
	return fmt.Sprintf("action %#08x", uint32(a))
}

// known reports whether programs may return the action.
func (a Action) known() bool {
	n, ok := a.Errno()
	return a == Allow || a == KillProcess || ok && n > 0 && n <= maxErrno
}
