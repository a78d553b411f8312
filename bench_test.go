package obspc_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/obspc/obspc/targets"
	"github.com/obspc/obspc/verify"
	"github.com/obspc/obspc/verify/release"
)

// BenchmarkVerifyPolicies verifies policies as houses have them, in releases of 250:
// from directories, pinned, with the proof of every artifact. The time of 1,000 is
// to be less than 20 s on two cores, and four times that of 250. cpu-s is the time
// of all processors, which says the same on a busy machine.
func BenchmarkVerifyPolicies(b *testing.B) {
	for _, n := range []int{250, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var dirs []string
			var trusts []verify.Trust
			for at := 0; at < n; at += 250 {
				dir, trust := manyPolicies(b, at, 250)
				dirs, trusts = append(dirs, dir), append(trusts, trust)
			}
			before, rounds := processorTime(b), 0.0
			for b.Loop() {
				rounds++
				for i, dir := range dirs {
					if v, report := verify.Open(verify.Dir(dir), trusts[i]); v == nil {
						b.Fatal(report)
					}
				}
			}
			b.ReportMetric((processorTime(b)-before).Seconds()/rounds, "cpu-s")
		})
	}
}

// processorTime is what this process has used so far.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func manyPolicies(b *testing.B, from, n int) (string, verify.Trust) {
	b.Helper()
	var text strings.Builder
	for i := from; i < from+n; i++ {
		fmt.Fprintf(&text, "policy \"p%d\" {\n  version = 1\n  extends = [\"std/base\"]\n  filesystem {\n    read  = [\"/srv/house-%d\"]\n    write = [workspace]\n    deny  = [\"${workspace}/.env\"]\n    execute = [\"/usr/bin/true\"]\n  }\n}\n", i, i)
	}
	dir := b.TempDir()
	in := release.Input{Product: "house", Serial: 1, Compiler: release.Version}
	results, diags := compileText(b, "p.policy.hcl", []byte(text.String()))
	if diags.HasErrors() {
		b.Fatal(diags)
	}
	for _, r := range results {
		artifacts, err := targets.Compile(r.Policy)
		if err != nil {
			b.Fatal(err)
		}
		p := release.Policy{Name: r.Policy.Name}
		for _, a := range artifacts {
			p.Artifacts = append(p.Artifacts, release.Made{Name: a.Name, Kind: a.Kind, Target: string(a.Target), Data: a.Data})
		}
		in.Policies = append(in.Policies, p)
	}
	files, err := release.Build(in)
	if err != nil {
		b.Fatal(err)
	}
	pins := &release.Pins{Product: "house", Serial: 1, NoExpiry: true}
	for _, f := range files {
		if f.Name == release.SumsName {
			pins.Sums = []release.Digest{release.Sum(f.Data)}
		}
	}
	if err := release.Write(filepath.Join(dir, "release"), files); err != nil {
		b.Fatal(err)
	}
	return filepath.Join(dir, "release"), verify.Trust{Pins: pins, Now: time.Now()}
}

var initialised = regexp.MustCompile(`(?m)^init (github\.com/obspc/obspc/\S+) @.* clock, (\d+) bytes, (\d+) allocs$`)

// TestStartsLight: what our own packages make before main is paid by every call,
// whatever it asks. Bytes are the same on every machine, and time follows them.
func TestStartsLight(t *testing.T) {
	bin := programs(t)
	for program, most := range map[string]int{"obspc": 512 << 10, "obsrun": 256 << 10} {
		cmd := exec.Command(filepath.Join(bin, program), "version")
		cmd.Env = []string{"GODEBUG=inittrace=1"}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s version: %v\n%s", program, err, out)
		}
		total := 0
		for _, m := range initialised.FindAllStringSubmatch(string(out), -1) {
			n, err := strconv.Atoi(m[2])
			if err != nil {
				t.Fatal(err)
			}
			total += n
		}
		if total == 0 || total > most {
			t.Errorf("%s makes %d bytes before main, want some and at most %d:\n%s", program, total, most, out)
		}
	}
}
