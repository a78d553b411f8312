package proxy

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
)

func TestPlainRequest(t *testing.T) {
	server := newWeb(t, nil)
	port := portOf(server)
	l := newLab(t, nil, endpoint("web.test", "", port))
	c := l.talk()
	for _, tt := range []struct{ target, want string }{
		{"http://web.test:%d/a/../b//c?q=%%2f", "/b/c?q=%2f"},
		{"HTTP://WEB.test.:%d", "/"},
		{"http://web.test:%d?x", "/?x"},
		{"http://web.test:%d/%%7euser/?", "/~user/?"},
	} {
		c.say("GET %s HTTP/1.1\r\nHost: web.test:%d\r\nProxy-Connection: keep-alive\r\nProxy-Authorization: Basic eDp5\r\nConnection: x-secret, keep-alive\r\nX-Secret: 1\r\nTE: trailers\r\nCookie: a\r\nCookie: b\r\n\r\n", fmt.Sprintf(tt.target, port), port)
		if status, body := c.answer("GET"); status != 200 || body != "ok" {
			t.Fatalf("GET %s = %d %q", tt.target, status, body)
		}
		got := server.last(t)
		if got.target != tt.want || got.host != fmt.Sprintf("web.test:%d", port) || got.method != "GET" {
			t.Errorf("GET %s went on as %+v, want target %s", tt.target, got, tt.want)
		}
		for name := range got.header {
			if name != "Cookie" {
				t.Errorf("the server was sent %s: %q", name, got.header[name])
			}
		}
		if len(got.header["Cookie"]) != 2 {
			t.Errorf("the server was sent the cookies %q", got.header["Cookie"])
		}
		e := l.event()
		if e.Kind != Request || e.Decision != Allowed || e.Host != "web.test" || e.Port != port || e.Method != "GET" || e.Path != strings.SplitN(tt.want, "?", 2)[0] || e.Received != 2 || e.Address.String() != "127.0.0.1" || e.Rule != "lab/endpoint.web.test" {
			t.Errorf("event %+v", e)
		}
		if strings.Contains(fmt.Sprint(e), "q=") {
			t.Errorf("the event tells of the query: %+v", e)
		}
	}
	if resolved, dialled := l.lookups(); resolved != 1 || dialled != 1 {
		t.Errorf("four requests on one connection resolved %d times and dialled %d times", resolved, dialled)
	}
}

