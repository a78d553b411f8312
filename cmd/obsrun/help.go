package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/obspc/obspc/runtime"
	"github.com/obspc/obspc/verify/release"
)

const overview = `obsrun runs commands of verified releases, each in a sandbox of its own.

Usage:
  obsrun run POLICY/COMMAND --release DIR --pins FILE [--arg NAME=VALUE]…
  obsrun doctor [--release DIR --pins FILE]
  obsrun proxy-connect HOST PORT
  obsrun version
  obsrun help [run|exec|doctor|proxy-connect]

Example:
  obsrun run payments/post-batch --release release --pins obspc.pins --arg batch_id=2026-11

Releases are compiled, pinned and inspected with obspc.
`

const runHelp = `Usage: obsrun run POLICY/COMMAND --release DIR --pins FILE [flags]

Verifies the release against the pins, then runs one of its governed commands.
The caller fills in the command's fields and nothing else.

  --release DIR       the release directory
  --pins FILE         what is accepted (made by obspc pin, committed by you)
  --arg NAME=VALUE    a field's value; again for each field, and for each element of a rest field
  --workspace DIR     the directory to work in, for policies with workspace = "shared"
                      (default: the current directory); other commands get a fresh one
  --evidence FILE     write what happened, as JSON; also when the run is refused
  --format text|json  json: the evidence on standard output, the command's own output on
                      standard error (default: text)
  --bwrap PATH        bubblewrap (default: /usr/bin/bwrap; PATH is never searched)

Standard output is the command's, or its typed result where the policy declares one.

Exit codes: the command's own; 124 the policy's timeout; 125 refused or failed, the
evidence says why; 126, 127 the command could not be started; 128 and the signal's
number when a signal ended it.

Examples:
  obsrun run payments/post-batch --release release --pins obspc.pins --arg batch_id=2026-11
  obsrun run site/build --release release --pins obspc.pins --workspace ~/site --evidence build.json
`

const execHelp = `Usage: obsrun exec --policy NAME (--release-fd N --pins-fd N | --release DIR --pins FILE) [flags] -- COMMAND ARG…

What obspc exec hands over to. The release has to be of product "local", and the
evidence says "development". Call obspc exec instead.

  --policy NAME            the policy to run under
  --release-fd, --pins-fd  descriptors of the packed release and of the pins
  --release, --pins        the same as paths
  --build VERSION          refuse unless this obsrun is of that build
  --workspace DIR|fresh    (default: what the policy says, else the current directory)
  --config-dir DIR         kept read-only inside a write
  --stdin                  give the command this standard input instead of /dev/null
  --tty                    give it a terminal of its own; standard input has to be one
  --trace                  say afterwards what failed because the policy denies it, and which
                           lines would allow it; confined exactly as without
  --trace-format text|json as text, or as JSON, on standard error; evidence has it too
  --observe                say afterwards what the proxy denied, and which rules would allow it;
                           a policy without endpoints gets a proxy that denies everything
  --observe-format text|json   as for --trace
  --evidence FILE, --format text|json, --bwrap PATH   as for run
`

// help prints the page of a verb, or the overview.
func help(args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		io.WriteString(stdout, overview)
		return 0
	}
	for _, v := range verbs {
		if v.name == args[0] && len(args) == 1 {
			io.WriteString(stdout, v.help)
			return 0
		}
	}
	fmt.Fprintf(stderr, "obsrun: there is no help about %s\n", strings.Join(args, " "))
	return runtime.ExitRefused
}

// printVersion prints the version, which the obspc of the same build shares.
func printVersion(c *call) error {
	if len(c.args) > 0 || c.dashes {
		return wrongCall("version takes no arguments")
	}
	fmt.Fprintf(c.stdout, "obsrun %s\n", release.Version)
	return nil
}
