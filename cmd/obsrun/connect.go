package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/obspc/obspc/runtime"
)

const connectHelp = `Usage: obsrun proxy-connect HOST PORT

For programs inside a sandbox that know no proxy and can have one started, as ssh can:
connects with HOST through the proxy that https_proxy (else all_proxy) names, and copies
standard input to it and what it answers to standard output. The policy has to let the
program read and execute obsrun, and an endpoint has to name HOST and PORT.

Exit codes: 0 the connection ended; 1 the proxy refused it, and says why; 2 the call is
wrong; 3 there is no proxy, or it does not answer.

Example:
  ssh -o ProxyCommand='obsrun proxy-connect %h %p' git@example.com
`

// connect is obsrun proxy-connect.
func connect(c *call) error {
	if len(c.args) != 2 || c.dashes {
		return wrongCall("proxy-connect wants HOST and PORT; see obsrun help proxy-connect")
	}
	host, port := c.args[0], c.args[1]
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return wrongCall("proxy-connect: the port is a number from 1 to 65535, not %q", port)
	}
	if host == "" || len(host) > 255 || strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune("/@[]\\", r) }) {
		return wrongCall("proxy-connect: %q is no host", host)
	}
	proxy, err := proxyFrom(os.Getenv)
	if err != nil {
		return err
	}
	conn, err := net.DialTimeout("tcp", proxy.Host, connectTime)
	if err != nil {
		return unreachable(proxy, err)
	}
	defer conn.Close()
	to := net.JoinHostPort(host, port)
	from, err := tunnel(conn, proxy, to)
	if err != nil {
		return err
	}
	return exchange(conn, from, c.stdin, c.stdout)
}

// connectTime is how long the proxy may take for a connection. It gives up itself
// long before.
const connectTime = 2 * time.Minute

// maxAnswer bounds the head of the proxy's answer, and the reason in its body, in
// bytes.
const maxAnswer = 16 << 10

// proxyFrom is the proxy that the environment names, in the order that curl has.
func proxyFrom(getenv func(string) string) (*url.URL, error) {
	for _, name := range []string{"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"} {
		value := getenv(name)
		if value == "" {
			continue
		}
		proxy, err := url.Parse(value)
		if err != nil || proxy.Scheme != "http" || proxy.Port() == "" {
			return nil, noProxy("%s does not name a proxy, as http://HOST:PORT does", name)
		}
		return proxy, nil
	}
	return nil, noProxy("there is no proxy: https_proxy is not set")
}

// tunnel has the proxy connect with to, and gives what is to be read from then on.
func tunnel(conn net.Conn, proxy *url.URL, to string) (io.Reader, error) {
	conn.SetDeadline(time.Now().Add(connectTime))
	defer conn.SetDeadline(time.Time{})
	ask := "CONNECT " + to + " HTTP/1.1\r\nHost: " + to + "\r\n"
	if proxy.User != nil {
		secret, _ := proxy.User.Password()
		ask += "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(proxy.User.Username()+":"+secret)) + "\r\n"
	}
	if _, err := io.WriteString(conn, ask+"\r\n"); err != nil {
		return nil, unreachable(proxy, err)
	}
	from := bufio.NewReaderSize(conn, maxAnswer)
	status, length, err := answer(from)
	switch {
	case err != nil:
		return nil, unreachable(proxy, err)
	case status/100 == 2:
		return from, nil
	}
	reason, _ := io.ReadAll(io.LimitReader(from, min(length, maxAnswer)))
	return nil, denied(to, status, oneLine(reason))
}

// answer reads the head of an answer: its status and how long its body is.
func answer(from *bufio.Reader) (status int, length int64, err error) {
	for read := 0; ; {
		line, err := from.ReadSlice('\n')
		if read += len(line); errors.Is(err, bufio.ErrBufferFull) || read > maxAnswer {
			return 0, 0, errors.New("its answer is too long")
		}
		if err != nil {
			return 0, 0, errors.New("it hung up")
		}
		line = bytes.TrimRight(line, "\r\n")
		switch name, value, _ := strings.Cut(string(line), ":"); {
		case status == 0:
			words := strings.Fields(string(line))
			if len(words) < 2 || !strings.HasPrefix(words[0], "HTTP/1.") {
				return 0, 0, errors.New("it is no HTTP proxy")
			}
			if status, err = strconv.Atoi(words[1]); err != nil || status < 100 || status > 599 {
				return 0, 0, errors.New("it is no HTTP proxy")
			}
		case len(line) == 0 && status < 200:
			status = 0 // an interim answer, before the one that counts
		case len(line) == 0:
			return status, length, nil
		case strings.EqualFold(name, "Content-Length"):
			if length, err = strconv.ParseInt(strings.TrimSpace(value), 10, 64); err != nil || length < 0 {
				return 0, 0, errors.New("its answer has no length")
			}
		}
	}
}

// exchange copies both ways until both have ended. The end of one is passed on and
// leaves the other alone.
func exchange(conn net.Conn, from io.Reader, stdin io.Reader, stdout io.Writer) error {
	sent := make(chan error, 1)
	go func() {
		_, err := io.Copy(conn, stdin)
		if half, ok := conn.(*net.TCPConn); ok {
			half.CloseWrite()
		}
		sent <- err
	}()
	_, err := io.Copy(stdout, from)
	if closer, ok := stdout.(io.Closer); ok {
		closer.Close()
	}
	if err != nil {
		return broken(err)
	}
	if err := <-sent; err != nil {
		return broken(err)
	}
	return nil
}

// oneLine is the beginning of a text from elsewhere, for people.
func oneLine(text []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	if len(line) > 1000 {
		line = line[:1000] + "…"
	}
	return strings.ToValidUTF8(strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return '?'
		}
		return r
	}, line), "?")
}

func noProxy(format string, args ...any) *runtime.Refusal {
	r := wrongCall("proxy-connect: "+format, args...)
	r.Code, r.Help = runtime.Machine, "it is for programs in a sandbox whose policy has endpoints"
	return r
}

func unreachable(proxy *url.URL, err error) *runtime.Refusal {
	return noProxy("the proxy %s does not answer: %v", proxy.Host, err)
}

func denied(to string, status int, reason string) *runtime.Refusal {
	r := wrongCall("proxy-connect: %s: the proxy answers %d", to, status)
	r.Code = runtime.No
	if reason != "" {
		r.Message += ": " + reason
	}
	return r
}

func broken(err error) *runtime.Refusal {
	r := wrongCall("proxy-connect: the connection broke: %v", err)
	r.Code = runtime.Machine
	return r
}
