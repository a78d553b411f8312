package seccomp_test

import (
	"testing"

	"github.com/obspc/obspc/targets/seccomp"
)

func TestDescribe(t *testing.T) {
	for _, tt := range []struct {
		number     uint32
		args       []uint64
		name, what string
	}{
		{41, []uint64{1, 1 | 0o2000000}, "socket", "AF_UNIX, SOCK_STREAM"},
		{41, []uint64{16, 3}, "socket", "address family 16"},
		{53, []uint64{1, 2}, "socketpair", "AF_UNIX, SOCK_DGRAM"},
		{16, []uint64{0, 0x5412}, "ioctl", "TIOCSTI"},
		{16, []uint64{0, 0x5401}, "ioctl", ""},
		{101, nil, "ptrace", ""},
		{4000, nil, "system call 4000", ""},
	} {
		name, what := seccomp.Describe(seccomp.X86_64, seccomp.Call(seccomp.X86_64, tt.number, tt.args...))
		if name != tt.name || what != tt.what {
			t.Errorf("Describe(%d, %v) = %q, %q, want %q, %q", tt.number, tt.args, name, what, tt.name, tt.what)
		}
	}
}
