package runtime

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang/diag"
)

// ExaminationSchema names the JSON form of an Examination.
const ExaminationSchema = "obspc.doctor/v1"

// State is how a finding came out.
type State string

// OK: as a run needs it. Limited: some policies are refused here, the finding says
// which. Missing: no run is started here. Unknown: it could not be found out, and
// what is not known is refused like what is missing.
const (
	OK      State = "ok"
	Limited State = "limited"
	Missing State = "missing"
	Unknown State = "unknown"
)

// Finding is one thing that runs need of the machine: what was found, and what to
// do about it unless it is OK.
type Finding struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	Found string `json:"found"`
	Help  string `json:"help,omitempty"`
}

// The checks of Examine, as findings name them.
const (
	theKernel      = "kernel"
	theCaller      = "caller"
	theTool        = "bubblewrap"
	userNamespaces = "user-namespaces"
	seccompFilter  = "seccomp"
	theLandlock    = "landlock"
	theHome        = "home"
	theLimits      = "limits"
	theSandbox     = "sandbox"
)

// Examination is whether this machine can run sandboxes, and the policies that
// were asked about. The checks are those of a run, made by the same code.
type Examination struct {
	Schema   string              `json:"schema"`
	Obsrun   string              `json:"obsrun"` // version
	System   string              `json:"system"`
	Arch     string              `json:"arch"`
	Can      bool                `json:"ok"` // nothing is missing, unknown or refused
	Findings []Finding           `json:"findings"`
	Policies []PolicyExamination `json:"policies,omitempty"`
}

// PolicyExamination is how a policy comes out on this machine. Refusal is nil when
// its sandbox could be set up.
type PolicyExamination struct {
	Policy  string            `json:"policy"`
	Binding map[string]string `json:"binding,omitempty"` // slot → path
	Paths   []PathExamination `json:"paths"`
	Refusal *RefusalText      `json:"refusal,omitempty"`
}

// RefusalText is a Refusal for readers of JSON.
type RefusalText struct {
	Code   Code   `json:"code"`
	Reason string `json:"reason"`
	Help   string `json:"help,omitempty"`
}

// Fate is what becomes of a rule on this machine.
type Fate string

// Kept: as the policy says. Unsaid: it is optional and the path is missing, so it
// grants nothing. Held: the path is missing, and stays so. Own: the sandbox has
// its own there, whatever the machine has. Rejected: the run is refused for it.
const (
	Kept     Fate = "kept"
	Unsaid   Fate = "unsaid"
	Held     Fate = "held"
	Own      Fate = "own"
	Rejected Fate = "refused"
)

// PathExamination is one rule of a policy and what stands at its path. Statement
// is where the policy states it; who has the policy's text fills in File, Line and
// Column. Real is where the path leads when there are links on the way.
type PathExamination struct {
	Rule      string            `json:"rule"`
	Statement string            `json:"statement"`
	File      string            `json:"file,omitempty"`
	Line      int               `json:"line,omitempty"`
	Column    int               `json:"column,omitempty"`
	Path      string            `json:"path"`
	Kind      string            `json:"kind,omitempty"` // of what it leads to
	Real      string            `json:"real,omitempty"`
	Links     []LinkExamination `json:"links,omitempty"`
	Fate      Fate              `json:"fate"`
	Reason    string            `json:"reason,omitempty"`
	Help      string            `json:"help,omitempty"`
}

// LinkExamination is a link on the way to a path. System: only root could have
// made it; another one refuses the run.
type LinkExamination struct {
	At     string `json:"at"`
	Target string `json:"target"`
	System bool   `json:"system"`
}

// ExitCode is 0 when the machine can, and 3 when it cannot (design 9).
func (e *Examination) ExitCode() int {
	if e.Can {
		return 0
	}
	return int(Machine)
}

// Conclude decides whether the machine can, from everything that was found.
func (e *Examination) Conclude() {
	e.Can = true
	for _, f := range e.Findings {
		e.Can = e.Can && (f.State == OK || f.State == Limited)
	}
	for _, p := range e.Policies {
		e.Can = e.Can && p.Refusal == nil
	}
}

