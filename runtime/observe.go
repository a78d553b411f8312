package runtime

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/compiler/ir/propose"
	"github.com/obspc/obspc/runtime/proxy"
)

// Request is what the event asked, as policies are asked it. Evidence does not tell how
// a request was sent: on port 443 it is taken for https, elsewhere for http. The error
// is that of an event which asks nothing, such as one past a limit.
func (e *EgressEvent) Request() (ir.Request, error) {
	r := ir.Request{Kind: ir.ConnectRequest, Host: e.Host, Port: e.Port}
	var err error
	switch {
	case e.Host != "":
		if host, failed := ir.CanonicalHost(e.Host); failed != nil || host != e.Host {
			return ir.Request{}, fmt.Errorf("%q is no canonical host", e.Host)
		}
	case e.Address != "":
		if r.Addr, err = netip.ParseAddr(e.Address); err != nil || r.Addr.Zone() != "" {
			return ir.Request{}, fmt.Errorf("%q is no address", e.Address)
		}
		r.Addr = r.Addr.Unmap()
	default:
		return ir.Request{}, fmt.Errorf("it names neither host nor address")
	}
	if e.Port == 0 {
		return ir.Request{}, fmt.Errorf("it names no port")
	}
	if e.Program != "" {
		if r.By, err = ir.NewPath(ir.Host, e.Program); err != nil {
			return ir.Request{}, err
		}
		r.HasBy = true
	}
	switch {
	case e.Kind == proxy.Connect:
		return r, nil
	case e.Kind != proxy.Request:
		return ir.Request{}, fmt.Errorf("%q is no kind of event", e.Kind)
	case e.Method == "" || e.Path == "":
		return r, nil // it was decided before they were read: the connection alone counts
	}
	if strings.Trim(e.Method, tokenBytes) != "" {
		return ir.Request{}, fmt.Errorf("%q is no method", e.Method)
	}
	path, query, err := ir.CanonicalTarget(e.Path)
	if err != nil || path != e.Path || query != "" {
		return ir.Request{}, fmt.Errorf("%q is no canonical path", e.Path)
	}
	r.Kind, r.Method, r.Target, r.Scheme = ir.URLRequest, e.Method, path, "http"
	if e.Port == 443 {
		r.Scheme = "https"
	}
	return r, nil
}

// tokenBytes are what a method is made of (RFC 9110, section 5.6.2, tchar).
const tokenBytes = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// asked are the denials among the events, each once, with how often it was.
func (e *EgressEvidence) asked() []propose.Asked {
	type key struct {
		request                    ir.Request
		program, dimension, reason string
		address                    netip.Addr
	}
	var out []propose.Asked
	at := map[key]int{}
	for i := range e.Events {
		event := &e.Events[i]
		if event.Decision != proxy.Denied {
			continue
		}
		r, _ := event.Request() // what asks nothing is counted by its reason
		k := key{request: r, program: event.Program, dimension: event.Dimension, reason: event.Reason}
		if addr, err := netip.ParseAddr(event.Address); err == nil && event.Host != "" {
			k.address = addr
		}
		if n, known := at[k]; known {
			out[n].Count++
			continue
		}
		at[k] = len(out)
		out = append(out, propose.Asked{Request: r, Program: event.Program, Dimension: event.Dimension, Reason: event.Reason, Address: k.address, Count: 1})
	}
	return out
}
