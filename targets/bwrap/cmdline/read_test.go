package cmdline_test

import (
	"strings"
	"testing"

	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/targets/bwrap/cmdline"
	"github.com/obspc/obspc/testdata/cases"
)

// read reads a text that bwrap takes.
func read(t testing.TB, text string) *cmdline.Command {
	t.Helper()
	c, list := cmdline.Read("t", []byte(text), cmdline.Options{})
	if list.HasErrors() {
		t.Fatalf("Read(%q): %v", text, list)
	}
	return c
}

// TestWords reads the same options in many spellings.
func TestWords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, operations, argv string }{
		{"stream of --args", "--ro-bind\x00/a b\x00/c\x00", "--ro-bind '/a b' /c", ""},
		{"stream without its last NUL", "--tmpfs\x00/a\x00--dir\x00/b", "--tmpfs /a|--dir /b", ""},
		{"stream of a process", "/usr/bin/bwrap\x00--tmpfs\x00/a\x00--\x00ls\x00-l\x00", "--tmpfs /a", "ls -l"},
		{"process under another name", "sandbox\x00--tmpfs\x00/a\x00ls\x00", "--tmpfs /a", "ls"},
		{"lines", "--tmpfs /a # why\n\n# a comment\n--dir /b\n", "--tmpfs /a|--dir /b", ""},
		{"lines and a command", "--tmpfs /a\n--\nls 'a b'\n", "--tmpfs /a", "ls 'a b'"},
		{"shell command", "set -e\nexec bwrap --tmpfs /a \\\n  --dir \"/b c\" -- ls\necho done\n", "--tmpfs /a|--dir '/b c'", "ls"},
		{"ends at a semicolon", "bwrap --tmpfs /a ls; rm --dir /b", "--tmpfs /a", "ls"},
		{"ends at a pipe", "bwrap --tmpfs /a ls|wc", "--tmpfs /a", "ls"},
		{"not the argument of another", "command -v bwrap || exit\n/usr/bin/bwrap --tmpfs /a ls", "--tmpfs /a", "ls"},
		{"a variable that names it", "\"$BWRAP\" --tmpfs /a ls", "--tmpfs /a", "ls"},
		{"redirections", "bwrap --seccomp 10 --tmpfs /a ls 10< filter 2>&1 >out", "--tmpfs /a", "ls"},
		{"process substitution", "bwrap --ro-bind-data 9 /f ls 9< <(printf 'x y')", "--ro-bind-data 9 /f", "ls"},
		{"quotes inside a word", `bwrap --dir /a"b c"'d' ls`, "--dir '/ab cd'", "ls"},
		{"escapes", `bwrap --dir /a\ b --dir "/c\"d\e" ls`, `--dir '/a b'|--dir '/c"d\e'`, "ls"},
		{"a hash inside a word", "bwrap --dir /a#b ls", "--dir '/a#b'", "ls"},
		{"variables", `bwrap --bind "$HOME/x" "${HOME}"/x --bind ~/y /y ls`, "--bind ${HOME}/x ${HOME}/x|--bind '${HOME}/y' /y", "ls"},
		{"what a command prints", "bwrap --uid \"$(id -u)\" --dir \"/run/`id -u`\" ls", "--dir '/run/${output of 1:36}'", "ls"},
		{"a default of a variable", `bwrap --dir "${X:-/a}/b" --dir "$X" --dir "${X:-/a}" ls`, "--dir ${X at 1:14}/b|--dir ${X}|--dir ${X at 1:14}", "ls"},
		{"an empty word is a command", "bwrap --tmpfs /a ''", "--tmpfs /a", "''"},
		{"a command may look like an option", "bwrap --tmpfs /a -- --dir /b", "--tmpfs /a", "--dir /b"},
		{"modes and sizes stay with their operation", "--perms 0700 --size 4096 --tmpfs /a --tmpfs /b", "--perms 0700 --size 4096 --tmpfs /a|--tmpfs /b", ""},
		{"a descriptor to be filled in", "--seccomp FD\n--tmpfs /a", "--tmpfs /a", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := read(t, tt.text)
			var operations, argv []string
			for i := range c.Operations {
				operations = append(operations, c.Operations[i].String())
			}
			for _, w := range c.Argv {
				if w == "" || strings.Contains(w, " ") {
					w = "'" + w + "'"
				}
				argv = append(argv, w)
			}
			if got := strings.Join(operations, "|"); strings.ReplaceAll(got, "'", "") != strings.ReplaceAll(tt.operations, "'", "") {
				t.Errorf("Read(%q): operations %s, want %s", tt.text, got, tt.operations)
			}
			if got := strings.Join(argv, " "); got != tt.argv {
				t.Errorf("Read(%q): command %q, want %q", tt.text, got, tt.argv)
			}
		})
	}
}

