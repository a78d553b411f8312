package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/runtime"
	"github.com/obspc/obspc/runtime/proxy"
	"github.com/obspc/obspc/verify"
	"github.com/obspc/obspc/verify/release"
)

var runFlags = []flag{
	{name: "--release", value: "DIR"}, {name: "--pins", value: "FILE"}, {name: "--arg", value: "NAME=VALUE", many: true},
	{name: "--workspace", value: "DIR"}, {name: "--evidence", value: "FILE"}, {name: "--format", value: "text|json"},
	{name: "--bwrap", value: "PATH"},
}

// runGoverned runs a governed command of a release.
func runGoverned(c *call) error {
	job := runtime.Job{Bwrap: c.get("--bwrap"), Workspace: runtime.Workspace{Dir: c.get("--workspace")}}
	if len(c.args) != 1 || c.dashes {
		return wrongCall("run takes one POLICY/COMMAND, and its fields with --arg; see obsrun help run")
	}
	var ok bool
	if job.Policy, job.Command, ok = strings.Cut(c.args[0], "/"); !ok {
		return c.bareCommand(c.args[0])
	}
	if c.has("--workspace") && c.get("--workspace") == "" {
		return wrongCall("--workspace wants a directory")
	}
	var err error
	if job.Fields, err = fields(c.values["--arg"]); err != nil {
		return err
	}
	switch {
	case !c.has("--release"):
		return wrongCall("run wants --release DIR and --pins FILE; running from a provisioned store is not in this version")
	case !c.has("--pins"):
		r := wrongCall("run wants --pins FILE, which says what release is accepted")
		r.Help = "make it with obspc pin " + c.get("--release") + ", and commit it where the release is used"
		return r
	}
	job.Trusted = []string{c.get("--release"), c.get("--pins")}
	return c.execute(job, func() (verify.Source, []byte, error) {
		pins, err := readPins(c.get("--pins"))
		return verify.Dir(c.get("--release")), pins, err
	})
}

// bareCommand refuses a call that names no policy, and names those that have such
// a command.
func (c *call) bareCommand(name string) error {
	r := wrongCall("%q is no POLICY/COMMAND", name)
	if !c.has("--release") || !c.has("--pins") {
		return r
	}
	data, err := readPins(c.get("--pins"))
	if err != nil {
		return r
	}
	pins, err := release.ParsePins(data)
	if err != nil {
		return r
	}
	v, _ := verify.Open(verify.Dir(c.get("--release")), verify.Trust{Pins: pins, Now: time.Now()})
	if v == nil {
		return r
	}
	var have []string
	for _, p := range v.Policies() {
		linux := v.Linux(p)
		if linux == nil || linux.Plan == nil {
			continue
		}
		if _, ok := linux.Plan.Command(name); ok {
			have = append(have, p+"/"+name)
		}
	}
	if len(have) > 0 {
		r.Help = "did you mean " + strings.Join(have, ", or ") + "?"
	}
	return r
}

// fields are the values of --arg NAME=VALUE.
func fields(args []string) (map[string][]string, error) {
	out := map[string][]string{}
	for _, a := range args {
		name, value, ok := strings.Cut(a, "=")
		if !ok {
			// The text may be a value, which does not belong on the screen.
			return nil, wrongCall("--arg wants NAME=VALUE")
		}
		out[name] = append(out[name], value)
	}
	return out, nil
}

// maxPins bounds a pins file, in bytes.
const maxPins = 1 << 20

func readPins(path string) ([]byte, error) {
	data, fault, _ := verify.ReadTrusted(path, maxPins)
	if fault == nil {
		return data, nil
	}
	r := wrongCall("pins: %s; nothing was started", fault)
	if fault.Reason == verify.UnsafeFile {
		r.Code = runtime.No
	}
	return nil, r
}

func readAll(what string, r io.Reader, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return nil, wrongCall("%s: %v", what, err)
	}
	if int64(len(data)) > most {
		return nil, wrongCall("%s is longer than %d bytes", what, most)
	}
	return data, nil
}

// execute verifies a release, runs the job and leaves evidence of whatever came
// of it.
func (c *call) execute(job runtime.Job, open func() (verify.Source, []byte, error)) error {
	asJSON := c.get("--format") == "json"
	if f := c.get("--format"); f != "" && f != "text" && f != "json" {
		return wrongCall("--format is text or json, not %q", f)
	}
	if err := usableUmask(); err != nil {
		return err
	}
	job.Stdout, job.Stderr = c.stdout, c.stderr
	job.Notice = func(what string) { fmt.Fprintf(c.stderr, "obsrun: note: %s\n", what) }
	if asJSON {
		job.Stdout = c.stderr
	}
	var sink *runtime.Sink
	if c.has("--evidence") {
		err := c.apart(c.get("--evidence"))
		if err != nil {
			return err
		}
		if sink, err = runtime.OpenSink(c.get("--evidence")); err != nil {
			return wrongCall("%v", err)
		}
	}
	outcome, err := c.verified(job, open)
	err = c.print(outcome, err, asJSON)
	if sink != nil {
		if failed := sink.Write(outcome.Evidence); failed != nil {
			fmt.Fprintf(c.stderr, "obsrun: %v\n", failed)
			if err == nil {
				outcome.Exit = runtime.ExitRefused
			}
		}
	}
	c.trace(job, outcome)
	c.observed(outcome)
	if err != nil {
		return err
	}
	c.explain(outcome)
	c.exit = outcome.Exit
	return nil
}

