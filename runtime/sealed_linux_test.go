package runtime_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/runtime"
)

// allSeals are those of a file that nobody can write, grow, shrink or unseal
// (fcntl(2)).
const allSeals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE

// changes are ways to change an open memory file, by the path that opens it again
// and by its size.
var changes = map[string]func(path string, size int64) error{
	"write":    opened(func(fd int, _ int64) error { _, err := unix.Pwrite(fd, []byte("changed"), 0); return err }),
	"append":   opened(func(fd int, size int64) error { _, err := unix.Pwrite(fd, []byte("changed"), size); return err }),
	"grow":     opened(func(fd int, size int64) error { return unix.Ftruncate(fd, size+1) }),
	"allocate": opened(func(fd int, size int64) error { return unix.Fallocate(fd, 0, 0, size+1) }),
	"punch": opened(func(fd int, _ int64) error {
		return unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, 1)
	}),
	"shrink":     opened(func(fd int, size int64) error { return unix.Ftruncate(fd, size-1) }),
	"truncate":   func(path string, _ int64) error { return touch(path, os.O_RDWR|os.O_TRUNC) },
	"map shared": opened(mapShared),
	// A file that takes one seal more could be made to refuse what its user does.
	"seal": opened(func(fd int, _ int64) error {
		_, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_WRITE)
		return err
	}),
}

// shrinks are those changes that an empty file cannot suffer.
var shrinks = map[string]bool{"shrink": true, "truncate": true}

func opened(do func(fd int, size int64) error) func(string, int64) error {
	return func(path string, size int64) error {
		fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("open %s: %w", path, err)
		}
		defer unix.Close(fd)
		return do(fd, size)
	}
}

func mapShared(fd int, _ int64) error {
	at, err := unix.Mmap(fd, 0, 1, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err == nil {
		err = unix.Munmap(at)
	}
	return err
}

// heldFile is an open memory file of a process.
type heldFile struct {
	FD    int
	Name  string
	Seals int
	// Tried is what each change from inside that process came to.
	Tried map[string]string
}

// held is what a process says of the memory files that it holds: those that it got,
// and for each change two of its own, without seals, for the control from inside and
// for that from outside.
type held struct {
	PID     int
	Got     []heldFile
	Control map[string]heldFile
}

func said(err error) string {
	var errno unix.Errno
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &errno):
		return unix.ErrnoName(errno)
	}
	return err.Error()
}

func init() { standIns["bwrap-attacked"] = attackedBwrap }

// attackedBwrap attempts every change on what bwrap gets, says what came of it, lets
// others try, and becomes bubblewrap.
func attackedBwrap() int {
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return 1
	}
	talk, err := net.Dial("unix", exe+".socket")
	if err != nil {
		return 1
	}
	report := held{PID: os.Getpid(), Control: map[string]heldFile{}}
	for fd := 3; fd < 64; fd++ {
		name, _ := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
		if !strings.HasPrefix(name, "/memfd:") {
			continue
		}
		f := heldFile{FD: fd, Name: name, Tried: map[string]string{}}
		f.Seals, _ = unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
		f.Tried["write to it as it was given"] = said(ownWrite(fd))
		for what, do := range changes {
			if size := sizeOf(fd); size > 0 || !shrinks[what] {
				f.Tried[what] = said(do(fmt.Sprintf("/proc/self/fd/%d", fd), size))
			}
		}
		report.Got = append(report.Got, f)
	}
	for what, do := range changes {
		inside, ierr := unsealed()
		outside, oerr := unsealed()
		if ierr != nil || oerr != nil {
			return 1
		}
		err := do(fmt.Sprintf("/proc/self/fd/%d", inside), sizeOf(inside))
		report.Control[what] = heldFile{FD: outside, Tried: map[string]string{what: said(err)}}
	}
	if err := json.NewEncoder(talk).Encode(report); err != nil {
		return 1
	}
	if n, err := talk.Read(make([]byte, 1)); n != 1 || err != nil {
		return 1
	}
	unix.Exec(runtime.DefaultBwrap, append([]string{"bwrap"}, os.Args[1:]...), nil)
	return 1
}

