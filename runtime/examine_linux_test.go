package runtime_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler"
	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/policies"
	"github.com/obspc/obspc/runtime"
)

// TestTrialPolicy: what is embedded is what the text beside it compiles to.
// OBSPC_UPDATE=1 rewrites it, and fails while doing so.
func TestTrialPolicy(t *testing.T) {
	const name, file = "trial/trial.policy.hcl", "trial/trial.json"
	text, err := os.ReadFile(name)
	must(t, err)
	config, diags := lang.Parse(lang.Sources{name: text}, lang.Options{})
	if diags.HasErrors() {
		t.Fatalf("lang.Parse(%s) = %v", name, diags)
	}
	results, diags := compiler.Compile(config, compiler.Options{Library: library(t), LibraryNames: policies.Names()})
	if diags.HasErrors() {
		t.Fatalf("compiler.Compile(%s) = %v", name, diags)
	}
	want := results[0].Policy.JSON()
	if have, err := os.ReadFile(file); err == nil && bytes.Equal(have, want) {
		return
	}
	t.Errorf("%s is not what %s compiles to; OBSPC_UPDATE=1 go test rewrites it", file, name)
	if os.Getenv("OBSPC_UPDATE") == "1" {
		must(t, os.WriteFile(file, want, 0o644))
	}
}

// states are the findings of an examination by name.
func states(e *runtime.Examination) map[string]runtime.Finding {
	out := map[string]runtime.Finding{}
	for _, f := range e.Findings {
		out[f.Name] = f
	}
	return out
}

// TestLiveExamine: a machine that runs the tests can run sandboxes.
func TestLiveExamine(t *testing.T) {
	needSandbox(t)
	e := runtime.Examine(context.Background(), "")
	if !e.Can || e.ExitCode() != 0 {
		t.Errorf("Examine says that this machine cannot:\n%s", e.JSON())
	}
	have := states(e)
	for _, name := range []string{"kernel", "caller", "bubblewrap", "user-namespaces", "seccomp", "landlock", "sandbox"} {
		if have[name].State != runtime.OK {
			t.Errorf("%s: %+v, want ok", name, have[name])
		}
	}
	var back runtime.Examination
	if err := json.Unmarshal(e.JSON(), &back); err != nil || !reflect.DeepEqual(&back, e) {
		t.Errorf("JSON is read back as %+v (%v), want %+v", back, err, e)
	}
}

// TestLiveExamineFailures: each fault is found where it belongs, with its remedy;
// what could not be found out for it is unknown, and counts like missing.
func TestLiveExamineFailures(t *testing.T) {
	needSandbox(t)
	for _, tt := range []struct{ name, check, found, help string }{
		{"bwrap-apparmor", "user-namespaces", "setting up uid map: Permission denied", "bwrap-userns-restrict"},
		{"bwrap-loopback", "user-namespaces", "Failed RTM_NEWADDR", "bwrap-userns-restrict"},
		{"bwrap-forbidden", "user-namespaces", "No permissions to create new namespace", "kernel.unprivileged_userns_clone=1"},
		{"bwrap-exhausted", "user-namespaces", "max_*_namespaces exceeded", "user.max_user_namespaces"},
		{"bwrap-old-exhausted", "user-namespaces", "No space left", "user.max_user_namespaces"},
		{"bwrap-unfiltered", "seccomp", "prctl(PR_SET_SECCOMP)", "CONFIG_SECCOMP_FILTER"},
		{"bwrap-ancient", "bubblewrap", "Unknown option", "apt install bubblewrap"},
		{"bwrap-silent", "sandbox", "it said nothing", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := runtime.Examine(context.Background(), standInAt(t, tt.name, 0o755))
			f := states(e)[tt.check]
			if e.Can || e.ExitCode() != 3 || f.State != runtime.Missing || !strings.Contains(f.Found, tt.found) || !strings.Contains(f.Help, tt.help) {
				t.Errorf("%s is %+v, want missing with %q and a help with %q\n%s", tt.check, f, tt.found, tt.help, e.JSON())
			}
			if s := states(e)["sandbox"]; s.State != runtime.Missing {
				t.Errorf("sandbox is %+v, want missing", s)
			}
			for _, other := range []string{"user-namespaces", "seccomp"} {
				if s := states(e)[other]; other != tt.check && s.State != runtime.Unknown {
					t.Errorf("%s is %+v, want unknown", other, s)
				}
			}
		})
	}
	setuid := standInAt(t, "bwrap-silent", 0o4755|os.ModeSetuid)
	for path, found := range map[string]string{setuid: "is setuid", "/no/such/bwrap": "bubblewrap is missing", "bwrap": "not absolute"} {
		e := runtime.Examine(context.Background(), path)
		have := states(e)
		if f := have["bubblewrap"]; e.Can || f.State != runtime.Missing || !strings.Contains(f.Found, found) || f.Help == "" || have["sandbox"].State != runtime.Unknown {
			t.Errorf("Examine(%q): bubblewrap is %+v, want missing with %q, and the sandbox unknown\n%s", path, f, found, e.JSON())
		}
	}
}

