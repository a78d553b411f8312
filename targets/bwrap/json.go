package bwrap

import (
	"fmt"
	"slices"

	"github.com/obspc/obspc/compiler/canon"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang/diag"
)

// Schema names the format of bwrap.json.
const Schema = "obspc.bwrap/v1"

type (
	wireSet struct {
		Schema     string          `json:"schema"`
		Policy     string          `json:"policy"`
		Namespaces []string        `json:"namespaces"`
		Operations []wireOperation `json:"operations"`
	}
	wireOperation struct {
		Do       Verb      `json:"do"`
		Path     string    `json:"path"`
		Level    string    `json:"level,omitempty"`
		Listable bool      `json:"listable,omitempty"`
		Named    bool      `json:"named,omitempty"`
		Only     bool      `json:"only,omitempty"`
		Optional bool      `json:"optional,omitempty"`
		Size     int64     `json:"size,omitempty"`
		Origin   ir.Origin `json:"origin"`
	}
)

// JSON is bwrap.json, canonical.
func (s *Set) JSON() []byte {
	w := wireSet{Schema: Schema, Policy: s.Policy, Namespaces: s.Namespaces}
	for _, o := range s.Operations {
		wo := wireOperation{o.Verb, o.Path.String(), "", o.Listable, o.Named, o.Only, o.Optional, o.Size, o.Origin}
		if o.Verb == Bind {
			wo.Level = o.Level.String()
		}
		w.Operations = append(w.Operations, wo)
	}
	data, err := canon.Marshal(w)
	if err != nil {
		diag.Bug("bwrap.json of %s: %v", s.Policy, err)
	}
	return data
}

// Parse reads bwrap.json strictly. What it accepts is what Compile makes of the
// rules that the operations state: nothing lacks its ancestors, nothing is there
// without a reason. Refusals wrap ErrFragment or canon.ErrNotCanonical, or are
// Compile's.
func Parse(data []byte) (*Set, error) {
	var w wireSet
	if err := canon.Unmarshal(data, &w); err != nil {
		return nil, fmt.Errorf("bwrap.json: %w", err)
	}
	if w.Schema != Schema {
		return nil, fmt.Errorf("bwrap.json: schema is %q, this version reads %q", w.Schema, Schema)
	}
	if !ir.IsName(w.Policy) || !slices.Equal(w.Namespaces, Namespaces()) {
		return nil, fmt.Errorf("bwrap.json: %w: policy %q, namespaces %q", ErrFragment, w.Policy, w.Namespaces)
	}
	s := &Set{Policy: w.Policy, Namespaces: w.Namespaces}
	for _, wo := range w.Operations {
		o, err := wo.operation()
		if err != nil {
			return nil, fmt.Errorf("bwrap.json: %w", err)
		}
		s.Operations = append(s.Operations, o)
	}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("bwrap.json: %w", err)
	}
	return s, nil
}

func (w wireOperation) operation() (Operation, error) {
	p, err := ir.ParsePath(w.Path)
	if err != nil || !p.Is(w.Path) {
		return Operation{}, fmt.Errorf("%w: path %q is not canonical", ErrFragment, w.Path)
	}
	o := Operation{w.Do, p, ir.Deny, w.Listable, w.Named, w.Only, w.Optional, w.Size, w.Origin}
	switch w.Level {
	case "":
	case ir.Read.String():
		o.Level = ir.Read
	case ir.Write.String():
		o.Level = ir.Write
	default:
		return Operation{}, fmt.Errorf("%w: level %q", ErrFragment, w.Level)
	}
	return o, nil
}

// check compares the set with what Compile makes of its own rules.
func (s *Set) check() error {
	p, err := s.rules()
	if err != nil {
		return err
	}
	again, err := Compile(p)
	if err != nil {
		return err
	}
	for i, o := range s.Operations {
		if i >= len(again.Operations) || again.Operations[i] != o {
			return fmt.Errorf("%w: operation %d, %s %s, is not what its rules come to", ErrFragment, i, o.Verb, o.Path)
		}
	}
	if len(again.Operations) != len(s.Operations) {
		return fmt.Errorf("%w: %s %s is missing", ErrFragment, again.Operations[len(s.Operations)].Verb, again.Operations[len(s.Operations)].Path)
	}
	return nil
}

// rules is a policy with the rules that the operations state.
func (s *Set) rules() (*ir.Policy, error) {
	p := &ir.Policy{Name: s.Policy}
	for _, o := range s.Operations {
		r := ir.FileRule{Path: o.Path, Only: o.Only, Optional: o.Optional, Level: ir.Read, Origin: o.Origin}
		switch o.Verb {
		case Bind:
			r.Level = o.Level
		case Mask:
			r.Level = ir.Deny
		case LinkOrBind:
		case Proc:
			r.Backing = ir.ProcFS
		case Tmpfs:
			r.Level, r.Backing, r.Size = ir.Write, ir.TmpFS, o.Size
		case Dev:
			p.Files = append(p.Files, s.deviceRules(o)...)
			continue
		case Skeleton:
			if !o.Listable {
				continue
			}
			r.Only = true
		case Pin:
			if o.Named {
				p.Execute = append(p.Execute, ir.ExecuteRule{Path: o.Path, Optional: o.Optional, Origin: o.Origin})
			}
			continue
		default:
			return nil, fmt.Errorf("%w: operation %q", ErrFragment, o.Verb)
		}
		p.Files = append(p.Files, r)
	}
	return p, nil
}

// deviceRules are the rules of the minimal /dev, less what has a rule of its own.
func (s *Set) deviceRules(o Operation) []ir.FileRule {
	out := []ir.FileRule{{Path: o.Path, Level: ir.Read, Only: true, Backing: ir.DevFS, Origin: o.Origin}}
	for _, n := range devNodes {
		own := slices.ContainsFunc(s.Operations, func(other Operation) bool { return other.Path == n.path && other.Verb == Tmpfs })
		if !own {
			out = append(out, ir.FileRule{Path: n.path, Level: n.level, Only: n.only, Backing: ir.DevFS, Origin: o.Origin})
		}
	}
	return out
}
