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
	"sync"
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
	room := rooms.Get().(*[]byte)
	defer rooms.Put(room)
	data, err := encode((*room)[:0], reflect.ValueOf(v))
	if err != nil {
		return nil, err
	}
	*room = data
	return bytes.Clone(data), nil
}

// rooms are texts to write over: to let each grow by itself takes several times its
// size.
var rooms = sync.Pool{New: func() any { return new([]byte) }}

// Unmarshal decodes data into v and refuses anything that Marshal would not
// have written for that value, unknown members included.
func Unmarshal(data []byte, v any) error {
	if err := checkDepth(data); err != nil {
		return err
	}
	// A Decoder copies what it reads, so it is asked only to say what is wrong.
	if json.Unmarshal(data, v) == nil && writes(v, data) == nil {
		return nil
	}
	reflect.ValueOf(v).Elem().SetZero()
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("%w: %v", ErrNotCanonical, err)
	}
	return writes(v, data)
}

// writes holds what was read to being what v is written as.
func writes(v any, data []byte) error {
	room := rooms.Get().(*[]byte)
	defer rooms.Put(room)
	again, err := encode(slices.Grow((*room)[:0], len(data)), reflect.ValueOf(v))
	if err != nil {
		return fmt.Errorf("%w: %v", ErrNotCanonical, err)
	}
	*room = again
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
