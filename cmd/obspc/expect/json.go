package expect

import (
	"encoding/json"
	"io"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang/diag"
)

// Schema names the JSON form of a report.
const Schema = "obspc.test/v1"

type (
	reportJSON struct {
		Schema   string         `json:"schema"`
		Passed   bool           `json:"passed"`
		Sum      sumJSON        `json:"summary"`
		Tests    []caseJSON     `json:"tests"`
		Unasked  []unaskedJSON  `json:"unasked"`
		Coverage []coverageJSON `json:"coverage"`
	}
	sumJSON struct {
		Tests              int `json:"tests"`
		FailedTests        int `json:"failedTests"`
		Expectations       int `json:"expectations"`
		FailedExpectations int `json:"failedExpectations"`
		Waived             int `json:"waived"`
		Tried              int `json:"tried"`
		FailedLive         int `json:"failedLive"`
		NotTried           int `json:"notTried"`
	}
	placeJSON struct {
		File   string `json:"file"`
		Line   int    `json:"line"`
		Column int    `json:"column"`
	}
	caseJSON struct {
		Name         string            `json:"name"`
		Policy       string            `json:"policy"`
		Bind         map[string]string `json:"bind,omitempty"`
		Status       Status            `json:"status"`
		Expectations []outcomeJSON     `json:"expectations"`
		placeJSON
	}
	outcomeJSON struct {
		Want     string                `json:"want"`
		Request  requestJSON           `json:"request"`
		Status   Status                `json:"status"`
		Decision string                `json:"decision"`
		Reason   string                `json:"reason"`
		Rule     *ruleJSON             `json:"rule"`
		Depends  []string              `json:"depends,omitempty"`
		Targets  map[string]answerJSON `json:"targets"`
		Live     *liveJSON             `json:"live,omitempty"`
		placeJSON
	}
	requestJSON struct {
		Kind  string `json:"kind"`
		Value string `json:"value"`
		To    string `json:"to,omitempty"`
		By    string `json:"by,omitempty"`
	}
	ruleJSON struct {
		Text      string `json:"text"`
		Statement string `json:"statement"`
		placeJSON
	}
	answerJSON struct {
		Decision string `json:"decision"`
		Layer    string `json:"layer"`
		Status   Status `json:"status"`
		Why      string `json:"why,omitempty"`
	}
	liveJSON struct {
		Status Status `json:"status"`
		Why    string `json:"why"`
	}
	unaskedJSON struct {
		Policy string `json:"policy"`
		Target string `json:"target"`
		Why    string `json:"why"`
	}
	coverageJSON struct {
		Policy     string          `json:"policy"`
		Tests      int             `json:"tests"`
		Touched    int             `json:"touched"`
		Statements []statementJSON `json:"statements"`
		Embedded   []embeddedJSON  `json:"embedded,omitempty"`
	}
	statementJSON struct {
		ruleJSON
		Decides int `json:"decides"`
		Covers  int `json:"covers"`
	}
	embeddedJSON struct {
		File       string `json:"file"`
		Touched    int    `json:"touched"`
		Statements int    `json:"statements"`
	}
)

// WriteJSON writes the report for programs: all facts of WriteText, coverage
// always.
func (r *Report) WriteJSON(w io.Writer) error {
	s := r.Sum()
	out := reportJSON{
		Schema: Schema, Passed: !r.Failed(),
		Sum:   sumJSON{s.Tests, s.FailedTests, s.Expectations, s.Failed, s.Waived, s.Tried, s.LiveFailed, s.Untried},
		Tests: []caseJSON{}, Unasked: []unaskedJSON{}, Coverage: []coverageJSON{},
	}
	for _, c := range r.Tests {
		out.Tests = append(out.Tests, c.json())
	}
	for _, u := range r.Unasked {
		out.Unasked = append(out.Unasked, unaskedJSON{u.Policy, string(u.Target), u.Why})
	}
	for _, c := range r.Coverage {
		out.Coverage = append(out.Coverage, c.json())
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}

func at(r diag.Range) placeJSON { return placeJSON{r.File, r.Start.Line, r.Start.Column} }

func (c Case) json() caseJSON {
	out := caseJSON{Name: c.Name, Policy: c.Policy, Status: Passed, placeJSON: at(c.At)}
	if c.Failed() {
		out.Status = Failed
	}
	for _, slot := range ir.Slots() {
		if p, ok := c.Binding.At(slot); ok {
			if out.Bind == nil {
				out.Bind = map[string]string{}
			}
			out.Bind[slot.String()] = p.String()
		}
	}
	for _, o := range c.Outcomes {
		out.Expectations = append(out.Expectations, o.json())
	}
	return out
}

func (o Outcome) json() outcomeJSON {
	out := outcomeJSON{
		Want: word(o.Want), Request: request(o.Request), Status: Passed, Decision: word(o.Allow), Reason: o.Because,
		Depends: o.Depends, Targets: map[string]answerJSON{}, placeJSON: at(o.At),
	}
	if o.Failed() {
		out.Status = Failed
	}
	if o.Rule != nil {
		out.Rule = &ruleJSON{o.Rule.Text, string(o.Rule.Statement), at(o.Rule.At)}
	}
	for _, a := range o.Targets {
		out.Targets[string(a.Target)] = answerJSON{word(a.Allow), a.Layer, a.Status, a.Why}
	}
	if o.Live != nil {
		out.Live = &liveJSON{o.Live.Status, o.Live.Why}
	}
	return out
}

func request(q ir.Request) requestJSON {
	out := requestJSON{Kind: string(q.Kind), Value: q.Value()}
	if q.Kind == ir.RenameRequest || q.Kind == ir.LinkRequest {
		out.Value, out.To = q.Path.String(), q.To.String()
	}
	if q.HasBy {
		out.By = q.By.String()
	}
	return out
}

func (c Coverage) json() coverageJSON {
	out := coverageJSON{Policy: c.Policy, Tests: c.Tests, Touched: c.Touched(), Statements: []statementJSON{}}
	for _, s := range c.Statements {
		out.Statements = append(out.Statements, statementJSON{ruleJSON{s.Text, string(s.Statement), at(s.At)}, s.Decides, s.Covers})
	}
	for _, e := range c.Embedded {
		out.Embedded = append(out.Embedded, embeddedJSON(e))
	}
	return out
}
