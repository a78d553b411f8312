package proxy

import (
	"errors"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// relay copies between the client and up until both have ended or a limit has, and
// tells the sink. It goes on in goroutines of its own when it returns: those have
// small stacks, and deciding took a large one.
func (c *client) relay(rt *route, up net.Conn, e Event) {
	c.apart = true
	r := &relaying{client: c, up: up, idle: c.proxy.limits.Idle}
	r.last.Store(time.Now().UnixNano())
	r.running.Store(2)
	go func() {
		defer c.proxy.recovered()
		n, err := r.copy(c.conn, up, c.proxy.limits.Received)
		r.received = n
		r.ended(rt, e, err)
	}()
	go func() {
		defer c.proxy.recovered()
		n, err := r.begin(up, c.in, c.proxy.limits.Sent)
		if err == nil {
			var more int64
			more, err = r.copy(up, c.conn, c.proxy.limits.Sent-n)
			n += more
		}
		r.sent = n
		r.ended(rt, e, err)
	}()
}

// ended closes both connections if a direction has failed; the last of the two does
// what is left to do.
func (r *relaying) ended(rt *route, e Event, err error) {
	if err != nil {
		r.failure.CompareAndSwap(nil, &err)
		_ = r.client.conn.Close()
		_ = r.up.Close()
	}
	if r.running.Add(-1) > 0 {
		return
	}
	c := r.client
	c.proxy.untrack(r.up)
	e.Sent, e.Received = r.sent, r.received
	switch failure := r.failure.Load(); {
	case c.over.Load():
		c.overLimit(e, rt, "the connection has lasted %v, as long as one may", c.proxy.limits.Total)
	case failure != nil && errors.Is(*failure, errIdle):
		c.overLimit(e, rt, "nothing was sent in either direction for %v", r.idle)
	case failure != nil && errors.Is(*failure, errQuota):
		c.overLimit(e, rt, "the connection has sent or received as many bytes as one may")
	default:
		c.allowed(e, rt)
	}
	c.end()
}

// overLimit tells the sink of a connection that was allowed and that a limit ended.
func (c *client) overLimit(e Event, rt *route, format string, args ...any) {
	r := denied(overLimit, rt.rule, format, args...)
	e.Decision, e.Dimension, e.Rule, e.Reason = Allowed, string(overLimit), string(rt.rule), r.reason
	c.identified(&e)
	c.proxy.emit(e)
}

var (
	errIdle  = errors.New("idle")
	errQuota = errors.New("too many bytes")
)

// relaying is the two directions of a relay.
type relaying struct {
	client         *client
	up             net.Conn
	idle           time.Duration
	last           atomic.Int64 // when a byte moved, in nanoseconds of the clock
	running        atomic.Int32 // directions
	failure        atomic.Pointer[error]
	sent, received int64 // set when their direction has ended
}

// Sizes of buffers: a direction that waits holds the small one, which most messages
// of interactive protocols fit into; one that a lot comes through borrows a large one,
// and hands bytes over inside the kernel if more comes than fits that.
const (
	waitingBytes = 2 << 10
	movingBytes  = 64 << 10
)

var moving = sync.Pool{New: func() any { return new([movingBytes]byte) }}

// begin sends on what the input holds already.
func (r *relaying) begin(to net.Conn, in *input, quota int64) (int64, error) {
	n := len(in.data)
	if n == 0 {
		return 0, nil
	}
	if int64(n) > quota {
		return 0, errQuota
	}
	_ = to.SetWriteDeadline(time.Now().Add(r.idle))
	_, err := to.Write(in.data) // of a few KiB, which a new connection's buffers take
	in.consume(n)
	r.last.Store(time.Now().UnixNano())
	return int64(n), err
}

// copy moves bytes until from has ended, and then ends the sending side of to.
func (r *relaying) copy(to, from net.Conn, quota int64) (n int64, err error) {
	small := make([]byte, waitingBytes)
	for {
		got, err := r.step(to, from, small, quota-n)
		n += got
		if err == nil && got == waitingBytes {
			got, err = r.burst(to, from, quota-n)
			n += got
		}
		switch {
		case err == io.EOF:
			if half, ok := to.(interface{ CloseWrite() error }); ok {
				return n, half.CloseWrite()
			}
			return n, to.Close()
		case err != nil:
			return n, err
		}
	}
}

// step is one read and one write.
func (r *relaying) step(to, from net.Conn, buffer []byte, quota int64) (int64, error) {
	for {
		now := time.Now()
		last := time.Unix(0, r.last.Load())
		if now.Sub(last) >= r.idle {
			return 0, errIdle
		}
		_ = from.SetReadDeadline(last.Add(r.idle))
		n, err := from.Read(buffer)
		if n > 0 {
			if int64(n) > quota {
				return 0, errQuota
			}
			r.last.Store(time.Now().UnixNano())
			_ = to.SetWriteDeadline(time.Now().Add(r.idle))
			if _, err := to.Write(buffer[:n]); err != nil {
				if late(err) {
					err = errIdle
				}
				return 0, err
			}
			return int64(n), nil // an error comes again
		}
		if late(err) {
			continue // the other direction may have moved
		}
		if err != nil {
			return 0, err
		}
	}
}

// burst moves bytes while they come in large pieces.
func (r *relaying) burst(to, from net.Conn, quota int64) (n int64, err error) {
	large := moving.Get().(*[movingBytes]byte)
	defer func() {
		if large != nil {
			moving.Put(large)
		}
	}()
	for {
		got, err := r.step(to, from, large[:], quota-n)
		n += got
		if err != nil || got < movingBytes/8 {
			return n, err
		}
		if got < movingBytes {
			continue
		}
		tcpTo, ok1 := to.(*net.TCPConn)
		tcpFrom, ok2 := from.(*net.TCPConn)
		if !ok1 || !ok2 || runtime.GOOS != "linux" {
			continue
		}
		moving.Put(large)
		large = nil
		got, err = r.splice(tcpTo, tcpFrom, quota-n)
		return n + got, err
	}
}

// spliceTime is how long a splice waits for more; a pipe is held meanwhile.
const spliceTime = 50 * time.Millisecond

// splice moves bytes without copying them into this process (splice(2), which
// TCPConn.ReadFrom uses) until for a moment there are none.
func (r *relaying) splice(to, from *net.TCPConn, quota int64) (n int64, err error) {
	for {
		if n >= quota {
			return n, nil // the next step finds out whether there is more
		}
		now := time.Now()
		_ = from.SetReadDeadline(now.Add(spliceTime))
		_ = to.SetWriteDeadline(now.Add(r.idle))
		want := min(quota-n, 1<<30)
		got, err := to.ReadFrom(&io.LimitedReader{R: from, N: want})
		n += got
		if got > 0 {
			r.last.Store(time.Now().UnixNano())
		}
		switch {
		case late(err) && time.Since(now) >= r.idle:
			return n, errIdle // of to: what was in the pipe is lost, so nothing may follow
		case late(err) && got > 0:
			continue
		case late(err):
			return n, nil
		case err != nil:
			return n, err
		case got < want:
			return n, io.EOF
		}
	}
}
