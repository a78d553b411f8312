package diff

import (
	"maps"
	"slices"
	"strconv"

	"github.com/obspc/obspc/compiler/ir"
)

// programs is who may use a port: anyone, or what lies at or below the paths.
type programs struct {
	anyone bool
	paths  map[ir.Path]bool
}

// ports is what a class adds to a wider one; nil opens nothing.
type ports struct {
	wider *ports
	own   map[uint16]programs
	from  []*ir.Endpoint // that opened them
}

// name adds every port that is opened.
func (p *ports) name(all map[uint16]bool) {
	for ; p != nil; p = p.wider {
		for port := range p.own {
			all[port] = true
		}
	}
}

// endpoints are those on the port.
func (p *ports) endpoints(port uint16) []*ir.Endpoint {
	var out []*ir.Endpoint
	for ; p != nil; p = p.wider {
		for _, e := range p.from {
			if slices.Contains(e.Ports, port) {
				out = append(out, e)
			}
		}
	}
	return out
}

func (p *ports) at(port uint16) programs {
	for ; p != nil; p = p.wider {
		if who, ok := p.own[port]; ok {
			return who
		}
	}
	return programs{}
}

// with is p and what the endpoints open.
func (p *ports) with(endpoints []*ir.Endpoint) *ports {
	if len(endpoints) == 0 {
		return p
	}
	out := &ports{wider: p, own: map[uint16]programs{}, from: endpoints}
	for _, e := range endpoints {
		for _, port := range e.Ports {
			who, ok := out.own[port]
			if !ok {
				wide := p.at(port)
				who = programs{wide.anyone, maps.Clone(wide.paths)}
			}
			who.anyone = who.anyone || len(e.Executables) == 0
			for _, x := range e.Executables {
				if who.paths == nil {
					who.paths = map[ir.Path]bool{}
				}
				who.paths[x] = true
			}
			out.own[port] = who
		}
	}
	return out
}

// beyond lists the programs, in order, that may use a port while other may not:
// "" is one that nobody names. Paths below "/" are those of every slot too.
func (p programs) beyond(other programs) []string {
	switch {
	case other.anyone:
		return nil
	case p.anyone:
		return []string{""}
	}
	var out []ir.Path
	for x := range p.paths {
		covered := other.paths[ir.Path{}]
		for up := range x.Upward() {
			covered = covered || other.paths[up]
		}
		if !covered {
			out = append(out, x)
		}
	}
	slices.SortFunc(out, ir.Path.Compare)
	text := make([]string, len(out))
	for i, x := range out {
		text[i] = x.String()
	}
	return text
}

// portsText lists ports in order.
func portsText(set map[uint16]bool) string {
	var out []string
	for _, port := range slices.Sorted(maps.Keys(set)) {
		out = append(out, strconv.Itoa(int(port)))
	}
	return listed(out, 8)
}
