package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of one HTTP/2 connection.
const (
	streamsAtOnce  = 100
	receiveBuffer  = 1 << 20 // of a connection
	receiveStreams = 256 << 10
)

// requestsH2 serves the requests of an HTTP/2 connection until it ends.
func (c *client) requestsH2(s *stream, conn *tls.Conn) {
	s.up = c.transport(s.scheme)
	defer s.up.CloseIdleConnections()
	limits := c.proxy.limits
	var handlers sync.WaitGroup
	var n atomic.Int64
	over := make(chan struct{})
	var once sync.Once
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			handlers.Add(1)
			defer handlers.Done()
			c.requestH2(s, w, r, n.Add(1) >= int64(limits.Requests))
		}),
		MaxHeaderBytes: limits.HeaderBytes,
		IdleTimeout:    limits.Idle,
		ErrorLog:       log.New(io.Discard, "", 0),
		BaseContext:    func(net.Listener) context.Context { return c.ctx },
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateClosed || state == http.StateHijacked {
				once.Do(func() { close(over) })
			}
		},
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          streamsAtOnce,
			MaxReceiveBufferPerConnection: receiveBuffer,
			MaxReceiveBufferPerStream:     receiveStreams,
			WriteByteTimeout:              limits.Idle,
		},
	}
	_ = server.Serve(&oneConn{conn: conn, over: over})
	_ = server.Close()
	handlers.Wait()
}

// oneConn is a listener that has accepted one connection, and ends with it.
type oneConn struct {
	conn net.Conn
	over chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	if conn := l.conn; conn != nil {
		l.conn = nil
		return conn, nil
	}
	<-l.over
	return nil, net.ErrClosed
}

func (l *oneConn) Close() error   { return nil }
func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{} }

// requestH2 does one request of HTTP/2.
func (c *client) requestH2(s *stream, w http.ResponseWriter, r *http.Request, last bool) {
	if last {
		w.Header().Set("Connection", "close") // net/http says GOAWAY
	}
	e := Event{Time: time.Now(), Kind: Request, Method: r.Method}
	a := &ask{method: r.Method, target: r.RequestURI, host: r.Host, hasHost: true}
	rt, refused := c.judge(s, a, &e)
	if refused != nil {
		c.refuseH2(w, e, refused)
		return
	}
	from := &counted{r: r.Body, budget: c.proxy.limits.Sent - c.sent.Load()}
	fields := http.Header{}
	for name, values := range r.Header {
		if forwards(name) {
			fields[name] = values
		}
	}
	if len(fields["User-Agent"]) == 0 {
		fields["User-Agent"] = []string{""}
	}
	if strings.EqualFold(r.Header.Get("Te"), "trailers") {
		fields["Te"] = []string{"trailers"} // gRPC asks for it
	}
	out := sendable(s.scheme, rt, a, fields)
	if r.ContentLength != 0 {
		withBody(out, io.NopCloser(from), r.ContentLength) // trailers are dropped, as in HTTP/1
	}
	resp, err := s.up.RoundTrip(out.WithContext(context.WithValue(r.Context(), routeKey{}, rt)))
	e.Rule = string(rt.rule)
	if e.Address = rt.wire.at(); !e.Address.IsValid() {
		e.Address = c.lastDialled(rt.peer)
	}
	if err != nil {
		e.Sent = from.n.Load()
		if !errors.As(err, &refused) {
			refused = rt.failed("the server does not answer", err)
		}
		c.refuseH2(w, e, refused)
		return
	}
	defer resp.Body.Close()
	n, err := c.respondH2(w, resp)
	e.Sent, e.Received = from.n.Load(), n
	c.sent.Add(e.Sent)
	c.received.Add(n)
	c.answeredWith(e, rt, err)
	if err != nil {
		panic(http.ErrAbortHandler) // resets the stream: the answer is not whole
	}
}

func (c *client) refuseH2(w http.ResponseWriter, e Event, r *refusal) {
	c.emit(e, r)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Proxy-Status", proxyStatus(r.status, r.reason))
	w.WriteHeader(r.status)
	_, _ = io.WriteString(w, r.reason+"\n")
}

// respondH2 sends the server's answer on, each part when it is there.
func (c *client) respondH2(w http.ResponseWriter, resp *http.Response) (int64, error) {
	for name, values := range resp.Header {
		if forwards(name) {
			w.Header()[name] = values
		}
	}
	if resp.ContentLength >= 0 && len(resp.Header["Content-Length"]) > 0 {
		w.Header()["Content-Length"] = resp.Header["Content-Length"]
	}
	w.WriteHeader(resp.StatusCode)
	if resp.ContentLength != 0 {
		_ = http.NewResponseController(w).Flush()
	}
	n, err := copyBody(flushing{w}, resp.Body, false, c.proxy.limits.Received-c.received.Load())
	for name, values := range resp.Trailer {
		if forwards(name) {
			w.Header()[http.TrailerPrefix+name] = values
		}
	}
	return n, err
}

// flushing sends every write.
type flushing struct{ http.ResponseWriter }

func (f flushing) Write(b []byte) (int, error) {
	n, err := f.ResponseWriter.Write(b)
	if err == nil {
		err = http.NewResponseController(f.ResponseWriter).Flush()
	}
	return n, err
}

// counted is the body of a request, as far as the connection may send.
type counted struct {
	r      io.Reader
	n      atomic.Int64
	budget int64
}

func (c *counted) Read(b []byte) (int, error) {
	if c.n.Load() > c.budget {
		return 0, errBudget
	}
	n, err := c.r.Read(b)
	c.n.Add(int64(n))
	return n, err
}
