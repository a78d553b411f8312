package landlock

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/obspc/obspc/compiler/canon"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang/diag"
)

// Schema names the format of landlock.json.
const Schema = "obspc.landlock/v2"

type (
	wireRules struct {
		Schema  string      `json:"schema"`
		Policy  string      `json:"policy"`
		Needs   int         `json:"needs"`
		Levels  []wireLevel `json:"levels"`
		Execute []wireRule  `json:"execute,omitempty"`
		Read    []wireRule  `json:"read,omitempty"`
		Write   []wireRule  `json:"write,omitempty"`
	}
	wireLevel struct {
		ABI     int      `json:"abi"`
		Files   []string `json:"files,omitempty"`
		Scopes  []string `json:"scopes,omitempty"`
		Logging []string `json:"logging,omitempty"`
	}
	wireRule struct {
		Path     string    `json:"path"`
		Only     bool      `json:"only,omitempty"`
		Optional bool      `json:"optional,omitempty"`
		Origin   ir.Origin `json:"origin"`
	}
)

// JSON is landlock.json: canonical, so the same rules have the same bytes. It
// states the ABI that the kernel must have (0: none), and for each ABI what is
// asked for in addition where the kernel has it.
func (r *Rules) JSON() []byte {
	w := wireRules{
		Schema: Schema, Policy: r.Policy, Needs: r.Needs(), Levels: r.wireLevels(),
		Execute: toWire(r.Execute), Read: toWire(r.Read), Write: toWire(r.Write),
	}
	data, err := canon.Marshal(w)
	if err != nil {
		diag.Bug("landlock.json of %s: %v", r.Policy, err)
	}
	return data
}

func (r *Rules) wireLevels() []wireLevel {
	var out []wireLevel
	for _, l := range r.Levels() {
		out = append(out, wireLevel{l.ABI, l.Names(File, Directory), l.Names(Scope), l.Names(Logging)})
	}
	return out
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
	r := &Rules{Policy: w.Policy, Programs: w.Needs == ABI}
	switch {
	case w.Needs != r.Needs():
		return nil, fmt.Errorf("needs ABI %d, which no policy does", w.Needs)
	case !reflect.DeepEqual(w.Levels, r.wireLevels()):
		return nil, fmt.Errorf("asks for %v, this version asks for %v", w.Levels, r.wireLevels())
	case !r.Programs && len(w.Execute) > 0:
		return nil, errors.New("lets everything start, and has rules for it")
	}
	for _, list := range []struct {
		to   *[]Rule
		from []wireRule
	}{{&r.Execute, w.Execute}, {&r.Read, w.Read}, {&r.Write, w.Write}} {
		var err error
		if *list.to, err = fromWire(list.from); err != nil {
			return nil, err
		}
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
		if !p.Is(w.Path) {
			return nil, fmt.Errorf("path %q is not clean; %q is", w.Path, p)
		}
		if i > 0 && out[i-1].Path.Compare(p) >= 0 {
			return nil, fmt.Errorf("rules for %s and %s are out of order or the same", out[i-1].Path, p)
		}
		out = append(out, Rule{p, w.Only, w.Optional, w.Origin})
	}
	return out, nil
}
