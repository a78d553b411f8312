package proxy

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// writeTime is how long a client may take to read an answer of the proxy's own.
const writeTime = 10 * time.Second

// answer writes an answer of the proxy itself: one line of text.
func answer(conn net.Conn, status int, reason string, closing, noBody bool) error {
	var b bytes.Buffer
	b.WriteString("HTTP/1.1 " + strconv.Itoa(status) + " " + http.StatusText(status) + "\r\nContent-Type: text/plain; charset=utf-8\r\nX-Content-Type-Options: nosniff\r\nContent-Length: " + strconv.Itoa(len(reason)+1) + "\r\n")
	if status == http.StatusProxyAuthRequired {
		b.WriteString("Proxy-Authenticate: Basic realm=\"obspc\"\r\n")
	}
	b.WriteString("Proxy-Status: " + proxyStatus(status, reason) + "\r\n")
	if closing {
		b.WriteString("Connection: close\r\n")
	}
	b.WriteString("\r\n")
	if !noBody {
		b.WriteString(reason + "\n")
	}
	_ = conn.SetWriteDeadline(time.Now().Add(writeTime))
	_, err := conn.Write(b.Bytes())
	return err
}

// proxyStatus is the field that tells an answer of the proxy from a server's (RFC
// 9209), for programs that show no bodies of answers to CONNECT, as curl does.
func proxyStatus(status int, reason string) string {
	kind := "http_request_error"
	switch status {
	case http.StatusForbidden, http.StatusMisdirectedRequest, http.StatusProxyAuthRequired:
		kind = "http_request_denied"
	case http.StatusBadGateway:
		kind = "destination_unavailable"
	case http.StatusGatewayTimeout:
		kind = "connection_timeout"
	case http.StatusServiceUnavailable:
		kind = "connection_limit_reached"
	}
	details := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, reason)
	return `obspc; error=` + kind + `; details="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(details) + `"`
}

// hopByHop are the fields of one connection (RFC 9110, section 7.6.1), and those that
// are made anew for the next.
var hopByHop = map[string]bool{
	"Connection": true, "Keep-Alive": true, "Proxy-Connection": true, "Proxy-Authorization": true, "Proxy-Authenticate": true,
	"Proxy-Authentication-Info": true, "Te": true, "Trailer": true, "Transfer-Encoding": true, "Upgrade": true, "Http2-Settings": true,
	"Content-Length": true, "Host": true, "Expect": true,
}

// forwards reports whether the field of that canonical name goes on.
func forwards(name string) bool { return !hopByHop[name] && !strings.HasPrefix(name, "Proxy-") }

const copyBytes = 32 << 10

var copies = sync.Pool{New: func() any { return new([copyBytes]byte) }}

// respond writes the server's answer. It returns how many bytes of its body went to
// the client, and whether another answer may follow: all of them did, and their end
// can be told from what follows.
func (c *client) respond(conn net.Conn, h *head, resp *http.Response, closing bool) (n int64, again bool, err error) {
	bodiless := h.method == http.MethodHead || resp.StatusCode == http.StatusNoContent || resp.StatusCode == http.StatusNotModified || resp.StatusCode < 200
	chunked := !bodiless && h.minor == 1 && (resp.ContentLength < 0 || len(resp.Trailer) > 0)
	closing = closing || !bodiless && resp.ContentLength < 0 && !chunked

	var b bytes.Buffer
	b.WriteString("HTTP/1.1 " + strconv.Itoa(resp.StatusCode) + " " + phrase(resp) + "\r\n")
	c.writeFields(&b, resp)
	switch {
	case chunked:
		b.WriteString("Transfer-Encoding: chunked\r\n")
	case resp.StatusCode == http.StatusSwitchingProtocols:
		b.WriteString("Connection: Upgrade\r\nUpgrade: " + upgradeWord + "\r\n")
	case resp.ContentLength > 0 || !bodiless && resp.ContentLength == 0 || bodiless && resp.Header.Get("Content-Length") == "0":
		b.WriteString("Content-Length: " + strconv.FormatInt(resp.ContentLength, 10) + "\r\n")
	}
	if closing && resp.StatusCode != http.StatusSwitchingProtocols {
		b.WriteString("Connection: close\r\n")
	}
	b.WriteString("\r\n")
	to := &paced{Conn: conn, idle: c.proxy.limits.Idle}
	if _, err := to.Write(b.Bytes()); err != nil {
		return 0, false, err
	}
	if bodiless {
		return 0, !closing, nil
	}
	n, err = copyBody(to, resp.Body, chunked, c.proxy.limits.Received-c.received.Load())
	if err != nil {
		return n, false, err
	}
	if chunked {
		b.Reset()
		b.WriteString("0\r\n")
		writeTrailer(&b, resp.Trailer)
		b.WriteString("\r\n")
		if _, err := to.Write(b.Bytes()); err != nil {
			return n, false, err
		}
	}
	return n, !closing, nil
}

// phrase is the server's words behind its status, which mean nothing.
func phrase(resp *http.Response) string {
	_, words, _ := strings.Cut(resp.Status, " ")
	for i := range len(words) {
		if words[i] < ' ' || words[i] == 0x7f {
			return ""
		}
	}
	return words
}

// writeFields writes the fields of the answer that go on.
func (c *client) writeFields(b *bytes.Buffer, resp *http.Response) {
	dropped := map[string]bool{}
	for name := range resp.Header {
		if !forwards(name) {
			dropped[name] = true
		}
	}
	for _, value := range resp.Header["Connection"] {
		for token := range strings.SplitSeq(value, ",") {
			dropped[http.CanonicalHeaderKey(strings.TrimSpace(token))] = true
		}
	}
	_ = resp.Header.WriteSubset(b, dropped)
}

func writeTrailer(b *bytes.Buffer, trailer http.Header) {
	dropped := map[string]bool{}
	for name := range trailer {
		if !forwards(name) {
			dropped[name] = true
		}
	}
	_ = trailer.WriteSubset(b, dropped)
}

var errReceived = errors.New("more bytes than a connection may receive")

// copyBody sends on what is there as soon as it is: a stream of events must not wait
// for a buffer to be full. A chunk is one write, its size in front and its end behind.
func copyBody(to io.Writer, from io.Reader, chunked bool, budget int64) (n int64, err error) {
	array := copies.Get().(*[copyBytes]byte)
	defer copies.Put(array)
	const front, behind = 8, 2
	for {
		got, err := from.Read(array[front : copyBytes-behind])
		if n+int64(got) > budget {
			return n, errReceived
		}
		if got > 0 {
			out := array[front : front+got]
			if chunked {
				size := strconv.FormatInt(int64(got), 16) + "\r\n"
				start := front - len(size)
				copy(array[start:], size)
				copy(array[front+got:], "\r\n")
				out = array[start : front+got+behind]
			}
			if _, err := to.Write(out); err != nil {
				return n, err
			}
			n += int64(got)
		}
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}
