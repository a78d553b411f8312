// Command obspc is the toolchain's command line: it reads policies, compiles,
// explains, verifies and hands what passed to obsrun. Its one rule: results on
// standard output and nothing but results, everything else on standard error,
// and an exit code that means what docs/cli.md says. It starts no sandbox.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/obspc/obspc/cmd/obspc/live"
	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/lang/diag"
)

// Exit codes of design 9.
const (
	exitNo      = 1 // the answer is no
	exitInput   = 2 // the input or the call is wrong
	exitMachine = 3 // the machine cannot
	exitRefused = 125
	exitBug     = 70
)

func main() {
	if code, is := live.Attempted(os.Args); is {
		os.Exit(code)
	}
	collectLess()
	os.Exit(run(os.Args, os.Stdin, os.Stdout, os.Stderr))
}

// heapGrowth is by how much of what lives the heap may grow before it is collected, in
// percent. Most calls end before it matters, and a fifth of what verify did at Go's own
// 100 was collecting; large inputs are held by heapLimit, in bytes, as before.
const (
	heapGrowth = 400
	heapLimit  = 512 << 20
)

// collectLess sets these, unless the caller has set the like.
func collectLess() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(heapGrowth)
		debug.SetMemoryLimit(heapLimit)
	}
}

// exitError ends a command with a code. A nil Err means that everything has been
// said already.
type exitError struct {
	Code int
	Err  error
}

func (e *exitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit %d", e.Code)
	}
	return e.Err.Error()
}

func (e *exitError) Unwrap() error { return e.Err }

// wrongCall is the error of a call that cannot be understood.
func wrongCall(format string, args ...any) error {
	return &exitError{exitInput, fmt.Errorf(format, args...)}
}

// run is main without the process: it returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	defer func() {
		if r := recover(); r != nil {
			code = reportBug(stderr, r)
		}
	}()
	app := newApp(stdin, stdout, stderr)
	ordered, rest, err := flagsFirst(app, args)
	if err == nil {
		app.Metadata = map[string]any{restKey: rest}
		missing := ""
		app.CommandNotFound = func(_ *cli.Context, name string) { missing = name }
		if err = app.Run(ordered); err == nil && missing != "" {
			err = unknownCommand(app, missing)
		}
	}
	if err == nil {
		return 0
	}
	var ended *exitError
	if !errors.As(err, &ended) {
		ended = &exitError{exitInput, err} // what cli itself raises is about the call
	}
	if said := ended.said(); said != nil {
		fmt.Fprintf(stderr, "obspc: %s\n", diag.Visible(said.Error()))
	}
	return ended.Code
}

// said is what is left to say: nothing when the innermost error was shown in
// another way.
func (e *exitError) said() error {
	var inner *exitError
	if errors.As(e.Err, &inner) {
		return inner.said()
	}
	return e.Err
}

// reportBug says that obspc itself is wrong, and where.
func reportBug(stderr io.Writer, r any) int {
	var bug diag.BugError
	if err, ok := r.(error); !ok || !errors.As(err, &bug) {
		bug = diag.BugError{What: fmt.Sprint(r)}
	}
	fmt.Fprintf(stderr, "obspc: %v\nThis is a fault of obspc, not of your policy. Please report it with the text below.\n\n%s", bug, debug.Stack())
	return exitBug
}

func newApp(stdin io.Reader, stdout, stderr io.Writer) *cli.App {
	return &cli.App{
		Name:                      "obspc",
		Usage:                     "say once what a command may do, see what that becomes, prove it, refuse the rest",
		Description:               appDescription,
		Reader:                    stdin,
		Writer:                    stdout,
		ErrWriter:                 stderr,
		HideVersion:               true,
		DisableSliceFlagSeparator: true, // a path may hold a comma
		ExitErrHandler:            func(*cli.Context, error) {},
		OnUsageError:              func(_ *cli.Context, err error, _ bool) error { return wrongCall("%w", err) },
		Action: func(c *cli.Context) error {
			if name := c.Args().First(); name != "" {
				return unknownCommand(c.App, name)
			}
			c.App.Writer = c.App.ErrWriter
			if err := cli.ShowAppHelp(c); err != nil {
				return err
			}
			return &exitError{Code: exitInput}
		},
		Commands: commands(),
	}
}

// commands lists the subcommands. An unknown flag is refused before cli sees it
// (flagsFirst), and of a value that is none cli is told to say so and no more: it
// answers with the whole help text on standard output.
func commands() []*cli.Command {
	list := []*cli.Command{
		validateCommand(), compileCommand(), explainCommand(), testCommand(), matrixCommand(), pinCommand(), verifyCommand(), execCommand(), diffCommand(),
		goldenCommand(), lintCommand(), rulesCommand(), keygenCommand(), signCommand(), doctorCommand(), evidenceCommand(), versionCommand(),
	}
	for _, cmd := range list {
		cmd.OnUsageError = func(_ *cli.Context, err error, _ bool) error {
			if cmd.Name == "exec" {
				return refusedAs125(wrongCall("%w", err))
			}
			return wrongCall("%w", err)
		}
	}
	return list
}

const appDescription = `A policy says what one command may do. obspc compiles it to what the system
enforces, and only what was verified runs:

   obspc validate .                           does it parse and mean something
   obspc explain . read /etc/shadow           what is the answer, and which line gives it
   obspc lint .                               is it wise
   obspc test .                               do the policies do what their tests say
   obspc matrix .                             which layer enforces which rule
   obspc diff old/ new/                       what changed in meaning
   obspc rules . --rules house                does the house allow it
   obspc golden . --dir golden                what changed in the files that reviewers have seen
   obspc compile . -o release                 make the artifacts
   obspc verify release --pins obspc.pins     may they be used
   obspc doctor .                             can this machine keep them
   obspc exec -- make test                    run a command under the policy, here and now
   obspc evidence evidence.json               what a run asked its proxy

Every command has --help with examples.`

// unknownCommand suggests the nearest command.
func unknownCommand(app *cli.App, name string) error {
	var names []string
	for _, c := range app.Commands {
		names = append(names, c.Name)
	}
	return wrongCall("there is no command %q; %s", name, suggestion(name, names, "obspc --help lists them"))
}

// suggestion is the word that name is a slip of, or what else to do.
func suggestion(name string, candidates []string, otherwise string) string {
	if help := lang.DidYouMean(name, candidates); strings.HasPrefix(help, "did you mean") {
		return help
	}
	return otherwise
}
