package sbpl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/obspc/obspc/targets/seatbelt/operations"
)

// Context is what is known of one request, by the names of filters: path (as the
// kernel resolves it; Canonical helps), vnode-type, global-name, sysctl-name, target
// (all that hold), remote and local ("tcp 192.0.2.1:443"), socket-domain, extension,
// file-mode (octal), entitlement ("NAME" or "NAME=VALUE"), and so on. A name that is
// missing is not known; one with an empty list is known to have no value.
type Context map[string][]string

// Decision is the answer to a request.
type Decision uint8

// Undecided: what is not known could change the answer.
const (
	Deny Decision = iota
	Allow
	Undecided
)

func (d Decision) String() string { return [...]string{"deny", "allow", "undecided"}[d] }

// Answer is a decision and how it came about.
type Answer struct {
	Decision Decision
	// Rule decided. It is nil where no rule did, and where the answer is undecided.
	Rule *Rule
	// BuiltIn says what decided if no rule did.
	BuiltIn string
	// Path is the operations whose lists were looked at, the request's first.
	Path []string
	// Unknown names what an undecided answer depends on: names of a Context, "import",
	// "version-2".
	Unknown []string
	// Candidates are the rules that might decide, front first, if it is undecided.
	Candidates []*Rule
}

// Evaluate decides a request for op, by its name in the profile's release or an
// alias of it. The error says that there is no such operation, or what is malformed
// in the context.
func (p *Profile) Evaluate(op string, known Context) (Answer, error) {
	if _, ok := p.lists[op]; !ok {
		name, ok := aliased(op, p.Release)
		if !ok {
			return Answer{}, fmt.Errorf("macOS %s has no operation %s", p.Release, op)
		}
		op = name
	}
	r := &request{op: op, context: known, ends: map[string][]socketAddress{}}
	for _, name := range []string{"remote", "local"} {
		for _, value := range known[name] {
			end, err := parseSocketAddress(value)
			if err != nil {
				return Answer{}, err
			}
			r.ends[name] = append(r.ends[name], end)
		}
	}
	w := p.walk(r)
	if w.answer.Decision == Undecided {
		p.settle(r, &w)
	}
	return w.answer, nil
}

// walker is one way through the lists.
type walker struct {
	answer   Answer
	missing  opens
	reasons  []string // for being undecided that no context could settle
	outcomes [2]bool  // by allow: some entry that may match decides so
}

// walk goes from list to list until something decides. An entry that may match is
// remembered, and the walk goes on: if all that might decide agree, so be it.
func (p *Profile) walk(r *request) walker {
	w := walker{missing: opens{}}
	for op := r.op; ; {
		l := p.lists[op]
		w.answer.Path = append(w.answer.Path, op)
		for _, e := range slices.Backward(l.entries) {
			if w.enter(r, e) {
				return w
			}
		}
		if l.tail.parent == "" {
			w.end(l.tail)
			return w
		}
		op = l.tail.parent
	}
}

// enter looks at one entry; true when it decides.
func (w *walker) enter(r *request, e entry) bool {
	if e.unknown != "" {
		w.reasons, w.outcomes = append(w.reasons, "import"), [2]bool{true, true}
		w.answer.Candidates = append(w.answer.Candidates, e.rules...)
		return false
	}
	for _, rule := range slices.Backward(e.rules) {
		missing := opens{}
		switch r.holds(rule.Filter, missing) {
		case yes:
			w.decide(e.allow, rule, "")
			return true
		case unknown:
			w.outcomes[index(e.allow)] = true
			w.answer.Candidates = append(w.answer.Candidates, rule)
			for f, lacks := range missing {
				w.missing[f] = lacks
			}
		}
	}
	return false
}

func index(allow bool) int {
	if allow {
		return 1
	}
	return 0
}

