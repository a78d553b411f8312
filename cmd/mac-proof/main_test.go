package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/obspc/obspc/cmd/mac-proof/proof"
	"github.com/obspc/obspc/cmd/obspc/live"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/policies"
)

// The test's own binary is the program that attempts.
func TestMain(m *testing.M) {
	if code, is := live.Attempted(os.Args); is {
		os.Exit(code)
	}
	code := m.Run()
	if dir, _ := kit(); dir != "" {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// repository makes one with a single case and no probe of a template but one.
func repository(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"testdata/corpus/a/a.policy.hcl": "policy \"a\" {\n  version = 1\n  filesystem {\n    read = [\"/srv/data\"]\n    deny = [\"/srv/data/key\"]\n  }\n}\n",
		"testdata/corpus/a/probes.txt":   "allow\tallow\tallow\tread /srv/data/x\ndeny\tdeny\tdeny\tconnect example.com:443\n",
		"testdata/corpus/l/l.policy.hcl": "policy \"l\" {\n  version = 1\n  targets = [\"bwrap\"]\n}\n",
		"testdata/corpus/l/probes.txt":   "",
		"policies/std/base/probes.txt":   "deny\tlist /etc\n",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// kit is a directory with the stand-in for sandbox-exec, under each name that is
// used, and a copy of this program. It lies outside /tmp, where Linux has the tmp slot.
var kit = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("/var/tmp", "obspc-proof-")
	if err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "sandbox-exec"), "../obspc/live/testdata/sandbox-exec")
	if out, err := build.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("%v: %w\n%s", build.Args, err, out)
	}
	self, err := os.Executable()
	if err != nil {
		return dir, err
	}
	program, err := os.ReadFile(self)
	return dir, errors.Join(err,
		os.WriteFile(filepath.Join(dir, "attempts"), program, 0o755),
		os.Symlink("sandbox-exec", filepath.Join(dir, "leaky")), os.Symlink("sandbox-exec", filepath.Join(dir, "nested")))
})

// standIn is the stand-in of that name, and the program that attempts.
func standIn(t *testing.T, name string) (sandboxExec, self string) {
	t.Helper()
	dir, err := kit()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, name), filepath.Join(dir, "attempts")
}

var mac = proof.Machine{Version: "15.5", Build: "24F74", Arch: "arm64"}

// TestRun: the same machine gives the same record; it is well-formed and names every
// probe.
func TestRun(t *testing.T) {
	sandboxExec, self := standIn(t, "sandbox-exec")
	root := repository(t)
	var texts [][]byte
	for i := range 2 {
		var said bytes.Buffer
		r := run{
			root: root, out: fmt.Sprintf("proof-%d.json", i), commit: "0123abc", today: "2027-01-31",
			machine: mac, sandboxExec: sandboxExec, self: self, stdout: &said,
		}
		if code, err := r.run(t.Context()); code != 0 || err != nil || !strings.Contains(said.String(), ": macOS 15.5 (24F74), arm64: 2 policies, ") {
			t.Fatalf("run() = %d, %v\n%s", code, err, &said)
		}
		text, err := os.ReadFile(filepath.Join(root, r.out))
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text)
	}
	if !bytes.Equal(texts[0], texts[1]) {
		t.Errorf("two runs give two records:\n%s\n%s", texts[0], texts[1])
	}
	p, err := proof.Parse(texts[0])
	if err != nil {
		t.Fatal(err)
	}
	if faults := p.Malformed(); len(faults) > 0 || len(p.Escapes()) > 0 || p.Tried() < 10 {
		t.Errorf("the record has %d tried, escapes %v, faults %q\n%s", p.Tried(), p.Escapes(), faults, texts[0])
	}
	find := func(request string) proof.Probe {
		i := slices.IndexFunc(p.Probes, func(q proof.Probe) bool { return q.Request == request })
		if i < 0 {
			t.Fatalf("the record has no probe %q\n%s", request, texts[0])
		}
		return p.Probes[i]
	}
	if got := find("read /srv/data/key"); got.Kernel != "deny" || got.Errno != "EPERM" || got.Control != "allow" {
		t.Errorf("read /srv/data/key: %+v", got)
	}
	if got := find("read /srv/data/x"); got.Kernel != "allow" {
		t.Errorf("read /srv/data/x: %+v", got)
	}
	if got := find("connect example.com:443"); got.Kernel != "" || !strings.Contains(got.Why, "not tried") {
		t.Errorf("connect: %+v", got)
	}
	if strings.Contains(string(texts[0]), "/var/tmp") {
		t.Errorf("the record names this machine's own paths\n%s", texts[0])
	}
}

// TestRunThatFails: a record is written of a kernel that allows too much and of one
// that cannot be asked; no call succeeds then.
func TestRunThatFails(t *testing.T) {
	for name, want := range map[string]struct {
		code int
		said string
	}{
		"leaky":  {exitNo, "allowed by the kernel: a: read /srv/data/key; the policy says deny, the model deny"},
		"nested": {exitMachine, "sandbox_apply: Operation not permitted"},
	} {
		sandboxExec, self := standIn(t, name)
		var said bytes.Buffer
		r := run{root: repository(t), out: "proof.json", commit: "0123abc", today: "2027-01-31", machine: mac, sandboxExec: sandboxExec, self: self, stdout: &said}
		code, err := r.run(t.Context())
		if code != want.code || err != nil || !strings.Contains(said.String(), want.said) {
			t.Errorf("%s: run() = %d, %v, want %d\n%s", name, code, err, want.code, &said)
		}
		if _, err := os.Stat(filepath.Join(r.root, "proof.json")); err != nil {
			t.Errorf("%s: no record is written: %v", name, err)
		}
	}
	r := run{root: repository(t), sandboxExec: "/nonexistent/sandbox-exec"}
	if code, err := r.run(t.Context()); code != exitMachine || err == nil {
		t.Errorf("without sandbox-exec, run() = %d, %v", code, err)
	}
	r.root = t.TempDir()
	if code, err := r.run(t.Context()); code != exitInput || err == nil {
		t.Errorf("outside a clone, run() = %d, %v", code, err)
	}
}

// TestSubjects: the repository's own policies for macOS are all asked about, with
// enough requests of every word.
func TestSubjects(t *testing.T) {
	list, err := subjects("../..")
	if err != nil {
		t.Fatal(err)
	}
	words, names := map[ir.RequestKind]int{}, map[string]bool{}
	for _, s := range list {
		if names[s.result.Policy.Name] = true; len(s.profile) != 64 {
			t.Errorf("%s: digest %q", s.result.Policy.Name, s.profile)
		}
		for _, q := range s.requests {
			words[q.Kind]++
		}
	}
	for _, name := range policies.Names() {
		if !names[strings.ReplaceAll(name, "/", "-")] {
			t.Errorf("%s is not asked about", name)
		}
	}
	if len(names) != len(list) || len(list) < 15 || !names["std-base"] || names["whole-system-read"] {
		t.Errorf("subjects are %v", names)
	}
	for _, word := range ir.RequestKinds() {
		least := 30
		if word == ir.ConnectRequest || word == ir.ConnectUnixRequest {
			least = 1
		}
		if words[word] < least {
			t.Errorf("%s is asked %d times, want at least %d", word, words[word], least)
		}
	}
}