// TestPlaces: an operation is where its words are.
func TestPlaces(t *testing.T) {
	t.Parallel()
	c := read(t, "bwrap --tmpfs /a \\\n  --ro-bind 'ä' /b ls")
	op := c.Operations[1]
	if got := op.At.String() + " " + op.DestAt.String(); got != "t:2:3 t:2:17" || op.At.End != op.DestAt.End {
		t.Errorf("the bind is at %s to %v", got, op.At.End)
	}
}

// TestRefused is what bwrap ends with an error at, and what cannot be read here.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, code string }{
		{"", "no-options"},
		{"# nothing\n", "no-options"},
		{"--tmpfs /a; ls", "no-options"},
		{"bwrap --tmpf /a ls", "unknown-option"},
		{"bwrap -x ls", "unknown-option"},
		{"bwrap --tmpfs", "missing-argument"},
		{"--bind /a", "missing-argument"},
		{"bwrap --seccomp x ls", "wrong-argument"},
		{"bwrap --sync-fd -1 ls", "wrong-argument"},
		{"--seccomp\x00FD\x00", "wrong-argument"},
		{"bwrap --perms 8 --tmpfs /a ls", "wrong-argument"},
		{"bwrap --perms 10000 --tmpfs /a ls", "wrong-argument"},
		{"bwrap --size 0 --tmpfs /a ls", "wrong-argument"},
		{"bwrap --size -1 --tmpfs /a ls", "wrong-argument"},
		{"bwrap --chmod rwx /a ls", "wrong-argument"},
		{"bwrap --cap-add net_admin ls", "wrong-argument"},
		{"bwrap --perms 0700 --ro-bind /a /b ls", "modifier-misplaced"},
		{"bwrap --size 4096 --dir /a ls", "modifier-misplaced"},
		{"bwrap --perms 0700 --perms 0700 --dir /a ls", "modifier-twice"},
		{"bwrap --overlay-src /a --ro-overlay /b ls", "overlay-layers"},
		{"bwrap --overlay /a /w /b ls", "overlay-layers"},
		{"bwrap --overlay-src /a --dir /x --tmp-overlay /b ls", "modifier-misplaced overlay-layers"},
		{"bwrap --overlay-src /a ls", "modifier-misplaced"},
		{"bwrap --disable-userns --tmpfs /a ls", "option-needs"},
		{"bwrap --hostname h --tmpfs /a ls", "option-needs"},
		{"bwrap --as-pid-1 --tmpfs /a ls", "option-needs"},
		{"bwrap --unshare-user --userns-block-fd 5 ls", "option-needs"},
		{"bwrap --seccomp 3 --add-seccomp-fd 4 ls", "options-exclude"},
		{"bwrap --unshare-all --userns 4 ls", "options-exclude"},
		{"bwrap --argv0 a --argv0 b ls", "only-the-last"},
		{"bwrap --tmpfs /a", "no-command"},
		{"--args\x005\x00", "args-in-args"},
		{"bwrap --tmpfs /a --remount-ro /a/b ls", "remount-no-mount"},
		{"bwrap --tmpfs /a --chmod 0700 /a/b ls", "chmod-nothing"},
		{"bwrap --ro-bind /a /a --chmod 0700 /a/b ls", "chmod-read-only"},
		{"bwrap --symlink a /l --symlink b /l ls", "link-exists"},
		{"bwrap --ro-bind /usr /usr --symlink /usr /x --ro-bind /srv /x/share true", "destination-behind-link"},
		{"bwrap --dir /d --symlink /d /x --tmpfs /x true", "destination-behind-link"},
		{"bwrap --dir /d --symlink /d /x --symlink a /x/l true", "destination-behind-link"},
		{"bwrap --symlink /b /a --symlink /a /b --ro-bind /usr /a/x true", "destination-behind-link"},
		{"bwrap --symlink b /a --symlink a /b --dir /a/x true", "destination-behind-link"},
		{"bwrap --symlink ../d/../e /x --dir /x/y true", "destination-behind-link"},
		{"bwrap --symlink \"$X\" /x --dir /x/y true", "destination-behind-link"},
		{"bwrap --dev /dev --bind /a /dev/fd/7 true", "destination-behind-link"},
		{"bwrap 'ls", "bwrap-unclosed"},
		{"bwrap --dir \"/a", "bwrap-unclosed"},
		{"bwrap --dir /$(id ls", "bwrap-unclosed"},
		{"bwrap --dir ${A ls", "bwrap-unclosed"},
		{`bwrap "${args[@]}" ls`, "bwrap-shell-array"},
		{`bwrap "$@"`, "bwrap-many-words"},
		{"bwrap --tmpfs /a $NET ls", "unknown-word"},
		{"bwrap " + strings.Repeat("--dir /a ", 4501) + "ls", "too-many-arguments"},
		{strings.Repeat(" ", 3<<20), "text-too-long"},
	} {
		_, list := cmdline.Read("t", []byte(tt.text), cmdline.Options{})
		var errs diag.List
		for _, d := range list {
			if d.Severity == diag.Error {
				errs.Add(d)
			}
			if d.Help == "" || d.Message == "" || strings.HasSuffix(d.Message, ".") {
				t.Errorf("%s: message %q, help %q", d.Code, d.Message, d.Help)
			}
		}
		if got := cases.Codes(errs); got != tt.code {
			t.Errorf("Read(%.60q) = %q, want %s", tt.text, got, tt.code)
		}
	}
}

