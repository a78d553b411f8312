package proxy

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// body is the body of a request as its client sends it: of a length, or chunked.
// Another goroutine than the one that answers may read it, so it says when nobody
// will any more.
type body struct {
	in       *input
	idle     time.Duration
	budget   int64  // bytes that the connection may still send
	expected func() // before the first read: the client waits to be told to go on

	stopping atomic.Bool // stop wants the lock

	mu     sync.Mutex
	left   int64 // of the body, or of the chunk
	chunks bool
	begun  bool // a chunk has been read
	ended  bool
	failed error
	closed bool
	n      int64
}

// Faults of bodies.
var (
	errChunk     = errors.New("the body is not chunked as it says")
	errBodyShort = errors.New("the body ends before its length")
	errBudget    = errors.New("more bytes than a connection may send")
	errClosed    = errors.New("the body is closed")
)

// maxLine bounds the size line of a chunk with its extensions, and a line of trailers.
const maxLine = 4 << 10

func newBody(in *input, length int64, idle time.Duration, budget int64) *body {
	b := &body{in: in, idle: idle, budget: budget, left: max(length, 0), chunks: length < 0}
	b.ended = length == 0
	return b
}

func (b *body) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
		return 0, errClosed
	case b.failed != nil:
		return 0, b.failed
	case b.ended:
		return 0, io.EOF
	}
	if b.expected != nil {
		b.expected()
		b.expected = nil
	}
	n, err := b.read(p)
	b.n += int64(n)
	if err != nil && err != io.EOF {
		b.failed = err
	}
	return n, err
}

func (b *body) read(p []byte) (int, error) {
	_ = b.in.conn.SetReadDeadline(time.Now().Add(b.idle))
	if b.stopping.Load() { // asked behind the deadline, which stop sets behind this
		return 0, errClosed
	}
	if b.chunks && b.left == 0 {
		if err := b.nextChunk(); err != nil {
			return 0, err
		}
		if b.ended {
			return 0, io.EOF
		}
	}
	if b.n >= b.budget {
		return 0, errBudget
	}
	n, err := b.in.Read(p[:min(int64(len(p)), b.left, b.budget-b.n)])
	b.left -= int64(n)
	switch {
	case err == io.EOF && b.left > 0:
		return n, errBodyShort
	case err != nil && err != io.EOF:
		return n, err
	case b.left == 0 && !b.chunks:
		b.ended = true
		return n, io.EOF
	}
	return n, nil
}

// nextChunk reads the line before a chunk, and behind the last one the trailers,
// which are dropped. Lines end in CR LF, sizes are hexadecimal digits and nothing else
// (RFC 9112, section 7.1).
func (b *body) nextChunk() error {
	if b.begun {
		if line, err := b.line(); err != nil || len(line) != 0 {
			return orElse(err, errChunk)
		}
	}
	b.begun = true
	line, err := b.line()
	if err != nil {
		return err
	}
	if i := bytes.IndexByte(line, ';'); i >= 0 { // an extension
		line = bytes.TrimRight(line[:i], " \t")
	}
	if len(line) == 0 || len(line) > 15 {
		return errChunk
	}
	var size int64
	for _, c := range line {
		digit := int64(bytes.IndexByte([]byte("0123456789abcdef"), c|0x20))
		if digit < 0 || c < '0' {
			return errChunk
		}
		size = size<<4 | digit
	}
	b.left = size
	if size > 0 {
		return nil
	}
	for total := 0; ; total += len(line) + 2 {
		if line, err = b.line(); err != nil {
			return err
		}
		if len(line) == 0 {
			b.ended = true
			return nil
		}
		if _, err := parseField(string(line)); err != nil || total > maxLine {
			return errChunk
		}
	}
}

// line reads up to CR LF, which it drops. The result holds until the next read.
func (b *body) line() ([]byte, error) {
	for at := 0; ; {
		for ; at < len(b.in.data); at++ {
			switch c := b.in.data[at]; {
			case c == '\n' && (at == 0 || b.in.data[at-1] != '\r'):
				return nil, errChunk
			case c == '\n':
				line := append([]byte(nil), b.in.data[:at-1]...)
				b.in.consume(at + 1)
				return line, nil
			case at > 0 && b.in.data[at-1] == '\r', c < ' ' && c != '\t' && c != '\r', c == 0x7f:
				return nil, errChunk
			}
		}
		if err := b.in.fill(maxLine); err != nil {
			switch {
			case errors.Is(err, io.EOF):
				return nil, errBodyShort
			case errors.Is(err, errTooLong):
				return nil, errChunk
			}
			return nil, err
		}
	}
}

func orElse(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

// Close ends reading; it waits for no client.
func (b *body) Close() error { return nil }

// stop makes sure that nobody reads the client's connection through b any more, and
// reports whether the client's next byte is the next request's.
func (b *body) stop(conn net.Conn) bool {
	if b.mu.TryLock() {
		b.closed = true
	} else { // somebody waits for bytes of an answered request
		b.stopping.Store(true)
		_ = conn.SetReadDeadline(time.Unix(1, 0))
		b.mu.Lock()
		b.closed = true
	}
	defer b.mu.Unlock()
	return b.ended
}

// sent is how many bytes the client has sent.
func (b *body) sent() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.n
}

// fault is what the client's sending failed with.
func (b *body) fault() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failed
}