// end is reached when no entry of the last list decided.
func (w *walker) end(t tail) {
	if t.unknown != "" {
		w.reasons, w.outcomes = append(w.reasons, t.unknown), [2]bool{true, true}
	}
	w.decide(t.allow, t.rule, t.why)
}

// decide ends the walk: with the answer, unless an entry that may match would give
// the other.
func (w *walker) decide(allow bool, rule *Rule, why string) {
	if w.outcomes[index(!allow)] {
		if rule != nil && !slices.Contains(w.answer.Candidates, rule) {
			w.answer.Candidates = append(w.answer.Candidates, rule)
		}
		w.answer.Decision = Undecided
		w.answer.Unknown = append(w.missing.names(), w.reasons...)
		slices.Sort(w.answer.Unknown)
		w.answer.Unknown = slices.Compact(w.answer.Unknown)
		return
	}
	w.answer.Decision, w.answer.Rule, w.answer.BuiltIn, w.answer.Candidates = Deny, rule, why, nil
	if allow {
		w.answer.Decision = Allow
	}
}

// maxSettled bounds how many unknown atoms are tried in all combinations.
const maxSettled = 6

// settle tries what the unknown atoms could be, since one atom may stand in several
// rules. What turns no answer is not named.
func (p *Profile) settle(r *request, w *walker) {
	if len(w.reasons) > 0 {
		return
	}
	atoms := map[string]string{} // text → what it lacks
	for f, lacks := range w.missing {
		atoms[f.String()] = lacks
	}
	if len(atoms) > maxSettled {
		return
	}
	texts := make([]string, 0, len(atoms))
	for text := range atoms {
		texts = append(texts, text)
	}
	slices.Sort(texts)
	answers := make([]Answer, 1<<len(texts))
	for bitsOf := range answers {
		r.assumed = map[string]truth{}
		for i, text := range texts {
			r.assumed[text] = truthOf(bitsOf>>i&1 == 1)
		}
		answers[bitsOf] = p.walk(r).answer
		if answers[bitsOf].Decision == Undecided {
			return // an atom came into sight that was not tried
		}
	}
	w.answer.Unknown = nil
	for i, text := range texts {
		for bitsOf, a := range answers {
			if a.Decision != answers[bitsOf^1<<i].Decision {
				w.answer.Unknown = append(w.answer.Unknown, atoms[text])
				break
			}
		}
	}
	slices.Sort(w.answer.Unknown)
	w.answer.Unknown = slices.Compact(w.answer.Unknown)
	if len(w.answer.Unknown) == 0 {
		w.answer = answers[0]
		w.answer.Rule = nil
		w.answer.BuiltIn = "every rule that might decide agrees"
	}
}

// links are directories that macOS has as links in /, and where they lead (measured
// by SANDBOX_LORE and mxc): rules never see them but where the link itself is looked
// at.
var links = []struct{ link, target string }{
	{"/tmp", "/private/tmp"}, {"/var", "/private/var"}, {"/etc", "/private/etc"}, {"/home", "/System/Volumes/Data/home"},
}

// Canonical is an absolute path as the kernel hands it to a profile, as far as that
// is the same on every Mac: /tmp, /var and /etc lie in /private, /home on the data
// volume.
func Canonical(path string) string {
	for _, l := range links {
		if rest, ok := strings.CutPrefix(path, l.link); ok && (rest == "" || rest[0] == '/') {
			return l.target + rest
		}
	}
	return path
}

// IsLink reports whether a path is itself one of those links.
func IsLink(path string) bool {
	return slices.ContainsFunc(links, func(l struct{ link, target string }) bool { return l.link == path })
}

// Leaves lists the operations of the profile's release that no other has as parent:
// those that the kernel asks about and logs.
func (p *Profile) Leaves() []string {
	parents := map[string]bool{}
	for _, o := range operations.All() {
		parents[o.Parent(p.Release)] = true
	}
	return slices.DeleteFunc(p.Operations(), func(name string) bool { return parents[name] })
}
