package lang

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/obspc/obspc/lang/diag"
)

// Limits on input, in bytes: one file, and all files of a configuration.
const (
	MaxFileBytes          = 1 << 20
	MaxConfigurationBytes = 16 << 20
)

// Suffix is what the names of policy files end in, TestSuffix those of tests.
const (
	Suffix     = ".policy.hcl"
	TestSuffix = ".test.hcl"
)

// ErrNone is said of a directory without a policy file.
var ErrNone = errors.New("no *" + Suffix + " file stands in this directory")

// What has the name of a file to read and is none.
var (
	errDirectory  = errors.New("it is a directory, and has the name of a file to read")
	errNotRegular = errors.New("it is not a regular file")
)

// Read reads a configuration: all *.policy.hcl files of a directory, not of those
// below it, or exactly one file. Names that begin with a dot are passed over, as
// editors put their own files there. The names in Sources are the given path
// joined with the file's name. A file past a limit is a finding and is left out.
// What cannot be read, whatever it is, is an *fs.PathError, a directory without a
// policy file ErrNone.
func Read(fsys fs.FS, name string) (Sources, diag.List, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, nil, err
	}
	r := &reader{fsys: fsys, sources: Sources{}}
	if !info.IsDir() {
		err := r.file(name)
		return r.sources, r.diags, err
	}
	names, err := filesOf(fsys, name, Suffix)
	if err != nil {
		return nil, nil, err
	}
	if len(names) == 0 {
		return nil, nil, fmt.Errorf("%s: %w", name, ErrNone)
	}
	for _, n := range names {
		if err := r.file(n); err != nil {
			return nil, nil, err
		}
	}
	return r.sources, r.diags, nil
}

// ReadTests reads the *.test.hcl files of a directory, or exactly one file, as
// Read does. A directory may have none.
func ReadTests(fsys fs.FS, name string) (Sources, diag.List, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, nil, err
	}
	r, names := &reader{fsys: fsys, sources: Sources{}}, []string{name}
	if info.IsDir() {
		if names, err = filesOf(fsys, name, TestSuffix); err != nil {
			return nil, nil, err
		}
	}
	for _, n := range names {
		if err := r.file(n); err != nil {
			return nil, nil, err
		}
	}
	return r.sources, r.diags, nil
}

// IsPolicyFile reports whether a name is that of a file that Read reads in a directory.
func IsPolicyFile(name string) bool { return isFile(name, Suffix) }

func isFile(name, suffix string) bool {
	return strings.HasSuffix(name, suffix) && !strings.HasPrefix(name, ".")
}

// filesOf are the names of a directory that end in suffix, in order, whatever has them:
// what is no file is refused where it is read, and never passed over in silence.
func filesOf(fsys fs.FS, dir, suffix string) ([]string, error) {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if isFile(e.Name(), suffix) {
			names = append(names, path.Join(dir, e.Name()))
		}
	}
	slices.Sort(names)
	return names, nil
}

// reader collects the files of one configuration.
type reader struct {
	fsys    fs.FS
	sources Sources
	diags   diag.List
	total   int
	over    bool
}

func (r *reader) file(name string) error {
	info, err := fs.Stat(r.fsys, name)
	if err != nil {
		return err
	}
	switch {
	case info.IsDir():
		return &fs.PathError{Op: "read", Path: name, Err: errDirectory}
	case !info.Mode().IsRegular():
		return &fs.PathError{Op: "read", Path: name, Err: errNotRegular} // a pipe would block for ever
	}
	f, err := r.fsys.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, MaxFileBytes+1))
	if err != nil {
		return unread(name, err)
	}
	if len(src) > MaxFileBytes {
		r.diags.Add(fileTooLarge(name))
		return nil
	}
	if r.total += len(src); r.total > MaxConfigurationBytes {
		if !r.over {
			r.over = true
			r.diags.Add(configurationTooLarge(name))
		}
		return nil
	}
	r.sources[path.Clean(name)] = src
	return nil
}

// unread is an error of reading, about the name that the file was asked for by: what
// opened it may know it by another.
func unread(name string, err error) error {
	if inner := (*fs.PathError)(nil); errors.As(err, &inner) {
		err = inner.Err
	}
	return &fs.PathError{Op: "read", Path: name, Err: err}
}

func fileTooLarge(name string) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "file-too-large",
		At:      diag.Range{File: name},
		Message: fmt.Sprintf("the file is larger than %d MiB", MaxFileBytes>>20),
		Help:    "split it; is this the right file?",
	}
}

func configurationTooLarge(name string) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "configuration-too-large",
		At:      diag.Range{File: name},
		Message: fmt.Sprintf("with this file the configuration is larger than %d MiB", MaxConfigurationBytes>>20),
		Help:    "give each group of policies a directory of its own",
	}
}
