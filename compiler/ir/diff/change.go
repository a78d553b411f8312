package diff

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/obspc/obspc/compiler/canon"
	"github.com/obspc/obspc/compiler/ir"
)

// Effect says what a change does to what is allowed. It is a set: Mixed is
// Narrowed and Widened at once.
type Effect uint8

// The effects, from none to both.
const (
	Same     Effect = 0
	Narrowed Effect = 1
	Widened  Effect = 2
	Mixed           = Narrowed | Widened
)

var effectNames = [...]string{"same", "narrowed", "widened", "mixed"}

func (e Effect) String() string { return effectNames[e] }

// Widens reports whether something is allowed that was not.
func (e Effect) Widens() bool { return e&Widened != 0 }

// Kind says what sort of thing changed, and which way. The words are stable:
// approvals and house rules refer to them.
type Kind string

// The kinds. Grant is what requests ask for. Backing: another thing stands behind
// a path (the host's, a device, memory). Size: of a private memory file system.
// Binding: where a slot may lie. Names are those that lead to a slot. Protection
// is the place for the configuration's own carve-out. Connection: what may be done on
// connections that both allow, as far as no request asks for it, and whose loopback is
// reached.
const (
	GrantAdded         Kind = "grant-added"
	GrantRemoved       Kind = "grant-removed"
	BackingChanged     Kind = "backing-changed"
	SizeRaised         Kind = "size-raised"
	SizeLowered        Kind = "size-lowered"
	BindingAdmitted    Kind = "binding-admitted"
	BindingRefused     Kind = "binding-refused"
	ConnectionWidened  Kind = "connection-widened"
	ConnectionNarrowed Kind = "connection-narrowed"
	VariableAdded      Kind = "variable-added"
	VariableRemoved    Kind = "variable-removed"
	VariableChanged    Kind = "variable-changed"
	LimitRaised        Kind = "limit-raised"
	LimitLowered       Kind = "limit-lowered"
	LimitAdded         Kind = "limit-added"
	LimitRemoved       Kind = "limit-removed"
	NameAdded          Kind = "system-name-added"
	NameRemoved        Kind = "system-name-removed"
	CommandAdded       Kind = "command-added"
	CommandRemoved     Kind = "command-removed"
	CommandWidened     Kind = "command-widened"
	CommandNarrowed    Kind = "command-narrowed"
	CommandChanged     Kind = "command-changed"
	WorkspaceWidened   Kind = "workspace-widened"
	WorkspaceNarrowed  Kind = "workspace-narrowed"
	ProtectionAdded    Kind = "protection-added"
	ProtectionRemoved  Kind = "protection-removed"
	TargetAdded        Kind = "target-added"
	TargetRemoved      Kind = "target-removed"
	WaiverAdded        Kind = "waiver-added"
	WaiverRemoved      Kind = "waiver-removed"
	PolicyAdded        Kind = "policy-added"
	PolicyRemoved      Kind = "policy-removed"
)

// kinds gives each kind its effect, and the kind it is when the policies trade
// places. A variable is something handed in, as a file would be; a limit or a pin
// that goes away, and a waiver that comes, leave something unchecked.
var kinds = map[Kind]struct {
	effect Effect
	mirror Kind
}{
	GrantAdded: {Widened, GrantRemoved}, GrantRemoved: {Narrowed, GrantAdded},
	BackingChanged: {Mixed, BackingChanged},
	SizeRaised:     {Widened, SizeLowered}, SizeLowered: {Narrowed, SizeRaised},
	BindingAdmitted: {Widened, BindingRefused}, BindingRefused: {Narrowed, BindingAdmitted},
	ConnectionWidened: {Widened, ConnectionNarrowed}, ConnectionNarrowed: {Narrowed, ConnectionWidened},
	VariableAdded: {Widened, VariableRemoved}, VariableRemoved: {Narrowed, VariableAdded},
	VariableChanged: {Mixed, VariableChanged},
	LimitRaised:     {Widened, LimitLowered}, LimitLowered: {Narrowed, LimitRaised},
	LimitRemoved: {Widened, LimitAdded}, LimitAdded: {Narrowed, LimitRemoved},
	NameAdded: {Widened, NameRemoved}, NameRemoved: {Narrowed, NameAdded},
	CommandAdded: {Widened, CommandRemoved}, CommandRemoved: {Narrowed, CommandAdded},
	CommandWidened: {Widened, CommandNarrowed}, CommandNarrowed: {Narrowed, CommandWidened},
	CommandChanged:   {Mixed, CommandChanged},
	WorkspaceWidened: {Widened, WorkspaceNarrowed}, WorkspaceNarrowed: {Narrowed, WorkspaceWidened},
	ProtectionRemoved: {Widened, ProtectionAdded}, ProtectionAdded: {Narrowed, ProtectionRemoved},
	TargetAdded: {Widened, TargetRemoved}, TargetRemoved: {Narrowed, TargetAdded},
	WaiverAdded: {Widened, WaiverRemoved}, WaiverRemoved: {Narrowed, WaiverAdded},
	PolicyAdded: {Widened, PolicyRemoved}, PolicyRemoved: {Narrowed, PolicyAdded},
}

