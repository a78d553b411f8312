package obspc_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// step is a step of a composite action or of a workflow's job.
type step struct {
	Name, ID, If, Uses, Run, Shell string
	Dir                            string            `yaml:"working-directory"`
	Env                            map[string]string `yaml:"env"`
	With                           map[string]string `yaml:"with"`
}

// action is what is read of action.yml.
type action struct {
	Inputs map[string]struct {
		Description string
		Default     *string
	}
	Outputs map[string]struct{ Description, Value string }
	Runs    struct {
		Using string
		Steps []step
	}
}

func readYAML(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func theAction(t *testing.T) *action {
	var a action
	readYAML(t, "action.yml", &a)
	if a.Runs.Using != "composite" || len(a.Runs.Steps) < 5 || len(a.Inputs) < 5 {
		t.Fatalf("action.yml is read as %+v", a)
	}
	return &a
}

var (
	expression = regexp.MustCompile(`\$\{\{ *(.*?) *\}\}`)
	byCommit   = regexp.MustCompile(`^[a-z-]+/[a-z-]+@[0-9a-f]{40}$`)
	inputName  = regexp.MustCompile(`inputs\.([a-z-]+)`)
)

// TestPinnedSteps: actions and workflows use others by commit, and put nothing from
// outside into the text of a script.
func TestPinnedSteps(t *testing.T) {
	files, err := filepath.Glob(".github/workflows/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	steps := map[string][]step{"action.yml": theAction(t).Runs.Steps}
	for _, file := range files {
		var workflow struct {
			Permissions map[string]string
			Jobs        map[string]struct{ Steps []step }
		}
		readYAML(t, file, &workflow)
		if len(workflow.Permissions) != 1 || workflow.Permissions["contents"] != "read" {
			t.Errorf("%s: its permissions are %v, want contents: read", file, workflow.Permissions)
		}
		for _, job := range workflow.Jobs {
			steps[file] = append(steps[file], job.Steps...)
		}
	}
	for file, list := range steps {
		for _, s := range list {
			if s.Uses != "" && !byCommit.MatchString(s.Uses) {
				t.Errorf("%s: uses %s, which is no commit", file, s.Uses)
			}
			if expression.MatchString(s.Run) {
				t.Errorf("%s: an expression in the text of a script: %s", file, s.Run)
			}
		}
	}
	for _, b := range blocks(t, "yaml") {
		var page any
		if err := yaml.Unmarshal([]byte(b.text), &page); err != nil {
			t.Errorf("%s: %v", b.file, err)
		}
		for _, m := range regexp.MustCompile(`uses: (\S+)`).FindAllStringSubmatch(b.text, -1) {
			if !byCommit.MatchString(m[1]) {
				t.Errorf("%s: uses %s, which is no commit", b.file, m[1])
			}
		}
	}
	a := theAction(t)
	for _, s := range a.Runs.Steps {
		for name, value := range s.Env {
			for _, m := range inputName.FindAllStringSubmatch(value, -1) {
				if _, ok := a.Inputs[m[1]]; !ok {
					t.Errorf("action.yml: %s is of an input %s that is not declared", name, m[1])
				}
			}
		}
	}
}

// runner runs the action as a workflow would: the repository, what the expressions
// of the action stand for, and a service whose comments are a file.
type runner struct {
	t       *testing.T
	action  *action
	bin     string // with obspc
	dir     string // everything below is in it
	repo    string // the checkout
	context map[string]string
	log     string
	summary string
}

func newRunner(t *testing.T, bin string) *runner {
	t.Helper()
	for _, tool := range []string{"git", "jq"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("%s is missing; make test installs it", tool)
		}
	}
	r := &runner{t: t, action: theAction(t), bin: bin, dir: t.TempDir()}
	r.repo = filepath.Join(r.dir, "repo")
	for _, dir := range []string{r.repo, r.dir + "/bin", r.dir + "/tmp", r.dir + "/service"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r.write("bin/gh", standIn, 0o755)
	r.write("service/comments.json", "[]", 0o644)
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	r.context = map[string]string{
		"github.action_path": here, "github.token": "t0ken", "github.actor": "dev", "github.repository": "acme/policies",
		"github.event.pull_request.number": "7", "github.event.pull_request.head.repo.full_name": "acme/policies",
	}
	for name, in := range r.action.Inputs {
		r.context["inputs."+name] = r.expand(*in.Default)
	}
	r.context["inputs.obspc"] = filepath.Join(bin, "obspc")
	r.git("init", "-q", "-b", "main")
	return r
}

// standIn answers `gh api` as the service would, from a file, and records each call.
const standIn = `#!/bin/bash
set -euo pipefail
cd "$SERVICE"
printf '%s\n' "$*" >>calls
[ "$1" = api ] && [ -n "$GH_TOKEN" ] || exit 9
[ ! -e refuses ] || { echo '##[set-output name=verdict]HTTP 403: Resource not accessible by integration' >&2; exit 1; }
shift
method=GET filter=. body= path=
while [ $# -gt 0 ]; do
	case $1 in
	--paginate | --silent) ;;
	--method) method=$2; shift ;;
	--jq) filter=$2; shift ;;
	-F) [[ $2 = body=@* ]]; body=${2#body=@}; shift ;;
	*) path=$1 ;;
	esac
	shift
done
[ -z "$body" ] || [ "$(wc -m <"$body")" -le 65536 ] || { echo 'HTTP 422: body is too long' >&2; exit 1; }
case $method in
GET) jq -r "$filter" comments.json ;;
POST)
	jq --rawfile body "$body" '. + [{id: ((map(.id) | max // 100) + 1), user: {login: "github-actions[bot]"}, body: $body}]' comments.json >new
	mv new comments.json ;;
PATCH)
	jq --rawfile body "$body" --argjson id "${path##*/}" 'map(if .id == $id then .body = $body else . end)' comments.json >new
	mv new comments.json ;;
DELETE)
	jq --argjson id "${path##*/}" 'map(select(.id != $id))' comments.json >new
	mv new comments.json ;;
esac
`

func (r *runner) write(name, text string, mode os.FileMode) {
	r.t.Helper()
	file := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		r.t.Fatal(err)
	}
}

func (r *runner) command(dir, program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + r.dir + "/bin:" + r.bin + ":/usr/bin:/bin", "HOME=" + r.dir, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@localhost", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@localhost",
	}
	return cmd
}

