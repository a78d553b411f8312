package proxy

import (
	"net/netip"
	"time"

	"github.com/obspc/obspc/targets/egress"
)

// Kinds of events: a connection that bytes are relayed on, and a request that the
// proxy saw itself.
const (
	Connect = "connect"
	Request = "request"
)

// Decisions. Failed is allowed, and the server was not reached or did not answer.
const (
	Allowed = "allowed"
	Denied  = "denied"
	Failed  = "failed"
)

// Event is a decision and what came of it, told once, when the connection or request
// is over. It holds no query, header, body or credential; what a client sent that was
// no request is not repeated.
type Event struct {
	Time           time.Time // when it was asked
	Kind           string
	Decision       string
	Host           string     // canonical; "" for an address, or where none was said
	Address        netip.Addr // that was connected to, or asked for
	Port           uint16
	Program        string // "" where it was not asked for, or is not known
	ProgramSHA256  string
	Method         string // of a request
	Path           string // canonical, of a request
	Sent, Received int64  // bytes of a connection after it stood; of the bodies of a request
	Rule           string // the statement that decides, or the nearest
	Dimension      string // what a denial failed at (egress.Dimension); "request" for what is no request, "limit" past a limit
	Reason         string // one line for people
}

// Dimensions of denials that are not the policy's.
const (
	notRequest egress.Dimension = "request"
	overLimit  egress.Dimension = "limit"
	notAuth    egress.Dimension = "credential"
)

// emit counts e and hands it on.
func (p *Proxy) emit(e Event) {
	switch e.Decision {
	case Allowed:
		p.counts.allowed.Add(1)
	case Failed:
		p.counts.failed.Add(1)
	default:
		p.counts.denied.Add(1)
	}
	if p.config.Sink != nil {
		p.config.Sink(e)
	}
}
