package conform

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/ir"
)

// task is a probe as the victim gets it: paths as they are spelled.
type task struct {
	Word     ir.RequestKind
	Path, To string
	Kind     Kind
	Replaces bool
	Link     string // what a link holds, to make it again
	Port     int
}

// try is one way of making an attempt and what came of it: the errno's name, ""
// when it succeeded. Undo is why the tree could not be put back.
type try struct{ How, Errno, Undo string }

// victimWord makes the test's own binary read tasks and attempt each of them.
const victimWord = "obspc-victim"

// victim attempts what it reads and prints every outcome.
func victim() int {
	var tasks []task
	if err := json.NewDecoder(os.Stdin).Decode(&tasks); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := json.NewEncoder(os.Stdout).Encode(attemptAll(tasks)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func attemptAll(tasks []task) [][]try {
	out := make([][]try, len(tasks))
	for i, t := range tasks {
		out[i] = t.attempt()
	}
	return out
}

// way is one way of making an attempt, and how it is undone.
type way struct {
	how      string
	do, undo func() error
}

// attempt makes the task's attempt in every way there is, and undoes each.
func (t task) attempt() []try {
	var out []try
	for _, w := range t.ways() {
		r := try{How: w.how, Errno: errnoName(w.do())}
		if r.Errno == "" && w.undo != nil {
			r.Undo = errnoName(w.undo())
		}
		out = append(out, r)
	}
	return out
}

func errnoName(err error) string {
	var errno syscall.Errno
	switch {
	case err == nil:
		return ""
	case errors.As(err, &errno):
		return unix.ErrnoName(errno)
	}
	return err.Error()
}

func (t task) ways() []way {
	switch t.Word {
	case ir.ReadRequest:
		return []way{{"open", t.read, nil}}
	case ir.ListRequest:
		return []way{{"open", t.list, nil}}
	case ir.StatRequest:
		return []way{{"lstat", func() error { var s unix.Stat_t; return unix.Lstat(t.Path, &s) }, nil}}
	case ir.WriteRequest:
		return t.writes()
	case ir.CreateRequest:
		return t.creates()
	case ir.RemoveRequest:
		return []way{{"unlink", t.remove, func() error { return t.remake(t.Path) }}}
	case ir.RenameRequest:
		return t.renames()
	case ir.LinkRequest:
		return []way{{"link", func() error { return unix.Link(t.Path, t.To) }, func() error { return unix.Unlink(t.To) }}}
	case ir.ExecuteRequest:
		return []way{{"execve", t.execute, nil}}
	case ir.ConnectUnixRequest:
		return []way{{"connect", func() error { return dial(unix.AF_UNIX, &unix.SockaddrUnix{Name: t.Path}) }, nil}}
	}
	return []way{{"connect", func() error {
		return dial(unix.AF_INET, &unix.SockaddrInet4{Port: t.Port, Addr: [4]byte{127, 0, 0, 1}})
	}, nil}}
}

func (t task) read() error {
	fd, err := unix.Open(t.Path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if _, err = unix.Read(fd, make([]byte, 1)); errors.Is(err, unix.EAGAIN) {
		return nil // a fifo that nobody has written to
	}
	return err
}

func (t task) list() error {
	fd, err := unix.Open(t.Path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.ReadDirent(fd, make([]byte, 4096))
	return err
}

// Modes of everything in the tree: attempts to change one set what is there.
const (
	fileMode      = 0o644
	directoryMode = 0o755
)

// writes change contents, mode, owner and times to what they are.
func (t task) writes() []way {
	open := way{"open", func() error {
		flags := unix.O_WRONLY
		if t.Kind == Fifo {
			flags = unix.O_RDWR // the other end is not waited for
		}
		fd, err := unix.Open(t.Path, flags|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err == nil {
			err = unix.Close(fd)
		}
		return err
	}, nil}
	mode := uint32(fileMode)
	if t.Kind == Directory || t.Kind == Empty || t.Kind == Tool {
		mode = directoryMode
	}
	node := []way{
		{"chmod", func() error { return unix.Chmod(t.Path, mode) }, nil},
		{"chown", func() error { return unix.Chown(t.Path, os.Getuid(), os.Getgid()) }, nil},
		{"utimensat", func() error { return unix.UtimesNanoAt(unix.AT_FDCWD, t.Path, nil, 0) }, nil},
	}
	switch t.Kind {
	case Device:
		return []way{open}
	case Directory, Empty, Socket:
		return node
	case Fifo:
		return append(node, open)
	}
	size := int64(len(content))
	if t.Kind == Tool {
		size = int64(len(program()))
	}
	return append(node, open, way{"truncate", func() error { return unix.Truncate(t.Path, size) }, nil})
}

func (t task) creates() []way {
	unlink := func() error { return unix.Unlink(t.Path) }
	return []way{
		{"open", func() error {
			fd, err := unix.Open(t.Path, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
			if err == nil {
				err = unix.Close(fd)
			}
			return err
		}, unlink},
		{"mkdir", func() error { return unix.Mkdir(t.Path, 0o700) }, func() error { return unix.Rmdir(t.Path) }},
		{"symlink", func() error { return unix.Symlink("/", t.Path) }, unlink},
		{"mkfifo", func() error { return unix.Mkfifo(t.Path, 0o600) }, unlink},
	}
}

func (t task) remove() error {
	if t.Kind == Empty {
		return unix.Rmdir(t.Path)
	}
	return unix.Unlink(t.Path)
}

// remake makes a node of the tree again.
func (t task) remake(path string) error {
	text, mode := []byte(content), os.FileMode(fileMode)
	switch t.Kind {
	case Empty:
		return unix.Mkdir(path, directoryMode)
	case Fifo:
		return unix.Mkfifo(path, fileMode)
	case Link:
		return unix.Symlink(t.Link, path)
	case Tool:
		text, mode = program(), directoryMode
	}
	return os.WriteFile(path, text, mode)
}

func (t task) renames() []way {
	back := func() error { return unix.Rename(t.To, t.Path) }
	rename := way{"rename", func() error { return unix.Rename(t.Path, t.To) }, back}
	flags := func(f uint) func() error {
		return func() error { return unix.Renameat2(unix.AT_FDCWD, t.Path, unix.AT_FDCWD, t.To, f) }
	}
	if !t.Replaces {
		return []way{rename, {"noreplace", flags(unix.RENAME_NOREPLACE), back}}
	}
	rename.undo = func() error {
		if err := back(); err != nil {
			return err
		}
		return t.remake(t.To)
	}
	return []way{rename, {"exchange", flags(unix.RENAME_EXCHANGE), flags(unix.RENAME_EXCHANGE)}}
}

func (t task) execute() error {
	pid, err := syscall.ForkExec(t.Path, []string{t.Path}, &syscall.ProcAttr{})
	if err != nil {
		return err
	}
	var status syscall.WaitStatus
	for {
		if _, err = syscall.Wait4(pid, &status, 0, nil); err != syscall.EINTR {
			break
		}
	}
	if err == nil && status != 0 {
		err = fmt.Errorf("ended with %#x", status)
	}
	return err
}

func dial(family int, to unix.Sockaddr) error {
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, to)
}

// content is what every file of the tree holds.
const content = "content\n"

// program is the smallest program: it ends with 0. An ELF header, one segment,
// three instructions (elf(5); exit is 60 on x86_64 and 93 on arm64).
func program() []byte {
	machine, text := uint16(62), []byte{0x31, 0xff, 0xb8, 60, 0, 0, 0, 0x0f, 0x05} // xor edi,edi; mov eax,60; syscall
	if runtime.GOARCH == "arm64" {
		machine, text = 183, []byte{0xa8, 0x0b, 0x80, 0xd2, 0, 0, 0x80, 0xd2, 0x01, 0, 0, 0xd4} // mov x8,93; mov x0,0; svc 0
	}
	const base, header = 0x400000, 64 + 56
	size := uint64(header + len(text))
	out := append([]byte("\x7fELF\x02\x01\x01"), make([]byte, 9)...)
	put := func(v any) {
		var err error
		if out, err = binary.Append(out, binary.LittleEndian, v); err != nil {
			panic(err)
		}
	}
	put([]uint16{2, machine})                        // an executable for this machine
	put(uint32(1))                                   // version
	put([]uint64{base + header, 64, 0})              // entry, program headers, no sections
	put(uint32(0))                                   // flags
	put([]uint16{64, 56, 1, 0, 0, 0})                // sizes and counts of the headers
	put([]uint32{1, 5})                              // a segment to load, read and execute
	put([]uint64{0, base, base, size, size, 0x1000}) // all of the file
	return append(out, text...)
}

// tasksFrom reads what was printed by a victim.
func outcomes(r io.Reader) ([][]try, error) {
	var out [][]try
	err := json.NewDecoder(r).Decode(&out)
	return out, err
}
