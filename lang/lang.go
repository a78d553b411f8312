// Package lang turns HCL text into a Config: every name resolved, every
// expression evaluated, every element with its own range. Its one rule: it knows
// what may be written, not what it means; paths, hosts, sizes and levels are
// still strings here, with holes where a slot or a field stands. What they mean
// is decided in package compiler.
package lang

import "github.com/obspc/obspc/lang/diag"

// String is a string the user wrote, and where.
type String struct {
	Value string
	Range diag.Range
}

// Integer is a whole number the user wrote, and where.
type Integer struct {
	Value int64
	Range diag.Range
}

// PartKind tells what a Part is.
type PartKind int

// A Part is literal text, a slot (workspace, home, tmp), or a field that the
// caller of a command fills in.
const (
	LiteralPart PartKind = iota
	SlotPart
	FieldPart
)

// Part is one piece of a Text. Text holds the literal itself, or the name of the
// slot or field.
type Part struct {
	Kind PartKind
	Text string
}

// Text is an evaluated string with its holes kept apart: adjacent literals are
// joined, and no literal is empty.
type Text struct {
	Parts []Part
	Range diag.Range
}

// Modifier is what a path was wrapped in.
type Modifier int

// Plain is a path as written; Optional is optional(path): as if unsaid when it
// is missing; Only is only(path): this node and nothing below it.
const (
	Plain Modifier = iota
	Optional
	Only
)

// Path is one element of a list of paths.
type Path struct {
	Text
	Modifier Modifier
}

// Config is one configuration: a directory's *.policy.hcl files, or one file.
type Config struct {
	Sources   Sources
	Policies  []*Body
	Templates []*Body
	// Tests are the test blocks of Options.Tests, in source order.
	Tests []*Test
	// Variables holds the value each declared variable had, rendered as JSON,
	// by name; release.json records it.
	Variables map[string]string
	// Partial says that something faulty was left out: nothing may be concluded
	// from what is missing.
	Partial bool
}

// Sources are the files of a configuration: name as given (slashes, relative to
// the configuration) to bytes as read.
type Sources map[string][]byte

// Body is a policy or a template. An absent attribute has a zero Range, and so
// has one that was refused; an absent list is nil, an empty one is not.
type Body struct {
	Template bool
	// Partial tells that something in the body was refused, so that what is
	// absent may have been written: nothing may be concluded from it.
	Partial     bool
	Name        String
	Range       diag.Range // the block's header
	Version     Integer
	Description String
	Extends     []Extend
	Targets     []String
	Workspace   String
	Filesystem  Filesystem
	Network     Network
	Environment []Variable
	Limits      []Limit
	LimitScope  String // "tree" or "watched"; zero when absent
	Syscalls    Syscalls
	System      System
	Commands    []*Command
	Waives      []*Waive
}

// Extend names a template: Embedded ones by a string ("std/base"), those of
// this configuration by template.NAME.
type Extend struct {
	Name     String
	Embedded bool
}

// Filesystem holds the four lists of a filesystem block. Stated tells an empty
// list from an absent one.
type Filesystem struct {
	Read, Write, Deny, Execute []Path
	Stated                     map[string]diag.Range // attribute name → its range, for each that is written
	Range                      diag.Range
}

// Network holds a network block.
type Network struct {
	Unix      String   // "none" or "visible"; zero when absent
	Loopback  String   // "sandbox" or "host"; zero when absent
	Deny      []String // hosts
	Endpoints []*Endpoint
	Range     diag.Range
}

// Endpoint is one endpoint block. Ports and lists keep a range per element.
type Endpoint struct {
	Name        String
	Range       diag.Range
	Host        String
	Address     String
	Ports       []Integer
	PortsRange  diag.Range
	Executables []Path
	// ExecutablesRange is the attribute's range; zero when it is absent.
	ExecutablesRange diag.Range
	// Addresses are ranges that names may resolve to; nil when absent.
	Addresses []String
	Protocol  String // zero when absent
	Requests  []RequestRule
}

// RequestRule is one allow or deny block of an endpoint. Methods is nil when absent,
// Path zero.
type RequestRule struct {
	Allow   bool
	Methods []String
	Path    String
	Range   diag.Range // the block's header
}

// Variable is one attribute of an environment block.
type Variable struct {
	Name  String
	Value Text
}

// Limit is one attribute of a limits block, by its name there; Value is the text
// as written ("30s", "64MiB"), Number is set instead when a whole number stands
// there (open_files = 256).
type Limit struct {
	Name   String
	Value  String
	Number *Integer
}

// Syscalls holds a syscalls block: Linux system calls by name.
type Syscalls struct {
	Deny, Allow []String
}

// System holds a system block: what of the machine the sandbox sees.
type System struct {
	Devices  String // "minimal" or "none"
	Shm      String // a size
	Services []String
	Sysctls  []String
	IPC      []String
	IOKit    []String
	Range    diag.Range
}

// FormKind is an argument form.
type FormKind string

// The argument forms of this version; enum, path and text are not-yet.
const (
	IdentifierForm FormKind = "identifier"
	IntegerForm    FormKind = "integer"
	RestForm       FormKind = "rest"
)

// Field is one typed hole of a command: what a caller may fill in.
type Field struct {
	Name     string
	Form     FormKind
	MaxBytes int64 // identifier: 1 to 4096, 128 unless said
	Min, Max int64 // integer
	Range    diag.Range
}

// Command is one governed command. Fields lists each field once per place where
// it is used, in argument order.
type Command struct {
	Name       String
	Range      diag.Range
	Executable Path
	SHA256     String
	Arguments  []Text
	Fields     []Field
	Result     *Result
}

// Result is the schema of what a command prints.
type Result struct {
	Name   String
	Range  diag.Range
	Fields []ResultField
}

// ResultField is one member of a result: Kind is integer, identifier, boolean
// or enum.
type ResultField struct {
	Kind             String
	Name             String
	Minimum, Maximum *Integer
	MaxBytes         *Integer // identifier
	Values           []String // enum
	Range            diag.Range
}

// Waive accepts, where reviewers see it, that a target does not enforce
// features.
type Waive struct {
	Target   String
	Range    diag.Range
	Features []String
	Reason   String
}
