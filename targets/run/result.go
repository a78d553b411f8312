package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/obspc/obspc/compiler/canon"
	"github.com/obspc/obspc/compiler/ir"
)

// MaxResultBytes is the longest standard output that is read as a result.
const MaxResultBytes = 64 << 10

// ParseResult reads a command's whole standard output as one JSON object with
// exactly the members of the schema, and gives it back canonical. White space
// around it is allowed; a duplicate, unknown, missing or nested member, a number
// that is not a plain whole one, a value out of range and anything before or
// after are not. Errors name members of the schema and places, never the output:
// it does not belong in evidence.
func ParseResult(schema ir.Result, stdout []byte) ([]byte, error) {
	members, err := parseObject(schema, stdout)
	if err != nil {
		return nil, fmt.Errorf("result %s: %w", schema.Name, err)
	}
	data, err := canon.Marshal(members)
	if err != nil {
		return nil, fmt.Errorf("result %s: %w", schema.Name, err)
	}
	return data, nil
}

func parseObject(schema ir.Result, stdout []byte) (map[string]any, error) {
	if len(stdout) > MaxResultBytes {
		return nil, fmt.Errorf("output of %d bytes, at most %d are read", len(stdout), MaxResultBytes)
	}
	if !utf8.Valid(stdout) {
		return nil, errors.New("output is not valid UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(stdout))
	dec.UseNumber()
	if first, err := dec.Token(); err != nil || first != json.Delim('{') {
		return nil, errors.New("output is no JSON object")
	}
	members := map[string]any{}
	for dec.More() {
		if err := readMember(schema, dec, members); err != nil {
			return nil, err
		}
	}
	if _, err := dec.Token(); err != nil {
		return nil, malformed(dec)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("something follows the object, before byte %d", dec.InputOffset()+1)
	}
	for _, f := range schema.Fields {
		if _, ok := members[f.Name]; !ok {
			return nil, fmt.Errorf("member %s is missing", f.Name)
		}
	}
	return members, nil
}

func malformed(dec *json.Decoder) error {
	return fmt.Errorf("output is not JSON after byte %d", dec.InputOffset())
}

// readMember reads one name and its value into members.
func readMember(schema ir.Result, dec *json.Decoder, members map[string]any) error {
	name, err := dec.Token()
	if err != nil {
		return malformed(dec)
	}
	i := slices.IndexFunc(schema.Fields, func(f ir.ResultField) bool { return f.Name == name })
	if i < 0 {
		return fmt.Errorf("a member before byte %d is not in the schema", dec.InputOffset())
	}
	f := schema.Fields[i]
	if _, ok := members[f.Name]; ok {
		return fmt.Errorf("member %s stands twice", f.Name)
	}
	value, err := dec.Token()
	if err != nil {
		return malformed(dec)
	}
	members[f.Name], err = accept(f, value)
	return err
}

// accept judges one value: a string, a json.Number, a bool, nil, or the bracket
// of something nested.
func accept(f ir.ResultField, value any) (any, error) {
	switch f.Kind {
	case ir.IntegerResult:
		text, ok := value.(json.Number)
		n, err := strconv.ParseInt(string(text), 10, 64)
		if !ok || err != nil || strconv.FormatInt(n, 10) != string(text) || n < f.Min || n > f.Max {
			return nil, fmt.Errorf("member %s wants a whole number from %d to %d", f.Name, f.Min, f.Max)
		}
		return n, nil
	case ir.BooleanResult:
		if b, ok := value.(bool); ok {
			return b, nil
		}
		return nil, fmt.Errorf("member %s wants true or false", f.Name)
	case ir.IdentifierResult:
		text, ok := value.(string)
		form := ir.Field{Name: f.Name, Form: ir.IdentifierForm, MaxBytes: f.MaxBytes}
		if err := form.Accept(text); !ok || err != nil {
			return nil, fmt.Errorf("member %s wants an identifier of at most %d bytes", f.Name, f.MaxBytes)
		}
		return text, nil
	case ir.EnumResult:
		text, ok := value.(string)
		// The decoder puts U+FFFD where an escape names half a surrogate pair.
		if !ok || !slices.Contains(f.Values, text) || strings.ContainsRune(text, utf8.RuneError) {
			return nil, fmt.Errorf("member %s wants one of %q", f.Name, f.Values)
		}
		return text, nil
	}
	return nil, fmt.Errorf("member %s has the unknown kind %q", f.Name, f.Kind)
}