// JSON is the examination as it is written: one indented object and a newline.
func (e *Examination) JSON() []byte {
	text, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		diag.Bug("an examination holds what JSON cannot: %v", err)
	}
	return append(text, '\n')
}

// WriteText writes the examination for people. Rules that no policy of the user
// states are counted, but for those that refuse a run; with templates each has its
// line.
func (e *Examination) WriteText(w io.Writer, templates bool) error {
	var b strings.Builder
	for _, f := range e.Findings {
		fmt.Fprintf(&b, "%-8s %-16s %s\n", f.State, f.Name, f.Found)
		writeHelp(&b, 25, f.Help)
	}
	for _, p := range e.Policies {
		p.writeText(&b, templates)
	}
	b.WriteString("\n" + e.verdict() + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func (e *Examination) verdict() string {
	switch {
	case !e.Can && len(e.Policies) > 0:
		return "not all of this can run here"
	case !e.Can:
		return "no sandbox can run here"
	case len(e.Policies) > 0:
		return "all of this can run here"
	}
	return "sandboxes can run here"
}

func writeHelp(b *strings.Builder, indent int, help string) {
	if help != "" {
		fmt.Fprintf(b, "%*s= help: %s\n", indent, "", help)
	}
}

func (p *PolicyExamination) writeText(b *strings.Builder, templates bool) {
	fmt.Fprintf(b, "\npolicy %s\n", p.Policy)
	for _, slot := range ir.Slots() {
		if at, ok := p.Binding[slot.String()]; ok {
			fmt.Fprintf(b, "  ${%s} is %s\n", slot, at)
		}
	}
	folded := map[Fate]int{}
	for i := range p.Paths {
		if r := &p.Paths[i]; templates || r.Fate == Rejected || r.own() {
			r.writeText(b)
		} else {
			folded[r.Fate]++
		}
	}
	if len(folded) > 0 {
		fmt.Fprintf(b, "  and of embedded templates: %d kept, %d unsaid, %d held, %d the sandbox's own\n", folded[Kept], folded[Unsaid], folded[Held], folded[Own])
	}
	if p.Refusal == nil {
		b.WriteString("  its sandbox was set up, and taken down again\n")
		return
	}
	fmt.Fprintf(b, "  refused: %s\n", p.Refusal.Reason)
	writeHelp(b, 11, p.Refusal.Help)
}

// own reports whether the rule is stated in a policy of the user, and not by an
// embedded template or by obspc.
func (p *PathExamination) own() bool {
	return !strings.HasPrefix(p.Statement, "std/") && !strings.HasPrefix(p.Statement, "builtin/")
}

func (p *PathExamination) writeText(b *strings.Builder) {
	fmt.Fprintf(b, "  %-8s %s", p.Fate, p.Rule)
	if !strings.Contains(p.Rule, p.Path) {
		fmt.Fprintf(b, " = %s", p.Path)
	}
	if p.Kind != "" {
		fmt.Fprintf(b, " (%s)", p.Kind)
	}
	if p.File != "" {
		fmt.Fprintf(b, ", %s:%d:%d", p.File, p.Line, p.Column)
	}
	b.WriteByte('\n')
	for _, l := range p.Links {
		whose := "only root could have made it"
		if !l.System {
			whose = "not only root could have made it"
		}
		fmt.Fprintf(b, "           link %s to %s: %s\n", l.At, l.Target, whose)
	}
	if p.Real != "" {
		fmt.Fprintf(b, "           leads to %s\n", p.Real)
	}
	if p.Reason != "" {
		fmt.Fprintf(b, "           %s\n", p.Reason)
	}
	writeHelp(b, 11, p.Help)
}

// text is the refusal for readers of JSON; nil of none.
func (r *Refusal) text() *RefusalText {
	if r == nil {
		return nil
	}
	return &RefusalText{r.Code, r.Message, r.Help}
}
