package runtime_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/runtime"
	"github.com/obspc/obspc/runtime/proxy"
)

func init() {
	// get URL, as a program does that knows the environment's proxy.
	attempts["get"] = func(a []string) error {
		answer, err := http.Get(a[0])
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		fmt.Printf("%d %s\n", answer.StatusCode, bytes.TrimSpace(text))
		return err
	}
	// tunnel ADDRESS: a connection through the proxy, which is then in the hands that
	// the next word says: "alone"; "became" PROGRAM, by which this one is replaced before
	// it asks; "shared" PROGRAM, which asks while this one has the connection too.
	attempts["tunnel"] = func(a []string) error {
		conn, err := net.Dial("tcp", strings.TrimPrefix(os.Getenv("https_proxy"), "http://"))
		if err != nil {
			return err
		}
		file, err := conn.(*net.TCPConn).File()
		if err != nil {
			return err
		}
		conn.Close()
		switch a[1] {
		case "became":
			if err := unix.Dup2(int(file.Fd()), 3); err != nil {
				return err
			}
			return unix.Exec(a[2], []string{a[2], probeWord, "ask", a[0]}, os.Environ())
		case "shared":
			cmd := exec.Command(a[2], probeWord, "ask", a[0])
			cmd.Stdout, cmd.ExtraFiles = os.Stdout, []*os.File{file}
			return cmd.Run()
		}
		return ask(file, a[0])
	}
	attempts["ask"] = func(a []string) error { return ask(os.NewFile(3, "connection"), a[0]) }
	// hold ADDRESS MARK: like alone, and a child keeps the tunnel when this one ends.
	attempts["leave-tunnel"] = func(a []string) error {
		cmd := exec.Command("/proc/self/exe", probeWord, "tunnel-on", a[0], a[1])
		out, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		fmt.Print(line)
		return err
	}
	attempts["tunnel-on"] = func(a []string) error {
		if err := attempts["tunnel"]([]string{a[0], "alone"}); err != nil {
			return err
		}
		return unix.Pause()
	}
	// connect-and-wait ADDRESS MARK: connects once, and stays.
	attempts["connect-and-wait"] = func(a []string) error {
		if _, err := net.Dial("tcp", a[0]); err != nil {
			return err
		}
		return unix.Pause()
	}
	// replace FROM AT ADDRESS: puts a file in the place of the program AT, which then
	// asks for a tunnel.
	attempts["replace"] = func(a []string) error {
		if err := os.Rename(a[0], a[1]); err != nil {
			return err
		}
		cmd := exec.Command(a[1], probeWord, "tunnel", a[2], "alone")
		cmd.Stdout = os.Stdout
		return cmd.Run()
	}
	attempts["copy-out"] = func(a []string) error {
		text, err := os.ReadFile(a[0])
		os.Stdout.Write(text)
		return err
	}
	// flood URL: connections to the proxy on which nothing is said, as many as there can
	// be; then gets the page.
	attempts["flood"] = func(a []string) error {
		var all []net.Conn
		for range 4000 {
			conn, err := net.Dial("tcp", "127.0.0.1:3128")
			if err != nil {
				break
			}
			all = append(all, conn)
		}
		fmt.Println(len(all) > 900)
		for _, conn := range all {
			conn.Close()
		}
		return attempts["get"](a)
	}
	attempts["listen"] = func(a []string) error {
		l, err := net.Listen("tcp", a[0])
		if err == nil {
			l.Close()
		}
		return err
	}
	attempts["datagram"] = func(a []string) error {
		c, err := net.Dial("udp", a[0])
		if err != nil {
			return err
		}
		c.SetDeadline(time.Now().Add(20 * time.Second))
		c.Write([]byte("ping"))
		_, err = c.Read(make([]byte, 16))
		return err
	}
}

// ask has the proxy connect with an address and prints what it answers, and the
// first line that comes through.
func ask(conn *os.File, to string) error {
	fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", to, to)
	from := bufio.NewReader(conn)
	answer, err := http.ReadResponse(from, &http.Request{Method: http.MethodConnect})
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(from, answer.ContentLength))
		fmt.Printf("%d %s\n", answer.StatusCode, text)
		return nil
	}
	fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", to)
	line, err := from.ReadString('\n')
	fmt.Println(strings.TrimSpace(line))
	return err
}

const serviceName = "service.example"

