package runtime_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/runtime"
)

func TestRemoveTreeFollowsNoLink(t *testing.T) {
	outside := t.TempDir()
	kept := filepath.Join(outside, "kept")
	if err := os.WriteFile(kept, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	tree := filepath.Join(t.TempDir(), "tree")
	must(t, os.MkdirAll(filepath.Join(tree, "a", "b"), 0o700))
	must(t, os.Symlink(outside, filepath.Join(tree, "link")))
	must(t, os.Symlink(kept, filepath.Join(tree, "a", "file")))
	must(t, os.WriteFile(filepath.Join(tree, "a", "b", "f"), nil, 0o000))
	must(t, os.Chmod(filepath.Join(tree, "a", "b"), 0))
	must(t, os.Chmod(filepath.Join(tree, "a"), 0))
	must(t, unix.Mkfifo(filepath.Join(tree, "pipe"), 0o600))
	if err := runtime.RemoveTree(tree); err != nil {
		t.Fatalf("RemoveTree(%s) = %v", tree, err)
	}
	if _, err := os.Lstat(tree); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", tree, err)
	}
	if _, err := os.Lstat(kept); err != nil {
		t.Errorf("a file that a link in the tree named is gone: %v", err)
	}
}

// A command can leave a tree deeper than a process has descriptors and than
// PATH_MAX lets anybody name.
func TestRemoveTreeDeeperThanDescriptors(t *testing.T) {
	tree := filepath.Join(t.TempDir(), "tree")
	must(t, os.Mkdir(tree, 0o700))
	fd, err := unix.Open(tree, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	must(t, err)
	for range 3000 {
		must(t, unix.Mkdirat(fd, "deeper", 0o700))
		next, err := unix.Openat(fd, "deeper", unix.O_RDONLY|unix.O_DIRECTORY, 0)
		must(t, err)
		unix.Close(fd)
		fd = next
	}
	unix.Close(fd)
	if err := runtime.RemoveTree(tree); err != nil {
		t.Fatalf("removeTree of 3,000 levels = %v", err)
	}
	if _, err := os.Lstat(tree); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", tree, err)
	}
}
