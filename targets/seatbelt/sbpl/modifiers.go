package sbpl

import (
	"slices"
	"strings"

	"github.com/obspc/obspc/targets/seatbelt/operations"
	"github.com/obspc/obspc/targets/seatbelt/sbpl/scheme"
)

// Modifier changes what a rule does beside deciding.
type Modifier struct {
	Name string
	Args []scheme.Value
}

func (m Modifier) String() string {
	var b strings.Builder
	b.WriteString("(with " + m.Name)
	for _, arg := range m.Args {
		b.WriteString(" " + scheme.Show(arg))
	}
	b.WriteByte(')')
	return b.String()
}

// argument tells what a modifier takes after its name.
type argument uint8

const (
	nothing argument = iota
	oneString
	optional // a string, or nothing
	constant // a name or number of the family named like the modifier
)

// modifierSpec is one modifier. Operations it is for, if it is not for all; allow
// and deny tell the actions it applies to.
type modifierSpec struct {
	name        string
	takes       argument
	allow, deny bool
	since       operations.Release
	operations  []string
}

// modifierTable is every modifier. Sources: sbpl1.scm of 10.9.5, the libsandbox
// tables of 10.12 to 14.4. What is internal to Apple is taken with either action.
var modifierTable = []modifierSpec{
	{"no-report", nothing, false, true, operations.Mavericks, nil},
	{"report", nothing, true, false, operations.Mavericks, nil},
	{"send-signal", constant, true, true, operations.Mavericks, nil},
	{"no-sandbox", nothing, true, false, operations.Mavericks, []string{"process-exec*", "process-exec"}},
	{"grant", nothing, true, false, operations.Mavericks, []string{"system-privilege"}},
	{"rootless", nothing, true, true, operations.Sierra, nil},
	{"default-sandbox", oneString, true, false, operations.Sierra, []string{"process-exec*"}},
	{"no-times", nothing, true, false, operations.Sierra, []string{"file-read-metadata", "file-read*", "file*"}},
	{"message", oneString, true, true, operations.Catalina, nil},
	{"telemetry", nothing, true, true, operations.Catalina, nil},
	{"user-approval", optional, true, true, operations.Catalina, nil},
	{"no-approval-prompt", nothing, true, true, operations.Catalina, nil},
	{"authority", optional, true, true, operations.Catalina, nil},
	{"assign-storage-class", oneString, true, true, operations.Catalina, []string{"storage-class-map"}},
	{"no-storage-class", nothing, true, true, operations.Catalina, []string{"storage-class-map"}},
	{"telemetry-backtrace", nothing, true, true, operations.Monterey, nil},
	{"errno", constant, false, true, operations.Monterey, nil},
	{"enable-state-flag", oneString, true, true, operations.Monterey, nil},
	{"message-filter", optional, true, true, operations.Monterey, nil},
	{"no-callout", nothing, true, true, operations.Mavericks, nil},
	{"partial-symbolication", nothing, true, true, operations.Mavericks, nil},
	{"termination", nothing, true, true, operations.Catalina, nil},
}

// deprecated modifiers are accepted and change nothing; a rule may repeat them.
var deprecated = []string{"no-callout", "partial-symbolication"}

var modifierAliases = []struct{ alias, name string }{
	{"no-log", "no-report"}, {"no-profile", "no-sandbox"}, {"sip-override", "rootless"}, {"rootless-modifier", "rootless"},
}

// modifierName is the value of a modifier's name: with makes a Modifier of it.
type modifierName struct{ spec *modifierSpec }

func (m *modifierName) String() string { return m.spec.name }

// applies reports whether the modifier goes with an action.
func (s *modifierSpec) applies(allow bool, r operations.Release) bool {
	if s.name == "rootless" && r <= operations.Catalina {
		return !allow
	}
	return allow && s.allow || !allow && s.deny
}

// with is (with MODIFIER argument …).
func (p *parser) with(c *scheme.Call) (scheme.Value, error) {
	name, ok := c.Args[0].(*modifierName)
	if !ok {
		return nil, c.Fail(0, WrongModifier, "illegal modifier: %s", scheme.Show(c.Args[0]))
	}
	spec, args := name.spec, c.Args[1:]
	switch {
	case spec.takes == nothing && len(args) == 0, spec.takes == optional && len(args) == 0:
	case spec.takes == constant && len(args) == 1 && spec.hasConstant(args[0]):
	case (spec.takes == oneString || spec.takes == optional) && len(args) == 1 && isString(args[0]):
	default:
		return nil, c.Fail(-1, WrongModifier, "malformed modifier: %s", spec.name)
	}
	if spec.name == "termination" {
		return &Modifier{Name: "send-signal", Args: []scheme.Value{Constant{"SIGKILL"}}}, nil
	}
	return &Modifier{Name: spec.name, Args: slices.Clone(args)}, nil
}

func isString(v scheme.Value) bool { _, ok := v.(string); return ok }

// hasConstant reports whether v is a constant or a number that the modifier takes.
func (s *modifierSpec) hasConstant(v scheme.Value) bool {
	family := familyIndex()[s.name]
	switch v := v.(type) {
	case Constant:
		return family.has(v.Name)
	case int64:
		for _, n := range family.numbers {
			if n == v {
				return true
			}
		}
	}
	return false
}

// checkModifiers refuses a modifier that stands twice, or with the wrong action.
func (p *parser) checkModifiers(c *scheme.Call, allow bool, modifiers []Modifier) error {
	var seen []string
	for _, m := range modifiers {
		if slices.Contains(deprecated, m.Name) {
			continue
		}
		if slices.Contains(seen, m.Name) {
			return c.Fail(-1, WrongModifier, "%s modifier can only appear once per rule", m.Name)
		}
		seen = append(seen, m.Name)
		if spec := modifierNamed(m.Name); !spec.applies(allow, p.release) {
			return c.Fail(-1, WrongModifier, "%s modifier does not apply to %s action", m.Name, actionName(allow))
		}
	}
	return nil
}

func modifierNamed(name string) *modifierSpec {
	for i := range modifierTable {
		if modifierTable[i].name == name {
			return &modifierTable[i]
		}
	}
	return nil
}
