package proxy

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
)

// upgraded relays what follows an answer of 101, if the client has asked for it.
func (c *client) upgraded(s *stream, h *head, a *ask, rt *route, resp *http.Response, e Event) {
	server, ok := resp.Body.(io.ReadWriteCloser)
	if !ok || !a.upgrade || !strings.EqualFold(resp.Header.Get("Upgrade"), upgradeWord) {
		c.refuse(s, nil, e, &refusal{status: http.StatusBadGateway, decision: Failed, rule: rt.rule, reason: rt.peer.String() + " is allowed, but changes to a protocol that was not asked for"})
		return
	}
	_, _, _ = c.respond(s.conn, h, resp, false)
	side := &paced{Conn: s.conn, idle: c.proxy.limits.Idle}
	ends := &struct { // the buffered bytes first
		io.Reader
		io.Writer
	}{io.MultiReader(buffered{s.in}, side), side}
	var up, down int64
	var upErr error
	var both sync.WaitGroup
	both.Add(1)
	go func() {
		defer both.Done()
		defer c.proxy.recovered()
		up, upErr = copyBody(server, ends, false, c.proxy.limits.Sent-c.sent.Load())
		_ = server.Close()
	}()
	down, err := copyBody(ends, server, false, c.proxy.limits.Received-c.received.Load())
	_ = s.conn.Close()
	_ = server.Close()
	both.Wait()
	e.Sent, e.Received = up, down
	c.answeredWith(e, rt, errors.Join(err, upErr))
}

// buffered is what an input holds already.
type buffered struct{ in *input }

func (b buffered) Read(p []byte) (int, error) {
	if len(b.in.data) == 0 {
		return 0, io.EOF
	}
	return b.in.Read(p)
}
