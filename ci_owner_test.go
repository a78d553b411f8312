package obspc_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestForeignCheckout: root finds a checkout of another user, as in a container. It is
// refused with the two ways out that docs/ci.md has, and either of them works.
func TestForeignCheckout(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("host feature missing: root, to give files away")
	}
	v := newVictim(t)
	a := v.attempt(t)
	for _, dir := range []string{v.dir, a.dir} { // the copies of tests are nobody else's
		a.must(os.Chmod(dir, 0o755))
	}
	give := func(uid int) {
		t.Helper()
		a.must(filepath.WalkDir(a.dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Chown(path, uid, uid)
		}))
	}
	args := []string{"verify", "release", "--pins", "obspc.pins"}
	give(nobody)
	says := fmt.Sprintf("obspc: release: unverified: pins failed; first: obspc.pins: unsafe-file: another user can change it (do this as user %d, or chown it to user 0): wanted owner 0, found %d\n", nobody, nobody)
	if out := a.obspc(a.dir, args...); out.code != 1 || out.stderr != says {
		t.Errorf("want exit 1 and %q: %s", says, out)
	}
	byKey := a.obspc(a.dir, "verify", "release", "--key", "key.pub")
	if byKey.code != 1 || !strings.Contains(byKey.stderr, "key.pub: unsafe-file: another user ") {
		t.Errorf("a key of another user: %s", byKey)
	}
	cmd := exec.Command(filepath.Join(v.bin, "obspc"), args...)
	cmd.Dir, cmd.Env = a.dir, []string{"HOME=/nonexistent"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("as the owner: %v\n%s", err, out)
	}
	give(0)
	if out := a.obspc(a.dir, args...); out.code != 0 {
		t.Errorf("chowned to root: %s", out)
	}
}
