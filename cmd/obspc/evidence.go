package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/obspc/obspc/cmd/obspc/ocsf"
	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/runtime"
)

// decisionsSchema names the JSON form.
const decisionsSchema = "obspc.decisions/v1"

func evidenceCommand() *cli.Command {
	return &cli.Command{
		Name:      "evidence",
		Usage:     "show what runs asked their proxies, or write it for other systems",
		ArgsUsage: "FILE…",
		Description: `FILE is evidence of a run (--evidence of exec and run). Each connection and request
is told with its decision; queries, headers and bodies are in no evidence. The
format ocsf has one event of the Open Cybersecurity Schema Framework (1.4.0) a line.

   obspc evidence evidence.json
   obspc evidence runs/*.json --format ocsf >>/var/log/obspc.ocsf.json`,
		Flags:  []cli.Flag{&cli.StringFlag{Name: "format", Value: "text", Usage: "write it as `FORMAT`: text, json or ocsf"}},
		Action: evidence,
	}
}

func evidence(c *cli.Context) error {
	if err := noRest(c); err != nil {
		return err
	}
	if c.NArg() == 0 {
		return wrongCall("evidence wants FILE; see obspc evidence --help")
	}
	write := map[string]func(io.Writer, []recorded) error{"text": writeDecisions, "json": writeDecisionsJSON, "ocsf": writeOCSF}[c.String("format")]
	if write == nil {
		return wrongCall("there is no format %q; write text, json or ocsf", c.String("format"))
	}
	var list []recorded
	for _, file := range c.Args().Slice() {
		e, digest, err := readEvidence(file)
		if err != nil {
			return err
		}
		list = append(list, recorded{file, e, digest})
	}
	return write(c.App.Writer, list)
}

// recorded is an evidence file, and its SHA-256.
type recorded struct {
	file     string
	evidence *runtime.Evidence
	digest   string
}

func writeOCSF(w io.Writer, list []recorded) error {
	for _, r := range list {
		lines, err := ocsf.Lines(r.evidence, r.digest)
		if err != nil {
			return wrongCall("%s: %w", r.file, err)
		}
		if _, err := w.Write(lines); err != nil {
			return err
		}
	}
	return nil
}

func writeDecisionsJSON(w io.Writer, list []recorded) error {
	type file struct {
		File     string                  `json:"file"`
		SHA256   string                  `json:"sha256"`
		Policy   string                  `json:"policy"`
		Decision *runtime.EgressEvidence `json:"egress"`
	}
	out := struct {
		Schema string `json:"schema"`
		Files  []file `json:"files"`
	}{decisionsSchema, []file{}}
	for _, r := range list {
		out.Files = append(out.Files, file{r.file, r.digest, r.evidence.Policy, r.evidence.Egress})
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

func writeDecisions(w io.Writer, list []recorded) error {
	var b strings.Builder
	for _, r := range list {
		g := r.evidence.Egress
		if g == nil {
			fmt.Fprintf(&b, "%s: policy %s: the run had no way out\n", r.file, r.evidence.Policy)
			continue
		}
		fmt.Fprintf(&b, "%s: policy %s: %d allowed, %d denied, %d failed", r.file, r.evidence.Policy, g.Allowed, g.Denied, g.Failed)
		if g.Untold > 0 {
			fmt.Fprintf(&b, ", %d of these not recorded", g.Untold)
		}
		b.WriteString("\n")
		for i := range g.Events {
			writeDecision(&b, &g.Events[i])
		}
	}
	_, err := io.WriteString(w, diag.Visible(b.String()))
	return err
}

func writeDecision(b *strings.Builder, e *runtime.EgressEvent) {
	what := "something else"
	if r, err := e.Request(); err == nil {
		what = r.String()
	}
	fmt.Fprintf(b, "  %-7s  %s", e.Decision, what)
	if e.Host != "" && e.Address != "" {
		fmt.Fprintf(b, " at %s", e.Address)
	}
	if e.Sent > 0 || e.Received > 0 {
		fmt.Fprintf(b, ", %d bytes sent, %d received", e.Sent, e.Received)
	}
	fmt.Fprintf(b, "\n           %s\n", e.Reason)
}

// sha256Hex is the digest of data.
func sha256Hex(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
