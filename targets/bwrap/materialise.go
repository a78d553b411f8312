package bwrap

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang/diag"
)

// FDs gives the numbers that descriptors have in the bwrap process. Masks are
// MaskCount descriptors of their own, each open for reading at the end of an
// empty file; bwrap closes each after one use. Seccomp is the filter, Status
// where bwrap writes its JSON status.
type FDs struct {
	Masks           []int
	Seccomp, Status int
}

// fixedOptions are the options of every run, before all mounts.
func fixedOptions(namespaces []string) []string {
	var out []string
	for _, n := range namespaces {
		out = append(out, "--unshare-"+n)
	}
	return append(out, "--disable-userns", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
		"--clearenv", "--hostname", hostname, "--chdir", "/")
}

// sealRoot stands for the options that end the mounts: a mode and a remount of
// the root.
var sealRoot = []string{"--chmod", "0111", "/", "--remount-ro", "/"}

// descriptorArguments counts --seccomp FD --json-status-fd FD.
const descriptorArguments = 4

// MaskCount is the number of descriptors that Materialise wants in FDs.Masks.
func MaskCount(s *Set, b ir.Binding, f Facts) (int, error) {
	t, err := s.Table(b, f)
	if err != nil {
		return 0, err
	}
	return t.Masks(), nil
}

// Masks is the number of files that are hidden.
func (t *Table) Masks() int {
	n := 0
	for _, e := range t.Entries {
		if e.Kind == HiddenFile {
			n++
		}
	}
	return n
}

// Materialise is the options stream for `bwrap --args FD`: options and their
// arguments, each ended by NUL. It is a pure function of its arguments; errors
// are those of Table, or say that descriptors are missing or too many.
func Materialise(s *Set, b ir.Binding, f Facts, fds FDs) ([]byte, error) {
	t, err := s.Table(b, f)
	if err != nil {
		return nil, err
	}
	return t.Stream(fds)
}

// Stream prints the table as Materialise does.
func (t *Table) Stream(fds FDs) ([]byte, error) {
	if fds.Seccomp <= 2 || fds.Status <= 2 {
		return nil, fmt.Errorf("descriptors %d and %d cannot be the filter and the status", fds.Seccomp, fds.Status)
	}
	if n := t.Masks(); n != len(fds.Masks) {
		return nil, fmt.Errorf("%d descriptors for %d masks", len(fds.Masks), n)
	}
	w := stream{text: make([]byte, 0, mountRoom*(8+len(t.Entries)))}
	w.raw(fixedOptions(t.Isolation.Namespaces))
	masks := fds.Masks
	for _, e := range t.Entries {
		if e.Kind == HiddenFile {
			w.add("--perms", "0000").add("--ro-bind-data", strconv.Itoa(masks[0]), e.Path.String())
			masks = masks[1:]
			continue
		}
		w.entry(e)
	}
	w.seal(t)
	w.add("--seccomp", strconv.Itoa(fds.Seccomp)).add("--json-status-fd", strconv.Itoa(fds.Status))
	if w.count > argumentLimit {
		return nil, &TooManyArgumentsError{Count: w.count, Limit: argumentLimit}
	}
	return w.text, nil
}

// mountRoom is what a mount with its options mostly takes.
const mountRoom = 64

// stream collects options.
type stream struct {
	text  []byte
	count int
}

func (w *stream) raw(elements []string) {
	for _, e := range elements {
		if strings.IndexByte(e, 0) >= 0 {
			diag.Bug("option %q holds NUL", e)
		}
		w.text = append(append(w.text, e...), 0)
	}
	w.count += len(elements)
}

// add appends one option with as many arguments as bwrap takes for it.
func (w *stream) add(option string, arguments ...string) *stream {
	if n, known := arity[option]; !known || n != len(arguments) {
		diag.Bug("option %s with %d arguments", option, len(arguments))
	}
	w.raw([]string{option})
	w.raw(arguments)
	return w
}

func octal(mode uint32) string { return fmt.Sprintf("%04o", mode) }

// entry adds what makes an entry. Source and destination are the same canonical
// path: bwrap resolves links in the source on the host, and from 0.12 on refuses
// them in the destination.
func (w *stream) entry(e Entry) {
	path := e.Path.String()
	if e.ByDev {
		return
	}
	switch e.Kind {
	case MadeDirectory:
		w.add("--perms", octal(e.Mode)).add("--dir", path)
	case SymbolicLink:
		w.add("--symlink", e.Target.String(), path)
	case HostNode:
		option := "--ro-bind"
		if e.Writable {
			option = "--bind"
		}
		w.add(option, path, path)
	case DeviceNode:
		w.add("--dev-bind", path, path)
	case HiddenDirectory:
		w.add("--perms", octal(passMode)).add("--size", strconv.FormatInt(e.Size, 10)).add("--tmpfs", path)
	case Memory:
		w.add("--perms", "1777").add("--size", strconv.FormatInt(e.Size, 10)).add("--tmpfs", path)
	case ProcMount:
		w.add("--proc", path)
	case DevMount:
		w.add("--dev", path)
	}
}

// seal makes read-only what no rule writes, the root last.
func (w *stream) seal(t *Table) {
	for _, e := range t.Entries {
		switch e.Kind {
		case HiddenDirectory, ProcMount, DevMount:
			w.add("--remount-ro", e.Path.String())
		}
	}
	if root := t.Entries[0]; root.Kind == Root {
		w.add("--chmod", octal(root.Mode), "/").add("--remount-ro", "/")
	}
}
