package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/targets/bwrap/cmdline"
)

// artifactSchema names the JSON form of an answer about an artifact.
const artifactSchema = "obspc.explain-artifact/v1"

// artifactAnswer is what explain says about an artifact, in the shape of its JSON
// form.
type artifactAnswer struct {
	Schema   string         `json:"schema"`
	Artifact string         `json:"artifact"`
	Kind     string         `json:"kind"`
	Release  string         `json:"release,omitempty"`
	Query    query          `json:"query"`
	Decision string         `json:"decision"`
	Reason   string         `json:"reason"`
	Rule     *artifactRule  `json:"rule"`
	Host     string         `json:"host,omitempty"`
	Assumes  []string       `json:"assumes,omitempty"`
	Unknown  []string       `json:"unknown,omitempty"`
	Cases    []artifactCase `json:"cases,omitempty"`
	Steps    []artifactStep `json:"steps,omitempty"`
	Note     string         `json:"note,omitempty"`
}

// artifactRule is what of the artifact decides.
type artifactRule struct {
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	Text   string `json:"text"`
}

func (r *artifactRule) String() string {
	if r.Line == 0 {
		return r.Text
	}
	return fmt.Sprintf("%s at %s:%d:%d", r.Text, r.File, r.Line, r.Column)
}

// artifactCase is the answer under some facts about the machine.
type artifactCase struct {
	If       []string      `json:"if"`
	Decision string        `json:"decision"`
	Reason   string        `json:"reason"`
	Rule     *artifactRule `json:"rule"`
	Host     string        `json:"host,omitempty"`
}

// artifactStep is one operation that macOS asks a profile about.
type artifactStep struct {
	Operation string        `json:"operation"`
	Decision  string        `json:"decision"`
	Reason    string        `json:"reason,omitempty"`
	Rule      *artifactRule `json:"rule"`
	Asked     []string      `json:"asked"`
	Unknown   []string      `json:"unknown,omitempty"`
	Perhaps   []string      `json:"perhaps,omitempty"`
}

func (a artifactAnswer) write(w io.Writer, asJSON bool) error {
	if !asJSON {
		var text strings.Builder
		a.writeText(&text)
		_, err := io.WriteString(w, diag.Visible(text.String()))
		return err
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(a)
}

func (a artifactAnswer) writeText(w io.Writer) {
	fmt.Fprintf(w, "%s: %s %s\n  because %s\n", a.Decision, a.Query.Kind, a.Query.Value, a.Reason)
	if a.Rule != nil {
		fmt.Fprintf(w, "  rule    %s\n", a.Rule)
	}
	if a.Host != "" && a.Host != a.Query.Value {
		fmt.Fprintf(w, "  host    %s\n", a.Host)
	}
	lines(w, "if", a.Assumes)
	lines(w, "unknown", a.Unknown)
	for _, k := range a.Cases {
		fmt.Fprintf(w, "  %-9s if %s: %s\n", k.Decision, strings.Join(k.If, "; "), k.Reason)
		if k.Rule != nil {
			fmt.Fprintf(w, "            by %s\n", k.Rule)
		}
	}
	writeSteps(w, a.Steps)
	if a.Note != "" {
		fmt.Fprintf(w, "  note    %s\n", a.Note)
	}
}

// writeSteps writes the operations, those that are answered alike together.
func writeSteps(w io.Writer, steps []artifactStep) {
	for i := 0; i < len(steps); {
		s, n := steps[i], i
		var names []string
		for ; n < len(steps) && steps[n].answer() == s.answer(); n++ {
			names = append(names, steps[n].Operation)
		}
		i = n
		fmt.Fprintf(w, "  %s: %s\n%s", strings.Join(names, ", "), s.Decision, s.answer())
		if len(s.Asked) > 1 {
			fmt.Fprintf(w, "    asked: %s\n", strings.Join(s.Asked, " → "))
		}
	}
}

// answer is how a step came about, a line each.
func (s artifactStep) answer() string {
	var b strings.Builder
	switch {
	case s.Rule != nil:
		fmt.Fprintf(&b, "    by %s\n", s.Rule)
	case s.Reason != "":
		fmt.Fprintf(&b, "    %s\n", s.Reason)
	}
	for _, p := range s.Perhaps {
		fmt.Fprintf(&b, "    perhaps %s\n", p)
	}
	return b.String()
}

// lines writes a list with one word before its first element.
func lines(w io.Writer, word string, list []string) {
	for _, text := range list {
		fmt.Fprintf(w, "  %-7s %s\n", word, text)
		word = ""
	}
}

// explainArtifact answers about --sbpl or --bwrap, if it could be read.
func explainArtifact(c *cli.Context, a *artifact, isProfile bool, err error) error {
	if err != nil {
		return err
	}
	if c.Bool("why-not") {
		return wrongCall("--why-not is about policies")
	}
	asJSON, err := wantsJSON(c)
	if err != nil {
		return err
	}
	words := c.Args().Slice()
	if by := c.String("by"); by != "" {
		words = append(words, "by", by)
	}
	if isProfile {
		return a.explainProfile(c, words, asJSON)
	}
	command, list := cmdline.Read(a.name, a.text, a.bwrap)
	if list.HasErrors() {
		return a.refused(c, list, asJSON)
	}
	if err := a.warnOfMore(c, list); err != nil {
		return err
	}
	if len(words) == 0 {
		return a.writeTable(c, command, asJSON)
	}
	request, err := a.request(words)
	if err != nil {
		return err
	}
	return a.commandLineAnswer(command, request).write(c.App.Writer, asJSON)
}

// warnOfMore shows that answers are about the first command of several.
func (a *artifact) warnOfMore(c *cli.Context, list diag.List) error {
	var more diag.List
	for _, d := range list {
		if d.Code == cmdline.MoreCommands {
			more.Add(d)
		}
	}
	_, err := a.show(c, more, false)
	return err
}

// request reads the words of a request and puts bound slots into it.
func (a *artifact) request(words []string) (ir.Request, error) {
	r, err := ir.ParseRequest(words)
	if err != nil {
		return r, wrongPath(err, "a path that begins with /")
	}
	r.Path, r.To, r.By = a.binding.Path(r.Path), a.binding.Path(r.To), a.binding.Path(r.By)
	return r, nil
}

func (a *artifact) commandLineAnswer(command *cmdline.Command, r ir.Request) artifactAnswer {
	d := command.Decide(r)
	out := artifactAnswer{
		Schema: artifactSchema, Artifact: a.name, Kind: "bwrap", Query: queryOf(r),
		Decision: d.Decision.String(), Reason: d.Because, Rule: operationAt(d.By), Host: d.Host, Assumes: d.Assumes, Unknown: d.Unknown,
	}
	if a.bwrap.Release != (cmdline.Version{}) {
		out.Release = a.bwrap.Release.String()
	}
	for _, k := range d.Cases {
		out.Cases = append(out.Cases, artifactCase{k.If, k.Decision.String(), k.Because, operationAt(k.By), k.Host})
	}
	return out
}

// queryOf is a request as it is asked, slots bound.
func queryOf(r ir.Request) query {
	return query{Kind: string(r.Kind), Value: strings.TrimPrefix(r.String(), string(r.Kind)+" ")}
}

func operationAt(op *cmdline.Operation) *artifactRule {
	if op == nil {
		return nil
	}
	return ruleIn(op.At, op.String())
}

func ruleIn(at diag.Range, text string) *artifactRule {
	return &artifactRule{at.File, at.Start.Line, at.Start.Column, text}
}