// TestRelease: an option is refused for a bubblewrap that lacks it.
func TestRelease(t *testing.T) {
	t.Parallel()
	text := []byte("bwrap --overlay-src /a --tmp-overlay /b --size 4096 --tmpfs /c ls")
	for release, want := range map[string]string{"0.11.0": "", "0.13": "", "0.8.0": "newer-option newer-option", "0.6.2": "newer-option newer-option newer-option"} {
		v, ok := cmdline.ParseVersion(release)
		if !ok {
			t.Fatalf("ParseVersion(%q) failed", release)
		}
		c, list := cmdline.Read("t", text, cmdline.Options{Release: v})
		if got := cases.Codes(list); got != want || c.Needs.String() != "0.11.0" || c.By != "--overlay-src" {
			t.Errorf("for %s: %q, want %q; needs %s for %s", release, got, want, c.Needs, c.By)
		}
	}
	links := []byte("bwrap --dir /d --symlink d /l --dir /l/x ls")
	for release, want := range map[string]string{"0.11.0": "", "0.12.0": "destination-behind-link", "": ""} {
		v, _ := cmdline.ParseVersion(release)
		if _, list := cmdline.Read("t", links, cmdline.Options{Release: v}); cases.Codes(list) != want {
			t.Errorf("for %q: %v, want %q", release, list, want)
		}
	}
	for _, text := range []string{"", "1", "0.x", "0.8.0.1", "-1.0", "0.8-1"} {
		if v, ok := cmdline.ParseVersion(text); ok {
			t.Errorf("ParseVersion(%q) = %v", text, v)
		}
	}
}

// TestSettings is what the options make beside mounts.
func TestSettings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ options, want string }{
		{"--setenv A 1 --clearenv --setenv B 2 --setenv C 3 --unsetenv B", "PWD| C=3"},
		{"--setenv A 1 --unsetenv B --setenv A 2", "without B| A=2"},
		{"--unsetenv A --setenv A 1", "the caller's| A=1"},
		{"--unshare-all", "net its own|pid its own|user its own where"},
		{"--unshare-all --share-net", "net the host's|pid its own"},
		{"--share-net --unshare-all", "net its own"},
		{"--unshare-net --share-net", "net the host's"},
		{"--netns 5", "net the one of descriptor 5"},
		{"--tmpfs /a", "user its own unless the caller is root|pid the host's|cgroup the host's"},
		{"--unshare-user-try --unshare-cgroup-try", "user its own where|cgroup its own where"},
		{"--cap-drop ALL", "root none|any other caller none"},
		{"--cap-drop ALL --cap-add CAP_KILL", "root CAP_KILL|any other caller CAP_KILL"},
		{"--cap-add ALL --cap-drop cap_sys_admin", "root all but CAP_SYS_ADMIN|any other caller all but CAP_SYS_ADMIN"},
		{"--cap-drop CAP_SYS_ADMIN", "root all but CAP_SYS_ADMIN|any other caller none"},
		{"--new-session --die-with-parent --chdir /w --seccomp 7", "new session yes|dies with its parent yes|starts in /w|filter 7"},
		{"--unshare-user --disable-userns", "inside none|0.8.0 or newer, for --disable-userns"},
		{"--size 0x1000 --tmpfs /a --ro-bind-try /b /c", "memory, at most 4096 bytes|the host's /b, if it exists"},
		{"--tmpfs /a/b --bind / /", "memory; hidden by a later mount"},
		{"--overlay-src /l --overlay-src /m --overlay /u /w /o", "layers: /u, /l, /m"},
	} {
		table := strings.Join(strings.Fields(read(t, "bwrap "+tt.options+" ls").Table()), " ")
		for want := range strings.SplitSeq(tt.want, "|") {
			if !strings.Contains(table, want) {
				t.Errorf("%s: no %q in %s", tt.options, want, table)
			}
		}
	}
}
