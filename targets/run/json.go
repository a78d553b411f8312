package run

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/obspc/obspc/compiler/canon"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang/diag"
)

// Schema names the format of run.json.
const Schema = "obspc.run/v1"

// The wire types are run.json's shape.
type (
	wirePlan struct {
		Schema      string           `json:"schema"`
		Policy      string           `json:"policy"`
		Version     int64            `json:"version"`
		Workspace   ir.WorkspaceKind `json:"workspace,omitempty"`
		Slots       []string         `json:"slots"`
		Unix        wireUnix         `json:"unix"`
		Execute     []wireExecute    `json:"execute,omitempty"`
		Environment []wireVariable   `json:"environment,omitempty"`
		Limits      []wireLimit      `json:"limits,omitempty"`
		Commands    []ir.CommandJSON `json:"commands,omitempty"`
	}
	wireUnix struct {
		Sockets string    `json:"sockets"`
		Origin  ir.Origin `json:"origin"`
	}
	wireExecute struct {
		Path     string    `json:"path"`
		Only     bool      `json:"only,omitempty"`
		Optional bool      `json:"optional,omitempty"`
		Origin   ir.Origin `json:"origin"`
	}
	wireVariable struct {
		Name   string        `json:"name"`
		Value  []ir.PartJSON `json:"value"`
		Origin ir.Origin     `json:"origin"`
	}
	wireLimit struct {
		Name   ir.LimitName `json:"name"`
		Value  int64        `json:"value"`
		Scope  ir.Scope     `json:"scope,omitempty"`
		Origin ir.Origin    `json:"origin"`
	}
)

// JSON is run.json: canonical, so the same plan has the same bytes.
func (p *Plan) JSON() []byte {
	data, err := p.encode()
	if err != nil {
		diag.Bug("run.json of %s: %v", p.Policy, err)
	}
	return data
}

func (p *Plan) encode() ([]byte, error) {
	w := wirePlan{
		Schema: Schema, Policy: p.Policy, Version: p.Version, Workspace: p.Workspace,
		Unix: wireUnix{"none", p.Unix.Origin},
	}
	if p.Unix.Visible {
		w.Unix.Sockets = "visible"
	}
	for _, s := range p.Slots {
		w.Slots = append(w.Slots, s.String())
	}
	for _, x := range p.Execute {
		w.Execute = append(w.Execute, wireExecute{x.Path.String(), x.Only, x.Optional, x.Origin})
	}
	for _, v := range p.Variables {
		w.Environment = append(w.Environment, wireVariable{v.Name, ir.ValueToJSON(v.Value), v.Origin})
	}
	for _, l := range p.Limits {
		w.Limits = append(w.Limits, wireLimit(l))
	}
	for _, c := range p.Commands {
		w.Commands = append(w.Commands, c.JSON())
	}
	return canon.Marshal(w)
}

// Parse reads run.json strictly: what it accepts is what JSON writes, and its
// parts hold what ir.Check asks of them.
func Parse(data []byte) (*Plan, error) {
	p, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("run.json: %w", err)
	}
	return p, nil
}

