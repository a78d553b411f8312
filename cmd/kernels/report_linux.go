package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// report is what the guest says of one case.
type report struct {
	Case   string         `json:"case"`
	Kernel string         `json:"kernel"`
	Bwrap  string         `json:"bwrap"`
	ABI    int            `json:"abi"`
	Doctor ran            `json:"doctor"`
	Runs   map[string]ran `json:"runs"`
	Demo   *ran           `json:"demo,omitempty"`
	Tests  *ran           `json:"tests,omitempty"`
	Fault  string         `json:"fault,omitempty"` // why there is nothing else
}

// ran is one program that came to its end.
type ran struct {
	Exit     int             `json:"exit"`
	Stdout   string          `json:"stdout,omitempty"`
	Stderr   string          `json:"stderr,omitempty"`
	Evidence json.RawMessage `json:"evidence,omitempty"`
	Seconds  float64         `json:"seconds"`
}

// reportWord begins each line with a report. The line names its place, the number
// of all and the digest of what follows, so that half a line is none.
const reportWord = "obspc-report"

func reportLine(i, of int, r report) ([]byte, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	return fmt.Appendf(nil, "%s %d %d %x %s\n", reportWord, i, of, sum, text), nil
}

// readReports takes the reports of all cases, in their order, and nothing else.
func readReports(text []byte, cases []trial) ([]report, error) {
	var out []report
	for line := range bytes.Lines(text) {
		words := strings.SplitN(strings.TrimRight(string(line), "\r\n"), " ", 5)
		if words[0] == "" {
			continue
		}
		if len(words) != 5 || words[0] != reportWord || !bytes.HasSuffix(line, []byte("\n")) {
			return nil, fmt.Errorf("no whole report: %.200q", line)
		}
		sum := sha256.Sum256([]byte(words[4]))
		if words[3] != hex.EncodeToString(sum[:]) || words[2] != strconv.Itoa(len(cases)) || words[1] != strconv.Itoa(len(out)) || len(out) == len(cases) {
			return nil, fmt.Errorf("a report that is damaged or out of order: %.200q", line)
		}
		var r report
		if err := json.Unmarshal([]byte(words[4]), &r); err != nil {
			return nil, err
		}
		if r.Case != cases[len(out)].name() {
			return nil, fmt.Errorf("report %d is of %q, want %q", len(out), r.Case, cases[len(out)].name())
		}
		out = append(out, r)
	}
	if len(out) != len(cases) {
		return nil, fmt.Errorf("%d of %d cases reported", len(out), len(cases))
	}
	return out, nil
}
