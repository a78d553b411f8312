package runtime

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/obspc/obspc/compiler/ir"
)

// MaxEvidence bounds an evidence file, in bytes: a trace of all that is told apart, and
// 1,000 decisions with paths of 4 KiB, take a part of it.
const MaxEvidence = 16 << 20

// ParseEvidence reads an evidence file. Members that it does not know are passed over:
// they are a later version's. Evidence is no artifact; what is read is what somebody
// says happened.
func ParseEvidence(data []byte) (*Evidence, error) {
	if len(data) > MaxEvidence {
		return nil, fmt.Errorf("it has more than %d bytes, which is the most that is read", MaxEvidence)
	}
	var schema struct {
		Schema string `json:"schema"`
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(&schema); err != nil {
		return nil, fmt.Errorf("it is no evidence: %w", plainJSON(err))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("it is no evidence: something follows the JSON object")
	}
	if schema.Schema != EvidenceSchema {
		return nil, fmt.Errorf("it is no evidence: its schema is %q, not %q", schema.Schema, EvidenceSchema)
	}
	var e Evidence
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, fmt.Errorf("it is no evidence: %w", plainJSON(err))
	}
	if g := e.Egress; g != nil && (len(g.Events) > maxEgressEvents || g.Untold < 0) {
		return nil, fmt.Errorf("it is no evidence: it has %d decisions, and runs tell %d at most", len(g.Events), maxEgressEvents)
	}
	return &e, nil
}

// plainJSON is an error of encoding/json without the names of Go types.
func plainJSON(err error) error {
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind):
		return fmt.Errorf("member %q is a %s", kind.Field, kind.Value)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("it ends too soon")
	}
	return err
}

// Bound is the binding of the run. Slots that it does not know, and paths that are none,
// are an error.
func (e *Evidence) Bound() (ir.Binding, error) {
	var b ir.Binding
	for name, at := range e.Binding {
		slot, ok := ir.RootNamed(name)
		if !ok || slot == ir.Host {
			return b, fmt.Errorf("it binds %q, which is no slot", name)
		}
		p, err := ir.ParsePath(at)
		if err != nil || p.Root() != ir.Host {
			return b, fmt.Errorf("it binds %s to %q, which is no absolute path", name, at)
		}
		b = b.With(slot, p)
	}
	return b, nil
}
