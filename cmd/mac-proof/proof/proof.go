// Package proof is the record of what one Mac did: for each request, what the policy
// means, what the model of the profile says, and what the kernel answered. Its one
// rule: a record has one text, and every request in it was tried or says why not.
// How requests are tried is in package live.
package proof

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Schema names the form.
const Schema = "obspc.mac-proof/v1"

// Proof is a record. Policies are sorted by name, probes by policy and request.
type Proof struct {
	Schema   string   `json:"schema"`
	MacOS    Machine  `json:"macos"`
	Commit   string   `json:"commit"` // of obspc, as git describe writes it: "-dirty" when it was changed
	Date     string   `json:"date"`   // day in UTC, as in 2027-01-31
	Policies []Policy `json:"policies"`
	Probes   []Probe  `json:"probes"`
}

// Machine is the Mac: product version ("15.5"), build ("24F74"), architecture of
// the programs as Go names it.
type Machine struct {
	Version string `json:"version"`
	Build   string `json:"build"`
	Arch    string `json:"arch"`
}

// Policy is a policy that was tried. Profile is the SHA-256 of its own profile, in
// hex; Added is what it was given so that attempts start under it; Why is why no
// attempt did; Rejected tells that macOS refused the profile.
type Policy struct {
	Name     string `json:"name"`
	Profile  string `json:"profile"`
	Added    string `json:"added,omitempty"`
	Why      string `json:"why,omitempty"`
	Rejected bool   `json:"rejected,omitempty"`
}

// Probe is one request. Decide and Model are "allow", "deny" or, of the model,
// "undecided", and "" where there is none. Control is the attempt outside: "allow",
// an error's name, or "" if it was not made. Kernel is "allow", "deny" with Errno, or
// "" with the reason in Why.
type Probe struct {
	Policy  string `json:"policy"`
	Request string `json:"request"`
	Decide  string `json:"decide"`
	Model   string `json:"model"`
	Control string `json:"control"`
	Kernel  string `json:"kernel"`
	Errno   string `json:"errno,omitempty"`
	Why     string `json:"why,omitempty"`
}

// Sort brings policies and probes into their order.
func (p *Proof) Sort() {
	slices.SortFunc(p.Policies, func(x, y Policy) int { return cmp.Compare(x.Name, y.Name) })
	slices.SortFunc(p.Probes, compare)
}

func compare(x, y Probe) int {
	return cmp.Or(cmp.Compare(x.Policy, y.Policy), cmp.Compare(x.Request, y.Request))
}

// Marshal is the record's one text: JSON with a line for each policy and probe, so
// that a difference shows what differs.
func (p *Proof) Marshal() ([]byte, error) {
	var b bytes.Buffer
	line := func(prefix string, v any, suffix string) error {
		b.WriteString(prefix)
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(v); err != nil {
			return err
		}
		b.Truncate(b.Len() - 1) // the encoder's newline
		b.WriteString(suffix)
		return nil
	}
	err := errors.Join(
		line("{\n  \"schema\": ", p.Schema, ",\n"), line("  \"macos\": ", p.MacOS, ",\n"),
		line("  \"commit\": ", p.Commit, ",\n"), line("  \"date\": ", p.Date, ",\n"),
	)
	b.WriteString("  \"policies\": [")
	for i, policy := range p.Policies {
		err = errors.Join(err, line(separator(i), policy, ""))
	}
	b.WriteString("\n  ],\n  \"probes\": [")
	for i, probe := range p.Probes {
		err = errors.Join(err, line(separator(i), probe, ""))
	}
	b.WriteString("\n  ]\n}\n")
	return b.Bytes(), err
}

func separator(i int) string {
	if i == 0 {
		return "\n    "
	}
	return ",\n    "
}

// Parse reads a record strictly: a text that Marshal would not have written is
// refused. What it says is for Malformed, Escapes and Rejected to judge.
func Parse(data []byte) (*Proof, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var p Proof
	if err := dec.Decode(&p); err != nil {
		return nil, fmt.Errorf("no record of a Mac: %w", err)
	}
	if p.Schema != Schema {
		return nil, fmt.Errorf("no record of a Mac: its schema is %q, not %q", p.Schema, Schema)
	}
	again, err := p.Marshal()
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(again, data) {
		return nil, errors.New("the record of a Mac was not written by make mac-proof, or was changed since")
	}
	return &p, nil
}
