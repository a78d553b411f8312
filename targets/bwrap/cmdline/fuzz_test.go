package cmdline_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/targets/bwrap/cmdline"
)

var seeds = []string{
	"bwrap --ro-bind / / --bind \"$PWD\" $PWD --ro-bind-try ~/.git '/w/.git' -- sh -c 'a b' 9< <(x) # c",
	"--perms 0700 --size 0x1000 --tmpfs /t\n--symlink t /l\n--dir /l/../x\n--remount-ro /t\n--chmod 0111 /",
	"--dev\x00/dev\x00--proc\x00/proc\x00--args\x009\x00--\x00x\x00",
	"bwrap --unshare-all --share-net --cap-add ALL --cap-drop cap_kill --setenv A_TOKEN b --clearenv --overlay-src /a --overlay /b /c /d --mqueue /q --ro-bind-data 5 /f --netns 3 ls",
	"bwrap \"${a[@]}\" `x` $(y) ${Z:-q} $1 \\\n ls",
	"A=(--dir '/a' \"$PWD\" # c\n)\nA+=(--bind \"$Z\" /x)\nbwrap \"${A[@]}\" ${A[@]+\"${A[@]}\"} ls",
	"declare -a A=()\nB=(bwrap \"x$Z${A[@]}\")\n\"${B[@]}\" --dir ${A[@]} \"${A[*]}\"",
}

// FuzzRead: whatever the bytes, every finding has a place in the text and words; every
// question has an answer with a reason; an answer that is given without the value of a
// variable stays when it has one; and NUL-separated words mean what they mean in a
// shell.
func FuzzRead(f *testing.F) {
	for _, s := range seeds {
		f.Add(s, "/a/b", "/w/.git/x")
	}
	f.Fuzz(func(t *testing.T, text, path, to string) {
		c, list := cmdline.Read("f", []byte(text), cmdline.Options{})
		for _, d := range slices.Concat(list, cmdline.Lint("f", []byte(text), cmdline.Options{})) {
			if d.At.File != "f" || d.At.Start.Byte > len(text) || d.At.End.Byte > len(text) || d.At.End.Byte < d.At.Start.Byte || d.Message == "" || d.Help == "" {
				t.Errorf("%q: %+v", text, d)
			}
		}
		if list.HasErrors() {
			return
		}
		c.Table()
		known, faults := cmdline.Read("f", []byte(text), cmdline.Options{Values: map[string]string{"PWD": "/w", "HOME": "/h/u", "Z": "/q"}})
		again, wrong := cmdline.Read("f", stream(c), cmdline.Options{})
		for _, q := range questions(path, to) {
			a := c.Decide(q)
			if a.Because == "" || a.Decision == cmdline.Undecided && len(a.Unknown) == 0 {
				t.Errorf("%q: %s gives no reason: %+v", text, q, a)
			}
			if b := known.Decide(q); !faults.HasErrors() && a.Decision != cmdline.Undecided && a.Decision != b.Decision {
				t.Errorf("%q: %s is %s, and %s once the variables are known: %s", text, q, a.Decision, b.Decision, b.Because)
			}
			if b := again.Decide(q); q.Kind != ir.ConnectRequest && !strings.Contains(text, "$") && !strings.ContainsAny(text, "`~") && !wrong.HasErrors() && a.Decision != b.Decision {
				t.Errorf("%q: %s is %s, and %s as a stream: %s", text, q, a.Decision, b.Decision, b.Because)
			}
		}
		if wrong.HasErrors() && !strings.Contains(text, "FD") {
			t.Errorf("%q: as a stream it has %v", text, wrong)
		}
	})
}

// stream is the operations of a command as NUL-separated words.
func stream(c *cmdline.Command) []byte {
	out := "bwrap\x00"
	for i := range c.Operations {
		for _, w := range c.Operations[i].Words() {
			out += w + "\x00"
		}
	}
	return []byte(out + "--\x00ls\x00")
}

func questions(path, to string) []ir.Request {
	var out []ir.Request
	for _, word := range ir.RequestKinds() {
		words := []string{string(word), path}
		switch word {
		case ir.RenameRequest, ir.LinkRequest:
			words = append(words, to)
		case ir.ConnectRequest:
			words[1] = "localhost:80"
		}
		if r, err := ir.ParseRequest(words); err == nil {
			out = append(out, r)
		}
	}
	return out
}

// TestHostile: long inputs end, and fast.
func TestHostile(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		strings.Repeat("--dir /a ", 4000),
		strings.Repeat("--ro-bind-try $A /a ", 2000),
		"--symlink b /a --symlink a /b --tmpfs /a/x",
		"bwrap --dir " + strings.Repeat("/a", 200000) + " ls",
		"bwrap --dir " + strings.Repeat("${a}", 100000) + " ls",
		"bwrap " + strings.Repeat("\"", 1<<20),
		"bwrap " + strings.Repeat("$(", 1<<20),
		strings.Repeat("\x00", 1<<20),
		strings.Repeat("--symlink a/b /a/b ", 2000),
	} {
		c, list := cmdline.Read("h", []byte(text), cmdline.Options{})
		if !list.HasErrors() {
			for _, q := range questions("/a/x", "/b/y") {
				c.Decide(q)
			}
		}
		if got := cmdline.Lint("h", []byte(text), cmdline.Options{}); !slices.ContainsFunc(got, func(d diag.Diagnostic) bool { return d.Message != "" }) {
			t.Errorf("%.40q has no finding", text)
		}
	}
}
