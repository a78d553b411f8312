// Command mac-proof asks a Mac what its kernel does under the profiles of the
// repository's own policies, and writes docs/mac-proof.json. Its one rule: the file
// is written whatever the answers are, and one that allows too much exits 1.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/cmd/mac-proof/proof"
	"github.com/obspc/obspc/cmd/obspc/live"
)

// Exit codes: as obspc's (docs/cli.md).
const (
	exitNo      = 1
	exitInput   = 2
	exitMachine = 3
)

func main() {
	if code, is := live.Attempted(os.Args); is {
		os.Exit(code)
	}
	r := run{sandboxExec: live.SandboxExec, today: time.Now().UTC().Format(time.DateOnly), stdout: os.Stdout}
	flag.StringVar(&r.root, "root", ".", "the repository's `directory`")
	flag.StringVar(&r.out, "o", "docs/mac-proof.json", "write the record to `file`")
	flag.StringVar(&r.commit, "commit", "", "the `commit` that is tried, as git describe names it")
	flag.Parse()
	var err error
	if flag.NArg() > 0 || r.commit == "" {
		err = fmt.Errorf("the call is mac-proof -commit COMMIT; make mac-proof makes it")
		fmt.Fprintln(os.Stderr, "mac-proof:", err)
		os.Exit(exitInput)
	}
	if r.machine, err = machine(); err == nil {
		r.self, err = os.Executable()
	}
	code := exitMachine
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
		code, err = r.run(ctx)
		stop()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mac-proof:", err)
	}
	os.Exit(code)
}

// run is one call: what it asks of whom, and where the answers go.
type run struct {
	root, out, commit, today string
	machine                  proof.Machine
	sandboxExec              string
	self                     string // the program that attempts
	stdout                   io.Writer
}

// run asks everything, writes the record and says how it went.
func (r run) run(ctx context.Context) (int, error) {
	asked, err := subjects(r.root)
	if err != nil {
		return exitInput, err
	}
	if _, err := os.Stat(r.sandboxExec); err != nil {
		return exitMachine, err
	}
	self, err := filepath.EvalSymlinks(r.self)
	if err != nil {
		return exitMachine, err
	}
	bench, err := live.New(ctx, live.Options{Launcher: live.NewSeatbelt(r.sandboxExec), Self: self, Own: own, Staged: staged})
	if err != nil {
		return exitMachine, err
	}
	defer bench.Close()
	p := &proof.Proof{Schema: proof.Schema, MacOS: r.machine, Commit: r.commit, Date: r.today}
	for _, s := range asked {
		s.ask(bench, p)
	}
	if err := bench.Interrupted(); err != nil {
		return exitMachine, fmt.Errorf("interrupted, and nothing was written: %w", err)
	}
	p.Sort()
	text, err := p.Marshal()
	if err != nil {
		return exitMachine, err
	}
	if err := os.WriteFile(filepath.Join(r.root, r.out), text, 0o644); err != nil {
		return exitMachine, err
	}
	return r.report(p), nil
}

// report prints what stands out, and tells the exit code.
func (r run) report(p *proof.Proof) int {
	tried, escapes, rejected := p.Tried(), p.Escapes(), p.Rejected()
	fmt.Fprintf(r.stdout, "%s: macOS %s (%s), %s: %d policies, %d probes: %d tried, %d not tried\n",
		r.out, p.MacOS.Version, p.MacOS.Build, p.MacOS.Arch, len(p.Policies), len(p.Probes), tried, len(p.Probes)-tried)
	for _, policy := range p.Policies {
		if policy.Why != "" {
			fmt.Fprintf(r.stdout, "policy %s: %s\n", policy.Name, policy.Why)
		}
	}
	for _, list := range []struct {
		what   string
		probes []proof.Probe
	}{{"allowed by the kernel", escapes}, {"refused by the kernel", p.Tighter()}} {
		for _, q := range list.probes {
			fmt.Fprintf(r.stdout, "%s: %s: %s; the policy says %s, the model %s\n", list.what, q.Policy, q.Request, q.Decide, q.Model)
		}
	}
	switch {
	case len(escapes) > 0 || len(rejected) > 0:
		return exitNo
	case tried == 0:
		return exitMachine
	}
	return 0
}
