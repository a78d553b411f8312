package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/compiler/ir/diff"
	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/targets"
	"github.com/obspc/obspc/verify/release"
)

func goldenCommand() *cli.Command {
	return &cli.Command{
		Name:      "golden",
		Usage:     "compare what policies become with the files that reviewers have seen",
		ArgsUsage: "PATH",
		Description: `DIR is committed beside the policies: for each of them its meaning (ir.json) and
every artifact that people can read. golden compiles PATH and compares. What
changed is shown as meaning first, each grant with a witness, and under it as
text. A missing, a stale and a changed file make the exit code 1; --update
writes DIR anew, so that the change is part of the commit.

   obspc golden . --dir golden
   obspc golden . --dir golden --update
   obspc golden . --dir golden --format markdown > comment.md`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "dir", Usage: "the `DIR` of committed files"},
			&cli.BoolFlag{Name: "update", Usage: "write DIR anew and remove what is stale"},
			&cli.StringSliceFlag{Name: "target", Usage: "only `TARGET`: bwrap or seatbelt; may be repeated"},
			&cli.StringFlag{Name: "format", Value: "text", Usage: "write results as `FORMAT`: text, json or markdown"},
			varFlag(),
		},
		Action: golden,
	}
}

func golden(c *cli.Context) error {
	source, err := oneArgument(c, "PATH")
	if err != nil {
		return err
	}
	dir := c.String("dir")
	if dir == "" {
		return wrongCall("golden wants --dir DIR, the directory of committed files")
	}
	write, ok := map[string]func(*goldenReport) string{
		"text": func(r *goldenReport) string { return coloured(c, r.Text()) }, "markdown": (*goldenReport).Markdown, "json": (*goldenReport).JSON,
	}[c.String("format")]
	if !ok {
		return wrongCall("there is no format %q; write text, json or markdown", c.String("format"))
	}
	conf, err := load(c, source)
	if err != nil {
		return err
	}
	if err := conf.narrow(nil, c.StringSlice("target")); err != nil {
		return err
	}
	files, err := conf.build(release.Input{Compiler: release.Version})
	if reported := conf.report(c, false); reported != nil || err != nil {
		return errors.Join(err, reported)
	}
	fresh := map[string][]byte{}
	for _, f := range files {
		fresh[f.Name] = f.Data
	}
	report, err := compareGolden(dir, fresh)
	if err != nil {
		return err
	}
	report.Update = updateCommand(source, dir)
	if c.Bool("update") {
		return report.write(c, fresh)
	}
	fmt.Fprint(c.App.Writer, write(report))
	if len(report.States) > 0 {
		return &exitError{Code: exitNo}
	}
	return nil
}

// goldenReport is the difference between committed files and fresh ones.
type goldenReport struct {
	Dir    string
	Update string        // the command that makes them equal
	States []goldenState // by name; empty: all are as committed
	Diff   diff.Report
}

// goldenState is one file that is not as committed.
type goldenState struct {
	Name  string `json:"name"`
	State string `json:"state"`
}

// The states of a golden file.
const (
	goldenMissing = "missing" // made, and not committed
	goldenStale   = "stale"   // committed, and not made any more
	goldenChanged = "changed"
)

// isGolden reports whether an artifact is committed for reviewers: those that
// people read, and the meaning. Of the others each has a text that is.
func isGolden(name string) bool {
	return strings.Contains(name, "/") && isGoldenName(path.Base(name))
}

