package expect

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler"
)

// sample has one expectation of each kind: held, failed by the policy, waived, and
// one that was not tried live; its names are hard to write down.
func sample(t *testing.T) *Report {
	policies := strings.TrimSuffix(workspacePolicy, "}\n") + `  network {
    loopback = "host"
  }
  waive "bwrap" {
    features = ["network.loopback-host"]
    reason   = "no <proxy> & \"none\" here"
  }
}
`
	tests := `test "keys # <stay> & \\closed" {
  allow {
    read    = ["/usr/a # b", "/usr/secret/<x>&\"y\""]
    connect = ["127.0.0.1:443"]
  }
}
`
	return ran(t, policies, tests, func(o *Options) {
		o.Live = func(_ compiler.Test, e compiler.Expectation) Live {
			if e.Request.Path.Base() == "a # b" {
				return Live{Passed, "the kernel allows it"}
			}
			return Live{Skipped, "nothing stands\nthere"}
		}
	})
}

func written(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestWriteText(t *testing.T) {
	r := sample(t)
	got := written(t, func(w io.Writer) error { return r.WriteText(w, TextOptions{Verbose: true, Cover: true}) })
	want := `--- FAIL: keys # <stay> & \closed (policy p, 3 expectations)
    p.test.hcl:3:16: PASS: read /usr/a # b: allow, read /usr at p.policy.hcl:6:16
        live     pass: the kernel allows it
    p.test.hcl:3:30: FAIL: read /usr/secret/<x>&"y": allow wanted, the policy says deny
        because  reason level
        rule     deny /usr/secret
        at       p.policy.hcl:7:37 (p/filesystem.deny[1])
        bwrap    deny, by mount
        live     skip: nothing stands there
    p.test.hcl:4:16: PASS: connect 127.0.0.1:443: allow, loopback host at p.policy.hcl:11:16
        bwrap    deny, by network namespace: network.loopback-host is waived: no <proxy> & "none" here
        live     skip: nothing stands there
coverage of p: 3 of 9 statements
    p.policy.hcl:5:16: no test touches write ${workspace} (p/filesystem.write[0])
    p.policy.hcl:5:27: no test touches write ${tmp} (p/filesystem.write[1])
    p.policy.hcl:6:24: no test touches read ${workspace}/.git/hooks (p/filesystem.read[1])
    p.policy.hcl:7:16: no test touches deny ${workspace}/.env (p/filesystem.deny[0])
    p.policy.hcl:8:16: no test touches execute /usr/bin/env (p/filesystem.execute[0])
    p.policy.hcl:8:32: no test touches execute ${workspace}/tool (p/filesystem.execute[1])
live: 1 tried, 0 failed, 2 not tried
waived: 1 answer of targets
FAIL: 1 of 1 test, 1 of 3 expectations
`
	if got != want {
		t.Errorf("WriteText writes\n%s\nwant\n%s", got, want)
	}
	if strings.ContainsAny(visible("\u202e\x1b[2J\u2028"), "\u202e\x1b\u2028") {
		t.Errorf("visible lets through what terminals act on")
	}
	brief := written(t, func(w io.Writer) error { return r.WriteText(w, TextOptions{}) })
	if strings.Contains(brief, "PASS: read") || strings.Contains(brief, "coverage") || !strings.Contains(brief, "SKIP live: connect") {
		t.Errorf("WriteText without options writes\n%s\nwant failures and what was not tried", brief)
	}
}

// TestOneReasonOnce: eighty expectations that one reason keeps from being tried are
// told of once, and counted.
func TestOneReasonOnce(t *testing.T) {
	c := Case{Name: "n", Policy: "p"}
	for range 80 {
		c.Outcomes = append(c.Outcomes, Outcome{Live: &Live{Status: Skipped, Why: "the policy does not run here"}})
	}
	c.Outcomes = append(c.Outcomes, Outcome{Live: &Live{Status: Skipped, Why: "another"}})
	r := &Report{Tests: []Case{c, c}}
	got := written(t, func(w io.Writer) error { return r.WriteText(w, TextOptions{}) })
	if strings.Count(got, "the policy does not run here") != 1 || strings.Count(got, "another") != 1 ||
		!strings.Contains(got, "SKIP live: 79 more,") || !strings.Contains(got, "SKIP live: 81 more,") {
		t.Errorf("WriteText writes\n%s", got)
	}
}

func TestWriteTAP(t *testing.T) {
	got := written(t, sample(t).WriteTAP)
	want := `TAP version 14
1..6
ok 1 - keys \# <stay> & \\closed: allow read /usr/a \# b
ok 2 - keys \# <stay> & \\closed: live: allow read /usr/a \# b
not ok 3 - keys \# <stay> & \\closed: allow read /usr/secret/<x>&"y"
  ---
  message: "allow wanted, the policy says deny"
  policy: "p"
  at:
    file: "p.test.hcl"
    line: 3
    column: 30
  ...
ok 4 - keys \# <stay> & \\closed: live: allow read /usr/secret/<x>&"y" # SKIP nothing stands there
ok 5 - keys \# <stay> & \\closed: allow connect 127.0.0.1:443
ok 6 - keys \# <stay> & \\closed: live: allow connect 127.0.0.1:443 # SKIP nothing stands there
`
	if got != want {
		t.Errorf("WriteTAP writes\n%s\nwant\n%s", got, want)
	}
}

func TestWriteJUnit(t *testing.T) {
	text := written(t, sample(t).WriteJUnit)
	var got junitSuites
	dec := xml.NewDecoder(strings.NewReader(text))
	dec.Strict = true
	if err := dec.Decode(&got); err != nil {
		t.Fatalf("WriteJUnit writes what is no XML: %v\n%s", err, text)
	}
	s := got.Suites[0]
	if got.Tests != 6 || got.Failed != 1 || len(got.Suites) != 1 || s.Name != `keys # <stay> & \closed` || s.Skipped != 2 || s.Failed != 1 || len(s.Cases) != s.Tests {
		t.Errorf("WriteJUnit counts %d tests, %d failed; the suite %+v", got.Tests, got.Failed, s)
	}
	c := s.Cases[2]
	if c.Name != `allow read /usr/secret/<x>&"y"` || c.File != "p.test.hcl" || c.Line != 3 || c.Failure == nil || !strings.Contains(c.Failure.Text, "p.policy.hcl:7:37") {
		t.Errorf("the failed case is %+v", c)
	}
	if s.Cases[3].Skipped == nil || s.Cases[0].Failure != nil || s.Cases[0].Skipped != nil {
		t.Errorf("the cases are %+v", s.Cases)
	}
	if !strings.HasPrefix(text, `<?xml version="1.0" encoding="UTF-8"?>`) {
		t.Errorf("WriteJUnit begins with %.60q", text)
	}
}

func TestWriteJSON(t *testing.T) {
	text := written(t, sample(t).WriteJSON)
	var got reportJSON
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&got); err != nil {
		t.Fatalf("WriteJSON: %v\n%s", err, text)
	}
	if got.Schema != "obspc.test/v1" || got.Passed || got.Sum != (sumJSON{1, 1, 3, 1, 1, 1, 0, 2}) || len(got.Coverage) != 1 {
		t.Errorf("WriteJSON says %+v", got)
	}
	e := got.Tests[0].Expectations[1]
	shown := fmt.Sprint(e.Want, e.Request, e.Status, e.Decision, *e.Rule, e.Targets, *e.Live, e.File, e.Line, e.Column)
	want := `allow{read /usr/secret/<x>&"y"  }faildeny{deny /usr/secret p/filesystem.deny[1] {p.policy.hcl 7 37}} map[bwrap:{deny mount fail }] {skip nothing stands
there}p.test.hcl3 30`
	if shown != want {
		t.Errorf("WriteJSON says of the expectation\n%s\nwant\n%s", shown, want)
	}
}
