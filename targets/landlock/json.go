package landlock

import (
	"errors"
	"fmt"
	"slices"

	"github.com/obspc/obspc/compiler/canon"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang/diag"
)

// Schema names the format of landlock.json.
const Schema = "obspc.landlock/v1"

// handled names the rights that rules handle, in bit order.
var handled = []string{"execute", "refer"}

type (
	wireRules struct {
		Schema  string     `json:"schema"`
		Policy  string     `json:"policy"`
		ABI     int        `json:"abi"`
		Handled []string   `json:"handled"`
		Execute []wireRule `json:"execute,omitempty"`
		Refer   []wireRule `json:"refer,omitempty"`
	}
	wireRule struct {
		Path     string    `json:"path"`
		Only     bool      `json:"only,omitempty"`
		Optional bool      `json:"optional,omitempty"`
		Origin   ir.Origin `json:"origin"`
	}
)

// JSON is landlock.json: canonical, so the same rules have the same bytes. Where
// nothing is handled the ABI is 0: the kernel needs none.
func (r *Rules) JSON() []byte {
	w := wireRules{Schema: Schema, Policy: r.Policy, Execute: toWire(r.Rules), Refer: toWire(r.Reparent)}
	if r.Handled {
		w.ABI, w.Handled = ABI, handled
	}
	data, err := canon.Marshal(w)
	if err != nil {
		diag.Bug("landlock.json of %s: %v", r.Policy, err)
	}
	return data
}

func toWire(rules []Rule) []wireRule {
	var out []wireRule
	for _, r := range rules {
		out = append(out, wireRule{r.Path.String(), r.Only, r.Optional, r.Origin})
	}
	return out
}

// Parse reads landlock.json strictly: what it accepts is what JSON writes.
func Parse(data []byte) (*Rules, error) {
	r, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("landlock.json: %w", err)
	}
	return r, nil
}

func parse(data []byte) (*Rules, error) {
	var w wireRules
	if err := canon.Unmarshal(data, &w); err != nil {
		return nil, err
	}
	if w.Schema != Schema {
		return nil, fmt.Errorf("schema is %q, this version reads %q", w.Schema, Schema)
	}
	if !ir.IsName(w.Policy) {
		return nil, fmt.Errorf("policy name %q is malformed", w.Policy)
	}
	r := &Rules{Policy: w.Policy, Handled: len(w.Handled) > 0}
	switch {
	case r.Handled && (!slices.Equal(w.Handled, handled) || w.ABI != ABI):
		return nil, fmt.Errorf("handles %q of ABI %d, this version handles %q of ABI %d", w.Handled, w.ABI, handled, ABI)
	case !r.Handled && (w.ABI != 0 || len(w.Execute)+len(w.Refer) > 0):
		return nil, errors.New("handles nothing, and wants an ABI or has rules")
	}
	var err error
	if r.Rules, err = fromWire(w.Execute); err != nil {
		return nil, err
	}
	if r.Reparent, err = fromWire(w.Refer); err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(r.Reparent, func(r Rule) bool { return r.Only }); i >= 0 {
		return nil, fmt.Errorf("%s: refer cannot be granted to one path only", r.Reparent[i].Path)
	}
	return r, nil
}

func fromWire(rules []wireRule) ([]Rule, error) {
	var out []Rule
	for i, w := range rules {
		p, err := ir.ParsePath(w.Path)
		if err != nil {
			return nil, err
		}
		if p.String() != w.Path {
			return nil, fmt.Errorf("path %q is not clean; %q is", w.Path, p)
		}
		if i > 0 && out[i-1].Path.Compare(p) >= 0 {
			return nil, fmt.Errorf("rules for %s and %s are out of order or the same", out[i-1].Path, p)
		}
		out = append(out, Rule{p, w.Only, w.Optional, w.Origin})
	}
	return out, nil
}
