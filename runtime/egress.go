package runtime

import (
	"net/netip"
	"sync"

	"github.com/obspc/obspc/runtime/proxy"
)

// EgressEvidence is what a run asked for on its way out: how many connections and
// requests were decided how, and each of them, in the order in which they ended, up to
// maxEgressEvents. A run whose policy has no endpoint has none.
type EgressEvidence struct {
	Allowed int64         `json:"allowed"`
	Denied  int64         `json:"denied"`
	Failed  int64         `json:"failed"` // allowed, and the server was not reached
	Events  []EgressEvent `json:"events,omitempty"`
	Untold  int64         `json:"untold,omitempty"` // counted, and not among Events
}

// EgressEvent is one decision of the proxy and what came of it. Of a request it holds
// the path and never the query, a header or a body.
type EgressEvent struct {
	Time          string `json:"time"`
	Kind          string `json:"kind"`     // connect, or request where the proxy sees it
	Decision      string `json:"decision"` // allowed, denied or failed
	Host          string `json:"host,omitempty"`
	Address       string `json:"address,omitempty"` // that was connected with, or asked for
	Port          uint16 `json:"port,omitempty"`
	Program       string `json:"program,omitempty"` // where an endpoint asks for programs, and it is known
	ProgramSHA256 string `json:"program_sha256,omitempty"`
	Method        string `json:"method,omitempty"`
	Path          string `json:"path,omitempty"`
	Sent          int64  `json:"sent"`     // bytes from the sandbox
	Received      int64  `json:"received"` // bytes for it
	Statement     string `json:"statement,omitempty"`
	Dimension     string `json:"dimension,omitempty"` // what a denial failed at
	Reason        string `json:"reason,omitempty"`
}

// maxEgressEvents bounds how many decisions are told one by one: a command can ask
// without end.
const maxEgressEvents = 1000

// First is the first decision of that word (proxy.Denied, proxy.Failed) that is told,
// nil when there was none.
func (e *EgressEvidence) First(decision string) *EgressEvent {
	if e == nil {
		return nil
	}
	for i := range e.Events {
		if e.Events[i].Decision == decision {
			return &e.Events[i]
		}
	}
	return nil
}

// egressLog collects decisions while a run is on.
type egressLog struct {
	lock sync.Mutex
	seen EgressEvidence
}

// add is the proxy's sink.
func (l *egressLog) add(e proxy.Event) {
	l.lock.Lock()
	defer l.lock.Unlock()
	switch e.Decision {
	case proxy.Allowed:
		l.seen.Allowed++
	case proxy.Failed:
		l.seen.Failed++
	default:
		l.seen.Denied++
	}
	if len(l.seen.Events) >= maxEgressEvents {
		l.seen.Untold++
		return
	}
	l.seen.Events = append(l.seen.Events, EgressEvent{
		Time: stamp(e.Time), Kind: e.Kind, Decision: e.Decision, Host: e.Host, Address: addressText(e.Address), Port: e.Port,
		Program: e.Program, ProgramSHA256: e.ProgramSHA256, Method: e.Method, Path: e.Path, Sent: e.Sent, Received: e.Received,
		Statement: e.Rule, Dimension: e.Dimension, Reason: printable(e.Reason),
	})
}

// evidence is what was collected so far.
func (l *egressLog) evidence() *EgressEvidence {
	l.lock.Lock()
	defer l.lock.Unlock()
	out := l.seen
	out.Events = append([]EgressEvent(nil), l.seen.Events...)
	return &out
}

func addressText(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}