// TestRequestRefusals holds each refusal to a twin that is done.
func TestRequestRefusals(t *testing.T) {
	server := newWeb(t, nil)
	port := portOf(server)
	tlsOnly := endpoint("tls.test", "tls", port)
	rest := endpoint("api.test", "rest", port)
	rest.Requests = []ir.RequestRule{{Allow: true, Methods: []string{"GET"}, Path: "/repos/**", Origin: "lab/allow"}, {Path: "/repos/secret", Origin: "lab/deny"}}
	l := newLab(t, nil, endpoint("web.test", "", port), tlsOnly, rest)
	const twin = "GET http://web.test:PORT/x HTTP/1.1\r\nHost: web.test:PORT\r\n\r\n"
	for _, tt := range []struct {
		name, request string
		status        int
	}{
		{"twin", twin, 200},
		{"HTTP/1.0 without Host", "GET http://web.test:PORT/x HTTP/1.0\r\n\r\n", 200},
		{"origin form", strings.Replace(twin, "http://web.test:PORT", "", 1), 400},
		{"asterisk form", strings.Replace(twin, "http://web.test:PORT/x", "*", 1), 400},
		{"authority form", strings.Replace(twin, "http://web.test:PORT/x", "web.test:PORT", 1), 400},
		{"https", strings.Replace(twin, "http://", "https://", 1), 400},
		{"ftp", strings.Replace(twin, "http://", "ftp://", 1), 400},
		{"user in the authority", strings.Replace(twin, "http://", "http://web.test@", 1), 400},
		{"user and password", strings.Replace(twin, "http://", "http://u:p@", 1), 400},
		{"another host", strings.ReplaceAll(twin, "web.test", "evil.test"), 403},
		{"another port", strings.ReplaceAll(twin, "PORT", "1"), 403},
		{"Host of another", strings.Replace(twin, "Host: web", "Host: evil", 1), 403},
		{"Host without the port", strings.Replace(twin, "Host: web.test:PORT", "Host: web.test", 1), 403},
		{"Host in capitals with a dot", strings.Replace(twin, "Host: web.test", "Host: WEB.TEST.", 1), 200},
		{"empty Host", strings.Replace(twin, "Host: web.test:PORT", "Host:", 1), 400},
		{"Host with a user", strings.Replace(twin, "Host: web", "Host: a@web", 1), 400},
		{"encoded slash", strings.Replace(twin, "/x", "/a%2fb", 1), 400},
		{"encoded NUL", strings.Replace(twin, "/x", "/a%00b", 1), 400},
		{"above the root", strings.Replace(twin, "/x", "/../x", 1), 400},
		{"fragment", strings.Replace(twin, "/x", "/x#y", 1), 400},
		{"backslash", strings.Replace(twin, "/x", `/x\y`, 1), 400},
		{"parameter", strings.Replace(twin, "/x", "/x;y", 1), 400},
		{"bad escape", strings.Replace(twin, "/x", "/%zz", 1), 400},
		{"raw byte outside ASCII", strings.Replace(twin, "/x", "/\xc3\xa9", 1), 400},
		{"fragment behind the host", strings.Replace(twin, "/x", "#@web.test", 1), 400},
		{"TRACE", strings.Replace(twin, "GET", "TRACE", 1), 403},
		{"an endpoint for TLS", strings.ReplaceAll(twin, "web.test", "tls.test"), 403},
		{"rest", strings.ReplaceAll(strings.Replace(twin, "/x", "/repos/a/b", 1), "web.test", "api.test"), 200},
		{"rest, another path", strings.ReplaceAll(strings.Replace(twin, "/x", "/user", 1), "web.test", "api.test"), 403},
		{"rest, another method", strings.ReplaceAll(strings.Replace(strings.Replace(twin, "/x", "/repos/a", 1), "GET", "DELETE", 1), "web.test", "api.test"), 403},
		{"rest, method in lower case", strings.ReplaceAll(strings.Replace(strings.Replace(twin, "/x", "/repos/a", 1), "GET", "get", 1), "web.test", "api.test"), 403},
		{"rest, denied", strings.ReplaceAll(strings.Replace(twin, "/x", "/repos/secret", 1), "web.test", "api.test"), 403},
		{"rest, denied in disguise", strings.ReplaceAll(strings.Replace(twin, "/x", "/repos//a/%2e%2e/s%65cret", 1), "web.test", "api.test"), 403},
		{"websocket on rest", strings.ReplaceAll(strings.Replace(twin, "/x HTTP/1.1\r\n", "/repos/a HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n", 1), "web.test", "api.test"), 403},
		{"websocket with a body", strings.Replace(twin, "\r\n\r\n", "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 1\r\n\r\nx", 1), 400},
		{"h2c is not offered on", strings.Replace(twin, "\r\n\r\n", "\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n\r\n", 1), 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := server.count()
			resolved, dialled := l.lookups()
			request := strings.ReplaceAll(tt.request, "PORT", fmt.Sprint(port))
			status, body := l.talk().say("%s", request).answer(strings.SplitN(request, " ", 2)[0])
			if status != tt.status {
				t.Errorf("%q = %d %s, want %d", request, status, body, tt.status)
			}
			e := l.event()
			if tt.status == 200 {
				if e.Decision != Allowed || server.count() != before+1 {
					t.Errorf("%q: event %+v, the server saw %d requests", request, e, server.count()-before)
				}
				if h := server.last(t).header; h.Get("Upgrade") != "" || h.Get("Http2-Settings") != "" {
					t.Errorf("%q: the server was asked to change protocols: %v", request, h)
				}
				return
			}
			if e.Decision != Denied || e.Dimension == "" || body != e.Reason+"\n" || server.count() != before {
				t.Errorf("%q: event %+v, body %q, the server saw %d requests", request, e, body, server.count()-before)
			}
			if r, d := l.lookups(); r != resolved || d != dialled {
				t.Errorf("%q: what was refused was resolved %d times and dialled %d times", request, r-resolved, d-dialled)
			}
		})
	}
}

