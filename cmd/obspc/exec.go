package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/verify/release"
)

func execCommand() *cli.Command {
	return &cli.Command{
		Name:      "exec",
		Usage:     "compile, verify and run one command under a policy, here and now",
		ArgsUsage: "[PATH] -- COMMAND [ARG…]",
		Description: `For your own machine and for tests. PATH defaults to the *.policy.hcl files of
the current directory, or of .obspc in it, and has to be named where a directory
above holds policies too, or where another user owns or may change them. The
workspace is the current directory unless the policy or --workspace says
otherwise; it is never created, emptied or removed. The command's exit code is
passed on; 124 is a timeout, 125 a refusal of obspc, 126 and 127 a command that
cannot be started. The command reads /dev/null; --stdin gives it your standard
input, and --tty a terminal of its own, with job control, as an interactive
shell wants.

   obspc exec -- make test
   obspc exec policies/build.policy.hcl --policy build -- go build ./...
   obspc exec --tty -- bash
   obspc exec --observe -- npm ci
   obspc exec --workspace fresh --evidence evidence.json -- ./untrusted`,
		Flags: []cli.Flag{
			policyFlag("run under the policy `NAME`; needed when there are several"),
			&cli.StringFlag{Name: "workspace", Usage: "`DIR` to work in, or the word fresh for a new empty one"},
			&cli.StringFlag{Name: "bwrap", Usage: "use the bubblewrap at `PATH` (default /usr/bin/bwrap)"},
			&cli.StringFlag{Name: "evidence", Usage: "write what happened to `FILE`"},
			&cli.BoolFlag{Name: "stdin", Usage: "give the command this standard input instead of /dev/null"},
			&cli.BoolFlag{Name: "trace", Usage: "say afterwards what failed because the policy denies it, and which lines would allow it"},
			&cli.StringFlag{Name: "trace-format", Usage: "write that as `FORMAT`: text or json"},
			&cli.BoolFlag{Name: "observe", Usage: "say afterwards what the proxy denied, and which rules would allow it; nothing more is allowed meanwhile"},
			&cli.StringFlag{Name: "observe-format", Usage: "write that as `FORMAT`: text or json"},
			&cli.BoolFlag{Name: "tty", Usage: "give the command a terminal of its own; standard input has to be one"},
			varFlag(),
		},
		Action: func(c *cli.Context) error { return refusedAs125(execUnder(c)) },
	}
}

// refusedAs125 keeps obspc's own failures apart from the command's exit codes.
func refusedAs125(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{exitRefused, err}
}

func execUnder(c *cli.Context) error {
	command := restOf(c)
	if len(command) == 0 {
		return wrongCall("exec wants the command behind --, as in obspc exec -- make test")
	}
	if c.NArg() > 1 {
		return wrongCall("exec takes one PATH, not %d; the command stands behind --", c.NArg())
	}
	path, err := execPath(c)
	if err != nil {
		return err
	}
	conf, err := load(c, path)
	if err != nil {
		return err
	}
	if conf.diags.HasErrors() {
		return conf.report(c, false)
	}
	result, err := conf.choose(c.String("policy"))
	if err != nil {
		return err
	}
	files, err := conf.development(result)
	if err != nil {
		return err
	}
	if conf.diags.HasErrors() {
		return conf.report(c, false)
	}
	runner, err := runnerBeside()
	if err != nil {
		return err
	}
	fmt.Fprintf(c.App.ErrWriter, "obspc: policy %s of %s%s\n", result.Policy.Name, path, conf.warned())
	return runner.exec(c, files, result.Policy.Name, conf.trusted(), command)
}

// warned counts the warnings about the policy. What targets say of themselves
// (tighter, waived) is the author's to know once, at compile, and no news here.
func (conf *configuration) warned() string {
	n := 0
	for _, d := range conf.diags {
		if !strings.HasPrefix(d.Code, "feature-") {
			n++
		}
	}
	switch n {
	case 0:
		return ""
	case 1:
		return " (1 warning; obspc validate shows it)"
	}
	return fmt.Sprintf(" (%d warnings; obspc validate shows them)", n)
}

// trusted is what the command must not change: first the configuration's
// directory, then each of its files, for a file may be a link that decides what is
// read next time.
func (conf *configuration) trusted() []string {
	files := slices.Sorted(maps.Keys(conf.config.Sources))
	for i, name := range files {
		files[i] = filepath.Join(conf.dir, name)
	}
	return append([]string{conf.dir}, files...)
}

// configFlags tell obsrun what is trusted. A policy file with a second name is
// refused, and each link on the way to one is named beside its directory.
func configFlags(trusted []string) ([]string, error) {
	if err := singleNames(trusted[1:]); err != nil {
		return nil, err
	}
	var out []string
	for i, path := range trusted {
		if info, err := os.Lstat(path); i > 0 && (err != nil || info.Mode().Type() != os.ModeSymlink) {
			continue // its directory, which stands first, is kept
		}
		path, err := filepath.Abs(path)
		if err != nil {
			return nil, &exitError{exitMachine, err}
		}
		out = append(out, "--config-dir", path)
	}
	return out, nil
}

// singleNames refuses policy files with a second name: the command could edit
// them under that one.
func singleNames(files []string) error {
	for _, file := range files {
		var s unix.Stat_t
		if err := unix.Stat(file, &s); err != nil {
			return wrongCall("%s: %w", file, err)
		}
		if s.Nlink > 1 {
			return wrongCall("%s has another name on this disk, under which it could be changed from inside; copy it: cp --remove-destination", file)
		}
	}
	return nil
}

// developmentPins accept the release made just now and no other.
func developmentPins(files []release.File) (*release.Pins, error) {
	for _, f := range files {
		if f.Name == release.SumsName {
			return &release.Pins{Product: release.LocalProduct, NoExpiry: true, Sums: []release.Digest{release.Sum(f.Data)}}, nil
		}
	}
	return nil, fmt.Errorf("the release has no %s", release.SumsName)
}

// development is a release of these policies for this machine, product "local".
func (conf *configuration) development(results ...compiler.Result) ([]release.File, error) {
	conf.results = nil
	for _, r := range results {
		narrowed := *r.Policy
		narrowed.Targets = slices.DeleteFunc(slices.Clone(r.Policy.Targets), func(t ir.Target) bool { return t != ir.Bwrap })
		if len(narrowed.Targets) == 0 {
			return nil, wrongCall("policy %q is not for this system: its targets are %v", r.Policy.Name, r.Policy.Targets)
		}
		r.Policy = &narrowed
		conf.results = append(conf.results, r)
	}
	return conf.build(release.Input{Compiler: release.Version})
}

// runner is the obsrun of the same build.
type runner struct{ path string }

// runnerBeside is the obsrun beside this executable, never one from PATH.
func runnerBeside() (runner, error) {
	self, err := os.Executable()
	if err != nil {
		return runner{}, &exitError{exitMachine, err}
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		return runner{}, &exitError{exitMachine, err}
	}
	path := filepath.Join(filepath.Dir(self), "obsrun")
	if _, err := os.Stat(path); err != nil {
		return runner{}, &exitError{exitMachine, fmt.Errorf("there is no obsrun beside %s; install both programs of one build into one directory (make build puts them into bin)", self)}
	}
	return runner{path}, nil
}

func (r runner) version() (string, error) {
	out, err := exec.Command(r.path, "version").Output()
	return strings.TrimSpace(string(out)), err
}
