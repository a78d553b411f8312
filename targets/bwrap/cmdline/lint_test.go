package cmdline_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/targets/bwrap/cmdline"
	"github.com/obspc/obspc/testdata/cases"
)

// quiet are options under which a command line has no finding about the process.
const quiet = "bwrap --unshare-all --unshare-user --disable-userns --die-with-parent --new-session --cap-drop ALL --clearenv "

func lint(text string) diag.List { return cmdline.Lint("t", []byte(text), cmdline.Options{}) }

// TestLint is, for each finding, a command line that has it and a twin with the fault
// mended that has not.
func TestLint(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ code, faulty, mended string }{
		{"protection-hidden", "--ro-bind /w/.git /w/.git --bind /w /w", "--bind /w /w --ro-bind /w/.git /w/.git"},
		{"protection-hidden", "--tmpfs /home/u/.ssh --ro-bind /home /home", "--ro-bind /home /home --tmpfs /home/u/.ssh"},
		{"protection-hidden", "--ro-bind-data 5 /w/.env --bind / /", "--bind / / --ro-bind-data 5 /w/.env"},
		{"mount-hidden", "--bind /a /t/a --tmpfs /t", "--tmpfs /t --bind /a /t/a"},
		{"mount-hidden", "--ro-bind /a /a --ro-bind /b /a", "--ro-bind /a /a --ro-bind /b /b"},
		{"mount-hidden", "--dir /t/a --tmpfs /t", "--dir /t --tmpfs /t --dir /t/a"},
		{"mount-hidden", "--dev /dev --dev-bind /dev /dev", "--dev /dev --dev-bind /dev/kvm /dev/kvm"},
		{"optional-protection", "--bind /w /w --ro-bind-try /w/.env /w/.env", "--bind /w /w --ro-bind /w/.env /w/.env"},
		{"parent-moves", "--bind /w /w --ro-bind /w/.git/hooks /w/.git/hooks", "--bind /w /w --bind /w/.git /w/.git --ro-bind /w/.git/hooks /w/.git/hooks"},
		{"made-on-host", "--bind /w /w --tmpfs /w/.ssh", "--tmpfs /w --tmpfs /w/.ssh"},
		{"made-on-host", "--bind /w /w --symlink a /w/l", "--bind /w /w --symlink a /l"},
		{"mount-point-missing", "--ro-bind /usr /usr --tmpfs /usr/x", "--ro-bind /usr /usr --tmpfs /x"},
		{"mount-point-missing", "--ro-bind /usr /usr --ro-bind /x /usr/x", "--ro-bind /usr /usr --ro-bind /usr/x /usr/x"},
		{"writable-root", "--bind / /", "--bind /w /w"},
		{"writable-root", "--dev-bind / /mnt", "--dev-bind /dev/kvm /dev/kvm"},
		{"readable-root", "--ro-bind / /", "--ro-bind /usr /usr"},
		{"readable-root", "--ro-bind-try / /", "--ro-bind / / --tmpfs /"},
		{"sockets-reachable", "--ro-bind /run /run", "--ro-bind /run /run --tmpfs /run/user --tmpfs /run/dbus --tmpfs /run/systemd --ro-bind-data 5 /run/docker.sock --tmpfs /run/podman --tmpfs /run/containerd"},
		{"sockets-reachable", "--bind /var/run/docker.sock /d.sock", "--bind /var/log /d"},
		{"sockets-reachable", "--ro-bind /run/user/1000/bus /bus", "--ro-bind /run/media /m"},
		{"sockets-reachable", "--bind /tmp /tmp", "--tmpfs /tmp"},
		{"sockets-reachable", "--ro-bind \"$SSH_AUTH_SOCK\" /agent", "--ro-bind $HOME/x /agent"},
		{"remount-one", "--bind /w /w --remount-ro /w", "--ro-bind /w /w"},
		{"remount-of-host", "--bind /w /w --remount-ro /w/a", "--bind /w /w --bind /w/a /w/a --remount-ro /w/a"},
		{"chmod-on-host", "--bind /w /w --chmod 0700 /w/a", "--tmpfs /w --chmod 0700 /w"},
		{"link-exists", "--symlink a /l --symlink a /l", "--symlink a /l --symlink a /m"},
		{"link-destination", "--dir /d --symlink d /l --tmpfs /l", "--symlink d /l --tmpfs /d"},
		{"link-destination", "--dir /d --symlink d /l --tmpfs /l/x", "--tmpfs /l/x --symlink d /m"},
		{"path-goes-up", "--tmpfs /a/../b", "--tmpfs /b"},
		{"modifier-at-end", "--tmpfs /a --perms 0700", "--perms 0700 --tmpfs /a"},
		{"modifier-at-end", "--tmpfs /a --size 4096", "--size 4096 --tmpfs /a"},
		{"only-the-last", "--chdir /a --chdir /b", "--chdir /b"},
		{"args-unread", "--args 5", "--tmpfs /a"},
		{"secret-in-arguments", "--setenv API_TOKEN x", "--setenv LANG C"},
		{"capabilities-added", "--cap-add CAP_SYS_ADMIN", "--cap-add CAP_SYS_ADMIN --cap-drop CAP_SYS_ADMIN"},
		{"not-a-boundary", "--not-a-security-boundary", "--level-prefix"},
		{"shared-network", "--share-net", "--share-net --unshare-net"},
		{"options-in-command", "-- --unshare-net", "--"},
		{"options-in-command", "sh --ro-bind / /", "bwrap --ro-bind / /"},
	} {
		if got := lint(quiet + tt.faulty + " ls"); !slices.ContainsFunc(got, func(d diag.Diagnostic) bool { return d.Code == tt.code }) {
			t.Errorf("%s: %s, want %s", tt.faulty, cases.Codes(got), tt.code)
		}
		if got := lint(quiet + tt.mended + " ls"); slices.ContainsFunc(got, func(d diag.Diagnostic) bool { return d.Code == tt.code }) {
			t.Errorf("%s: %s, want no %s", tt.mended, cases.Codes(got), tt.code)
		}
	}
}

