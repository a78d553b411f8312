package rego

import (
	"errors"
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Fault is one reason why rules cannot be asked. File is its name in the rules'
// directory; Line and Column count from 1, 0 when there is no place.
type Fault struct {
	File    string
	Line    int
	Column  int
	Code    string
	Message string
}

// Errors are all the faults of one set of rules.
type Errors []Fault

func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, f := range e {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

// String is the fault on one line.
func (f Fault) String() string {
	message := strings.Join(strings.Fields(f.Message), " ")
	switch {
	case f.File == "":
		return message
	case f.Line == 0:
		return fmt.Sprintf("%s: %s", f.File, message)
	}
	return fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Column, message)
}

// faults are OPA's errors in our form.
func faults(err error) Errors {
	var list ast.Errors
	var one *ast.Error
	switch {
	case errors.As(err, &list):
	case errors.As(err, &one):
		list = ast.Errors{one}
	default:
		return Errors{{Message: err.Error()}}
	}
	var out Errors
	for _, e := range list {
		f := Fault{Code: e.Code, Message: e.Message}
		if e.Location != nil {
			f.File, f.Line, f.Column = e.Location.File, e.Location.Row, e.Location.Col
		}
		if e.Details != nil {
			f.Message += " (" + strings.Join(e.Details.Lines(), " ") + ")"
		}
		out = append(out, f)
	}
	return out
}
