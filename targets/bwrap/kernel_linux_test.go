package bwrap

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
)

// protectedTree is a workspace with one of everything that is protected in it.
func protectedTree(t *testing.T, who caller) *bench {
	b := newBench(t, who)
	for _, name := range []string{
		"w/free/f", "w/other/f", "w/a/b/key", "w/a/b/open", "w/s/key", "w/s/m/pub/x", "w/s/m/other", "w/hooks/pre", "w/.env", "w/bin/tool", "w/bin/plain",
		"data/pub/x", "data/secret/key", "data/file",
	} {
		b.make(name, "content\n")
	}
	b.compile("only read /", "devices", "shm", "write ${workspace}",
		"deny ${workspace}/a/b/key", "deny ${workspace}/s", "read ${workspace}/s/m/pub", "read ${workspace}/hooks", "deny ${workspace}/.env",
		"deny ${workspace}/none/deep", "execute ${workspace}/bin/tool",
		"read "+b.dir+"/data", "deny "+b.dir+"/data/secret", "read "+b.dir+"/data/file")
	return b
}

// TestRefusalsWithControl makes each attempt outside first, where it must
// succeed, and then inside, where it must fail as the kernel fails a mount.
func TestRefusalsWithControl(t *testing.T) {
	refused := []struct{ attempt, errno string }{
		{"read ${workspace}/a/b/key", "permission denied"},
		{"write ${workspace}/a/b/key", "permission denied"},
		{"mode ${workspace}/a/b/key", "read-only file system"},
		{"remove ${workspace}/a/b/key", "device or resource busy"},
		{"link ${workspace}/a/b/key ${workspace}/free/l", "invalid cross-device link"},
		{"remove ${workspace}/a/b", "device or resource busy"},
		{"remove ${workspace}/a", "device or resource busy"},
		{"read ${workspace}/s/key", "no such file or directory"},
		{"stat ${workspace}/s/m/other", "no such file or directory"},
		{"list ${workspace}/s", "permission denied"},
		{"list ${workspace}/s/m", "permission denied"},
		{"mode ${workspace}/s", "read-only file system"},
		{"create ${workspace}/s/new", "read-only file system"},
		{"create ${workspace}/s/m/pub/new", "read-only file system"},
		{"write ${workspace}/s/m/pub/x", "read-only file system"},
		{"remove ${workspace}/s", "device or resource busy"},
		{"write ${workspace}/hooks/pre", "read-only file system"},
		{"create ${workspace}/hooks/new", "read-only file system"},
		{"remove ${workspace}/hooks", "device or resource busy"},
		{"rename ${workspace}/free/f ${workspace}/hooks/f", "invalid cross-device link"},
		{"read ${workspace}/.env", "permission denied"},
		{"rename ${workspace}/free/f ${workspace}/.env.x/../.env", "device or resource busy"},
		{"remove ${workspace}/none/deep", "device or resource busy"},
		{"remove ${workspace}/none", "device or resource busy"},
		{"remove ${workspace}/bin/tool", "device or resource busy"},
		{"remove ${workspace}/bin", "device or resource busy"},
		{"list ${dir}", "permission denied"},
		{"create ${dir}/data/new", "read-only file system"},
		{"write ${dir}/data/pub/x", "read-only file system"},
		{"list ${dir}/data/secret", "permission denied"},
		{"read ${dir}/data/secret/key", "no such file or directory"},
		{"read /etc/passwd", "no such file or directory"},
		{"fill /dev/shm", "no space left on device"},
	}
	var attempts []string
	for _, r := range refused {
		attempts = append(attempts, r.attempt)
	}
	for _, who := range callers() {
		t.Run(who.name, func(t *testing.T) {
			b := protectedTree(t, who)
			b.make("w/.env.x/", "")
			control := b.outside(attempts)
			for _, name := range []string{"w/free/f", "w/.env"} { // moved onto each other by the control
				b.make(name, "content\n")
			}
			got := b.inside(attempts)
			for i, r := range refused {
				if control[i] != "ok" {
					t.Errorf("%s, outside: %s; it proves nothing inside", r.attempt, control[i])
				}
				if got[i] != r.errno {
					t.Errorf("%s, inside: %s, want %s", r.attempt, got[i], r.errno)
				}
			}
		})
	}
}

