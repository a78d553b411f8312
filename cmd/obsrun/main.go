// An obsrun sleeps while its command runs: the limits of its own cgroup are not worth
// the reading of two mount tables in each run.
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0

// Command obsrun runs what is in verified releases, and nothing else. It is also
// the first process of every sandbox: what bubblewrap starts inside, and what
// then becomes the command. Its one rule: it reads releases and never a policy's
// text; flags are parsed by hand, so that it starts in about a millisecond.
package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"runtime/debug"

	"github.com/obspc/obspc/runtime"
)

// memoryLimit is when garbage is collected after all, in bytes of the Go run-time
// system: an ordinary run stays below it, with less it would not. Peak memory, to
// which the program's own pages come, is to stay below 20 MiB (design 11).
const memoryLimit = 14 << 20

func main() {
	if runtime.IsFirst(os.Args) {
		runtime.First(os.Args)
	}
	// A run allocates a few megabytes and ends: collecting them would only wake
	// threads. The limit holds for long runs.
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(memoryLimit)
	// What net/http has to say about servers' answers is theirs to choose; evidence has
	// what was decided.
	log.SetOutput(io.Discard)
	os.Exit(start(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// verb is one thing that obsrun does. Plain: it runs no command whose exit codes
// could be mistaken for its own, so those are the classes 1, 2 and 3.
type verb struct {
	name  string
	flags []flag
	do    func(*call) error
	help  string
	plain bool
}

var verbs = []verb{
	{"run", runFlags, runGoverned, runHelp, false},
	{"exec", execFlags, runDevelopment, execHelp, false},
	{"doctor", doctorFlags, examine, doctorHelp, true},
	{"proxy-connect", nil, connect, connectHelp, true},
	{"version", nil, printVersion, "Usage: obsrun version\n", false},
}

// call is one call of a verb.
type call struct {
	parsed
	stdin          io.Reader
	stdout, stderr io.Writer
	exit           int    // of a run that came to its end
	places         []byte // the policy's map: where its statements stand
}

// start is main without the process: it returns the exit code.
func start(args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(stderr, "obsrun: %v\n  = help: please report this; nothing was left running\n", p)
			code = runtime.ExitRefused
		}
	}()
	if len(args) == 0 {
		io.WriteString(stderr, overview)
		return runtime.ExitRefused
	}
	if args[0] == "help" || args[0] == "--help" || args[0] == "-h" {
		return help(args[1:], stdout, stderr)
	}
	for _, v := range verbs {
		if v.name == args[0] {
			return v.call(args[1:], stdin, stdout, stderr)
		}
	}
	return complain(stderr, wrongCall("%q is no command of obsrun; see obsrun help", args[0]))
}

func (v *verb) call(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	p, err := parse(v.flags, args)
	if err != nil {
		return v.complain(stderr, wrongCall("%s: %v; see obsrun help %s", v.name, err, v.name))
	}
	if p.help {
		io.WriteString(stdout, v.help)
		return 0
	}
	c := &call{parsed: p, stdin: stdin, stdout: stdout, stderr: stderr}
	if err := v.do(c); err != nil {
		return v.complain(stderr, err)
	}
	return c.exit
}

// complain says why nothing came of a call of the verb, and is its exit code.
func (v *verb) complain(w io.Writer, err error) int {
	code := complain(w, err)
	var r *runtime.Refusal
	switch {
	case !v.plain:
		return code
	case errors.As(err, &r):
		return int(r.Code)
	}
	return int(runtime.Machine)
}

// complain says why nothing came of a call, and is its exit code.
func complain(w io.Writer, err error) int {
	var r *runtime.Refusal
	if !errors.As(err, &r) {
		fmt.Fprintf(w, "obsrun: %v\n", err)
		return runtime.ExitRefused
	}
	fmt.Fprintf(w, "obsrun: %s\n", r.Message)
	if r.Help != "" {
		fmt.Fprintf(w, "  = help: %s\n", r.Help)
	}
	return r.Exit
}

// wrongCall is a call that cannot be understood.
func wrongCall(format string, args ...any) *runtime.Refusal {
	return &runtime.Refusal{Code: runtime.Input, Word: runtime.Refused, Exit: runtime.ExitRefused, Message: fmt.Sprintf(format, args...)}
}
