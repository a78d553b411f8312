package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/obspc/obspc/compiler"
	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/policies"
	"github.com/obspc/obspc/runtime"
	"github.com/obspc/obspc/targets"
	"github.com/obspc/obspc/verify/release"
)

// TestMain lets the test's own binary be obsrun: as the first process, as a
// program of its own, and as a bubblewrap that only records that it was called.
func TestMain(m *testing.M) {
	if runtime.IsFirst(os.Args) {
		runtime.First(os.Args)
	}
	if own, _ := os.Readlink("/proc/self/exe"); filepath.Base(own) == "bwrap-records" && len(os.Args) > 1 && os.Args[1] == "--args" {
		os.WriteFile(own+".called", nil, 0o644)
		os.Exit(1)
	}
	if os.Getenv("OBSPC_TEST_AS_OBSRUN") != "" {
		os.Unsetenv("OBSPC_TEST_AS_OBSRUN")
		main()
	}
	os.Exit(m.Run())
}

const text = `
policy "p" {
  version = 1
  extends = ["std/base"]
  targets = ["bwrap"]
  filesystem {
    write   = [workspace]
    execute = ["/usr/bin/printf", "/usr/bin/env", "/usr/bin/sleep"]
  }
  limits {
    stdout = "16B"
  }
  command "say" {
    executable = "/usr/bin/printf"
    arguments  = ["%s", identifier("word")]
  }
  command "typed" {
    executable = "/usr/bin/printf"
    arguments  = ["{\"word\":\"%s\"}", identifier("word")]
    result "said" {
      identifier "word" {
        max_bytes = 4
      }
    }
  }
  command "wait" {
    executable = "/usr/bin/sleep"
    arguments  = ["60"]
  }
}`

// lab is a release on disk and the pins that accept it.
type lab struct{ dir, release, pins string }

func newLab(t *testing.T) *lab {
	t.Helper()
	if _, err := os.Stat(runtime.DefaultBwrap); err != nil {
		t.Skip("host feature missing: bubblewrap at " + runtime.DefaultBwrap)
	}
	dir := t.TempDir()
	l := &lab{dir, filepath.Join(dir, "release"), filepath.Join(dir, "obspc.pins")}
	files := files(t, governed)
	must(t, release.Write(l.release, files))
	must(t, os.WriteFile(l.pins, pins(files, governed.Product).Format(), 0o644))
	return l
}

// governed is what a release of the lab is made with.
var governed = release.Input{Product: "test", Serial: 1}

// pins accept exactly these files.
func pins(files []release.File, product string) *release.Pins {
	p := &release.Pins{Product: product, NoExpiry: true}
	for _, f := range files {
		if f.Name == release.SumsName {
			p.Sums = []release.Digest{release.Sum(f.Data)}
		}
	}
	return p
}

func files(t *testing.T, in release.Input) []release.File {
	t.Helper()
	return filesOf(t, text, in)
}

