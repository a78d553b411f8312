package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/obspc/obspc/compiler"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/compiler/ir/propose"
	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/targets"
	"github.com/obspc/obspc/targets/seatbelt/violations"
)

// logFlags are those of explain --seatbelt-log.
func logFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "seatbelt-log", Usage: "explain each refusal in a log of macOS: `FILE`, or - for standard input"},
		&cli.StringSliceFlag{Name: "process", Usage: "of that log only the processes named `NAME`; may be repeated"},
	}
}

// explainLog says of each access that macOS logged as refused what the policy says,
// and which lines would allow it. This machine is not looked at.
func explainLog(c *cli.Context) error {
	path, err := oneArgument(c, "PATH and --seatbelt-log FILE, without a word")
	if err != nil {
		return err
	}
	asJSON, err := wantsJSON(c)
	if err != nil {
		return err
	}
	for _, other := range []string{"by", "why-not", "sbpl", "bwrap", "release", "param", "import-dir"} {
		if c.IsSet(other) {
			return wrongCall("--%s does not go with --seatbelt-log", other)
		}
	}
	binding, err := parseBinding(c.StringSlice("bind"))
	if err != nil {
		return err
	}
	text, err := readArtifact(c, c.String("seatbelt-log"), maxLog)
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
	for _, slot := range []ir.Root{ir.Workspace, ir.Home} {
		if _, bound := binding.At(slot); !bound && names(result.Policy, slot) {
			return wrongCall("the log has real paths, and policy %q names ${%s}: say where that was with --bind %s=PATH", result.Policy.Name, slot, slot)
		}
	}
	report, err := conf.logged(c, result, plain(binding), text)
	if err != nil {
		return err
	}
	if asJSON {
		_, err = c.App.Writer.Write(report.JSON())
		return err
	}
	report.Text(c.App.Writer, "")
	fmt.Fprintln(c.App.Writer, "note: nothing was looked up on a Mac, and these lines were never read on one: their form is from public reports")
	return nil
}

// names reports whether a rule of the policy starts in a slot.
func names(p *ir.Policy, slot ir.Root) bool {
	return slices.ContainsFunc(p.Files, func(r ir.FileRule) bool { return r.Path.Root() == slot }) ||
		slices.ContainsFunc(p.Execute, func(r ir.ExecuteRule) bool { return r.Path.Root() == slot })
}

// plain is a binding with paths as policies name them; the log has those that macOS
// resolved.
func plain(b ir.Binding) ir.Binding {
	for _, slot := range ir.Slots() {
		if at, bound := b.At(slot); bound {
			b = b.With(slot, violations.Plain(at))
		}
	}
	return b
}

// logged is the report about the refusals in a log.
func (conf *configuration) logged(c *cli.Context, result compiler.Result, binding ir.Binding, text []byte) (*propose.Report, error) {
	s := propose.Setting{Policy: result.Policy, Binding: binding, Keeps: compiles}
	list, unknown := violations.Parse(text)
	var accesses accesses
	var calls calls
	only := c.StringSlice("process")
	others := 0
	for _, v := range list {
		if v.Policy != "" && v.Policy != result.Policy.Name {
			others++
			continue
		}
		if len(only) > 0 && !slices.Contains(only, v.Process) {
			continue
		}
		if r, ok := v.Request(); ok && !v.System {
			accesses.add(propose.Access{Request: r, Program: v.Process, Errno: "EPERM", Count: v.Count})
		} else {
			calls.add(operationCall(v))
		}
	}
	if others > 0 {
		fmt.Fprintf(c.App.ErrWriter, "obspc: refusals in the log by profiles of other policies: %d\n", others)
	}
	found, err := propose.For(s, accesses.list)
	if err != nil {
		return nil, wrongCall("%w", err)
	}
	report := propose.NewReport(s, ir.Seatbelt, found, func(o ir.Origin) (string, int, bool) {
		at := result.Ranges[o]
		return conf.display(at.File), at.Start.Line, at.Start.Line > 0
	})
	denied := map[accessKey]bool{}
	for _, f := range found {
		denied[accessKey{f.Request, f.Program}] = true
	}
	for _, a := range accesses.list {
		if !denied[accessKey{a.Request, a.Program}] {
			report.Tighter = append(report.Tighter, propose.TriedOf(binding, a))
		}
	}
	report.Calls, report.Unread = append(report.Calls, calls.list...), unknown
	return report, nil
}

// compiles says why a policy would not compile, nil when it would.
func compiles(p *ir.Policy) error {
	for _, d := range targets.Compare(p, func(ir.Origin) diag.Range { return diag.Range{} }) {
		if d.Severity == diag.Error {
			return errors.New(d.Message)
		}
	}
	_, err := targets.Compile(p)
	return err
}

// systemLists are the lists of the system block that name what an operation is
// about.
var systemLists = map[string]string{
	"mach-lookup": "services", "sysctl-read": "sysctls", "iokit-open": "iokit", "iokit-open*": "iokit", "iokit-open-user-client": "iokit",
	"ipc-posix-shm-read-data": "ipc", "ipc-posix-shm-write-data": "ipc", "ipc-posix-shm-write-create": "ipc", "ipc-posix-sem": "ipc", "ipc-posix-sem*": "ipc", "ipc-posix-shm*": "ipc",
}

// operationCall is a refusal that no request word is about, or that is the system's.
func operationCall(v violations.Violation) propose.Call {
	call := propose.Call{Name: v.Operation, What: v.Target, Program: v.Process, Errno: "EPERM", Count: v.Count}
	if v.System {
		call.Name += " by the system's own policy, which no profile changes"
		return call
	}
	if list := systemLists[v.Operation]; list != "" && v.Target != "" {
		call.Add = []propose.Line{{List: list, Element: fmt.Sprintf("%q", v.Target)}}
	}
	return call
}

// accesses are different ones, each with its count.
type accesses struct {
	list []propose.Access
	at   map[accessKey]int
}

type accessKey struct {
	request ir.Request
	program string
}

func (s *accesses) add(a propose.Access) {
	key := accessKey{a.Request, a.Program}
	if i, have := s.at[key]; have {
		s.list[i].Count += a.Count
		return
	}
	if s.at == nil {
		s.at = map[accessKey]int{}
	}
	s.at[key] = len(s.list)
	s.list = append(s.list, a)
}

// calls are different ones, each with its count.
type calls struct {
	list []propose.Call
	at   map[[3]string]int
}

func (s *calls) add(c propose.Call) {
	key := [3]string{c.Name, c.What, c.Program}
	if i, have := s.at[key]; have {
		s.list[i].Count += c.Count
		return
	}
	if s.at == nil {
		s.at = map[[3]string]int{}
	}
	s.at[key] = len(s.list)
	s.list = append(s.list, c)
}
