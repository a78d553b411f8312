package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obspc/obspc/runtime"
)

// TestEgress: a program that knows no proxy gets out through proxy-connect, and what
// is denied is said once on standard error and in full in the evidence.
func TestEgress(t *testing.T) {
	l := newLab(t)
	server, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer server.Close()
	go func() {
		for {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(conn, "hello ") // the server speaks first, as ssh's does
			text := make([]byte, 5)
			n, _ := conn.Read(text)
			fmt.Fprintf(conn, "%s", text[:n])
			conn.Close()
		}
	}()
	port := server.Addr().(*net.TCPAddr).Port
	c, evidence := newConnector(t), filepath.Join(l.dir, "evidence")
	policy := fmt.Sprintf(mayConnect, "", "", fmt.Sprintf(toServer, port, `      protocol = "tcp"`))
	run := func(to string, port int) (stdout, stderr string, code int) {
		t.Helper()
		return c.exec(t, policy, "world", []string{"--evidence", evidence, "--stdin"}, c.obsrun, "proxy-connect", to, fmt.Sprint(port))
	}
	if stdout, stderr, code := run("localhost", port); code != 0 || stdout != "hello world" || strings.Contains(stderr, "denied") {
		t.Errorf("to the endpoint: exit %d, %q, %q", code, stdout, stderr)
	}
	stdout, stderr, code := run("example.org", port)
	says := fmt.Sprintf("obsrun: proxy-connect: example.org:%d: the proxy answers 403: ", port)
	if code != 1 || stdout != "" || !strings.Contains(stderr, says) || strings.Count(stderr, "obsrun: the proxy denied: ") != 1 || !strings.Contains(stderr, "--evidence FILE") {
		t.Errorf("past the endpoint: exit %d, %q, %q; want %q", code, stdout, stderr, says)
	}
	text, err := os.ReadFile(evidence)
	must(t, err)
	var e runtime.Evidence
	must(t, json.Unmarshal(text, &e))
	if e.Egress == nil || e.Egress.Denied != 1 || len(e.Egress.Events) != 1 || e.Egress.Events[0].Host != "example.org" || e.Egress.Events[0].Dimension != "host" {
		t.Errorf("evidence has %+v", e.Egress)
	}
}