// TestModelAgainstKernel compares the table with what the kernel does, each way.
func TestModelAgainstKernel(t *testing.T) {
	for _, who := range callers() {
		t.Run(who.name, func(t *testing.T) {
			b := protectedTree(t, who)
			var attempts []string
			for _, name := range []string{
				"", "/free", "/free/f", "/a", "/a/b", "/a/b/key", "/a/b/open", "/s", "/s/m", "/s/m/pub", "/s/m/pub/x", "/hooks", "/hooks/pre",
				"/.env", "/bin", "/bin/tool", "/bin/plain", "/none", "/none/deep",
			} {
				p := "${workspace}" + name
				attempts = append(attempts, "read "+p, "stat "+p, "write "+p, "remove "+p, "create "+p+"/new", "create "+p+".new",
					"rename "+p+" ${workspace}/a/moved", "rename "+p+" ${workspace}/free/moved")
			}
			for _, p := range []string{"/", "/dev", "/dev/null", "/dev/shm", "/dev/fd", "/dev/pts", "/proc", "/etc", "${dir}", "${dir}/data", "${dir}/data/secret", "${dir}/data/pub"} {
				attempts = append(attempts, "list "+p, "stat "+p, "create "+p+"/new")
			}
			attempts = append(attempts, "write /dev/null", "write /dev/zero", "link ${workspace}/free/f ${workspace}/free/l",
				"link ${workspace}/free/f ${workspace}/a/l", "link ${workspace}/bin/tool ${workspace}/bin/l")
			got := b.inside(attempts)
			allowed := 0
			for i, text := range b.expand(attempts) {
				r, err := ir.ParseRequest(strings.Fields(text))
				if err != nil {
					t.Fatal(err)
				}
				want := b.table.Allows(r)
				if want {
					allowed++
				}
				if denied := hostDenies(text, got[i]); want != (got[i] == "ok") && !(want && denied) {
					t.Errorf("%s: the kernel says %q, the model allows: %v", attempts[i], got[i], want)
				}
			}
			if 3*allowed < len(attempts) {
				t.Errorf("only %d of %d attempts are allowed by the model", allowed, len(attempts))
			}
		})
	}
}

// hostDenies lists the denials that come from the host and not from mounts: a
// name below a file, a directory moved into itself, and the pseudo-terminals' own
// refusal of new files.
func hostDenies(text, errno string) bool {
	return errno == "not a directory" || errno == "invalid argument" || text == "create /dev/pts/new" && errno != "read-only file system"
}

// TestMountsShowWhatTheTableSays reads the mount table from inside.
func TestMountsShowWhatTheTableSays(t *testing.T) {
	for _, who := range callers() {
		t.Run(who.name, func(t *testing.T) {
			b := protectedTree(t, who)
			flags := map[string]string{}
			for _, line := range b.inside([]string{"print /proc/self/mountinfo"}) {
				if f := strings.Fields(line); len(f) > 5 {
					flags[f[4]], _, _ = strings.Cut(f[5], ",")
				}
			}
			for _, m := range b.table.Mounts() {
				want := "ro"
				if m.Writable {
					want = "rw"
				}
				if got := flags[m.Path.String()]; got != want {
					t.Errorf("mount %s is %q, want %q", m.Path, got, want)
				}
				delete(flags, m.Path.String())
			}
			for path, flag := range flags {
				if !strings.HasPrefix(path, "/proc/") || flag != "ro" {
					t.Errorf("mount %s (%s) is in no table", path, flag)
				}
			}
		})
	}
}

// TestHostLinksAreKept runs with links that only root could have made.
func TestHostLinksAreKept(t *testing.T) {
	b := newBench(t, callers()[0])
	b.make("real/x", "content\n")
	b.make("real/h/key", "content\n")
	for from, to := range map[string]string{"link": "real", "deep": b.dir + "/link/x"} {
		if err := os.Symlink(to, b.dir+"/"+from); err != nil {
			t.Fatal(err)
		}
	}
	b.compile("read "+b.dir+"/real", "deny "+b.dir+"/real/h", "read "+b.dir+"/link", "read "+b.dir+"/deep")
	got := b.inside([]string{"read ${dir}/link/x", "read ${dir}/deep", "read ${dir}/link/h/key", "list ${dir}/link/h"})
	want := []string{"ok", "ok", "no such file or directory", "permission denied"}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("attempt %d: %s, want %s", i, got[i], want[i])
		}
	}
}

