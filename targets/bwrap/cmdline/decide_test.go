package cmdline_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/bwrap/cmdline"
)

func ask(t testing.TB, c *cmdline.Command, request string) cmdline.Answer {
	t.Helper()
	r, err := ir.ParseRequest(strings.Fields(request))
	if err != nil {
		t.Fatal(err)
	}
	return c.Decide(r)
}

// linkChain is n links, each to the next.
func linkChain(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "--symlink /l%d /l%d ", i+1, i)
	}
	return b.String()
}

// TestDecide is command lines, requests and answers: "+" allow, "-" deny, "?"
// undecided, and a part of the reason or of what is not known.
func TestDecide(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		options string
		answers []string
	}{
		{"--ro-bind / /", []string{
			"+ read /etc/passwd: the host's /etc/passwd", "- write /etc/passwd: read-only", "- create /etc/x: read-only", "- remove /: mount point",
			"+ connect-unix /run/docker.sock: does not stop connect", "+ connect example.com:443: the host's", "+ execute /usr/bin/env:",
		}},
		// Order decides, not depth.
		{"--ro-bind /w/sub /w/sub --bind /w /w", []string{"+ write /w/sub/f: writable", "+ write /w/f:"}},
		{"--bind /w /w --ro-bind /w/sub /w/sub", []string{"- write /w/sub/f: read-only", "+ write /w/f:", "- remove /w/sub: mount point", "- remove /w: mount point", "+ rename /w/a /w/b:", "- rename /w/a /w/sub/a: read-only"}},
		{"--bind / / --tmpfs /home", []string{"- read /home/u/.ssh/id: nothing is there", "+ list /home:", "+ create /home/x: memory", "- rename /home/a /etc/a: EXDEV", "- link /etc/a /home/a: EXDEV"}},
		{"--bind / / --bind /a /a --bind /a/b /a/b", []string{"- rename /a/b/x /a/x: EXDEV", "- remove /a: mount point", "+ rename /a/x /a/y:"}},
		{"--bind / / --ro-bind /a/b/c /a/b/c", []string{"- remove /a/b: cannot be emptied", "+ rename /a/b /a/z:", "+ remove /a/d:"}},
		// What is not there is not there.
		{"--ro-bind /usr /usr --symlink usr/bin /bin", []string{
			"+ execute /bin/sh: the host's /usr/bin/sh", "- read /etc/passwd: nothing is there", "+ create /etc: memory", "+ list /:", "+ stat /usr:", "+ rename /bin /bin2:",
		}},
		{"--symlink /usr/bin /b --symlink b/x /c --ro-bind /usr /usr", []string{"+ read /c/y: the host's /usr/bin/x/y"}},
		{"--symlink l /l --tmpfs /a", []string{"- read /l/x: ELOOP", "- read /l: ELOOP", "+ remove /l:"}},
		{linkChain(40) + "--ro-bind /usr /l40", []string{"+ read /l0/x: the host's /usr/x"}},
		{linkChain(41) + "--ro-bind /usr /l41", []string{"- read /l0/x: ELOOP", "+ read /l1/x: the host's /usr/x", "- read /l0: ELOOP", "- create /l0/x: ELOOP"}},
		{"--ro-bind /usr /usr --remount-ro /", []string{"- create /x: remounted read-only", "- read /x: nothing is there", "+ list /:", "- write /usr/x:"}},
		// Sources.
		{"--bind /srv/w /w --ro-bind /etc/hosts /w/hosts", []string{"+ write /w/a: the host's /srv/w/a", "- write /w/hosts: read-only", "+ read /w/hosts: the host's /etc/hosts"}},
		// A missing source skips, and what that means for what is asked.
		{"--bind / / --ro-bind-try /a/b /a/b", []string{"- write /a/b/f: read-only", "? create /a/b/f: whether the host has /a/b", "? create /a/b: whether", "+ read /a/b/f:"}},
		{"--bind /s /w --ro-bind-try /t /w/t", []string{"? write /w/t/f: whether the host has /t", "- write /x/t/f:0"}},
		{"--ro-bind / / --ro-bind-try /a /a", []string{"- create /a/f: read-only", "+ read /a/f:"}},
		{"--bind-try /a /a", []string{"+ read /a/f: the host's /a/f"}},
		// What the shell would know.
		{`--ro-bind / / --bind "$PWD" "$PWD"`, []string{"? write /srv/f: whether /srv/f lies at or below ${PWD}", "+ read /srv/f:"}},
		{`--ro-bind / / --tmpfs "$HOME/.ssh"`, []string{"- write /srv/f: read-only", "? read /home/u/.ssh/id: whether /home/u/.ssh/id lies", "+ read /srv/f:"}},
		{`--ro-bind / / --bind "/run/user/$UID" "/run/user/$UID"`, []string{"- write /etc/f: read-only", "? write /run/user/1000/bus: whether"}},
		{`--ro-bind ${home} ${home} --tmpfs ${home}/.ssh`, []string{"+ read ${home}/a:", "- read ${home}/.ssh/id: nothing", "- write ${home}/a: read-only"}},
		// The mounts that bwrap knows.
		{"--dev /dev", []string{"+ write /dev/null: the host's /dev/null", "- remove /dev/null: mount point", "- read /dev/sda: nothing", "+ create /dev/x: memory", "+ list /dev/shm:", "- read /dev/null/x: is a file", "+ stat /dev/fd:0", "+ read /dev/pts/0: terminals"}},
		{"--dev-bind /dev /dev", []string{"+ read /dev/sda: the host's /dev/sda"}},
		{"--unshare-pid --proc /proc", []string{"+ read /proc/1/cmdline: own PID", "? write /proc/sys/kernel/x: which files of /proc", "- create /proc/x: no names", "- execute /proc/self/exe: noexec"}},
		{"--proc /proc --remount-ro /proc", []string{"+ read /proc/1/cmdline: host's processes", "- write /proc/self/oom_adj: read-only"}},
		{"--mqueue /dev/mqueue", []string{"+ create /dev/mqueue/q: queues", "- execute /dev/mqueue/q: queue"}},
		{"--perms 0000 --ro-bind-data 5 /f --bind-data 6 /g --file 7 /h", []string{"- read /f: its mode is 0000", "+ stat /f:", "- write /f: read-only", "+ write /g: descriptor 6", "- remove /g: mount point", "+ remove /h:", "+ read /h:", "- list /g: a file", "- read /g/x: is a file", "- execute /f: 0000"}},
		{"--perms 0111 --dir /d --perms 0111 --tmpfs /m --remount-ro /m --chmod 0000 /d", []string{"+ list /d: can be changed", "- list /m: 0111", "+ stat /m:", "- create /m/x: remounted"}},
		{"--perms 0700 --dir /a/b --remount-ro /", []string{"+ list /a:", "+ list /a/b:", "- list /a/c: nothing"}},
		{"--overlay-src /l --overlay /u /w /o --overlay-src /l --tmp-overlay /t --overlay-src /l --overlay-src /k --ro-overlay /r", []string{"+ write /o/f: /u, /l", "+ write /t/f: this run alone", "- write /r/f: read-only", "+ read /r/f: /l, /k"}},
		{"--ro-bind-fd 5 /a --bind-fd 6 /b", []string{"- write /a/f: read-only", "+ write /b/f: descriptor 6"}},
		// The network.
		{"--unshare-net --ro-bind / /", []string{"- connect example.com:443: nothing but a loopback", "- connect 127.0.0.1:80: sandbox's own", "- connect [::1]:80: sandbox's own"}},
		{"--unshare-all --share-net", []string{"+ connect localhost:80: host's"}},
		{"--netns 7", []string{"? connect example.com:443: what that network namespace reaches"}},
		{"--ro-bind / / --args 9", []string{"? read /etc/passwd: what descriptor 9 holds", "? connect example.com:443:"}},
		{"--args 9 --unshare-net --bind /a /a", []string{"+ write /a/f:", "- connect example.com:443:", "? read /b: descriptor 9"}},
		{"--symlink d /l --dir /l --symlink f /m --bind-data 5 /m", []string{"- list /d: nothing is there", "+ read /f: descriptor 5"}},
		// Destinations through links, and paths that are not clean.
		{"--dir /d --symlink d /l --tmpfs /l/x --dir tmp//y/../z", []string{"+ list /d/x:", "+ list /l/x:", "+ list /tmp/z:"}},
	} {
		c := read(t, tt.options)
		for _, row := range tt.answers {
			want, rest, _ := strings.Cut(row, " ")
			request, reason, _ := strings.Cut(rest, ": ")
			request, reason = strings.TrimSuffix(request, ":"), strings.TrimSpace(reason)
			request, zero := strings.CutSuffix(request, ":0")
			a := ask(t, c, request)
			got := map[cmdline.Decision]string{cmdline.Allow: "+", cmdline.Deny: "-", cmdline.Undecided: "?"}[a.Decision]
			said := a.Because + " " + strings.Join(a.Unknown, "; ")
			if zero {
				want = got // answered, whatever it is
			}
			if got != want || !strings.Contains(said, reason) {
				t.Errorf("%s: %s = %s %s, want %s %s", tt.options, request, got, said, want, reason)
			}
			if a.Because == "" || a.Decision == cmdline.Undecided && len(a.Unknown) == 0 {
				t.Errorf("%s: %s gives no reason: %+v", tt.options, request, a)
			}
		}
	}
}

