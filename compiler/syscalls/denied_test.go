package syscalls

import (
	"slices"
	"testing"
)

// TestDataNamesCalls: what the tables about calls name, some architecture has.
func TestDataNamesCalls(t *testing.T) {
	var named []string
	for _, u := range uses {
		named = append(named, u.Call)
	}
	named = append(append(named, loosened...), intoProcesses...)
	seen := map[string]bool{}
	for _, group := range kin {
		for _, call := range group {
			if seen[call] {
				t.Errorf("%s stands in two groups", call)
			}
			seen[call] = true
			named = append(named, call)
		}
	}
	for _, n := range named {
		if len(On(n)) == 0 {
			t.Errorf("no architecture has %s", n)
		}
	}
}

// TestLoosening: only what is refused whole can be allowed, and what reaches into
// processes is among it.
func TestLoosening(t *testing.T) {
	for _, n := range loosened {
		if r, ok := Refusing(n); !ok || r.Part != All {
			t.Errorf("%s can be allowed and is not refused whole", n)
		}
	}
	for _, n := range intoProcesses {
		if !MayAllow(n) {
			t.Errorf("%s reaches into processes and cannot be allowed", n)
		}
	}
	// What other statements and the design promise, by the calls that would break it.
	for _, n := range []string{
		"mount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "mount_setattr", "fsopen", "open_by_handle_at",
		"setns", "clone", "clone3", "unshare", "socket", "socketpair", "io_uring_setup", "ioctl", "chmod", "openat", "keyctl",
	} {
		if MayAllow(n) {
			t.Errorf("%s can be allowed", n)
		}
	}
}

func TestDenied(t *testing.T) {
	for name, want := range map[string]string{
		"mkdir": "EPERM", "kill": "EPERM", "memfd_create": "EPERM", "statx": "ENOSYS", "openat2": "ENOSYS", "clone3": "ENOSYS",
		"ptrace": "EPERM", "socket": "EPERM", "modify_ldt": "ENOSYS", "pidfd_getfd": "EPERM",
	} {
		if got := Denied(name); got != want {
			t.Errorf("Denied(%s) = %s, want %s", name, got, want)
		}
	}
	if k := Kin("open"); !slices.Contains(k, "openat") || Kin("bpf") != nil {
		t.Errorf("Kin(open) = %v, Kin(bpf) = %v", k, Kin("bpf"))
	}
}
