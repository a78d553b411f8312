package release

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// mountTmpfs mounts a small file system for the test.
func mountTmpfs(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	if os.Geteuid() != 0 {
		t.Skip("host feature missing: root, to mount")
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		t.Skipf("host feature missing: mount(2) (%v)", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

func TestWriteToAFullDisk(t *testing.T) {
	parent := mountTmpfs(t, "size=64k")
	dir := filepath.Join(parent, "release")
	if err := Write(dir, build(t, sampleInput())); err != nil {
		t.Fatalf("a release that fits: %v", err)
	}
	before := tree(t, parent)
	in := sampleInput()
	in.Policies[0].Artifacts[0].Data = make([]byte, 1<<20)
	if err := Write(dir, build(t, in)); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Write = %v, want no space left", err)
	}
	if !same(before, tree(t, parent)) {
		t.Errorf("Write to a full disk left %v", tree(t, parent))
	}
}

func TestWriteToAReadOnlyParent(t *testing.T) {
	parent := mountTmpfs(t, "size=64k")
	dir := filepath.Join(parent, "release")
	if err := Write(dir, build(t, sampleInput())); err != nil {
		t.Fatalf("a parent that can be written: %v", err)
	}
	before := tree(t, parent)
	if err := unix.Mount("", parent, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	if err := Write(dir, build(t, sampleInput())); !errors.Is(err, syscall.EROFS) {
		t.Errorf("Write = %v, want a read-only file system", err)
	}
	if !same(before, tree(t, parent)) {
		t.Errorf("Write to a read-only parent left %v", tree(t, parent))
	}
}
