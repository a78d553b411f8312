package diff

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/obspc/obspc/compiler/addresses"
	"github.com/obspc/obspc/compiler/ir"
)

// handling is how the connections of a class on one port are handled for one program,
// where they are allowed at all.
type handling struct {
	raw     bool            // anything may be spoken
	whole   map[string]bool // schemes whose requests are not looked at
	rules   []*ir.RequestRule
	opened  []netip.Prefix
	by      []*ir.Endpoint
	program string // "" is one that nobody names
}

// handlingOf is what the endpoints on a port say together for the program.
func handlingOf(list []*ir.Endpoint, r ir.Request) handling {
	out := handling{whole: map[string]bool{}}
	for _, e := range list {
		if !e.Admits(r) {
			continue
		}
		out.by = append(out.by, e)
		out.opened = append(out.opened, e.Addresses...)
		switch e.Protocol {
		case ir.REST:
			for i := range e.Requests {
				out.rules = append(out.rules, &e.Requests[i])
			}
			continue
		case ir.TCP:
			out.raw = true
		}
		for _, scheme := range []string{"http", "https"} {
			out.whole[scheme] = out.whole[scheme] || e.Speaks(scheme)
		}
	}
	return out
}

// of are the rules about requests of one method.
func (h handling) of(method string) requestRules {
	var out requestRules
	for _, r := range h.rules {
		switch {
		case len(r.Methods) > 0 && !slices.Contains(r.Methods, method):
		case r.Allow:
			out.allow = append(out.allow, r.Path)
		default:
			out.deny = append(out.deny, r.Path)
		}
	}
	return out
}

// words are the statements behind it, by which groups are told apart.
func (h handling) words() string {
	var out []string
	for _, e := range h.by {
		out = append(out, e.String())
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), "\n")
}

// handlingGroup is one thing that one side's endpoints allow on connections which
// both sides allow.
type handlingGroup struct {
	side    int
	what    string
	words   []ir.RequestKind
	names   []string
	port    uint16
	program string
	witness []Witness
	stated  [2]*Statement
	scope   []string
}

func (g *handlingGroup) change() Change {
	out := Change{
		Kind: GrantAdded, Words: g.words, Subject: fmt.Sprintf("%s:%d%s", listed(g.names, 3), g.port, g.what),
		Witnesses: g.witness, Old: g.stated[before], New: g.stated[after], scope: g.scope,
	}
	if g.program != "" {
		out.Subject += " by " + g.program
	}
	asked := g.witness[0].Text == ""
	switch {
	case asked && g.side == before:
		out.Kind = GrantRemoved
	case !asked && g.side == before:
		out.Kind = ConnectionNarrowed
	case !asked:
		out.Kind = ConnectionWidened
	}
	return out
}

// handling compares what a class lets be done on a port that both policies open, for
// each program that either names and for one that none does.
func (h *hostView) handling(at *nearby, port uint16) {
	if at.denied[before] != nil || at.denied[after] != nil {
		return
	}
	lists := [2][]*ir.Endpoint{at.ports[before].endpoints(port), at.ports[after].endpoints(port)}
	if len(lists[before]) == 0 || len(lists[after]) == 0 {
		return
	}
	programs := []string{""}
	for _, e := range slices.Concat(lists[before], lists[after]) {
		for _, x := range e.Executables {
			programs = append(programs, x.String())
		}
	}
	slices.Sort(programs)
	var anyone [2]string
	for _, program := range slices.Compact(programs) {
		var sides [2]handling
		for side, list := range lists {
			sides[side] = handlingOf(list, at.ask(port, program))
			sides[side].program = program
		}
		key := [2]string{sides[before].words(), sides[after].words()}
		if program == "" {
			anyone = key
		} else if key == anyone {
			continue // for this program nothing else is said than for everyone
		}
		if len(sides[before].by) == 0 || len(sides[after].by) == 0 || key[before] == key[after] {
			continue
		}
		for _, side := range []int{after, before} {
			h.moreBy(at, port, side, sides)
		}
	}
}

// moreBy tells of what one side allows on the class's connections and the other does
// not.
func (h *hostView) moreBy(at *nearby, port uint16, side int, sides [2]handling) {
	mine, other := sides[side], sides[1-side]
	r := at.ask(port, mine.program)
	if ranges, found := moreAddresses(mine.opened, other.opened); len(ranges) > 0 {
		var witness []Witness
		for _, addr := range found {
			witness = append(witness, Witness{Text: fmt.Sprintf("%s, when the name leads to %s", r, addr)})
		}
		h.handledBy(at, port, side, sides, " at "+strings.Join(ranges, ", "), nil, witness...)
	}
	if mine.raw && !other.raw {
		h.handledBy(at, port, side, sides, " in any protocol", nil, Witness{Text: fmt.Sprintf("%s, and send anything", r)})
	}
	r.Kind = ir.URLRequest
	for _, scheme := range []string{"https", "http"} {
		r.Scheme = scheme
		switch {
		case other.whole[scheme] || !mine.whole[scheme] && len(mine.rules) == 0:
			continue
		case mine.whole[scheme] && len(other.rules) > 0 && h.allowsAll(other):
			text := fmt.Sprintf("%s, and speak %s that nothing looks into", at.ask(port, mine.program), scheme)
			h.handledBy(at, port, side, sides, " over "+scheme+", unseen", nil, Witness{Text: text})
			continue
		}
		method, path, known := h.moreRequests(mine, other, scheme)
		if !known {
			h.handledBy(at, port, side, sides, " (unknown: too many patterns to compare)", nil, Witness{Text: "unknown"})
			return
		}
		if path != "" {
			r.Method, r.Target = method, path
			h.handledBy(at, port, side, sides, "", []ir.RequestKind{ir.URLRequest}, Witness{Request: r})
			return
		}
	}
}

