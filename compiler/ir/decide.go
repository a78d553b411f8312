package ir

import "net/netip"

// Reason says in one word why a request was decided as it was.
type Reason string

// The reasons. Default: no rule speaks of it. Level: the longest covering rule's
// level decided. Held: the name belongs to a rule and stays. NotExecutable: no
// execute rule covers it. NoSockets: unix = "none". Seen: its directory is
// readable, or something below it is. EndpointMatch and NoEndpoint: network; HostDenied: a host that the
// policy denies; HostLoopback: the machine's loopback; ByRequest and NoRequest: what the
// endpoint says of methods and paths; OtherProtocol: what it lets be spoken. Of system
// calls: ByStatement, ByList (no sandbox may make it), InPart (some of it is on that
// list), NotListed.
const (
	ByDefault     Reason = "default"
	ByLevel       Reason = "level"
	ByHeld        Reason = "held"
	ByExecute     Reason = "execute"
	NotExecutable Reason = "not-executable"
	NoSockets     Reason = "no-sockets"
	Seen          Reason = "seen"
	EndpointMatch Reason = "endpoint"
	NoEndpoint    Reason = "no-endpoint"
	HostDenied    Reason = "host-denied"
	HostLoopback  Reason = "loopback"
	ByRequest     Reason = "request"
	NoRequest     Reason = "no-request"
	OtherProtocol Reason = "protocol"
	ByStatement   Reason = "statement"
	ByList        Reason = "list"
	InPart        Reason = "in-part"
	NotListed     Reason = "not-listed"
)

// RootSet is a set of roots.
type RootSet uint8

// Has reports whether r is in the set.
func (s RootSet) Has(r Root) bool { return s&(1<<r) != 0 }

func (s RootSet) with(r Root) RootSet { return s | 1<<r }

// Decision is the answer to a request. Rule is the rule that decided, nil when
// none speaks of it. While slots are not bound, Depends names those whose binding
// could turn the answer; Allow then holds for every binding that keeps the path
// out of them.
type Decision struct {
	Allow   bool
	Reason  Reason
	Rule    Rule
	Depends RootSet
}

// Decide is the meaning of a policy: the one answer that every artifact must give
// or tighten. For many requests, make a Decider once.
func Decide(p *Policy, r Request) Decision { return NewDecider(p).Decide(r) }

// Decider answers requests for one policy. It is safe for concurrent use and
// does not allocate.
type Decider struct {
	nodes     map[Path]node // every path that a rule names, and all above them
	unix      UnixRule
	exact     map[string][]*Endpoint
	one, many map[string][]*Endpoint
	addrs     map[netip.Addr][]*Endpoint
	denied    map[HostPattern]*HostRule
	loopback  *LoopbackRule   // nil: the sandbox's own
	levels    [numRoots]uint8 // by root: the set of levels its rules give, as bits
	runs      [numRoots]bool  // by root: has an execute rule
	syscalls  map[string]*SyscallRule
	fixed     map[string]*listed // what no sandbox may make
}

// node is what the rules say about one path. Below: something named lies strictly
// below it (execute rules too); readable: something readable does.
type node struct {
	file            *FileRule
	execute         *ExecuteRule
	below, readable bool
}

// NewDecider indexes p; it keeps no reference to later changes of p's lists.
func NewDecider(p *Policy) *Decider {
	d := &Decider{
		nodes: make(map[Path]node, 2*(len(p.Files)+len(p.Execute))), unix: p.Unix,
		exact: map[string][]*Endpoint{}, one: map[string][]*Endpoint{}, many: map[string][]*Endpoint{},
		addrs: map[netip.Addr][]*Endpoint{}, denied: make(map[HostPattern]*HostRule, len(p.DeniedHosts)),
		syscalls: make(map[string]*SyscallRule, len(p.Syscalls)), fixed: fixed(),
	}
	if p.Loopback.Host {
		d.loopback = &p.Loopback
	}
	for i := range p.DeniedHosts {
		d.denied[p.DeniedHosts[i].Host] = &p.DeniedHosts[i]
	}
	for i := range p.Files {
		d.addFile(&p.Files[i])
	}
	for i := range p.Execute {
		r := &p.Execute[i]
		n := d.nodes[r.Path]
		n.execute = r
		d.nodes[r.Path] = n
		d.markAbove(r.Path, false)
		if !inSystemTree(r.Path) {
			d.runs[r.Path.root] = true
		}
	}
	for i := range p.Endpoints {
		d.addEndpoint(&p.Endpoints[i])
	}
	for i := range p.Syscalls {
		d.syscalls[p.Syscalls[i].Name] = &p.Syscalls[i]
	}
	return d
}

