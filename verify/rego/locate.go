package rego

import (
	"encoding/json"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/obspc/obspc/compiler/ir"
)

// locator leads from a path in ir.json, as the rules were given it, to the
// statement that stands there.
type locator struct{ root ast.Value }

// origin is the statement of the innermost node on the path that has one. A path
// that leads nowhere is an error: it was meant to show something.
func (l locator) origin(value any) (ir.Origin, error) {
	steps, ok := value.([]any)
	if !ok {
		return "", fmt.Errorf("%v is no path; write a list of member names and indices, as in [\"files\", 0]", value)
	}
	node, found := l.root, ir.Origin("")
	for i, step := range steps {
		next := into(node, step)
		if next == nil {
			return "", fmt.Errorf("the policy has nothing at %v", steps[:i+1])
		}
		node = next.Value
		if object, ok := node.(ast.Object); ok {
			if origin := object.Get(ast.InternedTerm("origin")); origin != nil {
				if text, ok := origin.Value.(ast.String); ok {
					found = ir.Origin(text)
				}
			}
		}
	}
	return found, nil
}

// into is one step further, nil where there is nothing.
func into(node ast.Value, step any) *ast.Term {
	switch node := node.(type) {
	case ast.Object:
		if name, ok := step.(string); ok {
			return node.Get(ast.StringTerm(name))
		}
	case *ast.Array:
		number, ok := step.(json.Number)
		if !ok {
			return nil
		}
		if i, err := number.Int64(); err == nil && i >= 0 && i < int64(node.Len()) {
			return node.Elem(int(i))
		}
	}
	return nil
}