func TestHintForHTTPS(t *testing.T) {
	l := newLab(t, nil, endpoint("web.test", "", 443))
	if _, body := l.talk().say("GET https://web.test/ HTTP/1.1\r\nHost: web.test\r\n\r\n").answer("GET"); !strings.Contains(body, "CONNECT") {
		t.Errorf("https:// is refused with %q, which does not say what to do", body)
	}
}

// TestEachRequestIsDecided keeps one connection for requests to three hosts.
func TestEachRequestIsDecided(t *testing.T) {
	a, b := newWeb(t, nil), newWeb(t, nil)
	l := newLab(t, nil, endpoint("a.test", "", portOf(a)), endpoint("b.test", "", portOf(b)))
	c := l.talk()
	get := func(host string, port uint16, want int) {
		t.Helper()
		c.say("GET http://%s:%d/ HTTP/1.1\r\nHost: %s:%d\r\n\r\n", host, port, host, port)
		if status, body := c.answer("GET"); status != want {
			t.Errorf("GET %s = %d %s, want %d", host, status, body, want)
		}
	}
	get("a.test", portOf(a), 200)
	get("evil.test", portOf(a), 403)
	get("b.test", portOf(b), 200)
	get("a.test", portOf(b), 403)
	get("a.test", portOf(a), 200)
	if a.count() != 2 || b.count() != 1 {
		t.Errorf("a saw %d requests and b %d, want 2 and 1", a.count(), b.count())
	}
	c.say("GET http://evil.test/a//b?c HTTP/1.1\r\nHost: evil.test\r\n\r\n")
	resp, body := c.response("GET")
	if want := `obspc; error=http_request_denied; details="` + strings.TrimSpace(body) + `"`; resp.Header.Get("Proxy-Status") != want {
		t.Errorf("Proxy-Status is %s, want %s", resp.Header.Get("Proxy-Status"), want)
	}
	var e Event
	for range 6 {
		e = l.event()
	}
	if e.Host != "evil.test" || e.Method != "GET" || e.Path != "/a/b" || e.Reason+"\n" != body {
		t.Errorf("event %+v", e)
	}
	if n := l.proxy.Counts(); n.Allowed != 3 || n.Denied != 3 || n.Connections != 1 {
		t.Errorf("Counts() = %+v", n)
	}
}

func TestPipelinedRequests(t *testing.T) {
	server := newWeb(t, nil)
	port := portOf(server)
	l := newLab(t, nil, endpoint("web.test", "", port))
	one := fmt.Sprintf("POST http://web.test:%d/1 HTTP/1.1\r\nHost: web.test:%d\r\nContent-Length: 5\r\n\r\nGET /", port, port)
	two := fmt.Sprintf("POST http://web.test:%d/2 HTTP/1.1\r\nHost: web.test:%d\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n1\r\nd\r\n0\r\nX-Trailer: 1\r\n\r\n", port, port)
	three := fmt.Sprintf("GET http://evil.test:%d/3 HTTP/1.1\r\nHost: evil.test:%d\r\n\r\n", port, port)
	c := l.talk().say("%s", one+two+three+one)
	for i, want := range []int{200, 200, 403, 200} {
		if status, body := c.answer("POST"); status != want {
			t.Fatalf("answer %d is %d %s, want %d", i, status, body, want)
		}
	}
	if server.count() != 3 || server.seen[0].body != "GET /" || server.seen[1].body != "abcd" {
		t.Errorf("the server saw %+v", server.seen)
	}
	if e := l.event(); e.Sent != 5 {
		t.Errorf("event %+v, want 5 bytes sent", e)
	}
}

// TestBodyOfWhatIsRefused: the body of a denied request is no request.
func TestBodyOfWhatIsRefused(t *testing.T) {
	server := newWeb(t, nil)
	port := portOf(server)
	l := newLab(t, nil, endpoint("web.test", "", port))
	inner := fmt.Sprintf("GET http://web.test:%d/inner HTTP/1.1\r\nHost: web.test:%d\r\n\r\n", port, port)
	for _, request := range []string{
		fmt.Sprintf("POST http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\nContent-Length: %d\r\n\r\n%s", len(inner), inner),
		fmt.Sprintf("POST http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\nTransfer-Encoding: chunked\r\n\r\n%s", inner),
	} {
		c := l.talk().say("%s", request)
		if status, _ := c.answer("POST"); status != 403 {
			t.Errorf("%q = %d, want 403", request, status)
		}
		if rest := c.ended(); rest != "" || server.count() != 0 {
			t.Errorf("behind the refusal of %q comes %q, and the server saw %+v", request, rest, server.seen)
		}
	}
}

