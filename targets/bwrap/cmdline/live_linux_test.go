package cmdline_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/targets/bwrap/cmdline"
)

// insideMark is argv[1] of this test binary when it is the command in the sandbox.
const insideMark = "cmdline-inside"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == insideMark {
		inside(os.Args[2:])
		return
	}
	os.Exit(m.Run())
}

// inside tries requests, "WORD PATH [TO]" each, undoes what succeeds and prints what
// became of each: "yes", "no", or "skip" where the machine cannot tell.
func inside(requests []string) {
	var out []string
	for _, r := range requests {
		words := strings.Split(r, " ")
		for _, p := range words[1:] { // the command owns what is there, and may change its mode
			for q := filepath.Dir(p); q != "/"; q = filepath.Dir(q) {
				os.Chmod(q, 0o755)
			}
			os.Chmod(p, 0o755)
		}
		out = append(out, outcome(attempt(words[0], words[1], words[len(words)-1])))
	}
	json.NewEncoder(os.Stdout).Encode(out)
}

var errSkip = errors.New("cannot tell")

func outcome(err error) string {
	switch {
	case err == nil:
		return "yes"
	case errors.Is(err, errSkip), errors.Is(err, fs.ErrExist), errors.Is(err, syscall.ENOTEMPTY):
		return "skip"
	}
	return "no, " + err.Error()
}