func (d *Decider) addFile(r *FileRule) {
	// The configuration's carve-out counts only once it is bound: left out, it is
	// as if unsaid.
	if r.Path.root == Config {
		return
	}
	n := d.nodes[r.Path]
	n.file = r
	d.nodes[r.Path] = n
	d.markAbove(r.Path, r.Level >= Read)
	// A rule inside a system tree never covers what a slot is bound to.
	if !inSystemTree(r.Path) || r.Path.IsRoot() && !r.Only {
		d.levels[r.Path.root] |= 1 << r.Level
	}
}

// markAbove says of everything above p that p is named, and whether it is readable.
func (d *Decider) markAbove(p Path, readable bool) {
	for q, ok := p.Parent(); ok; q, ok = q.Parent() {
		n := d.nodes[q]
		if n.below && (n.readable || !readable) {
			return // and so it is for all above q
		}
		n.below, n.readable = true, n.readable || readable
		d.nodes[q] = n
	}
}

// Decide answers one request.
func (d *Decider) Decide(r Request) Decision {
	switch r.Kind {
	case ReadRequest, ListRequest:
		return d.level(r.Path, Read)
	case WriteRequest:
		return d.level(r.Path, Write)
	case StatRequest:
		return d.stat(r.Path)
	case CreateRequest, RemoveRequest:
		return d.rename(r.Path)
	case RenameRequest:
		return both(d.rename(r.Path), d.rename(r.To))
	case LinkRequest:
		return both(d.level(r.Path, Write), d.rename(r.To))
	case ExecuteRequest:
		return d.run(r.Path)
	case ConnectUnixRequest:
		return d.connectUnix(r.Path)
	case ConnectRequest:
		return d.connect(r)
	case URLRequest:
		return d.request(r)
	case SyscallRequest:
		return d.syscall(r.Syscall)
	}
	return Decision{Reason: ByDefault}
}

// both needs two answers to be yes; the first refusal speaks, and one that no
// binding can turn before one that some binding can.
func both(a, b Decision) Decision {
	switch {
	case !a.Allow && a.Depends == 0:
		return a
	case !b.Allow && b.Depends == 0:
		return b
	case !a.Allow:
		b, a = a, b
	}
	b.Depends |= a.Depends
	return b
}

// lookup is the longest rule of p's own root that covers p.
func (d *Decider) lookup(p Path) *FileRule {
	for q, ok := p, true; ok; q, ok = q.Parent() {
		if r := d.nodes[q].file; r != nil && (!r.Only || q == p) {
			return r
		}
	}
	return nil
}

// fallback is what decides p when no rule of its own root does: a rule for all of
// "/", which covers whatever a slot is bound to.
func (d *Decider) fallback(p Path) *FileRule {
	if p.root == Host {
		return nil
	}
	if r := d.nodes[Path{}].file; r != nil && !r.Only {
		return r
	}
	return nil
}

// levelAt is the level p has and the rule that gives it, nil for the default.
func (d *Decider) levelAt(p Path) (Level, *FileRule) {
	r := d.lookup(p)
	if r == nil {
		r = d.fallback(p)
	}
	if r == nil {
		return Deny, nil
	}
	return r.Level, r
}

// level decides whether p has at least the level want.
func (d *Decider) level(p Path, want Level) Decision {
	have, rule := d.levelAt(p)
	out := Decision{Allow: have >= want, Reason: ByDefault}
	if rule != nil {
		out.Reason, out.Rule = ByLevel, rule
	}
	out.Depends = d.depends(p, func(s Root) bool { return d.gives(s, out.Allow, want) })
	return out
}

// gives reports whether some rule of root s would turn the answer allow about
// level want.
func (d *Decider) gives(s Root, allow bool, want Level) bool {
	for l := Deny; l <= Write; l++ {
		if d.levels[s]&(1<<l) != 0 && (l >= want) != allow {
			return true
		}
	}
	return false
}

// depends lists the slots whose binding could turn an answer about what covers
// p, given what each root could do: a later root's rules win wherever its slot is
// bound around p; an earlier root's count when p's own root says nothing.
func (d *Decider) depends(p Path, turns func(Root) bool) RootSet {
	later, earlier := d.dependsLater(p, turns), dependsEarlier(p, turns)
	if earlier != 0 && d.lookup(p) != nil {
		earlier = 0
	}
	return later | earlier
}

