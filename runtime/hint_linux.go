package runtime

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/compiler/ir/propose"
	"github.com/obspc/obspc/targets/bwrap"
)

// hintExec says what the policy lacks so that the command could start; "" when it
// lacks nothing. Execve says only that a file, or one of the interpreters it
// names, is not there or may not be started.
func (r *execution) hintExec() string {
	decider := ir.NewDecider(r.bound)
	name, what := r.command.path, "it"
	for range maxInterpreters {
		at, err := ir.NewPath(ir.Host, name)
		if err != nil {
			return ""
		}
		n, err := lookup(at)
		switch {
		case err != nil:
			return ""
		case !n.exists():
			return fmt.Sprintf("%s (%s) does not exist here", what, name)
		}
		read := decider.Decide(ir.Request{Kind: ir.ReadRequest, Path: n.real})
		rule, _ := read.Rule.(*ir.FileRule)
		switch {
		case !read.Allow || rule == nil:
			return r.hintRule(what, n.real, "read and execute")
		case rule.Backing != ir.HostFile:
			return fmt.Sprintf("%s lies in %s, which is made afresh for every run", what, r.stated(rule.Path))
		case kindOf(n.stat.Mode) != bwrap.File:
			return ""
		case !decider.Decide(ir.Request{Kind: ir.ExecuteRequest, Path: n.real}).Allow:
			return r.hintRule(what, n.real, "execute")
		}
		next, loader := interpreter(n.real.String())
		if next == "" || loader && what == theLoader {
			return ""
		}
		name, what = next, "its interpreter"
		if loader {
			what = theLoader
		}
	}
	return ""
}

// maxInterpreters is how many interpreters of interpreters the kernel follows,
// with the file itself and a loader (fs/exec.c, exec_binprm).
const maxInterpreters = 7

const theLoader = "its loader"

// hintRule says which list of the policy lacks a path.
func (r *execution) hintRule(what string, at ir.Path, lists string) string {
	hint := fmt.Sprintf("add %q to %s", r.stated(at), lists)
	if what != "it" {
		hint = fmt.Sprintf("%s %s is not under %s; %s", what, at, lists, hint)
	}
	if what == theLoader {
		hint += `, or extends = ["std/base"], which has it`
	}
	return hint
}

// stated is a bound path as the policy's author writes it.
func (r *execution) stated(at ir.Path) string { return propose.Stated(r.binding, at).String() }

// maxHead is how much of a file is read for its interpreter: the kernel reads 256
// bytes of a script (BINPRM_BUF_SIZE); program headers stand at the beginning.
const maxHead = 4096

// interpreter is the program that the kernel starts a file with: that of the first
// line of a script, or the loader that an ELF file names; "" when there is none.
func interpreter(file string) (name string, loader bool) {
	fd, err := openBelow(unix.AT_FDCWD, file, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return "", false
	}
	f := os.NewFile(uintptr(fd), file)
	defer f.Close()
	head := make([]byte, maxHead)
	n, _ := io.ReadFull(f, head)
	head = head[:n]
	if rest, ok := bytes.CutPrefix(head, []byte("#!")); ok {
		line, _, _ := bytes.Cut(rest, []byte("\n"))
		if words := strings.Fields(string(line)); len(words) > 0 && path.IsAbs(words[0]) {
			return words[0], false
		}
		return "", false
	}
	return loaderOf(head), true
}

// loaderOf reads PT_INTERP of a 64-bit little-endian ELF file (elf(5)), which both
// architectures use.
func loaderOf(head []byte) string {
	const ident, headers, size, count, pointer = "\x7fELF\x02\x01", 32, 54, 56, 3
	if !bytes.HasPrefix(head, []byte(ident)) || len(head) < 64 {
		return ""
	}
	at := binary.LittleEndian.Uint64(head[headers:])
	step := uint64(binary.LittleEndian.Uint16(head[size:]))
	for range binary.LittleEndian.Uint16(head[count:]) {
		if at > maxHead || at+56 > uint64(len(head)) {
			return ""
		}
		h := head[at:]
		if binary.LittleEndian.Uint32(h) == pointer {
			from, long := binary.LittleEndian.Uint64(h[8:]), binary.LittleEndian.Uint64(h[32:])
			if from > maxHead || long > maxHead || from+long > uint64(len(head)) {
				return ""
			}
			return string(bytes.TrimRight(head[from:from+long], "\x00"))
		}
		at += step
	}
	return ""
}

// usualDirectories are where a name is looked for that is in no directory of the
// sandbox's PATH (execvp(3), hier(7)).
var usualDirectories = []string{"/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"}

// hintName says where this machine has a program of that name.
func hintName(name string) string {
	for _, dir := range usualDirectories {
		at, err := ir.NewPath(ir.Host, path.Join(dir, name))
		if err != nil {
			return ""
		}
		if n, err := lookup(at); err == nil && n.exists() && kindOf(n.stat.Mode) == bwrap.File && n.stat.Mode&0o111 != 0 {
			return fmt.Sprintf("add %q to execute", n.real)
		}
	}
	return ""
}
