package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
)

// probe is one attempt, made outside as the control and then inside. Undo takes
// back what the control did.
type probe struct {
	name    string
	command []string
	allowed bool
	undo    func() error
}

// probes shows what the sandbox allows and refuses.
func (s *stage) probes() error {
	target := filepath.Join(s.dir, "planted")
	direct := fmt.Sprintf(`exec 3<>/dev/tcp/127.0.0.1/%d && printf 'GET / HTTP/1.0\r\n\r\n' >&3 && read -r line <&3 && echo "$line"`, s.server.port)
	fmt.Printf("\nEach attempt is made outside first (the control), then inside:\n")
	for _, p := range []probe{
		{"read a file that is granted", []string{"/usr/bin/cat", s.batch}, true, nil},
		{"read a file that is not", []string{"/usr/bin/cat", s.secret}, false, nil},
		{"write outside the workspace", []string{s.shell, "-c", `echo x > "$1"`, "write", target}, false, func() error { return os.Remove(target) }},
		{"start a program that is not listed", []string{s.shell, "-c", "/usr/bin/id -u"}, false, nil},
		{"connect to the host's loopback", []string{"/usr/bin/bash", "-c", direct}, false, nil},
		{"reach the endpoint's server", []string{"/usr/bin/bash", "-c", throughProxy(s.server.port)}, true, nil},
		{"reach another server the same way", []string{"/usr/bin/bash", "-c", throughProxy(s.other.port)}, false, nil},
	} {
		if err := s.try(p); err != nil {
			return err
		}
	}
	got, other := s.server.requests.Load(), s.other.requests.Load()
	fmt.Printf("\nThe endpoint's server counted %d requests, two of them the controls'; the other %d, the control's.\n", got, other)
	if got != 3 || other != 1 {
		return fmt.Errorf("the servers counted %d and %d requests, want 3 and 1", got, other)
	}
	return nil
}

// throughProxy is a script that gets a page of a server on localhost by the proxy of
// its environment, and straight from the server where there is none.
func throughProxy(port int) string {
	return fmt.Sprintf(`at=${http_proxy:-http://127.0.0.1:%[1]d} at=${at#http://}
exec 3<>"/dev/tcp/${at%%:*}/${at#*:}" &&
printf 'GET http://localhost:%[1]d/ HTTP/1.1\r\nHost: localhost:%[1]d\r\nConnection: close\r\n\r\n' >&3 &&
read -r line <&3 && echo "$line" && [[ $line == *" 200 "* ]]`, port)
}

func (s *stage) try(p probe) error {
	if out, err := exec.Command(p.command[0], p.command[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("control of %q: %w\n%s", p.name, err, out)
	}
	if p.undo != nil {
		if err := p.undo(); err != nil {
			return err
		}
	}
	args := append([]string{"exec", s.path("policies"), "--policy", "probe"}, s.vars...)
	_, code, err := s.call("obspc", append(append(args, "--"), p.command...)...)
	if err != nil {
		return err
	}
	if code == 125 || (code == 0) != p.allowed {
		return fmt.Errorf("%s: exit %d inside, want allowed %v", p.name, code, p.allowed)
	}
	verdict := "refused"
	if p.allowed {
		verdict = "allowed"
	}
	fmt.Printf("  %-36s outside: works   inside: %s\n", p.name, verdict)
	return nil
}

// server answers on the loopback and counts.
type server struct {
	port     int
	requests atomic.Int64
	stop     func()
}

func newServer() (*server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{port: listener.Addr().(*net.TCPAddr).Port}
	web := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.requests.Add(1)
		fmt.Fprintln(w, "hello")
	})}
	done := make(chan error, 1)
	go func() { done <- web.Serve(listener) }()
	s.stop = func() {
		if err := errors.Join(web.Close(), <-done); err != nil && !errors.Is(err, http.ErrServerClosed) {
			fmt.Fprintln(os.Stderr, "demo:", err)
		}
	}
	return s, nil
}
