package ir

import (
	"reflect"
	"strings"

	"github.com/obspc/obspc/compiler/canon"
)

// JSONSchema is the JSON Schema (draft 7) of ir.json, made from the very types
// that read and write it: each object's members, which of them are always there,
// and no other. House rules are checked against it, so that a member that does
// not exist is an error and not silently undefined.
func JSONSchema() []byte {
	schema := object(reflect.TypeFor[wirePolicy]())
	schema["$schema"] = "http://json-schema.org/draft-07/schema#"
	schema["title"] = Schema
	data, err := canon.Marshal(schema)
	if err != nil {
		panic("bug in obspc: the schema of ir.json has no JSON: " + err.Error())
	}
	return data
}

// schemaOf is the schema of what encoding t gives.
func schemaOf(t reflect.Type) map[string]any {
	switch t.Kind() {
	case reflect.Struct:
		return object(t)
	case reflect.Pointer:
		return schemaOf(t.Elem())
	case reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem())}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int64, reflect.Uint16:
		return map[string]any{"type": "integer"}
	}
	panic("bug in obspc: ir.json has no schema for " + t.String())
}

func object(t reflect.Type) map[string]any {
	members, required := map[string]any{}, []any{}
	for i := range t.NumField() {
		name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		members[name] = schemaOf(t.Field(i).Type)
		if options != "omitempty" {
			required = append(required, name)
		}
	}
	out := map[string]any{"type": "object", "properties": members, "additionalProperties": false}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}
