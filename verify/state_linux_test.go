package verify

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestStateOnAFullDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("host feature missing: root, to mount")
	}
	state := t.TempDir()
	if err := unix.Mount("tmpfs", state, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("host feature missing: mount(2) (%v)", err)
	}
	defer func() { _ = unix.Unmount(state, unix.MNT_DETACH) }()
	src, trust := serial(t, 12, state)
	wantVerified(t, src, trust)
	path := filepath.Join(state, "payments.json")
	before, _ := os.ReadFile(path)
	if f, err := os.Create(filepath.Join(state, "filler")); err != nil {
		t.Fatal(err)
	} else {
		_, _ = f.Write(make([]byte, 1<<20))
		f.Close()
	}
	src, trust = serial(t, 13, state)
	f := wantRefused(t, src, trust, SerialAndExpiry, "", Unreadable)
	if !strings.Contains(f.Message, "no space left") {
		t.Errorf("the failure says %q", f)
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("the old state became %q, %v", after, err)
	}
	if left, _ := filepath.Glob(filepath.Join(state, ".new-*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
