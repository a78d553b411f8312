package runtime

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"sync"

	"github.com/obspc/obspc/targets/run"
)

// DefaultOutput bounds each of standard output and standard error of a governed
// command whose policy states no limit, in bytes.
const DefaultOutput = 1 << 20

// maxKept bounds the copy of an output that a typed result is read from, in bytes:
// one more than a result may have shows that there are too many.
const maxKept = run.MaxResultBytes + 1

// stream passes one output of the command on, up to a limit; what comes after is
// counted and discarded. Its digest covers every byte the command wrote.
type stream struct {
	to    io.Writer // nil: nothing is passed on
	limit int64     // negative: no limit

	counting sync.Mutex // of what follows: a reader may hold Write up for ever
	total    int64
	passed   int64
	digest   hash.Hash
	kept     *bytes.Buffer // the first maxKept bytes of what was passed; nil: none are
	broken   error         // the reader went away; the rest is discarded
}

func newStream(to io.Writer, limit int64) *stream {
	return &stream{to: to, limit: limit, digest: sha256.New()}
}

// Write never fails: a command is not to learn who reads it.
func (s *stream) Write(p []byte) (int, error) {
	n := len(p)
	if p = s.count(p); s.to != nil && s.broken == nil && len(p) > 0 {
		_, s.broken = s.to.Write(p)
	}
	return n, nil
}

// count notes what was written and gives the part that is passed on.
func (s *stream) count(p []byte) []byte {
	s.counting.Lock()
	defer s.counting.Unlock()
	s.digest.Write(p)
	s.total += int64(len(p))
	if s.limit >= 0 {
		p = p[:min(int64(len(p)), max(s.limit-s.passed, 0))]
	}
	s.passed += int64(len(p))
	if s.kept != nil {
		s.kept.Write(p[:min(len(p), max(maxKept-s.kept.Len(), 0))])
	}
	return p
}

// evidence is the stream's entry in the evidence.
func (s *stream) evidence() StreamEvidence {
	s.counting.Lock()
	defer s.counting.Unlock()
	return StreamEvidence{
		Bytes: s.total, Passed: s.passed, Truncated: s.passed < s.total,
		SHA256: hex.EncodeToString(s.digest.Sum(nil)),
	}
}