// service is a web server on this machine, which the tests' resolver knows as
// serviceName; its address is 127.0.0.1.
type service struct {
	port  int
	ended chan struct{} // one for each connection that a client has ended
}

func newService(t testing.TB) *service {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	must(t, err)
	s := &service{port: l.Addr().(*net.TCPAddr).Port, ended: make(chan struct{}, 1000)}
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "hello %s", r.Host) }),
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateClosed {
				s.ended <- struct{}{}
			}
		},
	}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	t.Cleanup(runtime.UseNames(map[string][]netip.Addr{
		serviceName: {netip.MustParseAddr("127.0.0.1")}, "inner.example": {netip.MustParseAddr("10.0.0.1")},
	}))
	return s
}

// at is the service's address as policies and programs write it.
func (s *service) at() string { return fmt.Sprintf("%s:%d", serviceName, s.port) }

// endpoint is a policy's endpoint for the service, more what it says besides.
func (s *service) endpoint(more string) string {
	return fmt.Sprintf(`
  network {
    endpoint "service" {
      host      = %q
      ports     = [%d]
      addresses = ["127.0.0.0/8"]
      %s
    }
    endpoint "inner" {
      host  = "inner.example"
      ports = [%d]
    }
  }`, serviceName, s.port, more, s.port)
}

// events are the decisions of a run, without what differs from run to run. A tunnel
// and the requests in it are one.
func events(r ran) []string {
	var out []string
	if r.Evidence.Egress == nil {
		return nil
	}
	for _, e := range r.Evidence.Egress.Events {
		out = append(out, strings.TrimRight(fmt.Sprintf("%s %s:%d %s", e.Decision, e.Host, e.Port, e.Dimension), " "))
	}
	return slices.Compact(out)
}

// TestLiveEgress: what the policy's endpoints name is reached through the proxy, and
// nothing else; evidence has each decision.
func TestLiveEgress(t *testing.T) {
	needSandbox(t)
	s, dir := newService(t), labDir(t)
	v := development(t, policy(t, plain+s.endpoint("")))
	for _, tt := range []struct{ url, says, event string }{
		{"http://" + s.at() + "/", "200 hello " + s.at(), "allowed " + s.at()},
		{"http://other.example:" + strconv.Itoa(s.port), "403 ", fmt.Sprintf("denied other.example:%d host", s.port)},
		{"http://" + serviceName + ":81", "403 ", "denied " + serviceName + ":81 port"},
		{"http://inner.example:" + strconv.Itoa(s.port), "403 ", fmt.Sprintf("denied inner.example:%d address", s.port)},
	} {
		r := probed(t, v, dir, "get", tt.url)
		if r.Exit != 0 || !strings.HasPrefix(r.stdout, tt.says) {
			t.Errorf("GET %s: want %q; %s", tt.url, tt.says, r)
		}
		if got := events(r); !slices.Equal(got, []string{tt.event}) {
			t.Errorf("GET %s: evidence has %q, want %q", tt.url, got, tt.event)
		}
		if denied := r.Evidence.Egress.First(proxy.Denied); strings.HasPrefix(tt.event, "denied") != (denied != nil) || denied != nil && !strings.Contains(r.stdout, denied.Reason) {
			t.Errorf("GET %s: the program was told %q, evidence has %+v", tt.url, r.stdout, denied)
		}
	}
	// A tunnel, with a terminal and with a trace as well: the socket and the master come
	// in one message.
	if r := probed(t, v, dir, "tunnel", s.at(), "alone"); r.stdout != "HTTP/1.1 200 OK\nok\n" {
		t.Errorf("a tunnel: %s", r)
	}
	job := newConsole(t).job(t, dir, "tunnel", s.at(), "alone")
	if r := start(t, context.Background(), v, job); r.stdout != "HTTP/1.1 200 OK\r\nok\r\n" {
		t.Errorf("a tunnel of a program with a terminal: %s", r)
	}
	job = runtime.Job{Argv: []string{probePath, probeWord, "tunnel", s.at(), "alone"}, Development: true, Workspace: runtime.Workspace{Dir: dir}, Trace: true}
	if r := start(t, context.Background(), v, job); !strings.HasPrefix(r.stdout, "HTTP/1.1 200 OK\n") || r.Evidence.Trace == nil {
		t.Errorf("a tunnel of a program that is traced: %s", r)
	}
	if r := probed(t, v, dir, "flood", "http://"+s.at()); !strings.HasPrefix(r.stdout, "true\n200 hello") {
		t.Errorf("after many connections that say nothing: %s", r)
	}
	// Without an endpoint there is neither a proxy nor a trace of one.
	r := probed(t, development(t, policy(t, plain)), dir, "connect", "tcp", "127.0.0.1:3128")
	if r.stdout != "ECONNREFUSED\n" || r.Evidence.Egress != nil {
		t.Errorf("without an endpoint: %s", r)
	}
}

