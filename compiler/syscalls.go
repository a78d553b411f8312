package compiler

import (
	"fmt"
	"slices"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/compiler/syscalls"
	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/lang/diag"
)

// systemCalls states what the syscalls blocks say.
func systemCalls(c *compilation) {
	for _, b := range c.bodies {
		said := map[string]statedCall{}
		c.calls(b, "deny", b.source.Syscalls.Deny, said)
		c.calls(b, "allow", b.source.Syscalls.Allow, said)
	}
}

// statedCall is where a call was named first, and in which list.
type statedCall struct {
	list string
	at   diag.Range
}

func (c *compilation) calls(b *body, list string, names []lang.String, said map[string]statedCall) {
	for i, n := range names {
		if len(syscalls.On(n.Value)) == 0 {
			c.find(b, unknownSyscall(n))
			continue
		}
		if first, again := said[n.Value]; again {
			c.find(b, syscallTwice(n, list, first))
			continue
		}
		said[n.Value] = statedCall{list, n.Range}
		found := judgeCall(list, n)
		for _, d := range found {
			c.find(b, d)
		}
		if diag.List(found).HasErrors() {
			continue
		}
		rule := ir.SyscallRule{Name: n.Value, Allow: list == "allow"}
		b.add(key{kind: syscallKind, name: n.Value}, rule, fmt.Sprintf("syscalls.%s[%d]", list, i), n.Range)
	}
}

// judgeCall says what is wrong or unexpected about a call that a list names.
func judgeCall(list string, n lang.String) []diag.Diagnostic {
	refusal, refused := syscalls.Refusing(n.Value)
	if list == "allow" {
		switch {
		case refused && !syscalls.MayAllow(n.Value):
			return []diag.Diagnostic{syscallNeverAllowed(n, refusal)}
		case refused:
			return []diag.Diagnostic{syscallAllowed(n, refusal)}
		}
		return nil // whether something denies it is known only after merging
	}
	if syscalls.Unfiltered(n.Value) {
		return []diag.Diagnostic{syscallUnfiltered(n)}
	}
	var out []diag.Diagnostic
	use, used := syscalls.UseOf(n.Value)
	switch {
	case used && use.Always:
		return []diag.Diagnostic{syscallNeeded(n, use)}
	case used:
		out = append(out, syscallUsed(n, use))
	case refused && refusal.Part == syscalls.All:
		out = append(out, syscallDeniedAnyway(n, refusal))
	}
	if syscalls.Unseen(n.Value) {
		out = append(out, syscallUnseen(n))
	}
	return out
}

// callsRefused reports calls that are allowed although nothing denies them.
func callsRefused(c *compilation) {
	told := map[diag.Range]bool{}
	for _, d := range c.drafts {
		for _, s := range d.merged {
			rule, ok := s.value.(ir.SyscallRule)
			if _, refused := syscalls.Refusing(rule.Name); !ok || !rule.Allow || refused || c.config.Partial || deniedIn(d.body, s.key) {
				continue
			}
			d.body.faulty = true
			if !told[s.at] {
				told[s.at] = true
				c.find(d.body, syscallNotRefused(rule.Name, s.at))
			}
		}
	}
}

// deniedIn reports whether b or a template of it denies the call.
func deniedIn(b *body, call key) bool {
	return b.reaches(map[*body]bool{}, func(t *body) bool {
		return slices.ContainsFunc(t.statements, func(s *statement) bool {
			rule, ok := s.value.(ir.SyscallRule)
			return ok && s.key == call && !rule.Allow
		})
	})
}

// unknownSyscall reports a name that no architecture has a call for.
func unknownSyscall(n lang.String) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "unknown-syscall",
		At:      n.Range,
		Message: fmt.Sprintf("Linux has no system call %q", n.Value),
		Help:    lang.DidYouMeanIn(n.Value, syscalls.Names(), "write it as syscalls(2) lists it"),
	}
}

// syscallTwice reports a call that a body names again.
func syscallTwice(n lang.String, list string, first statedCall) diag.Diagnostic {
	d := diag.Diagnostic{
		Code:    "duplicate-syscall",
		At:      n.Range,
		Message: fmt.Sprintf("%s names %s twice", list, n.Value),
		Help:    "remove one of them",
		Related: []diag.Related{{At: first.at, Message: "first stated here"}},
	}
	if list != first.list {
		d.Code, d.Message = "syscall-both", fmt.Sprintf("%s is denied and allowed", n.Value)
		d.Help = "decide: deny takes it away, allow takes it off the list of those that no sandbox may make"
	}
	return d
}

// syscallNeverAllowed reports an allow that would break what is promised elsewhere.
func syscallNeverAllowed(n lang.String, r syscalls.Refusal) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "syscall-never-allowed",
		At:      n.Range,
		Message: fmt.Sprintf("no policy may allow %s: %s", n.Value, r.Why),
		Help:    "remove it; docs/syscalls.md says which calls a policy may allow",
	}
}

// syscallAllowed reports, at every compile, a call that is taken off the list.
func syscallAllowed(n lang.String, r syscalls.Refusal) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Warning,
		Code:     "syscall-allowed",
		At:       n.Range,
		Message:  fmt.Sprintf("%s is refused to every other sandbox: %s", n.Value, r.Why),
		Help:     "allow it only to programs that do not work without it",
	}
}

// syscallNotRefused reports an allow of what may be done anyway.
func syscallNotRefused(name string, at diag.Range) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "syscall-not-refused",
		At:      at,
		Message: fmt.Sprintf("nothing refuses %s, so that there is nothing to allow", name),
		Help:    "remove it: what no list names may be called",
	}
}

// syscallNeeded reports the denial of a call without which nothing runs.
func syscallNeeded(n lang.String, u syscalls.Use) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "syscall-needed",
		At:      n.Range,
		Message: fmt.Sprintf("nothing runs without %s: %s", n.Value, u.Why),
		Help:    "remove it; which programs start is what execute says",
	}
}

// syscallUsed reports the denial of a call that most programs need.
func syscallUsed(n lang.String, u syscalls.Use) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Warning,
		Code:     "syscall-used",
		At:       n.Range,
		Message:  fmt.Sprintf("few programs run without %s: %s", n.Value, u.Why),
		Help:     "deny it only to programs that were seen to run without it",
	}
}

// syscallDeniedAnyway reports a denial that changes nothing.
func syscallDeniedAnyway(n lang.String, r syscalls.Refusal) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Warning,
		Code:     "syscall-denied-anyway",
		At:       n.Range,
		Message:  fmt.Sprintf("no sandbox may call %s, whether a policy denies it or not", n.Value),
		Help:     "remove it, unless a template allows it; it fails with " + r.Answer,
	}
}

// syscallUnfiltered reports the denial of a call that no filter is asked about.
func syscallUnfiltered(n lang.String) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "syscall-unfiltered",
		At:      n.Range,
		Message: fmt.Sprintf("Linux asks no filter about %s", n.Value),
		Help:    "remove it: only the kernel's own probes can use it, and it ends every other caller",
	}
}

// syscallUnseen reports the denial of what programs do without a call.
func syscallUnseen(n lang.String) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Warning,
		Code:     "syscall-unseen",
		At:       n.Range,
		Message:  fmt.Sprintf("programs learn what %s answers without calling it, from memory that the kernel shares with them", n.Value),
		Help:     "nothing keeps the time or the processor from a program; count on nothing here",
	}
}
