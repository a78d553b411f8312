package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
)

// answering is a proxy that reads a request, says head, and then handles the rest.
func answering(t *testing.T, head string, then func(*net.TCPConn)) (address string, asked chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	asked = make(chan string, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		var request []byte
		for one := make([]byte, 1); !bytes.HasSuffix(request, []byte("\r\n\r\n")); request = append(request, one...) {
			if _, err := io.ReadFull(conn, one); err != nil {
				return
			}
		}
		asked <- string(request)
		io.WriteString(conn, head)
		if then != nil {
			then(conn.(*net.TCPConn))
		}
	}()
	return l.Addr().String(), asked
}

func connecting(t *testing.T, proxy, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	for _, name := range []string{"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"} {
		t.Setenv(name, "")
	}
	t.Setenv("https_proxy", proxy)
	var out, complaints bytes.Buffer
	code = start(append([]string{"proxy-connect"}, args...), strings.NewReader(stdin), &out, &complaints)
	return code, out.String(), complaints.String()
}

// TestConnect: bytes pass both ways, those that came with the answer first, and the
// end of one direction leaves the other.
func TestConnect(t *testing.T) {
	for _, head := range []string{"HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 Connection established\r\nX: y\r\n\r\n"} {
		proxy, asked := answering(t, head+"hello ", func(conn *net.TCPConn) {
			text, _ := io.ReadAll(conn) // ends only when the client's half is closed
			fmt.Fprintf(conn, "after %q", text)
		})
		code, out, complaints := connecting(t, "http://user:secret@"+proxy, "what was typed", "example.com", "22")
		if code != 0 || out != `hello after "what was typed"` || complaints != "" {
			t.Errorf("exit %d, %q, %q", code, out, complaints)
		}
		want := "CONNECT example.com:22 HTTP/1.1\r\nHost: example.com:22\r\nProxy-Authorization: Basic dXNlcjpzZWNyZXQ=\r\n\r\n"
		if got := <-asked; got != want {
			t.Errorf("the proxy was asked %q, want %q", got, want)
		}
	}
	proxy, asked := answering(t, "HTTP/1.1 200 OK\r\n\r\n", nil)
	if code, _, complaints := connecting(t, "http://"+proxy, "", "::1", "22"); code != 0 || !strings.HasPrefix(<-asked, "CONNECT [::1]:22 ") {
		t.Errorf("an address of IPv6: exit %d, %q", code, complaints)
	}
}

// TestConnectRefused: each refusal says why, on standard error alone.
func TestConnectRefused(t *testing.T) {
	long := strings.Repeat("x", maxAnswer+1)
	for _, tt := range []struct {
		head, says string
		code       int
	}{
		{"HTTP/1.1 403 Forbidden\r\ncontent-length: 44\r\n\r\nno endpoint of the policy names \x1bexample.com\nmore", "answers 403: no endpoint of the policy names ?example.com", 1},
		{"HTTP/1.1 502 Bad Gateway\r\n\r\n", "answers 502", 1},
		{"SSH-2.0-x\r\n", "no HTTP proxy", 3},
		{"HTTP/1.1 2xx OK\r\n\r\n", "no HTTP proxy", 3},
		{"", "hung up", 3},
		{"HTTP/1.1 200 OK\r\n", "hung up", 3},
		{"HTTP/1.1 200 OK\r\nX: " + long + "\r\n\r\n", "too long", 3},
		{"HTTP/1.1 200 OK\r\n" + strings.Repeat("X: y\r\n", maxAnswer/6+1) + "\r\n", "too long", 3},
		{"HTTP/1.1 403 No\r\nContent-Length: -1\r\n\r\n", "no length", 3},
	} {
		proxy, _ := answering(t, tt.head, nil)
		if code, out, complaints := connecting(t, "http://"+proxy, "", "example.com", "22"); code != tt.code || out != "" || !strings.Contains(complaints, tt.says) {
			t.Errorf("an answer %.60q: exit %d, %q, %q; want %d and %q", tt.head, code, out, complaints, tt.code, tt.says)
		}
	}
	for _, tt := range []struct {
		proxy, says string
		args        []string
		code        int
	}{
		{"", "https_proxy is not set", []string{"example.com", "22"}, 3},
		{"socks5://127.0.0.1:1", "does not name a proxy", []string{"example.com", "22"}, 3},
		{"http://127.0.0.1", "does not name a proxy", []string{"example.com", "22"}, 3},
		{"http://127.0.0.1:1", "HOST and PORT", []string{"example.com"}, 2},
		{"http://127.0.0.1:1", "from 1 to 65535", []string{"example.com", "0"}, 2},
		{"http://127.0.0.1:1", "from 1 to 65535", []string{"example.com", "ssh"}, 2},
		{"http://127.0.0.1:1", "is no host", []string{"example.com\r\nX: y", "22"}, 2},
		{"http://127.0.0.1:1", "is no host", []string{"", "22"}, 2},
	} {
		if code, out, complaints := connecting(t, tt.proxy, "", tt.args...); code != tt.code || out != "" || !strings.Contains(complaints, tt.says) {
			t.Errorf("%q with the proxy %q: exit %d, %q, %q; want %d and %q", tt.args, tt.proxy, code, out, complaints, tt.code, tt.says)
		}
	}
}

// TestConnectOrder: of several variables the one that is most about TLS counts.
func TestConnectOrder(t *testing.T) {
	env := map[string]string{"ALL_PROXY": "http://d:1", "all_proxy": "http://c:1", "HTTPS_PROXY": "http://b:1", "https_proxy": "http://a:1"}
	for _, name := range []string{"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"} {
		if proxy, err := proxyFrom(func(n string) string { return env[n] }); err != nil || proxy.String() != env[name] {
			t.Errorf("with %v: %v, %v", env, proxy, err)
		}
		delete(env, name)
	}
	if _, err := proxyFrom(func(n string) string { return env[n] }); err == nil {
		t.Error("without any there is a proxy")
	}
}

// FuzzAnswer: whatever a proxy says is an answer with a status, or an error.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		"HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 403 No\r\nContent-Length: 5\r\n\r\nwhy", "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1", "\n\n", "SSH-2.0\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		from := bufio.NewReaderSize(bytes.NewReader(text), maxAnswer)
		status, length, err := answer(from)
		if err == nil && (status < 200 || status > 599 || length < 0) {
			t.Errorf("answer(%q) = %d, %d", text, status, length)
		}
		for _, r := range oneLine(text) {
			if r < ' ' || r == 0x7f {
				t.Errorf("oneLine(%q) holds %q", text, r)
			}
		}
	})
}