// dependsLater lists the later roots that could cover p. None covers what is
// named in p's own root, or lies above something named there: a rule of theirs
// would stand at or above that, and no such binding is admissible.
func (d *Decider) dependsLater(p Path, turns func(Root) bool) RootSet {
	out := laterRoots(p, turns)
	if out != 0 && (inSystemTree(p) || d.held(p)) {
		return 0
	}
	return out
}

// laterRoots is the set of roots after p's own of which turns is true.
func laterRoots(p Path, turns func(Root) bool) RootSet {
	var out RootSet
	for s := p.root + 1; int(s) < numRoots; s++ {
		if turns(s) {
			out = out.with(s)
		}
	}
	return out
}

// dependsEarlier is p's own slot, if an earlier root could cover what it is bound
// to.
func dependsEarlier(p Path, turns func(Root) bool) RootSet {
	for s := Host; s < p.root; s++ {
		if turns(s) {
			return RootSet(0).with(p.root)
		}
	}
	return 0
}

// stat is allowed for what is readable, what a readable directory shows, and
// what leads to something readable.
func (d *Decider) stat(p Path) Decision {
	out := d.level(p, Read)
	if out.Allow {
		return out
	}
	if d.nodes[p].readable {
		out.Allow, out.Reason, out.Depends = true, Seen, 0
		return out
	}
	if parent, ok := p.Parent(); ok {
		// A directory opened by only() shows the names in it and nothing of their nodes.
		if have, rule := d.levelAt(parent); have >= Read && !rule.Only {
			// p is named, or it would be readable too: nothing covers its parent.
			return Decision{Allow: true, Reason: Seen, Rule: rule}
		}
	}
	out.Depends |= d.seenThrough(p)
	return out
}

// seenThrough lists the slots whose binding could make something below p
// readable, or the directory that p lies in.
func (d *Decider) seenThrough(p Path) RootSet {
	reads := func(s Root) bool { return d.gives(s, false, Read) }
	var out RootSet
	if parent, ok := p.Parent(); !ok || d.lookup(parent) == nil {
		out |= dependsEarlier(p, reads)
	}
	later := laterRoots(p, reads)
	if later != 0 && inSystemTree(p) && !p.IsRoot() {
		return out
	}
	return out | later
}

// rename decides about a name: it needs write, and nothing may hold it.
func (d *Decider) rename(p Path) Decision {
	out := d.level(p, Write)
	if !out.Allow {
		return out
	}
	if d.held(p) {
		return Decision{Reason: ByHeld, Rule: out.Rule}
	}
	// What is bound below p holds p.
	later := laterRoots(p, func(s Root) bool { return d.levels[s] != 0 || d.runs[s] })
	if later != 0 && !inSystemTree(p) {
		out.Depends |= later
	}
	return out
}

// held reports whether a rule names p or, inside a write, something below it.
func (d *Decider) held(p Path) bool {
	n := d.nodes[p]
	return n.file != nil || n.execute != nil || n.below
}

// executes is the rule that lets p start, if it can be read.
func (d *Decider) executes(p Path) *ExecuteRule {
	for q, ok := p, true; ok; q, ok = q.Parent() {
		if r := d.nodes[q].execute; r != nil && (!r.Only || q == p) {
			return r
		}
	}
	if r := d.nodes[Path{}].execute; r != nil && !r.Only && p.root != Host {
		return r
	}
	return nil
}

// run needs p to be readable and covered by an execute rule. Execution only adds,
// so rules of every root count.
func (d *Decider) run(p Path) Decision {
	read := d.level(p, Read)
	starts := Decision{Allow: true, Reason: ByExecute}
	if rule := d.executes(p); rule != nil {
		starts.Rule = rule
	} else {
		runs := func(s Root) bool { return d.runs[s] }
		starts = Decision{Reason: NotExecutable, Rule: read.Rule, Depends: d.dependsLater(p, runs) | dependsEarlier(p, runs)}
	}
	return both(read, starts)
}

func (d *Decider) connectUnix(p Path) Decision {
	if !d.unix.Visible {
		out := Decision{Reason: NoSockets}
		if d.unix.Origin != "" {
			out.Rule = &d.unix
		}
		return out
	}
	return d.level(p, Read)
}
