package egress

import "github.com/obspc/obspc/compiler/ir"

// EndsTLS reports whether some endpoint decides requests, which inside TLS can be seen
// only where it ends.
func (t *Table) EndsTLS() bool {
	for _, list := range t.addrs {
		if decidesRequests(list) {
			return true
		}
	}
	return t.root.endsTLS()
}

func (n *node) endsTLS() bool {
	if decidesRequests(n.exact) || decidesRequests(n.one) || decidesRequests(n.many) {
		return true
	}
	for _, child := range n.children {
		if child.endsTLS() {
			return true
		}
	}
	return false
}

func decidesRequests(list []*ir.Endpoint) bool {
	for _, e := range list {
		if e.Protocol == ir.REST {
			return true
		}
	}
	return false
}
