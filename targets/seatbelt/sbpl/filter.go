package sbpl

import (
	"slices"
	"strings"

	"github.com/obspc/obspc/targets/seatbelt/sbpl/scheme"
)

// maxFilter and maxFilters bound one filter and all filters of a profile, in atoms:
// a filter may hold another twice, so that few bytes make many.
const (
	maxFilter  = 50_000
	maxFilters = 300_000
)

// Filter is a condition on a request.
type Filter struct {
	// Name is as it was written: "subpath", "require-all".
	Name string
	At   scheme.Pos

	join  join
	subs  []*Filter
	atom  *atom
	size  int
	where []scheme.Pos // of the arguments
}

// join tells how a filter holds others.
type join uint8

const (
	none join = iota // an atom
	all
	some
	not // its one sub must not hold
)

// how tells what an atom does with its arguments and a value.
type how uint8

const (
	equals how = iota
	hasPrefix
	below // itself, or under it by whole components
	matches
	isConstant
	hasBits
	isBoolean
	isAddress
	isUnixSocket
	hasEntitlement
)

// atom is one comparison: any of its arguments with any value that the Context has
// under the name of its spec.
type atom struct {
	spec        *filterSpec
	how         how
	args        []scheme.Value
	texts       []string      // of equals, hasPrefix, below and hasEntitlement
	expressions []*expression // of matches
	addresses   []address     // of isAddress
	value       *Filter       // of isUnixSocket and hasEntitlement: what more must hold
}

// String is the filter as it could be written.
func (f *Filter) String() string {
	var b strings.Builder
	f.write(&b)
	return b.String()
}

func (f *Filter) write(b *strings.Builder) {
	b.WriteString("(" + f.Name)
	for _, sub := range f.subs {
		b.WriteByte(' ')
		sub.write(b)
	}
	if f.atom != nil {
		for _, arg := range f.atom.args {
			b.WriteByte(' ')
			if inner, ok := arg.(*Filter); ok {
				inner.write(b)
				continue
			}
			if s, ok := arg.(string); ok {
				b.WriteString(Quote(s))
				continue
			}
			b.WriteString(scheme.Show(arg))
		}
	}
	b.WriteByte(')')
}

// Quote is s as a plain string that the reader of profiles reads back as s.
func Quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteString(`\` + string(c))
		case c < ' ' || c == 0x7F || c == 0xFF:
			const digits = "0123456789abcdef"
			b.WriteString(`\x` + string(digits[c>>4]) + string(digits[c&15]))
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// joined makes a filter of others.
func joined(name string, j join, at scheme.Pos, subs []*Filter) (*Filter, error) {
	f := &Filter{Name: name, At: at, join: j, subs: subs, size: 1}
	for _, sub := range subs {
		if f.size += sub.size; f.size > maxFilter {
			return nil, &scheme.Error{At: at, Code: scheme.PastLimit, Message: "a filter has too many parts"}
		}
	}
	return f, nil
}

// anyOf is the filter that several filters of one rule make.
func anyOf(at scheme.Pos, filters []*Filter) (*Filter, error) {
	if len(filters) == 1 {
		return filters[0], nil
	}
	return joined("require-any", some, at, filters)
}

// categories lists one atom of each category that the filter has.
func (f *Filter) categories() (out []*Filter) {
	f.each(false, func(f *Filter, _ bool) {
		if !slices.ContainsFunc(out, func(have *Filter) bool { return have.atom.spec.category == f.atom.spec.category }) {
			out = append(out, f)
		}
	})
	return out
}

// each visits the atoms of f, and whether each stands under an odd number of
// require-not.
func (f *Filter) each(negated bool, visit func(f *Filter, negated bool)) {
	if f.atom != nil {
		visit(f, negated)
		if f.atom.value != nil {
			f.atom.value.each(negated, visit)
		}
	}
	for _, sub := range f.subs {
		sub.each(negated != (f.join == not), visit)
	}
}
