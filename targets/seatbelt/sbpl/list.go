package sbpl

import (
	"slices"

	"github.com/obspc/obspc/targets/seatbelt/operations"
	"github.com/obspc/obspc/targets/seatbelt/sbpl/scheme"
)

// list is what decides one operation: entries from the front, then the tail.
// (sbpl1.scm of 10.9.5 and 10.10.5, confirmed on later releases.)
type list struct {
	entries []entry // the front is the last
	tail    tail
}

// entry is one filtered decision: any of its rules.
type entry struct {
	allow     bool
	modifiers string
	rules     []*Rule // the newest last
	unknown   string  // the import that may decide anything here
}

// tail is what happens when no entry does: a decision, or the parent's list.
type tail struct {
	parent  string // "" when the tail decides
	allow   bool
	rule    *Rule  // nil: built in
	why     string // of a built-in decision
	unknown string // what would have to be known to say
}

// build makes the lists: the release's own tails, what the version's library does,
// the rules that macOS adds, and the profile's.
func (p *Profile) build() {
	p.lists = map[string]*list{}
	for _, o := range operations.All() {
		if o.In(p.Release) {
			p.lists[o.Name] = &list{tail: p.builtIn(o)}
		}
	}
	for _, r := range p.standardRules() {
		p.place(r)
	}
	for _, r := range p.Rules {
		p.place(r)
	}
	for _, r := range p.finalRules() {
		p.place(r)
	}
}

// builtIn is an operation's tail before the first rule. From 12 on the library of
// version 1 allows some operations by a rule of its own, version 3 does not; of
// version 2 nothing is published.
func (p *Profile) builtIn(o operations.Operation) tail {
	parent := o.Parent(p.Release)
	if o.Open && p.Release >= operations.Monterey {
		switch p.Version {
		case 1:
			return tail{allow: true, why: "version 1 allows it"}
		case 2:
			return tail{unknown: "version-2"}
		}
	}
	switch parent {
	case operations.Allow, operations.Deny:
		return tail{allow: parent == operations.Allow, why: "built-in default of " + o.Name}
	}
	return tail{parent: parent}
}

// place puts a rule into the lists of its operations, and of no others.
func (p *Profile) place(r *Rule) {
	if r.Import != "" {
		for _, l := range p.lists {
			l.entries = append(l.entries, entry{unknown: r.Import, rules: []*Rule{r}})
			l.tail = tail{unknown: "import", rule: r}
		}
		return
	}
	modifiers := ""
	for _, m := range r.Modifiers {
		modifiers += m.String()
	}
	for _, op := range r.Operations {
		l, ok := p.lists[op]
		if !ok {
			continue
		}
		if r.Filter == nil {
			l.tail = tail{allow: r.Allow, rule: r}
			continue
		}
		if n := len(l.entries) - 1; n >= 0 && l.entries[n].allow == r.Allow && l.entries[n].modifiers == modifiers && l.entries[n].unknown == "" {
			l.entries[n].rules = append(l.entries[n].rules, r)
			continue
		}
		l.entries = append(l.entries, entry{allow: r.Allow, modifiers: modifiers, rules: []*Rule{r}})
	}
}

// standard makes a rule of macOS's own on one operation.
func standard(allow bool, op string, filters ...*Filter) *Rule {
	r := &Rule{Allow: allow, Operations: []string{op}, Standard: true}
	if len(filters) > 0 {
		r.Filter, _ = anyOf(scheme.Pos{}, filters)
	}
	return r
}

func standardAtom(name, filter string, h how, arg scheme.Value) *Filter {
	a := &atom{spec: filterNamed(filter), how: h, args: []scheme.Value{arg}}
	if s, ok := arg.(string); ok {
		a.texts = []string{s}
		if h == matches {
			e, err := compileExpression(s)
			if err != nil {
				panic(err) // the pattern stands below
			}
			a.expressions = []*expression{e}
		}
	}
	return &Filter{Name: name, atom: a, size: 1}
}

func targetSelf() *Filter {
	return standardAtom("target", "target", isConstant, Constant{"self"})
}

// standardRules stand before the profile's: policy.scm of 10.15 is evaluated first.
func (p *Profile) standardRules() []*Rule {
	if p.Release == operations.Mavericks {
		return nil
	}
	return []*Rule{standard(true, "signal", targetSelf()), standard(true, "mach-task-name", targetSelf())}
}

// finalRules stand after the profile's: the end of sbpl1.scm in 10.9 and 10.10. Its
// rule about the sandbox's cache concerns a path that is not known here.
func (p *Profile) finalRules() []*Rule {
	if p.Release != operations.Mavericks {
		return nil
	}
	var out []*Rule
	if p.canReturn("mach-lookup", true) {
		out = append(out, standard(true, "mach-bootstrap"))
	}
	if !p.canReturn("file-read*", false) {
		out = append(out, standard(true, "network-outbound", standardAtom("regex", "path", matches, `^/private/tmp/\.webdavUDS\.[^/]+$`)))
	}
	return append(out,
		standard(false, "network-outbound",
			standardAtom("literal", "path", equals, "/private/var/tmp/launchd/sock"),
			standardAtom("regex", "path", matches, `^/private/tmp/launchd-[0-9]+\.[^/]+/sock$`)),
		standard(true, "signal", targetSelf()))
}

// canReturn reports whether some request of op could be decided so.
func (p *Profile) canReturn(op string, allow bool) bool {
	for op != "" {
		l, ok := p.lists[op]
		if !ok {
			return false
		}
		if slices.ContainsFunc(l.entries, func(e entry) bool { return e.allow == allow || e.unknown != "" }) {
			return true
		}
		if l.tail.parent == "" {
			return l.tail.allow == allow || l.tail.unknown != ""
		}
		op = l.tail.parent
	}
	return false
}
