package main

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/obspc/obspc/compiler"
	"github.com/obspc/obspc/targets"
)

// matrixSchema names the JSON form of the table.
const matrixSchema = "obspc.matrix/v1"

func matrixCommand() *cli.Command {
	return &cli.Command{
		Name:      "matrix",
		Usage:     "show which layer of which target enforces each statement, and how well",
		ArgsUsage: "PATH",
		Description: `One line for each statement of each policy, what obspc adds included; those of
embedded templates share lines. Unless a line says otherwise, the layer keeps
the statement exactly. tighter: the target denies more; attribution: it limits
honest programs and is no boundary; absent: the target cannot keep it, so the
policy does not compile; waived: a waive block accepts that. Limits bound the
whole run or each process. Where the kernel has Landlock, it keeps below the
mounts once more what the policy reads and writes (docs/landlock.md).

   obspc matrix .
   obspc matrix . --policy payment-batch --format markdown
   obspc matrix . --format json`,
		Flags: []cli.Flag{
			policyFlag("only the policy `NAME`"),
			&cli.BoolFlag{Name: "templates", Usage: "one line for each statement of embedded templates too (json always has them)"},
			varFlag(),
			&cli.StringFlag{Name: "format", Value: "text", Usage: "write results as `FORMAT`: text, markdown or json"},
		},
		Action: matrix,
	}
}

func matrix(c *cli.Context) error {
	path, err := oneArgument(c, "PATH")
	if err != nil {
		return err
	}
	write, ok := map[string]func(io.Writer, []table, bool) error{"text": textTables, "markdown": markdownTables, "json": jsonTables}[c.String("format")]
	if !ok {
		return wrongCall("there is no format %q; write text, markdown or json", c.String("format"))
	}
	conf, err := load(c, path)
	if err != nil {
		return err
	}
	if conf.diags.HasErrors() {
		return conf.report(c, false)
	}
	results := conf.results
	if name := c.String("policy"); name != "" {
		chosen, err := conf.choose(name)
		if err != nil {
			return err
		}
		results = []compiler.Result{chosen}
	}
	var tables []table
	for _, r := range results {
		tables = append(tables, conf.table(r))
	}
	return write(c.App.Writer, tables, c.Bool("templates"))
}

// table is the matrix of one policy, in the shape of its JSON form.
type table struct {
	Policy  string   `json:"policy"`
	Version int64    `json:"version"`
	Targets []string `json:"targets"`
	Rows    []row    `json:"rows"`
}

type row struct {
	Statement string          `json:"statement"`
	Section   string          `json:"section"`
	Text      string          `json:"text"`
	File      string          `json:"file,omitempty"`
	Line      int             `json:"line,omitempty"`
	Column    int             `json:"column,omitempty"`
	Targets   map[string]cell `json:"targets"`

	embedded bool
}

type cell struct {
	Capability string   `json:"capability"`
	Layers     []string `json:"layers"`
	Scope      string   `json:"scope,omitempty"`
	Notes      []note   `json:"notes,omitempty"`
}

type note struct {
	Feature    string `json:"feature"`
	Capability string `json:"capability"`
	Text       string `json:"text"`
	Reason     string `json:"reason,omitempty"`
}

func (conf *configuration) table(r compiler.Result) table {
	p := r.Policy
	t := table{Policy: p.Name, Version: p.Version}
	for _, target := range p.Targets {
		t.Targets = append(t.Targets, string(target))
	}
	for _, have := range targets.Matrix(p) {
		out := row{Statement: string(have.Origin), Section: have.Section, Text: have.Text, Targets: map[string]cell{}}
		if !strings.HasPrefix(out.Statement, "builtin/") {
			at := conf.place(r.Ranges[have.Origin])
			out.File, out.Line, out.Column = at.File, at.Start.Line, at.Start.Column
			_, own := conf.config.Sources[r.Ranges[have.Origin].File]
			out.embedded = !own
		}
		for _, c := range have.Cells {
			out.Targets[string(c.Target)] = newCell(c)
		}
		t.Rows = append(t.Rows, out)
	}
	return t
}

func newCell(c targets.Cell) cell {
	out := cell{Capability: c.Capability.String(), Layers: append([]string{}, c.Layers...), Scope: string(c.Scope)}
	if c.Waived {
		out.Capability = "waived"
	}
	for _, n := range c.Notes {
		out.Notes = append(out.Notes, note{string(n.Feature), n.Capability.String(), n.Text, n.Reason})
	}
	return out
}

func jsonTables(w io.Writer, tables []table, _ bool) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		Schema   string  `json:"schema"`
		Policies []table `json:"policies"`
	}{matrixSchema, tables})
}
