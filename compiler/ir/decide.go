package ir

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

// Decide answers one request.
func (d *Decider) Decide(r Request) Decision {
	switch r.Kind {
	case RenameRequest:
		return both(d.At(r.Path).rename(), d.At(r.To).rename())
	case LinkRequest:
		return both(d.At(r.Path).level(Write), d.At(r.To).rename())
	case ConnectRequest:
		return d.connect(r)
	case URLRequest:
		return d.request(r)
	case SyscallRequest:
		return d.syscall(r.Syscall)
	}
	return d.At(r.Path).Decide(r.Kind)
}

// Decide answers a request of that kind about the point's path and nothing else.
func (at Point) Decide(kind RequestKind) Decision {
	switch kind {
	case ReadRequest, ListRequest:
		return at.level(Read)
	case WriteRequest:
		return at.level(Write)
	case StatRequest:
		return at.stat()
	case CreateRequest, RemoveRequest:
		return at.rename()
	case ExecuteRequest:
		return at.run()
	case ConnectUnixRequest:
		return at.connectUnix()
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

// level decides whether the path has at least the level want.
func (at Point) level(want Level) Decision {
	have, rule := at.levelAt()
	out := Decision{Allow: have >= want, Reason: ByDefault}
	if rule != nil {
		out.Reason, out.Rule = ByLevel, rule
	}
	out.Depends = at.depends(func(s Root) bool { return at.d.gives(s, out.Allow, want) })
	return out
}

// gives reports whether some rule of root s would turn the answer allow about
// level want.
func (d *Decider) gives(s Root, allow bool, want Level) bool {
	enough := d.levels[s] >> want << want
	if allow {
		return d.levels[s] != enough
	}
	return enough != 0
}

// depends lists the slots whose binding could turn an answer about what covers
// the path, given what each root could do: a later root's rules win wherever its slot
// is bound around it; an earlier root's count when the path's own root says nothing.
func (at Point) depends(turns func(Root) bool) RootSet {
	later, earlier := at.dependsLater(turns), dependsEarlier(at.path, turns)
	if earlier != 0 && at.rule() != nil {
		earlier = 0
	}
	return later | earlier
}

// dependsLater lists the later roots that could cover the path. None covers what is
// named in the path's own root, or lies above something named there: a rule of theirs
// would stand at or above that, and no such binding is admissible.
func (at Point) dependsLater(turns func(Root) bool) RootSet {
	out := laterRoots(at.path, turns)
	if out != 0 && (inSystemTree(at.path) || at.held()) {
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
func (at Point) stat() Decision {
	out := at.level(Read)
	if out.Allow {
		return out
	}
	if at.self != nil && at.self.readable {
		out.Allow, out.Reason, out.Depends = true, Seen, 0
		return out
	}
	directory, ok := at.directory()
	if ok {
		// A directory opened by only() shows the names in it and nothing of their nodes.
		if have, rule := directory.levelAt(); have >= Read && !rule.Only {
			// The path is named, or it would be readable too: nothing covers its directory.
			return Decision{Allow: true, Reason: Seen, Rule: rule}
		}
	}
	covered := ok && directory.rule() != nil
	out.Depends |= at.seenThrough(covered)
	return out
}

// seenThrough lists the slots whose binding could make something below the path
// readable, or the directory that it lies in, unless a rule of its own root covers
// that.
func (at Point) seenThrough(covered bool) RootSet {
	reads := func(s Root) bool { return at.d.gives(s, false, Read) }
	var out RootSet
	if !covered {
		out |= dependsEarlier(at.path, reads)
	}
	later := laterRoots(at.path, reads)
	if later != 0 && inSystemTree(at.path) && !at.path.IsRoot() {
		return out
	}
	return out | later
}

// rename decides about a name: it needs write, and nothing may hold it.
func (at Point) rename() Decision {
	out := at.level(Write)
	if !out.Allow {
		return out
	}
	if at.held() {
		return Decision{Reason: ByHeld, Rule: out.Rule}
	}
	// What is bound below the path holds it.
	later := laterRoots(at.path, func(s Root) bool { return at.d.levels[s] != 0 || at.d.runs[s] })
	if later != 0 && !inSystemTree(at.path) {
		out.Depends |= later
	}
	return out
}

// held reports whether a rule names the path or, inside a write, something below it.
func (at Point) held() bool {
	n := at.self
	return n != nil && (n.file != nil || n.execute != nil || n.below)
}

// run needs the path to be readable and covered by an execute rule. Execution only
// adds, so rules of every root count.
func (at Point) run() Decision {
	read := at.level(Read)
	starts := Decision{Allow: true, Reason: ByExecute}
	if rule := at.executes(); rule != nil {
		starts.Rule = rule
	} else {
		runs := func(s Root) bool { return at.d.runs[s] }
		starts = Decision{Reason: NotExecutable, Rule: read.Rule, Depends: at.dependsLater(runs) | dependsEarlier(at.path, runs)}
	}
	return both(read, starts)
}

func (at Point) connectUnix() Decision {
	unix := &at.d.unix
	if !unix.Visible {
		out := Decision{Reason: NoSockets}
		if unix.Origin != "" {
			out.Rule = unix
		}
		return out
	}
	return at.level(Read)
}
