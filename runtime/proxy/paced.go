package proxy

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// paced is a connection that fails when nothing has moved on it, in either
// direction, for as long as idle.
type paced struct {
	net.Conn
	idle  time.Duration
	last  atomic.Int64 // when something moved, in nanoseconds of the clock
	once  sync.Once
	close func() // instead of closing Conn, if it is set
}

func (p *paced) moved() { p.last.Store(time.Now().UnixNano()) }

func (p *paced) Read(b []byte) (int, error) {
	for {
		asked := time.Now()
		_ = p.Conn.SetReadDeadline(asked.Add(p.idle))
		n, err := p.Conn.Read(b)
		if n > 0 {
			p.moved()
		}
		if n == 0 && late(err) && p.last.Load() > asked.UnixNano() {
			continue // what was written moved
		}
		return n, err
	}
}

func (p *paced) Write(b []byte) (int, error) {
	_ = p.Conn.SetWriteDeadline(time.Now().Add(p.idle))
	n, err := p.Conn.Write(b)
	if n > 0 {
		p.moved()
	}
	return n, err
}

func (p *paced) Close() error {
	if p.close == nil {
		return p.Conn.Close()
	}
	p.once.Do(p.close)
	return nil
}
