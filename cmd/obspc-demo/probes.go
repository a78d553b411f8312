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
	requests, address, stop, err := countingServer()
	if err != nil {
		return err
	}
	defer stop()
	target := filepath.Join(s.dir, "planted")
	connect := fmt.Sprintf(`exec 3<>/dev/tcp/127.0.0.1/%d && printf 'GET / HTTP/1.0\r\n\r\n' >&3 && read -r line <&3 && echo "$line"`, address.Port)
	fmt.Printf("\nEach attempt is made outside first (the control), then inside:\n")
	for _, p := range []probe{
		{"read a file that is granted", []string{"/usr/bin/cat", s.batch}, true, nil},
		{"read a file that is not", []string{"/usr/bin/cat", s.secret}, false, nil},
		{"write outside the workspace", []string{s.shell, "-c", `echo x > "$1"`, "write", target}, false, func() error { return os.Remove(target) }},
		{"start a program that is not listed", []string{s.shell, "-c", "/usr/bin/id -u"}, false, nil},
		{"connect to the host's loopback", []string{"/usr/bin/bash", "-c", connect}, false, nil},
	} {
		if err := s.try(p); err != nil {
			return err
		}
	}
	fmt.Printf("\nThe server on the host's loopback counted %d request: the control's.\n", requests.Load())
	if n := requests.Load(); n != 1 {
		return fmt.Errorf("the server counted %d requests, want the control's one", n)
	}
	return nil
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

// countingServer answers on the loopback and counts.
func countingServer() (*atomic.Int64, *net.TCPAddr, func(), error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, nil, err
	}
	requests := new(atomic.Int64)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		fmt.Fprintln(w, "hello")
	})}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	stop := func() {
		if err := errors.Join(server.Close(), <-done); err != nil && !errors.Is(err, http.ErrServerClosed) {
			fmt.Fprintln(os.Stderr, "demo:", err)
		}
	}
	return requests, listener.Addr().(*net.TCPAddr), stop, nil
}
