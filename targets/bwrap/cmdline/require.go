package cmdline

import (
	"slices"

	"github.com/obspc/obspc/lang/diag"
)

// has is the last use of an option.
func (c *Command) has(name string) (use, bool) {
	for i := len(c.options) - 1; i >= 0; i-- {
		if c.options[i].name == name {
			return c.options[i], true
		}
	}
	return use{}, false
}

// needed are options that bwrap refuses without one of others. Where a caller other
// than root gets a user namespace anyway, bwrap only refuses root.
var needed = []struct {
	option string
	one    []string
	root   bool
}{
	{"--disable-userns", []string{"--unshare-user"}, false},
	{"--hostname", []string{"--unshare-uts", "--unshare-all"}, false},
	{"--as-pid-1", []string{"--unshare-pid", "--unshare-all"}, false},
	{"--userns-block-fd", []string{"--unshare-user"}, false},
	{"--userns-block-fd", []string{"--info-fd"}, false},
	{"--uid", []string{"--unshare-user", "--unshare-user-try", "--unshare-all", "--userns"}, true},
	{"--gid", []string{"--unshare-user", "--unshare-user-try", "--unshare-all", "--userns"}, true},
}

// excluded are options that bwrap refuses together.
var excluded = [][2]string{
	{"--add-seccomp-fd", "--seccomp"},
	{"--userns", "--unshare-user"},
	{"--userns", "--unshare-user-try"},
	{"--userns", "--unshare-all"},
	{"--lock-file", "--as-pid-1"},
	{"--disable-userns", "--userns-block-fd"},
}

// last are options of which only the last use counts; bwrap says so on standard
// error. Of --argv0 it refuses a second one.
var last = []string{"--chdir", "--hostname", "--uid", "--gid", "--userns", "--userns2", "--pidns", "--netns", "--seccomp", "--sync-fd", "--block-fd", "--userns-block-fd", "--info-fd", "--json-status-fd", "--exec-label", "--file-label", "--argv0"}

// require checks options against each other. Behind --args FD there may be more.
func (c *Command) require() {
	_, unread := c.has("--args")
	for _, n := range needed {
		u, used := c.has(n.option)
		if used && !unread && !slices.ContainsFunc(n.one, func(o string) bool { _, ok := c.has(o); return ok }) {
			c.findings.Add(optionNeeds(u, n.one[0], n.root))
		}
	}
	for _, pair := range excluded {
		u, one := c.has(pair[0])
		if _, other := c.has(pair[1]); one && other {
			c.findings.Add(optionsExclude(u, pair[1]))
		}
	}
	for _, name := range last {
		var first *use
		for i := range c.options {
			if u := &c.options[i]; u.name == name && first == nil {
				first = u
			} else if u.name == name {
				c.findings.Add(onlyLast(*first, *u))
			}
		}
	}
	if c.Program != "" && len(c.Argv) == 0 && !unread && !c.findings.HasErrors() {
		c.findings.Add(noCommand(c.words[len(c.words)-1]))
	}
}

// optionNeeds reports an option without another that it needs.
func optionNeeds(u use, other string, root bool) diag.Diagnostic {
	d := diag.Diagnostic{
		Severity: diag.Error, Code: "option-needs", At: u.at(),
		Message: u.name + " is refused without " + other,
		Help:    "add " + other,
	}
	if root {
		d.Severity, d.Message = diag.Warning, u.name+" is refused without "+other+" when root calls"
	}
	return d
}

// optionsExclude reports two options that bwrap refuses together.
func optionsExclude(u use, other string) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Error, Code: "options-exclude", At: u.at(),
		Message: u.name + " is refused together with " + other,
		Help:    "leave one of them out",
	}
}

// onlyLast reports an option that counts once and stands twice.
func onlyLast(first, second use) diag.Diagnostic {
	d := diag.Diagnostic{
		Severity: diag.Warning, Code: "only-the-last", At: first.at(),
		Message: "only the last " + first.name + " takes effect",
		Help:    "leave this one out",
		Related: []diag.Related{{At: second.at(), Message: "stated again here"}},
	}
	if first.name == "--argv0" {
		d.Severity, d.Message = diag.Error, "--argv0 is refused twice"
	}
	return d
}

// noCommand reports a command line that starts nothing.
func noCommand(w Word) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Error, Code: "no-command", At: w.At,
		Message: "nothing is left to start: the words end with the options",
		Help:    "end with -- and the command",
	}
}