func attempt(word, p, to string) error {
	info, missing := os.Lstat(p)
	_, noDirectory := os.Stat(filepath.Dir(to))
	switch word {
	case "stat":
		_, err := os.Stat(p)
		return err
	case "list":
		if i, err := os.Stat(p); err == nil && !i.IsDir() {
			return errSkip
		}
		_, err := os.ReadDir(p)
		return err
	case "read", "write":
		if i, err := os.Stat(p); err == nil && i.IsDir() {
			return errSkip
		}
		flag := map[string]int{"read": os.O_RDONLY, "write": os.O_WRONLY}[word]
		f, err := os.OpenFile(p, flag, 0)
		f.Close()
		return err
	case "create":
		if noDirectory != nil {
			return errSkip
		}
		f, err := os.OpenFile(p, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		f.Close()
		return os.Remove(p)
	}
	if missing != nil || noDirectory != nil {
		return errSkip
	}
	switch word {
	case "remove":
		if info.Mode()&fs.ModeSymlink != 0 {
			return errSkip
		}
		if err := os.Remove(p); err != nil {
			return err
		}
		if info.IsDir() {
			return os.Mkdir(p, 0o755)
		}
		return os.WriteFile(p, nil, 0o600)
	case "rename":
		if _, err := os.Lstat(to); err == nil || strings.HasPrefix(to, p+"/") {
			return errSkip
		}
		if err := os.Rename(p, to); err != nil {
			return err
		}
		return os.Rename(to, p)
	}
	if info.IsDir() {
		return errSkip
	}
	if err := os.Link(p, to); err != nil {
		return err
	}
	return os.Remove(to)
}

// lab is a tree of the host, new for each command line.
func lab(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "obspc-cmdline-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for _, d := range []string{"a/d", "b/e/g", "c"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"a/x", "a/d/x", "b/x", "b/e/x", "b/e/g/x", "c/x"} {
		if err := os.WriteFile(filepath.Join(dir, f), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// draw is the options of a sandbox over the tree.
func draw(r *rand.Rand, dir string) []string {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	source := func() string { return dir + "/" + pick("a", "a/d", "b", "b/e", "b/e/g", "c", "missing") }
	at := func() string { return pick("/s", "/s/a", "/s/a/d", "/s/b", "/s/b/e", "/s/b/e/g", "/s/c", "/m", "/m/e") }
	var out []string
	for range 2 + r.IntN(7) {
		switch r.IntN(12) {
		case 0, 1, 2, 3:
			from := source()
			if strings.HasSuffix(from, "missing") {
				from = dir + "/a"
			}
			out = append(out, pick("--bind", "--ro-bind"), from, at())
		case 4, 5:
			out = append(out, pick("--bind-try", "--ro-bind-try"), source(), at())
		case 6:
			out = append(out, "--tmpfs", at())
		case 7:
			out = append(out, "--perms", pick("0111", "0755", "0700"), pick("--dir", "--tmpfs"), at())
		case 8:
			out = append(out, "--symlink", pick("a", "b/e", "../c"), pick("/s/l", "/m/l"))
		case 9:
			out = append(out, "--remount-ro", pick(at(), "/"))
		case 10:
			out = append(out, "--chmod", pick("0111", "0700"), at())
		case 11:
			out = append(out, "--bind", dir, pick("/s", "/m"), "--ro-bind", dir+"/b/e", pick("/s", "/m")+"/b/e")
		}
	}
	return out
}

// asked is every word about every path that matters.
func asked() []string {
	var out []string
	paths := []string{"/n", "/s", "/s/x", "/s/n", "/s/a", "/s/a/x", "/s/a/n", "/s/a/d/x", "/s/a/d", "/s/b/x", "/s/b/e", "/s/b/e/x", "/s/b/e/n", "/s/b/e/g/x", "/s/c/x", "/m", "/m/x", "/m/e/x", "/m/n", "/s/l/x", "/s/l/n", "/m/l/x"}
	for _, word := range []string{"stat", "list", "read", "write", "create", "remove"} {
		for _, p := range paths {
			out = append(out, word+" "+p)
		}
	}
	for i, p := range paths {
		for _, q := range []string{"/n", "/s/n", "/s/a/n", "/m/n", "/s/b/e/n"} {
			out = append(out, []string{"rename ", "link "}[i%2]+p+" "+q)
		}
	}
	return out
}

// TestAgainstBwrap runs random command lines and holds every answer to what happens.
// A command line with an error must fail, and answers of one that starts must come
// true; a path that the host lacks under a mount may be missing.
func TestAgainstBwrap(t *testing.T) {
	path, err := exec.LookPath("bwrap")
	if err != nil {
		t.Skip("host feature missing: bubblewrap")
	}
	if out, err := exec.Command(path, "--unshare-user", "--ro-bind", "/", "/", "true").CombinedOutput(); err != nil {
		t.Skipf("host feature missing: user namespaces (%s)", out)
	}
	r := rand.New(rand.NewPCG(3, 4))
	var count struct{ runs, failed, allowed, denied, undecided int }
	for range 80 {
		dir := lab(t)
		options := append([]string{"--unshare-user", "--cap-drop", "ALL", "--perms", "0755", "--ro-bind-data", "3", "/probe"}, draw(r, dir)...)
		c, list := cmdline.Read("t", []byte("bwrap\x00"+strings.Join(options, "\x00")+"\x00--\x00/probe\x00"), cmdline.Options{})
		got, stderr := run(t, path, options)
		if got == nil {
			count.failed++
			continue
		}
		count.runs++
		if list.HasErrors() {
			t.Errorf("%v starts, and has %v", options, list)
			continue
		}
		for i, text := range asked() {
			q, err := ir.ParseRequest(strings.Fields(text))
			if err != nil {
				t.Fatal(err)
			}
			a := c.Decide(q)
			if k, found := real(a.Cases); found {
				a.Decision, a.Because, a.Host = k.Decision, k.Because, k.Host
			}
			switch {
			case got[i] == "skip":
			case a.Decision == cmdline.Undecided:
				count.undecided++
			case a.Decision == cmdline.Deny && strings.HasPrefix(got[i], "no"):
				count.denied++
			case a.Decision == cmdline.Allow && got[i] == "yes":
				count.allowed++
			case a.Decision == cmdline.Allow && (lacks(a.Host) || a.Host != "" && strings.HasSuffix(got[i], "permission denied")):
				// The answer assumes that the host has it, and its permissions: --chmod changes them.
			case a.Decision == cmdline.Allow && q.Kind == ir.WriteRequest && a.Host == "":
				// Memory that could be written, with nothing in it.
			default:
				t.Errorf("%v: %s is %s (%s), and %s in bwrap %s", options, text, a.Decision, a.Because, got[i], stderr)
			}
		}
	}
	if count.runs < 25 || count.allowed < 500 || count.denied < 500 {
		t.Errorf("too little was tried: %+v", count)
	}
	t.Logf("%+v", count)
}

// real is the case whose facts hold on this machine.
func real(cases []cmdline.Case) (cmdline.Case, bool) {
	for _, k := range cases {
		holds := true
		for _, f := range k.If {
			text, not := strings.CutPrefix(f, "not: ")
			path, known := strings.CutPrefix(text, "the host has ")
			_, err := os.Lstat(path)
			holds = holds && known && (err == nil) != not
		}
		if holds {
			return k, true
		}
	}
	return cmdline.Case{}, false
}

// lacks reports whether the host has nothing there, or leads elsewhere by a link that
// --symlink made in a writable bind: answers assume that neither is so.
func lacks(host string) bool {
	to, err := filepath.EvalSymlinks(host)
	return host != "" && (err != nil || to != host)
}

// run starts the sandbox and returns what became of each request; nil when the set-up
// fails.
func run(t *testing.T, path string, options []string) ([]string, string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer binary.Close()
	args := append(append([]string{}, options...), "--", "/probe", insideMark)
	cmd := exec.Command(path, append(args, asked()...)...)
	cmd.ExtraFiles = []*os.File{binary}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	if err != nil && strings.HasPrefix(stderr.String(), "bwrap: ") {
		return nil, stderr.String()
	}
	var out []string
	if err != nil || json.Unmarshal(stdout.Bytes(), &out) != nil || len(out) != len(asked()) {
		t.Fatalf("%v: %v\n%s%s", options, err, stdout.String(), stderr.String())
	}
	return out, stderr.String()
}

// TestRefusalsOfBwrap: what is an error here ends bwrap with an error, and the twin
// without the fault starts.
func TestRefusalsOfBwrap(t *testing.T) {
	path, err := exec.LookPath("bwrap")
	if err != nil {
		t.Skip("host feature missing: bubblewrap")
	}
	base := "--ro-bind / / "
	if out, err := exec.Command(path, append(strings.Fields(base), "true")...).CombinedOutput(); err != nil {
		t.Skipf("host feature missing: user namespaces (%s)", out)
	}
	for _, tt := range []struct{ faulty, mended string }{
		{"--tmpf /tmp true", "--tmpfs /tmp true"},
		{"--sync-fd -1 true", "--sync-fd 1 true"},
		{"--perms 8 --tmpfs /tmp true", "--perms +7 --tmpfs /tmp true"},
		{"--size 0 --tmpfs /tmp true", "--size 0x1000 --tmpfs /tmp true"},
		{"--cap-drop net_admin true", "--cap-drop Cap_Net_Admin true"},
		{"--perms 0700 --ro-bind /usr /usr true", "--perms 0700 --tmpfs /tmp true"},
		{"--size 4096 --tmpfs", "--tmpfs /tmp true"},
		{"--perms 0700 --perms 0700 --tmpfs /tmp true", "--perms 0700 --size 4096 --tmpfs /tmp true"},
		{"--disable-userns true", "true"},
		{"--hostname h true", "--unshare-uts --hostname h true"},
		{"--as-pid-1 true", "--as-pid-1 --unshare-pid true"},
		{"--seccomp 1 --add-seccomp-fd 2 true", "true"},
		{"--tmpfs /tmp --dir /tmp/x --remount-ro /tmp/x true", "--tmpfs /tmp --dir /tmp/x --remount-ro /tmp true"},
		{"--tmpfs /tmp --chmod 0700 /tmp/x true", "--tmpfs /tmp --chmod 0700 /tmp true"},
		{"--tmpfs /tmp --symlink a /tmp/l --symlink b /tmp/l true", "--tmpfs /tmp --symlink a /tmp/l true"},
		{"--tmpfs /tmp --dir /tmp/d --symlink /tmp/d /tmp/l --dir /tmp/l/x true", "--tmpfs /tmp --dir /tmp/d --symlink /tmp/d /tmp/l --dir /tmp/d/x true"},
		{"--tmpfs /tmp --dir /tmp/d --symlink /tmp/d /tmp/l --tmpfs /tmp/l true", "--tmpfs /tmp --dir /tmp/d --symlink /tmp/d /tmp/l --tmpfs /tmp/d true"},
		{"--tmpfs /tmp --symlink b /tmp/a --symlink a /tmp/b --dir /tmp/a/x true", "--tmpfs /tmp --symlink b /tmp/a --dir /tmp/b true"},
		{"--tmpfs /tmp --symlink d /tmp/l --dir /tmp/l/x true", "--tmpfs /tmp --symlink d /tmp/l --dir /tmp/d/x true"},
		{"--tmpfs /tmp --symlink d /tmp/l --tmpfs /tmp/l true", "--tmpfs /tmp --symlink d /tmp/l --tmpfs /tmp/d true"},
		{"--chdir", "true --chdir"},
		{"", "--perms 0700 true"},
	} {
		for text, want := range map[string]bool{tt.faulty: true, tt.mended: false} {
			_, list := cmdline.Read("t", []byte("bwrap "+base+text), cmdline.Options{})
			err := exec.Command(path, strings.Fields(base+text)...).Run()
			if list.HasErrors() != want || (err != nil) != want {
				t.Errorf("%s: errors %v, bwrap %v, want %v", text, list, err, want)
			}
		}
	}
	var help diag.List
	out, _ := exec.Command(path, "--help").CombinedOutput()
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if len(words) == 0 || !strings.HasPrefix(words[0], "--") {
			continue
		}
		_, list := cmdline.Read("t", []byte("bwrap "+words[0]+" 1 1 1 ls"), cmdline.Options{})
		for _, d := range list {
			if d.Code == "unknown-option" {
				help.Add(d)
			}
		}
	}
	if len(help) > 0 {
		t.Error(fmt.Sprint("options of this bwrap that are not known: ", help))
	}
}
