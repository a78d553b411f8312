package compiler

import (
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/lang/diag"
)

// compilation is what the passes work on: bodies until they are merged, one draft
// for each policy from there on.
type compilation struct {
	config   *lang.Config
	options  Options
	bodies   []*body // policies, templates, then embedded templates that these extend
	embedded map[string]*body
	drafts   []*draft
	diags    diag.List
}

// body is a policy or template on its way. Name begins the origins of its
// statements: "payment-batch", "template.a", "std/base".
type body struct {
	source     *lang.Body
	name       string
	extends    []extension
	targets    []ir.Target // of a policy
	statements []*statement
	faulty     bool                 // it has an error
	partial    bool                 // some statement about files, or a template, is missing from it because of one
	visible    map[key][]*statement // what holds for it, templates included; nil until merged
	state      visit
	depth      int // of the longest chain of templates below it
}

// extension is one element of extends and the template it names.
type extension struct {
	at       diag.Range
	template *body
}

// draft is a policy whose templates have been merged into it.
type draft struct {
	body    *body
	merged  []*statement
	policy  *ir.Policy
	ranges  map[ir.Origin]diag.Range
	partial bool
}

// kind is what a statement is about; within one body and kind, a name or a path
// is stated once.
type kind uint8

const (
	fileKind kind = iota
	executeKind
	workspaceKind
	unixKind
	loopbackKind
	endpointKind
	hostKind // that is denied
	variableKind
	limitKind
	limitScopeKind
	devicesKind
	shmKind
	serviceKind
	sysctlKind
	ipcKind
	iokitKind
	syscallKind
	commandKind
	waiverKind
)

// key is what a statement speaks of: two statements with the same key are two
// answers to one question.
type key struct {
	kind kind
	path ir.Path
	name string
}

// statement is one thing a body says. Value holds the IR's own type for it, its
// Origin left out so that two statements that agree are equal.
type statement struct {
	key    key
	value  any // ir.FileRule, ir.ExecuteRule, ir.Endpoint, ir.HostRule, ir.Variable, ir.Limit, ir.SyscallRule, ir.Command, ir.Waiver, or a setting's text or size
	origin ir.Origin
	at     diag.Range
	body   *body
	inner  map[string]diag.Range // of statements within it, by what follows its origin
}

// add appends a statement to b; place is its origin within the body.
func (b *body) add(k key, value any, place string, at diag.Range) {
	b.statements = append(b.statements, &statement{key: k, value: value, origin: ir.Origin(b.name + "/" + place), at: at, body: b})
}

// find adds a finding about b.
func (c *compilation) find(b *body, d diag.Diagnostic) {
	c.diags.Add(d)
	if d.Severity == diag.Error {
		b.faulty = true
	}
}

// lose adds a finding for which a statement about files was left out of b: what
// follows from the absence of statements must not be reported then.
func (c *compilation) lose(b *body, d diag.Diagnostic) {
	c.find(b, d)
	b.partial = true
}

// sound reports whether neither b nor a template of it has an error.
func (b *body) sound() bool {
	seen := map[*body]bool{}
	return !b.reaches(seen, func(t *body) bool { return t.faulty })
}

// whole reports whether every statement about files that b makes or inherits is
// known.
func (b *body) whole() bool {
	seen := map[*body]bool{}
	return !b.reaches(seen, func(t *body) bool { return t.partial })
}

// reaches reports whether b or a template below it has the property.
func (b *body) reaches(seen map[*body]bool, property func(*body) bool) bool {
	if seen[b] {
		return false
	}
	seen[b] = true
	if property(b) {
		return true
	}
	for _, e := range b.extends {
		if e.template.reaches(seen, property) {
			return true
		}
	}
	return false
}
