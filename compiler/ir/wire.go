package ir

import (
	"errors"
	"fmt"
)

// PartJSON is one part of a value in a file: exactly one member is set.
type PartJSON struct {
	Literal string `json:"literal,omitempty"`
	Slot    string `json:"slot,omitempty"`
	Field   string `json:"field,omitempty"`
}

// CommandJSON is a Command in a file; ir.json and run.json share it.
type CommandJSON struct {
	Name       string       `json:"name"`
	Executable string       `json:"executable"`
	SHA256     string       `json:"sha256,omitempty"`
	Arguments  [][]PartJSON `json:"arguments,omitempty"`
	Rest       string       `json:"rest,omitempty"`
	Fields     []FieldJSON  `json:"fields,omitempty"`
	Result     []ResultJSON `json:"result,omitempty"`
	ResultName string       `json:"resultName,omitempty"`
	Origin     Origin       `json:"origin"`
}

// FieldJSON is a Field in a file.
type FieldJSON struct {
	Name     string   `json:"name"`
	Form     FormKind `json:"form"`
	MaxBytes int64    `json:"maxBytes,omitempty"`
	Min      int64    `json:"min,omitempty"`
	Max      int64    `json:"max,omitempty"`
}

// ResultJSON is a ResultField in a file.
type ResultJSON struct {
	Name     string     `json:"name"`
	Kind     ResultKind `json:"kind"`
	Min      int64      `json:"min,omitempty"`
	Max      int64      `json:"max,omitempty"`
	MaxBytes int64      `json:"maxBytes,omitempty"`
	Values   []string   `json:"values,omitempty"`
}

// ValueToJSON is v as it stands in a file.
func ValueToJSON(v Value) []PartJSON {
	out := make([]PartJSON, 0, len(v))
	for _, p := range v {
		switch p := p.(type) {
		case Literal:
			out = append(out, PartJSON{Literal: string(p)})
		case SlotRef:
			out = append(out, PartJSON{Slot: Root(p).String()})
		case FieldRef:
			out = append(out, PartJSON{Field: string(p)})
		}
	}
	return out
}

// ValueFromJSON reads a value back. Check judges whether its parts make sense.
func ValueFromJSON(parts []PartJSON) (Value, error) {
	var v Value
	for _, p := range parts {
		switch {
		case p.Literal != "" && p.Slot == "" && p.Field == "":
			v = append(v, Literal(p.Literal))
		case p.Slot != "" && p.Literal == "" && p.Field == "":
			root, ok := RootNamed(p.Slot)
			if !ok {
				return nil, fmt.Errorf("%q is no slot", p.Slot)
			}
			v = append(v, SlotRef(root))
		case p.Field != "" && p.Literal == "" && p.Slot == "":
			v = append(v, FieldRef(p.Field))
		default:
			return nil, fmt.Errorf("a part is a literal, a slot or a field, one of them")
		}
	}
	return v, nil
}

// JSON is the command as it stands in a file.
func (c Command) JSON() CommandJSON {
	out := CommandJSON{Name: c.Name, Executable: c.Executable.String(), SHA256: c.SHA256, Rest: c.Rest, Origin: c.Origin}
	for _, a := range c.Arguments {
		out.Arguments = append(out.Arguments, ValueToJSON(a))
	}
	for _, f := range c.Fields {
		out.Fields = append(out.Fields, FieldJSON(f))
	}
	if c.Result != nil {
		out.ResultName = c.Result.Name
		for _, f := range c.Result.Fields {
			out.Result = append(out.Result, ResultJSON(f))
		}
	}
	return out
}

// Command reads a command back.
func (w CommandJSON) Command() (Command, error) {
	c := Command{Name: w.Name, SHA256: w.SHA256, Rest: w.Rest, Origin: w.Origin}
	var err error
	if c.Executable, err = canonicalPath(w.Executable); err != nil {
		return Command{}, fmt.Errorf("command %q: %w", w.Name, err)
	}
	for _, a := range w.Arguments {
		v, err := ValueFromJSON(a)
		if err != nil {
			return Command{}, fmt.Errorf("command %q: %w", w.Name, err)
		}
		c.Arguments = append(c.Arguments, v)
	}
	for _, f := range w.Fields {
		c.Fields = append(c.Fields, Field(f))
	}
	if w.ResultName != "" {
		c.Result = &Result{Name: w.ResultName}
		for _, f := range w.Result {
			c.Result.Fields = append(c.Result.Fields, ResultField(f))
		}
	}
	return c, nil
}

// canonicalPath reads a path that must already be clean.
func canonicalPath(text string) (Path, error) {
	p, err := ParsePath(text)
	if err == nil && p.String() != text {
		err = fmt.Errorf("path %q is not clean; %q is", text, p)
	}
	return p, err
}

