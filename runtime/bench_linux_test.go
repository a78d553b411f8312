package runtime_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/obspc/obspc/runtime"
	"github.com/obspc/obspc/verify/release"
)

// truePolicy runs /usr/bin/true with everything that is always on: Landlock,
// seccomp, typed arguments, a workspace.
const truePolicy = `
policy "p" {
  version   = 1
  extends   = ["std/base"]
  targets   = ["bwrap"]
  workspace = "shared"
  filesystem {
    write   = [workspace]
    execute = ["/usr/bin/true"]
  }
  command "true" {
    executable = "/usr/bin/true"
    arguments  = []
  }
}
`

// BenchmarkRun compares `obsrun run` of /usr/bin/true, evidence written, with bare
// bwrap and the same options (design 11, third row: at most 3). Interleaved pairs; the
// median of their ratios.
func BenchmarkRun(b *testing.B) { benchmarkRun(b, truePolicy) }

// BenchmarkRunEgress is the same with a proxy that is ready, and programs to tell apart.
func BenchmarkRunEgress(b *testing.B) {
	benchmarkRun(b, strings.Replace(truePolicy, "  command \"true\"", `  network {
    endpoint "service" {
      host        = "service.example"
      ports       = [443]
      executables = ["/usr/bin/true"]
    }
  }
  command "true"`, 1))
}

func benchmarkRun(b *testing.B, policy string) {
	if _, err := os.Stat(runtime.DefaultBwrap); err != nil {
		b.Skip("host feature missing: bubblewrap at " + runtime.DefaultBwrap)
	}
	obsrun := buildObsrun(b)
	dir, work := b.TempDir(), b.TempDir()
	files := compiled(b, policy, release.Input{Product: "test", Serial: 1})
	pins := filepath.Join(dir, "obspc.pins")
	if err := os.WriteFile(pins, pinned(files, "test").Format(), 0o644); err != nil {
		b.Fatal(err)
	}
	if err := release.Write(filepath.Join(dir, "release"), files); err != nil {
		b.Fatal(err)
	}
	stream, seccomp, err := runtime.Prepared(governed(b, policy), runtime.Job{Policy: "p", Command: "true", Workspace: runtime.Workspace{Dir: work}})
	if err != nil {
		b.Fatal(err)
	}
	runs := 0
	run := func() *exec.Cmd {
		runs++ // evidence that is there already would have to be removed
		return exec.Command(obsrun, "run", "p/true", "--release", filepath.Join(dir, "release"), "--pins", pins,
			"--workspace", work, "--evidence", filepath.Join(dir, fmt.Sprintf("evidence-%d.json", runs)))
	}
	var ratios []float64
	var ours, bare []time.Duration
	for b.Loop() {
		o, w := timed(b, run()), timed(b, bareBwrap(b, stream, seccomp))
		ours, bare = append(ours, o), append(bare, w)
		ratios = append(ratios, float64(o)/float64(w))
	}
	b.ReportMetric(median(ratios), "ratio")
	b.ReportMetric(float64(median(ours).Microseconds()), "obsrun-µs")
	b.ReportMetric(float64(median(bare).Microseconds()), "bwrap-µs")
	b.ReportMetric(0, "ns/op")
}

func buildObsrun(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "obspc-obsrun-")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { os.RemoveAll(dir) })
	os.Chmod(dir, 0o755)
	out := filepath.Join(dir, "obsrun")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", out, "github.com/obspc/obspc/cmd/obsrun")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("go build: %v\n%s", err, text)
	}
	return out
}

// bareBwrap is bwrap as obsrun starts it, but with the command itself inside.
func bareBwrap(tb testing.TB, stream, seccomp []byte) *exec.Cmd {
	tb.Helper()
	file := func(data []byte) *os.File {
		f, err := os.CreateTemp(tb.TempDir(), "")
		if err == nil {
			_, err = f.Write(data)
		}
		if err == nil {
			_, err = f.Seek(0, 0)
		}
		if err != nil {
			tb.Fatal(err)
		}
		return f
	}
	cmd := exec.Command(runtime.DefaultBwrap, "--args", "3", "--", "/usr/bin/true")
	cmd.ExtraFiles = []*os.File{runtime.ArgsFD - 3: file(stream), runtime.StatusFD - 3: file(nil), runtime.SeccompFD - 3: file(seccomp)}
	return cmd
}

func timed(tb testing.TB, cmd *exec.Cmd) time.Duration {
	tb.Helper()
	began := time.Now()
	text, err := cmd.CombinedOutput()
	took := time.Since(began)
	for _, f := range cmd.ExtraFiles {
		f.Close()
	}
	if err != nil {
		tb.Fatalf("%v: %v\n%s", cmd.Args, err, text)
	}
	return took
}

func median[T float64 | time.Duration](list []T) T {
	sorted := slices.Clone(list)
	slices.Sort(sorted)
	return sorted[len(sorted)/2]
}
