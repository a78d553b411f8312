package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/obspc/obspc/compiler"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/compiler/ir/propose"
	"github.com/obspc/obspc/compiler/syscalls"
)

// nearest is what comes closest to allowing what is denied, and what of the
// request it does not meet.
type nearest struct {
	Rule   *ruleAt `json:"rule"`
	Failed string  `json:"failed"`
}

// rule is a rule with its place in the sources.
func (conf *configuration) rule(r compiler.Result, rule ir.Rule) *ruleAt {
	at := r.Ranges[rule.From()]
	return &ruleAt{
		File: conf.display(at.File), Line: at.Start.Line, Column: at.Start.Column,
		Text: rule.String(), Statement: string(rule.From()), Template: templateOf(r.Policy.Name, rule.From()),
	}
}

// templateOf is the template that a statement came through, "" for the policy's
// own and the built-in ones.
func templateOf(policy string, o ir.Origin) string {
	words := strings.Split(string(o), "/")
	switch {
	case len(words) < 2 || words[0] == policy || words[0] == "builtin":
		return ""
	case words[0] == "std":
		return words[0] + "/" + words[1]
	}
	return words[0]
}

// addWhy adds the chain of covering rules, what comes nearest when the answer is
// no, and what to write for the other answer.
func (conf *configuration) addWhy(a *answer, r compiler.Result, bound *ir.Policy, binding ir.Binding, q ir.Request, whyNot bool) {
	switch q.Kind {
	case ir.ConnectRequest, ir.URLRequest:
		for _, rule := range bound.NetworkChain(q) {
			a.Chain = append(a.Chain, conf.rule(r, rule))
		}
	case ir.SyscallRequest:
		for _, rule := range bound.SyscallChain(q.Syscall) {
			a.Chain = append(a.Chain, conf.rule(r, rule))
		}
	default:
		for _, rule := range ir.NewDecider(bound).Chain(q.Path) {
			a.Chain = append(a.Chain, conf.rule(r, rule))
		}
	}
	a.Change = change(a, r.Policy, binding, q)
	if near := ir.WhyNot(bound, q); whyNot && a.Decision == "deny" {
		a.Nearest = &nearest{Failed: string(near.Failed)}
		if near.Rule != nil {
			a.Nearest.Rule = conf.rule(r, near.Rule)
		}
	}
}

// change is what to write for the other answer. What it says to write was tried on
// the policy.
func change(a *answer, p *ir.Policy, b ir.Binding, q ir.Request) string {
	switch q.Kind {
	case ir.SyscallRequest:
		return changeCall(a, q.Syscall)
	case ir.ConnectRequest, ir.URLRequest:
		return changeWay(p, b, q)
	}
	if a.Decision == "allow" {
		if q.Kind == ir.ExecuteRequest {
			return "to deny it, narrow the execute list"
		}
		return turned("deny", "deny", p, b, q)
	}
	switch q.Kind {
	case ir.ReadRequest, ir.ListRequest, ir.StatRequest:
		return turned("allow", "read", p, b, q)
	case ir.WriteRequest:
		return turned("allow", "write", p, b, q)
	case ir.CreateRequest, ir.RemoveRequest, ir.RenameRequest, ir.LinkRequest:
		if a.Reason == reasons[ir.ByHeld] {
			return "to allow it, take away every statement that names it or something below it"
		}
		return "to allow it, let the directory around each name be written"
	case ir.ExecuteRequest:
		if a.Reason == reasons[ir.NotExecutable] {
			return turned("allow", "execute", p, b, q)
		}
		return fmt.Sprintf("to allow it, name %q in read and in execute", q.Path)
	}
	return `to allow it, write unix = "visible" in the network block, and let its path be read`
}

// turned is the line of a filesystem block that turns the answer.
func turned(verb, list string, p *ir.Policy, b ir.Binding, q ir.Request) string {
	add, err := propose.Turn(p, b, q, list)
	switch {
	case err != nil && verb == "deny":
		return fmt.Sprintf("to deny it, narrow the statements that let it be: a deny of it alone does not do (%v)", err)
	case err != nil:
		return fmt.Sprintf("to allow it, no line of its own would do: %v", err)
	case add.Instead != "":
		return fmt.Sprintf("to %s it, move %s from %s to %s in the filesystem block", verb, add.Element(), add.Instead, add.List)
	}
	return fmt.Sprintf("to %s it, write %s = [%s] in the filesystem block", verb, add.List, add.Element())
}

// changeCall is what to write for the other answer about a system call.
func changeCall(a *answer, name string) string {
	use, used := syscalls.UseOf(name)
	refusal, _ := syscalls.Refusing(name)
	switch {
	case a.Decision == "allow" && used && use.Always:
		return fmt.Sprintf("no policy may deny it: %s", use.Why)
	case a.Decision == "allow" && syscalls.Unfiltered(name):
		return "no policy can deny it: Linux asks no filter about it, and only its own probes can use it"
	case a.Decision == "allow" && a.Reason == reasons[ir.ByStatement]:
		return fmt.Sprintf("to deny it, take %q out of allow in the syscalls block", name)
	case a.Decision == "allow":
		return fmt.Sprintf("to deny it, write deny = [%q] in the syscalls block", name)
	case a.Reason == reasons[ir.ByStatement]:
		return fmt.Sprintf("to allow it, take %q out of deny in the syscalls block", name)
	case syscalls.MayAllow(name):
		return fmt.Sprintf("to allow it, write allow = [%q] in the syscalls block; it is refused elsewhere because: %s", name, refusal.Why)
	}
	return fmt.Sprintf("no policy may allow it: %s", refusal.Why)
}

// failed are the words for what of a request a rule does not meet.
var failed = map[ir.Dimension]string{
	ir.PathDimension:    "it is about another path",
	ir.LevelDimension:   "it covers this, at another level",
	ir.NameDimension:    "it holds the name",
	ir.HostDimension:    "it is for another host",
	ir.PortDimension:    "the host is right, the port is not",
	ir.ProgramDimension: "host and port are right, the program is not",
	ir.CallDimension:    "it denies this very call",

	ir.MethodDimension:   "host and path are right, the method is not",
	ir.ProtocolDimension: "host and port are right, and it is for something else than such requests",
	ir.DeniedDimension:   "it denies this very host or request",
}

// writeWhy is the part of the text that addWhy made.
func (a answer) writeWhy(w io.Writer) {
	for i, rule := range a.Chain {
		if i == 0 && a.Rule != nil && rule.Statement == a.Rule.Statement {
			continue // the deciding rule stands above
		}
		fmt.Fprintf(w, "  behind  %s\n          %s\n", rule.Text, rule.place())
	}
	if a.Nearest != nil {
		if a.Nearest.Rule == nil {
			fmt.Fprintf(w, "  nearest no statement of the policy is of this kind\n")
		} else {
			fmt.Fprintf(w, "  nearest %s: %s\n          %s\n", a.Nearest.Rule.Text, failed[ir.Dimension(a.Nearest.Failed)], a.Nearest.Rule.place())
		}
	}
	fmt.Fprintf(w, "  %s\n", a.Change)
}

// place is where the rule stands, and through which template it came.
func (r *ruleAt) place() string {
	place := "built in"
	if r.Line > 0 {
		place = fmt.Sprintf("%s:%d:%d", r.File, r.Line, r.Column)
	}
	if r.Template != "" {
		return fmt.Sprintf("%s, through template %s (%s)", place, r.Template, r.Statement)
	}
	return fmt.Sprintf("%s (%s)", place, r.Statement)
}