// filesOf is a release of one policy "p".
func filesOf(t *testing.T, text string, in release.Input) []release.File {
	t.Helper()
	config, diags := lang.Parse(lang.Sources{"p.policy.hcl": []byte(text)}, lang.Options{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	template := func(name string) (*lang.Body, bool) {
		file, source, ok := policies.Source(name)
		if !ok {
			return nil, false
		}
		parsed, _ := lang.Parse(lang.Sources{file: source}, lang.Options{Library: true})
		return parsed.Templates[0], true
	}
	results, diags := compiler.Compile(config, compiler.Options{Library: template, LibraryNames: policies.Names()})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	artifacts, err := targets.Compile(results[0].Policy)
	must(t, err)
	p := release.Policy{Name: "p", Artifacts: []release.Made{{Name: release.MapName, Kind: release.MapKind, Data: results[0].MapJSON()}}}
	for _, a := range artifacts {
		p.Artifacts = append(p.Artifacts, release.Made{Name: a.Name, Kind: a.Kind, Target: string(a.Target), Data: a.Data})
	}
	in.Compiler, in.Policies = release.Version, []release.Policy{p}
	files, err := release.Build(in)
	must(t, err)
	return files
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// invoke runs obsrun in this process.
func invoke(args ...string) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	code = start(args, strings.NewReader(""), &out, &errs)
	return out.String(), errs.String(), code
}

// run is `obsrun run` of a command of the lab's release.
func (l *lab) run(args ...string) (stdout, stderr string, code int) {
	return invoke(append([]string{"run", "--release", l.release, "--pins", l.pins}, args...)...)
}

func TestRun(t *testing.T) {
	l := newLab(t)
	evidence := filepath.Join(l.dir, "evidence.json")
	for _, tt := range []struct {
		name   string
		args   []string
		stdout string
		code   int
		stderr string
	}{
		{"output", []string{"p/say", "--arg", "word=hello"}, "hello", 0, ""},
		{"flag before the argument", []string{"--arg=word=a", "p/say"}, "a", 0, ""},
		{"typed result", []string{"p/typed", "--arg", "word=abcd"}, "{\"word\":\"abcd\"}\n", 0, ""},
		{"no such result", []string{"p/typed", "--arg", "word=abcde"}, "", 125, "not the result"},
		{"cut off", []string{"p/say", "--arg", "word=aaaaaaaaaabbbbbbbbbb"}, "aaaaaaaaaabbbbbb", 0, "16 of 20 bytes"},
		{"no field", []string{"p/say"}, "", 125, "word has no value"},
		{"no command", []string{"p/nothing"}, "", 125, `no command "nothing"`},
		{"no policy", []string{"q/say"}, "", 125, "no such policy"},
		{"no slash", []string{"p"}, "", 125, "POLICY/COMMAND"},
		{"no policy before the command", []string{"say"}, "", 125, "did you mean p/say?"},
		{"unknown flag", []string{"p/say", "--argh", "x"}, "", 125, "unknown flag --argh"},
		{"flag twice", []string{"p/say", "--pins", l.pins}, "", 125, "--pins is given twice"},
		{"format", []string{"p/say", "--arg", "word=a", "--format", "xml"}, "", 125, "--format is text or json"},
		{"a workspace for a fresh one", []string{"p/say", "--arg", "word=a", "--workspace", l.dir}, "", 125, "fresh workspace"},
		{"no bubblewrap", []string{"p/say", "--arg", "word=a", "--bwrap", "/no/bwrap"}, "", 125, "apt install bubblewrap"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			os.Remove(evidence)
			stdout, stderr, code := l.run(append(tt.args, "--evidence", evidence)...)
			if stdout != tt.stdout || code != tt.code || !strings.Contains(stderr, tt.stderr) || tt.stderr == "" && stderr != "" {
				t.Errorf("obsrun run %q = %q, %q, exit %d; want %q, %q, exit %d", tt.args, stdout, stderr, code, tt.stdout, tt.stderr, tt.code)
			}
			if info, err := os.Stat(evidence); err == nil && info.Mode() != 0o600 {
				t.Errorf("evidence has mode %v", info.Mode())
			}
			checkEvidence(t, evidence, code)
		})
	}
	if left, _ := filepath.Glob(filepath.Join(l.dir, ".evidence*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// checkEvidence: where a call got as far as a run, its evidence agrees.
func checkEvidence(t *testing.T, path string, code int) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		return
	}
	var e runtime.Evidence
	if err := json.Unmarshal(data, &e); err != nil || e.Schema != runtime.EvidenceSchema || e.ExitCode != code || (code == 125) != (e.Code != 0) {
		t.Errorf("exit %d, evidence %s, %v", code, data, err)
	}
	if strings.Contains(string(data), "hello") {
		t.Errorf("evidence holds an argument: %s", data)
	}
}

// TestJSON: standard output holds the evidence and nothing else.
func TestJSON(t *testing.T) {
	l := newLab(t)
	for args, code := range map[string]int{"word=hello": 0, "word=": 125} {
		stdout, stderr, got := l.run("p/say", "--arg", args, "--format", "json")
		var e runtime.Evidence
		if err := json.Unmarshal([]byte(stdout), &e); err != nil || got != code || e.ExitCode != code || e.Policy != "p" || e.Command != "say" {
			t.Errorf("run --format json with %s = %s, %q, exit %d, want %d", args, stdout, stderr, got, code)
		}
	}
}

// TestTamperedReleaseStartsNothing: a bubblewrap that records being called.
func TestTamperedReleaseStartsNothing(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("host feature missing: root, to make a program that only root can change")
	}
	l := newLab(t)
	own, err := os.ReadFile("/proc/self/exe")
	must(t, err)
	dir, err := os.MkdirTemp("/var/tmp", "obspc-test-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	bwrap := filepath.Join(dir, "bwrap-records")
	must(t, os.WriteFile(bwrap, own, 0o755))
	try := func() (string, int, bool) {
		os.Remove(bwrap + ".called")
		stdout, stderr, code := l.run("p/say", "--arg", "word=a", "--bwrap", bwrap)
		_, err := os.Stat(bwrap + ".called")
		return stdout + stderr, code, err == nil
	}
	if said, code, called := try(); !called || code != 125 {
		t.Fatalf("the release as it is: the stand-in was called: %v, exit %d: %s", called, code, said)
	}
	for name, tamper := range map[string]func(path string) error{
		"changed": func(p string) error { return appendTo(p, " ") },
		"missing": os.Remove,
		"linked": func(p string) error {
			return joined(os.Rename(p, filepath.Join(l.dir, "elsewhere")), os.Symlink(filepath.Join(l.dir, "elsewhere"), p))
		},
		"extra": func(p string) error { return os.WriteFile(p+".extra", nil, 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			must(t, os.RemoveAll(l.release))
			must(t, release.Write(l.release, files(t, governed)))
			must(t, tamper(filepath.Join(l.release, "p/bwrap.json")))
			if said, code, called := try(); called || code != 125 || !strings.Contains(said, "nothing was started") || !strings.Contains(said, "bwrap.json") {
				t.Errorf("%s: the stand-in was called: %v, exit %d: %s", name, called, code, said)
			}
		})
	}
}

func appendTo(path, text string) error {
	data, err := os.ReadFile(path)
	return joined(err, os.WriteFile(path, append(data, text...), 0o644))
}

func joined(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// TestInterrupt: the sandbox is killed and everything cleaned up before obsrun
// ends.
func TestInterrupt(t *testing.T) {
	l := newLab(t)
	evidence := filepath.Join(l.dir, "evidence.json")
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		cmd := exec.Command("/proc/self/exe", "run", "p/wait", "--release", l.release, "--pins", l.pins, "--evidence", evidence)
		cmd.Env = append(os.Environ(), "OBSPC_TEST_AS_OBSRUN=1")
		must(t, cmd.Start())
		waitFor(t, "the command", func() bool { return len(sleepers(t)) > 0 })
		must(t, cmd.Process.Signal(sig))
		cmd.Wait()
		var e runtime.Evidence
		data, err := os.ReadFile(evidence)
		must(t, err)
		must(t, json.Unmarshal(data, &e))
		if code := cmd.ProcessState.ExitCode(); code != 128+int(sig) || e.Outcome != runtime.Cancelled || !e.Cleanup.TreeDead || !e.Cleanup.WorkspaceRemoved {
			t.Errorf("after %v: exit %d, evidence %s", sig, code, data)
		}
		if left := sleepers(t); len(left) > 0 {
			t.Errorf("after %v these are left: %q", sig, left)
		}
	}
}

// TestKilled: nothing of the sandbox outlives an obsrun that cannot clean up.
func TestKilled(t *testing.T) {
	l := newLab(t)
	cmd := exec.Command("/proc/self/exe", "run", "p/wait", "--release", l.release, "--pins", l.pins)
	cmd.Env = append(os.Environ(), "OBSPC_TEST_AS_OBSRUN=1")
	must(t, cmd.Start())
	waitFor(t, "the command", func() bool { return len(sleepers(t)) > 0 })
	workspace, err := os.Readlink(filepath.Join(filepath.Dir(sleepers(t)[0]), "cwd"))
	must(t, err)
	must(t, cmd.Process.Kill())
	cmd.Wait()
	waitFor(t, "the end of the command", func() bool { return len(sleepers(t)) == 0 })
	// Nobody was left to remove the workspace.
	if err := os.Remove(workspace); err != nil {
		t.Errorf("the workspace %s: %v", workspace, err)
	}
}

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for range 1000 {
		if done() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("waited in vain for %s", what)
}

// TestExecTrusts: exec keeps a release and pins that it is given as paths from the
// command, as run does.
func TestExecTrusts(t *testing.T) {
	l := newLab(t)
	work, err := os.MkdirTemp("/var/tmp", "obspc-test-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(work) })
	inside := filepath.Join(work, "kept")
	must(t, os.Mkdir(inside, 0o755))
	files := files(t, release.Input{})
	must(t, release.Write(filepath.Join(inside, "release"), files))
	must(t, os.WriteFile(filepath.Join(inside, "pins"), pins(files, release.LocalProduct).Format(), 0o644))
	args := []string{"exec", "--policy", "p", "--workspace", work, "--release", filepath.Join(inside, "release"), "--pins", filepath.Join(inside, "pins"), "--"}
	if _, stderr, code := invoke(append(args, "/usr/bin/env", "-u", "X", "/usr/bin/printf", "x")...); code != 0 {
		t.Fatalf("exec = exit %d, %s", code, stderr)
	}
	evidence := filepath.Join(l.dir, "evidence.json")
	invoke(append([]string{"exec", "--evidence", evidence}, append(args[1:], "/usr/bin/printf", "x")...)...)
	data, err := os.ReadFile(evidence)
	if must(t, err); !strings.Contains(string(data), fmt.Sprintf("%q: %q", "carve_out", inside)) {
		t.Errorf("%s is not kept from the command: %s", inside, data)
	}
}

// TestWhatIsMissing: a call names what it lacks, and lists are for people.
func TestWhatIsMissing(t *testing.T) {
	l := newLab(t)
	for _, tt := range []struct {
		args []string
		says string
	}{
		{[]string{"run", "p/say", "--release", l.release}, "run wants --pins FILE"},
		{[]string{"run", "p/say", "--release", l.release}, "obspc pin " + l.release},
		{[]string{"run", "p/say", "--pins", l.pins}, "--release DIR"},
		{[]string{"run", "p/nothing", "--release", l.release, "--pins", l.pins}, "it has say, typed, wait"},
		{[]string{"exec", "a", "b", "--", "c"}, "not a b"},
		{[]string{"help", "a", "b"}, "no help about a b"},
	} {
		if stdout, stderr, code := invoke(tt.args...); stdout != "" || code != 125 || !strings.Contains(stderr, tt.says) {
			t.Errorf("obsrun %q = %q, %q, exit %d; want it to say %q", tt.args, stdout, stderr, code, tt.says)
		}
	}
}

// TestEvidenceFirst: where evidence cannot be written, nothing runs.
func TestEvidenceFirst(t *testing.T) {
	l := newLab(t)
	must(t, os.Mkdir(filepath.Join(l.dir, "directory"), 0o755))
	for _, path := range []string{"/no/such/directory/evidence.json", filepath.Join(l.dir, "directory"), l.dir + "/", "/proc/evidence.json"} {
		stdout, stderr, code := l.run("p/say", "--arg", "word=a", "--evidence", path)
		if stdout != "" || code != 125 || !strings.Contains(stderr, "evidence") {
			t.Errorf("--evidence %s = %q, %q, exit %d", path, stdout, stderr, code)
		}
	}
}

// sleepers lists processes of the command "wait" that belong to a sandbox of ours.
func sleepers(t *testing.T) []string {
	t.Helper()
	var out []string
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range all {
		text, err := os.ReadFile(path)
		cgroup, _ := os.Readlink(filepath.Join(filepath.Dir(path), "ns/pid"))
		own, _ := os.Readlink("/proc/self/ns/pid")
		if err == nil && string(text) == "/usr/bin/sleep\x0060\x00" && cgroup != own {
			out = append(out, path)
		}
	}
	return out
}

// TestClosure keeps what obsrun must not hold out of it.
func TestClosure(t *testing.T) {
	text, err := exec.Command("go", "list", "-deps", ".").Output()
	must(t, err)
	for _, banned := range []string{"hashicorp/hcl", "zclconf", "urfave", "open-policy-agent", "sigstore", "obspc/lang\n", "obspc/compiler\n"} {
		if strings.Contains(string(text)+"\n", banned) {
			t.Errorf("obsrun depends on %s", strings.TrimSpace(banned))
		}
	}
}

func TestHelpAndVersion(t *testing.T) {
	for _, args := range [][]string{{"help"}, {"--help"}, {"help", "run"}, {"run", "--help"}, {"exec", "-h"}} {
		if stdout, stderr, code := invoke(args...); code != 0 || !strings.Contains(stdout, "Usage") || stderr != "" {
			t.Errorf("obsrun %q = %q, %q, exit %d", args, stdout, stderr, code)
		}
	}
	if stdout, _, code := invoke("version"); code != 0 || stdout != fmt.Sprintf("obsrun %s\n", release.Version) {
		t.Errorf("obsrun version = %q, exit %d", stdout, code)
	}
	for _, args := range [][]string{nil, {"nothing"}, {"help", "nothing"}, {"version", "x"}, {"exec"}, {"exec", "--policy", "p", "--", "true"}} {
		if stdout, stderr, code := invoke(args...); code != runtime.ExitRefused || stdout != "" || stderr == "" {
			t.Errorf("obsrun %q = %q, %q, exit %d", args, stdout, stderr, code)
		}
	}
}

func TestParseFlags(t *testing.T) {
	flags := []flag{{name: "--a", value: "X"}, {name: "--b"}, {name: "--m", value: "X", many: true}}
	p, err := parse(flags, []string{"one", "--a", "--b", "-", "--m=1", "--b", "--m", "2", "two", "--", "--a", "x"})
	if err != nil || !slices.Equal(p.args, []string{"one", "-", "two"}) || p.get("--a") != "--b" || !p.has("--b") ||
		!slices.Equal(p.values["--m"], []string{"1", "2"}) || !slices.Equal(p.rest, []string{"--a", "x"}) || !p.dashes {
		t.Errorf("parse = %+v, %v", p, err)
	}
	for _, bad := range [][]string{{"--c"}, {"-x"}, {"--b=1"}, {"--a"}, {"--a", "1", "--a", "2"}} {
		if p, err := parse(flags, bad); err == nil {
			t.Errorf("parse(%q) = %+v, want an error", bad, p)
		}
	}
}