// TestAssumes: what an answer rests on is said.
func TestAssumes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ options, request, want string }{
		{"--ro-bind / /", "read /etc/passwd", "the host has it"},
		{"--ro-bind / /", "read /etc/passwd", "no link of the host"},
		{"--ro-bind / /", "write /etc/passwd", "not root"},
		{"--ro-bind / / --cap-add CAP_SYS_ADMIN", "write /etc/passwd", "its CAP_SYS_ADMIN"},
		{"--ro-bind / / --seccomp 5", "read /etc/passwd", "seccomp filter of descriptor 5"},
		{"--ro-bind / /", "read /dev/sda", "no device"},
		{"--ro-bind / /", "execute /bin/sh", "its loader"},
		{"--ro-bind / /", "connect-unix /run/x", "a socket is there"},
		{"--ro-bind / /", "connect example.com:443", "the host reaches it"},
		{"--dir /d --symlink d /l --bind /s /l/x", "write /l/x/f", "older than 0.12.0"},
		{"--dir /d --symlink d /l --ro-bind /s /l/x", "write /d/x/f", "older than 0.12.0"},
		{"--perms 0 --ro-bind-data 5 /f", "read /f", "CAP_DAC_OVERRIDE"},
	} {
		if a := ask(t, read(t, tt.options), tt.request); !strings.Contains(strings.Join(a.Assumes, "; "), tt.want) {
			t.Errorf("%s: %s assumes %q, want %q", tt.options, tt.request, a.Assumes, tt.want)
		}
	}
	a := ask(t, read(t, "--ro-bind / / --cap-drop ALL"), "write /etc/passwd")
	if len(a.Assumes) > 0 {
		t.Errorf("without capabilities the refusal assumes %q", a.Assumes)
	}
}

// TestValues: a variable with a value is no variable.
func TestValues(t *testing.T) {
	t.Parallel()
	c, list := cmdline.Read("t", []byte(`bwrap --ro-bind / / --bind "$PWD" "${PWD}" ls`), cmdline.Options{Values: map[string]string{"PWD": "/srv/w"}})
	if list.HasErrors() {
		t.Fatal(list)
	}
	for request, want := range map[string]cmdline.Decision{"write /srv/w/f": cmdline.Allow, "write /srv/f": cmdline.Deny} {
		if a := ask(t, c, request); a.Decision != want {
			t.Errorf("%s = %v, want %v", request, a.Decision, want)
		}
	}
}

// TestOfOneOrAnother: an answer that is about one file or another says so.
func TestOfOneOrAnother(t *testing.T) {
	t.Parallel()
	a := ask(t, read(t, `--tmpfs /t --bind "$PWD" "$PWD"`), "write /srv/f")
	if a.Decision != cmdline.Allow || len(a.Cases) != 2 || a.Host != "" {
		t.Errorf("write /srv/f = %+v, want allow in two cases", a)
	}
}
