package ir

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Part is one piece of a Value: Literal, SlotRef or FieldRef. It is sealed.
type Part interface{ isPart() }

// Literal is text as it stands.
type Literal string

// SlotRef stands for the path a slot is bound to.
type SlotRef Root

// FieldRef stands for what a caller fills in for the field of that name.
type FieldRef string

func (Literal) isPart()  {}
func (SlotRef) isPart()  {}
func (FieldRef) isPart() {}

// Value is a string with its holes kept apart: adjacent literals are one, no
// literal is empty. The empty Value is the empty string. Binding joins parts; no
// text is ever parsed again.
type Value []Part

// String is the value for people: slots as ${workspace}, fields as <name>.
func (v Value) String() string {
	var b strings.Builder
	for _, p := range v {
		switch p := p.(type) {
		case Literal:
			b.WriteString(string(p))
		case SlotRef:
			b.WriteString("${" + Root(p).String() + "}")
		case FieldRef:
			b.WriteString("<" + string(p) + ">")
		}
	}
	return b.String()
}

// Join is the value's text with every hole filled. It is an error when a slot
// has no binding or a field no value.
func (v Value) Join(binding Binding, fields map[string]string) (string, error) {
	var b strings.Builder
	for _, p := range v {
		switch p := p.(type) {
		case Literal:
			b.WriteString(string(p))
		case SlotRef:
			at, ok := binding.At(Root(p))
			if !ok {
				return "", fmt.Errorf("slot %s is not bound", Root(p))
			}
			b.WriteString(at.String())
		case FieldRef:
			text, ok := fields[string(p)]
			if !ok {
				return "", fmt.Errorf("field %q has no value", string(p))
			}
			b.WriteString(text)
		}
	}
	return b.String(), nil
}

// FormKind is how a field is typed.
type FormKind string

// IdentifierForm is [A-Za-z0-9][A-Za-z0-9._-]* of at most MaxBytes bytes.
// IntegerForm is a whole number in decimal from Min to Max, without leading zeros
// or a plus sign. RestForm is a list of strings, each its own argument.
const (
	IdentifierForm FormKind = "identifier"
	IntegerForm    FormKind = "integer"
	RestForm       FormKind = "rest"
)

// DefaultIdentifierBytes bounds an identifier unless the policy says otherwise.
const DefaultIdentifierBytes = 128

// Field is one typed hole of a command.
type Field struct {
	Name     string
	Form     FormKind
	MaxBytes int64 // identifier only
	Min, Max int64 // integer only
}

// Accept reports why text is no value of the field; nil when it is one. For a
// rest field it judges one element.
func (f Field) Accept(text string) error {
	switch f.Form {
	case IdentifierForm:
		if int64(len(text)) > f.MaxBytes || !identifier.matches(text) {
			return fmt.Errorf("%s wants an identifier: a letter or digit, then letters, digits, '.', '_' or '-', at most %d bytes", f.Name, f.MaxBytes)
		}
	case IntegerForm:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || strconv.FormatInt(n, 10) != text || n < f.Min || n > f.Max {
			return fmt.Errorf("%s wants a whole number from %d to %d", f.Name, f.Min, f.Max)
		}
	case RestForm:
		if strings.IndexByte(text, 0) >= 0 || !utf8.ValidString(text) {
			return fmt.Errorf("%s wants valid UTF-8 without NUL", f.Name)
		}
	default:
		return fmt.Errorf("%s has the unknown form %q", f.Name, f.Form)
	}
	return nil
}

// Command is one governed command. Rest names the field whose elements follow
// Arguments; "" when there is none. SHA256 pins the executable, "" does not.
type Command struct {
	Name       string
	Executable Path
	SHA256     string
	Arguments  []Value
	Rest       string
	Fields     []Field // sorted by name
	Result     *Result
	Origin     Origin
}

// Field is the command's field of that name.
func (c Command) Field(name string) (Field, bool) {
	for _, f := range c.Fields {
		if f.Name == name {
			return f, true
		}
	}
	return Field{}, false
}

// ResultKind is the type of one member of a result.
type ResultKind string

// The result kinds; an identifier is as IdentifierForm says.
const (
	IntegerResult    ResultKind = "integer"
	IdentifierResult ResultKind = "identifier"
	BooleanResult    ResultKind = "boolean"
	EnumResult       ResultKind = "enum"
)

// Result is what a command prints on standard output: one JSON object with
// exactly these members.
type Result struct {
	Name   string
	Fields []ResultField // sorted by name
}

// ResultField is one member. Min and Max bound an integer; MaxBytes an
// identifier; Values lists what an enum admits.
type ResultField struct {
	Name     string
	Kind     ResultKind
	Min, Max int64
	MaxBytes int64
	Values   []string
}
