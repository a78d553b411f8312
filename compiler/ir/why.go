package ir

import "strings"

// Chain lists the file rules that cover p, the one that decides first: within p's
// own root from the longest to the shortest, then a rule for all of "/". Of these
// only the first counts; the others are what would count without it.
func (d *Decider) Chain(p Path) []*FileRule {
	var out []*FileRule
	at := d.At(p)
	if at.self != nil && at.self.file != nil {
		out = append(out, at.self.file)
	}
	for n := at.above; n != NoNode; n = d.tree.Above(n) {
		if r := d.tree.At(n).file; r != nil && !r.Only {
			out = append(out, r)
		}
	}
	if r := d.fallback(p); r != nil {
		out = append(out, r)
	}
	return out
}

// Dimension is what of a request a rule does not meet.
type Dimension string

// The dimensions, from the one that rules differ in first to the last.
const (
	NoDimension      Dimension = ""
	PathDimension    Dimension = "path"
	LevelDimension   Dimension = "level"
	NameDimension    Dimension = "name" // the level is right, but the rule holds the name
	HostDimension    Dimension = "host"
	PortDimension    Dimension = "port"
	ProgramDimension Dimension = "program"
	CallDimension    Dimension = "call"

	MethodDimension   Dimension = "method"
	ProtocolDimension Dimension = "protocol" // the endpoint is for something else than such requests
	DeniedDimension   Dimension = "denied"   // the rule denies this very host or request
)

// Near is the rule that comes closest to allowing a request, and what of the
// request it does not meet. Rule is nil when the policy has no rule of the kind.
type Near struct {
	Rule   Rule
	Failed Dimension
}

// WhyNot finds what comes closest to allowing a request that p denies.
func WhyNot(p *Policy, r Request) Near {
	switch r.Kind {
	case ConnectRequest, URLRequest:
		return nearestWay(p, r)
	case ExecuteRequest:
		if d := NewDecider(p); d.At(r.Path).level(Read).Allow {
			return nearestExecute(p, r.Path)
		}
	case SyscallRequest:
		return Near{p.SyscallChain(r.Syscall)[0], CallDimension}
	case ConnectUnixRequest:
		if !p.Unix.Visible {
			return Near{&p.Unix, LevelDimension}
		}
	}
	d := NewDecider(p)
	for _, path := range []Path{r.Path, r.To} {
		kind := r.Kind
		if kind == RenameRequest || kind == LinkRequest {
			kind = CreateRequest
		}
		switch answer := d.Decide(Request{Kind: kind, Path: path}); {
		case answer.Allow:
			continue
		case answer.Reason == ByHeld:
			return Near{holder(p, path), NameDimension}
		}
		if _, rule := d.At(path).levelAt(); rule != nil {
			return Near{rule, LevelDimension}
		}
		return nearestFile(p, path)
	}
	return Near{}
}

// holder is a rule that holds the name of path: it names path or something below.
func holder(p *Policy, path Path) Rule {
	for i := range p.Files {
		if r := &p.Files[i]; path.Covers(r.Path) {
			return r
		}
	}
	for i := range p.Execute {
		if r := &p.Execute[i]; path.Covers(r.Path) {
			return r
		}
	}
	return nil
}

// shared is how many leading components two paths of one root have in common; -1
// for different roots.
func shared(a, b Path) int {
	if a.root != b.root {
		return -1
	}
	n := 0
	as, bs := strings.Split(a.rel, "/"), strings.Split(b.rel, "/")
	for n < len(as) && n < len(bs) && as[n] == bs[n] {
		n++
	}
	return n
}

// nearestFile is the rule that shares most of the path; of several the first, in
// the order of paths.
func nearestFile(p *Policy, path Path) Near {
	best, at, first := Near{Failed: PathDimension}, -1, Path{}
	for i := range p.Files {
		r := &p.Files[i]
		n := shared(r.Path, path)
		if r.Level > Deny && r.Backing == HostFile && (n > at || n == at && n >= 0 && r.Path.Compare(first) < 0) {
			best.Rule, at, first = r, n, r.Path
		}
	}
	return best
}

func nearestExecute(p *Policy, path Path) Near {
	best, at, first := Near{Failed: PathDimension}, -1, Path{}
	for i := range p.Execute {
		r := &p.Execute[i]
		if n := shared(r.Path, path); n > at || n == at && n >= 0 && r.Path.Compare(first) < 0 {
			best.Rule, at, first = r, n, r.Path
		}
	}
	return best
}
