package rego

import (
	"encoding/json"
	"fmt"

	"github.com/obspc/obspc/compiler/ir"
)

// locator leads from a path in ir.json to the statement that stands there.
type locator struct{ root any }

func newLocator(data []byte) *locator {
	l := &locator{}
	if err := json.Unmarshal(data, &l.root); err != nil {
		panic("bug in obspc: ir.json is no JSON: " + err.Error())
	}
	return l
}

// origin is the statement of the innermost node on the path that has one. A path
// that leads nowhere is an error: it was meant to show something.
func (l *locator) origin(value any) (ir.Origin, error) {
	steps, ok := value.([]any)
	if !ok {
		return "", fmt.Errorf("%v is no path; write a list of member names and indices, as in [\"files\", 0]", value)
	}
	node, found := l.root, ir.Origin("")
	for i, step := range steps {
		next, ok := into(node, step)
		if !ok {
			return "", fmt.Errorf("the policy has nothing at %v", steps[:i+1])
		}
		node = next
		if object, ok := node.(map[string]any); ok {
			if origin, ok := object["origin"].(string); ok {
				found = ir.Origin(origin)
			}
		}
	}
	return found, nil
}

func into(node, step any) (any, bool) {
	switch node := node.(type) {
	case map[string]any:
		name, ok := step.(string)
		if !ok {
			return nil, false
		}
		next, ok := node[name]
		return next, ok
	case []any:
		number, ok := step.(json.Number)
		if !ok {
			return nil, false
		}
		i, err := number.Int64()
		if err != nil || i < 0 || i >= int64(len(node)) {
			return nil, false
		}
		return node[i], true
	}
	return nil, false
}