// compareGolden holds the files of dir against fresh artifacts, by POLICY/FILE.
func compareGolden(dir string, fresh map[string][]byte) (*goldenReport, error) {
	committed, err := readGolden(dir, fresh)
	if err != nil {
		return nil, err
	}
	wanted := map[string][]byte{}
	for name, data := range fresh {
		if isGolden(name) {
			wanted[name] = data
		}
	}
	r := &goldenReport{Dir: dir}
	for name, data := range wanted {
		old, ok := committed[name]
		switch {
		case !ok:
			r.States = append(r.States, goldenState{name, goldenMissing})
		case !bytes.Equal(old, data):
			r.States = append(r.States, goldenState{name, goldenChanged})
		}
	}
	for name := range committed {
		if _, ok := wanted[name]; !ok {
			r.States = append(r.States, goldenState{name, goldenStale})
		}
	}
	slices.SortFunc(r.States, func(a, b goldenState) int { return strings.Compare(a.Name, b.Name) })
	r.Diff = diff.Sets(meanings(committed), meanings(wanted), targets.Keeps)
	r.Diff.Artifacts = changedArtifacts(committed, wanted)
	return r, nil
}

// meanings are the policies whose ir.json is among files. A committed one that
// cannot be read is a changed file, of whose meaning nothing can be said.
func meanings(files map[string][]byte) []*ir.Policy {
	var out []*ir.Policy
	for name, data := range files {
		if path.Base(name) != release.IRName {
			continue
		}
		if p, err := ir.ParseJSON(data); err == nil {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *ir.Policy) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// isGoldenName reports whether golden files have such a name in their folder.
func isGoldenName(base string) bool {
	return slices.Contains([]string{release.IRName, "bwrap.args.txt", "egress.json", "landlock.json", "run.json", "seatbelt.sb"}, base) ||
		strings.HasPrefix(base, "seccomp-") && strings.HasSuffix(base, ".txt")
}

// readGolden reads the files in the policies' folders of dir: those of the fresh
// policies, and those that hold an ir.json. Such a folder holds golden files and
// nothing else, so what is stale can be removed; all else in dir is nobody's. A dir
// that is not there is empty.
func readGolden(dir string, fresh map[string][]byte) (map[string][]byte, error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string][]byte{}, nil
	}
	if err != nil {
		return nil, wrongCall("%w", cleanPathError(err))
	}
	defer root.Close()
	folders, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, wrongCall("%w", cleanPathError(err))
	}
	files := map[string][]byte{}
	for _, folder := range folders {
		if !folder.IsDir() {
			continue
		}
		_, wanted := fresh[folder.Name()+"/"+release.IRName]
		if _, err := root.Lstat(folder.Name() + "/" + release.IRName); err != nil && !wanted {
			continue
		}
		if err := readGoldenFolder(root, folder.Name(), dir, files); err != nil {
			return nil, wrongCall("%w", cleanPathError(err))
		}
	}
	return files, nil
}

func readGoldenFolder(root *os.Root, folder, dir string, files map[string][]byte) error {
	entries, err := fs.ReadDir(root.FS(), folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		at := filepath.Join(dir, folder, e.Name())
		switch {
		case !isGoldenName(e.Name()):
			return fmt.Errorf("%s is no golden file; move it away, or give --dir a directory for golden files alone", at)
		case !e.Type().IsRegular():
			return fmt.Errorf("%s is no plain file; golden files are", at)
		case len(files) >= release.MaxFiles:
			return fmt.Errorf("%s holds more than %d files", dir, release.MaxFiles)
		}
		data, err := readSmall(at, release.MaxFile)
		if err != nil {
			return err
		}
		files[folder+"/"+e.Name()] = data
	}
	return nil
}

// write makes dir what is fresh, a file at a time: each is whole at any moment,
// and a call that was cut short is finished by the next.
func (r *goldenReport) write(c *cli.Context, fresh map[string][]byte) error {
	for _, s := range r.States {
		file := filepath.Join(r.Dir, filepath.FromSlash(s.Name))
		var err error
		if s.State == goldenStale {
			err = os.Remove(file)
			os.Remove(filepath.Dir(file)) // fails, rightly, while something is in it
		} else if err = os.MkdirAll(filepath.Dir(file), 0o755); err == nil {
			err = replaceFile(file, fresh[s.Name])
		}
		if err != nil {
			return &exitError{exitMachine, err}
		}
	}
	fmt.Fprintf(c.App.Writer, "%s: %s\n", r.Dir, r.counts("written"))
	return nil
}