// allowsAll reports whether every request is allowed.
func (h *hostView) allowsAll(other handling) bool {
	_, path, known := h.moreRequests(handling{whole: map[string]bool{"https": true}}, other, "https")
	return known && path == ""
}

type searched struct {
	method, path string
	known        bool
}

// moreRequests is a request of the scheme that mine allows and other does not; an
// empty path when there is none.
func (h *hostView) moreRequests(mine, other handling, scheme string) (method, path string, known bool) {
	whole := requestRules{allow: []ir.PathPattern{ir.AnyPath}}
	key := fmt.Sprintf("%t\n%v\n%v", mine.whole[scheme], textOf(mine.rules), textOf(other.rules))
	if s, ok := h.searched[key]; ok {
		return s.method, s.path, s.known
	}
	s := searched{known: true}
	for _, m := range methodsOf(mine, other) {
		allowed := mine.of(m)
		if mine.whole[scheme] {
			allowed = whole
		}
		found, ok := allowed.beyond(other.of(m))
		s.known = s.known && ok
		if found != "" {
			s = searched{m, found, true}
			break
		}
	}
	if h.searched == nil {
		h.searched = map[string]searched{}
	}
	h.searched[key] = s
	return s.method, s.path, s.known
}

func textOf(rules []*ir.RequestRule) []string {
	var out []string
	for _, r := range rules {
		out = append(out, r.String())
	}
	return out
}

// methodsOf are the methods that rules name, and one that none does.
func methodsOf(list ...handling) []string {
	named := map[string]bool{}
	var out []string
	for _, h := range list {
		for _, r := range h.rules {
			for _, m := range r.Methods {
				if !named[m] {
					named[m] = true
					out = append(out, m)
				}
			}
		}
	}
	slices.Sort(out)
	other := "GET"
	for named[other] {
		other += "X"
	}
	return append(out, other)
}

// moreAddresses are the ranges of one list that open an address which the other does
// not, and the first such address of each.
func moreAddresses(mine, other []netip.Prefix) (ranges []string, first []netip.Addr) {
	for _, p := range mine {
		addr, ok := moreAddress(p, mine, other)
		if text := p.String(); ok && !slices.Contains(ranges, text) {
			ranges, first = append(ranges, text), append(first, addr)
		}
	}
	return ranges, first
}

// moreAddress is an address in the range that one list opens and the other does not.
func moreAddress(in netip.Prefix, mine, other []netip.Prefix) (netip.Addr, bool) {
	ask := []netip.Addr{in.Addr()}
	for _, p := range other {
		ask = append(ask, addresses.Last(p).Next())
	}
	for _, r := range addresses.Ranges() {
		ask = append(ask, r.Prefix.Addr(), addresses.Last(r.Prefix).Next())
	}
	slices.SortFunc(ask, netip.Addr.Compare)
	for _, addr := range ask {
		if _, yes := addresses.Admitted(addr, mine); yes && in.Contains(addr) {
			if _, too := addresses.Admitted(addr, other); !too {
				return addr, true
			}
		}
	}
	return netip.Addr{}, false
}

// handledBy records what one side allows beside, of one more class. What is approved is
// approved together with all that both sides say of such connections.
func (h *hostView) handledBy(at *nearby, port uint16, side int, sides [2]handling, what string, words []ir.RequestKind, w ...Witness) {
	key := fmt.Sprintf("%d %d %s %v\n%s\n%s\n%s", side, port, what, words, sides[side].program, sides[before].words(), sides[after].words())
	g := h.byWords[key]
	if g == nil {
		g = &handlingGroup{side: side, what: what, words: words, port: port, program: sides[side].program, witness: w}
		g.scope = []string{"by " + sides[side].words(), "beyond " + sides[1-side].words()}
		for s := range sides {
			g.stated[s] = &Statement{strings.ReplaceAll(sides[s].words(), "\n", " and "), sides[s].by[0].Origin}
		}
		if h.byWords == nil {
			h.byWords = map[string]*handlingGroup{}
		}
		h.byWords[key], h.handled = g, append(h.handled, g)
	}
	g.names = append(g.names, at.name)
	g.scope = append(g.scope, at.name+what)
}

// loopback compares whose loopback is reached.
func (c *comparison) loopback() {
	old, new := c.policies[before].Loopback, c.policies[after].Loopback
	if old.Host == new.Host {
		return
	}
	const subject, witness = "the machine's own loopback", "connect to any port of 127.0.0.1 or ::1 on the machine"
	if new.Host {
		c.tell(beyond(ConnectionWidened, subject, witness, nil, &Statement{new.String(), new.Origin}))
	} else {
		c.tell(beyond(ConnectionNarrowed, subject, witness, &Statement{old.String(), old.Origin}, nil))
	}
}
