package cmdline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/obspc/obspc/lang/diag"
)

// modifiers are what --perms, --size and --overlay-src leave for the next operation.
type modifiers struct {
	perms, size *use
	lower       []use
}

// apply goes through the options in order, as bwrap does.
func (c *Command) apply() {
	var m modifiers
	for i := range c.options {
		u := &c.options[i]
		switch u.name {
		case "--perms":
			if m.perms != nil {
				c.findings.Add(modifierTwice(*u))
			}
			m.perms = u
		case "--size":
			if m.size != nil {
				c.findings.Add(modifierTwice(*u))
			}
			m.size = u
		case "--overlay-src":
			m.lower = append(m.lower, *u)
		default:
			c.option(*u, &m)
		}
		c.leftOver(*u, &m)
	}
	if m.perms != nil || m.size != nil || m.lower != nil {
		c.findings.Add(modifierAtEnd(m))
	}
	c.imply()
}

// leftOver refuses modifiers that the option did not take.
func (c *Command) leftOver(u use, m *modifiers) {
	isModifier := u.name == "--perms" || u.name == "--size"
	switch {
	case m.perms != nil && !isModifier:
		c.findings.Add(modifierLeft(*m.perms, u, "--tmpfs, --dir, --file, --bind-data or --ro-bind-data"))
		m.perms = nil
	case m.size != nil && !isModifier:
		c.findings.Add(modifierLeft(*m.size, u, "--tmpfs"))
		m.size = nil
	case len(m.lower) > 0 && u.name != "--overlay-src":
		c.findings.Add(modifierLeft(m.lower[len(m.lower)-1], u, "--overlay-src, --overlay, --tmp-overlay or --ro-overlay"))
		m.lower = nil
	}
}

func (c *Command) option(u use, m *modifiers) {
	arg := func(i int) string { return u.args[i].Text }
	switch u.name {
	case "--chdir":
		c.Directory = arg(0)
	case "--hostname":
		c.Hostname = arg(0)
	case "--new-session":
		c.NewSession = true
	case "--die-with-parent":
		c.DieWithin = true
	case "--as-pid-1":
		c.AsPID1 = true
	case "--disable-userns", "--assert-userns-disabled":
		c.NoUserns = true
	case "--not-a-security-boundary":
		c.Loose = true
	case "--seccomp":
		c.Seccomp = []string{arg(0)}
	case "--add-seccomp-fd":
		c.Seccomp = append(c.Seccomp, arg(0))
	case "--clearenv":
		c.Environment = Environment{}
	case "--setenv":
		c.Environment.set(arg(0), arg(1))
	case "--unsetenv":
		c.Environment.unset(arg(0))
	case "--cap-add", "--cap-drop":
		c.Capabilities.User = c.Capabilities.User.change(u.name == "--cap-add", arg(0))
		c.Capabilities.Root = c.Capabilities.Root.change(u.name == "--cap-add", arg(0))
	case "--args":
		c.unreadArgs(u)
	default:
		if !c.unshare(u) && len(u.option.args) > 0 {
			c.operation(u, m)
		}
	}
}

// unshare applies the options about namespaces.
func (c *Command) unshare(u use) bool {
	own := func(names ...string) {
		for _, n := range names {
			*c.namespace(n) = Namespace{n, Yes, ""}
		}
	}
	try := func(name string) {
		if n := c.namespace(name); n.State == No {
			*n = Namespace{name, Maybe, "its own where the kernel has them"}
		}
	}
	joined := func(name, fd string) { *c.namespace(name) = Namespace{name, Maybe, "the one of descriptor " + fd} }
	switch u.name {
	case "--unshare-all":
		own("ipc", "pid", "net", "uts")
		try("user")
		try("cgroup")
	case "--share-net":
		*c.namespace("net") = Namespace{Name: "net"}
	case "--unshare-user-try", "--unshare-cgroup-try":
		try(strings.TrimSuffix(strings.TrimPrefix(u.name, "--unshare-"), "-try"))
	case "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup":
		own(strings.TrimPrefix(u.name, "--unshare-"))
	case "--userns", "--netns":
		joined(strings.TrimSuffix(strings.TrimPrefix(u.name, "--"), "ns"), u.args[0].Text)
	case "--pidns":
		if c.own("pid") != Yes {
			joined("pid", u.args[0].Text)
		}
	default:
		return false
	}
	return true
}

// imply: a caller other than root gets a user namespace in any case.
func (c *Command) imply() {
	if n := c.namespace("user"); n.State == No {
		*n = Namespace{"user", Maybe, "its own unless the caller is root"}
	}
}

