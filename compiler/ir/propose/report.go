package propose

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang/diag"
)

// Schema names the format of a report in JSON.
const Schema = "obspc.trace/v1"

// Report is what was denied in one run, and what an author may add.
type Report struct {
	Schema string    `json:"schema"`
	Policy string    `json:"policy"`
	Target ir.Target `json:"target"` // whose words Calls are
	// Accesses that the policy denies.
	Denied []Denied `json:"denied"`
	// Tighter are accesses that failed though the policy allows them and this machine
	// would have.
	Tighter []Tried `json:"tighter"`
	// Calls are what no request word is about: on Linux system calls that the policy's
	// seccomp program refuses, of Seatbelt operations.
	Calls []Call `json:"calls"`
	// Missing counts denied accesses to what this machine does not have either,
	// Unnamed those to names that no policy can state, Untold those that were too many
	// to tell apart, Unread lines of a log whose form is not known.
	Missing int `json:"missing"`
	Unnamed int `json:"unnamed"`
	Untold  int `json:"untold"`
	Unread  int `json:"unread"`
	// HCL is all that is proposed, each once, to be merged into the policy's blocks;
	// its comments say what leaves another list.
	HCL string `json:"hcl"`
}

// Query is a request as explain writes it.
type Query struct {
	Kind  string `json:"kind"`
	Value string `json:"value"`
}

// Tried is one access.
type Tried struct {
	Query   Query  `json:"query"`
	Program string `json:"program"`
	Errno   string `json:"errno"`
	Count   int    `json:"count"`
}

// Denied is one access with the statement that decided, nil when none speaks of it,
// and either lines to add or why there are none.
type Denied struct {
	Tried
	Reason   ir.Reason `json:"reason"`
	Rule     *RuleAt   `json:"rule"`
	Add      []Line    `json:"add"`
	Withheld string    `json:"withheld,omitempty"`
}

// RuleAt is a statement and its place; File and Line are not known without the
// policy's map.
type RuleAt struct {
	Text      string `json:"text"`
	Statement string `json:"statement"`
	File      string `json:"file,omitempty"`
	Line      int    `json:"line,omitempty"`
}

// Line is one element of a list, or an endpoint (its whole block is in HCL). Endpoint
// is the one that the list belongs to: its ports, or its allow blocks.
type Line struct {
	List     string `json:"list"`
	Element  string `json:"element"`
	Instead  string `json:"instead,omitempty"`
	Endpoint string `json:"endpoint,omitempty"`
}

// Call is a refused system call or operation. What is what it asked for, where that
// is told.
type Call struct {
	Name    string `json:"name"`
	What    string `json:"what,omitempty"`
	Program string `json:"program"`
	Errno   string `json:"errno"`
	Count   int    `json:"count"`
	// Rule is the policy's statement that denies it; nil where no sandbox may call it.
	Rule *RuleAt `json:"rule,omitempty"`
	Add  []Line  `json:"add,omitempty"` // to the policy's system block
}

// NewReport is what For found, for people. Place says where a statement stands,
// false when that is not known.
func NewReport(s Setting, target ir.Target, list []Finding, place func(ir.Origin) (file string, line int, ok bool)) *Report {
	r := &Report{Schema: Schema, Policy: s.Policy.Name, Target: target, Denied: []Denied{}, Tighter: []Tried{}, Calls: []Call{}}
	for _, f := range list {
		if f.Machine.Missing {
			r.Missing += f.Count
			continue
		}
		d := Denied{Tried: TriedOf(s.Binding, f.Access), Reason: f.Decision.Reason, Withheld: f.Withheld, Add: []Line{}}
		if rule := f.Decision.Rule; rule != nil {
			d.Rule = RuleFor(rule, place)
		}
		for _, a := range f.Add {
			d.Add = append(d.Add, a.Line())
		}
		r.Denied = append(r.Denied, d)
	}
	r.HCL = HCL(Merge(list))
	return r
}

// RuleFor is the rule as a report has it.
func RuleFor(rule ir.Rule, place func(ir.Origin) (file string, line int, ok bool)) *RuleAt {
	out := &RuleAt{Text: rule.String(), Statement: string(rule.From())}
	if file, line, ok := place(rule.From()); ok {
		out.File, out.Line = file, line
	}
	return out
}

// TriedOf is an access with its paths as an author writes them.
func TriedOf(b ir.Binding, a Access) Tried {
	r := a.Request
	r.Path, r.To = Stated(b, r.Path), Stated(b, r.To)
	r.HasBy = false // the program stands beside it
	kind, value, _ := strings.Cut(r.String(), " ")
	return Tried{Query{kind, value}, a.Program, a.Errno, a.Count}
}