func (p *Policy) wire() wirePolicy {
	w := wirePolicy{
		Schema: Schema, Policy: p.Name, Version: p.Version, Targets: p.Targets, Workspace: p.Workspace,
		Unix:     wireUnix{"none", p.Unix.Origin},
		Services: wireNames(p.System.Services), Sysctls: wireNames(p.System.Sysctls),
		IPC: wireNames(p.System.IPC), IOKit: wireNames(p.System.IOKit),
	}
	if p.Unix.Visible {
		w.Unix.Sockets = "visible"
	}
	for _, r := range p.Files {
		w.Files = append(w.Files, wireFile{r.Path.String(), r.Level.String(), r.Only, r.Optional, r.Backing, r.Size, r.Origin})
	}
	for _, r := range p.Execute {
		w.Execute = append(w.Execute, wireExecute{r.Path.String(), r.Only, r.Optional, r.Origin})
	}
	if p.Loopback.Host {
		w.Loopback = &wireLoopback{true, p.Loopback.Origin}
	}
	for _, e := range p.Endpoints {
		w.Endpoints = append(w.Endpoints, e.JSON())
	}
	for _, r := range p.DeniedHosts {
		w.DeniedHosts = append(w.DeniedHosts, r.JSON())
	}
	for _, v := range p.Environment {
		w.Environment = append(w.Environment, wireVariable{v.Name, ValueToJSON(v.Value), v.Origin})
	}
	for _, l := range p.Limits {
		w.Limits = append(w.Limits, wireLimit(l))
	}
	for _, r := range p.Syscalls {
		w.Syscalls = append(w.Syscalls, wireSyscall{r.Name, answerWord(r.Allow), r.Origin})
	}
	for _, c := range p.Commands {
		w.Commands = append(w.Commands, c.JSON())
	}
	for _, v := range p.Waivers {
		w.Waivers = append(w.Waivers, wireWaiver(v))
	}
	return w
}

func answerWord(allow bool) string {
	if allow {
		return "allow"
	}
	return "deny"
}

func wireNames(names []Name) []wireName {
	var out []wireName
	for _, n := range names {
		out = append(out, wireName(n))
	}
	return out
}

func namesFrom(w []wireName) []Name {
	var out []Name
	for _, n := range w {
		out = append(out, Name(n))
	}
	return out
}

func (w wirePolicy) policy() (*Policy, error) {
	p := &Policy{
		Name: w.Policy, Version: w.Version, Targets: w.Targets, Workspace: w.Workspace,
		System: System{Services: namesFrom(w.Services), Sysctls: namesFrom(w.Sysctls), IPC: namesFrom(w.IPC), IOKit: namesFrom(w.IOKit)},
	}
	switch w.Unix.Sockets {
	case "none", "visible":
		p.Unix = UnixRule{w.Unix.Sockets == "visible", w.Unix.Origin}
	default:
		return nil, fmt.Errorf("unix sockets are %q, not none or visible", w.Unix.Sockets)
	}
	for _, read := range []func(*wirePolicy) error{p.readFiles, p.readNetwork, p.readRest} {
		if err := read(&w); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *Policy) readFiles(w *wirePolicy) error {
	for _, f := range w.Files {
		path, err := canonicalPath(f.Path)
		if err != nil {
			return err
		}
		level, ok := levelNamed(f.Level)
		if !ok {
			return fmt.Errorf("%s has the unknown level %q", f.Path, f.Level)
		}
		p.Files = append(p.Files, FileRule{path, level, f.Only, f.Optional, f.Backing, f.Size, f.Origin})
	}
	for _, x := range w.Execute {
		path, err := canonicalPath(x.Path)
		if err != nil {
			return err
		}
		p.Execute = append(p.Execute, ExecuteRule{path, x.Only, x.Optional, x.Origin})
	}
	return nil
}

func levelNamed(name string) (Level, bool) {
	for i, n := range levelNames {
		if n == name {
			return Level(i), true
		}
	}
	return Deny, false
}

func (p *Policy) readNetwork(w *wirePolicy) error {
	if w.Loopback != nil {
		if !w.Loopback.Machine {
			return errors.New("loopback that is not the machine's stands in no file")
		}
		p.Loopback = LoopbackRule{true, w.Loopback.Origin}
	}
	for _, we := range w.Endpoints {
		e, err := we.Endpoint()
		if err != nil {
			return err
		}
		p.Endpoints = append(p.Endpoints, e)
	}
	for _, wh := range w.DeniedHosts {
		r, err := wh.HostRule()
		if err != nil {
			return err
		}
		p.DeniedHosts = append(p.DeniedHosts, r)
	}
	return nil
}

func (p *Policy) readRest(w *wirePolicy) error {
	for _, v := range w.Environment {
		value, err := ValueFromJSON(v.Value)
		if err != nil {
			return fmt.Errorf("environment %q: %w", v.Name, err)
		}
		p.Environment = append(p.Environment, Variable{v.Name, value, v.Origin})
	}
	for _, l := range w.Limits {
		p.Limits = append(p.Limits, Limit(l))
	}
	for _, r := range w.Syscalls {
		if r.Answer != answerWord(true) && r.Answer != answerWord(false) {
			return fmt.Errorf("the system call %q is %q, not allow or deny", r.Name, r.Answer)
		}
		p.Syscalls = append(p.Syscalls, SyscallRule{Name: r.Name, Allow: r.Answer == answerWord(true), Origin: r.Origin})
	}
	for _, wc := range w.Commands {
		c, err := wc.Command()
		if err != nil {
			return err
		}
		p.Commands = append(p.Commands, c)
	}
	for _, v := range w.Waivers {
		p.Waivers = append(p.Waivers, Waiver(v))
	}
	return nil
}
