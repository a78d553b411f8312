package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/obspc/obspc/targets/egress"
)

// said is a connection whose first bytes an input holds.
type said struct {
	net.Conn
	in *input
}

func (s said) Read(b []byte) (int, error) { return s.in.Read(b) }

// intercept ends the client's TLS with a certificate of the run's own authority, and
// decides the requests inside, in HTTP/1 or HTTP/2. The ClientHello has been checked
// and is still to be read.
func (c *client) intercept(rt *route, e Event) {
	conn := tls.Server(said{c.conn, c.in}, &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return c.proxy.ca.leaf(rt.peer, time.Now())
		},
		SessionTicketsDisabled: true, // a resumed session would outlive its certificate
	})
	ctx, cancel := context.WithTimeout(c.ctx, c.proxy.limits.HeaderTime)
	_ = c.conn.SetDeadline(time.Now().Add(c.proxy.limits.HeaderTime)) // hello left one behind
	err := conn.HandshakeContext(ctx)
	cancel()
	if err != nil {
		c.emit(e, c.handshakeFailed(rt, err))
		return
	}
	_ = c.conn.SetDeadline(time.Time{})
	s := &stream{conn: conn, in: &input{conn: conn}, scheme: "https", tunnel: rt}
	if conn.ConnectionState().NegotiatedProtocol == "h2" {
		c.requestsH2(s, conn)
	} else {
		c.requests(s)
	}
	s.in.release()
	e.Sent, e.Received = c.sent.Load(), c.received.Load()
	c.allowed(e, rt)
}

// handshakeFailed says what a client did not like. A client that does not trust the
// run's authority says so in an alert, or closes the connection.
func (c *client) handshakeFailed(rt *route, err error) *refusal {
	return &refusal{
		status: http.StatusBadGateway, decision: Failed, rule: rt.rule, dimension: egress.Protocol,
		reason: "requests to " + rt.peer.String() + " are decided one by one, so its TLS ends here, and the client does not go on with it (" + plain(err).Error() + "): programs find the authority of the run in the file that SSL_CERT_FILE names",
	}
}

// secure lets t send requests over TLS, to servers that prove to be who they are.
func (p *Proxy) secure(c *client, t *http.Transport) {
	t.ForceAttemptHTTP2 = true
	t.DialTLSContext = func(ctx context.Context, _, address string) (net.Conn, error) {
		rt, _ := ctx.Value(routeKey{}).(*route)
		raw, err := c.dialFor(ctx, address)
		if err != nil {
			return nil, err
		}
		name := rt.peer.Host
		if name == "" {
			name = rt.peer.Addr.String()
		}
		conn := tls.Client(raw, &tls.Config{ServerName: name, RootCAs: p.config.Roots, NextProtos: []string{"h2", "http/1.1"}, MinVersion: tls.VersionTLS12})
		ctx, cancel := context.WithTimeout(ctx, p.limits.DialTime)
		defer cancel()
		if err := conn.HandshakeContext(ctx); err != nil {
			_ = raw.Close()
			return nil, rt.failed("it does not prove to be that", certificateFault(err))
		}
		return conn, nil
	}
}

// certificateFault is err without the chains that crypto/tls repeats.
func certificateFault(err error) error {
	var verification *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(err, &unknown):
		return errors.New("its certificate is from nobody that this machine trusts")
	case errors.As(err, &verification):
		return errors.New("its certificate is not valid for it: " + verification.Err.Error())
	}
	return err
}