// TestLiveExaminePolicy: every rule, and what stands at its path.
func TestLiveExaminePolicy(t *testing.T) {
	needSandbox(t)
	root := labDir(t)
	work := filepath.Join(root, "work")
	must(t, os.MkdirAll(filepath.Join(work, "there"), 0o755))
	must(t, os.Mkdir(filepath.Join(root, "far"), 0o755))
	v := development(t, policy(t, fmt.Sprintf(`
  filesystem {
    read  = ["${workspace}/there", optional("%[1]s/absent"), "%[1]s/far"]
    write = [workspace]
    deny  = ["${workspace}/.missing"]
  }`, root)))
	examine := func() runtime.PolicyExamination {
		return runtime.ExaminePolicy(context.Background(), v, runtime.Job{Policy: "p", Development: true, Workspace: runtime.Workspace{Dir: work}})
	}
	fates := func(e runtime.PolicyExamination) map[string]string {
		out := map[string]string{}
		for _, p := range e.Paths {
			out[p.Rule] = string(p.Fate) + " " + p.Kind
		}
		return out
	}
	good := map[string]string{
		"read ${workspace}/there": "kept directory", "write ${workspace}": "kept directory", "deny ${workspace}/.missing": "held missing path",
		"read optional(" + root + "/absent)": "unsaid missing path", "read " + root + "/far": "kept directory", "write ${tmp}": "own ", "read /proc": "own ",
	}
	e := examine()
	if e.Refusal != nil || e.Binding["workspace"] != work {
		t.Errorf("ExaminePolicy = %+v, want no refusal", e)
	}
	have := fates(e)
	for rule, want := range good {
		if have[rule] != want {
			t.Errorf("%s: %q, want %q", rule, have[rule], want)
		}
	}
	if left, err := os.ReadDir(work); err != nil || len(left) != 1 {
		t.Errorf("left in the workspace: %v (%v), want nothing new", left, err)
	}

	// Every fault is named, and not the first alone.
	must(t, os.Symlink(root, filepath.Join(work, ".missing")))
	must(t, os.Remove(filepath.Join(root, "far")))
	e = examine()
	have = fates(e)
	if e.Refusal == nil || have["deny ${workspace}/.missing"] != "refused directory" || have["read "+root+"/far"] != "refused missing path" || have["read ${workspace}/there"] != "kept directory" {
		t.Errorf("with a planted link and a missing directory: %v, %+v", have, e.Refusal)
	}
	for _, p := range e.Paths {
		if p.Rule == "deny ${workspace}/.missing" && (len(p.Links) != 1 || p.Links[0].System != (os.Getuid() == 0) || p.Real != root || !strings.Contains(p.Reason, "is a link to "+root)) {
			t.Errorf("the planted link is shown as %+v", p)
		}
	}
	// What a run says is what the doctor says.
	if r := probed(t, v, work, "stat", "."); r.refusal() == nil || r.refusal().Message != e.Refusal.Reason {
		t.Errorf("a run is refused with %v, the doctor says %q", r.err, e.Refusal.Reason)
	}
	must(t, os.Remove(filepath.Join(work, ".missing")))
	must(t, os.Mkdir(filepath.Join(root, "far"), 0o755))
	if e := examine(); e.Refusal != nil {
		t.Errorf("mended: %+v", e.Refusal)
	}
}

// TestExamineSandboxExec: the three answers that macOS's program can give, and what
// is none.
func TestExamineSandboxExec(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct {
		name, text string
		mode       os.FileMode
		want       runtime.State
		found      string
	}{
		{"applies", `[ "$1 $2 $3" = "-p (version 1)(allow default) /usr/bin/true" ] && exec "$3"; exit 9`, 0o755, runtime.OK, "applies profiles"},
		{"nested", "echo 'sandbox-exec: sandbox_apply: Operation not permitted' >&2; exit 71", 0o755, runtime.Missing, "in a sandbox itself"},
		{"odd", "echo 'no idea'; exit 64", 0o755, runtime.Unknown, "no idea"},
		{"writable", "exit 0", 0o777, runtime.Missing, "rwxrwxrwx"},
	} {
		path := filepath.Join(dir, tt.name)
		write(t, path, "#!/bin/sh\n"+tt.text+"\n")
		must(t, os.Chmod(path, tt.mode))
		if f := runtime.ExamineSandboxExec(context.Background(), path, "/usr/bin/true"); f.State != tt.want || !strings.Contains(f.Found, tt.found) {
			t.Errorf("%s: %+v, want %s with %q", tt.name, f, tt.want, tt.found)
		}
	}
	if f := runtime.ExamineSandboxExec(context.Background(), filepath.Join(dir, "none"), ""); f.State != runtime.Missing {
		t.Errorf("without one: %+v, want missing", f)
	}
}