func parse(data []byte) (*Plan, error) {
	var w wirePlan
	if err := canon.Unmarshal(data, &w); err != nil {
		return nil, err
	}
	if w.Schema != Schema {
		return nil, fmt.Errorf("schema is %q, this version reads %q", w.Schema, Schema)
	}
	p := &Plan{Policy: w.Policy, Version: w.Version, Workspace: w.Workspace}
	for _, read := range []func(*wirePlan) error{p.readSlots, p.readUnix, p.readLists} {
		if err := read(&w); err != nil {
			return nil, err
		}
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	// What the types cannot hold (a result without a name, a path that was not
	// clean) is gone by now, so it shows as a difference.
	again, err := p.encode()
	if err != nil || !bytes.Equal(again, data) {
		return nil, errors.New("holds more than a plan says")
	}
	return p, nil
}

func (p *Plan) readSlots(w *wirePlan) error {
	for i, name := range w.Slots {
		slot, ok := ir.RootNamed(name)
		if !ok {
			return fmt.Errorf("%q is no slot", name)
		}
		if i > 0 && p.Slots[i-1] >= slot {
			return fmt.Errorf("slots %s and %s are out of order or the same", p.Slots[i-1], slot)
		}
		p.Slots = append(p.Slots, slot)
	}
	return nil
}

func (p *Plan) readUnix(w *wirePlan) error {
	if w.Unix.Sockets != "none" && w.Unix.Sockets != "visible" {
		return fmt.Errorf("unix sockets are %q, not none or visible", w.Unix.Sockets)
	}
	p.Unix = ir.UnixRule{Visible: w.Unix.Sockets == "visible", Origin: w.Unix.Origin}
	return nil
}

func (p *Plan) readLists(w *wirePlan) error {
	for _, x := range w.Execute {
		path, err := ir.ParsePath(x.Path)
		if err != nil {
			return err
		}
		p.Execute = append(p.Execute, ir.ExecuteRule{Path: path, Only: x.Only, Optional: x.Optional, Origin: x.Origin})
	}
	for _, v := range w.Environment {
		value, err := ir.ValueFromJSON(v.Value)
		if err != nil {
			return fmt.Errorf("environment %q: %w", v.Name, err)
		}
		p.Variables = append(p.Variables, ir.Variable{Name: v.Name, Value: value, Origin: v.Origin})
	}
	for _, l := range w.Limits {
		p.Limits = append(p.Limits, ir.Limit(l))
	}
	for _, wc := range w.Commands {
		c, err := wc.Command()
		if err != nil {
			return err
		}
		p.Commands = append(p.Commands, Command{c})
	}
	return nil
}

// check holds the plan to the invariants of the policy it came from: a policy of
// nothing but its parts passes ir.Check.
func (p *Plan) check() error {
	skeleton := &ir.Policy{
		Name: p.Policy, Version: p.Version, Targets: []ir.Target{ir.Bwrap}, Workspace: p.Workspace,
		Execute: p.Execute, Unix: p.Unix, Environment: p.Variables, Limits: p.Limits,
	}
	for _, c := range p.Commands {
		skeleton.Commands = append(skeleton.Commands, c.Command)
		if err := c.checkKinds(); err != nil {
			return err
		}
	}
	for _, slot := range slotsOf(skeleton) {
		if !p.Uses(slot) {
			return fmt.Errorf("slot %s is used and not listed", slot)
		}
	}
	return skeleton.Check()
}

// checkKinds refuses forms and kinds that no version knows, and bounds that mean
// nothing for theirs.
func (c Command) checkKinds() error {
	for _, f := range c.Fields {
		bounds := f
		bounds.Name, bounds.Form = "", ""
		switch f.Form {
		case ir.IdentifierForm:
			bounds.MaxBytes = 0
		case ir.IntegerForm:
			bounds.Min, bounds.Max = 0, 0
		case ir.RestForm:
		default:
			return fmt.Errorf("command %s: field %q has the unknown form %q", c.Name, f.Name, f.Form)
		}
		if bounds != (ir.Field{}) {
			return fmt.Errorf("command %s: field %q has bounds that its form %s does not use", c.Name, f.Name, f.Form)
		}
	}
	if c.Result == nil {
		return nil
	}
	for _, f := range c.Result.Fields {
		least, most, size, values := f.Min, f.Max, f.MaxBytes, len(f.Values)
		switch f.Kind {
		case ir.IntegerResult:
			least, most = 0, 0
		case ir.IdentifierResult:
			size = 0
		case ir.EnumResult:
			values = 0
		case ir.BooleanResult:
		default:
			return fmt.Errorf("command %s: result %q has the unknown kind %q", c.Name, f.Name, f.Kind)
		}
		if least != 0 || most != 0 || size != 0 || values != 0 {
			return fmt.Errorf("command %s: result %q has bounds that its kind %s does not use", c.Name, f.Name, f.Kind)
		}
	}
	return nil
}
