package scheme

// Limits bound one evaluation, whatever the text: Steps counts forms evaluated and
// values made, Depth the forms inside each other, Bytes the text of strings made.
type Limits struct {
	Steps, Depth, Bytes int
}

// Generous is far beyond what a profile written by people needs.
var Generous = Limits{Steps: 4_000_000, Depth: 4_000, Bytes: 64 << 20}

// Machine evaluates forms in one global environment. It is for one text at a time
// and not safe for concurrent use.
type Machine struct {
	// Unbound gives a value to a name that nothing binds. It may be nil.
	Unbound func(Symbol) (Value, bool)

	global map[Symbol]Value
	limits Limits
	steps  int
	depth  int
	bytes  int
}

// New is a machine that knows the forms and procedures of the language.
func New(limits Limits) *Machine {
	m := &Machine{global: make(map[Symbol]Value, 1024), limits: limits}
	for name, f := range forms {
		m.global[name] = &form{name, f}
	}
	for _, list := range [][]*Procedure{numberProcedures, stringProcedures, listProcedures, controlProcedures} {
		for _, p := range list {
			m.global[Symbol(p.Name)] = p
		}
	}
	return m
}

// Define binds a name globally.
func (m *Machine) Define(name Symbol, v Value) { m.global[name] = v }

// DefineForm binds a name to a form whose operands f evaluates itself.
func (m *Machine) DefineForm(name Symbol, f func(*Form) (Value, error)) {
	m.global[name] = &form{name, func(m *Machine, p *Pair, e *env) (Value, tail, error) {
		operands, at, err := m.cells(p)
		if err != nil {
			return nil, tail{}, err
		}
		v, err := f(&Form{Machine: m, At: p.At, operands: operands, places: at, env: e})
		return v, tail{}, err
	}}
}

// Bound reports whether a name has a value globally.
func (m *Machine) Bound(name Symbol) bool {
	_, err := m.lookup(name, Pos{}, nil)
	return err == nil
}

// Eval evaluates one top-level form that stands at at.
func (m *Machine) Eval(x Value, at Pos) (Value, error) { return m.eval(x, at, nil) }

// Procedure is a procedure in Go. It takes Min to Max arguments, any number from
// Min on when Max is negative. Names, if set, gives values to unbound names among
// its arguments where they stand as such.
type Procedure struct {
	Name     string
	Min, Max int
	Do       func(*Call) (Value, error)
	Names    func(Symbol) (Value, bool)
}

// Call is one call of a Procedure.
type Call struct {
	Machine *Machine
	Name    string
	At      Pos // the procedure's name, or what called it
	Args    []Value
	places  []Pos
}

// Place is where argument i stands, or the call where that is unknown.
func (c *Call) Place(i int) Pos {
	if i < len(c.places) && c.places[i].Line > 0 {
		return c.places[i]
	}
	return c.At
}

// Fail is an error about argument i; about the whole call when i is negative.
func (c *Call) Fail(i int, code Code, format string, args ...any) *Error {
	at := c.At
	if i >= 0 {
		at = c.Place(i)
	}
	return fail(at, code, format, args...)
}

// wants is the error of an argument that is not what it must be.
func (c *Call) wants(i int, what string) *Error {
	return c.Fail(i, WrongArgument, "%s: argument %d must be %s, not %s", c.Name, i+1, what, Show(c.Args[i]))
}

// Form is one use of a form made by DefineForm.
type Form struct {
	Machine  *Machine
	At       Pos
	operands []Value
	places   []Pos
	env      *env
}

// Len is how many operands there are.
func (f *Form) Len() int { return len(f.operands) }

// Eval evaluates operand i.
func (f *Form) Eval(i int) (Value, error) {
	return f.Machine.eval(f.operands[i], f.places[i], f.env)
}

// Body evaluates the operands from i on, in a scope of their own.
func (f *Form) Body(i int) (Value, error) {
	inner := &env{outer: f.env}
	var out Value = Unspecified{}
	for ; i < len(f.operands); i++ {
		var err error
		if out, err = f.Machine.eval(f.operands[i], f.places[i], inner); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Place is where operand i stands.
func (f *Form) Place(i int) Pos {
	if f.places[i].Line > 0 {
		return f.places[i]
	}
	return f.At
}

// Fail is an error about the form.
func (f *Form) Fail(code Code, format string, args ...any) *Error {
	return fail(f.At, code, format, args...)
}

// cells splits the operands of a form into values and their places; what follows a
// dot is left out.
func (m *Machine) cells(form *Pair) (values []Value, places []Pos, err error) {
	v := form.Cdr
	for {
		p, ok := v.(*Pair)
		if !ok {
			return values, places, m.spend(len(values), form.At)
		}
		values, places, v = append(values, p.Car), append(places, p.At), p.Cdr
	}
}

// per is how many bytes of text are looked at for a step.
const per = 64

// spend charges n steps.
func (m *Machine) spend(n int, at Pos) error {
	if m.steps += n; m.steps > m.limits.Steps {
		return fail(at, PastLimit, "evaluation takes more than %d steps", m.limits.Steps)
	}
	return nil
}

// Text charges a string that a call made.
func (c *Call) Text(s string) (Value, error) {
	m := c.Machine
	if m.bytes += len(s); m.bytes > m.limits.Bytes || len(s) > MaxText {
		return nil, c.Fail(-1, PastLimit, "evaluation makes more text than %d bytes", min(m.limits.Bytes, MaxText))
	}
	return s, nil
}

// env is one local scope. The global one is nil.
type env struct {
	names  []Symbol
	values []Value
	outer  *env
}

func (e *env) find(name Symbol) *Value {
	for ; e != nil; e = e.outer {
		for i := len(e.names) - 1; i >= 0; i-- {
			if e.names[i] == name {
				return &e.values[i]
			}
		}
	}
	return nil
}

// define binds a name in scope e.
func (m *Machine) define(name Symbol, v Value, e *env) {
	if e == nil {
		m.global[name] = v
		return
	}
	for i, have := range e.names {
		if have == name {
			e.values[i] = v
			return
		}
	}
	e.names, e.values = append(e.names, name), append(e.values, v)
}

func (m *Machine) lookup(name Symbol, at Pos, e *env) (Value, error) {
	if v := e.find(name); v != nil {
		return *v, nil
	}
	if v, ok := m.global[name]; ok {
		return v, nil
	}
	if m.Unbound != nil {
		if v, ok := m.Unbound(name); ok {
			return v, nil
		}
	}
	return nil, unbound(name, at)
}

// unbound words the error as libsandbox does.
func unbound(name Symbol, at Pos) *Error {
	return fail(at, UnboundName, "unbound variable: %s", Show(name))
}
