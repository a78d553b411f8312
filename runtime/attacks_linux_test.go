package runtime_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func init() {
	attempts["mkdir"] = func(a []string) error { return os.Mkdir(a[0], 0o700) }
	attempts["symlink"] = func(a []string) error { return os.Symlink(a[0], a[1]) }
	attempts["exchange"] = func(a []string) error {
		return unix.Renameat2(unix.AT_FDCWD, a[0], unix.AT_FDCWD, a[1], unix.RENAME_EXCHANGE)
	}
	attempts["append"] = func(a []string) error {
		f, err := os.OpenFile(a[0], os.O_WRONLY|os.O_APPEND, 0)
		if err == nil {
			_, err = io.WriteString(f, "x")
			err = errors.Join(err, f.Close())
		}
		return err
	}
	// each makes several attempts, one an argument, and prints what comes of each.
	attempts["each"] = func(a []string) error {
		for _, words := range a {
			probe(strings.Fields(words))
		}
		return nil
	}
	// through reads what a link leads to that it makes itself.
	attempts["through"] = func(a []string) error {
		if err := os.Symlink(a[0], a[1]); err != nil {
			return err
		}
		defer os.Remove(a[1])
		_, err := os.ReadFile(a[1])
		return err
	}
	// around reaches for a name by way of the directory's own number.
	attempts["around"] = func(a []string) error {
		dir, err := unix.Open(a[0], unix.O_PATH|unix.O_DIRECTORY, 0)
		if err != nil {
			return err
		}
		fd, err := unix.Openat(dir, filepath.Base(a[1]), unix.O_WRONLY|unix.O_CREAT, 0o600)
		if err != nil {
			return err
		}
		return unix.Close(fd)
	}
}

// TestLiveAttacks is what a command tries that knows its policy, each attempt with
// its control outside.
func TestLiveAttacks(t *testing.T) {
	needSandbox(t)
	inside, outside := tree(t), labDir(t)
	v := development(t, treePolicy(t, inside))
	list := []struct{ attempt, want string }{
		// Ancestors of what is protected, those that were made for it included.
		{"rename work/.git work/elsewhere", "EBUSY"},
		{"exchange work/src work/.git", "EBUSY"},
		{"rename work/made work/elsewhere", "EBUSY"},
		{"rename work/made/for work/made/against", "EBUSY"},
		{"remove work/made/for/it", "EBUSY"},
		{"exchange work/src work/made", "EBUSY"},
		{"exchange work/src work/made/for", "EXDEV"},
		{"rename work work2", "EROFS"},
		// The names themselves.
		{"exchange work/src/a.txt work/.env", "EBUSY"},
		{"rename work/src/a.txt work/.env", "EBUSY"},
		{"rename work/src/a.txt work/later", "EBUSY"},
		{"link work/src/a.txt work/lately", "ok"},
		{"around work/.git/hooks new", "EROFS"},
		{"around work/src/../carve new", "EROFS"},
		{"around work/src new", "ok"},
		// Other names for them.
		{"through work/.env work/link", "EACCES"},
		{"through work/carve/f work/link", "ok"},
		{"link work/.env work/copy", "EXDEV"},
		{"link work/carve/f work/copy", "EXDEV"},
		{"append work/carve/f", "EROFS"},
	}
	var tried []string
	for _, tt := range list {
		for _, part := range []string{"work", "beside", "work2"} {
			must(t, os.RemoveAll(filepath.Join(outside, part)))
		}
		plant(t, outside)
		for _, made := range []string{"work/later", "work/made/for/it"} { // there is a placeholder inside
			write(t, filepath.Join(outside, made), "")
		}
		if got := outsideProbe(t, words(outside, tt.attempt)...); got != "ok" {
			t.Errorf("%s outside is %s: the refusal inside proves nothing", tt.attempt, got)
		}
		tried = append(tried, strings.Join(words(inside, tt.attempt), " "))
	}
	r := probed(t, v, filepath.Join(inside, "work"), append([]string{"each"}, tried...)...)
	got := strings.Fields(r.stdout)
	if len(got) != len(list)+1 {
		t.Fatalf("of %d attempts %d were made: %s", len(list), len(got)-1, r)
	}
	for i, tt := range list {
		if got[i] != tt.want {
			t.Errorf("%s inside is %q, want %s", tt.attempt, got[i], tt.want)
		}
	}
}