// TestLiveOnlyWay: each attempt to get out past the proxy fails inside, and succeeds
// outside.
func TestLiveOnlyWay(t *testing.T) {
	needSandbox(t)
	s, dir := newService(t), labDir(t)
	six := ""
	if l, err := net.Listen("tcp6", "[::1]:0"); err == nil {
		defer l.Close()
		six = l.Addr().String()
	}
	echo := func(at string) string {
		c, err := net.ListenPacket("udp", at)
		if err != nil {
			return ""
		}
		t.Cleanup(func() { c.Close() })
		go func() {
			text := make([]byte, 64)
			for {
				n, from, err := c.ReadFrom(text)
				if err != nil {
					return
				}
				c.WriteTo(text[:n], from)
			}
		}()
		return c.LocalAddr().String()
	}
	abstract := fmt.Sprintf("@obspc-test-%d", os.Getpid())
	l, err := net.Listen("unix", abstract)
	must(t, err)
	defer l.Close()
	v, visible := development(t, policy(t, plain+s.endpoint(""))), development(t, policy(t, plain+strings.Replace(s.endpoint(""), "network {", "network {\n    unix = \"visible\"", 1)))
	n := strconv.Itoa
	for _, tt := range []struct {
		what    string
		attempt []string
		want    string
		needs   string // what the control takes that not every machine has, or not every user
	}{
		{"the server itself", []string{"connect", "tcp", "127.0.0.1:" + n(s.port)}, "ECONNREFUSED", ""},
		{"a server of IPv6", []string{"connect", "tcp", six}, "ECONNREFUSED EADDRNOTAVAIL", "IPv6"},
		{"UDP", []string{"datagram", echo("127.0.0.1:0")}, "ECONNREFUSED", ""},
		{"DNS", []string{"datagram", echo("127.0.0.77:53")}, "ECONNREFUSED", "port 53"},
		{"raw sockets", []string{"socket", n(unix.AF_INET), n(unix.SOCK_RAW), n(unix.IPPROTO_ICMP)}, "EPERM", "raw sockets"},
		{"packets", []string{"socket", n(unix.AF_PACKET), n(unix.SOCK_RAW), "0"}, "EAFNOSUPPORT", "packet sockets"},
		{"vsock", []string{"socket", n(unix.AF_VSOCK), n(unix.SOCK_STREAM), "0"}, "EAFNOSUPPORT", "vsock"},
		{"netlink", []string{"socket", n(unix.AF_NETLINK), n(unix.SOCK_RAW), n(unix.NETLINK_SOCK_DIAG)}, "EAFNOSUPPORT", ""},
		{"an abstract socket", []string{"connect", "unix", abstract}, "EAFNOSUPPORT", ""},
		{"the proxy's port", []string{"listen", "127.0.0.1:3128"}, "EADDRINUSE", ""},
		{"the proxy's port everywhere", []string{"listen", "0.0.0.0:3128"}, "EADDRINUSE", ""},
	} {
		t.Run(tt.what, func(t *testing.T) {
			if tt.attempt[len(tt.attempt)-1] == "" {
				lacks(t, tt.needs, "no such server")
			}
			switch out, _ := exec.Command(probePath, append([]string{probeWord}, tt.attempt...)...).Output(); {
			case tt.attempt[0] == "listen":
				// The control is a sandbox that has no proxy.
				if r := probed(t, development(t, policy(t, plain)), dir, tt.attempt...); r.stdout != "ok\n" {
					t.Fatalf("the control: %s", r)
				}
			case tt.needs != "" && string(out) != "ok\n":
				lacks(t, tt.needs, string(bytes.TrimSpace(out)))
			case string(out) != "ok\n":
				t.Fatalf("the control: outside it is %q", out)
			}
			r := probed(t, v, dir, tt.attempt...)
			if got := strings.TrimSpace(r.stdout); !slices.Contains(strings.Fields(tt.want), got) || len(events(r)) != 0 {
				t.Errorf("want %s; %s", tt.want, r)
			}
			if tt.attempt[1] == "unix" {
				if r := probed(t, visible, dir, tt.attempt...); r.stdout != "ECONNREFUSED\n" && r.stdout != "EPERM\n" {
					t.Errorf("with sockets of paths: %s", r)
				}
			}
		})
	}
}

