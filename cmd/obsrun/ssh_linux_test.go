package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

// sshd is a server of SSH that lets everybody in, and answers each command with its
// text.
func sshd(t *testing.T) net.Listener {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	signer, err := ssh.NewSignerFromKey(key)
	must(t, err)
	config := &ssh.ServerConfig{NoClientAuth: true}
	config.AddHostKey(signer)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go serveSSH(conn, config)
		}
	}()
	return l
}

func serveSSH(conn net.Conn, config *ssh.ServerConfig) {
	defer conn.Close()
	_, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for offered := range channels {
		channel, asked, err := offered.Accept()
		if err != nil {
			return
		}
		for r := range asked {
			if r.Type != "exec" {
				_ = r.Reply(false, nil)
				continue
			}
			_ = r.Reply(true, nil)
			var command struct{ Text string }
			_ = ssh.Unmarshal(r.Payload, &command)
			fmt.Fprintf(channel, "the server was told %s\n", command.Text)
			_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{7}))
			channel.Close()
		}
	}
}

// TestSSH: ssh reaches a server through proxy-connect, and no other.
func TestSSH(t *testing.T) {
	newLab(t)
	const client = "/usr/bin/ssh"
	if _, err := os.Stat(client); err != nil {
		t.Skip("host feature missing: the program ssh")
	}
	port := sshd(t).Addr().(*net.TCPAddr).Port
	c := newConnector(t)
	policy := fmt.Sprintf(mayConnect, `, "std/shell"`, fmt.Sprintf(", %q", client), fmt.Sprintf(toServer, port, `      protocol = "tcp"`))
	run := func(host string) (stdout, stderr string, code int) {
		t.Helper()
		return c.exec(t, policy, "", nil,
			client, "-F", "none", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "BatchMode=yes",
			"-o", "ProxyCommand="+c.obsrun+" proxy-connect %h %p", "-p", fmt.Sprint(port), "somebody@"+host, "say hello")
	}
	if stdout, stderr, code := run("localhost"); code != 7 || stdout != "the server was told say hello\n" {
		t.Errorf("to the endpoint: exit %d, %q, %q", code, stdout, stderr)
	}
	if stdout, stderr, code := run("example.org"); code != 255 || stdout != "" || !strings.Contains(stderr, "the proxy answers 403") {
		t.Errorf("past the endpoint: exit %d, %q, %q", code, stdout, stderr)
	}
}