// usableUmask refuses a umask under which obsrun could not open again what it makes.
// The command has the caller's.
func usableUmask() error {
	const owner = 0o700
	umask := syscall.Umask(owner >> 3)
	syscall.Umask(umask)
	if umask&owner == 0 {
		return nil
	}
	r := wrongCall("the umask %04o takes permissions away from the owner of files, and obsrun has to open again what it makes", umask)
	r.Help = fmt.Sprintf("umask %04o", umask&^owner)
	return r
}

// print writes what a run came to; failed is why it came to nothing, if so. A result
// that reached nobody is no success, and evidence is to say so.
func (c *call) print(outcome *runtime.Outcome, failed error, asJSON bool) error {
	var text []byte
	switch {
	case asJSON:
		text = outcome.Evidence.JSON()
	case failed == nil && outcome.Result != nil:
		text = append(slices.Clone(outcome.Result), '\n')
	default:
		return failed
	}
	_, err := c.stdout.Write(text)
	if err == nil || failed != nil {
		return failed
	}
	lost := &runtime.Refusal{
		Code: runtime.Machine, Word: outcome.Evidence.Outcome, Exit: cmp.Or(outcome.Exit, runtime.ExitRefused),
		Message: fmt.Sprintf("the result could not be written: %v", err),
	}
	outcome.Evidence.Refused(lost)
	return lost
}

// apart refuses evidence that would change what is verified: a file of the release,
// or in it, where every file is listed; the pins.
func (c *call) apart(evidence string) error {
	if pins, err := os.Stat(c.get("--pins")); err == nil {
		if there, err := os.Stat(evidence); err == nil && os.SameFile(there, pins) {
			return wrongCall("--evidence %s would replace the pins; name another file", evidence)
		}
	}
	dir, err := os.Stat(c.get("--release"))
	if err != nil || c.get("--release") == "" {
		return nil // told when it is opened
	}
	at, err := filepath.Abs(filepath.Dir(evidence))
	if err == nil {
		at, err = filepath.EvalSymlinks(at)
	}
	for err == nil {
		above, failed := os.Stat(at)
		if failed == nil && os.SameFile(above, dir) {
			return wrongCall("--evidence %s lies in the release, whose files are all listed; name a file elsewhere", evidence)
		}
		if filepath.Dir(at) == at {
			break
		}
		at = filepath.Dir(at)
	}
	return nil // OpenSink tells what is wrong with the directory
}

// trace writes what was seen, or says how to see it.
func (c *call) trace(job runtime.Job, o *runtime.Outcome) {
	switch e := o.Evidence; {
	case e.Trace == nil:
		ended := e.Outcome == runtime.Exited || e.Outcome == runtime.Signaled || e.Outcome == runtime.ExecFailed
		if job.Development && !job.Trace && ended && o.Exit != 0 && len(e.Undelivered()) == 0 {
			fmt.Fprintf(c.stderr, "obsrun: exit code %d; obspc exec --trace … shows what the policy denied\n", o.Exit)
		}
	case c.get("--trace-format") == "json":
		c.stderr.Write(e.Trace.JSON())
	default:
		e.Trace.Text(c.stderr, "obsrun: trace: ")
	}
}

// observed writes what the proxy denied and what would allow it.
func (c *call) observed(o *runtime.Outcome) {
	switch report := o.Evidence.Observed; {
	case report == nil:
	case c.get("--observe-format") == "json":
		c.stderr.Write(report.JSON())
	default:
		report.Text(c.stderr, "obsrun: observe: ")
	}
}

// verified runs the job if the release passes.
func (c *call) verified(job runtime.Job, open func() (verify.Source, []byte, error)) (*runtime.Outcome, error) {
	src, data, err := open()
	if err != nil {
		return refused(job, err)
	}
	pins, err := release.ParsePins(data)
	if err != nil {
		return refused(job, wrongCall("%v", err))
	}
	v, report := verify.Open(src, verify.Trust{Pins: pins, Now: time.Now(), Only: []string{job.Policy}, Development: job.Development})
	if v == nil {
		return refused(job, c.notVerified(report))
	}
	for _, w := range report.Warnings {
		c.warn(w)
	}
	ctx, stop := interruptible(job.Terminal)
	defer stop()
	return runtime.Start(ctx, v, job)
}

