package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/bwrap"
)

// maxHashed bounds the executables whose digest is taken, in bytes: more would
// only keep the machine busy.
const maxHashed = 1 << 30

// openExecutable notes which file will be started, and opens it for hashing if the
// policy lets the command read it: a link that an earlier run planted may lead
// anywhere, and merely opening a device can have effects.
func (r *execution) openExecutable() *Refusal {
	c := r.command
	node, err := unix.Open(c.path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return cannotStart(c.path, err)
	}
	defer unix.Close(node)
	var stat unix.Stat_t
	if err := unix.Fstat(node, &stat); err != nil {
		return cannotStart(c.path, err)
	}
	if kindOf(stat.Mode) != bwrap.File || stat.Mode&0o111 == 0 {
		return cannotStart(c.path, unix.EACCES)
	}
	c.id = identityOf(&stat)
	e := &FileEvidence{Path: c.path, Device: stat.Dev, Inode: stat.Ino}
	r.evidence.Executable = e
	switch {
	case !r.mayRead(node):
		e.Unhashed = "the policy does not let the command read it"
	case stat.Size > maxHashed:
		e.Unhashed = fmt.Sprintf("it is longer than %d bytes", maxHashed)
	default:
		fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", node), unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return cannotStart(c.path, err)
		}
		c.file = os.NewFile(uintptr(fd), c.path)
		return r.holdPinned(&stat)
	}
	if c.pin != "" {
		return unhashedExecutable(c.path, e.Unhashed)
	}
	return nil
}

// mayRead reports whether the policy lets the command read the node, which is
// open: by its real path, whatever links led there.
func (r *execution) mayRead(node int) bool {
	at, err := realPath(node)
	if err != nil {
		return false
	}
	answer := ir.NewDecider(r.bound).Decide(ir.Request{Kind: ir.ReadRequest, Path: at})
	rule, ok := answer.Rule.(*ir.FileRule)
	return answer.Allow && ok && rule.Backing == ir.HostFile
}

// realPath is the path of an open node, without links.
func realPath(fd int) (ir.Path, error) {
	real, err := unixReadlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		return ir.Path{}, err
	}
	return ir.NewPath(ir.Host, real)
}

// holdPinned keeps a pinned executable from changing between its hash and its
// start. One that only root can change is left to root. Of others a program is
// held by a lease, which nobody gets who has a writer beside him, shared mappings
// included, and under which every open for writing waits (fcntl(2), F_SETLEASE);
// the opened file itself is started. A script cannot be held: its interpreter
// opens it again, by its name and after the start.
func (r *execution) holdPinned(stat *unix.Stat_t) *Refusal {
	c := r.command
	if c.pin == "" {
		return nil
	}
	fd := int(c.file.Fd())
	var magic [4]byte
	n, _ := unix.Pread(fd, magic[:], 0)
	c.byFile = string(magic[:n]) == "\x7fELF"
	roots := stat.Uid == 0 && stat.Mode&(unix.S_IWGRP|unix.S_IWOTH) == 0 && os.Geteuid() != 0
	switch real, err := realPath(fd); {
	case roots && c.byFile:
		return nil
	case !c.byFile && (!roots || err != nil || replaceable(real) != ""):
		return pinnedScript(c.path)
	case !c.byFile:
		return nil
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK); err != nil {
		return cannotHold(c.path, err)
	}
	c.leased = true
	return nil
}

// stillHeld reports whether nobody has asked to write a leased executable.
func (c *command) stillHeld() *Refusal {
	if !c.leased {
		return nil
	}
	kind, err := unix.FcntlInt(c.file.Fd(), unix.F_GETLEASE, 0)
	if err == nil && kind != unix.F_RDLCK {
		err = unix.EAGAIN
	}
	if err != nil {
		return cannotHold(c.path, err)
	}
	return nil
}

// release gives the lease up once the command was started: the kernel lets nobody
// write a program that runs (ETXTBSY in open(2)).
func (c *command) release() {
	if c.leased {
		c.file.Close()
		c.leased = false
	}
}

// hash reads the executable beside everything else that happens, until ctx ends.
func (c *command) hash(ctx context.Context) {
	c.digest = make(chan digest, 1)
	if c.file == nil {
		c.digest <- digest{}
		return
	}
	go func() {
		if !c.leased {
			defer c.file.Close()
		}
		h := sha256.New()
		_, err := io.Copy(h, io.LimitReader(whileWanted{ctx, c.file}, maxHashed+1))
		c.digest <- digest{hex.EncodeToString(h.Sum(nil)), err}
	}()
}

// whileWanted reads until ctx ends.
type whileWanted struct {
	ctx  context.Context
	from io.Reader
}

func (w whileWanted) Read(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.from.Read(p)
}

// checkDigest waits for the digest and holds it against the pin.
func (r *execution) checkDigest(ctx context.Context) *Refusal {
	var d digest
	select {
	case d = <-r.command.digest:
	case <-ctx.Done():
		return cancelled(ctx)
	case <-time.After(setUpTime):
		return slowExecutable(r.command.path)
	}
	if d.err != nil {
		return cannotStart(r.command.path, d.err)
	}
	r.evidence.Executable.SHA256 = d.hex
	if pin := r.command.pin; pin != "" && pin != d.hex {
		return wrongExecutable(r.command.path, pin, d.hex)
	}
	return r.command.stillHeld()
}

func wrongExecutable(path, pin, have string) *Refusal {
	return refuse(No, "", "%s is not the executable that the policy pins: wanted SHA-256 %s, found %s", path, pin, have)
}

func unhashedExecutable(path, why string) *Refusal {
	return refuse(No, "", "%s has no digest to hold against the policy's pin: %s", path, why)
}

func slowExecutable(path string) *Refusal {
	return setupFailed("", "%s could not be read within %v", path, setUpTime)
}

func pinnedScript(path string) *Refusal {
	return refuse(No, "install it as root's, where only root may write, and run as an ordinary user; or pin a program, which can be kept",
		"%s is pinned and is a script: its interpreter reads it after the check, and it could be replaced by then", path)
}

func cannotHold(path string, err error) *Refusal {
	if errors.Is(err, unix.EAGAIN) {
		return refuse(No, "try again once nobody writes it", "%s is pinned, and somebody has it open for writing", path)
	}
	return refuse(No, "let it belong to root and be writable by nobody else", "%s is pinned, and cannot be kept from changing after the check: %v", path, err)
}
