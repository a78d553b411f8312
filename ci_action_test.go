package obspc_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const ciMarker = "<!-- obspc verify: obspc -->\n"

// TestCI runs what docs/ci.md offers: the steps of action.yml with a stand-in for
// the service, and the examples for others.
func TestCI(t *testing.T) {
	bin := programs(t)
	t.Run("pre-commit", func(t *testing.T) { preCommitHooks(t, newRunner(t, bin)) })
	t.Run("gitlab", func(t *testing.T) { gitLabJob(t, newRunner(t, bin)) })
	t.Run("make", func(t *testing.T) { makefileExample(t, newRunner(t, bin)) })
	for name, test := range map[string]func(*testing.T, *runner){
		"pushes": actionPushes, "fork": actionOfFork, "refused": actionRefused, "hostile": actionHostile, "shallow": actionShallow,
		"broken": actionBroken, "no pull request": actionAlone, "foreign comments": actionForeign, "too long": actionLong, "folder": actionFolder,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRunner(t, bin)
			r.project()
			test(t, r)
			left, err := filepath.Glob(r.dir + "/tmp/obspc-[cs]*")
			if len(left) > 0 || err != nil {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// A first push makes the comment, the next ones replace it; a verdict that is no
// comments first and then fails the job.
func actionPushes(t *testing.T, r *runner) {
	r.write("repo/policies/p.policy.hcl", ciPolicy(2, `optional("/srv/a"), optional("/srv/more")`), 0o644)
	r.obspc("compile", "policies", "-o", "release")
	r.context["inputs.junit"] = r.dir + "/verify.xml"
	if code := r.push(); code != 1 {
		t.Fatalf("exit code %d, want 1:\n%s", code, r.log)
	}
	got := r.comments()
	if len(got) != 1 || !strings.HasPrefix(got[0], ciMarker+"### ❌ obspc: unverified: golden failed\n") {
		t.Fatalf("comments: %q", got)
	}
	holds(t, "the comment", got[0], "obspc golden policies --dir golden --update", "Policy meaning: widened", "`read /srv/more", "| golden | **failed** (")
	holds(t, "the log", r.log, "::error title=obspc verify%3A golden,file=release/p/bwrap.args.txt::", "::error title=obspc verify::unverified: golden failed")
	if r.summary != strings.TrimPrefix(got[0], ciMarker) {
		t.Errorf("the summary is not the comment:\n%s", r.summary)
	}
	holds(t, "the JUnit file", r.read("verify.xml"), `name="verdict"`)

	r.accept()
	if code := r.push(); code != 0 {
		t.Fatalf("exit code %d, want 0:\n%s", code, r.log)
	}
	got = r.comments()
	if len(got) != 1 || !strings.HasPrefix(got[0], ciMarker+"### ✅ obspc: verified: source, golden, rules\n") {
		t.Fatalf("comments: %q", got)
	}
	holds(t, "the comment", got[0], "Policy meaning: widened", "`read /srv/more")
	if r.context["steps.verify.outputs.verdict"] != "verified" {
		t.Errorf("the outputs are %v", r.context)
	}
	calls := r.read("service/calls")
	if strings.Count(calls, "--method POST") != 1 || strings.Count(calls, "--method PATCH repos/acme/policies/issues/comments/101 ") != 1 {
		t.Errorf("calls:\n%s", calls)
	}

	r.context["inputs.comment"] = "false"
	if code := r.push(); code != 0 || r.read("service/calls") != calls {
		t.Errorf("exit code %d, or the service was called unasked:\n%s", code, r.read("service/calls"))
	}
}

// The token of a fork's pull request, and of Dependabot's, may only read.
func actionOfFork(t *testing.T, r *runner) {
	for name, value := range map[string]string{"github.event.pull_request.head.repo.full_name": "evil/policies", "github.actor": "dependabot[bot]"} {
		saved := r.context[name]
		r.context[name] = value
		if code := r.push(); code != 0 {
			t.Errorf("%s: exit code %d:\n%s", value, code, r.log)
		}
		holds(t, "the summary", r.summary, "### ✅ obspc: verified", "may only read: there is no comment, the report is in this summary")
		r.context[name] = saved
	}
	if _, err := os.Stat(r.dir + "/service/calls"); err == nil {
		t.Errorf("the service was called:\n%s", r.read("service/calls"))
	}
}

// A service that refuses is said, whatever the verdict is, and its words steer nothing.
func actionRefused(t *testing.T, r *runner) {
	r.write("service/refuses", "", 0o644)
	if code := r.push(); code != 3 {
		t.Errorf("exit code %d, want 3:\n%s", code, r.log)
	}
	holds(t, "the log", r.log, "pull-requests: write", "HTTP 403")
	holds(t, "the summary", r.summary, "### ✅ obspc: verified")
	if before, _, _ := strings.Cut(r.log, "##[set-output"); !strings.Contains(before, "::stop-commands::") {
		t.Errorf("the service's words are read as commands:\n%s", r.log)
	}
}

// Names, paths and messages from the change are no markup, no mention and no command.
func actionHostile(t *testing.T, r *runner) {
	const source = "pol`![x](http://evil)<img src=x> @acme/all\\n::set-output name=code::0;$(touch${IFS}pwned)"
	r.write("repo/obspc.hcl", strings.NewReplacer(`"policies"`, `"`+strings.ReplaceAll(source, "${", "$${")+`"`, `["std"]`, `["no\n::error::x"]`).Replace(ciProject), 0o644)
	if code := r.push(); code != 2 {
		t.Fatalf("exit code %d, want 2:\n%s", code, r.log)
	}
	hostile(t, r)
	r.write("repo/obspc.hcl", strings.Replace(ciProject, `"golden"`, `"gol`+"```"+`\n@all <b>"`, 1), 0o644)
	if code := r.push(); code != 1 {
		t.Fatalf("exit code %d, want 1:\n%s", code, r.log)
	}
	holds(t, "the comment", r.comments()[0], "golden was golden and is gol")
	hostile(t, r)
	if pwned, _ := filepath.Glob(r.repo + "/pwned*"); len(pwned) > 0 {
		t.Errorf("a path was run: %v", pwned)
	}
}

// hostile holds the one comment and the log to what they may contain.
func hostile(t *testing.T, r *runner) {
	t.Helper()
	got := r.comments()
	if len(got) != 1 {
		t.Fatalf("comments: %q", got)
	}
	fence, text := "", false
	for line := range strings.Lines(strings.TrimPrefix(got[0], ciMarker)) {
		line = strings.TrimSuffix(line, "\n")
		ticks := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch {
		case fence != "":
			if line == fence {
				fence = ""
			}
		case len(ticks) >= 3 && !strings.Contains(line[len(ticks):], "`"):
			fence = ticks
		case text && (strings.HasPrefix(line, "    ") || line == ""):
		case strings.HasPrefix(line, "#### Messages"):
			text = true
		default:
			rest := codeSpan(line)
			for _, bad := range []string{"@", "<img", "<b>", "![", "http:"} {
				if strings.Contains(rest, bad) {
					t.Errorf("%q is markup in the comment: %s", bad, line)
				}
			}
		}
	}
	stopped := ""
	for line := range strings.Lines(r.log) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "::stop-commands::"):
			stopped = strings.TrimPrefix(line, "::stop-commands::")
		case stopped != "":
			if line == "::"+stopped+"::" {
				stopped = ""
			}
		case strings.HasPrefix(line, "::") && !slices.ContainsFunc([]string{"error", "warning", "notice"}, func(k string) bool { return strings.HasPrefix(line, "::"+k+" title=obspc ") }):
			t.Errorf("a foreign command: %s", line)
		}
	}
}

