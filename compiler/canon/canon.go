// Package canon writes and reads canonical JSON: one value has one text. It is
// the subset of RFC 8785 (JCS) that obspc's own files use: object keys in ASCII
// order, whole numbers within ±(2^53-1), valid UTF-8, no null, no white space.
// Its one rule: what it reads is byte for byte what it would write, so a
// duplicate key, another spelling of a key, a float or trailing data is refused.
package canon

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxInteger is the largest whole number every JSON reader keeps exactly
// (RFC 8785, section 3.2.2.3 and appendix D).
const maxInteger = 1<<53 - 1

// maxDepth bounds nesting on reading; none of obspc's files needs a tenth of it.
const maxDepth = 64

// ErrNotCanonical is wrapped by every refusal of Unmarshal that concerns form
// and not content.
var ErrNotCanonical = errors.New("not canonical JSON")

// Marshal encodes v: structs by their json tags (omitempty is honoured), maps
// with string keys, slices, strings, booleans and whole numbers. A nil slice is
// an empty array. A float, a nil pointer or invalid UTF-8 is an error.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	if err := encode(&b, reflect.ValueOf(v)); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Unmarshal decodes data into v and refuses anything that Marshal would not
// have written for that value, unknown members included.
func Unmarshal(data []byte, v any) error {
	if err := checkDepth(data); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("%w: %v", ErrNotCanonical, err)
	}
	again, err := Marshal(v)
	if err != nil {
		return fmt.Errorf("%w: %v", ErrNotCanonical, err)
	}
	if !bytes.Equal(again, data) {
		return fmt.Errorf("%w: differs from its canonical form at byte %d", ErrNotCanonical, firstDifference(again, data))
	}
	return nil
}

func firstDifference(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// checkDepth counts brackets outside strings before the recursive decoder runs.
func checkDepth(data []byte) error {
	depth, inString := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return fmt.Errorf("%w: nested deeper than %d at byte %d", ErrNotCanonical, maxDepth, i)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

func encode(b *bytes.Buffer, v reflect.Value) error {
	switch v.Kind() {
	case reflect.String:
		return encodeString(b, v.String())
	case reflect.Bool:
		b.WriteString(strconv.FormatBool(v.Bool()))
		return nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n := v.Int()
		if n > maxInteger || n < -maxInteger {
			return fmt.Errorf("integer %d is outside ±(2^53-1)", n)
		}
		b.WriteString(strconv.FormatInt(n, 10))
		return nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		n := v.Uint()
		if n > maxInteger {
			return fmt.Errorf("integer %d is outside ±(2^53-1)", n)
		}
		b.WriteString(strconv.FormatUint(n, 10))
		return nil
	case reflect.Slice, reflect.Array:
		return encodeList(b, v)
	case reflect.Map:
		return encodeMap(b, v)
	case reflect.Struct:
		return encodeStruct(b, v)
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return errors.New("null has no canonical form")
		}
		return encode(b, v.Elem())
	default:
		return fmt.Errorf("%s has no canonical form", v.Kind())
	}
}

func encodeList(b *bytes.Buffer, v reflect.Value) error {
	b.WriteByte('[')
	for i := range v.Len() {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := encode(b, v.Index(i)); err != nil {
			return fmt.Errorf("[%d]: %w", i, err)
		}
	}
	b.WriteByte(']')
	return nil
}

// member is one name and value of an object on its way out.
type member struct {
	name  string
	value reflect.Value
}

func encodeMap(b *bytes.Buffer, v reflect.Value) error {
	if v.Type().Key().Kind() != reflect.String {
		return fmt.Errorf("%s keys have no canonical form", v.Type().Key())
	}
	members := make([]member, 0, v.Len())
	for it := v.MapRange(); it.Next(); {
		members = append(members, member{it.Key().String(), it.Value()})
	}
	return encodeObject(b, members)
}

func encodeStruct(b *bytes.Buffer, v reflect.Value) error {
	var members []member
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		if name == "-" {
			continue
		}
		if name == "" {
			return fmt.Errorf("field %s.%s has no json name", v.Type(), v.Type().Field(i).Name)
		}
		if options == "omitempty" && isEmpty(v.Field(i)) {
			continue
		}
		members = append(members, member{name, v.Field(i)})
	}
	return encodeObject(b, members)
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

func encodeObject(b *bytes.Buffer, members []member) error {
	// Byte order equals the UTF-16 order of RFC 8785 only for ASCII keys.
	slices.SortFunc(members, func(x, y member) int { return strings.Compare(x.name, y.name) })
	b.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			b.WriteByte(',')
		}
		if strings.IndexFunc(m.name, func(r rune) bool { return r < 0x20 || r > 0x7e }) >= 0 {
			return fmt.Errorf("key %q is not printable ASCII", m.name)
		}
		if err := encodeString(b, m.name); err != nil {
			return err
		}
		b.WriteByte(':')
		if err := encode(b, m.value); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	b.WriteByte('}')
	return nil
}

// encodeString escapes as RFC 8785, section 3.2.2.2 does: the two-character
// escapes, lower-case \u00xx for other control characters, nothing else.
func encodeString(b *bytes.Buffer, s string) error {
	if !utf8.ValidString(s) {
		return fmt.Errorf("string %q is not valid UTF-8", s)
	}
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case '\b':
			b.WriteString(`\b`)
		case '\t':
			b.WriteString(`\t`)
		case '\n':
			b.WriteString(`\n`)
		case '\f':
			b.WriteString(`\f`)
		case '\r':
			b.WriteString(`\r`)
		default:
			if c < 0x20 {
				fmt.Fprintf(b, `\u%04x`, c)
				continue
			}
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return nil
}