// counts is how many files are in which state.
func (r *goldenReport) counts(word string) string {
	n := map[string]int{}
	for _, s := range r.States {
		n[s.State]++
	}
	if len(r.States) == 0 {
		return "every golden file is as committed"
	}
	if word == "written" {
		return fmt.Sprintf("%d written, %d removed", n[goldenMissing]+n[goldenChanged], n[goldenStale])
	}
	return fmt.Sprintf("%d changed, %d missing, %d stale", n[goldenChanged], n[goldenMissing], n[goldenStale])
}

// Text is the report for people: meaning, text, files, what to do.
func (r *goldenReport) Text() string {
	if len(r.States) == 0 {
		return r.counts("") + "\n"
	}
	var b strings.Builder
	b.WriteString(r.Diff.Text())
	b.WriteString("\n")
	for _, s := range r.States {
		fmt.Fprintf(&b, "%-8s %s\n", s.State, s.Name)
	}
	fmt.Fprintf(&b, "golden: %s; once reviewed, %s\n", r.counts(""), r.Update)
	return b.String()
}

// Markdown is the report for a pull request.
func (r *goldenReport) Markdown() string {
	if len(r.States) == 0 {
		return r.counts("") + "\n"
	}
	return r.accept() + "\n" + r.Diff.Markdown()
}

// accept is, in Markdown, the command that accepts what changed. It stands before
// what changed: a long comment is cut at its end.
func (r *goldenReport) accept() string {
	fence := "```"
	for strings.Contains(r.Update, fence) {
		fence += "`"
	}
	return fmt.Sprintf("Golden files: %s. Once reviewed:\n\n%ssh\n%s\n%s\n", r.counts(""), fence, r.Update, fence)
}

// updateCommand is the command that makes the golden files what source gives.
func updateCommand(source, dir string) string {
	return fmt.Sprintf("obspc golden %s --dir %s --update", shellWord(source), shellWord(dir))
}

// shellWord is a word that a shell takes as exactly s, on one line: it is copied
// from comments whose paths somebody else has chosen.
func shellWord(s string) string {
	if strings.HasPrefix(s, "-") {
		s = "./" + s
	}
	switch {
	case s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !strings.ContainsRune(shellPlain, r) }):
		return s
	case !strings.ContainsFunc(s, func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }):
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, `\%03o`, s[i])
	}
	return "$'" + b.String() + "'"
}

// shellPlain are the characters that need no quotes.
const shellPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+,:@%="

// JSON is the report for programs.
func (r *goldenReport) JSON() string {
	text, err := json.MarshalIndent(struct {
		Schema string          `json:"schema"`
		Dir    string          `json:"dir"`
		Same   bool            `json:"same"`
		Files  []goldenState   `json:"files"`
		Update string          `json:"update"`
		Diff   json.RawMessage `json:"diff"`
	}{"obspc.golden/v1", r.Dir, len(r.States) == 0, append([]goldenState{}, r.States...), r.Update, r.Diff.JSON()}, "", "  ")
	if err != nil {
		diag.Bug("a golden report has no JSON: %v", err)
	}
	return string(text) + "\n"
}

// coloured paints added and removed lines where standard output is a terminal
// that wants colour.
func coloured(c *cli.Context, text string) string {
	if !terminal(c.App.Writer) {
		return text
	}
	const red, green, plain = "\x1b[31m", "\x1b[32m", "\x1b[0m"
	var b strings.Builder
	for line := range strings.Lines(text) {
		body := strings.TrimSuffix(line, "\n")
		switch mark := strings.TrimLeft(body, " "); {
		case strings.HasPrefix(mark, "+"):
			b.WriteString(green + body + plain)
		case strings.HasPrefix(mark, "-"):
			b.WriteString(red + body + plain)
		default:
			b.WriteString(body)
		}
		b.WriteString("\n")
	}
	return b.String()
}
