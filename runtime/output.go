package runtime

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
)

// DefaultOutput bounds each of standard output and standard error of a governed
// command whose policy states no limit, in bytes.
const DefaultOutput = 1 << 20

// stream passes one output of the command on, up to a limit; what comes after is
// counted and discarded. Its digest covers every byte the command wrote.
type stream struct {
	to     io.Writer // nil: nothing is passed on
	limit  int64     // negative: no limit
	total  int64
	passed int64
	digest hash.Hash
	kept   *bytes.Buffer // a copy of what was passed; nil: none is kept
	broken error         // the reader went away; the rest is discarded
}

func newStream(to io.Writer, limit int64) *stream {
	return &stream{to: to, limit: limit, digest: sha256.New()}
}

// Write never fails: a command is not to learn who reads it.
func (s *stream) Write(p []byte) (int, error) {
	n := len(p)
	s.digest.Write(p)
	s.total += int64(n)
	if s.limit >= 0 {
		p = p[:min(int64(n), max(s.limit-s.passed, 0))]
	}
	s.passed += int64(len(p))
	if s.kept != nil {
		s.kept.Write(p)
	}
	if s.to != nil && s.broken == nil && len(p) > 0 {
		_, s.broken = s.to.Write(p)
	}
	return n, nil
}

// evidence is the stream's entry in the evidence.
func (s *stream) evidence() StreamEvidence {
	return StreamEvidence{
		Bytes: s.total, Passed: s.passed, Truncated: s.passed < s.total,
		SHA256: hex.EncodeToString(s.digest.Sum(nil)),
	}
}