func ownWrite(fd int) error {
	_, err := unix.Pwrite(fd, []byte("changed"), 0)
	return err
}

func sizeOf(fd int) int64 {
	var stat unix.Stat_t
	if unix.Fstat(fd, &stat) != nil {
		return -1
	}
	return stat.Size
}

// unsealed is a memory file that takes seals and has none.
func unsealed() (int, error) {
	fd, err := unix.MemfdCreate("control", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err == nil {
		_, err = unix.Write(fd, []byte("content"))
	}
	return fd, err
}

// TestLiveSealedFiles: the options, the filter and the masks that bwrap gets cannot
// be written, grown, shrunk or sealed further, by whoever holds them and by others of
// the same user, while a file without seals suffers each of it; and with what is left
// after all that the sandbox is that of the policy.
func TestLiveSealedFiles(t *testing.T) {
	needSandbox(t)
	bwrap := standInAt(t, "bwrap-attacked", 0o755)
	listener, err := net.Listen("unix", bwrap+".socket")
	must(t, err)
	defer listener.Close()
	attacked := make(chan bool)
	go func() {
		defer close(attacked)
		if conn, err := listener.Accept(); err == nil {
			defer conn.Close()
			attacked <- attackHeld(t, conn)
		}
	}()
	dir := labDir(t)
	write(t, filepath.Join(dir, "secret"), "secret")
	p := policy(t, `
  filesystem {
    write = [workspace]
    deny  = ["${workspace}/secret"]
  }`)
	r := start(t, context.Background(), development(t, p), runtime.Job{
		Argv: []string{probePath, probeWord, "read", filepath.Join(dir, "secret")}, Development: true, Workspace: runtime.Workspace{Dir: dir}, Bwrap: bwrap,
	})
	listener.Close()
	if !<-attacked {
		t.Errorf("nothing was attacked; %s", r)
	}
	if r.Exit != 1 || r.stdout != "EACCES\n" {
		t.Errorf("reading a masked file: want exit 1 and EACCES; %s", r)
	}
}

// attackHeld holds what a stand-in says to what it should be, tries the same from
// here, and lets it go on.
func attackHeld(t *testing.T, conn net.Conn) bool {
	var report held
	if err := json.NewDecoder(conn).Decode(&report); err != nil {
		t.Errorf("the stand-in says nothing: %v", err)
		return false
	}
	names := map[string]bool{}
	const eperm = "EPERM"
	for _, f := range report.Got {
		names[strings.TrimSuffix(strings.TrimPrefix(f.Name, "/memfd:"), " (deleted)")] = true
		if f.Seals != allSeals {
			t.Errorf("%s has the seals %#x, want %#x", f.Name, f.Seals, allSeals)
		}
		for what, came := range f.Tried {
			if came != eperm {
				t.Errorf("%s from inside: %s: %s, want %s", f.Name, what, came, eperm)
			}
		}
		path := fmt.Sprintf("/proc/%d/fd/%d", report.PID, f.FD)
		before, err := os.ReadFile(path)
		if err != nil {
			t.Errorf("%s cannot be read from outside: %v", f.Name, err)
		}
		size := int64(len(before))
		for what, do := range changes {
			if size == 0 && shrinks[what] {
				continue
			}
			if came := said(do(path, size)); came != eperm {
				t.Errorf("%s from outside: %s: %s, want %s", f.Name, what, came, eperm)
			}
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
			t.Errorf("%s was changed from outside: %v", f.Name, err)
		}
	}
	for _, want := range []string{"bwrap-args", "seccomp", "mask"} {
		if !names[want] {
			t.Errorf("bwrap got no memory file %q, only %v", want, names)
		}
	}
	for what, do := range changes {
		f := report.Control[what]
		if came := f.Tried[what]; came != "ok" {
			t.Errorf("the control from inside: %s: %s", what, came)
		}
		if err := do(fmt.Sprintf("/proc/%d/fd/%d", report.PID, f.FD), int64(len("content"))); err != nil {
			t.Errorf("the control from outside: %s: %v", what, err)
		}
	}
	_, err := conn.Write([]byte{1})
	return err == nil
}
