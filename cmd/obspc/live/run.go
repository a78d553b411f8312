package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// AttemptTime is how long an attempt may take.
const AttemptTime = 30 * time.Second

// cleanUpTime is what an attempt is left after an interrupt.
const cleanUpTime = 5 * time.Second

// fresh makes the bench's directories anew, does the attempt and empties them.
func (b *Bench) fresh(nodes tree, attempt func() (syscall.Errno, error)) (syscall.Errno, error) {
	defer b.clear()
	for _, root := range b.roots() {
		if err := os.MkdirAll(root.String(), 0o755); err != nil {
			return 0, err
		}
	}
	if err := nodes.make(b.self.String()); err != nil {
		return 0, err
	}
	return attempt()
}

// clear empties the bench: an attempt may have moved even its roots.
func (b *Bench) clear() {
	entries, _ := os.ReadDir(b.dir.String())
	for _, e := range entries {
		os.RemoveAll(filepath.Join(b.dir.String(), e.Name()))
	}
}

// control makes the attempt outside any sandbox.
func (b *Bench) control(word string, args []string) (syscall.Errno, error) {
	call := Call{Program: b.self.String(), Args: b.attempt(word, args)[1:]}
	return b.run(call, unexplained)
}

// sandboxed makes the attempt inside.
func (b *Bench) sandboxed(s *subject, word string, args []string) (syscall.Errno, error) {
	call, err := s.sandbox.Call(b.seen(), b.attempt(word, args))
	if err != nil {
		return 0, err
	}
	return b.run(call, s.sandbox.Fault)
}

// attempt is the command that attempts.
func (b *Bench) attempt(word string, args []string) []string {
	return append([]string{b.self.String(), attemptWord, word}, args...)
}

// run starts a program and reads the error that the attempt printed.
func (b *Bench) run(call Call, fault func(said string, err error) error) (syscall.Errno, error) {
	ctx, stop := context.WithTimeout(b.ctx, AttemptTime)
	defer stop()
	cmd := exec.CommandContext(ctx, call.Program, call.Args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGTERM) } // obsrun takes its sandbox away
	cmd.WaitDelay = cleanUpTime
	cmd.Dir, cmd.ExtraFiles = b.dir.String(), call.Files
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	n, parsed := strconv.Atoi(strings.TrimSpace(out.String()))
	switch {
	case err == nil && parsed == nil:
		return syscall.Errno(n), nil
	case err == nil:
		err = fmt.Errorf("%s printed %q: %w", filepath.Base(call.Program), out.String(), parsed)
	}
	return 0, fault(strings.TrimSpace(said.String()), err)
}

// unexplained is the fault of a program that says itself what is wrong.
func unexplained(said string, err error) error {
	if said != "" {
		return errors.New(said)
	}
	return err
}
