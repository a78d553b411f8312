package registry

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/ir"
)

// placeVariable makes the test's own binary begin a run there, say so, and stay.
const placeVariable = "OBSPC_TEST_REGISTRY"

func TestMain(m *testing.M) {
	if at := os.Getenv(placeVariable); at != "" {
		r, err := Open(at)
		if err == nil {
			_, err = r.Begin("killed")
		}
		fmt.Println("begun", err)
		time.Sleep(time.Minute)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func never() bool { return false }

func open(t *testing.T, at string) *Registry {
	t.Helper()
	r, err := Open(at)
	if err != nil {
		t.Fatalf("Open(%s) = %v", at, err)
	}
	t.Cleanup(r.Close)
	return r
}

func begin(t *testing.T, r *Registry) *Run {
	t.Helper()
	run, err := r.Begin("p")
	if err != nil {
		t.Fatalf("Begin = %v", err)
	}
	return run
}

// private is a directory that only the test's user may change.
func private(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestOpen: what somebody else may have put there is refused, each beside what is
// accepted.
func TestOpen(t *testing.T) {
	for _, tt := range []struct {
		name string
		make func(dir string) error
		want string // "": accepted
	}{
		{"nothing there", func(string) error { return nil }, ""},
		{"made before", func(dir string) error { return os.Mkdir(dir+"/r", 0o700) }, ""},
		{"sticky parent", func(dir string) error { return os.Chmod(dir, 0o777|os.ModeSticky) }, ""},
		{"parent that others write", func(dir string) error { return os.Chmod(dir, 0o777) }, "others may replace"},
		{"parent that a group writes", func(dir string) error { return os.Chmod(dir, 0o775) }, "others may replace"},
		{"open to others", func(dir string) error { return os.Mkdir(dir+"/r", 0o755) }, "0755 and has to be 0700"},
		{"a link", func(dir string) error {
			return errors.Join(os.Mkdir(dir+"/real", 0o700), os.Symlink("real", dir+"/r"))
		}, "not a directory"},
		{"a file", func(dir string) error { return os.WriteFile(dir+"/r", nil, 0o600) }, "not a directory"},
		{"a link for the lock", func(dir string) error {
			return errors.Join(os.Mkdir(dir+"/r", 0o700), os.WriteFile(dir+"/else", nil, 0o600), os.Symlink("../else", dir+"/r/lock"))
		}, "symbolic links"},
		{"another user's", func(dir string) error {
			return errors.Join(os.Mkdir(dir+"/r", 0o700), os.Chown(dir+"/r", 65534, 65534))
		}, "belongs to user 65534"},
		{"in another user's directory", func(dir string) error { return os.Chown(dir, 65534, 65534) }, "others may replace"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := private(t)
			if err := tt.make(dir); err != nil {
				if os.Getuid() != 0 {
					t.Skipf("host feature missing: root, to give files away (%v)", err)
				}
				t.Fatal(err)
			}
			r, err := Open(filepath.Join(dir, "r"))
			if err == nil {
				defer r.Close()
			}
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Open = %v, want %q", err, tt.want)
			}
		})
	}
}

// TestLockFile: nobody who cannot write through the mount can hold a lock.
func TestLockFile(t *testing.T) {
	at := filepath.Join(private(t), "r")
	open(t, at)
	info, err := os.Stat(filepath.Join(at, lockName))
	if err != nil || info.Mode() != 0o200 {
		t.Fatalf("the lock has mode %v, want 0200; %v", info.Mode(), err)
	}
	if os.Getuid() == 0 {
		return // root reads it with a capability, which no command has
	}
	if fd, err := unix.Open(filepath.Join(at, lockName), unix.O_RDONLY, 0); !errors.Is(err, unix.EACCES) {
		t.Errorf("open for reading = %d, %v, want EACCES", fd, err)
	}
}

// TestRuns: a run is there while it lives, and in the way of whoever it is.
func TestRuns(t *testing.T) {
	at := filepath.Join(private(t), "r")
	mine, theirs := open(t, at), open(t, at)
	a := begin(t, mine)
	keeper, mover := claimed(t, "write /w, deny /w/.env", nil), claimed(t, "write /w", nil)
	if other, err := a.Admit(keeper, nothingBelow, never); other != nil || err != nil {
		t.Fatalf("Admit to an empty registry = %+v, %v", other, err)
	}
	b := begin(t, theirs)
	other, err := b.Admit(mover, nothingBelow, never)
	if err != nil || other == nil || !other.First || other.Entry.PID != os.Getpid() || other.Path.String() != "/w/.env" {
		t.Fatalf("Admit beside a run in its way = %+v, %v", other, err)
	}
	if other, err := b.Admit(keeper, nothingBelow, never); other != nil || err != nil {
		t.Fatalf("Admit of the same policy = %+v, %v", other, err)
	}
	if err := b.End(); err != nil {
		t.Fatal(err)
	}
	if err := a.End(); err != nil {
		t.Fatal(err)
	}
	c := begin(t, theirs)
	if other, err := c.Admit(mover, nothingBelow, never); other != nil || err != nil {
		t.Errorf("Admit once nobody is in its way = %+v, %v", other, err)
	}
	if left, err := mine.Dead(); err != nil || len(left) > 0 {
		t.Errorf("Dead = %v, %v while all live", left, err)
	}
	c.End()
	if names, _ := os.ReadDir(at); len(names) != 1 {
		t.Errorf("left in the registry: %v", names)
	}
}

// TestKilled: a run whose process was killed frees its entry.
func TestKilled(t *testing.T) {
	at := filepath.Join(private(t), "r")
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{placeVariable + "=" + at}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 100)
	n, _ := out.Read(line)
	r := open(t, at)
	if dead, err := r.Dead(); err != nil || len(dead) > 0 || !strings.HasPrefix(string(line[:n]), "begun <nil>") {
		t.Errorf("Dead = %v, %v while it lives; it says %q", dead, err, line[:n])
	}
	cmd.Process.Kill()
	cmd.Wait()
	dead, err := r.Dead()
	if err != nil || len(dead) != 1 || dead[0].Policy != "killed" || dead[0].PID != cmd.Process.Pid {
		t.Fatalf("Dead = %+v, %v", dead, err)
	}
	// One takes care of it; nobody else does meanwhile, and no run is admitted that
	// has not.
	other := open(t, at)
	if again, err := other.Dead(); err != nil || len(again) > 0 {
		t.Errorf("Dead of another = %+v, %v while it is taken care of", again, err)
	}
	dead[0].Leave()
	run := begin(t, other)
	if _, err := run.Admit(claimed(t, "write /w", nil), nothingBelow, never); !errors.Is(err, ErrDead) {
		t.Errorf("Admit = %v, want ErrDead", err)
	}
	mine := begin(t, r)
	if _, err := mine.Admit(claimed(t, "write /w", nil), nothingBelow, never); err != nil {
		t.Errorf("Admit of who left it = %v", err)
	}
	if dead, err = other.Dead(); err != nil || len(dead) != 1 {
		t.Fatalf("Dead after it was left = %+v, %v", dead, err)
	}
	if err := dead[0].Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := run.Admit(claimed(t, "write /w", nil), nothingBelow, never); err != nil {
		t.Errorf("Admit = %v", err)
	}
}