// TestLiveEgressEnvironment: programs are told of the proxy where there is one.
func TestLiveEgressEnvironment(t *testing.T) {
	needSandbox(t)
	s, dir := newService(t), labDir(t)
	r := probed(t, development(t, policy(t, plain+s.endpoint("")+`
  environment {
    JAVA_TOOL_OPTIONS = "-Dx=y"
  }`)), dir, "environment")
	for _, want := range []string{
		"http_proxy=http://127.0.0.1:3128", "HTTPS_PROXY=http://127.0.0.1:3128", "all_proxy=http://127.0.0.1:3128",
		"no_proxy=localhost,127.0.0.1,::1", "NO_PROXY=localhost,127.0.0.1,::1", "NODE_USE_ENV_PROXY=1", "JAVA_TOOL_OPTIONS=-Dx=y",
	} {
		if !slices.Contains(strings.Split(r.stdout, "\n"), want) || !slices.Contains(r.Evidence.Environment, want[:strings.Index(want, "=")]) {
			t.Errorf("the environment lacks %s: %s", want, r)
		}
	}
	r = probed(t, development(t, policy(t, plain+fmt.Sprintf(`
  network {
    endpoint "machine" {
      address = "127.0.0.1"
      ports   = [%d]
    }
  }`, s.port))), dir, "environment")
	if !strings.Contains(r.stdout, "no_proxy=localhost,::1\n") || !strings.Contains(r.stdout, "JAVA_TOOL_OPTIONS=-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=3128 ") {
		t.Errorf("where an endpoint is the machine's own loopback: %s", r)
	}
	if r := probed(t, development(t, policy(t, plain)), dir, "environment"); strings.Contains(strings.ToLower(r.stdout), "proxy") {
		t.Errorf("without an endpoint: %s", r)
	}
}

