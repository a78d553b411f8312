package ir

import (
	"fmt"

	"github.com/obspc/obspc/compiler/canon"
)

// Schema names the format of ir.json.
const Schema = "obspc.ir/v1"

// JSON is the policy's canonical text: the same meaning has the same bytes.
func (p *Policy) JSON() []byte {
	data, err := canon.Marshal(p.wire())
	if err != nil {
		panic(fmt.Sprintf("bug in obspc: ir.Policy %s holds what Check refuses: %v", p.Name, err))
	}
	return data
}

// ParseJSON reads ir.json strictly: what it accepts is what JSON writes, and it
// passes Check.
func ParseJSON(data []byte) (*Policy, error) {
	var w wirePolicy
	if err := canon.Unmarshal(data, &w); err != nil {
		return nil, fmt.Errorf("ir.json: %w", err)
	}
	if w.Schema != Schema {
		return nil, fmt.Errorf("ir.json: schema is %q, this version reads %q", w.Schema, Schema)
	}
	p, err := w.policy()
	if err != nil {
		return nil, fmt.Errorf("ir.json: %w", err)
	}
	if err := p.Check(); err != nil {
		return nil, fmt.Errorf("ir.json: %w", err)
	}
	return p, nil
}

// The wire types are ir.json's shape: one struct for each object, members named
// as they stand in the file.
type (
	wirePolicy struct {
		Schema      string         `json:"schema"`
		Policy      string         `json:"policy"`
		Version     int64          `json:"version"`
		Targets     []Target       `json:"targets"`
		Workspace   WorkspaceKind  `json:"workspace,omitempty"`
		Files       []wireFile     `json:"files,omitempty"`
		Execute     []wireExecute  `json:"execute,omitempty"`
		Unix        wireUnix       `json:"unix"`
		Loopback    *wireLoopback  `json:"loopback,omitempty"`
		Endpoints   []EndpointJSON `json:"endpoints,omitempty"`
		DeniedHosts []HostJSON     `json:"deniedHosts,omitempty"`
		Environment []wireVariable `json:"environment,omitempty"`
		Limits      []wireLimit    `json:"limits,omitempty"`
		Syscalls    []wireSyscall  `json:"syscalls,omitempty"`
		Services    []wireName     `json:"services,omitempty"`
		Sysctls     []wireName     `json:"sysctls,omitempty"`
		IPC         []wireName     `json:"ipc,omitempty"`
		IOKit       []wireName     `json:"iokit,omitempty"`
		Commands    []CommandJSON  `json:"commands,omitempty"`
		Waivers     []wireWaiver   `json:"waivers,omitempty"`
	}
	wireFile struct {
		Path     string  `json:"path"`
		Level    string  `json:"level"`
		Only     bool    `json:"only,omitempty"`
		Optional bool    `json:"optional,omitempty"`
		Backing  Backing `json:"backing,omitempty"`
		Size     int64   `json:"size,omitempty"`
		Origin   Origin  `json:"origin"`
	}
	wireExecute struct {
		Path     string `json:"path"`
		Only     bool   `json:"only,omitempty"`
		Optional bool   `json:"optional,omitempty"`
		Origin   Origin `json:"origin"`
	}
	wireUnix struct {
		Sockets string `json:"sockets"`
		Origin  Origin `json:"origin"`
	}
	wireLoopback struct {
		Machine bool   `json:"machine"` // always true: the sandbox's own is what stands in no file
		Origin  Origin `json:"origin"`
	}
	wireVariable struct {
		Name   string     `json:"name"`
		Value  []PartJSON `json:"value"`
		Origin Origin     `json:"origin"`
	}
	wireLimit struct {
		Name   LimitName `json:"name"`
		Value  int64     `json:"value"`
		Scope  Scope     `json:"scope,omitempty"`
		Origin Origin    `json:"origin"`
	}
	wireSyscall struct {
		Name   string `json:"name"`
		Answer string `json:"answer"` // allow or deny
		Origin Origin `json:"origin"`
	}
	wireName struct {
		Name   string `json:"name"`
		Origin Origin `json:"origin"`
	}
	wireWaiver struct {
		Target  Target  `json:"target"`
		Feature Feature `json:"feature"`
		Reason  string  `json:"reason"`
		Origin  Origin  `json:"origin"`
	}
)