// unreadArgs: the words of another descriptor may say anything.
func (c *Command) unreadArgs(u use) {
	note := "descriptor " + u.args[0].Text + " may hold options about it"
	for i := range c.Namespaces {
		c.Namespaces[i].State, c.Namespaces[i].Note = Maybe, note
	}
	c.Operations = append(c.Operations, Operation{Option: "--args", Source: u.args[0].Text, Dest: "/", At: u.at(), DestAt: u.at(), words: u.words()})
	if c.inFile {
		c.findings.Add(argsInArgs(u))
	}
}

// operation adds one step of the file system's set-up.
func (c *Command) operation(u use, m *modifiers) {
	last := len(u.args) - 1
	if u.option.args[last] != dest {
		return
	}
	op := Operation{Option: u.name, Dest: place(u.args[last].Text), At: u.at(), DestAt: u.args[last].At, words: u.words()}
	if last > 0 {
		op.Source = u.args[0].Text
	}
	if u.option.args[0] == source {
		op.Source = hostPlace(op.Source)
	}
	op.Mode = defaultModes[u.name]
	takes := func(option string) bool { return slices.Contains(taking[option], u.name) }
	if m.size != nil && takes("--size") {
		op.Size = sizeOf(m.size.args[0].Text)
		op.words = append(m.size.words(), op.words...)
		m.size = nil
	}
	if m.perms != nil && takes("--perms") {
		op.Mode, _ = permissions(m.perms.args[0].Text)
		op.words = append(m.perms.words(), op.words...)
		m.perms = nil
	}
	if takes("--overlay-src") {
		for _, l := range m.lower {
			op.Lower = append(op.Lower, hostPlace(l.args[0].Text))
		}
		for _, l := range slices.Backward(m.lower) {
			op.words = append(l.words(), op.words...)
		}
		if least := leastLower[u.name]; len(m.lower) < least {
			c.findings.Add(lowerMissing(u, least))
		}
		m.lower = nil
	}
	switch u.name {
	case "--overlay":
		op.Work = hostPlace(u.args[1].Text)
	case "--chmod":
		op.Mode, _ = permissions(u.args[0].Text)
	}
	c.Operations = append(c.Operations, op)
}

// taking are the operations that each modifier is for.
var taking = map[string][]string{
	"--perms":       {"--tmpfs", "--dir", "--file", "--bind-data", "--ro-bind-data"},
	"--size":        {"--tmpfs"},
	"--overlay-src": {"--overlay", "--tmp-overlay", "--ro-overlay"},
}

// leastLower is how many --overlay-src an overlay wants.
var leastLower = map[string]int{"--overlay": 1, "--tmp-overlay": 1, "--ro-overlay": 2}

// defaultModes are the modes without --perms (bwrap(1)).
var defaultModes = map[string]uint32{"--tmpfs": 0o755, "--dir": 0o755, "--file": 0o666, "--bind-data": 0o600, "--ro-bind-data": 0o600}

// modifierTwice reports a modifier before the same operation twice.
func modifierTwice(u use) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Error, Code: "modifier-twice", At: u.at(),
		Message: u.name + " stands twice before the same operation",
		Help:    "leave one out",
	}
}

// modifierLeft reports a modifier before an option that does not take it.
func modifierLeft(m, u use, fit string) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Error, Code: "modifier-misplaced", At: m.at(),
		Message: fmt.Sprintf("%s stands before %s, which takes none", m.name, u.name),
		Help:    "it applies to the very next operation alone: " + fit,
	}
}

// modifierAtEnd reports a modifier that nothing follows.
func modifierAtEnd(m modifiers) diag.Diagnostic {
	d := diag.Diagnostic{
		Severity: diag.Warning, Code: "modifier-at-end",
		Message: "no operation follows, so this does nothing", Help: "put it directly before the operation it is for",
	}
	switch {
	case len(m.lower) > 0:
		d.Severity, d.Code, d.At = diag.Error, "modifier-misplaced", m.lower[len(m.lower)-1].at()
		d.Message = "--overlay-src is followed by no overlay"
	case m.perms != nil:
		d.At = m.perms.at()
	default:
		d.At = m.size.at()
	}
	return d
}

// lowerMissing reports an overlay with too few layers.
func lowerMissing(u use, least int) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Error, Code: "overlay-layers", At: u.at(),
		Message: fmt.Sprintf("%s wants %d --overlay-src directly before it", u.name, least),
		Help:    "the first one is the bottom",
	}
}

// argsInArgs reports --args where bwrap does not take it.
func argsInArgs(u use) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Error, Code: "args-in-args", At: u.at(),
		Message: "what --args reads cannot hold another --args",
		Help:    "give --args more than once on the command line itself",
	}
}