func TestBodies(t *testing.T) {
	server := newWeb(t, nil)
	port := portOf(server)
	l := newLab(t, func(c *Config) { c.Limits.Sent = 1 << 20 }, endpoint("web.test", "", port))
	head := fmt.Sprintf("POST http://web.test:%d/ HTTP/1.1\r\nHost: web.test:%d\r\n", port, port)
	chunked := head + "Transfer-Encoding: chunked\r\n\r\n"
	for _, tt := range []struct {
		name, request string
		status        int
	}{
		{"chunked", chunked + "5\r\nhello\r\n0\r\n\r\n", 200},
		{"upper-case size", chunked + "A\r\n0123456789\r\n00\r\n\r\n", 200},
		{"bare LF behind the size", chunked + "5\nhello\r\n0\r\n\r\n", 400},
		{"bare LF behind the chunk", chunked + "5\r\nhello\n0\r\n\r\n", 400},
		{"chunk longer than its size", chunked + "4\r\nhello\r\n0\r\n\r\n", 400},
		{"size with a sign", chunked + "+5\r\nhello\r\n0\r\n\r\n", 400},
		{"size with 0x", chunked + "0x5\r\nhello\r\n0\r\n\r\n", 400},
		{"no size", chunked + "\r\nhello\r\n0\r\n\r\n", 400},
		{"size past 60 bits", chunked + "1000000000000000\r\nhello\r\n0\r\n\r\n", 400},
		{"folded trailer", chunked + "0\r\nX: y\r\n z\r\n\r\n", 400},
		{"control character in an extension", chunked + "5;\x01\r\nhello\r\n0\r\n\r\n", 400},
		{"past the limit", head + "Content-Length: 1048577\r\n\r\n" + strings.Repeat("x", 1048577), 413},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if status, body := l.talk().say("%s", tt.request).answer("POST"); status != tt.status {
				t.Errorf("%.200q = %d %s, want %d", tt.request, status, body, tt.status)
			}
		})
	}
}

func TestExpectContinue(t *testing.T) {
	server := newWeb(t, nil)
	port := portOf(server)
	early := listen(t) // says no before the body, and keeps the connection
	go func() {
		conn, err := early.Accept()
		if err != nil {
			return
		}
		_, _ = conn.Read(make([]byte, 4096))
		_, _ = io.WriteString(conn, "HTTP/1.1 413 No\r\nContent-Length: 2\r\n\r\nno")
	}()
	l := newLab(t, nil, endpoint("web.test", "", port), endpoint("early.test", "", portOf(early)))
	c := l.talk().say("PUT http://web.test:%d/ HTTP/1.1\r\nHost: web.test:%d\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n", port, port)
	if line, err := c.r.ReadString('\n'); err != nil || line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("the client is told %q, %v, want to go on", line, err)
	}
	if line, _ := c.r.ReadString('\n'); line != "\r\n" {
		t.Fatalf("100 has the field %q", line)
	}
	c.say("hi")
	if status, body := c.answer("PUT"); status != 200 || server.last(t).body != "hi" {
		t.Errorf("PUT = %d %s, the server saw %+v", status, body, server.last(t))
	}
	refused := l.talk().say("PUT http://early.test:%d/ HTTP/1.1\r\nHost: early.test:%d\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n", portOf(early), portOf(early))
	if status, body := refused.answer("PUT"); status != 413 || body != "no" {
		t.Errorf("PUT = %d %s, want the server's 413 and no 100 before it", status, body)
	}
	if rest := refused.ended(); rest != "" { // the body may come or not: the connection is of no more use
		t.Errorf("behind the answer comes %q", rest)
	}
	c.say("PUT http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
	if status, _ := c.answer("PUT"); status != 403 {
		t.Errorf("a denied PUT = %d, and no 100 before it", status)
	}
}

