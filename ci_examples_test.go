package obspc_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// preCommitHooks runs each hook as pre-commit does: the words of entry and args,
// in the root of a repository.
func preCommitHooks(t *testing.T, r *runner) {
	var hooks []struct {
		ID, Name, Entry, Language string
		Args                      []string
		Pass                      bool `yaml:"pass_filenames"`
	}
	readYAML(t, ".pre-commit-hooks.yaml", &hooks)
	r.project()
	run := func(id string, args ...string) int {
		for _, h := range hooks {
			if h.ID != id {
				continue
			}
			if h.Language != "golang" || h.Pass || h.Name == "" {
				t.Errorf("%+v", h)
			}
			if args == nil {
				args = h.Args
			}
			words := append(strings.Fields(h.Entry), args...)
			program, err := exec.LookPath(filepath.Join(r.bin, words[0]))
			if err != nil {
				t.Fatal(err)
			}
			cmd := r.command(r.repo, program, words[1:]...)
			out, _ := cmd.CombinedOutput()
			t.Logf("%v: %s", words, out)
			return cmd.ProcessState.ExitCode()
		}
		t.Fatalf("there is no hook %s", id)
		return 0
	}
	ours := []string{"policies", "--dir", "golden"}
	if code := run("obspc-verify"); code != 0 {
		t.Errorf("obspc-verify: exit code %d of a project that is verified", code)
	}
	if code := run("obspc-golden", ours...); code != 0 {
		t.Errorf("obspc-golden: exit code %d of golden files as committed", code)
	}
	r.write("repo/policies/p.policy.hcl", ciPolicy(2, `optional("/srv/b")`), 0o644)
	if code := run("obspc-verify"); code != 1 {
		t.Errorf("obspc-verify: exit code %d of another source, want 1", code)
	}
	if code := run("obspc-golden", ours...); code != 1 {
		t.Errorf("obspc-golden: exit code %d of changed policies, want 1", code)
	}
	// Its default arguments are of a repository with its policies in the root.
	if err := os.Rename(r.repo+"/policies/p.policy.hcl", r.repo+"/p.policy.hcl"); err != nil {
		t.Fatal(err)
	}
	if code := run("obspc-golden"); code != 1 {
		t.Errorf("obspc-golden: exit code %d, want 1", code)
	}
	r.obspc("golden", ".", "--dir", "golden", "--update")
	if code := run("obspc-golden"); code != 0 {
		t.Errorf("obspc-golden: exit code %d, want 0", code)
	}
}

// gitLabJob runs the script of docs/ci/gitlab-ci.yml as a runner does: its lines
// in one shell that stops at the first failure.
func gitLabJob(t *testing.T, r *runner) {
	var file struct {
		Obspc struct {
			Image     string
			Before    []string `yaml:"before_script"`
			Script    []string
			Artifacts struct {
				When    string
				Paths   []string
				Reports struct{ Junit string }
			}
		}
	}
	readYAML(t, "docs/ci/gitlab-ci.yml", &file)
	job := file.Obspc
	if len(job.Before) != 3 || !strings.HasPrefix(job.Before[0], "go install ") || len(job.Script) == 0 || job.Artifacts.When != "always" {
		t.Fatalf("%+v", job)
	}
	r.project()
	base := r.context["github.event.pull_request.base.sha"]
	run := func(env ...string) (int, string) {
		cmd := r.command(r.repo, "bash", "-eo", "pipefail", "-c", strings.Join(job.Script, "\n"))
		cmd.Env = append(append(cmd.Env, "TMPDIR="+r.dir+"/tmp"), env...)
		out, _ := cmd.CombinedOutput()
		return cmd.ProcessState.ExitCode(), string(out)
	}
	// GitLab's runner makes every file of the checkout writable for all.
	if out, err := r.command(r.repo, "chmod", "-R", "a+w", ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if code, out := run(); code != 1 || !strings.Contains(out, "unsafe-file") {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	if out, err := r.command(r.repo, "sh", "-c", job.Before[2]).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if code, out := run(); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	holds(t, "the report", r.read("repo/"+job.Artifacts.Reports.Junit), `<testsuites name="obspc verify"`, `failures="0"`)
	r.write("repo/policies/p.policy.hcl", ciPolicy(2, `optional("/srv/more")`), 0o644)
	r.obspc("compile", "policies", "-o", "release")
	code, out := run("CI_MERGE_REQUEST_DIFF_BASE_SHA=" + base)
	if code != 1 {
		t.Fatalf("exit code %d, want 1:\n%s", code, out)
	}
	holds(t, "the comment", r.read("repo/"+job.Artifacts.Paths[0]), "❌ obspc: unverified: golden failed", "`read /srv/more")
	holds(t, "the report", r.read("repo/"+job.Artifacts.Reports.Junit), `<failure`)
}

// makefileExample runs the targets of docs/ci/obspc.mk in a project.
func makefileExample(t *testing.T, r *runner) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	r.write("repo/obspc.hcl", ciProject, 0o644)
	r.write("repo/policies/p.policy.hcl", ciPolicy(1, `optional("/srv/a")`), 0o644)
	run := func(want bool, targets ...string) {
		t.Helper()
		out, err := r.command(r.repo, "make", append([]string{"-f", here + "/docs/ci/obspc.mk"}, targets...)...).CombinedOutput()
		if (err == nil) != want {
			t.Errorf("make %v: %v\n%s", targets, err, out)
		}
	}
	run(false, "policies-verify")
	run(true, "policies-check", "policies-release", "policies-golden", "policies-verify")
	r.write("repo/policies/p.policy.hcl", ciPolicy(2, `optional("/srv/b")`), 0o644)
	run(false, "policies-verify")
}
