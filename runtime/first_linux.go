package runtime

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/runtime/domain"
)

// instructions is what the first process is told, in one message: a length of
// four bytes, then JSON.
type instructions struct {
	// What execve takes is bytes: JSON strings would change those that are no UTF-8.
	Path     []byte          `json:"path"` // of the command, inside
	Argv     [][]byte        `json:"argv"`
	Env      [][]byte        `json:"env"`
	Dir      string          `json:"dir"`
	Limits   []rlimit        `json:"limits"`
	Last     []rlimit        `json:"last"`   // set last: setting up needs descriptors and threads
	Domain   *domain.Request `json:"domain"` // restrict by Landlock
	Filter   filter          `json:"filter"` // loaded last
	Nodes    []wantedNode    `json:"nodes"`
	Command  identity        `json:"command"`
	ByFile   bool            `json:"by_file"`  // start the opened file itself, not the path
	Terminal bool            `json:"terminal"` // the command gets one, whose master comes with the ready byte
	Listen   bool            `json:"listen"`   // open the proxy's socket, which comes with the ready byte
	Trust    []trustFile     `json:"trust"`    // certificates for programs
}

// rlimit is one resource limit (setrlimit(2)), soft and hard.
type rlimit struct {
	Resource int    `json:"resource"`
	Soft     uint64 `json:"soft"`
	Hard     uint64 `json:"hard"`
}

// wantedNode is a path and the node that was found there when the policy was
// bound.
type wantedNode struct {
	Path string `json:"path"`
	Dev  uint64 `json:"dev"`
	Ino  uint64 `json:"ino"`
}

// identity is a file as it was when it was hashed.
type identity struct {
	Dev     uint64 `json:"dev"`
	Ino     uint64 `json:"ino"`
	Changed int64  `json:"changed"` // nanoseconds since 1970, of the inode (ctime)
}

func identityOf(stat *unix.Stat_t) identity {
	return identity{stat.Dev, stat.Ino, stat.Ctim.Nano()}
}

// What the first process says: one byte when all is set up and it waits for the
// go byte, with a descriptor for the proxy's socket and then one for a terminal,
// each where it was asked for; or a fault byte and a fault as JSON.
const (
	readyByte = 'r'
	goByte    = 'g'
	faultByte = 'f'
)

// fault is why the first process gave up.
type fault struct {
	Exec    bool   `json:"exec"` // starting the command failed, not setting up
	Errno   int    `json:"errno"`
	Message string `json:"message"`
}

// maxInstructions bounds the message: argument and environment strings together
// are at most a quarter of the largest stack (execve(2)), 6 MiB.
const maxInstructions = 32 << 20

// First is the process that bwrap starts inside the sandbox. It restricts itself
// and becomes the command; it does not return. Whatever goes wrong, no command
// is started.
func First(args []string) {
	// Landlock restricts a thread, and execve keeps the one that calls it.
	runtime.LockOSThread()
	socket, err := strconv.Atoi(args[2])
	if err != nil || socket < 3 {
		fmt.Fprintln(os.Stderr, "obsrun: the first process is started by obsrun itself, inside a sandbox")
		os.Exit(ExitRefused)
	}
	released, apart, err := becomeCommand(socket)
	f := fault{Message: err.Error()}
	var failed *execError
	f.Exec = errors.As(err, &failed)
	var errno unix.Errno
	if errors.As(err, &errno) {
		f.Errno = int(errno)
	}
	giveUp := func() {
		if text, err := json.Marshal(f); err == nil {
			unix.Write(socket, append([]byte{faultByte}, text...))
		}
		if !released {
			// Obsrun looks at what was mounted, and then kills the sandbox.
			io.Copy(io.Discard, socketReader(socket))
		}
		os.Exit(ExitRefused)
	}
	if apart == nil {
		giveUp()
	}
	apart <- giveUp
	select {}
}

// unfiltered is a thread that does what it is sent. The one that becomes the command
// is bound to the policy's filter before execve, and cannot even say then that it
// failed where writing is denied.
func unfiltered() chan<- func() {
	work, there := make(chan func()), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		close(there)
		(<-work)()
	}()
	<-there // before the number of threads is limited
	return work
}

// execError is a command that could not be started.
type execError struct{ err error }

