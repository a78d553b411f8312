package policies_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// tries is the beginning of a script: try NAME COMMAND prints NAME if the command
// succeeds, and goes on.
const tries = identity + `
try() { if (eval "$2") >/dev/null 2>&1; then echo "$1"; fi; }
`

// plantings change what git starts for whoever runs it next. Each undoes what it
// did where the next one would miss it.
const plantings = `
try "a new hook" 'echo x >.git/hooks/post-commit'
try "another hook" 'echo "#!/bin/sh" >.git/hooks/pre-commit'
try "a hook put in place" 'cp .git/hooks/pre-commit h && mv h .git/hooks/pre-commit'
try "other hooks" 'mv .git/hooks .git/away && mv .git/away .git/hooks'
try "core.hooksPath" 'git config core.hooksPath /tmp'
try "core.fsmonitor" 'git config core.fsmonitor true && git config --unset core.fsmonitor'
try "an alias" 'echo "[alias]" >>.git/config'
try "another configuration" 'cp .git/config c && rm .git/config && mv c .git/config'
try "one under another name" 'ln .git/config c && echo >>c && rm c'
try "one for the worktree" 'echo "[core]" >.git/config.worktree'
try "the repository moved" 'mv .git moved && mv moved .git'
try "a new repository" 'git init -q .'
`

// TestLiveGitProtects: under std/git a command commits, with the repository's own
// hook, and changes nothing that git starts.
func TestLiveGitProtects(t *testing.T) {
	l := newLab(t)
	sh := realPaths(t, "sh", "git")[0]
	policy := l.policy(t, templatePolicy([]string{"std/shell", "std/git"}, "write = [workspace]", ""))
	// What the page names as not kept is tried like the rest.
	script := tries + plantings + `
try "what the page says is open" 'echo . >.git/commondir && rm .git/commondir'
echo text >>file; git add file; git commit -qm inside; git log -1 --format=%s`
	for _, who := range users() {
		t.Run(userName(who), func(t *testing.T) {
			work := l.work(t, who)
			defer os.RemoveAll(work)
			const hook = `printf '#!/bin/sh\necho hooked >>ran\n' >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit`
			l.mustRun(t, who, work, identity+"\ngit init -q .; git commit -q --allow-empty -m first; "+hook)

			stdout, stderr, code := l.runIn(t, who, work, l.under(policy, sh, "-euc", script))
			if want := "what the page says is open\ninside\n"; code != 0 || stdout != want {
				t.Errorf("inside: exit %d, %q, want %q\n%s", code, stdout, want, stderr)
			}
			if ran, err := os.ReadFile(filepath.Join(work, "ran")); string(ran) != "hooked\n" {
				t.Errorf("the hook wrote %q, %v", ran, err)
			}
			l.controls(t, who, work, script)
		})
	}
}

// TestLiveWorktree: under std/git-worktree, as its page shows it, a command commits
// in a linked worktree and leaves alone which repository that belongs to and what
// git starts there.
func TestLiveWorktree(t *testing.T) {
	l := newLab(t)
	sh := realPaths(t, "sh", "git")[0]
	app := filepath.Join(l.dir, "app")
	at := app + "/.git/"
	policy := l.policy(t, templatePolicy([]string{"std/shell", "std/git-worktree"}, `
    write = [workspace, "`+at+`objects", "`+at+`refs", "`+at+`logs", "`+at+`worktrees/w"]
    read  = ["`+app+`/.git", "`+at+`worktrees/w/commondir", "`+at+`worktrees/w/gitdir"]`, ""))
	script := tries + `
try "another repository" 'cp .git g && echo "gitdir: /tmp" >.git && cp g .git'
try "the link replaced" 'cp .git g && rm .git && mv g .git'
cd ` + app + `
try "a new file" 'touch ours && rm ours'
` + plantings + `
try "another common directory" 'cp .git/worktrees/w/commondir c && echo /tmp >.git/worktrees/w/commondir && cp c .git/worktrees/w/commondir'
try "one for all" 'echo . >.git/commondir && rm .git/commondir'
cd "$HOME"
echo text >>file; git add file; git commit -qm inside; git log -1 --format=%s`
	for _, who := range users() {
		t.Run(userName(who), func(t *testing.T) {
			work := l.work(t, who)
			defer os.RemoveAll(work)
			l.mustRun(t, who, work, identity+"\ngit init -q r; cd r; git commit -q --allow-empty -m first")
			if err := os.Rename(filepath.Join(work, "r"), app); err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(app)
			l.mustRun(t, who, work, "git -C "+app+" worktree add -q -f "+work)

			stdout, stderr, code := l.runIn(t, who, work, l.under(policy, sh, "-euc", script))
			if code != 0 || stdout != "inside\n" {
				t.Errorf("inside: exit %d, %q, want a commit and nothing else\n%s", code, stdout, stderr)
			}
			l.controls(t, who, work, script)
		})
	}
}

// mustRun runs a shell's script outside.
func (l *lab) mustRun(t *testing.T, who *syscall.Credential, work, script string) {
	t.Helper()
	stdout, stderr, code := l.runIn(t, who, work, []string{"/bin/sh", "-euc", script})
	if code != 0 {
		t.Fatalf("%s: exit %d, %s%s", script, code, stdout, stderr)
	}
}

// controls holds that everything the script tries succeeds outside.
func (l *lab) controls(t *testing.T, who *syscall.Credential, work, script string) {
	t.Helper()
	stdout, stderr, code := l.runIn(t, who, work, []string{"/bin/sh", "-uc", script})
	for line := range strings.Lines(script) {
		rest, ok := strings.CutPrefix(line, `try "`)
		if name, _, _ := strings.Cut(rest, `"`); ok && !strings.Contains(stdout, name+"\n") {
			t.Errorf("the control of %q fails outside: exit %d, %s%s", name, code, stdout, stderr)
		}
	}
}