// Statement is a rule as its policy states it.
type Statement struct {
	Text   string
	Origin ir.Origin
}

// Witness is one concrete thing that only one of the two policies allows: a
// request, under a binding where the answer needs one, or words for what is no
// request (Text, then the request is empty).
type Witness struct {
	Request ir.Request
	Binding ir.Binding
	Text    string
}

// String is the witness as obspc explain takes it, with the binding behind it.
func (w Witness) String() string {
	if w.Text != "" {
		return w.Text
	}
	text, sep := w.Request.String(), " when "
	for _, slot := range ir.Slots() {
		if at, ok := w.Binding.At(slot); ok {
			text += fmt.Sprintf("%s%s is %s", sep, slot, at)
			sep = " and "
		}
	}
	return text
}

// Change is one thing that is no longer as it was. Subject is what it is about,
// for people. The first witness is the telling one; a change of several request
// words has one for each. Old and New are the statements that decide it on either
// side, nil where none does. Except lists what a change about a tree leaves out.
// Parts are the grants of a policy that comes or goes.
type Change struct {
	Kind      Kind
	Subject   string
	Words     []ir.RequestKind
	Witnesses []Witness
	Except    []string
	Old, New  *Statement
	Parts     []Change

	// Of changes about files: the rules that decide, where it begins, which words it
	// comprises where, and the classes it comprises.
	reason [2]string
	tops   []string
	spans  []span
	cover  []place
	scope  []string // all that the change comprises, in canonical order
}

// Effect is what the change does.
func (c Change) Effect() Effect { return kinds[c.Kind].effect }

// Digest names the change of the policy for approvals: it is the SHA-256 of
// policy, kind, witnesses and extent, in hexadecimal. A change that comprises more
// or less, or has other witnesses, has another digest; origins have no part in it.
func (c Change) Digest(policy string) string {
	data, err := canon.Marshal(c.digested(policy))
	if err != nil {
		panic(fmt.Sprintf("bug in obspc: a change of %s has no digest: %v", policy, err))
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// digestedChange is what a digest is made of.
type digestedChange struct {
	Schema    string   `json:"schema"`
	Policy    string   `json:"policy"`
	Kind      Kind     `json:"kind"`
	Subject   string   `json:"subject"`
	Witnesses []string `json:"witnesses"`
	Scope     []string `json:"scope"`
	Parts     []string `json:"parts"`
}

func (c Change) digested(policy string) digestedChange {
	out := digestedChange{Schema: Schema, Policy: policy, Kind: c.Kind, Subject: c.Subject, Scope: c.scope}
	for _, w := range c.Witnesses {
		out.Witnesses = append(out.Witnesses, w.String())
	}
	for _, part := range c.Parts {
		out.Parts = append(out.Parts, part.Digest(policy))
	}
	return out
}

// listed joins at most most of the words and counts the others.
func listed(words []string, most int) string {
	if n := len(words) - most; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(words[:most], ", "), n)
	}
	return strings.Join(words, ", ")
}

// beyond is a change of something that no request asks for.
func beyond(kind Kind, subject, witness string, old, new *Statement) Change {
	c := Change{Kind: kind, Subject: subject, Witnesses: []Witness{{Text: witness}}, Old: old, New: new}
	for _, s := range []*Statement{old, new} {
		if s != nil {
			c.scope = append(c.scope, s.Text)
		} else {
			c.scope = append(c.scope, "")
		}
	}
	return c
}

// tell records a change.
func (c *comparison) tell(change Change) { c.changes = append(c.changes, change) }

// versionNotes are about the number that an author raises when the meaning
// changes.
func versionNotes(c Comparison) []string {
	switch changed := len(c.Changes) > 0; {
	case c.NewVersion < c.OldVersion:
		return []string{fmt.Sprintf("the version goes back from %d to %d: it must grow when the meaning changes", c.OldVersion, c.NewVersion)}
	case changed && c.NewVersion == c.OldVersion:
		return []string{fmt.Sprintf("the version is still %d: it must grow when the meaning changes", c.NewVersion)}
	case !changed && c.NewVersion != c.OldVersion:
		return []string{fmt.Sprintf("the version goes from %d to %d and the meaning stays", c.OldVersion, c.NewVersion)}
	}
	return nil
}
