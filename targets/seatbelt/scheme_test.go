package seatbelt

import (
	"fmt"
	"strings"
)

// scope is one level of variables.
type scope struct {
	names map[symbol]any
	outer *scope
}

func (s *scope) find(name symbol) (any, bool) {
	for ; s != nil; s = s.outer {
		if v, ok := s.names[name]; ok {
			return v, true
		}
	}
	return nil, false
}

// procedure is a built-in or user function.
type procedure func(args []any) any

// schemeError is raised by panic and turned into an error by load.
type schemeError string

func raise(format string, args ...any) any { panic(schemeError(fmt.Sprintf(format, args...))) }

// truthy: everything but #f.
func truthy(v any) bool { return v != false }

// eval evaluates what the prelude and the rules use of Scheme, and no more.
func eval(form any, s *scope) any {
	switch form := form.(type) {
	case symbol:
		v, ok := s.find(form)
		if !ok {
			raise("unbound variable: %s", form)
		}
		return v
	case []any:
		if len(form) == 0 {
			raise("empty application")
		}
		if head, ok := form[0].(symbol); ok {
			if special, ok := specials[head]; ok {
				return special(form[1:], s)
			}
		}
		f, ok := eval(form[0], s).(procedure)
		if !ok {
			raise("%v is no procedure", form[0])
		}
		args := make([]any, len(form)-1)
		for i, a := range form[1:] {
			args[i] = eval(a, s)
		}
		return f(args)
	}
	return form
}

func body(forms []any, s *scope) (v any) {
	for _, f := range forms {
		v = eval(f, s)
	}
	return v
}

var specials map[symbol]func([]any, *scope) any

func init() {
	specials = map[symbol]func([]any, *scope) any{
		"quote": func(a []any, _ *scope) any { return a[0] },
		"if": func(a []any, s *scope) any {
			if truthy(eval(a[0], s)) {
				return eval(a[1], s)
			}
			return body(a[2:], s)
		},
		"when": func(a []any, s *scope) any {
			if truthy(eval(a[0], s)) {
				return body(a[1:], s)
			}
			return nil
		},
		"and": func(a []any, s *scope) any {
			for _, f := range a {
				if !truthy(eval(f, s)) {
					return false
				}
			}
			return true
		},
		"cond": func(a []any, s *scope) any {
			for _, clause := range a {
				c := clause.([]any)
				if c[0] == symbol("else") || truthy(eval(c[0], s)) {
					return body(c[1:], s)
				}
			}
			return nil
		},
		"defined?": func(a []any, s *scope) any {
			_, ok := s.find(eval(a[0], s).(symbol))
			return ok
		},
		"define": define,
		"let":    let,
		"let*": func(a []any, s *scope) any {
			for _, b := range a[0].([]any) {
				pair := b.([]any)
				s = &scope{map[symbol]any{pair[0].(symbol): eval(pair[1], s)}, s}
			}
			return body(a[1:], s)
		},
	}
}

func function(params []any, forms []any, s *scope) procedure {
	return func(args []any) any {
		if len(args) != len(params) {
			raise("%d arguments for %d", len(args), len(params))
		}
		inner := &scope{map[symbol]any{}, s}
		for i, p := range params {
			inner.names[p.(symbol)] = args[i]
		}
		return body(forms, inner)
	}
}

func define(a []any, s *scope) any {
	if name, ok := a[0].(symbol); ok {
		s.names[name] = eval(a[1], s)
		return nil
	}
	head := a[0].([]any)
	s.names[head[0].(symbol)] = function(head[1:], a[1:], s)
	return nil
}

// let is the named form, the only one in use.
func let(a []any, s *scope) any {
	var params, args []any
	for _, b := range a[1].([]any) {
		params, args = append(params, b.([]any)[0]), append(args, eval(b.([]any)[1], s))
	}
	inner := &scope{map[symbol]any{}, s}
	f := function(params, a[2:], inner)
	inner.names[a[0].(symbol)] = f
	return f(args)
}

// global is the variables that every profile sees, less the operations and
// filters of a release.
func global(params map[string]string) *scope {
	ints := func(f func(a, b int64) any) procedure {
		return func(a []any) any { return f(a[0].(int64), a[1].(int64)) }
	}
	s := &scope{names: map[symbol]any{
		"+":             ints(func(a, b int64) any { return a + b }),
		"-":             ints(func(a, b int64) any { return a - b }),
		"=":             ints(func(a, b int64) any { return a == b }),
		">=":            ints(func(a, b int64) any { return a >= b }),
		"char=?":        procedure(func(a []any) any { return a[0].(character) == a[1].(character) }),
		"char->integer": procedure(func(a []any) any { return int64(a[0].(character)) }),
		"string-length": procedure(func(a []any) any { return int64(len(text(a[0]))) }),
		"string-ref":    procedure(func(a []any) any { return character(text(a[0])[a[1].(int64)]) }),
		"substring":     procedure(func(a []any) any { return text(a[0])[a[1].(int64):a[2].(int64)] }),
		"string-append": procedure(func(a []any) any {
			var b strings.Builder
			for _, piece := range a {
				b.WriteString(text(piece))
			}
			return b.String()
		}),
		"regex-quote": procedure(func(a []any) any {
			var b strings.Builder
			for _, c := range []byte(text(a[0])) {
				if strings.IndexByte("^.[$()|*+?{\\", c) >= 0 {
					b.WriteByte('\\')
				}
				b.WriteByte(c)
			}
			return b.String()
		}),
		"param": procedure(func(a []any) any {
			if v, ok := params[text(a[0])]; ok {
				return v
			}
			return false
		}),
	}}
	return s
}

func text(v any) string {
	s, ok := v.(string)
	if !ok {
		raise("%v is no string", v)
	}
	return s
}
