package proxy

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/obspc/obspc/targets/egress"
)

// TestPanicEndsServe: a fault inside is what Serve returns, and every connection ends.
func TestPanicEndsServe(t *testing.T) {
	l := listen(t)
	table := egress.NewTable(&egress.Rules{Policy: "lab"})
	p := New(Config{Table: table, Sink: func(Event) { panic("a fault") }})
	done := make(chan error, 1)
	go func() { done <- p.Serve(context.Background(), l) }()
	other, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		if err == nil || !strings.Contains(err.Error(), "a fault") {
			t.Errorf("Serve = %v, want the fault", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("Serve goes on")
	}
	_ = other.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := other.Read(make([]byte, 1)); err == nil || strings.Contains(err.Error(), "timeout") {
		t.Errorf("another connection goes on: %v", err)
	}
}
