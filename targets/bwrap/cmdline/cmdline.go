// Package cmdline reads anybody's command line of bwrap, from bubblewrap 0.1 to
// 0.13: text or NUL-separated arguments to Command, what the sandbox has (Table), the
// answer to every request word (Decide) and what is probably not meant (Lint). It is
// written from bwrap(1), from bubblewrap's behaviour and from measurements with
// 0.8.0, never from what obspc's own argument sets look like; those are read by the
// parent package, strictly, and agree with this one in a test. Its one rule: the
// host is unknown, so an answer says what it assumes, and an answer that what is
// unknown could turn is no answer.
package cmdline

import (
	"strings"

	"github.com/obspc/obspc/lang/diag"
)

// Options are what a text is read under.
type Options struct {
	// Values are the shell variables that the text may name, without the "$".
	Values map[string]string
	// Release is the bubblewrap that will run it. Zero: any.
	Release Version
}

// Command is a command line that was read.
type Command struct {
	File string
	// Program is argv[0] as it was written; "" when there are options alone.
	Program string
	// Operations are what is done to the file system, in order.
	Operations []Operation
	// Argv is the command that is started, with its arguments.
	Argv []string
	// Needs is the oldest bubblewrap that has every option, and By the option.
	Needs Version
	By    string

	Namespaces   []Namespace
	Environment  Environment
	Capabilities Capabilities
	Directory    string // --chdir
	Hostname     string
	NewSession   bool
	DieWithin    bool // --die-with-parent
	AsPID1       bool
	NoUserns     bool     // --disable-userns or --assert-userns-disabled
	Seccomp      []string // descriptors of filters
	Loose        bool     // --not-a-security-boundary

	options  []use
	words    []Word
	stream   bool // NUL-separated
	inFile   bool // what --args reads: options and nothing else
	dropped  *Word
	values   map[string]string
	release  Version
	layers   []layer
	links    map[string]int
	findings diag.List
}

// Operation is one step of the set-up of the sandbox's file system.
type Operation struct {
	// Option is the option's name, "--ro-bind-try".
	Option string
	// Source is the host's path of a bind, the descriptor of --file and its kind, the
	// target of a link.
	Source string
	// Dest is a clean absolute path, which may hold parts that are not known, as
	// ${NAME}.
	Dest string
	// Lower are the sources of an overlay, bottom first; Work its work directory.
	Lower []string
	Work  string
	// Mode is what --perms or --chmod says, or what bwrap takes without.
	Mode uint32
	// Size of a tmpfs in bytes; 0 when it is not limited by the options.
	Size uint64
	// At is the option with its arguments, DestAt the destination alone.
	At, DestAt diag.Range

	words   []string
	links   bool // links of bwrap's own are on the way to Dest
	dangles bool // Dest is a link to what is not there
}

// Words are the operation's arguments with the modifiers before it.
func (o *Operation) Words() []string { return o.words }

// String is the operation as it could be written.
func (o *Operation) String() string { return shellText(o.words) }

// Try tells that a missing source skips the operation.
func (o *Operation) Try() bool { return strings.HasSuffix(o.Option, "-try") }

// Namespace is one kind of namespace of the sandbox.
type Namespace struct {
	Name string
	// Own: true when the sandbox has its own, whatever the host is.
	State State
	// Note says what State depends on or where the namespace is from.
	Note string
}

// State answers what may not be known.
type State uint8

// The states.
const (
	No State = iota
	Yes
	Maybe
)

func (s State) String() string { return [...]string{"no", "yes", "unknown"}[s] }

// Environment is what variables the command gets.
type Environment struct {
	Inherited bool // the caller's, but for Unset
	Unset     []string
	Set       []Variable // in the order in which they were set last
}

// Variable is one that the command line sets.
type Variable struct{ Name, Value string }

// Capabilities are those that the command has: what a caller other than root gets,
// in its user namespace, and what root keeps.
type Capabilities struct{ User, Root CapabilitySet }

// CapabilitySet is the named ones, or all but the named ones.
type CapabilitySet struct {
	All   bool
	Names []string
}

// Has reports whether the set has the capability.
func (c CapabilitySet) Has(name string) bool {
	for _, n := range c.Names {
		if n == name {
			return !c.All
		}
	}
	return c.All
}

func (c CapabilitySet) String() string {
	names := strings.Join(c.Names, ", ")
	switch {
	case c.All && names == "":
		return "all"
	case c.All:
		return "all but " + names
	case names == "":
		return "none"
	}
	return names
}

// namespace is the namespace of that name.
func (c *Command) namespace(name string) *Namespace {
	for i := range c.Namespaces {
		if c.Namespaces[i].Name == name {
			return &c.Namespaces[i]
		}
	}
	diag.Bug("no namespace %q", name)
	return nil
}

// own reports whether the sandbox has a namespace of its own of that kind.
func (c *Command) own(name string) State { return c.namespace(name).State }
