package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/obspc/obspc/compiler"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/policies"
	"github.com/obspc/obspc/verify/release"
)

// configuration is what a command read: the sources, what they became, and what
// there is to say about them.
type configuration struct {
	dir     string // directory the file names are relative to
	config  *lang.Config
	results []compiler.Result
	diags   diag.List
	vars    map[string]string // values of variables, as given
	library map[string][]byte // sources of embedded templates, for rendering
	tests   lang.Sources      // test files, by the names they are opened by
}

// varFlag is the flag every command that reads policies has.
func varFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "var", Usage: "value of a variable, as `NAME=VALUE`; may be repeated"}
}

func policyFlag(usage string) cli.Flag {
	return &cli.StringFlag{Name: "policy", Usage: usage}
}

func formatFlag() cli.Flag {
	return &cli.StringFlag{Name: "format", Value: "text", Usage: "write results as `FORMAT`: text or json"}
}

// wantsJSON reads --format.
func wantsJSON(c *cli.Context) (bool, error) {
	switch f := c.String("format"); f {
	case "text":
		return false, nil
	case "json":
		return true, nil
	default:
		return false, wrongCall("there is no format %q; write text or json", f)
	}
}

// load reads and compiles the configuration at path. Findings about the policy
// are in the result, not in the error.
func load(c *cli.Context, path string) (*configuration, error) {
	vars, err := variables(c.StringSlice("var"))
	if err != nil {
		return nil, err
	}
	conf, sources, err := readSources(path)
	if err != nil || conf.diags.HasErrors() {
		return conf, err
	}
	conf.compile(sources, lang.Options{Vars: vars})
	return conf, nil
}

// compile parses the sources and compiles what they say.
func (conf *configuration) compile(sources lang.Sources, o lang.Options) {
	config, diags := lang.Parse(sources, o)
	conf.config, conf.vars = config, o.Vars
	conf.diags.Add(diags...)
	results, diags := compiler.Compile(config, compiler.Options{Library: conf.template, LibraryNames: policies.Names()})
	conf.results = results
	conf.diags.Add(diags...)
}

// readSources reads the files of path: a directory's *.policy.hcl, or one file.
func readSources(path string) (*configuration, lang.Sources, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, wrongCall("%v", cleanPathError(err))
	}
	conf, name := &configuration{dir: path, library: map[string][]byte{}}, "."
	if !info.IsDir() {
		conf.dir, name = filepath.Dir(path), filepath.Base(path)
	}
	sources, diags, err := lang.Read(os.DirFS(conf.dir), name)
	if err != nil {
		return nil, nil, conf.unreadable(path, err)
	}
	conf.diags = diags
	conf.config = &lang.Config{Sources: sources}
	return conf, sources, nil
}

// unreadable says which file cannot be read and why, or what stands where policies
// were looked for.
func (conf *configuration) unreadable(path string, err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return wrongCall("%s: %w", filepath.Join(conf.dir, pathErr.Path), pathErr.Err)
	}
	if !errors.Is(err, lang.ErrNone) {
		return wrongCall("%w", err)
	}
	if _, err := os.Stat(filepath.Join(path, release.ManifestName)); err == nil {
		return wrongCall("%s is a release; policies are wanted here (obsrun run --release starts what is in one)", path)
	}
	below, _ := filepath.Glob(filepath.Join(path, "*", "*"+lang.Suffix))
	hidden, _ := filepath.Glob(filepath.Join(path, ".*", "*"+lang.Suffix))
	if below = append(below, hidden...); len(below) > 0 {
		return wrongCall("%s holds no *%s file; %s does", path, lang.Suffix, filepath.Dir(below[0]))
	}
	return wrongCall("%s holds no *%s file; write one, or name the directory that has them", path, lang.Suffix)
}

// cleanPathError drops the name of the system call, and shows the path as a shell takes
// it: another may have named it.
func cleanPathError(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return fmt.Errorf("%s: %w", shellWord(pathErr.Path), pathErr.Err)
	}
	return err
}