// TestStreamedAnswer wants each part of an answer when the server has sent it.
func TestStreamedAnswer(t *testing.T) {
	next := make(chan struct{})
	server := newWeb(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			_, _ = fmt.Fprintf(w, "event %d\n", i)
			w.(http.Flusher).Flush()
			<-next
		}
		w.Header().Set("X-Sum", "3")
	})
	port := portOf(server)
	l := newLab(t, nil, endpoint("web.test", "", port))
	c := l.talk().say("GET http://web.test:%d/ HTTP/1.1\r\nHost: web.test:%d\r\n\r\n", port, port)
	resp, err := http.ReadResponse(c.r, nil)
	if err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 100)
	for i := range 3 {
		n, err := resp.Body.Read(buffer)
		if got := string(buffer[:n]); err != nil || got != fmt.Sprintf("event %d\n", i) {
			t.Fatalf("part %d is %q, %v", i, got, err)
		}
		next <- struct{}{}
	}
	if _, err := io.ReadAll(resp.Body); err != nil || resp.Trailer.Get("X-Sum") != "3" {
		t.Errorf("the end is %v, the trailer %v", err, resp.Trailer)
	}
}

func TestAnswers(t *testing.T) {
	server := newWeb(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/204":
			w.WriteHeader(204)
		case "/304":
			w.Header().Set("ETag", "x")
			w.WriteHeader(304)
		case "/big":
			_, _ = w.Write(make([]byte, 300_000))
		default:
			w.Header().Set("Connection", "X-Hop")
			w.Header().Set("X-Hop", "1")
			w.Header().Set("Proxy-Authenticate", "Basic")
			_, _ = io.WriteString(w, "ok")
		}
	})
	port := portOf(server)
	l := newLab(t, nil, endpoint("web.test", "", port))
	c := l.talk()
	for _, tt := range []struct {
		method, path string
		status, size int
	}{{"GET", "/", 200, 2}, {"HEAD", "/", 200, 0}, {"GET", "/204", 204, 0}, {"GET", "/304", 304, 0}, {"GET", "/big", 200, 300_000}, {"HEAD", "/big", 200, 0}, {"GET", "/", 200, 2}} {
		c.say("%s http://web.test:%d%s HTTP/1.1\r\nHost: web.test:%d\r\n\r\n", tt.method, port, tt.path, port)
		resp, body := c.response(tt.method)
		if resp.StatusCode != tt.status || len(body) != tt.size {
			t.Errorf("%s %s = %d with %d bytes, want %d with %d", tt.method, tt.path, resp.StatusCode, len(body), tt.status, tt.size)
		}
		if resp.Header.Get("X-Hop") != "" || resp.Header.Get("Proxy-Authenticate") != "" {
			t.Errorf("%s %s: fields of another connection come through: %v", tt.method, tt.path, resp.Header)
		}
		if tt.method == "HEAD" && tt.path == "/" && resp.ContentLength != 2 {
			t.Errorf("HEAD / says %d bytes, want 2", resp.ContentLength)
		}
	}
	old := l.talk().say("GET http://web.test:%d/big HTTP/1.0\r\n\r\n", port)
	resp, err := http.ReadResponse(old.r, nil)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(resp.Body); err != nil || len(body) != 300_000 || len(resp.TransferEncoding) != 0 {
		t.Errorf("HTTP/1.0 gets %d bytes, %v, encoded %v", len(body), err, resp.TransferEncoding)
	}
}

