package targets

import (
	"errors"
	"fmt"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/targets/bwrap"
	"github.com/obspc/obspc/targets/seatbelt"
)

// Compare holds what the policy uses against what its targets answer: absent is
// an error at each use, or a warning at its waiver; tighter is a warning at the
// first use, or nothing where it is waived. at gives a statement's place in the sources. What a target cannot write
// down for reasons of its own is an error at the statement as well.
func Compare(p *ir.Policy, at func(ir.Origin) diag.Range) diag.List {
	c := comparison{policy: p, at: at, warned: map[ir.Waiver]bool{}}
	for _, use := range p.Uses() {
		c.use(use)
	}
	for _, w := range p.Waivers {
		if p.HasTarget(w.Target) && !Keeps(w.Target, w.Feature) {
			c.found.Add(featureWaived(w, at(w.Origin)))
		}
	}
	if !c.found.HasErrors() {
		c.limits()
	}
	return c.found.Sorted()
}

type comparison struct {
	policy *ir.Policy
	at     func(ir.Origin) diag.Range
	found  diag.List
	warned map[ir.Waiver]bool // target and feature
}

func (c *comparison) use(use ir.Use) {
	var absent []ir.Target
	for _, t := range c.policy.Targets {
		if c.waived(t, use.Feature) {
			continue
		}
		key := ir.Waiver{Target: t, Feature: use.Feature}
		switch answer := Answers(t, use.Feature); {
		case answer.Capability == Absent:
			absent = append(absent, t)
		case answer.Capability != Exact && !c.warned[key]:
			c.warned[key] = true
			if answer.Capability == Attribution {
				c.found.Add(featureAttribution(t, use, answer, c.at(use.Origin)))
			} else {
				c.found.Add(featureTighter(t, use, answer, c.at(use.Origin)))
			}
		}
	}
	if len(absent) > 0 {
		c.found.Add(featureAbsent(absent, use, c.at(use.Origin)))
	}
}

func (c *comparison) waived(t ir.Target, f ir.Feature) bool {
	for _, w := range c.policy.Waivers {
		if w.Target == t && w.Feature == f {
			return true
		}
	}
	return false
}

// limits asks the targets whether they can write the policy down.
func (c *comparison) limits() {
	if c.policy.HasTarget(ir.Bwrap) {
		_, err := bwrap.Compile(c.policy)
		var path *bwrap.UnsupportedError
		var count *bwrap.TooManyArgumentsError
		switch {
		case errors.As(err, &path):
			c.found.Add(pathUnsupported(path, c.at(path.Origin)))
		case errors.As(err, &count):
			c.found.Add(tooManyArguments(count, c.at(c.below(count.Crowded))))
		}
	}
	if c.policy.HasTarget(ir.Seatbelt) {
		if r := c.policy.LocalhostDenied(); r != nil {
			c.found.Add(localhostDenied(r, c.policy.Loopback, c.at))
		}
		for _, conflict := range seatbelt.Conflicts(c.policy) {
			if !caseTwins(conflict) {
				c.found.Add(samePlace(conflict, c.at))
			}
		}
		_, err := seatbelt.Compile(c.policy)
		var large *seatbelt.TooLargeError
		if errors.As(err, &large) {
			c.found.Add(profileTooLarge(large, c.header(), c.crowd(large.Starts)))
		}
	}
}

// below is the origin of the first rule directly in dir.
func (c *comparison) below(dir ir.Path) ir.Origin {
	for _, r := range c.policy.Files {
		if parent, ok := r.Path.Parent(); ok && parent == dir {
			return r.Origin
		}
	}
	return ""
}

// header is where the policy begins, which is where built-in statements stand.
func (c *comparison) header() diag.Range {
	origins := []ir.Origin{c.policy.Unix.Origin}
	for _, r := range c.policy.Files {
		origins = append(origins, r.Origin)
	}
	for _, o := range origins {
		if strings.HasPrefix(string(o), "builtin/") {
			return c.at(o)
		}
	}
	return diag.Range{}
}

// crowd is the expression of the policy's own that states most paths (starts: that
// may start), and how many.
type crowd struct {
	at    diag.Range
	rules int
}

func (c *comparison) crowd(starts bool) crowd {
	var most crowd
	counts := map[diag.Range]int{}
	count := func(o ir.Origin) {
		if !strings.HasPrefix(string(o), c.policy.Name+"/") {
			return
		}
		at := c.at(o)
		if counts[at]++; counts[at] > most.rules {
			most = crowd{at, counts[at]}
		}
	}
	for _, r := range c.policy.Files {
		if !starts {
			count(r.Origin)
		}
	}
	for _, r := range c.policy.Execute {
		count(r.Origin)
	}
	return most
}

// caseTwins reports whether the compiler has said so already: paths that differ
// by case alone need no target to be compared.
func caseTwins(e *seatbelt.ConflictError) bool {
	first, ok := e.First.(*ir.FileRule)
	second, same := e.Second.(*ir.FileRule)
	return ok && same && strings.EqualFold(first.Path.String(), second.Path.String())
}