// TestLivePrograms: a connection is of the program that holds it when it is asked for.
func TestLivePrograms(t *testing.T) {
	needSandbox(t)
	s, dir := newService(t), labDir(t)
	text, err := os.ReadFile(probePath)
	must(t, err)
	listed, other := filepath.Join(dir, "listed"), filepath.Join(dir, "other")
	must(t, os.WriteFile(listed, text, 0o755))
	must(t, os.WriteFile(other, text, 0o755))
	must(t, os.Link(listed, listed+"-too"))
	v := development(t, policy(t, `
  filesystem {
    write   = [workspace]
    execute = [workspace]
  }`+s.endpoint(`executables = ["${workspace}/listed"]`)))
	allowed, denied := "HTTP/1.1 200 OK\nok\n", "403 "
	for _, tt := range []struct {
		program  string
		words    []string
		says     string
		name     string
		evidence string
	}{
		{listed, []string{"tunnel", s.at(), "alone"}, allowed, listed, "allowed " + s.at()},
		{listed + "-too", []string{"tunnel", s.at(), "alone"}, allowed, listed, "allowed " + s.at()},
		{other, []string{"tunnel", s.at(), "alone"}, denied, other, "denied " + s.at() + " program"},
		{listed, []string{"tunnel", s.at(), "became", other}, denied, other, "denied " + s.at() + " program"},
		{other, []string{"tunnel", s.at(), "became", listed}, allowed, listed, "allowed " + s.at()},
		{other, []string{"tunnel", s.at(), "shared", listed}, denied, "", "denied " + s.at() + " program"},
		{listed, []string{"tunnel", s.at(), "shared", listed}, allowed, listed, "allowed " + s.at()},
	} {
		r := start(t, context.Background(), v, runtime.Job{
			Argv: append([]string{tt.program, probeWord}, tt.words...), Development: true, Workspace: runtime.Workspace{Dir: dir},
		})
		e := r.Evidence.Egress
		if !strings.HasPrefix(r.stdout, tt.says) || !slices.Equal(events(r), []string{tt.evidence}) || e.Events[0].Program != tt.name ||
			(e.Events[0].ProgramSHA256 != "") != (tt.name != "") {
			t.Errorf("%s %q: want %q, by %q, %s; %q %s", tt.program, tt.words, tt.says, tt.name, tt.evidence, events(r), r)
		}
	}
	// A link is no program: what it leads to is, and has to be listed. One that not only
	// root could have made, where the command may write, is refused whatever is listed.
	must(t, os.Symlink("listed", filepath.Join(dir, "link")))
	linked := func(list string) ran {
		return start(t, context.Background(), development(t, policy(t, `
  filesystem {
    write   = [workspace]
    execute = [workspace]
  }`+s.endpoint("executables = ["+list+"]"))), runtime.Job{
			Argv: []string{listed, probeWord, "tunnel", s.at(), "alone"}, Development: true, Workspace: runtime.Workspace{Dir: dir},
		})
	}
	if r := linked(`"${workspace}/link"`); r.refusal() == nil || !strings.Contains(r.refusal().Error(), "leads to") {
		t.Errorf("an endpoint that lists a link: %s", r)
	}
	if r := linked(`"${workspace}/link", "${workspace}/listed"`); os.Getuid() == 0 && !strings.HasPrefix(r.stdout, allowed) {
		t.Errorf("an endpoint that lists a link and what it leads to: %s", r)
	}
	// A script connects by its interpreter, and whoever lists it is told.
	script := filepath.Join(dir, "script")
	must(t, os.WriteFile(script, []byte("#!"+listed+" "+probeWord+"\n"), 0o755))
	var told []string
	r := start(t, context.Background(), development(t, policy(t, `
  filesystem {
    write   = [workspace]
    execute = [workspace]
  }`+s.endpoint(`executables = ["${workspace}/script"]`))), runtime.Job{
		Argv: []string{listed, probeWord, "tunnel", s.at(), "alone"}, Development: true, Workspace: runtime.Workspace{Dir: dir},
		Notice: func(what string) { told = append(told, what) },
	})
	if !strings.HasPrefix(r.stdout, denied) || len(told) != 1 || !strings.Contains(told[0], script+", a script") || !strings.Contains(told[0], "("+listed+")") {
		t.Errorf("an endpoint that lists a script: told %q; %s", told, r)
	}
	// A program that another takes the place of is another.
	must(t, os.WriteFile(filepath.Join(dir, "copy"), text, 0o755))
	job := runtime.Job{Argv: []string{other, probeWord, "replace", filepath.Join(dir, "copy"), listed, s.at()}, Development: true, Workspace: runtime.Workspace{Dir: dir}}
	r = start(t, context.Background(), v, job)
	if !strings.Contains(r.stdout, denied) || !strings.Contains(r.stdout, listed+" is not the file that it was when the run began") {
		t.Errorf("a listed program that was replaced: %s", r)
	}
}

// lacks skips a test whose control takes what this machine, or this user, does not have.
func lacks(t *testing.T, what, found string) {
	t.Helper()
	switch what {
	case "IPv6":
		t.Skipf("host feature missing: IPv6 (%s)", found)
	case "vsock":
		t.Skipf("host feature missing: vsock (%s)", found)
	}
	t.Skipf("host feature missing: root, for %s (%s)", what, found)
}

// failing is a proxy that ends with an error after its first connection.
type failing struct{ err error }

func (f failing) Serve(_ context.Context, l net.Listener) error {
	conn, err := l.Accept()
	if err == nil {
		conn.Close()
	}
	return errors.Join(f.err, err)
}

// TestLiveProxyEnds: a proxy that ends takes the run with it.
func TestLiveProxyEnds(t *testing.T) {
	needSandbox(t)
	s := newService(t)
	v := development(t, policy(t, plain+s.endpoint("")))
	for _, fault := range []error{errors.New("out of paper"), nil} {
		undo := runtime.UseOutlet(func(proxy.Config) runtime.Outlet { return failing{fault} })
		mark := fmt.Sprintf("mark-proxy-%d", os.Getpid())
		r := probed(t, v, labDir(t), "connect-and-wait", "127.0.0.1:3128", mark)
		undo()
		refusal := r.refusal()
		if refusal == nil || r.Exit != runtime.ExitRefused || r.Evidence.Outcome != runtime.EgressLost || refusal.Code != runtime.Machine ||
			!strings.Contains(refusal.Message, "the proxy ended") || fault != nil && !strings.Contains(refusal.Message, "out of paper") {
			t.Errorf("a proxy that ends with %v: %s", fault, r)
		}
		if left := marked(t, mark); len(left) > 0 || !r.Evidence.Cleanup.TreeDead {
			t.Errorf("processes are left: %q", left)
		}
	}
}