func (e *execError) Error() string { return e.err.Error() }
func (e *execError) Unwrap() error { return e.err }

// becomeCommand returns only if it fails; released is true once the go byte has
// come. What is left to do is apart's, unless it is nil.
func becomeCommand(socket int) (released bool, apart chan<- func(), err error) {
	listener, terminal := -1, noPTY
	do, err := receive(socketReader(socket))
	if err == nil {
		if len(do.Filter) > 0 {
			apart = unfiltered()
		}
		if do.Listen {
			listener, err = listen()
		}
	}
	if err == nil {
		err = prepare(do)
	}
	if err == nil && do.Terminal {
		terminal, err = openPTY()
	}
	if err == nil {
		err = handOut(socket, listener, terminal.master)
	}
	if err == nil {
		err = waitForGo(socket)
	}
	if err != nil {
		return false, apart, err
	}
	if err := terminal.control(); err != nil {
		return true, apart, err
	}
	return true, apart, start(do)
}

// prepare sets up everything that can be before the command may start.
func prepare(do *instructions) error {
	var err error
	if err := setLimits(do.Limits); err != nil {
		return err
	}
	var rules *domain.Ruleset
	if do.Domain != nil {
		if rules, err = do.Domain.Open(); err != nil {
			return err
		}
	}
	if err := checkNodes(do); err != nil {
		return err
	}
	for _, f := range do.Trust {
		if err := f.write(); err != nil {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	if rules != nil {
		if err := rules.Enforce(); err != nil {
			return err
		}
	}
	if err := unix.Chdir(do.Dir); err != nil {
		return fmt.Errorf("change to %s: %w", do.Dir, err)
	}
	return nil
}

// socketReader reads from the socket without a poller.
type socketReader int

func (s socketReader) Read(p []byte) (int, error) {
	for {
		n, err := unix.Read(int(s), p)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, err
		case n == 0 && len(p) > 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

// receive reads the instructions.
func receive(r io.Reader) (*instructions, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, fmt.Errorf("read the instructions: %w", err)
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n > maxInstructions {
		return nil, fmt.Errorf("instructions of %d bytes are too long", n)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, fmt.Errorf("read the instructions: %w", err)
	}
	var do instructions
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&do); err != nil {
		return nil, fmt.Errorf("read the instructions: %w", err)
	}
	return &do, nil
}

// message is the instructions as receive reads them.
func (do *instructions) message() ([]byte, error) {
	text, err := json.Marshal(do)
	if err != nil {
		return nil, err
	}
	if len(text) > maxInstructions {
		return nil, fmt.Errorf("arguments and environment of %d bytes are too long", len(text))
	}
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...), nil
}

// setLimits lowers limits; one that is lower already stays.
func setLimits(limits []rlimit) error {
	for _, l := range limits {
		if err := setLimit(l); err != nil {
			return err
		}
	}
	return nil
}

func setLimit(l rlimit) error {
	var have unix.Rlimit
	if err := unix.Getrlimit(l.Resource, &have); err != nil {
		return fmt.Errorf("read limit %d: %w", l.Resource, err)
	}
	want := unix.Rlimit{Cur: min(l.Soft, have.Max), Max: min(l.Hard, have.Max)}
	if err := unix.Setrlimit(l.Resource, &want); err != nil {
		return fmt.Errorf("set limit %d: %w", l.Resource, err)
	}
	return nil
}

// checkNodes compares what stands at paths with what stood there when the policy
// was bound.
func checkNodes(do *instructions) error {
	for _, want := range do.Nodes {
		var have unix.Stat_t
		if err := unix.Lstat(want.Path, &have); err != nil {
			return fmt.Errorf("%s is not what was checked: %w", want.Path, err)
		}
		if have.Dev != want.Dev || have.Ino != want.Ino {
			return fmt.Errorf("%s is not what was checked: it was replaced meanwhile", want.Path)
		}
	}
	return nil
}

// waitForGo waits for the byte that starts the command. End of file: whoever
// wanted the command is gone.
func waitForGo(socket int) error {
	var answer [1]byte
	if _, err := io.ReadFull(socketReader(socket), answer[:]); err != nil || answer[0] != goByte {
		return errors.New("nobody waits for the command any more")
	}
	return nil
}
