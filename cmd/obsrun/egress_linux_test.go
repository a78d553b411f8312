package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obspc/obspc/runtime"
	"github.com/obspc/obspc/verify/release"
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
	work, err := os.MkdirTemp("/var/tmp", "obspc-test-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(work) })
	tool, err := os.ReadFile("/proc/self/exe")
	must(t, err)
	obsrun := filepath.Join(work, "obsrun")
	must(t, os.WriteFile(obsrun, tool, 0o755))

	files := filesOf(t, fmt.Sprintf(`
policy "p" {
  version = 1
  extends = ["std/base"]
  targets = ["bwrap"]
  filesystem {
    write   = [workspace]
    execute = ["${workspace}/obsrun"]
  }
  network {
    endpoint "machine" {
      host      = "localhost"
      ports     = [%d]
      protocol  = "tcp"
      addresses = ["127.0.0.0/8", "::1/128"]
    }
  }
  environment {
    OBSPC_TEST_AS_OBSRUN = "1"
  }
}`, port), release.Input{})
	dir, pinned, evidence := filepath.Join(l.dir, "development"), filepath.Join(l.dir, "pins"), filepath.Join(l.dir, "evidence")
	must(t, release.Write(dir, files))
	must(t, os.WriteFile(pinned, pins(files, release.LocalProduct).Format(), 0o644))
	run := func(to string, port int) (stdout, stderr string, code int) {
		t.Helper()
		cmd := exec.Command(os.Args[0], "exec", "--policy", "p", "--workspace", work, "--release", dir, "--pins", pinned,
			"--evidence", evidence, "--stdin", "--", obsrun, "proxy-connect", to, fmt.Sprint(port))
		var out, complaints strings.Builder
		cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = append(os.Environ(), "OBSPC_TEST_AS_OBSRUN=1"), strings.NewReader("world"), &out, &complaints
		cmd.Run()
		return out.String(), complaints.String(), cmd.ProcessState.ExitCode()
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