func (f failing) TrustBundle() []byte { return nil }

// trusting is a proxy that ends TLS.
type trusting struct{ bundle []byte }

func (p trusting) Serve(ctx context.Context, _ net.Listener) error { <-ctx.Done(); return nil }
func (p trusting) TrustBundle() []byte                             { return p.bundle }

// TestLiveTrust: where the proxy ends TLS, programs find what to trust.
func TestLiveTrust(t *testing.T) {
	needSandbox(t)
	s, dir := newService(t), labDir(t)
	bundle := bytes.Repeat([]byte("certificate\n"), 20_000)
	defer runtime.UseOutlet(func(proxy.Config) runtime.Outlet { return trusting{bundle} })()
	v := development(t, policy(t, plain+s.endpoint("")+`
  environment {
    PIP_CERT = "/own.pem"
  }`))
	if r := probed(t, v, dir, "copy-out", "/tmp/.obspc-ca.pem"); r.Exit != 0 || !strings.HasPrefix(r.stdout, string(bundle)) || r.stdout != string(bundle)+"ok\n" {
		t.Errorf("the bundle inside has %d bytes, want %d; exit %d, %q", len(r.stdout), len(bundle), r.Exit, r.stderr)
	}
	r := probed(t, v, dir, "environment")
	for _, want := range []string{"SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "CARGO_HTTP_CAINFO", "NPM_CONFIG_CAFILE"} {
		if !strings.Contains(r.stdout, want+"=/tmp/.obspc-ca.pem\n") {
			t.Errorf("the environment lacks %s: %q", want, r.stdout)
		}
	}
	if !strings.Contains(r.stdout, "PIP_CERT=/own.pem\n") {
		t.Errorf("what the policy states is overwritten: %q", r.stdout)
	}
	bare := strings.NewReplacer(`"std/base", `, "", "extends = [template.probe]", "extends = [template.probe]").Replace(policy(t, s.endpoint("")))
	refusedWith(t, probed(t, development(t, bare), dir, "environment"), runtime.Input, "has no temporary files", "std/base")
}

// TestLiveTunnelEnds: a tunnel that a child keeps ends with the run, however that
// ends, and is in the evidence.
func TestLiveTunnelEnds(t *testing.T) {
	needSandbox(t)
	s := newService(t)
	for _, tt := range []struct {
		attempt, body string
		want          runtime.Word
	}{
		{"leave-tunnel", "", runtime.Exited},
		{"tunnel-on", "\nlimits {\n timeout = \"2s\"\n}", runtime.Timeout},
	} {
		mark := fmt.Sprintf("mark-%s-%d", tt.attempt, os.Getpid())
		r := probed(t, development(t, policy(t, plain+s.endpoint("")+tt.body)), labDir(t), tt.attempt, s.at(), mark)
		if r.Evidence.Outcome != tt.want || !strings.HasPrefix(r.stdout, "HTTP/1.1 200 OK\n") || !slices.Equal(events(r), []string{"allowed " + s.at()}) {
			t.Errorf("%s: want %s; %s", tt.attempt, tt.want, r)
		}
		if left := marked(t, mark); len(left) > 0 {
			t.Errorf("%s: processes are left: %q", tt.attempt, left)
		}
		select {
		case <-s.ended:
		case <-time.After(time.Minute):
			t.Errorf("%s: the server's connection is still open", tt.attempt)
		}
	}
}

// TestEgressEvidence: decisions past the bound are counted.
func TestEgressEvidence(t *testing.T) {
	e := runtime.Logged(1003, proxy.Event{Decision: proxy.Denied, Host: "x.example", Port: 443, Reason: "no\x1b[31m"})
	if e.Denied != 1003 || len(e.Events) != 1000 || e.Untold != 3 || e.Allowed+e.Failed != 0 || e.First(proxy.Denied).Reason != "no?[31m" {
		t.Errorf("of 1003 denials evidence has %d, %d of them told, %d not; the first %+v", e.Denied, len(e.Events), e.Untold, e.First(proxy.Denied))
	}
}