func (r *runner) git(args ...string) string {
	r.t.Helper()
	out, err := r.command(r.repo, "git", args...).CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// obspc runs the toolchain in the checkout.
func (r *runner) obspc(args ...string) {
	r.t.Helper()
	if out, err := r.command(r.repo, r.bin+"/obspc", args...).CombinedOutput(); err != nil {
		r.t.Fatalf("obspc %v: %v\n%s", args, err, out)
	}
}

// commit commits everything and returns the commit.
func (r *runner) commit() string {
	r.t.Helper()
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "x")
	return r.git("rev-parse", "HEAD")
}

// expand puts values in for expressions; one that is not known fails the test.
func (r *runner) expand(text string) string {
	return expression.ReplaceAllStringFunc(text, func(e string) string {
		for _, alternative := range strings.Split(expression.FindStringSubmatch(e)[1], " || ") {
			value, ok := r.context[alternative]
			if !ok && !strings.HasPrefix(alternative, "steps.") && !strings.HasPrefix(alternative, "github.event.pull_request.") {
				r.t.Fatalf("the expression %s has no value", e)
			}
			if value != "" {
				return value
			}
		}
		return ""
	})
}

// due evaluates the conditions that action.yml uses.
func (r *runner) due(condition string, failed bool) bool {
	condition = expression.FindStringSubmatch(condition + "${{ }}")[1]
	left, right, ok := strings.Cut(condition, " == ")
	switch {
	case condition == "!cancelled()":
		return true
	case condition == "":
		return !failed
	case !ok:
		r.t.Fatalf("the condition %q is not known here", condition)
	}
	return !failed && r.expand("${{ "+left+" }}") == strings.Trim(right, "'")
}

// push runs every step of the action, as one push to the pull request does, and
// returns the exit code of the job.
func (r *runner) push() (code int) {
	r.t.Helper()
	r.write("output", "", 0o644)
	r.write("summary", "", 0o644)
	var log bytes.Buffer
	for name := range r.context {
		if strings.HasPrefix(name, "steps.") {
			delete(r.context, name)
		}
	}
	for _, s := range r.action.Runs.Steps {
		if !r.due(s.If, code != 0) || s.Uses != "" {
			continue
		}
		cmd := r.command(filepath.Join(r.repo, r.expand(s.Dir)), "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", s.Run)
		cmd.Env = append(cmd.Env, "RUNNER_TEMP="+r.dir+"/tmp", "GITHUB_OUTPUT="+r.dir+"/output", "GITHUB_STEP_SUMMARY="+r.dir+"/summary", "SERVICE="+r.dir+"/service")
		for name, value := range s.Env {
			cmd.Env = append(cmd.Env, name+"="+r.expand(value))
		}
		cmd.Stdout, cmd.Stderr = &log, &log
		if err := cmd.Run(); err != nil && code == 0 {
			code = cmd.ProcessState.ExitCode()
		}
		for line := range strings.Lines(r.read("output")) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			r.context["steps."+s.ID+".outputs."+name] = value
		}
		r.write("output", "", 0o644)
	}
	r.log, r.summary = log.String(), r.read("summary")
	return code
}

func (r *runner) read(name string) string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(text)
}

// comments are the bodies that the service has.
func (r *runner) comments() []string {
	r.t.Helper()
	var list []struct{ Body string }
	readYAML(r.t, r.dir+"/service/comments.json", &list) // JSON is YAML
	var out []string
	for _, c := range list {
		out = append(out, c.Body)
	}
	return out
}

// holds fails unless text holds every one of the words.
func holds(t *testing.T, what, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%s does not hold %q:\n%s", what, w, text)
		}
	}
}

const ciProject = `verify {
  release = "release"
  source  = "policies"
  golden  = "golden"
  rules   = ["std"]
}
`

// ciPolicy is a policy that reads one thing more than std/base.
func ciPolicy(version int, read string) string {
	return fmt.Sprintf("policy \"p\" {\n  version = %d\n  extends = [\"std/base\"]\n\n  filesystem {\n    read = [%s]\n  }\n\n  limits {\n    timeout = \"30s\"\n  }\n}\n", version, read)
}

// project commits a project whose verdict is yes, as the base.
func (r *runner) project() {
	r.t.Helper()
	r.write("repo/obspc.hcl", ciProject, 0o644)
	r.write("repo/policies/p.policy.hcl", ciPolicy(1, `optional("/srv/a")`), 0o644)
	r.accept()
	r.context["github.event.pull_request.base.sha"] = r.commit()
}

// accept compiles the release and accepts the golden files.
func (r *runner) accept() {
	r.t.Helper()
	r.obspc("compile", "policies", "-o", "release")
	r.obspc("golden", "policies", "--dir", "golden", "--update")
}
