package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir/propose"
	"github.com/obspc/obspc/runtime"
	"github.com/obspc/obspc/verify/release"
)

const tracedText = `
policy "p" {
  version = 1
  extends = ["std/base"]
  targets = ["bwrap"]
  filesystem {
    write   = [workspace]
    deny    = ["${workspace}/hidden"]
    execute = ["/usr/bin/cat"]
  }
}`

// TestTrace: what was denied stands on standard error with its line, as text or as
// JSON; without --trace one line says how to see it, and only where something failed.
func TestTrace(t *testing.T) {
	l := newLab(t)
	files := filesOf(t, tracedText, release.Input{})
	dir, pinned := filepath.Join(l.dir, "development"), filepath.Join(l.dir, "pins")
	must(t, release.Write(dir, files))
	must(t, os.WriteFile(pinned, pins(files, release.LocalProduct).Format(), 0o644))
	work, err := os.MkdirTemp("/var/tmp", "obspc-test-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(work) })
	for _, name := range []string{"hidden", "shown"} {
		must(t, os.WriteFile(filepath.Join(work, name), []byte(name), 0o644))
	}
	run := func(flags []string, command ...string) (stdout, stderr string, code int) {
		t.Helper()
		words := append([]string{"exec", "--policy", "p", "--workspace", work, "--release", dir, "--pins", pinned}, flags...)
		stdout, stderr, code = invoke(append(append(words, "--"), command...)...)
		if strings.Contains(stderr, "lets nothing be traced") {
			t.Skip("host feature missing: ptrace: " + stderr)
		}
		return stdout, stderr, code
	}
	for _, tt := range []struct {
		flags  []string
		file   string
		code   int
		says   []string
		silent []string
	}{
		{nil, "shown", 0, nil, []string{"trace"}},
		{nil, "hidden", 1, []string{"exit code 1; obspc exec --trace … shows what the policy denied\n"}, []string{"obsrun: trace"}},
		{[]string{"--trace"}, "shown", 0, []string{"policy p denied"}, []string{"hidden", "exec --trace"}},
		{[]string{"--trace"}, "hidden", 1, []string{"read ${workspace}/hidden: EACCES, by /usr/bin/cat", "deny ${workspace}/hidden at p.policy.hcl:8 (p/filesystem.deny[0])"}, []string{"exec --trace"}},
		{[]string{"--trace"}, "/etc/hostname", 1, []string{`add "/etc/hostname" to read`, "merge this into policy p:\n  filesystem {\n    read = [\n      \"/etc/hostname\",\n"}, nil},
	} {
		if _, err := os.Stat("/etc/hostname"); err != nil && tt.file == "/etc/hostname" {
			continue
		}
		stdout, stderr, code := run(tt.flags, "/usr/bin/cat", tt.file)
		if code != tt.code || code == 0 && stdout != tt.file {
			t.Errorf("%q cat %s = %q, %q, exit %d", tt.flags, tt.file, stdout, stderr, code)
		}
		for _, s := range tt.says {
			if !strings.Contains(stderr, s) {
				t.Errorf("%q cat %s does not say %q:\n%s", tt.flags, tt.file, s, stderr)
			}
		}
		for _, s := range tt.silent {
			if strings.Contains(stderr, s) {
				t.Errorf("%q cat %s says %q:\n%s", tt.flags, tt.file, s, stderr)
			}
		}
	}
	_, stderr, _ := run([]string{"--trace", "--trace-format", "json"}, "/usr/bin/cat", "hidden")
	var report propose.Report
	if at := strings.Index(stderr, "{"); at < 0 || json.Unmarshal([]byte(stderr[at:]), &report) != nil || report.Schema != propose.Schema || len(report.Denied) == 0 {
		t.Errorf("--trace-format json: %s", stderr)
	}
	stdout, _, _ := run([]string{"--trace", "--format", "json"}, "/usr/bin/cat", "hidden")
	var e runtime.Evidence
	if err := json.Unmarshal([]byte(stdout), &e); err != nil || e.Trace == nil || len(e.Trace.Denied) == 0 {
		t.Errorf("--format json: %s, %v", stdout, err)
	}
	for _, flags := range [][]string{{"--trace", "--trace-format", "xml"}, {"--trace-format", "json"}} {
		if _, stderr, code := run(flags, "/usr/bin/cat", "shown"); code != runtime.ExitRefused || !strings.Contains(stderr, "--trace-format") {
			t.Errorf("%q: exit %d, %s", flags, code, stderr)
		}
	}
}
