package replay

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang/diag"
)

// Schema names the JSON form of a report.
const Schema = "obspc.replay/v1"

// Report is what all files came to.
type Report struct {
	Files []*File
	// Place says where a statement of a policy stands, false when it has none.
	Place func(policy string, o ir.Origin) (file string, line int, ok bool)
}

// Recorded is how many decisions there are to replay.
func (r *Report) Recorded() int {
	n := 0
	for _, f := range r.Files {
		n += f.Recorded - f.Skipped
	}
	return n
}

// Changed reports whether some answer is another one, or not known.
func (r *Report) Changed() bool {
	for _, f := range r.Files {
		if f.Changed+f.Unknown > 0 {
			return true
		}
	}
	return false
}

type (
	reportJSON struct {
		Schema  string     `json:"schema"`
		Changed bool       `json:"changed"`
		Files   []fileJSON `json:"files"`
	}
	fileJSON struct {
		File     string       `json:"file"`
		Policy   string       `json:"policy"`
		Recorded int          `json:"recorded"`
		Same     int          `json:"same"`
		Changed  int          `json:"changed"`
		Unknown  int          `json:"unknown"`
		Skipped  int          `json:"skipped"`
		Untold   int64        `json:"untold"`
		Changes  []changeJSON `json:"changes"`
	}
	changeJSON struct {
		Query   queryJSON  `json:"query"`
		Address string     `json:"address,omitempty"`
		Count   int        `json:"count"`
		Old     answerJSON `json:"old"`
		New     answerJSON `json:"new"`
		Note    string     `json:"note,omitempty"`
	}
	queryJSON struct {
		Kind  string `json:"kind"`
		Value string `json:"value"`
		By    string `json:"by,omitempty"`
	}
	answerJSON struct {
		Decision  string `json:"decision"`
		Statement string `json:"statement,omitempty"`
		Text      string `json:"text,omitempty"`
		File      string `json:"file,omitempty"`
		Line      int    `json:"line,omitempty"`
		Dimension string `json:"dimension,omitempty"`
		Reason    string `json:"reason"`
	}
)

// WriteJSON writes the report for programs.
func (r *Report) WriteJSON(w io.Writer) error {
	out := reportJSON{Schema: Schema, Changed: r.Changed(), Files: []fileJSON{}}
	for _, f := range r.Files {
		one := fileJSON{f.Name, f.Policy, f.Recorded, f.Same, f.Changed, f.Unknown, f.Skipped, f.Untold, []changeJSON{}}
		for _, c := range f.Changes {
			q := c.Request
			q.HasBy = false
			kind, value, _ := strings.Cut(q.String(), " ")
			j := changeJSON{Query: queryJSON{Kind: kind, Value: value}, Count: c.Count, Old: r.answer(f, c.Old), New: r.answer(f, c.New), Note: c.Note}
			if c.Request.HasBy {
				j.Query.By = c.Request.By.String()
			}
			if c.Address.IsValid() {
				j.Address = c.Address.String()
			}
			one.Changes = append(one.Changes, j)
		}
		out.Files = append(out.Files, one)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

func (r *Report) answer(f *File, a Answer) answerJSON {
	out := answerJSON{Decision: a.Decision, Statement: string(a.Statement), Dimension: a.Dimension, Reason: a.Reason}
	if a.Rule != nil && a.Rule.From() == a.Statement {
		out.Text = a.Rule.String()
		if file, line, ok := r.Place(f.Policy, a.Statement); ok {
			out.File, out.Line = file, line
		}
	}
	return out
}

// WriteText writes the report for people.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	for _, f := range r.Files {
		fmt.Fprintf(&b, "%s: policy %s: %d of %d recorded decisions as before, %d changed, %d unknown", f.Name, f.Policy, f.Same, f.Recorded, f.Changed, f.Unknown)
		if f.Skipped > 0 {
			fmt.Fprintf(&b, ", %d not the policy's", f.Skipped)
		}
		if f.Untold > 0 {
			fmt.Fprintf(&b, "; %d more were not recorded", f.Untold)
		}
		b.WriteString("\n")
		for _, c := range f.Changes {
			fmt.Fprintf(&b, "  %s → %s: %s", c.Old.Decision, c.New.Decision, c.Request)
			if c.Address.IsValid() && !c.Request.Addr.IsValid() {
				fmt.Fprintf(&b, " at %s", c.Address)
			}
			if c.Count > 1 {
				fmt.Fprintf(&b, ", %d times", c.Count)
			}
			fmt.Fprintf(&b, "\n    then %s\n    now  %s\n", c.Old.Reason, r.now(f, c.New))
			if c.Note != "" {
				fmt.Fprintf(&b, "    note: %s\n", c.Note)
			}
		}
	}
	_, err := io.WriteString(w, diag.Visible(b.String()))
	return err
}

// now is an answer with the place of its statement.
func (r *Report) now(f *File, a Answer) string {
	if file, line, ok := r.Place(f.Policy, a.Statement); ok {
		return fmt.Sprintf("%s, at %s:%d", a.Reason, file, line)
	}
	return a.Reason
}
