package run

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/obspc/obspc/compiler/ir"
)

// Bounds on what is handed to execve(2). Linux takes 128 KiB in one string
// (MAX_ARG_STRLEN in linux/binfmts.h) and macOS 1 MiB in all (ARG_MAX in
// sys/syslimits.h); within these both take arguments and environment together.
// Each string counts with its NUL and its pointer.
const (
	MaxStringBytes      = 128<<10 - 1
	MaxArgvBytes        = 256 << 10
	MaxEnvironmentBytes = 256 << 10

	pointerBytes = 8
)

// FieldError says why the value, or the absence of one, of a field is refused.
// It never quotes the value: values do not belong in evidence.
type FieldError struct {
	Field  string
	Reason string
}

func (e *FieldError) Error() string { return e.Reason }

// Argv is the whole argument vector of one call, the bound executable first.
// Fields gives each field's values: one for a typed field, any number for the
// rest field, whose absence means none. Every fault is reported at once, each
// field's as a *FieldError.
func (c Command) Argv(fields map[string][]string, b ir.Binding) ([]string, error) {
	values, err := c.accept(fields)
	if err != nil {
		return nil, err
	}
	executable := b.Path(c.Executable)
	if executable.Root() != ir.Host {
		return nil, fmt.Errorf("executable %s: slot %s is not bound", c.Executable, c.Executable.Root())
	}
	argv := []string{executable.String()}
	for _, a := range c.Arguments {
		text, err := a.Join(b, values)
		if err != nil {
			return nil, fmt.Errorf("command %s: %w", c.Name, err)
		}
		argv = append(argv, text)
	}
	if c.Rest != "" {
		argv = append(argv, fields[c.Rest]...)
	}
	if err := bound("arguments", argv, MaxArgvBytes); err != nil {
		return nil, fmt.Errorf("command %s: %w", c.Name, err)
	}
	return argv, nil
}

// accept judges every field, and every value that has none. It returns the values
// of the typed fields.
func (c Command) accept(fields map[string][]string) (map[string]string, error) {
	var faults []error
	values := map[string]string{}
	for _, f := range c.Fields {
		given := fields[f.Name]
		if f.Form != ir.RestForm {
			switch len(given) {
			case 0:
				faults = append(faults, &FieldError{f.Name, f.Name + " has no value"})
				continue
			case 1:
				values[f.Name] = given[0]
			default:
				faults = append(faults, &FieldError{f.Name, fmt.Sprintf("%s has %d values and takes one", f.Name, len(given))})
				continue
			}
		}
		for _, v := range given {
			if err := f.Accept(v); err != nil {
				faults = append(faults, &FieldError{f.Name, err.Error()})
				break
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if _, ok := c.Field(name); !ok {
			faults = append(faults, &FieldError{name, fmt.Sprintf("command %s has no field %q", c.Name, name)})
		}
	}
	return values, errors.Join(faults...)
}

// bound refuses strings that execve could not take.
func bound(what string, list []string, most int) error {
	total := 0
	for _, s := range list {
		if len(s) > MaxStringBytes {
			return fmt.Errorf("%s: one string of %d bytes, at most %d are passed on", what, len(s), MaxStringBytes)
		}
		total += len(s) + 1 + pointerBytes
	}
	if total > most {
		return fmt.Errorf("%s of %d bytes, at most %d are passed on", what, total, most)
	}
	return nil
}