// Line is the addition in a report.
func (a Addition) Line() Line {
	if a.Endpoint != nil {
		return a.endpointLine()
	}
	return Line{List: a.List, Element: a.Element(), Instead: a.Instead}
}

// JSON is the report as one indented object and a newline.
func (r *Report) JSON() []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(r); err != nil {
		diag.Bug("a trace holds what JSON cannot: %v", err)
	}
	return b.Bytes()
}

// Text writes the report for people. Lead stands before each of its sentences.
func (r *Report) Text(w io.Writer, lead string) {
	say := func(format string, args ...any) { fmt.Fprintf(w, lead+format+"\n", args...) }
	switch len(r.Denied) {
	case 0:
		say("policy %s denied nothing that this machine has", r.Policy)
	case 1:
		say("policy %s denied one access", r.Policy)
	default:
		say("policy %s denied %d accesses", r.Policy, len(r.Denied))
	}
	for _, d := range r.Denied {
		fmt.Fprintf(w, "  %s\n    %s\n", d.Tried, d.because())
		for _, l := range d.Add {
			fmt.Fprintf(w, "    %s\n", l)
		}
		if d.Withheld != "" {
			fmt.Fprintf(w, "    nothing is proposed: %s\n", d.Withheld)
		}
	}
	if len(r.Tighter) > 0 {
		say("the policy allows these, and the target refuses them all the same:")
	}
	for _, t := range r.Tighter {
		fmt.Fprintf(w, "  %s\n", t)
	}
	switch {
	case len(r.Calls) == 0:
	case r.Target == ir.Seatbelt:
		say("operations that no request word is about:")
	default:
		say("system calls that every sandbox refuses, or this policy's does:")
	}
	for _, c := range r.Calls {
		fmt.Fprintf(w, "  %s\n", c)
		if c.Rule != nil {
			fmt.Fprintf(w, "    %s\n", c.Rule)
		}
		for _, l := range c.Add {
			fmt.Fprintf(w, "    %s\n", l)
		}
	}
	for _, n := range []struct {
		count int
		what  string
	}{
		{r.Missing, "%d more failed for what this machine does not have either"},
		{r.Unnamed, "%d more were about names that no policy can state"},
		{r.Untold, "%d more were too many to tell apart"},
		{r.Unread, "lines about refusals whose form is not known: %d"},
	} {
		if n.count > 0 {
			say(n.what, n.count)
		}
	}
	if r.HCL != "" {
		say("to allow what is proposed and nothing else, merge this into policy %s:", r.Policy)
		for line := range strings.Lines(r.HCL) {
			fmt.Fprint(w, "  "+line)
		}
	}
}

func (t Tried) String() string {
	return printable(fmt.Sprintf("%s %s: %s%s%s", t.Query.Kind, t.Query.Value, t.Errno, times(t.Count), by(t.Program)))
}

func (c Call) String() string {
	what := ""
	if c.What != "" {
		what = " (" + c.What + ")"
	}
	return printable(fmt.Sprintf("%s%s: %s%s%s", c.Name, what, c.Errno, times(c.Count), by(c.Program)))
}

func times(n int) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf(", %d times", n)
}

func by(program string) string {
	if program == "" {
		return ""
	}
	return ", by " + program
}

// because is what decided.
func (d Denied) because() string {
	switch {
	case d.Reason == ir.NotExecutable:
		return "no execute rule covers it"
	case d.Rule == nil:
		return "no rule speaks of it"
	}
	return d.Rule.String()
}

func (r *RuleAt) String() string {
	if r.Line > 0 {
		return fmt.Sprintf("%s at %s:%d (%s)", r.Text, r.File, r.Line, r.Statement)
	}
	return fmt.Sprintf("%s (%s)", r.Text, r.Statement)
}

func (l Line) String() string {
	switch {
	case l.Instead != "":
		return fmt.Sprintf("move %s from %s to %s", l.Element, l.Instead, l.List)
	case l.List == "endpoint":
		return "add an endpoint for " + l.Element
	case l.Endpoint != "":
		return fmt.Sprintf("add %s to %s of endpoint %q", l.Element, l.List, l.Endpoint)
	}
	return fmt.Sprintf("add %s to %s", l.Element, l.List)
}

// printable is text without what a terminal would heed: names of programs come from
// inside the sandbox.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\ufffd' || diag.Hidden(r) {
			return '?'
		}
		return r
	}, text)
}
