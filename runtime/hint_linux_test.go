package runtime_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obspc/obspc/runtime"
)

// TestLiveExecHints: a program that cannot start says which line of the policy is
// missing. Each policy beside one under which it starts.
func TestLiveExecHints(t *testing.T) {
	needSandbox(t)
	root := labDir(t)
	work := filepath.Join(root, "work")
	must(t, os.Mkdir(work, 0o755))
	script := filepath.Join(work, "script")
	must(t, os.WriteFile(script, []byte("#! /usr/bin/env true\n"), 0o755))
	must(t, os.WriteFile(filepath.Join(root, "hidden"), []byte("#!/usr/bin/env true\n"), 0o755))
	must(t, os.WriteFile(filepath.Join(work, "lost"), []byte("#!/no/such/interpreter\n"), 0o755))
	must(t, os.WriteFile(filepath.Join(work, "circle"), []byte("#!"+filepath.Join(work, "circle")+"\n"), 0o755))
	text := func(template, execute string) string {
		return fmt.Sprintf(`
policy "p" {
  version = 1
  extends = [%s]
  targets = ["bwrap"]
  filesystem {
    write   = [workspace]
    read    = ["/usr", optional("/lib"), optional("/lib64")]
    execute = [%s]
  }
}`, template, execute)
	}
	const base, all = `"std/base"`, `"/usr/bin", "${workspace}/script", "${workspace}/lost", "${workspace}/circle"`
	for _, tt := range []struct {
		name, template, execute string
		argv                    string
		says                    string // "": it starts
	}{
		{"starts", base, all, "./script", ""},
		{"interpreter", base, `"/usr/bin/true", "${workspace}/script"`, "./script", `its interpreter /usr/bin/env is not under execute; add "/usr/bin/env" to execute`},
		{"not listed", base, `"/usr/bin"`, "./script", `add "${workspace}/script" to execute`},
		{"not listed, of the system", base, `"/usr/bin/env"`, "/usr/bin/true", `add "/usr/bin/true" to execute`},
		{"not shown", base, all, filepath.Join(root, "hidden"), `add "` + filepath.Join(root, "hidden") + `" to read and execute`},
		{"no loader", "", all, "/usr/bin/true", `or extends = ["std/base"], which has it`},
		{"no interpreter here", base, all, "./lost", "its interpreter (/no/such/interpreter) does not exist here"},
		{"its own interpreter", base, all, "./circle", "cannot be started"},
		{"not in PATH", base, `"${workspace}/script"`, "true", `/true" to execute`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := start(t, context.Background(), development(t, text(tt.template, tt.execute)), runtime.Job{
				Argv: []string{tt.argv}, Development: true, Workspace: runtime.Workspace{Dir: work},
			})
			if tt.says == "" {
				if r.Exit != 0 {
					t.Errorf("%s: %s", tt.argv, r)
				}
				return
			}
			if r.Evidence.Outcome != runtime.ExecFailed || !strings.Contains(fmt.Sprint(r.err), tt.says) {
				t.Errorf("%s = %v, want it to say %q; %s", tt.argv, r.err, tt.says, r)
			}
		})
	}
}

// TestLiveAllMissing: every path that a run needs and the machine lacks, at once
// and as the policy has it.
func TestLiveAllMissing(t *testing.T) {
	needSandbox(t)
	v := development(t, policy(t, `
  filesystem {
    write   = [workspace, "${workspace}/out/dir"]
    read    = ["/no/such/one", optional("/no/such/other")]
    execute = ["/no/such/tool", "${workspace}/tool"]
  }`))
	r := probed(t, v, labDir(t), "stat", ".")
	refusedWith(t, r, runtime.Machine, "4 paths do not exist", "/no/such/one (p/", "/no/such/tool (p/", "${workspace}/tool (p/", "${workspace}/out/dir (p/", "optional(")
	if strings.Contains(r.err.Error(), "other") {
		t.Errorf("what is optional is not missing: %v", r.err)
	}
}

// TestLiveNotices: what a caller may not expect is said before the command starts.
func TestLiveNotices(t *testing.T) {
	needSandbox(t)
	home, err := runtime.Home(os.Getuid())
	must(t, err)
	dir := labDir(t)
	for _, tt := range []struct{ name, body, dir, says string }{
		{"granted", plain, dir, ""},
		{"not granted", "", dir, "starts in /"},
		{"home", "\n  filesystem {\n    read = [workspace]\n  }", home.String(), "your home directory"},
	} {
		var said []string
		r := start(t, context.Background(), development(t, policy(t, tt.body)), runtime.Job{
			Argv: []string{probePath, probeWord, "stat", "/"}, Development: true, Workspace: runtime.Workspace{Dir: tt.dir},
			Notice: func(what string) { said = append(said, what) },
		})
		if r.refusal() != nil && tt.dir != dir {
			t.Logf("%s: %v", tt.name, r.err) // this user's home can be no workspace
			continue
		}
		if got := strings.Join(said, "; "); r.Exit != 0 || !strings.Contains(got, tt.says) || (got == "") != (tt.says == "") {
			t.Errorf("%s: told %q, want %q; %s", tt.name, got, tt.says, r)
		}
	}
}
