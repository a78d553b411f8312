package runtime_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/runtime"
)

// pinnedTo runs the file as a governed command, pinned to its own bytes or not.
func pinnedTo(t *testing.T, file string, pin bool, arguments string) ran {
	t.Helper()
	line := ""
	if pin {
		text, err := os.ReadFile(file)
		must(t, err)
		sum := sha256.Sum256(text)
		line = fmt.Sprintf("sha256 = %q", hex.EncodeToString(sum[:]))
	}
	return start(t, context.Background(), governed(t, fmt.Sprintf(`
policy "p" {
  version = 1
  extends = ["std/base"]
  targets = ["bwrap"]
  filesystem {
    read    = [%[1]q, %[2]q]
    execute = [%[1]q, %[2]q, "/usr/bin"]
  }
  command "go" {
    executable = %[1]q
    %[3]s
    arguments  = [%[4]s]
  }
}`, file, probePath, line, arguments)), runtime.Job{Command: "go"})
}

// TestLivePinHolds: what is started is what was hashed, so nobody may be able to
// write it in between.
func TestLivePinHolds(t *testing.T) {
	needSandbox(t)
	dir := labDir(t)
	tool := filepath.Join(dir, "tool")
	text, err := os.ReadFile(probePath)
	must(t, err)
	must(t, os.WriteFile(tool, text, 0o755))
	const print = `"obspc-probe", "print", "x"`
	if r := pinnedTo(t, tool, true, print); r.stdout != "x\n" {
		t.Fatalf("a program that nobody writes: %s", r)
	}

	writer, err := os.OpenFile(tool, os.O_RDWR, 0)
	must(t, err)
	refusedWith(t, pinnedTo(t, tool, true, print), runtime.No, tool, "open for writing")
	// A shared mapping writes on when its descriptor is closed, and changes no time.
	mapped, err := unix.Mmap(int(writer.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	must(t, err)
	must(t, writer.Close())
	refusedWith(t, pinnedTo(t, tool, true, print), runtime.No, tool, "open for writing")
	must(t, unix.Munmap(mapped))
	if r := pinnedTo(t, tool, true, print); r.stdout != "x\n" {
		t.Errorf("once nobody writes it any more: %s", r)
	}
}

// TestLivePinnedBesideWriter: whatever somebody who opens it for writing again and
// again brings about, it is a start or a refusal.
func TestLivePinnedBesideWriter(t *testing.T) {
	needSandbox(t)
	dir := labDir(t)
	tool := filepath.Join(dir, "tool")
	text, err := os.ReadFile(probePath)
	must(t, err)
	must(t, os.WriteFile(tool, text, 0o755))
	stop, stopped := make(chan struct{}), make(chan struct{})
	wrote := 0
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				if fd, err := unix.Open(tool, unix.O_WRONLY, 0); err == nil {
					wrote++
					unix.Close(fd)
				}
			}
		}
	}()
	started, refused := 0, 0
	for range 20 {
		switch r := pinnedTo(t, tool, true, `"obspc-probe", "print", "x"`); {
		case r.stdout == "x\n":
			started++
		case r.refusal() != nil && r.refusal().Code == runtime.No:
			refused++
		default:
			t.Errorf("beside somebody who opens it for writing: %s", r)
		}
	}
	close(stop)
	<-stopped
	t.Logf("%d started, %d refused, opened for writing %d times", started, refused, wrote)
}

// TestLivePinnedScript: an interpreter opens a script again after the check.
func TestLivePinnedScript(t *testing.T) {
	needSandbox(t)
	script := filepath.Join(labDir(t), "script")
	must(t, os.WriteFile(script, []byte("#!"+probePath+" "+probeWord+"\n"), 0o755))
	if r := pinnedTo(t, script, false, ""); r.Exit != 99 {
		t.Fatalf("a script that is not pinned: %s", r)
	}
	refusedWith(t, pinnedTo(t, script, true, ""), runtime.No, script, "script")

	const roots = "/usr/bin/ldd"
	if text, err := os.ReadFile(roots); err != nil || !strings.HasPrefix(string(text), "#!") {
		t.Skip("host feature missing: a script of the system, as " + roots)
	}
	if os.Getuid() == 0 {
		refusedWith(t, pinnedTo(t, roots, true, `"--version"`), runtime.No, roots)
	} else if r := pinnedTo(t, roots, true, `"--version"`); r.Exit != 0 {
		t.Errorf("a script that only root can change, run by somebody else: %s", r)
	}
}