// TestLintProcess: each option about the process is missed when it is left out.
func TestLintProcess(t *testing.T) {
	t.Parallel()
	if got := lint(quiet + "--ro-bind /usr /usr ls"); len(got) > 0 {
		t.Fatalf("with every option: %v", got)
	}
	for option, want := range map[string]string{
		"--unshare-all": "shared-ipc shared-network shared-pid", "--die-with-parent": "no-die-with-parent", "--new-session": "no-new-session",
		"--cap-drop ALL": "root-capabilities", "--clearenv": "inherited-environment", "--disable-userns": "nested-user-namespaces",
	} {
		if got := cases.Codes(lint(strings.Replace(quiet, option+" ", "", 1) + "--ro-bind /usr /usr ls")); got != want {
			t.Errorf("without %s: %q, want %q", option, got, want)
		}
	}
	// A filter that is not known may refuse what these are about.
	for _, option := range []string{"--new-session", "--disable-userns"} {
		if got := lint(strings.Replace(quiet, option+" ", "", 1) + "--seccomp 5 ls"); len(got) > 0 {
			t.Errorf("with a filter and without %s: %v", option, got)
		}
	}
}

// TestLintStream: what --args reads drops what follows its options.
func TestLintStream(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"--tmpfs\x00/a\x00--\x00--unshare-net\x00", "--tmpfs\x00/a\x00junk\x00--unshare-net\x00"} {
		if got := cases.Codes(lint(text)); !strings.Contains(got, "options-dropped") {
			t.Errorf("lint(%q) = %s, want options-dropped", text, got)
		}
	}
	if got := cases.Codes(lint("--tmpfs\x00/a\x00--\x00")); strings.Contains(got, "options-dropped") {
		t.Errorf("nothing follows, and it is dropped: %s", got)
	}
	if got := cases.Codes(lint("bwrap --tmpfs /a ls\nbwrap --tmpfs /b ls\n")); !strings.Contains(got, "more-commands") {
		t.Errorf("the second command is not read: %s", got)
	}
}

// TestLintWords: every finding says what is wrong, where, and what to write.
func TestLintWords(t *testing.T) {
	t.Parallel()
	list := lint("bwrap --ro-bind /w/.git /w/.git --bind / / --tmpfs /home/u/.ssh --bind /w /w --ro-bind-try /w/a/b /w/a/b --setenv TOKEN x --symlink a /l --dir /l/x --args 4 sh")
	if len(list) < 9 {
		t.Errorf("findings: %s", cases.Codes(list))
	}
	for _, d := range list {
		if d.Severity != diag.Warning || d.Message == "" || d.Help == "" || strings.HasSuffix(d.Message, ".") || d.At.File != "t" || d.At.Start.Line != 1 {
			t.Errorf("%+v", d)
		}
	}
}
