package bwrap

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
)

// ErrFragment is wrapped by every refusal of ReadStream and Parse: what is read is
// not what this package writes.
var ErrFragment = errors.New("outside the fragment that obspc writes")

// ReadStream reads an options stream back into the table that bwrap would make of
// it (bwrap(1), checked with version 0.8.0). It follows the options and not the
// way Materialise builds them: modes and sizes bind to the next option, missing
// parents are made listable, a mount over a path hides what was there. It refuses
// any option, order or form that Materialise never writes.
func ReadStream(data []byte) (*Table, error) {
	elements, err := splitStream(data)
	if err != nil {
		return nil, err
	}
	// Most options are mounts, with two arguments.
	r := reader{table: newTable(len(elements) / 3), seen: map[string]bool{}}
	r.table.put(Entry{Kind: Root, Mode: listMode, Writable: true})
	for len(elements) > 0 {
		option := elements[0]
		n, known := arity[option]
		if !known {
			return nil, fmt.Errorf("%w: option %q", ErrFragment, option)
		}
		if len(elements) <= n {
			return nil, fmt.Errorf("%w: %s lacks an argument", ErrFragment, option)
		}
		if err := r.option(option, elements[1:1+n]); err != nil {
			return nil, err
		}
		elements = elements[1+n:]
	}
	return r.table, r.finish()
}

func splitStream(data []byte) ([]string, error) {
	if len(data) == 0 || data[len(data)-1] != 0 {
		return nil, fmt.Errorf("%w: the stream does not end with NUL", ErrFragment)
	}
	elements := strings.Split(string(bytes.TrimSuffix(data, []byte{0})), "\x00")
	if len(elements) > argumentLimit {
		return nil, fmt.Errorf("%w: %d arguments, more than %d", ErrFragment, len(elements), argumentLimit)
	}
	return elements, nil
}

// Phases of a stream; an option of an earlier phase after a later one is refused.
const (
	isolating = iota
	mounting
	sealing
	handing // descriptors
)

type reader struct {
	table *Table
	phase int
	mode  string // of the next option; "" when unsaid
	size  string
	seen  map[string]bool // options and descriptors that stand once
}

// once refuses a second appearance of key.
func (r *reader) once(key string) error {
	if r.seen[key] {
		return fmt.Errorf("%w: %s twice", ErrFragment, key)
	}
	r.seen[key] = true
	return nil
}

func (r *reader) enter(phase int, option string) error {
	if phase < r.phase {
		return fmt.Errorf("%w: %s comes too late", ErrFragment, option)
	}
	r.phase = phase
	return nil
}

func (r *reader) option(option string, args []string) error {
	if (r.mode != "" || r.size != "") && option != "--size" && option != "--tmpfs" && option != "--dir" && option != "--ro-bind-data" {
		return fmt.Errorf("%w: %s takes no mode or size", ErrFragment, option)
	}
	switch option {
	case "--perms":
		r.mode = args[0]
		return r.enter(mounting, option)
	case "--size":
		r.size = args[0]
		return r.enter(mounting, option)
	case "--dir", "--tmpfs", "--symlink", "--proc", "--dev", "--bind", "--ro-bind", "--dev-bind", "--ro-bind-data":
		if err := r.enter(mounting, option); err != nil {
			return err
		}
		return r.mount(option, args)
	case "--remount-ro", "--chmod":
		if err := r.enter(sealing, option); err != nil {
			return err
		}
		return r.sealed(option, args)
	case "--seccomp", "--json-status-fd":
		if err := r.enter(handing, option); err != nil {
			return err
		}
		return r.hand(option, args[0])
	}
	if err := r.enter(isolating, option); err != nil {
		return err
	}
	if err := r.once(option); err != nil {
		return err
	}
	return r.isolate(option, args)
}

func (r *reader) isolate(option string, args []string) error {
	i := &r.table.Isolation
	switch option {
	case "--disable-userns":
		i.DisableUserns = true
	case "--die-with-parent":
		i.DieWithParent = true
	case "--new-session":
		i.NewSession = true
	case "--cap-drop":
		if args[0] != "ALL" {
			return fmt.Errorf("%w: --cap-drop %s", ErrFragment, args[0])
		}
		i.NoCapabilities = true
	case "--clearenv":
		i.EmptyEnvironment = true
	case "--hostname":
		i.Hostname = args[0]
	case "--chdir":
		p, err := readPath(args[0])
		if err != nil {
			return err
		}
		i.Directory = p
	default:
		i.Namespaces = append(i.Namespaces, strings.TrimPrefix(option, "--unshare-"))
	}
	return nil
}

// hand reads a descriptor: decimal, beyond the standard streams, used once.
func (r *reader) hand(option, text string) error {
	if err := r.descriptor(text); err != nil {
		return err
	}
	if option == "--seccomp" {
		r.table.Isolation.Seccomp = true
	} else {
		r.table.Isolation.Status = true
	}
	return r.once(option)
}

func (r *reader) descriptor(text string) error {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n <= 2 || strconv.FormatUint(n, 10) != text {
		return fmt.Errorf("%w: %q is no descriptor", ErrFragment, text)
	}
	return r.once("descriptor " + text)
}

func readPath(text string) (ir.Path, error) {
	p, err := ir.NewPath(ir.Host, text)
	if err != nil || !p.Is(text) {
		return ir.Path{}, fmt.Errorf("%w: %q is no clean absolute path", ErrFragment, text)
	}
	return p, nil
}

// finish refuses a stream that ends in the middle of something.
func (r *reader) finish() error {
	if r.mode != "" || r.size != "" {
		return fmt.Errorf("%w: a mode or size without its option", ErrFragment)
	}
	if i := r.table.Isolation; i.Hostname != hostname || !r.seen["--chdir"] || !i.Directory.IsRoot() {
		return fmt.Errorf("%w: host name %q, start %s", ErrFragment, i.Hostname, i.Directory)
	}
	return nil
}
