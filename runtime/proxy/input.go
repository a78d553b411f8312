package proxy

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// input is what a peer has sent, through a buffer that exists only while something
// is in it: an idle connection holds none.
type input struct {
	conn  net.Conn
	array *[inputBytes]byte // of the pool, or nil
	data  []byte            // not read yet; in array, or in a slice of its own
}

const inputBytes = 4 << 10

var inputs = sync.Pool{New: func() any { return new([inputBytes]byte) }}

var errTooLong = errors.New("too long")

// Read drains the buffer, then reads from the connection.
func (in *input) Read(p []byte) (int, error) {
	if len(in.data) == 0 {
		return in.conn.Read(p)
	}
	n := copy(p, in.data)
	in.consume(n)
	return n, nil
}

// consume drops n bytes, and the buffer with the last of them.
func (in *input) consume(n int) {
	in.data = in.data[n:]
	if len(in.data) == 0 {
		in.release()
	}
}

func (in *input) release() {
	in.data = nil
	if in.array != nil {
		inputs.Put(in.array)
		in.array = nil
	}
}

// fill waits for more bytes, of which the buffer holds at most limit.
func (in *input) fill(limit int) error {
	have := len(in.data)
	if have >= limit {
		return errTooLong
	}
	if cap(in.data) == have {
		switch {
		case in.array == nil && have == 0:
			in.array = inputs.Get().(*[inputBytes]byte)
			in.data = in.array[:0]
		default:
			grown := make([]byte, have, max(inputBytes, 2*have))
			copy(grown, in.data)
			if in.array != nil {
				inputs.Put(in.array)
				in.array = nil
			}
			in.data = grown
		}
	}
	n, err := in.conn.Read(in.data[have:min(cap(in.data), limit)])
	in.data = in.data[:have+n]
	if n > 0 {
		return nil
	}
	if len(in.data) == 0 {
		in.release()
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

// first waits until a byte is there, and returns it.
func (in *input) first(wait time.Duration) (byte, error) {
	if len(in.data) == 0 {
		_ = in.conn.SetReadDeadline(time.Now().Add(wait))
		if err := in.fill(inputBytes); err != nil {
			return 0, err
		}
	}
	return in.data[0], nil
}

// head waits for the head of a message: at most limit bytes, in at most the given
// time. It returns the bytes up to the end of the empty line, to be consumed by the
// caller. What cannot become a head is refused at once.
func (in *input) head(limit int, within time.Duration) ([]byte, error) {
	_ = in.conn.SetReadDeadline(time.Now().Add(within))
	var s headScanner
	for {
		end, err := s.scan(in.data)
		if err != nil {
			return nil, err
		}
		if end > 0 {
			if end > limit {
				return nil, errTooLong
			}
			return in.data[:end], nil
		}
		if err := in.fill(limit); err != nil {
			return nil, err
		}
	}
}
