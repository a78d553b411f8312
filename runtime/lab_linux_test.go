package runtime_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/obspc/obspc/compiler"
	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/policies"
	"github.com/obspc/obspc/runtime"
	"github.com/obspc/obspc/targets"
	"github.com/obspc/obspc/verify"
	"github.com/obspc/obspc/verify/release"
)

// TestMain lets the test's own binary be what obsrun is: the first process of a
// sandbox, and beside that the probe that attempts things inside.
func TestMain(m *testing.M) {
	if runtime.IsFirst(os.Args) {
		runtime.First(os.Args)
	}
	standIn()
	if len(os.Args) > 1 && os.Args[1] == probeWord {
		os.Exit(probe(os.Args[2:]))
	}
	os.Exit(inLab(m))
}

// probePath is a copy of the test's own binary that every user may start. It
// stands outside /tmp, which a sandbox with a tmp slot does not show.
var probePath string

func inLab(m *testing.M) int {
	dir, err := os.MkdirTemp("/var/tmp", "obspc-runtime-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	probePath = filepath.Join(dir, "probe")
	runtime.UseRegistry(filepath.Join(dir, "registry"))
	text, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = errors.Join(os.WriteFile(probePath, text, 0o755), os.Chmod(dir, 0o755))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// needSandbox skips where the machine lacks what every sandbox needs.
func needSandbox(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(runtime.DefaultBwrap); err != nil {
		t.Skip("host feature missing: bubblewrap at " + runtime.DefaultBwrap)
	}
}

// policy is HCL text of one policy "p" that extends std/base and may run the
// probe; body is what is special about it. $W is the test's own directory.
func policy(t testing.TB, body string) string {
	return fmt.Sprintf(`
policy "p" {
  version = 1
  extends = ["std/base", template.probe]
  targets = ["bwrap"]
  %s
}
template "probe" {
  filesystem {
    read    = [%q]
    execute = [%q]
  }
}`, body, probePath, probePath)
}

// compiled is the release files of HCL text.
func compiled(t testing.TB, text string, in release.Input) []release.File {
	t.Helper()
	config, diags := lang.Parse(lang.Sources{"p.policy.hcl": []byte(text)}, lang.Options{})
	if diags.HasErrors() {
		t.Fatalf("lang.Parse(%s) = %v", text, diags)
	}
	results, diags := compiler.Compile(config, compiler.Options{Library: library(t), LibraryNames: policies.Names()})
	if diags.HasErrors() {
		t.Fatalf("compiler.Compile(%s) = %v", text, diags)
	}
	for _, r := range results {
		artifacts, err := targets.Compile(r.Policy)
		if err != nil {
			t.Fatalf("targets.Compile = %v", err)
		}
		p := release.Policy{Name: r.Policy.Name}
		for _, a := range artifacts {
			p.Artifacts = append(p.Artifacts, release.Made{Name: a.Name, Kind: a.Kind, Target: string(a.Target), Data: a.Data})
		}
		in.Policies = append(in.Policies, p)
	}
	in.Compiler = release.Version
	files, err := release.Build(in)
	if err != nil {
		t.Fatalf("release.Build = %v", err)
	}
	return files
}

func library(t testing.TB) func(string) (*lang.Body, bool) {
	return func(name string) (*lang.Body, bool) {
		file, text, ok := policies.Source(name)
		if !ok {
			return nil, false
		}
		config, diags := lang.Parse(lang.Sources{file: text}, lang.Options{Library: true})
		if diags.HasErrors() {
			t.Fatalf("%s does not parse: %v", name, diags)
		}
		return config.Templates[0], true
	}
}

// pinned accepts exactly these files.
func pinned(files []release.File, product string) *release.Pins {
	p := &release.Pins{Product: product, NoExpiry: true}
	for _, f := range files {
		if f.Name == release.SumsName {
			p.Sums = []release.Digest{release.Sum(f.Data)}
		}
	}
	return p
}

// development is a verified release of text, as obspc exec makes it.
func development(t testing.TB, text string) *verify.Verified {
	t.Helper()
	files := compiled(t, text, release.Input{})
	v, report := verify.Open(verify.Memory(files), verify.Trust{Pins: pinned(files, release.LocalProduct), Now: time.Now(), Development: true})
	if v == nil {
		t.Fatalf("verify.Open = %s", report)
	}
	return v
}

// governed is a verified release of text, as obsrun run reads it.
func governed(t testing.TB, text string) *verify.Verified {
	t.Helper()
	files := compiled(t, text, release.Input{Product: "test", Serial: 1})
	v, report := verify.Open(verify.Memory(files), verify.Trust{Pins: pinned(files, "test"), Now: time.Now()})
	if v == nil {
		t.Fatalf("verify.Open = %s", report)
	}
	return v
}

// ran is what came of one run.
type ran struct {
	*runtime.Outcome
	err            error
	stdout, stderr string
}

func (r ran) refusal() *runtime.Refusal {
	var refusal *runtime.Refusal
	errors.As(r.err, &refusal)
	return refusal
}

func (r ran) String() string {
	text, _ := json.Marshal(r.Evidence)
	return fmt.Sprintf("exit %d, error %v\nstdout %q\nstderr %q\nevidence %s", r.Exit, r.err, r.stdout, r.stderr, text)
}

// start runs a job and checks what holds for every run: evidence that agrees
// with the outcome, nothing of the sandbox alive, nothing left behind.
func start(t testing.TB, ctx context.Context, v *verify.Verified, job runtime.Job) ran {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if job.Stdout == nil {
		job.Stdout = &stdout
	}
	if job.Stderr == nil {
		job.Stderr = &stderr
	}
	if job.Policy == "" {
		job.Policy = "p"
	}
	out, err := runtime.Start(ctx, v, job)
	r := ran{out, err, stdout.String(), stderr.String()}
	e := out.Evidence
	if e.Schema != runtime.EvidenceSchema || e.Outcome == "" || e.Finished == "" || e.ExitCode != out.Exit {
		t.Errorf("evidence does not say what happened: %s", r)
	}
	if len(e.Cleanup.Faults) > 0 {
		t.Errorf("cleaning up failed: %q", e.Cleanup.Faults)
	}
	if left, _ := filepath.Glob("/tmp/obspc-workspace-*"); len(left) > 0 && e.Workspace == "fresh" && contains(left, e.Binding["workspace"]) {
		t.Errorf("the fresh workspace %s is still there", e.Binding["workspace"])
	}
	return r
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}

// probed is a development run of the probe in the workspace dir.
func probed(t testing.TB, v *verify.Verified, dir string, words ...string) ran {
	t.Helper()
	return start(t, context.Background(), v, runtime.Job{
		Argv: append([]string{probePath, probeWord}, words...), Development: true, Workspace: runtime.Workspace{Dir: dir},
	})
}
