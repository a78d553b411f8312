package proof

import (
	"fmt"
	"maps"
	"slices"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/seatbelt/fragment"
	"github.com/obspc/obspc/targets/seatbelt/operations"
)

// operations holds the profile to what the policy wants of every operation of every
// supported release, those it never mentions and those that only group others
// included (O4). Answers about paths are left to the classes.
func (c *check) operations(config bool) error {
	wants := wanted(c.policy)
	for _, release := range operations.Supported() {
		for _, o := range operations.All() {
			if !o.In(release) {
				continue
			}
			if err := c.operation(o.Name, release, c.profile.List(o.Name, release, config), wants[o.Name]); err != nil {
				return err
			}
		}
	}
	for _, row := range words {
		for _, name := range row.operations {
			for _, release := range operations.Supported() {
				c.keep(config, asked{row.word, name, release, c.profile.List(name, release, config)})
			}
		}
	}
	return nil
}

// keep notes a list about paths, unless one that decides alike is there for the same
// word.
func (c *check) keep(config bool, a asked) {
	lists := &c.lists[index(config)]
	alike := func(b asked) bool {
		return a.word == b.word && a.list.Default == b.list.Default && slices.Equal(a.list.Rules, b.list.Rules)
	}
	if !slices.ContainsFunc(*lists, alike) {
		*lists = append(*lists, a)
	}
}

func index(config bool) int {
	if config {
		return 1
	}
	return 0
}

// operation compares all that needs no path.
func (c *check) operation(name string, release operations.Release, list fragment.List, w want) error {
	differs := func(by *fragment.Rule, format string, args ...any) error {
		detail := name + " of macOS " + release.String() + ": " + fmt.Sprintf(format, args...)
		return &Fault{Operation: name, Release: release, Rule: by, Detail: detail}
	}
	switch {
	case w.open:
		if by := spoken(list); by != nil {
			return differs(by, "a rule speaks of what every profile leaves open")
		}
		return nil
	case w.always:
		if !list.Default || len(list.Rules) > 0 {
			return differs(list.By, "it is not allowed whatever it is about")
		}
		return nil
	case list.Default:
		return differs(list.By, "everything is allowed that no rule speaks of")
	case slices.Contains(w.asked, ir.ConnectUnixRequest):
		return reach(list, w, differs)
	case slices.Contains(w.asked, ir.ExecuteRequest):
		if by := startsAnything(list); by != nil {
			return differs(by, "something may start whether an execute rule names it or not")
		}
		return nil
	case w.asked != nil:
		return nil
	}
	have := list.Words(w.kind)
	for _, r := range list.Rules {
		stray := slices.ContainsFunc(r.Filters, func(f fragment.Filter) bool { return f.Kind != w.kind })
		if r.Allow && stray {
			return differs(r, "the policy has no statement that allows it")
		}
	}
	for _, word := range slices.Sorted(maps.Keys(have)) {
		if _, stated := w.words[word]; have[word].Allow && !stated {
			return differs(have[word], "the policy has no statement that allows %q", word)
		}
	}
	for _, word := range slices.Sorted(maps.Keys(w.words)) {
		if r := have[word]; r == nil || !r.Allow {
			return differs(r, "the policy allows %q%s, and the profile does not", word, by(string(w.words[word])))
		}
	}
	return nil
}

// by names the statement, if there is one.
func by(origin string) string {
	if origin == "" {
		return ""
	}
	return " by " + origin
}

// spoken is a rule in the list, or nil.
func spoken(l fragment.List) *fragment.Rule {
	if len(l.Rules) > 0 {
		return l.Rules[0]
	}
	return l.By
}

// startsAnything is a rule that allows more than what the profile's Starts name, or
// nil.
func startsAnything(l fragment.List) *fragment.Rule {
	for _, r := range l.Rules {
		if r.Allow && slices.ContainsFunc(r.Filters, func(f fragment.Filter) bool { return !f.Starts }) {
			return r
		}
	}
	return nil
}
