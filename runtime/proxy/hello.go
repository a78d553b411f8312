package proxy

import (
	"errors"
	"strings"

	"github.com/obspc/obspc/targets/egress"
)

// hello is what a ClientHello (RFC 8446, section 4.1.2) says about its server.
type hello struct {
	name      string // of RFC 6066, section 3
	hasName   bool
	encrypted bool // it has another name inside (RFC 9849), or claims to
}

// Numbers of the TLS registries.
const (
	recordHandshake      = 22
	messageClientHello   = 1
	extensionServerName  = 0
	extensionESNI        = 0xffce // of drafts before RFC 9849
	extensionECH         = 0xfe0d
	maxRecord            = 16 << 10
	serverNameIsHostName = 0
)

var (
	errRecord    = errors.New("a record is not one of a handshake")
	errHello     = errors.New("the message is malformed")
	errHelloLong = errors.New("the message is too long")
	errHelloMore = errors.New("something else stands in its last record")
)

// parseHello reads a ClientHello of at most limit bytes from the beginning of data,
// over as many records as it has. Not whole: more data is needed.
func parseHello(data []byte, limit int) (said hello, whole bool, err error) {
	var message []byte
	for first := true; ; first = false {
		if len(data) < 5 {
			if len(data) > 0 && data[0] != recordHandshake || len(data) > 1 && data[1] != 3 {
				return hello{}, false, errRecord
			}
			return hello{}, false, nil
		}
		size := int(data[3])<<8 | int(data[4])
		if data[0] != recordHandshake || data[1] != 3 || size == 0 || size > maxRecord {
			return hello{}, false, errRecord
		}
		if len(data) < 5+size {
			if first && len(data) > 5 && data[5] != messageClientHello {
				return hello{}, false, errHello
			}
			return hello{}, false, nil
		}
		record := data[5 : 5+size]
		data = data[5+size:]
		if first {
			message = record[:size:size] // grown by copying
		} else {
			message = append(message, record...)
		}
		if message[0] != messageClientHello {
			return hello{}, false, errHello
		}
		if len(message) < 4 {
			continue
		}
		length := int(message[1])<<16 | int(message[2])<<8 | int(message[3])
		switch {
		case length > limit:
			return hello{}, false, errHelloLong
		case len(message) > 4+length:
			return hello{}, false, errHelloMore
		case len(message) == 4+length:
			said, err = parseHelloBody(message[4:])
			return said, err == nil, err
		}
	}
}

// cursor reads vectors of TLS (RFC 8446, section 3.4). After a fault it is short.
type cursor struct {
	rest  []byte
	short bool
}

func (c *cursor) take(n int) []byte {
	if c.short || n > len(c.rest) {
		c.short = true
		return nil
	}
	out := c.rest[:n]
	c.rest = c.rest[n:]
	return out
}

func (c *cursor) number(bytes int) int {
	n := 0
	for _, b := range c.take(bytes) {
		n = n<<8 | int(b)
	}
	return n
}

func (c *cursor) vector(lengthBytes int) []byte { return c.take(c.number(lengthBytes)) }

func parseHelloBody(body []byte) (hello, error) {
	var said hello
	c := &cursor{rest: body}
	c.take(2 + 32) // version, random
	session := c.vector(1)
	suites := c.vector(2)
	compressions := c.vector(1)
	if c.short || len(session) > 32 || len(suites) < 2 || len(suites)%2 != 0 || len(compressions) == 0 {
		return said, errHello
	}
	if len(c.rest) == 0 { // before TLS 1.3 extensions may be missing
		return said, nil
	}
	extensions := &cursor{rest: c.vector(2)}
	if c.short || len(c.rest) != 0 {
		return said, errHello
	}
	named := false
	for len(extensions.rest) > 0 {
		kind := extensions.number(2)
		data := extensions.vector(2)
		if extensions.short {
			return said, errHello
		}
		switch kind {
		case extensionServerName:
			if named {
				return said, errHello
			}
			named = true
			name, err := parseServerName(data)
			if err != nil {
				return said, err
			}
			said.name, said.hasName = name, true
		case extensionECH, extensionESNI:
			said.encrypted = true
		}
	}
	return said, nil
}

func parseServerName(data []byte) (string, error) {
	c := &cursor{rest: data}
	list := &cursor{rest: c.vector(2)}
	kind := list.number(1)
	name := list.vector(2)
	if c.short || list.short || len(c.rest) != 0 || len(list.rest) != 0 || kind != serverNameIsHostName || len(name) == 0 {
		return "", errHello
	}
	return string(name), nil
}

// check refuses a ClientHello that is not for the route's peer, or does not say so.
func (h hello) check(rt *route) *refusal {
	if rt.protocol == "http" {
		return denied(egress.Protocol, rt.rule, "the endpoint for %s is for HTTP without TLS, and the client speaks TLS", rt.peer)
	}
	switch {
	case h.encrypted:
		return denied(egress.Protocol, rt.rule, "the ClientHello for %s encrypts its server name (ECH), so nobody sees which it is: switch that off in the client", rt.peer)
	case rt.peer.Host == "" && h.hasName:
		return denied(egress.Host, rt.rule, "the ClientHello names the server %s, and an address was asked for and decided: ask for the name", quoted(h.name))
	case rt.peer.Host == "":
		return nil
	case !h.hasName:
		return denied(egress.Host, rt.rule, "the ClientHello names no server, and %s was asked for and decided", rt.peer.Host)
	case !sameName(h.name, rt.peer.Host):
		return denied(egress.Host, rt.rule, "the ClientHello names the server %s, and %s was asked for and decided", quoted(h.name), rt.peer.Host)
	}
	return nil
}

// sameName compares a server name with a canonical host, in ASCII and but for case:
// another spelling that means the same to us may mean something else to the server.
func sameName(name, host string) bool {
	if len(name) != len(host) {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != host[i] {
			return false
		}
	}
	return !strings.HasSuffix(name, ".")
}
