package cmdline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/obspc/obspc/lang/diag"
)

// Lint reads a command line and says what bwrap refuses, as errors, and what is
// probably not meant, as warnings, in reading order.
func Lint(file string, src []byte, o Options) diag.List {
	c, list := Read(file, src, o)
	if list.HasErrors() {
		return list
	}
	l := &linter{Command: c, list: list}
	for _, check := range checks {
		check.run(l)
	}
	return l.list.Sorted()
}

// checks is every check: what it looks for and why that matters.
var checks = []struct {
	run func(*linter)
	why string
}{
	{(*linter).words, "options that are never read protect nothing"},
	{(*linter).hidden, "operations run in order, and a mount hides what was mounted below it before"},
	{(*linter).protections, "what protects a file ends where its directory is moved, or where it is left out"},
	{(*linter).hosts, "mount points are made on the host, and stay there"},
	{(*linter).roots, "the whole host is more than any command needs"},
	{(*linter).sockets, "a read-only mount does not stop connect(2)"},
	{(*linter).remounts, "--remount-ro is about one mount"},
	{(*linter).destinations, "what links lead to differs by the release"},
	{(*linter).namespaces, "what is not unshared is the host's"},
	{(*linter).process, "a terminal, an environment and capabilities are authority too"},
	{(*linter).secrets, "arguments are public"},
}

type linter struct {
	*Command
	list diag.List
}

func (l *linter) add(d diag.Diagnostic) { l.list.Add(d) }

// whole is where findings about the command as a whole stand: its program.
func (l *linter) whole() diag.Range {
	if l.Program == "" {
		return diag.Range{File: l.File}
	}
	return l.Command.words[0].At
}

// layersOf visits the layers that stand for an operation itself.
func (l *linter) layersOf(visit func(i int, of *layer)) {
	for i := range l.layers {
		of := &l.layers[i]
		if of.op != nil && of.kind != Unread && of.kind != mode && (of.op.Option != "--dev" || of.kind == Dev) {
			visit(i, of)
		}
	}
}

// words looks for options that bwrap never reads.
func (l *linter) words() {
	if u, is := l.has("--args"); is {
		l.add(argsUnread(u))
	}
	switch {
	case l.dropped == nil:
	case l.inFile:
		l.add(optionsDropped(*l.dropped))
	case slices.ContainsFunc(l.Argv[:1], func(w string) bool { return strings.HasPrefix(w, "-") }):
		l.add(optionsInCommand(*l.dropped, l.Argv[0]))
	case !isProgram(Word{Text: l.Argv[0]}):
		for _, w := range l.Argv {
			if slices.ContainsFunc(unmistakable, func(p string) bool { return strings.HasPrefix(w, p) }) {
				l.add(optionsInCommand(*l.dropped, w))
				return
			}
		}
	}
}

// unmistakable begin options that no other program has.
var unmistakable = []string{"--unshare-", "--ro-bind", "--dev-bind", "--die-with-parent", "--cap-drop", "--clearenv", "--new-session", "--remount-ro", "--disable-userns"}

// namespaces looks for namespaces that are shared with the host.
func (l *linter) namespaces() {
	for _, s := range []struct{ name, why, help string }{
		{"net", "it reaches every network, the host's loopback and its abstract sockets", "--unshare-net"},
		{"pid", "it sees the host's processes and their arguments, and may signal those of its user", "--unshare-pid"},
		{"ipc", "it shares System V memory and message queues with the host", "--unshare-ipc"},
	} {
		if l.own(s.name) == No {
			l.add(shared(l, s.name, s.why, s.help))
		}
	}
	if _, unread := l.has("--args"); !unread && !l.NoUserns && len(l.Seccomp) == 0 {
		l.add(nestedUserns(l))
	}
	if l.Loose {
		u, _ := l.has("--not-a-security-boundary")
		l.add(notABoundary(u))
	}
}

// process looks at what the command gets beside files.
func (l *linter) process() {
	if _, unread := l.has("--args"); unread {
		return
	}
	if !l.NewSession && len(l.Seccomp) == 0 {
		l.add(noNewSession(l))
	}
	if !l.DieWithin {
		l.add(noDieWithParent(l))
	}
	if l.Environment.Inherited {
		l.add(inheritedEnvironment(l))
	}
	switch caps := l.Capabilities; {
	case caps.User.All || len(caps.User.Names) > 0:
		u, _ := l.has("--cap-add")
		l.add(capabilitiesAdded(u, caps.User))
	case caps.Root.All || len(caps.Root.Names) > 0:
		l.add(rootCapabilities(l))
	}
}