// TestPlacesOfSlots runs with the workspace inside home, and inside private
// memory at /tmp, where directories on the way must stay too.
func TestPlacesOfSlots(t *testing.T) {
	b := newBench(t, callers()[0])
	b.make("home/src/w/f", "content\n")
	b.make("home/f", "content\n")
	b.make("w/", "")
	b.compile("write ${home}", "write ${workspace}")
	b.bind = b.bind.With(ir.Workspace, ir.MustPath(b.dir+"/home/src/w"))
	b.look()
	attempts := []string{"write ${dir}/home/src/w/f", "write ${dir}/home/f", "create ${dir}/home/src/new", "remove ${dir}/home/src"}
	if control := b.outside(attempts[3:]); control[0] != "ok" {
		t.Errorf("%s, outside: %s", attempts[3], control[0])
	}
	if got := strings.Join(b.inside(attempts), ", "); got != "ok, ok, ok, device or resource busy" {
		t.Errorf("workspace in home: %s", got)
	}
	if !strings.HasPrefix(b.dir, "/tmp/") {
		t.Skip("host feature missing: temporary directories in /tmp")
	}
	b.make("w/f", "content\n")
	b.make("w/probe", "")
	b.extra = nil
	b.compile("tmp", "write ${workspace}", "read ${workspace}/probe")
	b.probe = b.dir + "/w/probe"
	self, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(b.probe, self, 0o755)
	}
	if err == nil {
		err = os.Chmod(b.probe, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	b.look()
	got := b.inside([]string{"write ${workspace}/f", "create /tmp/new", "remove ${dir}", "create ${dir}/new", "fill /tmp", "stat ${dir}/home"})
	if text := strings.Join(got, ", "); text != "ok, ok, device or resource busy, ok, no space left on device, no such file or directory" {
		t.Errorf("workspace in private memory: %s", text)
	}
}

// TestWholeSystem shows all of the host and takes some of it away again.
func TestWholeSystem(t *testing.T) {
	for _, who := range callers() {
		t.Run(who.name, func(t *testing.T) {
			b := newBench(t, who)
			b.make("w/f", "content\n")
			b.make("secret/key", "content\n")
			b.make("open/f", "content\n")
			b.extra = nil
			b.compile("read /", "deny "+b.dir+"/secret", "devices", "shm", "write ${workspace}", "deny /proc/sys")
			attempts := []string{
				"read /etc/passwd", "list /", "read ${dir}/open/f", "create ${workspace}/new", "write /dev/null", // kept
				"create ${dir}/open/new", "list ${dir}/secret", "read ${dir}/secret/key", "create ${dir}/secret/new", "list /proc/sys", // refused
			}
			for i, got := range b.outside(attempts[5:]) {
				if got != "ok" {
					t.Errorf("%s, outside: %s; it proves nothing inside", attempts[5+i], got)
				}
			}
			want := []string{"ok", "ok", "ok", "ok", "ok", "read-only file system", "permission denied", "no such file or directory", "read-only file system", "permission denied"}
			for i, got := range b.inside(attempts) {
				if got != want[i] {
					t.Errorf("%s: %s, want %s", attempts[i], got, want[i])
				}
			}
		})
	}
}

// TestOtherKinds masks and grants nodes that are neither files nor directories.
func TestOtherKinds(t *testing.T) {
	b := newBench(t, callers()[0])
	b.make("w/f", "content\n")
	if err := syscall.Mkfifo(b.dir+"/w/pipe", 0o644); err != nil {
		t.Fatal(err)
	}
	b.compile("write ${workspace}", "deny ${workspace}/pipe", "write /dev/null", "only read /dev")
	attempts := []string{"read ${workspace}/pipe", "remove ${workspace}/pipe", "write /dev/null", "read /dev/null", "list /dev", "create /dev/new"}
	want := []string{"permission denied", "device or resource busy", "ok", "ok", "ok", "read-only file system"}
	for i, got := range b.inside(attempts) {
		if got != want[i] {
			t.Errorf("%s: %s, want %s", attempts[i], got, want[i])
		}
	}
	if control := b.outside(attempts[1:2]); control[0] != "ok" {
		t.Errorf("%s, outside: %s", attempts[1], control[0])
	}
}
