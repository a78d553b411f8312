package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/obspc/obspc/compiler/ir/propose"
	"github.com/obspc/obspc/runtime"
)

// TestObserve: what the proxy denies is told with the rule that would allow it, of a
// policy without endpoints as well; and it is denied all the same.
func TestObserve(t *testing.T) {
	l := newLab(t)
	server, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer server.Close()
	reached := make(chan bool, 16)
	go func() {
		for {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			reached <- true
			conn.Close()
		}
	}()
	port := server.Addr().(*net.TCPAddr).Port
	c, evidence := newConnector(t), filepath.Join(l.dir, "evidence")
	endpoint := fmt.Sprintf(toServer, port, `      protocol = "tcp"`)
	run := func(network, to string, port int, flags ...string) (stderr string, code int) {
		t.Helper()
		_, stderr, code = c.exec(t, fmt.Sprintf(mayConnect, "", "", network), "", append([]string{"--evidence", evidence}, flags...),
			c.obsrun, "proxy-connect", to, fmt.Sprint(port))
		return stderr, code
	}
	// The control: what an endpoint names is reached.
	if stderr, code := run(endpoint, "localhost", port, "--observe"); code != 0 || len(reached) != 1 || !strings.Contains(stderr, "obsrun: observe: the proxy of policy p denied nothing\n") {
		t.Errorf("to the endpoint: exit %d, %q, reached %d times", code, stderr, len(reached))
	}
	for _, tt := range []struct {
		network, to string
		port        int
		flags       []string
		says        []string
		silent      []string
	}{
		{"", "example.org", 8443, nil, nil, []string{"observe", "403"}},
		{"", "example.org", 8443, []string{"--observe"}, []string{"connect example.org:8443\n", "    add an endpoint for example.org:8443\n", "obsrun: observe: to allow", "  endpoint \"example-org\" {\n"}, []string{"the proxy denied: "}},
		{"", "localhost", port, []string{"--observe"}, []string{"nothing is proposed: it is a name of the loopback"}, []string{"endpoint \""}},
		{strings.Replace(endpoint, "addresses", "# addresses", 1), "localhost", port, []string{"--observe"}, []string{"nothing is proposed: its name led to", "it is loopback"}, []string{"endpoint \""}},
		{endpoint, "169.254.169.254", 80, []string{"--observe"}, []string{"nothing is proposed: it is a metadata service"}, []string{"endpoint \""}},
		{endpoint, "example.org", 443, []string{"--observe", "--observe-format", "json"}, []string{`"schema": "obspc.observe/v1"`, `"dimension": "host"`, `"element": "example.org:443"`}, []string{"obsrun: observe"}},
		{endpoint, "example.org", 443, nil, []string{"obsrun: the proxy denied: ", "obspc exec --observe … shows"}, []string{"obsrun: observe"}},
	} {
		stderr, code := run(tt.network, tt.to, tt.port, tt.flags...)
		want := 1
		if tt.network == "" && len(tt.flags) == 0 {
			want = 3 // there is no proxy
		}
		if code != want {
			t.Errorf("%s %v: exit %d, want %d: %s", tt.to, tt.flags, code, want, stderr)
		}
		for _, want := range tt.says {
			if !strings.Contains(stderr, want) {
				t.Errorf("%s %v: %q is not in\n%s", tt.to, tt.flags, want, stderr)
			}
		}
		for _, never := range tt.silent {
			if strings.Contains(stderr, never) {
				t.Errorf("%s %v: %q is in\n%s", tt.to, tt.flags, never, stderr)
			}
		}
		if len(tt.flags) == 0 {
			continue
		}
		text, err := os.ReadFile(evidence)
		must(t, err)
		var e runtime.Evidence
		must(t, json.Unmarshal(text, &e))
		if e.Observed == nil || e.Observed.Schema != propose.ObservedSchema || len(e.Observed.Denied) != 1 || e.Observed.Denied[0].Count != 1 || e.Egress.Allowed != 0 {
			t.Errorf("%s: evidence has %+v and %+v", tt.to, e.Observed, e.Egress)
		}
	}
	if len(reached) != 1 {
		t.Errorf("the server was reached %d times", len(reached))
	}
}

// TestObservePasted: what is proposed for a request that was denied, pasted into the
// policy, lets that request through and no other.
func TestObservePasted(t *testing.T) {
	l := newLab(t)
	var served atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		served.Add(1)
		fmt.Fprint(w, "served ", r.URL.Path)
	}))
	defer server.Close()
	port := server.Listener.Addr().(*net.TCPAddr).Port
	c, evidence := newConnector(t), filepath.Join(l.dir, "evidence")
	run := func(allow, path string) (stdout string, e runtime.Evidence) {
		t.Helper()
		network := fmt.Sprintf(toServer, port, "      protocol = \"rest\"\n      allow {\n        path = \"/first\"\n      }\n"+allow)
		stdout, complaints, _ := c.exec(t, fmt.Sprintf(mayConnect, "", "", network),
			fmt.Sprintf("GET %s HTTP/1.1\r\nHost: localhost:%d\r\nConnection: close\r\n\r\n", path, port),
			[]string{"--evidence", evidence, "--observe", "--stdin"}, c.obsrun, "proxy-connect", "localhost", fmt.Sprint(port))
		text, err := os.ReadFile(evidence)
		must(t, err)
		must(t, json.Unmarshal(text, &e))
		if e.Observed == nil {
			t.Fatalf("nothing was observed: %s", complaints)
		}
		return stdout, e
	}
	if out, e := run("", "/first"); !strings.Contains(out, "served /first") || len(e.Observed.Denied) != 0 {
		t.Fatalf("the control: %q, %+v", out, e.Observed)
	}
	out, e := run("", "/second%20one")
	if !strings.Contains(out, "403 Forbidden") || served.Load() != 1 || len(e.Observed.Denied) != 1 {
		t.Fatalf("%q, served %d times, %+v", out, served.Load(), e.Observed)
	}
	if d := e.Observed.Denied[0]; d.Dimension != "path" || len(d.Add) != 1 || d.Add[0].Endpoint != "machine" || d.Add[0].Element != "GET /second%20one" || d.Rule.Statement != "p/network.endpoint.machine.allow[0]" && d.Rule.Statement != "p/network.endpoint.machine" {
		t.Errorf("%+v, rule %+v", d, d.Rule)
	}
	_, block, found := strings.Cut(e.Observed.HCL, "endpoint \"machine\" {\n")
	block, _, ended := strings.Cut(block, "\n  }\n}")
	if !found || !ended {
		t.Fatalf("HCL is\n%s", e.Observed.HCL)
	}
	if out, e := run(block, "/second%20one"); !strings.Contains(out, "served /second one") || len(e.Observed.Denied) != 0 {
		t.Errorf("with the block: %q, %+v", out, e.Observed)
	}
	if out, _ := run(block, "/second"); !strings.Contains(out, "403 Forbidden") || served.Load() != 2 {
		t.Errorf("another path with the block: %q, served %d times", out, served.Load())
	}
}

// TestObserveFlags: a format without its report is a wrong call.
func TestObserveFlags(t *testing.T) {
	for _, words := range [][]string{{"--observe-format", "json"}, {"--observe", "--observe-format", "xml"}} {
		_, stderr, code := invoke(append(append([]string{"exec", "--policy", "p", "--release", "x", "--pins", "y"}, words...), "--", "true")...)
		if code != 125 || !strings.Contains(stderr, "--observe-format") {
			t.Errorf("%v: exit %d, %s", words, code, stderr)
		}
	}
}