func TestCredential(t *testing.T) {
	server := newWeb(t, nil)
	port := portOf(server)
	l := newLab(t, func(c *Config) { c.Credential = "obspc:secret" }, endpoint("web.test", "", port))
	request := fmt.Sprintf("GET http://web.test:%d/ HTTP/1.1\r\nHost: web.test:%d\r\n", port, port)
	connect := fmt.Sprintf("CONNECT web.test:%d HTTP/1.1\r\nHost: web.test:%d\r\n", port, port)
	for _, tt := range []struct {
		request string
		status  int
	}{
		{request, 407},
		{request + "Proxy-Authorization: Basic b2JzcGM6d3Jvbmc=\r\n", 407},
		{request + "Proxy-Authorization: Bearer b2JzcGM6c2VjcmV0\r\n", 407},
		{request + "Authorization: Basic b2JzcGM6c2VjcmV0\r\n", 407},
		{request + "Proxy-Authorization: Basic b2JzcGM6c2VjcmV0\r\n", 200},
		{connect, 407},
		{connect + "proxy-authorization: basic  b2JzcGM6c2VjcmV0\r\n", 200},
	} {
		resp, _ := l.talk().say("%s\r\n", tt.request).response(strings.SplitN(tt.request, " ", 2)[0])
		if resp.StatusCode != tt.status {
			t.Errorf("%q = %d, want %d", tt.request, resp.StatusCode, tt.status)
		}
		if tt.status == 407 && !strings.HasPrefix(resp.Header.Get("Proxy-Authenticate"), "Basic") {
			t.Errorf("%q: nothing says how to authenticate: %v", tt.request, resp.Header)
		}
	}
	if n := l.proxy.Counts().Unauthenticated; n != 5 {
		t.Errorf("%d were counted without the credential, want 5", n)
	}
	if h := server.last(t).header; h.Get("Proxy-Authorization") != "" {
		t.Errorf("the credential went on: %v", h)
	}
}

// TestWebsocket upgrades, relays bytes both ways, and refuses a change nobody asked for.
func TestWebsocket(t *testing.T) {
	server := newWeb(t, func(w http.ResponseWriter, r *http.Request) {
		conn, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		protocol := "websocket"
		if r.URL.Path == "/other" {
			protocol = "h2c"
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+protocol+"\r\nSec-WebSocket-Accept: x\r\n\r\n")
		_, _ = io.Copy(conn, rw)
	})
	port := portOf(server)
	l := newLab(t, nil, endpoint("web.test", "http", port))
	authority := fmt.Sprintf("web.test:%d", port)
	const asks = "Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Key: y\r\n"
	for _, tunnel := range []bool{false, true} {
		c, target := l.talk(), "http://"+authority+"/chat"
		if tunnel {
			c, target = l.connect(authority, 200), "/chat"
		}
		c.say("GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\nearly", target, authority, asks)
		resp, _ := c.response("GET")
		if resp.StatusCode != 101 || resp.Header.Get("Upgrade") != "websocket" || resp.Header.Get("Sec-Websocket-Accept") != "x" {
			t.Fatalf("the answer is %d %v", resp.StatusCode, resp.Header)
		}
		if got := c.bytes(5) + c.say("late").bytes(4); got != "earlylate" {
			t.Errorf("what comes back is %q", got)
		}
		_ = c.Close()
		if e := l.requestEvent(); e.Decision != Allowed || e.Sent != 9 || e.Received != 9 {
			t.Errorf("event %+v", e)
		}
	}
	for _, request := range []string{
		"GET http://" + authority + "/chat HTTP/1.1\r\nHost: " + authority + "\r\n\r\n",
		"GET http://" + authority + "/other HTTP/1.1\r\nHost: " + authority + "\r\n" + asks + "\r\n",
	} {
		if status, _ := l.talk().say("%s", request).answer("GET"); status != 502 {
			t.Errorf("a change that nobody asked for, to %q, is answered with %d, want 502", request, status)
		}
	}
}

func TestServersOutOfReach(t *testing.T) {
	closed := listen(t)
	_ = closed.Close()
	port := portOf(closed)
	l := newLab(t, nil, endpoint("gone.test", "", port), endpoint("unknown.test", "", port))
	l.name("unknown.test")
	for _, tt := range []struct{ host, reason string }{{"gone.test", "refused"}, {"unknown.test", "no such host"}} {
		for _, request := range []string{"GET http://%s:%d/ HTTP/1.1\r\nHost: %s:%d\r\n\r\n", "CONNECT %s:%d HTTP/1.1\r\nHost: %s:%d\r\n\r\n"} {
			status, body := l.talk().say(request, tt.host, port, tt.host, port).answer("GET")
			if status != 502 || !strings.Contains(body, tt.reason) {
				t.Errorf("%s = %d %s, want 502 and %q", tt.host, status, body, tt.reason)
			}
			if e := l.event(); e.Decision != Failed || e.Host != tt.host {
				t.Errorf("%s: event %+v", tt.host, e)
			}
		}
	}
}