// secretWords are parts of names of variables that hold secrets.
var secretWords = []string{"TOKEN", "SECRET", "PASSW", "API_KEY", "APIKEY", "PRIVATE_KEY", "ACCESS_KEY", "CREDENTIAL"}

// secrets looks for values that everybody can read.
func (l *linter) secrets() {
	if l.inFile {
		return
	}
	for _, u := range l.options {
		name := strings.ToUpper(u.word.Text)
		if u.name != "--setenv" {
			continue
		}
		name = strings.ToUpper(u.args[0].Text)
		if slices.ContainsFunc(secretWords, func(s string) bool { return strings.Contains(name, s) }) {
			l.add(secretInArguments(u, l.own("pid") == Yes && !l.AsPID1))
		}
	}
}

func warning(code string, at diag.Range, message, help string) diag.Diagnostic {
	return diag.Diagnostic{Severity: diag.Warning, Code: code, At: at, Message: message, Help: help}
}

// argsUnread says that there is more than can be read here.
func argsUnread(u use) diag.Diagnostic {
	return warning("args-unread", u.at(), "what descriptor "+u.args[0].Text+" holds may change everything that is said here",
		"give what it holds as a file of its own")
}

// optionsDropped reports what --args reads and ignores.
func optionsDropped(w Word) diag.Diagnostic {
	return warning("options-dropped", w.At, fmt.Sprintf("options of --args end before %q: bwrap drops it and all that follows without a word", w.Text),
		"leave the command and -- to the command line itself")
}

// optionsInCommand reports options that go to the command.
func optionsInCommand(w Word, option string) diag.Diagnostic {
	return warning("options-in-command", w.At, fmt.Sprintf("the options end before %q, so %s is the command's and does nothing here", w.Text, option),
		"options stand before -- and the command")
}

// shared reports a namespace of the host.
func shared(l *linter, name, why, help string) diag.Diagnostic {
	at := l.whole()
	if u, is := l.has("--share-" + name); is {
		at = u.at()
	}
	long := map[string]string{"net": "network"}[name]
	if long == "" {
		long = name
	}
	return warning("shared-"+long, at, fmt.Sprintf("the %s namespace is the host's: %s", long, why), "add "+help)
}

// nestedUserns reports namespaces that the command may make.
func nestedUserns(l *linter) diag.Diagnostic {
	return warning("nested-user-namespaces", l.whole(), "the command may make user namespaces, and has every capability in them",
		"add --unshare-user --disable-userns, or a seccomp filter")
}

// notABoundary reports an option that lets steps fail.
func notABoundary(u use) diag.Diagnostic {
	return warning("not-a-boundary", u.at(), "steps of the set-up may fail and the command starts all the same", "leave it out where the sandbox protects something")
}

// noNewSession reports a terminal that the command can type into.
func noNewSession(l *linter) diag.Diagnostic {
	return warning("no-new-session", l.whole(), "the command can type into the caller's terminal (TIOCSTI, CVE-2017-5226)",
		"add --new-session, or a seccomp filter that refuses TIOCSTI and TIOCLINUX")
}

// noDieWithParent reports a command that outlives its caller.
func noDieWithParent(l *linter) diag.Diagnostic {
	return warning("no-die-with-parent", l.whole(), "the command goes on when its caller is killed", "add --die-with-parent")
}

// inheritedEnvironment reports the caller's variables.
func inheritedEnvironment(l *linter) diag.Diagnostic {
	return warning("inherited-environment", l.whole(), "the command gets the caller's environment, and the secrets in it",
		"add --clearenv (bubblewrap 0.5) and --setenv for what it needs")
}

// capabilitiesAdded reports capabilities for everybody.
func capabilitiesAdded(u use, set CapabilitySet) diag.Diagnostic {
	return warning("capabilities-added", u.at(), "the command has capabilities in its user namespace: "+set.String(),
		"with CAP_SYS_ADMIN it can undo read-only mounts; leave it out")
}

// rootCapabilities reports what root keeps.
func rootCapabilities(l *linter) diag.Diagnostic {
	return warning("root-capabilities", l.whole(), "called by root, the command keeps capabilities ("+l.Capabilities.Root.String()+") and can undo the mounts",
		"add --cap-drop ALL; for other callers it changes nothing")
}

// secretInArguments reports a value that every user of the machine can read.
func secretInArguments(u use, inside bool) diag.Diagnostic {
	who := "everybody on the machine can read it"
	if inside {
		who += ", and the sandbox too, in /proc/1/cmdline"
	}
	return warning("secret-in-arguments", u.at(), "the value of "+u.args[0].Text+" stands among the arguments: "+who,
		"pass options through --args, or let the variable be inherited")
}