// codeSpan is a line without its code spans (CommonMark 0.31, section 6.1).
func codeSpan(line string) string {
	var out strings.Builder
	for line != "" {
		start := strings.IndexByte(line, '`')
		if start < 0 {
			break
		}
		run := line[start : len(line)-len(strings.TrimLeft(line[start:], "`"))]
		out.WriteString(line[:start])
		line = line[start+len(run):]
		end := 0
		for {
			i := strings.Index(line[end:], run)
			if i < 0 {
				out.WriteString(run)
				break
			}
			after := strings.TrimLeft(line[end+i:], "`")
			if found := len(line[end+i:]) - len(after); found == len(run) {
				line = after
				break
			}
			end = len(line) - len(after)
		}
	}
	return out.String() + line
}

// A checkout without history gets the base commit alone, and nothing else is fetched
// into the working tree.
func actionShallow(t *testing.T, r *runner) {
	r.write("repo/policies/p.policy.hcl", ciPolicy(2, `optional("/srv/a"), optional("/srv/more")`), 0o644)
	r.accept()
	r.commit()
	r.git("config", "uploadpack.allowReachableSHA1InWant", "true")
	whole := r.repo
	r.repo = r.dir + "/shallow"
	if out, err := r.command(r.dir, "git", "clone", "-q", "--depth=1", "file://"+whole, r.repo).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if code := r.push(); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, r.log)
	}
	holds(t, "the comment", r.comments()[0], "✅", "Policy meaning: widened", "`read /srv/more")
	if changed := r.git("status", "--porcelain"); changed != "" {
		t.Errorf("the checkout changed:\n%s", changed)
	}
}

