package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/obspc/obspc/cmd/obspc/expect"
	"github.com/obspc/obspc/compiler"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/targets/models"
)

func testCommand() *cli.Command {
	return &cli.Command{
		Name:      "test",
		Usage:     "hold policies to their tests: all as expected (0) or not (1)",
		ArgsUsage: "PATH [TEST…], or PATH --replay EVIDENCE…",
		Description: `PATH is a directory, whose *.test.hcl files are the tests, or one policy file;
TEST are test files to use instead. A test says what must be allowed and what
denied:

   test "keys stay closed" {
     allow {
       read = ["${workspace}/main.go"]
     }
     deny {
       read = ["${home}/.ssh/id_ed25519"]
     }
   }

Every expectation is held to what the policy means and to what the artifacts of
each target, read back from their bytes, make of it. --live tries them on this
machine as well, in sandboxes of their own; what it cannot try it names. (On
macOS it uses sandbox-exec, and was never run on a Mac.)

   obspc test .
   obspc test . --cover --run keys
   obspc test payment.policy.hcl payment.test.hcl --format junit
   obspc test . --live

--replay decides again, by the policies as they are now, what runs asked their
proxies, and lists what would be answered otherwise. Nothing is connected to.

   obspc test . --replay runs/*.json --fail-on changed`,
		Flags: append([]cli.Flag{
			policyFlag("only tests of the policy `NAME`"),
			&cli.StringFlag{Name: "run", Usage: "only tests whose names match `REGEXP` (RE2)"},
			&cli.BoolFlag{Name: "cover", Usage: "list the statements that no test touches"},
			&cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}, Usage: "show the expectations that hold as well"},
			&cli.BoolFlag{Name: "live", Usage: "try the expectations against the kernel too"},
			&cli.StringFlag{Name: "bwrap", Usage: "with --live, use the bubblewrap at `PATH` (Linux; default /usr/bin/bwrap)"},
			varFlag(),
			&cli.StringFlag{Name: "format", Value: "text", Usage: "write results as `FORMAT`: text, json, junit or tap"},
		}, replayFlags()...),
		Action: test,
	}
}

func test(c *cli.Context) error {
	if err := noRest(c); err != nil {
		return err
	}
	if c.NArg() == 0 {
		return wrongCall("test wants PATH; see obspc test --help")
	}
	if c.IsSet("replay") {
		return replayed(c)
	}
	if c.IsSet("fail-on") {
		return wrongCall("--fail-on belongs to --replay; a test that fails is exit 1 anyway")
	}
	if c.String("bwrap") != "" && !c.Bool("live") {
		return wrongCall("--bwrap belongs to --live; without it no sandbox is started")
	}
	write, err := reportWriter(c)
	if err != nil {
		return err
	}
	conf, err := loadTests(c, c.Args().First(), c.Args().Tail())
	if err != nil {
		return err
	}
	tests, diags := compiler.Tests(conf.config, conf.results)
	conf.diags.Add(diags...)
	if conf.diags.HasErrors() {
		return conf.report(c, false)
	}
	if tests, err = conf.selected(tests, c); err != nil {
		return err
	}
	o := expect.Options{Models: models.All(), Place: conf.place, Because: func(r ir.Reason) string { return reasons[r] }}
	tried := func() error { return nil }
	if c.Bool("live") {
		lab, err := newLab(c, conf)
		if err != nil {
			return err
		}
		defer lab.close()
		o.Live, tried = lab.try, lab.interrupted
	}
	own := func(file string) bool { _, ok := conf.config.Sources[file]; return ok }
	report := expect.Run(tests, conf.results, own, o)
	if err := write(report); err != nil {
		return err
	}
	switch sum := report.Sum(); {
	case tried() != nil:
		return &exitError{exitMachine, fmt.Errorf("interrupted before all expectations were tried: %w", tried())}
	case report.Failed():
		return &exitError{Code: exitNo}
	case o.Live != nil && sum.Tried == 0:
		return &exitError{exitMachine, fmt.Errorf("none of %d expectations could be tried on this machine; each says why", sum.Untried)}
	}
	return nil
}

