package runtime_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/runtime"
)

func never() bool { return false }

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
	if err := runtime.RemoveTree(tree, never); err != nil {
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
	if err := runtime.RemoveTree(tree, never); err != nil {
		t.Fatalf("removeTree of 3,000 levels = %v", err)
	}
	if _, err := os.Lstat(tree); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", tree, err)
	}
}

// bushy makes directories with one directory in each, at a depth of its own.
func bushy(t *testing.T, depth, directories int) string {
	t.Helper()
	parent := "/dev/shm" // many directories take long on a disk
	if unix.Access(parent, unix.W_OK) != nil {
		parent = ""
	}
	dir, err := os.MkdirTemp(parent, "obspc-tree-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	tree := filepath.Join(dir, "tree")
	at := tree
	for range depth {
		at = filepath.Join(at, "d")
	}
	must(t, os.MkdirAll(at, 0o700))
	for i := range directories {
		must(t, os.MkdirAll(filepath.Join(at, strconv.Itoa(i), "x"), 0o700))
	}
	return tree
}

// A directory is read from its beginning once or twice, however many directories
// in it have to be entered: the work grows with the number of entries.
func TestRemoveTreeIsLinear(t *testing.T) {
	for _, depth := range []int{0, 100} {
		asked := map[int]int{}
		for _, n := range []int{300, 1200} {
			tree := bushy(t, depth, n)
			err := runtime.RemoveTree(tree, func() bool { asked[n]++; return false })
			if _, gone := os.Lstat(tree); err != nil || !os.IsNotExist(gone) {
				t.Fatalf("RemoveTree of %d directories at depth %d = %v; %v", n, depth, err, gone)
			}
		}
		if few, many := asked[300], asked[1200]; many > 5*few {
			t.Errorf("at depth %d, 300 directories took %d steps, 1,200 took %d", depth, few, many)
		}
	}
}

// What was removed before an interruption is not there for the next attempt.
func TestRemoveTreeInterrupted(t *testing.T) {
	tree := bushy(t, 1, 100)
	steps := 0
	err := runtime.RemoveTree(tree, func() bool { steps++; return steps > 50 })
	left, _ := os.ReadDir(filepath.Join(tree, "d"))
	if !errors.Is(err, runtime.ErrInterrupted) || len(left) == 0 || len(left) == 100 {
		t.Errorf("RemoveTree that is interrupted = %v, leaves %d of 100", err, len(left))
	}
	if err := runtime.RemoveTree(tree, never); err != nil {
		t.Errorf("RemoveTree of the rest = %v", err)
	}
}