func variables(words []string) (map[string]string, error) {
	vars := map[string]string{}
	for _, w := range words {
		name, value, ok := strings.Cut(w, "=")
		if !ok || name == "" {
			return nil, wrongCall("--var %q wants NAME=VALUE", w)
		}
		if _, twice := vars[name]; twice {
			return nil, wrongCall("--var gives %q twice", name)
		}
		vars[name] = value
	}
	return vars, nil
}

// template is the embedded template of that name, parsed.
func (conf *configuration) template(name string) (*lang.Body, bool) {
	file, text, ok := policies.Source(name)
	if !ok {
		return nil, false
	}
	config, diags := lang.Parse(lang.Sources{file: text}, lang.Options{Library: true})
	if diags.HasErrors() || len(config.Templates) != 1 {
		diag.Bug("embedded template %s does not parse: %v", name, diags)
	}
	conf.library[file] = text
	return config.Templates[0], true
}

// report writes the findings to standard error, or in JSON to standard output,
// and returns the error that ends the command when one of them refuses.
func (conf *configuration) report(c *cli.Context, asJSON bool) error {
	list := conf.shown()
	if asJSON {
		fmt.Fprintf(c.App.Writer, "%s\n", diag.JSON(list))
	} else if err := diag.Render(c.App.ErrWriter, list, conf.texts(), diag.RenderOptions{Colour: colour(c)}); err != nil {
		return err
	}
	if list.HasErrors() {
		return &exitError{Code: exitInput}
	}
	return nil
}

// shown is the sorted list with file names that can be opened from here.
func (conf *configuration) shown() diag.List {
	list := conf.diags.Sorted()
	for i := range list {
		list[i].At.File = conf.display(list[i].At.File)
		related := make([]diag.Related, len(list[i].Related))
		for j, r := range list[i].Related {
			r.At.File = conf.display(r.At.File)
			related[j] = r
		}
		list[i].Related = related
	}
	return list
}

// display is the name of a source file as seen from the working directory. The
// names in artifacts stay relative to the configuration, so that they are the
// same everywhere.
func (conf *configuration) display(file string) string {
	if conf.config != nil {
		if _, ok := conf.config.Sources[file]; ok {
			return filepath.Join(conf.dir, file)
		}
	}
	return file
}

func (conf *configuration) texts() map[string][]byte {
	texts := map[string][]byte{}
	if conf.config != nil {
		for name, text := range conf.config.Sources {
			texts[conf.display(name)] = text
		}
	}
	for _, more := range []map[string][]byte{conf.library, conf.tests} {
		maps.Copy(texts, more)
	}
	return texts
}

// colour reports whether standard error is a terminal that wants colour
// (no-color.org).
func colour(c *cli.Context) bool { return terminal(c.App.ErrWriter) }

// terminal reports whether w is a terminal that wants colour.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && os.Getenv("NO_COLOR") == "" && term.IsTerminal(int(f.Fd()))
}

// choose is the policy named by --policy, or the only one.
func (conf *configuration) choose(name string) (compiler.Result, error) {
	var names []string
	for _, r := range conf.results {
		if r.Policy.Name == name || name == "" && len(conf.results) == 1 {
			return r, nil
		}
		names = append(names, r.Policy.Name)
	}
	switch {
	case len(names) == 0:
		return compiler.Result{}, wrongCall("%s holds no policy", conf.dir)
	case name == "":
		return compiler.Result{}, wrongCall("there are several policies (%s); choose one with --policy", strings.Join(names, ", "))
	}
	return compiler.Result{}, wrongCall("there is no policy %q; there is %s", name, strings.Join(names, ", "))
}

// at is where each statement of the policy stands.
func (conf *configuration) at(r compiler.Result) func(ir.Origin) diag.Range {
	return func(o ir.Origin) diag.Range { return r.Ranges[o] }
}