// notVerified shows why a release may not be used.
func (c *call) notVerified(report *verify.Report) *runtime.Refusal {
	fmt.Fprint(c.stderr, report)
	r := wrongCall("the release is not verified, so nothing was started")
	r.Code = runtime.Code(report.ExitCode())
	return r
}

func (c *call) warn(what string) { fmt.Fprintf(c.stderr, "obsrun: warning: %s\n", what) }

// refused is the outcome of a run before there was a verified release.
func refused(job runtime.Job, err error) (*runtime.Outcome, error) {
	r, ok := err.(*runtime.Refusal)
	if !ok {
		r = wrongCall("%v", err)
	}
	e := runtime.NewEvidence(job.Development)
	e.Policy, e.Command = job.Policy, job.Command
	e.Refused(r)
	return &runtime.Outcome{Exit: r.Exit, Evidence: e}, r
}

// explain says on standard error what an exit code alone does not.
func (c *call) explain(o *runtime.Outcome) {
	e := o.Evidence
	if e.EndedBy != "" {
		fmt.Fprintf(c.stderr, "obsrun: %s; %s\n", e.Reason, e.Help)
	}
	for _, s := range []struct {
		name, limit string
		of          *runtime.StreamEvidence
	}{{"output", "stdout", e.Stdout}, {"error output", "stderr", e.Stderr}} {
		if s.of != nil && s.of.Truncated {
			fmt.Fprintf(c.stderr, "obsrun: %s was cut off: %d of %d bytes passed; raise limits.%s\n", s.name, s.of.Passed, s.of.Bytes, s.limit)
		}
	}
	for _, lost := range e.Undelivered() {
		if e.Mode == runtime.Governed || !strings.HasSuffix(lost, syscall.EPIPE.Error()) {
			fmt.Fprintf(c.stderr, "obsrun: %s\n", lost)
		}
	}
	for _, l := range e.Limits {
		if l.Reached && l.Name != e.EndedBy && l.Name != string(ir.Stdout) && l.Name != string(ir.Stderr) {
			fmt.Fprintf(c.stderr, "obsrun: %s limit of %s reached; raise %s\n", l.Name, l.Amount(), l.Attribute())
		}
	}
	if e.Mode == runtime.Development && e.Observed == nil {
		c.explainEgress(e.Egress)
	}
	for _, fault := range e.Cleanup.Faults {
		fmt.Fprintf(c.stderr, "obsrun: cleaning up: %s\n", fault)
	}
}

// explainEgress writes the first thing that the proxy denied, and the first that it
// allowed and could not do.
func (c *call) explainEgress(e *runtime.EgressEvidence) {
	for _, s := range []struct {
		decision, says, then string
		count                func() int64
	}{
		{proxy.Denied, "denied", "obspc exec --observe … shows what would allow it, ", func() int64 { return e.Denied }},
		{proxy.Failed, "failed", "", func() int64 { return e.Failed }},
	} {
		first := e.First(s.decision)
		if first == nil {
			continue
		}
		more := ""
		if n := s.count(); n > 1 {
			more = fmt.Sprintf(" (the first of %d)", n)
		}
		fmt.Fprintf(c.stderr, "obsrun: the proxy %s: %s%s; %s--evidence FILE lists what it decided\n", s.says, first.Reason, more, s.then)
	}
}

// hardStop is how long a run that was told to stop may take to kill the sandbox,
// clean up and report. It takes milliseconds, or a second where much is to be
// removed; a file system that does not answer would hold it for ever.
const hardStop = 5 * time.Second

// interruptible is a context that the first signal to stop ends. The sandbox is
// then killed, cleaned up and reported. It dies with this process in any case. The
// caller's terminal gets its settings back either way.
func interruptible(terminal *runtime.Terminal) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	ch := make(chan os.Signal, 4)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		if !signal.Ignored(s) { // nohup(1) means it
			signal.Notify(ch, s)
		}
	}
	// A reader that goes away is no reason to die without cleaning up.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	go func() {
		for s := range ch {
			if n, ok := s.(syscall.Signal); ok && ctx.Err() == nil {
				cancel(runtime.Interrupt{Signal: int(n)})
				time.AfterFunc(hardStop, func() { giveUp(n, terminal) })
			}
		}
	}()
	return ctx, func() { signal.Stop(ch); cancel(nil) }
}

// giveUp ends this process whatever holds it up, standard error included.
func giveUp(s syscall.Signal, terminal *runtime.Terminal) {
	terminal.Restore()
	go fmt.Fprintf(os.Stderr, "obsrun: %v: gave up cleaning after %v\n", s, hardStop)
	time.Sleep(100 * time.Millisecond)
	os.Exit(128 + int(s))
}
