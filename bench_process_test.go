package obspc_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// BenchmarkVerifyProcess is obspc verify of a signed and pinned release of one policy,
// the whole process, beside an empty Go program and obspc version, in turns: what the
// program's start costs, and what verifying does. It is to be less than 60 ms. Medians;
// cpu-ms is the time of all processors, which a busy machine leaves nearer to the truth.
func BenchmarkVerifyProcess(b *testing.B) {
	bin, dir := programs(b), b.TempDir()
	obspc := filepath.Join(bin, "obspc")
	empty := filepath.Join(dir, "empty")
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	write("p.policy.hcl", attacked)
	write("empty.go", "package main\n\nfunc main() {}\n")
	run := func(words ...string) (wall, cpu time.Duration) {
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "OBSPC_PASSWORD="+attackPassword, "CGO_ENABLED=0")
		start := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v: %v\n%s", words, err, out)
		}
		return time.Since(start), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	run("go", "build", "-trimpath", "-ldflags=-s -w -buildid=", "-o", empty, "empty.go")
	run(obspc, "compile", "p.policy.hcl", "-o", "release", "--product", "acme", "--serial", "7", "--created", "2026-01-01T00:00:00Z", "--expires", "2099-01-01T00:00:00Z")
	run(obspc, "keygen", "key")
	run(obspc, "sign", "release", "--key", "key.key")
	run(obspc, "pin", "release", "--key", "key.pub")
	calls := []struct {
		name  string
		words []string
	}{{"empty", []string{empty}}, {"version", []string{obspc, "version"}}, {"verify", []string{obspc, "verify", "release", "--pins", "obspc.pins"}}}
	walls, cpus := make([][]time.Duration, len(calls)), make([][]time.Duration, len(calls))
	for b.Loop() {
		for i, c := range calls {
			wall, cpu := run(c.words...)
			walls[i], cpus[i] = append(walls[i], wall), append(cpus[i], cpu)
		}
	}
	median := func(d []time.Duration) float64 {
		slices.Sort(d)
		return float64(d[len(d)/2].Microseconds()) / 1000
	}
	for i, c := range calls {
		b.ReportMetric(median(walls[i]), "ms/"+c.name)
		b.ReportMetric(median(cpus[i]), "cpu-ms/"+c.name)
	}
}
