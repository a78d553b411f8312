package compiler

import (
	"fmt"

	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/lang/diag"
)

// maxRules bounds the rules of one policy, inherited ones included (design 4).
const maxRules = 100_000

// maxInherited bounds the statements that all bodies together take over from
// templates: a few short templates that extend each other could otherwise repeat
// a long one without end.
const maxInherited = 1_000_000

// bound refuses bodies that state too much by themselves, and empties them, so
// that no later pass walks their lists. merge bounds what bodies inherit.
func bound(c *compilation) {
	for _, b := range c.bodies {
		if n := rules(b.source); n > maxRules {
			c.lose(b, tooManyRules(b, n))
			b.source = &lang.Body{Template: b.source.Template, Name: b.source.Name, Range: b.source.Range}
		}
	}
}

// maxFindings bounds what one Compile says, as lang bounds what one Parse says: a
// generated file with one mistake on every line should not cost more than itself.
const maxFindings = 1000

// capped is the list in reading order, cut at the limit.
func capped(all diag.List) diag.List {
	l := all.Sorted()
	if len(l) <= maxFindings {
		return l
	}
	last := tooManyFindings(l[maxFindings].At, len(l)-maxFindings)
	if !l[maxFindings:].HasErrors() {
		last.Severity = diag.Warning
	}
	return append(l[:maxFindings:maxFindings], last)
}

// rules counts what becomes a rule of the IR.
func rules(b *lang.Body) int {
	fs, s := b.Filesystem, b.System
	n := len(fs.Read) + len(fs.Write) + len(fs.Deny) + len(fs.Execute)
	n += len(s.Services) + len(s.Sysctls) + len(s.IPC) + len(s.IOKit)
	n += len(b.Syscalls.Deny) + len(b.Syscalls.Allow)
	for _, e := range b.Network.Endpoints {
		n += 1 + len(e.Requests) + len(e.Addresses)
	}
	n += len(b.Network.Deny) + len(b.Environment) + len(b.Limits) + len(b.Commands)
	for _, w := range b.Waives {
		n += len(w.Features)
	}
	return n
}

// tooManyRules reports a policy or template past the limit, at its name.
func tooManyRules(b *body, n int) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "too-many-rules",
		At:      b.source.Name.Range,
		Message: fmt.Sprintf("%s has %d rules, more than %d", b.name, n, maxRules),
		Help:    "name directories instead of the files in them, or split the policy",
	}
}

// tooMuchInherited reports templates that repeat each other past the limit.
func tooMuchInherited(b *body) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "too-many-rules",
		At:      b.source.Name.Range,
		Message: fmt.Sprintf("the templates of this configuration take over more than %d statements from each other", maxInherited),
		Help:    "let fewer templates extend long ones",
	}
}

// tooManyFindings says that the list of findings ends early.
func tooManyFindings(at diag.Range, more int) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "too-many-findings",
		At:      at,
		Message: fmt.Sprintf("%d more findings from here on are not shown", more),
		Help:    "mend the first ones and run again",
	}
}
