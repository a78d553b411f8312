package sbpl

import (
	"strings"

	"github.com/obspc/obspc/targets/seatbelt/operations"
	"github.com/obspc/obspc/targets/seatbelt/sbpl/scheme"
)

// parser is one profile while it is evaluated.
type parser struct {
	profile *Profile
	options Options
	release operations.Release
	machine *scheme.Machine
	version int // 0 until stated
	traced  bool

	wraps        []wrap // innermost last
	filters      int    // atoms of all rules
	expressions  map[string]*expression
	patternBytes int
	imports      int // files open
	importBytes  int
}

// operation is the value of an operation's name. Dropped names are taken and do
// nothing.
type operation struct {
	name    string
	dropped bool
}

func (o *operation) String() string { return o.name }

func newParser(name string, o Options) *parser {
	if o.Release == 0 {
		o.Release = operations.Newest
	}
	p := &parser{
		options: o, release: o.Release, machine: scheme.New(scheme.Generous), expressions: map[string]*expression{},
		profile: &Profile{Name: name, Release: o.Release},
	}
	p.machine.Define("version", &scheme.Procedure{Name: "version", Min: 1, Max: 1, Do: p.stateVersion})
	if o.AssumeVersion1 {
		p.install()
	}
	return p
}

// stateVersion is (version N): the language of profiles exists from there on.
func (p *parser) stateVersion(c *scheme.Call) (scheme.Value, error) {
	n, ok := c.Args[0].(int64)
	newer := p.release >= operations.Monterey && (n == 2 || n == 3)
	switch {
	case p.version != 0 && (!ok || int64(p.version) != n):
		return nil, c.Fail(0, WrongVersion, "only one version may be specified")
	case !ok || n != 1 && !newer:
		return nil, c.Fail(0, WrongVersion, "unsupported version: %s", scheme.Show(c.Args[0]))
	case p.version == 0:
		p.version = int(n)
		p.install()
	}
	return scheme.Unspecified{}, nil
}

// install defines every name of the language in the profile's release.
func (p *parser) install() {
	define := func(name string, v scheme.Value) { p.machine.Define(scheme.Symbol(name), v) }
	for _, f := range families {
		for word := range strings.FieldsSeq(f.names) {
			name, _, _ := strings.Cut(word, "=")
			define(name, Constant{name})
		}
	}
	p.machine.Unbound = func(name scheme.Symbol) (scheme.Value, bool) {
		c, ok := openConstant(string(name))
		return c, ok
	}
	for name, procedure := range p.filterProcedures() {
		define(name, procedure)
	}
	for i := range modifierTable {
		if spec := &modifierTable[i]; p.release >= spec.since {
			define(spec.name, &modifierName{spec})
		}
	}
	for _, a := range modifierAliases {
		if spec := modifierNamed(a.name); p.release >= spec.since {
			define(a.alias, &modifierName{spec})
		}
	}
	for _, procedure := range p.procedures() {
		define(procedure.Name, procedure)
	}
	p.installOperations(define)
	p.installForms()
}

// operationAliases are other names of operations (sbpl1.scm 10.15), from the release
// since on and until the release until, unless that is 0. A release that has an
// operation of the alias's name keeps it, but for sysctl-write: up to 10.15 that name
// stands for the whole family.
var operationAliases = []struct {
	alias, name  string
	since, until operations.Release
}{
	{"process-exec", "process-exec*", 0, 0}, {"file-unlink", "file-write-unlink", 0, 0}, {"file-write-mount", "file-mount", 0, 0},
	{"file-write-unmount", "file-unmount", 0, 0}, {"file-write-umount", "file-unmount", 0, 0}, {"ipc-posix-sem", "ipc-posix-sem*", 0, 0},
	{"ipc-posix-shm", "ipc-posix-shm*", 0, 0}, {"ipc-posix-shm-read*", "ipc-posix-shm-read-data", operations.Catalina, 0},
	{"system-misc", "system*", 0, 0}, {"time-set", "system-set-time", 0, 0}, {"file-fsctl", "system-fsctl", 0, 0},
	{"file-issue-extension*", "file-issue-extension", 0, 0}, {"file-issue-extension-*", "file-issue-extension", 0, 0},
	{"file-issue-extension-read", "file-issue-extension", 0, 0}, {"file-issue-extension-write", "file-issue-extension", 0, 0},
	{"managed-preference*", "managed-preference-read", operations.Catalina, 0}, {"iokit-open", "iokit-open*", operations.Monterey, 0},
	{"sysctl-write", "sysctl*", 0, operations.Catalina},
}

// droppedOperations are names of old operations that 10.15 takes and ignores.
var droppedOperations = []string{"ipc-posix-shm-read-metadata", "mach-per-user-lookup", "system-chud", "qtn-download"}

func (p *parser) installOperations(define func(string, scheme.Value)) {
	for _, o := range operations.All() {
		if o.In(p.release) {
			define(o.Name, &operation{name: o.Name})
		}
	}
	for _, a := range operationAliases {
		if name, ok := aliased(a.alias, p.release); ok {
			define(a.alias, &operation{name: name})
		}
	}
	for _, name := range droppedOperations {
		if o, _ := operations.Named(name); !o.In(p.release) && p.release > operations.Mavericks {
			define(name, &operation{name: name, dropped: true})
		}
	}
}

// aliased is the operation that a name stands for in a release.
func aliased(name string, r operations.Release) (string, bool) {
	for _, a := range operationAliases {
		if a.alias != name || r < a.since || a.until != 0 && r > a.until {
			continue
		}
		if o, _ := operations.Named(name); o.In(r) && name != "sysctl-write" {
			return "", false
		}
		target, _ := operations.Named(a.name)
		return a.name, target.In(r)
	}
	return "", false
}