// What cannot be asked is a failed job with the reason, in the comment too.
func actionBroken(t *testing.T, r *runner) {
	r.write("repo/obspc.hcl", "verify {\n  goldn = \"x\"\n}\n", 0o644)
	if code := r.push(); code != 2 {
		t.Errorf("exit code %d, want 2:\n%s", code, r.log)
	}
	holds(t, "the comment", r.comments()[0], "### ❌ obspc: nothing was verified (exit code 2)", "    obspc.hcl:2:3: error:")
	holds(t, "the summary", r.summary, "nothing was verified")
	r.write("repo/obspc.hcl", ciProject, 0o644)
	r.context["inputs.base"] = "main; touch x"
	if code := r.push(); code != 2 {
		t.Errorf("exit code %d, want 2:\n%s", code, r.log)
	}
	holds(t, "the log", r.log, "base is a whole commit id or none")
	r.context["inputs.base"] = "none"
	if code := r.push(); code != 0 {
		t.Errorf("exit code %d, want 0:\n%s", code, r.log)
	}
	if text := r.comments()[0]; strings.Contains(text, "Policy meaning") {
		t.Errorf("compared with something:\n%s", text)
	}
	r.context["inputs.obspc"] = r.dir + "/nowhere"
	if code := r.push(); code == 0 {
		t.Errorf("without an obspc the job passes:\n%s", r.log)
	}
}

// A push to a branch has no pull request, and may have no base.
func actionAlone(t *testing.T, r *runner) {
	for _, name := range []string{"number", "head.repo.full_name", "base.sha"} {
		delete(r.context, "github.event.pull_request."+name)
	}
	if code := r.push(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, r.log)
	}
	holds(t, "the summary", r.summary, "✅ obspc: verified", "for no pull request")
}

// Comments of others stay, even with the marker; of two of ours one goes.
func actionForeign(t *testing.T, r *runner) {
	const mine = `{"id": %d, "user": {"login": "github-actions[bot]"}, "body": "<!-- obspc verify: obspc -->\nold"}`
	r.write("service/comments.json", `[{"id": 1, "user": {"login": "evil"}, "body": "<!-- obspc verify: obspc -->\nok"}, {"id": 2, "user": {"login": "github-actions[bot]"}, "body": "other"}, `+
		strings.Replace(mine, "%d", "3", 1)+", "+strings.Replace(mine, "%d", "4", 1)+"]", 0o644)
	if code := r.push(); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, r.log)
	}
	got := r.comments()
	if len(got) != 3 || got[0] != ciMarker+"ok" || got[1] != "other" || !strings.HasPrefix(got[2], ciMarker+"### ✅") {
		t.Errorf("comments: %q", got)
	}
	r.context["inputs.comment-name"] = "second"
	if code := r.push(); code != 0 || len(r.comments()) != 4 {
		t.Errorf("exit code %d, comments: %q", code, r.comments())
	}
	r.context["inputs.comment-name"] = `"; x`
	if code := r.push(); code != 2 {
		t.Errorf("exit code %d, want 2:\n%s", code, r.log)
	}
}

// What does not fit into a comment is cut, and said to be.
func actionLong(t *testing.T, r *runner) {
	var reads []string
	for i := range 900 {
		reads = append(reads, `optional("/srv/`+strings.Repeat("x", 40)+"/"+strings.Repeat("y", i%7+1)+string(rune('a'+i%26))+strings.Repeat("z", i/26+1)+`")`)
	}
	r.write("repo/policies/p.policy.hcl", ciPolicy(2, strings.Join(reads, ", ")), 0o644)
	r.accept()
	if code := r.push(); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, r.log)
	}
	got := r.comments()[0]
	if len(got) < 20000 || len(got) > 65536 {
		t.Errorf("the comment has %d bytes", len(got))
	}
	holds(t, "the comment", got, "✅", "This is too long for a comment: ")
}

// A project in a folder of the repository is compared with that folder.
func actionFolder(t *testing.T, r *runner) {
	for _, name := range []string{"obspc.hcl", "policies", "golden", "release"} {
		if err := os.MkdirAll(r.repo+"/a b", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(r.repo+"/"+name, r.repo+"/a b/"+name); err != nil {
			t.Fatal(err)
		}
	}
	r.context["inputs.working-directory"] = "a b"
	if code := r.push(); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, r.log)
	}
	holds(t, "the comment", r.comments()[0], "The base commit has no `obspc.hcl` here")
	r.context["github.event.pull_request.base.sha"] = r.commit()
	if code := r.push(); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, r.log)
	}
	holds(t, "the comment", r.comments()[0], "Policy meaning: same meaning")
}
