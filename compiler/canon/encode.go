package canon

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// encode appends the text of v to b.
func encode(b []byte, v reflect.Value) ([]byte, error) {
	switch v.Kind() {
	case reflect.String:
		return encodeString(b, v.String())
	case reflect.Bool:
		return strconv.AppendBool(b, v.Bool()), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n := v.Int()
		if n > maxInteger || n < -maxInteger {
			return nil, fmt.Errorf("integer %d is outside ±(2^53-1)", n)
		}
		return strconv.AppendInt(b, n, 10), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		n := v.Uint()
		if n > maxInteger {
			return nil, fmt.Errorf("integer %d is outside ±(2^53-1)", n)
		}
		return strconv.AppendUint(b, n, 10), nil
	case reflect.Slice, reflect.Array:
		return encodeList(b, v)
	case reflect.Map:
		return encodeMap(b, v)
	case reflect.Struct:
		return encodeStruct(b, v)
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil, errors.New("null has no canonical form")
		}
		return encode(b, v.Elem())
	default:
		return nil, fmt.Errorf("%s has no canonical form", v.Kind())
	}
}

func encodeList(b []byte, v reflect.Value) ([]byte, error) {
	b = append(b, '[')
	for i := range v.Len() {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = encode(b, v.Index(i)); err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
	}
	return append(b, ']'), nil
}

func encodeMap(b []byte, v reflect.Value) ([]byte, error) {
	if v.Type().Key().Kind() != reflect.String {
		return nil, fmt.Errorf("%s keys have no canonical form", v.Type().Key())
	}
	keys := v.MapKeys()
	// Byte order equals the UTF-16 order of RFC 8785 only for ASCII keys.
	slices.SortFunc(keys, func(x, y reflect.Value) int { return strings.Compare(x.String(), y.String()) })
	b = append(b, '{')
	for i, k := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		name, err := memberName(k.String())
		if err != nil {
			return nil, err
		}
		if b, err = encode(append(b, name...), v.MapIndex(k)); err != nil {
			return nil, fmt.Errorf("%s: %w", k, err)
		}
	}
	return append(b, '}'), nil
}

// memberName is a name as it stands before its value: quoted, with the colon.
func memberName(name string) ([]byte, error) {
	if strings.IndexFunc(name, func(r rune) bool { return r < 0x20 || r > 0x7e }) >= 0 {
		return nil, fmt.Errorf("key %q is not printable ASCII", name)
	}
	quoted, err := encodeString(nil, name)
	return append(quoted, ':'), err
}

// member is one field of a struct type on its way out.
type member struct {
	name      string
	quoted    []byte
	index     int
	omitempty bool
}

// layout is the members of a struct type in their order, or why it has no
// canonical form.
type layout struct {
	members []member
	err     error
}

// layouts keeps the layout of each type: taking it apart costs more than encoding
// a value.
var layouts sync.Map // reflect.Type → *layout

func layoutOf(t reflect.Type) *layout {
	if l, ok := layouts.Load(t); ok {
		return l.(*layout)
	}
	l := &layout{}
	for i := range t.NumField() {
		name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		if name == "" {
			l.err = fmt.Errorf("field %s.%s has no json name", t, t.Field(i).Name)
			break
		}
		m := member{name: name, index: i, omitempty: options == "omitempty"}
		if m.quoted, l.err = memberName(name); l.err != nil {
			break
		}
		l.members = append(l.members, m)
	}
	slices.SortFunc(l.members, func(x, y member) int { return strings.Compare(x.name, y.name) })
	layouts.Store(t, l)
	return l
}

func encodeStruct(b []byte, v reflect.Value) ([]byte, error) {
	l := layoutOf(v.Type())
	if l.err != nil {
		return nil, l.err
	}
	b = append(b, '{')
	first := true
	for i := range l.members {
		m := &l.members[i]
		field := v.Field(m.index)
		if m.omitempty && isEmpty(field) {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		var err error
		if b, err = encode(append(b, m.quoted...), field); err != nil {
			return nil, fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return append(b, '}'), nil
}

// isEmpty is encoding/json's meaning of omitempty.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	case reflect.Struct, reflect.Array:
		return false
	}
	return v.IsZero()
}

// encodeString escapes as RFC 8785, section 3.2.2.2 does: the two-character
// escapes, lower-case \u00xx for other control characters, nothing else.
func encodeString(b []byte, s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		return nil, fmt.Errorf("string %q is not valid UTF-8", s)
	}
	b = append(b, '"')
	from := 0 // what was not appended yet begins here
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\b':
			b = append(b, `\b`...)
		case '\t':
			b = append(b, `\t`...)
		case '\n':
			b = append(b, `\n`...)
		case '\f':
			b = append(b, `\f`...)
		case '\r':
			b = append(b, `\r`...)
		default:
			b = fmt.Appendf(b, `\u%04x`, c)
		}
	}
	b = append(b, s[from:]...)
	return append(b, '"'), nil
}
