package sbpl

import (
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/obspc/obspc/targets/seatbelt/operations"
	"github.com/obspc/obspc/targets/seatbelt/sbpl/scheme"
)

// Bounds of imports: how deep files import each other, and their size together.
const (
	maxImports     = 16
	maxImportBytes = 8 << 20
)

// importDirs is where a relative name is looked for (sbpl1.scm): the directory that
// the parameter IMPORT_DIR names, and nowhere else, or the system's own. Releases
// after 10.10 no longer look into /Library.
func (p *parser) importDirs() []string {
	if dir, ok := p.options.Params["IMPORT_DIR"]; ok {
		return []string{dir}
	}
	dirs := []string{"/System/Library/Sandbox/Profiles", "/usr/share/sandbox"}
	if p.release == operations.Mavericks {
		return append([]string{"/Library/Sandbox/Profiles"}, dirs...)
	}
	return dirs
}

// importFile is (import "NAME"): the file's forms are evaluated here.
func (p *parser) importFile(c *scheme.Call) (scheme.Value, error) {
	name, ok := c.Args[0].(string)
	if !ok {
		return nil, wants(c, 0, "a string")
	}
	file, src, ok := p.open(name)
	if !ok {
		if !p.options.UnknownImports {
			return nil, c.Fail(0, NoImport, "unable to open %s", name)
		}
		p.profile.Rules = append(p.profile.Rules, &Rule{At: c.At, Import: name})
		return scheme.Unspecified{}, nil
	}
	if p.importBytes += len(src); p.importBytes > maxImportBytes || p.imports >= maxImports {
		return nil, c.Fail(0, scheme.PastLimit, "too many files import each other")
	}
	p.imports++
	defer func() { p.imports-- }()
	text, err := scheme.Read(file, src)
	if err != nil {
		return nil, err
	}
	for i, form := range text.Forms {
		if _, err := c.Machine.Eval(form, text.Open[i]); err != nil {
			return nil, err
		}
	}
	return scheme.Unspecified{}, nil
}

// open finds the file of an import.
func (p *parser) open(name string) (file string, src []byte, ok bool) {
	if p.options.Imports == nil || name == "" {
		return "", nil, false
	}
	candidates := []string{name}
	if !strings.HasPrefix(name, "/") {
		candidates = nil
		for _, dir := range p.importDirs() {
			candidates = append(candidates, dir+"/"+name)
		}
	}
	for _, c := range candidates {
		inside := strings.TrimPrefix(path.Clean("/"+c), "/")
		if src, err := readImport(p.options.Imports, inside); err == nil {
			return c, src, true
		}
	}
	return "", nil, false
}

// readImport reads no more of a file than shows that it is too large.
func readImport(fsys fs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxImportBytes+1))
}