// TestLiveDepth: windows in holes in grants, to a depth that no policy needs.
func TestLiveDepth(t *testing.T) {
	needSandbox(t)
	var trees []string
	for range 2 {
		root := labDir(t)
		for _, base := range []string{"read", "work"} {
			at := filepath.Join(root, base)
			for level := range 7 {
				write(t, filepath.Join(at, "f"), "x")
				at = filepath.Join(at, fmt.Sprint(level))
			}
		}
		trees = append(trees, root)
	}
	inside, outside := trees[0], trees[1]
	v := development(t, policy(t, fmt.Sprintf(`
  filesystem {
    read  = ["%[1]s/read", "%[1]s/read/0/1", "%[1]s/read/0/1/2/3/4", "${workspace}/0/1", "${workspace}/0/1/2/3/4"]
    write = ["%[1]s/read/0/1/2/3", "%[1]s/read/0/1/2/3/4/5", workspace, "${workspace}/0/1/2", "${workspace}/0/1/2/3/4/5"]
    deny  = ["%[1]s/read/0", "%[1]s/read/0/1/2", "${workspace}/0", "${workspace}/0/1/2/3"]
  }`, inside)))
	const none, reads, writes = "hole", "read", "write"
	type one struct{ attempt, want string }
	var list []one
	for _, tt := range []struct{ at, want string }{
		{"read", reads}, {"read/0", none}, {"read/0/1", reads}, {"read/0/1/2", none}, {"read/0/1/2/3", writes}, {"read/0/1/2/3/4", reads}, {"read/0/1/2/3/4/5", writes},
		{"work", writes}, {"work/0", none}, {"work/0/1", reads}, {"work/0/1/2", writes}, {"work/0/1/2/3", none}, {"work/0/1/2/3/4", reads}, {"work/0/1/2/3/4/5", writes},
	} {
		for _, a := range []struct{ words, none, reads string }{
			{"list " + tt.at, "EACCES", "ok"},
			{"read " + tt.at + "/f", "ENOENT", "ok"},
			{"append " + tt.at + "/f", "ENOENT", "EROFS"},
			{"create " + tt.at + "/new", "EROFS", "EROFS"},
		} {
			list = append(list, one{a.words, map[string]string{none: a.none, reads: a.reads, writes: "ok"}[tt.want]})
		}
	}
	var in, out []string
	for _, a := range list {
		in, out = append(in, strings.Join(words(inside, a.attempt), " ")), append(out, strings.Join(words(outside, a.attempt), " "))
	}
	control := strings.Fields(outsideProbe(t, append([]string{"each"}, out...)...))
	r := probed(t, v, filepath.Join(inside, "work"), append([]string{"each"}, in...)...)
	got := strings.Fields(r.stdout)
	if len(got) != len(list)+1 || len(control) != len(got) {
		t.Fatalf("of %d attempts %d were made outside, %d inside: %s", len(list), len(control)-1, len(got)-1, r)
	}
	for i, a := range list {
		if control[i] != "ok" {
			t.Errorf("%s outside is %s: a refusal inside proves nothing", a.attempt, control[i])
		}
		if got[i] != a.want {
			t.Errorf("%s inside is %q, want %s", a.attempt, got[i], a.want)
		}
	}
}

// TestLiveMaskedSocket: where sockets may be seen, a denied one cannot be reached.
func TestLiveMaskedSocket(t *testing.T) {
	needSandbox(t)
	root := labDir(t)
	shown, shownCount := listen(t, "unix", filepath.Join(root, "shown"))
	masked, maskedCount := listen(t, "unix", filepath.Join(root, "masked"))
	v := development(t, policy(t, fmt.Sprintf(`
  filesystem {
    read = [%q]
    deny = [%q]
  }
  network {
    unix = "visible"
  }`, root, masked)))
	work := labDir(t)
	if got := outsideProbe(t, "connect", "unix", masked); got != "ok" {
		t.Errorf("connect to the masked socket outside is %s: the refusal inside proves nothing", got)
	}
	if r := probed(t, v, work, "connect", "unix", shown); strings.TrimSpace(r.stdout) != "ok" {
		t.Errorf("connect to the socket that is shown: %s", r)
	}
	if r := probed(t, v, work, "connect", "unix", masked); strings.TrimSpace(r.stdout) != "EACCES" {
		t.Errorf("connect to the masked socket: %s", r)
	}
	for range 2 { // what came before is counted once this is
		c, err := net.Dial("unix", masked)
		must(t, err)
		c.Close()
	}
	if shownCount.Load() > 1 || maskedCount.Load() > 3 {
		t.Errorf("connections seen: %d and %d", shownCount.Load(), maskedCount.Load())
	}
}

// TestLiveSealedParent: a denied path that the caller could not make needs no mask,
// so it makes no trouble either.
func TestLiveSealedParent(t *testing.T) {
	needSandbox(t)
	sealed := "/opt" // root's
	if os.Getuid() == 0 {
		sealed = filepath.Join(labDir(t), "sealed") // not root's: without capabilities root may not write it
		must(t, os.Mkdir(sealed, 0o555))
		must(t, os.Chown(sealed, nobody, nobody))
	}
	if info, err := os.Stat(sealed); err != nil || info.Mode().Perm()&0o022 != 0 {
		t.Skip("host feature missing: a directory " + sealed + " that only its owner may write")
	}
	denied := filepath.Join(sealed, "obspc-test/.git")
	v := development(t, policy(t, fmt.Sprintf("\n  filesystem {\n    write = [%q]\n    deny = [%q]\n  }", sealed, denied)))
	r := probed(t, v, labDir(t), "mkdir", filepath.Dir(denied))
	if got := strings.TrimSpace(r.stdout); got != "EACCES" || r.refusal() != nil || len(r.Evidence.Cleanup.Placeholders) > 0 {
		t.Errorf("making what leads to the denied path is %q, want EACCES, and nothing made for the mask; %s", got, r)
	}
}
