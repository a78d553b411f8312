package diff

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/obspc/obspc/compiler/ir"
)

// Schema names the form of JSON's output.
const Schema = "obspc.diff/v1"

// JSON is the report for programs, with the facts that Text shows and every
// witness: indented, ending in a newline.
func (r Report) JSON() []byte {
	out := jsonReport{Schema: Schema, Verdict: r.Verdict().String(), Policies: []jsonPolicy{}, Artifacts: []jsonArtifact{}}
	for _, c := range r.Policies {
		p := jsonPolicy{
			Policy: c.Policy, Verdict: c.Verdict().String(), OldVersion: c.OldVersion, NewVersion: c.NewVersion,
			Changes: []jsonChange{}, Notes: append([]string{}, c.Notes...), Digest: c.Digest(),
		}
		for _, change := range c.Changes {
			p.Changes = append(p.Changes, r.changeJSON(c, change))
		}
		out.Policies = append(out.Policies, p)
	}
	for _, a := range r.Artifacts {
		out.Artifacts = append(out.Artifacts, jsonArtifact(a))
	}
	if r.Review != nil {
		out.Approvals = &jsonApprovals{Expired: approvalsJSON(r.Review.Expired), Unmatched: approvalsJSON(r.Review.Unmatched)}
	}
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(out); err != nil {
		panic(fmt.Sprintf("bug in obspc: a difference has no JSON: %v", err))
	}
	return buf.Bytes()
}

type (
	jsonReport struct {
		Schema    string         `json:"schema"`
		Verdict   string         `json:"verdict"`
		Policies  []jsonPolicy   `json:"policies"`
		Artifacts []jsonArtifact `json:"artifacts"`
		Approvals *jsonApprovals `json:"approvals,omitempty"`
	}
	jsonPolicy struct {
		Policy     string       `json:"policy"`
		Verdict    string       `json:"verdict"`
		OldVersion int64        `json:"oldVersion,omitempty"`
		NewVersion int64        `json:"newVersion,omitempty"`
		Changes    []jsonChange `json:"changes"`
		Notes      []string     `json:"notes"`
		Digest     string       `json:"digest,omitempty"` // of all that widen
	}
	jsonChange struct {
		Kind      Kind             `json:"kind"`
		Effect    string           `json:"effect"`
		Subject   string           `json:"subject"`
		Words     []ir.RequestKind `json:"words,omitempty"`
		Grants    []string         `json:"grants,omitempty"` // words, each with the places where it is granted
		Witnesses []string         `json:"witnesses"`
		Except    []string         `json:"except,omitempty"`
		Old       *jsonStatement   `json:"old"`
		New       *jsonStatement   `json:"new"`
		Parts     []jsonChange     `json:"parts,omitempty"`
		Digest    string           `json:"digest"`
		Approval  *jsonApproval    `json:"approval,omitempty"`
	}
	jsonStatement struct {
		Text   string    `json:"text"`
		Origin ir.Origin `json:"origin,omitempty"`
	}
	jsonArtifact struct {
		Name string `json:"name"`
		Diff string `json:"diff,omitempty"`
	}
	jsonApproval struct {
		Digest string `json:"digest"`
		Until  string `json:"until"`
		Reason string `json:"reason"`
		Line   int    `json:"line"`
	}
	jsonApprovals struct {
		Expired   []jsonApproval `json:"expired"`
		Unmatched []jsonApproval `json:"unmatched"`
	}
)

func (r Report) changeJSON(policy Comparison, c Change) jsonChange {
	out := jsonChange{
		Kind: c.Kind, Effect: c.Effect().String(), Subject: c.Subject, Words: c.Words, Except: c.Except,
		Old: (*jsonStatement)(c.Old), New: (*jsonStatement)(c.New), Digest: c.Digest(policy.Policy),
	}
	for _, w := range c.Witnesses {
		out.Witnesses = append(out.Witnesses, w.String())
	}
	if len(c.Words) > 0 {
		out.Grants = c.grants(len(c.spans))
	}
	for _, part := range c.Parts {
		out.Parts = append(out.Parts, r.changeJSON(policy, part))
	}
	if a, ok := r.approval(policy, c); ok {
		out.Approval = &approvalsJSON([]Approval{a})[0]
	}
	return out
}

func approvalsJSON(list []Approval) []jsonApproval {
	out := []jsonApproval{}
	for _, a := range list {
		out = append(out, jsonApproval{a.Digest, a.Until.String(), a.Reason, a.Line})
	}
	return out
}
