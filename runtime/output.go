package runtime

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"sync"
	"syscall"

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
	to    io.Writer // nil: it is kept and not passed on
	limit int64     // negative: no limit

	counting sync.Mutex // of what follows: a reader may hold Write up for ever
	total    int64
	within   int64 // the limit
	passed   int64
	digest   hash.Hash
	kept     *bytes.Buffer // the first maxKept bytes within the limit; nil: none are
	broken   error         // it could not be passed on; the rest is discarded
}

func newStream(to io.Writer, limit int64) *stream {
	return &stream{to: to, limit: limit, digest: sha256.New()}
}

// Write never fails: a command is not to learn who reads it.
func (s *stream) Write(p []byte) (int, error) {
	n := len(p)
	if p = s.count(p); s.to != nil && s.fault() == nil && len(p) > 0 {
		passed, err := s.to.Write(p)
		s.counting.Lock()
		s.passed, s.broken = s.passed+int64(passed), err
		s.counting.Unlock()
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
		p = p[:min(int64(len(p)), max(s.limit-s.within, 0))]
	}
	s.within += int64(len(p))
	if s.kept != nil {
		s.kept.Write(p[:min(len(p), max(maxKept-s.kept.Len(), 0))])
	}
	return p
}

// fault is why it could not be passed on.
func (s *stream) fault() error {
	s.counting.Lock()
	defer s.counting.Unlock()
	return s.broken
}

// readerGone reports whether nobody reads it any more: a pipe that was closed, as head
// does once it has seen enough.
func (s *stream) readerGone() bool { return errors.Is(s.fault(), syscall.EPIPE) }

// cut reports whether the command wrote more than its limit.
func (s *stream) cut() bool {
	s.counting.Lock()
	defer s.counting.Unlock()
	return s.within < s.total
}

// evidence is the stream's entry in the evidence.
func (s *stream) evidence() StreamEvidence {
	s.counting.Lock()
	defer s.counting.Unlock()
	e := StreamEvidence{Bytes: s.total, Passed: s.passed, Truncated: s.within < s.total, SHA256: hex.EncodeToString(s.digest.Sum(nil))}
	if s.to == nil {
		e.Passed = s.within
	}
	if s.broken != nil {
		e.Fault = s.broken.Error()
	}
	return e
}