// featureAbsent reports a use of something that some targets cannot keep.
func featureAbsent(targets []ir.Target, use ir.Use, at diag.Range) diag.Diagnostic {
	names := make([]string, len(targets))
	for i, t := range targets {
		names[i] = string(t)
	}
	note := Answers(targets[0], use.Feature).Note
	return diag.Diagnostic{
		Severity: diag.Error,
		Code:     "feature-absent",
		At:       at,
		Message:  fmt.Sprintf("%s cannot keep %s%s: %s", strings.Join(names, " and "), rows[use.Feature].thing, quoted(use.What), note),
		Help:     fmt.Sprintf("leave it out, or take %q off targets; to accept that it is not kept, %s", names[0], waiverFor(names[len(names)-1], use.Feature)),
	}
}

// featureTighter reports that a target denies more than the policy says.
func featureTighter(t ir.Target, use ir.Use, a Answer, at diag.Range) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Warning,
		Code:     "feature-tighter",
		At:       at,
		Message:  tighterWords(t, use, a),
		Help:     "nothing to do where programs can live with it; to say so, " + waiverFor(string(t), use.Feature),
	}
}

// featureAttribution reports what limits honest programs only.
func featureAttribution(t ir.Target, use ir.Use, a Answer, at diag.Range) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Warning,
		Code:     "feature-attribution",
		At:       at,
		Message:  fmt.Sprintf("%s of%s is no boundary: %s", rows[use.Feature].thing, quoted(use.What), a.Note),
		Help:     "allow no host to some programs that the others may not reach; to say so, " + waiverFor(string(t), use.Feature),
	}
}

// tighterWords is a note as a sentence about what the policy names.
func tighterWords(t ir.Target, use ir.Use, a Answer) string {
	if rest, ok := strings.CutPrefix(a.Note, "it "); ok && use.What != "" {
		return fmt.Sprintf("%q %s", use.What, rest)
	}
	if use.What == "" {
		return fmt.Sprintf("%s is tighter about %s: %s", t, rows[use.Feature].thing, a.Note)
	}
	return fmt.Sprintf("%s is tighter about%s: %s", t, quoted(use.What), a.Note)
}

func waiverFor(target string, f ir.Feature) string {
	return fmt.Sprintf("add a waive %q block with features = [%q] and a reason", target, f)
}

// featureWaived reports, at every compile, an absent feature that somebody
// accepted.
func featureWaived(w ir.Waiver, at diag.Range) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Warning,
		Code:     "feature-waived",
		At:       at,
		Message:  fmt.Sprintf("%s does not keep %s (waived: %s)", w.Target, rows[w.Feature].thing, w.Reason),
		Help:     "take the waiver away once the policy can do without",
	}
}

// pathUnsupported reports a path for which there is no mount.
func pathUnsupported(e *bwrap.UnsupportedError, at diag.Range) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Error,
		Code:     "mount-unsupported",
		At:       at,
		Message:  fmt.Sprintf("bwrap cannot mount %q: %s", e.Path, e.Reason),
		Help:     e.Help,
	}
}

// tooManyArguments reports a policy of more paths than bwrap takes.
func tooManyArguments(e *bwrap.TooManyArgumentsError, at diag.Range) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Error,
		Code:     "too-many-arguments",
		At:       at,
		Message:  fmt.Sprintf("bwrap would need up to %d arguments and takes %d", e.Count, e.Limit),
		Help:     fmt.Sprintf("%d of the named paths lie directly in %s: name that directory instead", e.Siblings, e.Crowded),
	}
}

// profileTooLarge reports a policy of more paths than a profile may hold: all of them
// together, so at its header, with what brings most of them.
func profileTooLarge(e *seatbelt.TooLargeError, header diag.Range, most crowd) diag.Diagnostic {
	d := diag.Diagnostic{
		Severity: diag.Error,
		Code:     "profile-too-large",
		At:       header,
		Message:  fmt.Sprintf("%s takes %d bytes for %d rules, and %d fit", e.What, e.Bytes, e.Rules, e.Limit),
		Help:     "name directories instead of the files in them",
	}
	switch {
	case most.rules == 0:
	case header == diag.Range{}:
		d.At = most.at
	default:
		d.Related = []diag.Related{{At: most.at, Message: fmt.Sprintf("most of what the policy itself names stands here: %d paths", most.rules)}}
	}
	return d
}

// samePlace reports two rules that macOS cannot tell apart.
func samePlace(e *seatbelt.ConflictError, at func(ir.Origin) diag.Range) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Error,
		Code:     "path-same-place",
		At:       at(e.Second.From()),
		Message:  fmt.Sprintf("%s and %s are both about %s on macOS: %s", e.Second, e.First, e.Path, e.Reason),
		Help:     "state the path once, at one level",
		Related:  []diag.Related{{At: at(e.First.From()), Message: "first stated here"}},
	}
}

// localhostDenied reports a name that is denied, of what another statement opens.
func localhostDenied(r *ir.HostRule, opens ir.LoopbackRule, at func(ir.Origin) diag.Range) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Error,
		Code:     "localhost-denied",
		At:       at(r.Origin),
		Message:  fmt.Sprintf("seatbelt cannot deny %q and open the machine's loopback: it sees addresses, and not by which name they were found", r.Host),
		Help:     "take the host off the list, or leave loopback to the sandbox",
		Related:  []diag.Related{{At: at(opens.Origin), Message: "opened here"}},
	}
}

func quoted(what string) string {
	if what == "" {
		return ""
	}
	return fmt.Sprintf(" %q", what)
}
