package bwrap

import (
	"fmt"

	"github.com/obspc/obspc/compiler/ir"
)

// UnsupportedError is what a policy asks for and bubblewrap cannot keep, at the
// statement Origin.
type UnsupportedError struct {
	Path   ir.Path
	Origin ir.Origin
	Reason string
	Help   string
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("%s (%s): %s; %s", e.Path, e.Origin, e.Reason, e.Help)
}

// TooManyArgumentsError is a policy whose argument set bwrap would refuse on some
// machine. Crowded is the directory that most of the named paths lie directly in.
type TooManyArgumentsError struct {
	Count, Limit int
	Crowded      ir.Path
	Siblings     int
}

func (e *TooManyArgumentsError) Error() string {
	return fmt.Sprintf("bwrap would need up to %d arguments and takes %d; %d of the named paths lie directly in %s: name that directory instead",
		e.Count, e.Limit, e.Siblings, e.Crowded)
}

// MissingError is a path that a rule needs and the machine lacks: Path as it is
// bound, Stated as the policy has it. Others are missing in the same run, and have
// no Others themselves.
type MissingError struct {
	Path, Stated ir.Path
	Origin       ir.Origin
	Others       []*MissingError
}

func (e *MissingError) Error() string {
	if len(e.Others) == 0 {
		return fmt.Sprintf("%s does not exist (%s); make it, or write optional(%q)", e.Path, e.Origin, e.Stated)
	}
	list := fmt.Sprintf("%s (%s)", e.Stated, e.Origin)
	for _, o := range e.Others {
		list += fmt.Sprintf(", %s (%s)", o.Stated, o.Origin)
	}
	return fmt.Sprintf("%d paths do not exist: %s; make them, or write optional(…) around each", 1+len(e.Others), list)
}

// LinkError is a link on the way to a path, where keeping it would let somebody
// else decide what the rule means.
type LinkError struct {
	Path   ir.Path // what the rule names
	Link   ir.Path // the component that is a link
	Target ir.Path // what it leads to
	Origin ir.Origin
	Reason string
}

func (e *LinkError) Error() string {
	instead, _ := throughLink(e.Path, e.Link, e.Target)
	at := fmt.Sprintf("%s, on the way to %s (%s),", e.Link, e.Path, e.Origin)
	if e.Link == e.Path {
		at = fmt.Sprintf("%s (%s)", e.Path, e.Origin)
	}
	return fmt.Sprintf("%s is a link to %s, and %s; write %q instead", at, e.Target, e.Reason, instead)
}

// NodeError is a node whose kind the rule cannot be kept for.
type NodeError struct {
	Path   ir.Path
	Kind   Kind
	Origin ir.Origin
	Reason string
}

func (e *NodeError) Error() string {
	return fmt.Sprintf("%s is a %s (%s): %s", e.Path, e.Kind, e.Origin, e.Reason)
}

// BindingError is a binding under which the operations would not mean what they
// mean apart: a slot without a path, or a path of a later root at or above one of
// an earlier root.
type BindingError struct {
	Slot         ir.Root
	Reason       string
	Path, Other  ir.Path
	Origin, From ir.Origin
}

func (e *BindingError) Error() string {
	if e.Origin == "" {
		return fmt.Sprintf("%s: %s", e.Slot, e.Reason)
	}
	return fmt.Sprintf("%s: %s: %s (%s), %s (%s)", e.Slot, e.Reason, e.Path, e.Origin, e.Other, e.From)
}