// reportWriter reads --format.
func reportWriter(c *cli.Context) (func(*expect.Report) error, error) {
	w := c.App.Writer
	switch f := c.String("format"); f {
	case "text":
		o := expect.TextOptions{Verbose: c.Bool("verbose"), Cover: c.Bool("cover")}
		return func(r *expect.Report) error { return r.WriteText(w, o) }, nil
	case "json":
		return func(r *expect.Report) error { return r.WriteJSON(w) }, nil
	case "junit":
		return func(r *expect.Report) error { return r.WriteJUnit(w) }, nil
	case "tap":
		return func(r *expect.Report) error { return r.WriteTAP(w) }, nil
	default:
		return nil, wrongCall("there is no format %q; write text, json, junit or tap", f)
	}
}

// loadTests is load with the tests of the directory, or with those named.
func loadTests(c *cli.Context, path string, named []string) (*configuration, error) {
	vars, err := variables(c.StringSlice("var"))
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(path, lang.TestSuffix) {
		return nil, wrongCall("%s is a test; name the policies before it, as in obspc test %s %s", path, filepath.Dir(path), path)
	}
	conf, sources, err := readSources(path)
	if err != nil || conf.diags.HasErrors() {
		return conf, err
	}
	if len(named) == 0 {
		info, err := os.Stat(path)
		if err != nil {
			return nil, wrongCall("%w", cleanPathError(err))
		}
		if !info.IsDir() {
			return nil, wrongCall("of a single file nothing beside it is read; name its tests too, as in obspc test %s %s", path, strings.TrimSuffix(path, lang.Suffix)+lang.TestSuffix)
		}
		named = []string{path}
	}
	for _, name := range named {
		if err := conf.addTests(name); err != nil {
			return nil, err
		}
	}
	conf.compile(sources, lang.Options{Vars: vars, Tests: conf.tests})
	if len(conf.config.Tests) == 0 && !conf.diags.HasErrors() {
		return nil, wrongCall("there is no test in %s; write one into a file beside the policies whose name ends in %s (obspc test --help shows one)", strings.Join(named, ", "), lang.TestSuffix)
	}
	return conf, nil
}

// addTests reads the test files of a directory, or one file.
func (conf *configuration) addTests(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return wrongCall("%w", cleanPathError(err))
	}
	dir, name := path, "."
	if !info.IsDir() {
		if !strings.HasSuffix(path, lang.TestSuffix) {
			return wrongCall("%s is no test: the names of test files end in %s", path, lang.TestSuffix)
		}
		dir, name = filepath.Dir(path), filepath.Base(path)
	}
	sources, diags, err := lang.ReadTests(os.DirFS(dir), name)
	if err != nil {
		return wrongCall("%s: %w", dir, cleanPathError(err))
	}
	if conf.tests == nil {
		conf.tests = lang.Sources{}
	}
	for file, text := range sources {
		conf.tests[filepath.Join(dir, file)] = text
	}
	for i := range diags {
		diags[i].At.File = filepath.Join(dir, diags[i].At.File)
	}
	conf.diags.Add(diags...)
	return nil
}

// selected are the tests that --policy and --run ask for; coverage is then about
// the policies that are left.
func (conf *configuration) selected(tests []compiler.Test, c *cli.Context) ([]compiler.Test, error) {
	if name := c.String("policy"); name != "" {
		chosen, err := conf.choose(name)
		if err != nil {
			return nil, err
		}
		conf.results = []compiler.Result{chosen}
		tests = slices.DeleteFunc(tests, func(t compiler.Test) bool { return t.Policy.Policy.Name != name })
		if len(tests) == 0 {
			return nil, wrongCall("no test asks policy %s", name)
		}
	}
	pattern, err := regexp.Compile(c.String("run"))
	if err != nil {
		return nil, wrongCall("--run: %w", err)
	}
	all := len(tests)
	tests = slices.DeleteFunc(tests, func(t compiler.Test) bool { return !pattern.MatchString(t.Name) })
	if len(tests) == 0 {
		return nil, wrongCall("--run %q matches the name of none of %d tests", pattern, all)
	}
	return tests, nil
}

// place is a range as it can be opened from here.
func (conf *configuration) place(r diag.Range) diag.Range {
	r.File = conf.display(r.File)
	return r
}
