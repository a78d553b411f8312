package runtime

import (
	"strings"
	"testing"
)

// TestParseEvidence: what is no evidence says so in words; what runs write is read back.
func TestParseEvidence(t *testing.T) {
	whole := string((&Evidence{Schema: EvidenceSchema, Policy: "p", Egress: &EgressEvidence{Events: []EgressEvent{{Kind: "connect"}}}}).JSON())
	for _, tt := range []struct{ text, says string }{
		{whole, ""},
		{strings.Replace(whole, `"policy"`, `"later": 1, "policy"`, 1), ""},
		{"", "it ends too soon"},
		{whole[:40], "it ends too soon"},
		{"hello", "it is no evidence: invalid character"},
		{"[]", "it is no evidence"},
		{whole + "{}", "something follows"},
		{strings.Replace(whole, "obspc.evidence/v1", "obspc.evidence/v2", 1), `its schema is "obspc.evidence/v2"`},
		{strings.Replace(whole, `"policy": "p"`, `"policy": 7`, 1), `member "policy" is a number`},
		{strings.Replace(whole, `{
        "time"`, strings.Repeat(`{}, `, 1000)+`{
        "time"`, 1), "it has 1001 decisions"},
		{strings.Repeat(" ", MaxEvidence+1), "the most that is read"},
	} {
		e, err := ParseEvidence([]byte(tt.text))
		if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) || err == nil && e.Policy != "p" {
			t.Errorf("ParseEvidence(%.80q) = %v, want %q", tt.text, err, tt.says)
		}
	}
}
