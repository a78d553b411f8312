package proxy

import (
	"crypto/subtle"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/obspc/obspc/targets/egress"
)

// Numbers of SOCKS5 (RFC 1928, RFC 1929).
const (
	socksVersion      = 5
	socksNoAuth       = 0
	socksPassword     = 2
	socksNoMethod     = 0xff
	socksConnect      = 1
	socksIPv4         = 1
	socksName         = 3
	socksIPv6         = 4
	socksFailure      = 1
	socksNotAllowed   = 2
	socksUnreachable  = 4
	socksRefused      = 5
	socksNoCommand    = 7
	socksNoAddress    = 8
	passwordVersion   = 1
	socksGreetingMost = 2 + 255
	socksRequestMost  = 4 + 1 + 255 + 2
	passwordMost      = 3 + 255 + 255
)

// socksGreeting reads the methods that a client offers. used is 0 as long as more
// data is needed.
func socksGreeting(data []byte) (methods string, used int, err error) {
	if len(data) < 2 {
		return "", 0, nil
	}
	if data[0] != socksVersion || data[1] == 0 {
		return "", 0, errors.New("the greeting is not one of SOCKS5")
	}
	used = 2 + int(data[1])
	if len(data) < used {
		return "", 0, nil
	}
	return string(data[2:used]), used, nil
}

// socksCredential reads a user and a password (RFC 1929), joined by a colon.
func socksCredential(data []byte) (credential string, used int, err error) {
	if len(data) < 2 {
		return "", 0, nil
	}
	if data[0] != passwordVersion {
		return "", 0, errors.New("the credential is not one of RFC 1929")
	}
	user := 2 + int(data[1])
	if len(data) < user+1 {
		return "", 0, nil
	}
	used = user + 1 + int(data[user])
	if len(data) < used {
		return "", 0, nil
	}
	return string(data[2:user]) + ":" + string(data[user+1:used]), used, nil
}

// errSocks is a fault with the number that tells the client of it.
type errSocks struct {
	reply byte
	text  string
}

func (e errSocks) Error() string { return e.text }

// socksRequest reads what the client asks for.
func socksRequest(data []byte) (peer egress.Peer, used int, err error) {
	if len(data) < 5 {
		return peer, 0, nil
	}
	if data[0] != socksVersion || data[2] != 0 {
		return peer, 0, errSocks{socksFailure, "the request is not one of SOCKS5"}
	}
	if data[1] != socksConnect {
		return peer, 0, errSocks{socksNoCommand, "SOCKS5 is served for CONNECT alone"}
	}
	start, size := 4, 0
	switch data[3] {
	case socksIPv4:
		size = 4
	case socksIPv6:
		size = 16
	case socksName:
		start, size = 5, int(data[4])
	default:
		return peer, 0, errSocks{socksNoAddress, "the kind of address is unknown"}
	}
	used = start + size + 2
	if len(data) < used {
		return peer, 0, nil
	}
	where := data[start : start+size]
	if data[3] == socksName {
		peer, err = parseHost(string(where))
		if len(where) > 0 && where[0] == '[' {
			err = errors.New("an IPv6 address has a kind of its own")
		}
	} else {
		addr, _ := netip.AddrFromSlice(where)
		peer, err = peerOf(addr)
	}
	peer.Port = uint16(data[used-2])<<8 | uint16(data[used-1])
	if err == nil && peer.Port == 0 {
		err = errors.New("its port is no number from 1 to 65535")
	}
	if err != nil {
		return egress.Peer{}, 0, errSocks{socksNoAddress, err.Error()}
	}
	return peer, used, nil
}

// socks serves one SOCKS5 connection.
func (c *client) socks() {
	e := Event{Time: time.Now(), Kind: Connect}
	_ = c.conn.SetReadDeadline(time.Now().Add(c.proxy.limits.HeaderTime))
	peer, refused := c.socksNegotiate()
	if refused != nil {
		c.refuseSocks(e, refused, refused.socks)
		return
	}
	e.at(peer)
	rt, up, r := c.open(peer, &e)
	if r != nil {
		c.refuseSocks(e, r, replyTo(r))
		return
	}
	if !c.say(socksVersion, 0, 0, socksIPv4, 0, 0, 0, 0, 0, 0) {
		c.proxy.untrack(up)
		c.allowed(e, rt)
		return
	}
	c.tunnel(rt, up, e)
}

// socksNegotiate goes through greeting, credential and request.
func (c *client) socksNegotiate() (egress.Peer, *refusal) {
	methods, err := readPart(c, socksGreetingMost, socksGreeting)
	if err != nil {
		return egress.Peer{}, socksFault(err)
	}
	method := byte(socksNoAuth)
	if c.proxy.config.Credential != "" {
		method = socksPassword
	}
	if strings.IndexByte(methods, method) < 0 {
		c.say(socksVersion, socksNoMethod)
		return egress.Peer{}, c.unauthenticated()
	}
	c.say(socksVersion, method)
	if method == socksPassword {
		credential, err := readPart(c, passwordMost, socksCredential)
		if err != nil {
			return egress.Peer{}, socksFault(err)
		}
		if subtle.ConstantTimeCompare([]byte(credential), []byte(c.proxy.config.Credential)) != 1 {
			c.say(passwordVersion, 1)
			return egress.Peer{}, c.unauthenticated()
		}
		c.say(passwordVersion, 0)
	}
	peer, err := readPart(c, socksRequestMost, socksRequest)
	if err != nil {
		return egress.Peer{}, socksFault(err)
	}
	return peer, nil
}

func (c *client) unauthenticated() *refusal {
	c.proxy.counts.unauthenticated.Add(1)
	return &refusal{status: http.StatusProxyAuthRequired, decision: Denied, dimension: notAuth, reason: "the proxy's credential is missing or wrong, or its kind is not offered"}
}

// readPart waits until parse has what it needs, of at most limit bytes.
func readPart[T any](c *client, limit int, parse func([]byte) (T, int, error)) (T, error) {
	for {
		out, used, err := parse(c.in.data)
		if err != nil {
			return out, err
		}
		if used > 0 {
			c.in.consume(used)
			return out, nil
		}
		if err := c.in.fill(limit); err != nil {
			return out, err
		}
	}
}

func socksFault(err error) *refusal {
	if late(err) {
		r := malformed("SOCKS5 was not negotiated in time")
		r.status, r.dimension = http.StatusRequestTimeout, overLimit
		return r
	}
	var fault errSocks
	if errors.As(err, &fault) {
		r := malformed("SOCKS5: %s", fault.text)
		r.socks = fault.reply
		return r
	}
	return malformed("SOCKS5: %v", plain(err))
}

// replyTo is the number that tells the client of a refusal.
func replyTo(r *refusal) byte {
	switch {
	case r.status == http.StatusForbidden:
		return socksNotAllowed
	case r.status == http.StatusGatewayTimeout:
		return socksUnreachable
	}
	return socksRefused
}

func (c *client) refuseSocks(e Event, r *refusal, reply byte) {
	c.emit(e, r)
	if reply == 0 || c.say(socksVersion, reply, 0, socksIPv4, 0, 0, 0, 0, 0, 0) {
		linger(c.conn)
	}
}

func (c *client) say(words ...byte) bool {
	_ = c.conn.SetWriteDeadline(time.Now().Add(writeTime))
	_, err := c.conn.Write(words)
	return err == nil
}
