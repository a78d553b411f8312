package runtime_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/runtime"
)

// exchange swaps two names.
func exchange(t *testing.T, a, b string) {
	t.Helper()
	must(t, unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE))
}

// TestLiveSwappedAncestor exchanges a directory with a link to one that the policy
// hides, at another moment of each run's set-up: the workspace itself, and a
// directory above it that lies inside another write. No command sees what is
// hidden, and nothing that bubblewrap made there stays.
func TestLiveSwappedAncestor(t *testing.T) {
	needSandbox(t)
	for _, swapped := range []string{"a/b/work", "a/b"} {
		t.Run(swapped, func(t *testing.T) {
			root := labDir(t)
			must(t, os.MkdirAll(filepath.Join(root, "a/b/work/hole"), 0o755))
			write(t, filepath.Join(root, "a/b/work/.env"), "secret")
			write(t, filepath.Join(root, "other/hidden"), "secret")
			name, link := filepath.Join(root, swapped), filepath.Join(root, "a/link")
			must(t, os.Symlink(filepath.Join(root, "other"), link))
			work := filepath.Join(root, "a/b/work")
			v := development(t, policy(t, fmt.Sprintf(`
  filesystem {
    write = ["%s/a", workspace]
    deny  = ["${workspace}/.env", "${workspace}/hole", "${workspace}/later"]
  }`, root)))
			hidden := filepath.Join(name, "hidden")
			began := time.Now()
			if r := probed(t, v, work, "read", filepath.Join(root, "other/hidden")); strings.TrimSpace(r.stdout) != "ENOENT" {
				t.Fatalf("without an exchange: %s", r)
			}
			took := time.Since(began)
			refused, astray := 0, 0
			for i := range 25 {
				done := make(chan struct{})
				go func() {
					time.Sleep(took * time.Duration(i) / 50) // the second half is the command's
					exchange(t, name, link)
					close(done)
				}()
				r := probed(t, v, work, "read", hidden)
				<-done
				exchange(t, name, link)
				if r.refusal() != nil {
					refused++
				} else if got := strings.TrimSpace(r.stdout); got != "ENOENT" && got != "EACCES" {
					t.Errorf("reading what the link leads to is %q; %s", got, r)
				}
				astray += len(r.Evidence.Cleanup.Astray)
				left, err := os.ReadDir(filepath.Join(root, "other"))
				if must(t, err); len(left) != 1 {
					t.Errorf("made in the other directory: %v; %s", left, r)
				}
			}
			t.Logf("%d runs refused, %d mount points made elsewhere and removed", refused, astray)
		})
	}
}

// TestRemoveMade: what bubblewrap makes goes, and nothing that it has not made.
func TestRemoveMade(t *testing.T) {
	dir := t.TempDir()
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	must(t, err)
	defer unix.Close(fd)
	since := time.Now()
	for _, tt := range []struct {
		name string
		make func(at string) error
		gone bool
	}{
		{"file", func(at string) error { return os.WriteFile(at, nil, 0o444) }, true},
		{"file, tight umask", func(at string) error { return os.WriteFile(at, nil, 0o400) }, true},
		{"directory", func(at string) error { return os.Mkdir(at, 0o755) }, true},
		{"full file", func(at string) error { return os.WriteFile(at, []byte("x"), 0o444) }, false},
		{"writable file", func(at string) error { return os.WriteFile(at, nil, 0o644) }, false},
		{"two names", func(at string) error { return errors.Join(os.WriteFile(at, nil, 0o444), os.Link(at, at+"2")) }, false},
		{"full directory", func(at string) error { return os.MkdirAll(filepath.Join(at, "x"), 0o755) }, false},
		{"odd directory", func(at string) error { return errors.Join(os.Mkdir(at, 0o755), unix.Chmod(at, 0o1755)) }, false},
		{"link", func(at string) error { return os.Symlink(dir, at) }, false},
		{"missing", func(string) error { return nil }, false},
	} {
		at := filepath.Join(dir, tt.name)
		must(t, tt.make(at))
		_, before := os.Lstat(at)
		err := runtime.RemoveMade(fd, tt.name, since)
		_, after := os.Lstat(at)
		if gone := before == nil && after != nil; gone != tt.gone || (err == nil) != tt.gone {
			t.Errorf("%s: removeMade = %v, gone: %v, want %v", tt.name, err, gone, tt.gone)
		}
	}
	must(t, os.WriteFile(filepath.Join(dir, "old"), nil, 0o444))
	if err := runtime.RemoveMade(fd, "old", time.Now().Add(time.Second)); err == nil {
		t.Error("removeMade took away what was there before")
	}
}