// TestForeign: what cannot be read is in the way of everybody.
func TestForeign(t *testing.T) {
	at := filepath.Join(private(t), "r")
	r := open(t, at)
	run := begin(t, r)
	if err := run.note("from the future\n"); err != nil {
		t.Fatal(err)
	}
	mine := begin(t, open(t, at))
	var foreign *ForeignError
	if _, err := mine.Admit(claimed(t, "read /w", nil), nothingBelow, never); !errors.As(err, &foreign) {
		t.Errorf("Admit = %v, want a ForeignError", err)
	}
	run.Leave()
	r.Close()
	dead, err := open(t, at).Dead()
	if err != nil || len(dead) != 1 || dead[0].Fault == nil {
		t.Errorf("Dead = %+v, %v, want one that cannot be read", dead, err)
	}
}

// TestBusy: somebody who holds the registry is waited for, until the caller breaks
// off.
func TestBusy(t *testing.T) {
	at := filepath.Join(private(t), "r")
	holder := open(t, at)
	if mine, err := holder.hold(0); !mine || err != nil {
		t.Fatal(mine, err)
	}
	run := begin(t, open(t, at))
	asked := 0
	stop := func() bool { asked++; return asked > 3 }
	if _, err := run.Admit(claimed(t, "read /w", nil), nothingBelow, stop); !errors.Is(err, ErrStopped) {
		t.Errorf("Admit = %v, want ErrStopped", err)
	}
	time.AfterFunc(20*time.Millisecond, func() { holder.free(0) })
	if _, err := run.Admit(claimed(t, "read /w", nil), nothingBelow, never); err != nil {
		t.Errorf("Admit = %v", err)
	}
}

// TestOneAtATime: of many runs that are in each other's way, one is live at a time.
func TestOneAtATime(t *testing.T) {
	at := filepath.Join(private(t), "r")
	var live, most, admitted atomic.Int32
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			r, err := Open(at)
			if err != nil {
				t.Error(err)
				return
			}
			defer r.Close()
			for range 20 {
				run, err := r.Begin("p")
				if err != nil {
					t.Error(err)
					return
				}
				claim := NewClaim(&ir.Policy{Files: []ir.FileRule{
					{Path: ir.MustPath("/w"), Level: ir.Write}, {Path: ir.MustPath(fmt.Sprintf("/w/%d", i))},
				}}, nil, func(p ir.Path) (Node, bool) { return Node{Path: p}, true })
				other, err := run.Admit(claim, nothingBelow, never)
				if err != nil {
					t.Error(err)
				}
				if other == nil && err == nil {
					most.Store(max(most.Load(), live.Add(1)))
					admitted.Add(1)
					time.Sleep(100 * time.Microsecond)
					live.Add(-1)
				}
				if err := run.End(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if most.Load() != 1 || admitted.Load() == 0 {
		t.Errorf("%d runs were live at once, of %d admitted", most.Load(), admitted.Load())
	}
}
