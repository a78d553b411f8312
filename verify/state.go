package verify

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/obspc/obspc/compiler/canon"
	"github.com/obspc/obspc/verify/release"
	"golang.org/x/sys/unix"
)

// stateSchema names the form of a state file.
const stateSchema = "obspc.state/v1"

// maxState bounds a state file in bytes.
const maxState = 4096

// state is what is remembered of a product: the highest serial accepted here, and
// which release had it.
type state struct {
	Schema  string         `json:"schema"`
	Product string         `json:"product"`
	Serial  int64          `json:"serial"`
	Digest  release.Digest `json:"digest"`
}

// remembers reports whether serials are remembered for this call. A release that
// is pinned artifact by artifact states a serial that nobody vouched for.
func (o *opening) remembers() bool {
	return o.trust.StateDir != "" && !o.trust.Development && o.partial == nil
}

func statePath(dir, product string) string { return filepath.Join(dir, product+".json") }

// readState reads what is remembered of product; nil when that is nothing. What
// cannot be read is never taken for nothing.
func readState(dir, product string) (*state, *Failure) {
	path := statePath(dir, product)
	fail := func(reason Reason, format string, args ...any) (*state, *Failure) {
		return nil, &Failure{Reason: reason, Message: "state " + display(path) + ": " + fmt.Sprintf(format, args...)}
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return fail(Unreadable, "%v", err)
	case !info.Mode().IsRegular() || info.Size() > maxState:
		return fail(UnsafeFile, "it is no regular file of at most %d bytes", maxState)
	case info.Mode().Perm()&0o022 != 0 || !ownedByUs(info):
		return fail(UnsafeFile, "somebody else can write to it")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return fail(Unreadable, "%v", err)
	}
	var s state
	if err := canon.Unmarshal(data, &s); err != nil {
		return fail(Malformed, "%v", err)
	}
	_, err = release.ParseDigest(string(s.Digest))
	if s.Schema != stateSchema || s.Product != product || s.Serial < 0 || err != nil {
		return fail(Malformed, "it is not about product %s", product)
	}
	return &s, nil
}

func ownedByUs(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && (st.Uid == 0 || st.Uid == uint32(os.Geteuid()))
}

// compareState refuses a rollback. It takes readState's results as they are.
func (o *opening) compareState(s *state, fault *Failure) *Failure {
	if fault != nil || s == nil {
		return fault
	}
	m := o.manifest
	switch {
	case m.Serial < s.Serial:
		f := stale("a newer release was accepted here before: a rollback", fmt.Sprintf("serial %d or higher", s.Serial), fmt.Sprint(m.Serial))
		return &f
	case m.Serial == s.Serial && string(s.Digest) != o.report.Digest:
		f := stale(fmt.Sprintf("another release was accepted here with serial %d", s.Serial), "SHA256SUMS "+string(s.Digest), o.report.Digest)
		return &f
	}
	return nil
}

// remember stores the serial after everything passed. It looks again under a
// lock, because another call may have accepted a newer release meanwhile.
func (o *opening) remember() *Failure {
	if !o.remembers() {
		return nil
	}
	failed := func(err error) *Failure {
		return &Failure{Reason: Unreadable, Message: "state cannot be kept: " + err.Error()}
	}
	dir := o.trust.StateDir
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return failed(err)
	}
	d, err := os.Open(dir)
	if err != nil {
		return failed(err)
	}
	defer d.Close()
	if _, err := retry(func() (int, error) { return 0, unix.Flock(int(d.Fd()), unix.LOCK_EX) }); err != nil {
		return failed(err)
	}
	s, fault := readState(dir, o.manifest.Product)
	if f := o.compareState(s, fault); f != nil {
		return f
	}
	if s != nil && s.Serial == o.manifest.Serial {
		return nil
	}
	if err := o.writeState(dir); err != nil {
		return failed(err)
	}
	if err := d.Sync(); err != nil {
		return failed(err)
	}
	return nil
}

// writeState replaces the state file in one step, so that it is the old or the
// new one whatever happens.
func (o *opening) writeState(dir string) error {
	data, err := canon.Marshal(state{stateSchema, o.manifest.Product, o.manifest.Serial, release.Digest(o.report.Digest)})
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".new-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone after the rename
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), statePath(dir, o.manifest.Product))
}
