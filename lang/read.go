package lang

import (
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

// Read reads a configuration: all *.policy.hcl files of a directory, not of those
// below it, or exactly one file. Names that begin with a dot are passed over, as
// editors put their own files there. The names in Sources are the given path
// joined with the file's name. A file past a limit is a finding and is left out;
// what the machine refuses, and a directory without a policy file, is an error.
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
		return nil, nil, fmt.Errorf("%s: no *%s file stands in this directory", name, Suffix)
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

// filesOf are the files of a directory whose names end in suffix, in order.
func filesOf(fsys fs.FS, dir, suffix string) ([]string, error) {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), suffix) && !strings.HasPrefix(e.Name(), ".") && !e.IsDir() {
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
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: not a regular file", name) // a pipe would block for ever
	}
	f, err := r.fsys.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, MaxFileBytes+1))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
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
