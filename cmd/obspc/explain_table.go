package main

import (
	"encoding/json"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/targets/bwrap/cmdline"
)

// tableSchema names the JSON form of what a command line of bwrap makes.
const tableSchema = "obspc.bwrap-table/v1"

type tableJSON struct {
	Schema       string            `json:"schema"`
	Artifact     string            `json:"artifact"`
	Needs        string            `json:"needs"`
	Mounts       []mountJSON       `json:"mounts"`
	Namespaces   map[string]string `json:"namespaces"`
	Environment  environmentJSON   `json:"environment"`
	Capabilities map[string]string `json:"capabilities"`
	Directory    string            `json:"directory,omitempty"`
	Hostname     string            `json:"hostname,omitempty"`
	NewSession   bool              `json:"newSession"`
	DieWithin    bool              `json:"dieWithParent"`
	NoUserns     bool              `json:"noUserNamespaces"`
	Seccomp      []string          `json:"seccomp,omitempty"`
	Command      []string          `json:"command,omitempty"`
}

type mountJSON struct {
	Path     string `json:"path"`
	Kind     string `json:"kind"`
	Writable bool   `json:"writable"`
	Source   string `json:"source,omitempty"`
	Certain  bool   `json:"certain"`
	Hidden   bool   `json:"hidden,omitempty"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Option   string `json:"option,omitempty"`
}

type environmentJSON struct {
	Inherited bool           `json:"inherited"`
	Unset     []string       `json:"unset,omitempty"`
	Set       []variableJSON `json:"set,omitempty"`
}

type variableJSON struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// writeTable shows what a command line makes, when nothing is asked.
func (a *artifact) writeTable(c *cli.Context, command *cmdline.Command, asJSON bool) error {
	if !asJSON {
		_, err := fmt.Fprint(c.App.Writer, diag.Visible(command.Table()))
		return err
	}
	out := tableJSON{
		Schema: tableSchema, Artifact: a.name, Needs: command.Needs.String(), Namespaces: map[string]string{"mount": "yes"},
		Environment:  environmentJSON{Inherited: command.Environment.Inherited, Unset: command.Environment.Unset},
		Capabilities: map[string]string{"root": command.Capabilities.Root.String(), "others": command.Capabilities.User.String()},
		Directory:    command.Directory, Hostname: command.Hostname, NewSession: command.NewSession, DieWithin: command.DieWithin,
		NoUserns: command.NoUserns, Seccomp: command.Seccomp, Command: command.Argv,
	}
	for _, m := range command.Mounts() {
		j := mountJSON{Path: m.Path, Kind: string(m.Kind), Writable: m.Writable, Source: m.Source, Certain: m.Certain, Hidden: m.Hidden}
		if m.Op != nil {
			j.Line, j.Column, j.Option = m.Op.At.Start.Line, m.Op.At.Start.Column, m.Op.String()
		}
		out.Mounts = append(out.Mounts, j)
	}
	for _, n := range command.Namespaces {
		out.Namespaces[n.Name] = n.State.String()
	}
	for _, v := range command.Environment.Set {
		out.Environment.Set = append(out.Environment.Set, variableJSON{v.Name, v.Value})
	}
	enc := json.NewEncoder(c.App.Writer)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}
