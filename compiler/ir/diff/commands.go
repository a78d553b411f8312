package diff

import (
	"fmt"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
)

// commands compares governed commands by name, and of one that both policies have
// each part by itself: what is started, whether its bytes are pinned, which
// argument vectors callers can make, and which results are accepted.
func (c *comparison) commands() {
	name := func(x ir.Command) string { return x.Name }
	match(c.policies[before].Commands, c.policies[after].Commands, name, func(old, new *ir.Command) {
		switch {
		case old == nil:
			c.tell(commandWhole(CommandAdded, new, nil, &Statement{commandText(*new), new.Origin}))
		case new == nil:
			c.tell(commandWhole(CommandRemoved, old, &Statement{commandText(*old), old.Origin}, nil))
		default:
			c.command(old, new)
		}
	})
}

func commandWhole(kind Kind, x *ir.Command, old, new *Statement) Change {
	out := beyond(kind, "command "+x.Name, "run "+x.Name, old, new)
	out.scope = append(out.scope, x.Executable.String(), x.SHA256, argumentsText(*x), resultText(x.Result))
	return out
}

func commandText(x ir.Command) string {
	return strings.TrimSuffix(x.Executable.String()+" "+argumentsText(x), " ")
}

// command compares two commands of one name.
func (c *comparison) command(old, new *ir.Command) {
	aspect := func(e Effect, what, witness, was, is string) {
		kind, ok := map[Effect]Kind{Widened: CommandWidened, Narrowed: CommandNarrowed, Mixed: CommandChanged}[e]
		if ok {
			c.tell(beyond(kind, "command "+new.Name+": "+what, witness, &Statement{was, old.Origin}, &Statement{is, new.Origin}))
		}
	}
	run := "run " + new.Name
	if old.Executable != new.Executable {
		aspect(Mixed, "executable", run+" as "+new.Executable.String(), old.Executable.String(), new.Executable.String())
	}
	switch {
	case old.SHA256 == new.SHA256:
	case new.SHA256 == "":
		aspect(Widened, "sha256", run+" with other bytes", "sha256 "+old.SHA256, "not pinned")
	case old.SHA256 == "":
		aspect(Narrowed, "sha256", run+" with other bytes", "not pinned", "sha256 "+new.SHA256)
	default:
		aspect(Mixed, "sha256", run+" with the bytes "+new.SHA256, "sha256 "+old.SHA256, "sha256 "+new.SHA256)
	}
	effect, witness := arguments(old, new)
	aspect(effect, "arguments", run+witness, argumentsText(*old), argumentsText(*new))
	effect, witness = results(old.Result, new.Result)
	aspect(effect, "result", run+witness, resultText(old.Result), resultText(new.Result))
	c.renamed(old, new)
}

// renamed notes what callers and readers of results call otherwise.
func (c *comparison) renamed(old, new *ir.Command) {
	for _, f := range new.Fields {
		if _, ok := old.Field(f.Name); !ok {
			c.note(fmt.Sprintf("command %s has a field %q that it had not: callers name it", new.Name, f.Name))
		}
	}
	if old.Result != nil && new.Result != nil && old.Result.Name != new.Result.Name {
		c.note(fmt.Sprintf("the result of command %s is called %q, no longer %q", new.Name, new.Result.Name, old.Result.Name))
	}
}

// argumentsText is the argument vector with the types of its fields.
func argumentsText(x ir.Command) string {
	var out []string
	for _, a := range x.Arguments {
		var parts []string
		for _, p := range a {
			if f, ok := p.(ir.FieldRef); ok {
				parts = append(parts, fieldText(x, string(f)))
			} else {
				parts = append(parts, valueText(ir.Value{p}))
			}
		}
		if len(parts) == 0 {
			parts = []string{`""`}
		}
		out = append(out, strings.Join(parts, ""))
	}
	if x.Rest != "" {
		out = append(out, "<"+x.Rest+": any strings>")
	}
	return strings.Join(out, " ")
}

func fieldText(x ir.Command, name string) string {
	f, _ := x.Field(name)
	switch f.Form {
	case ir.IntegerForm:
		return fmt.Sprintf("<%s: integer from %d to %d>", name, f.Min, f.Max)
	case ir.IdentifierForm:
		return fmt.Sprintf("<%s: identifier of at most %d bytes>", name, f.MaxBytes)
	}
	return fmt.Sprintf("<%s: %s>", name, f.Form)
}

func resultText(r *ir.Result) string {
	if r == nil {
		return "no result: output is not checked"
	}
	var out []string
	for _, f := range r.Fields {
		switch f.Kind {
		case ir.IntegerResult:
			out = append(out, fmt.Sprintf("%s: integer from %d to %d", f.Name, f.Min, f.Max))
		case ir.IdentifierResult:
			out = append(out, fmt.Sprintf("%s: identifier of at most %d bytes", f.Name, f.MaxBytes))
		case ir.EnumResult:
			out = append(out, fmt.Sprintf("%s: one of %q", f.Name, f.Values))
		default:
			out = append(out, fmt.Sprintf("%s: %s", f.Name, f.Kind))
		}
	}
	return "{" + strings.Join(out, ", ") + "}"
}
