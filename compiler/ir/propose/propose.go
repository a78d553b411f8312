// Package propose turns accesses that a policy denied into the narrowest lines that
// would allow them: what `exec --trace` saw becomes what an author may add. Its one
// rule: it proposes and never decides. Every line is tried on the policy before it
// is shown; what an author denied, what is known to hold secrets or to decide about later
// programs (secrets.go), and what nobody knows in a home directory (home.go), is listed
// and never proposed.
//
// What failed is seen in runtime/trace, what the answer is comes from compiler/ir.
package propose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
)

// Access is one access that failed, as often as Count says. The request's paths are
// absolute.
type Access struct {
	Request ir.Request
	Program string // the path of the program inside, "" when it was gone
	Errno   string // such as "EACCES"
	Count   int
	Machine Machine
}

// Machine is what the access would have met outside the sandbox.
type Machine struct {
	// Missing: there is nothing, or no directory to make it in.
	Missing bool
	// Refused: modes or the file system refuse this caller outside too.
	Refused bool
	// There: what is to be made is there already.
	There bool
	// Directory: the request's path is one.
	Directory bool
	// Real is where the request's path leads through links, the zero Path when there
	// are none on the way.
	Real ir.Path
}

// Setting is the policy that denied.
type Setting struct {
	Policy *ir.Policy // as released: slots symbolic
	// Binding binds the slots that the policy uses, and others that an author could
	// use.
	Binding ir.Binding
	// Homes is where the caller's home directory is, whether or not a slot may be bound
	// to it.
	Homes []ir.Path
	// Keeps says why the targets could not keep a policy, nil when they can.
	Keeps func(*ir.Policy) error
}

// Finding is a denied access, what denied it, and what would allow it: either Add,
// or the reason why nothing is proposed.
type Finding struct {
	Access
	Decision ir.Decision
	Add      []Addition
	Withheld string
}

// Addition is one element of a list of the policy's filesystem block, or an
// endpoint. Instead is the list that the policy has the path in now, "" for none. Into
// is the endpoint of the policy that Endpoint's ports and rules are added to, nil where
// it is a new one.
type Addition struct {
	List     string // read, write, execute; "" for an endpoint
	Path     ir.Path
	Only     bool
	Instead  string
	Endpoint *ir.Endpoint
	Into     *ir.Endpoint
}

// proposer is a setting, indexed.
type proposer struct {
	Setting
	bound   *ir.Policy
	decider *ir.Decider
	homes   []ir.Path         // those that are known, never "/"
	called  map[string]string // of new endpoints, by what makes them one
}

// For finds what the policy denies among the accesses, in the order of requests.
// The error is that of a binding which is not admissible.
func For(s Setting, list []Access) ([]Finding, error) {
	p, err := newProposer(s)
	if err != nil {
		return nil, err
	}
	var out []Finding
	for _, a := range list {
		if d := p.decider.Decide(a.Request); !d.Allow {
			out = append(out, p.finding(a, d))
		}
	}
	slices.SortStableFunc(out, func(a, b Finding) int { return compare(a.Access, b.Access) })
	p.beside(out)
	p.keep(out)
	return out, nil
}

func newProposer(s Setting) (*proposer, error) {
	bound, err := s.Policy.Bind(s.Binding)
	if err != nil {
		return nil, err
	}
	p := &proposer{Setting: s, bound: bound, decider: ir.NewDecider(bound)}
	slot, _ := s.Binding.At(ir.Home)
	p.homes = slices.DeleteFunc(append(slices.Clone(s.Homes), slot), ir.Path.IsRoot)
	return p, nil
}

// beside withholds what would not compile beside what is proposed before it.
func (p *proposer) beside(list []Finding) {
	fits := func(list []Finding) error { return Compiles(With(p.Policy, Merge(list))) }
	whole := fits(list)
	for i := range list {
		if whole == nil || len(list[i].Add) == 0 {
			continue
		}
		if err := fits(list[:i+1]); err != nil {
			list[i].Add, list[i].Withheld = nil, "it could not be said beside what is proposed for others: "+err.Error()
		}
	}
}

// compare orders accesses by path, then by word.
func compare(a, b Access) int {
	return slices.Compare(
		[]string{a.Request.Path.String(), string(a.Request.Kind), a.Request.String(), a.Program, a.Errno},
		[]string{b.Request.Path.String(), string(b.Request.Kind), b.Request.String(), b.Program, b.Errno})
}

func (p *proposer) finding(a Access, d ir.Decision) Finding {
	d.Rule = p.released(d.Rule)
	f := Finding{Access: a, Decision: d}
	if a.Machine.Missing {
		f.Withheld = "this machine has no such thing either"
		return f
	}
	if a.Request.Kind == ir.ConnectRequest || a.Request.Kind == ir.URLRequest {
		p.network(&f)
		return f
	}
	wants := p.wants(a)
	if f.Withheld = p.withheld(a, d, wants); f.Withheld != "" {
		return f
	}
	for _, w := range wants {
		f.Add = append(f.Add, p.stated(w))
	}
	if f.Withheld = p.try(a.Request, f.Add); f.Withheld != "" {
		f.Add = nil
	}
	return f
}

// network proposes the narrowest addition for a connection or a request.
func (p *proposer) network(f *Finding) {
	if f.Withheld = p.noPeer(f.Request, f.Decision); f.Withheld != "" {
		return
	}
	list, why := p.endpoints(f.Request)
	for _, w := range list {
		if why = p.try(f.Request, []Addition{w}); why == "" {
			f.Add = []Addition{w}
			return
		}
	}
	f.Withheld = why
}

// released is a rule as the policy has it, slots symbolic.
func (p *proposer) released(rule ir.Rule) ir.Rule {
	bound, ok := rule.(*ir.FileRule)
	if !ok {
		return rule
	}
	for i := range p.Policy.Files {
		if r := &p.Policy.Files[i]; r.Origin == bound.Origin && p.Binding.Path(r.Path) == bound.Path {
			return r
		}
	}
	return rule
}

// want is an addition with an absolute path.
type want = Addition

// wants are the fewest and narrowest additions that could allow a request.
func (p *proposer) wants(a Access) []want {
	r := a.Request
	switch r.Kind {
	case ir.ReadRequest, ir.ListRequest, ir.StatRequest:
		// only() of a directory gives its own names and nothing of what is in it.
		return p.reads(a, a.Machine.Directory || r.Kind == ir.ListRequest)
	case ir.ConnectUnixRequest:
		return p.reads(a, false)
	case ir.WriteRequest:
		return []want{{List: "write", Path: r.Path}}
	case ir.CreateRequest, ir.RemoveRequest:
		return p.names(r.Path)
	case ir.RenameRequest:
		return p.names(r.Path, r.To)
	case ir.LinkRequest:
		out := p.names(r.To)
		if !p.allows(ir.WriteRequest, r.Path) {
			out = append(out, want{List: "write", Path: r.Path})
		}
		return out
	case ir.ExecuteRequest:
		var out []want
		if !p.allows(ir.ReadRequest, r.Path) {
			out = p.reads(a, false)
		}
		out = append(out, want{List: "execute", Path: r.Path})
		// What is started is a file and not a name: the runtime wants it covered as well.
		if real := a.Machine.Real; !real.IsRoot() && !p.allows(ir.ExecuteRequest, real) {
			out = append(out, want{List: "execute", Path: real})
		}
		return out
	}
	return nil
}

func (p *proposer) allows(k ir.RequestKind, at ir.Path) bool {
	return p.decider.Decide(ir.Request{Kind: k, Path: at}).Allow
}

// reads lets a path be read, and what it leads to: a link is only kept where its
// target is covered. Of what holds others' files no more than the names is ever meant,
// which matters where nothing was looked up.
func (p *proposer) reads(a Access, only bool) []want {
	read := func(at ir.Path) want {
		return want{List: "read", Path: at, Only: only || p.holdsHomes(at) || at == ir.MustPath("/etc")}
	}
	out := []want{read(a.Request.Path)}
	if real := a.Machine.Real; !real.IsRoot() && !p.allows(ir.ReadRequest, real) {
		out = append(out, read(real))
	}
	return out
}

// names lets entries be made and removed: a statement about an entry would hold its
// name, so it is the directory around it that has to be written.
func (p *proposer) names(list ...ir.Path) []want {
	var out []want
	for _, at := range list {
		above, ok := at.Parent()
		w := want{List: "write", Path: above}
		if ok && !p.allows(ir.CreateRequest, at) && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// stated is an addition as the policy's author writes it: in the slot that is bound
// nearest above its path, and as a change where the policy has that path already.
func (p *proposer) stated(w want) Addition {
	w.Path = Stated(p.Binding, w.Path)
	if w.Path == ir.RootPath(ir.Tmp) && w.List == "read" { // all that can be said about it
		w.List, w.Only = "write", false
	}
	for _, r := range p.Policy.Files {
		own := strings.HasPrefix(string(r.Origin), p.Policy.Name+"/")
		if r.Path == w.Path && own && w.List != "execute" && w.List != r.Level.String() {
			w.Instead = r.Level.String()
		}
	}
	return w
}

// Stated is a bound path as an author writes it: below the slot that is bound
// nearest above it, the later of two at the same place.
func Stated(b ir.Binding, at ir.Path) ir.Path {
	best, depth := at, 0
	for _, slot := range []ir.Root{ir.Home, ir.Tmp, ir.Workspace} {
		root, ok := b.At(slot)
		if !ok || !root.Covers(at) || root.Depth() < depth {
			continue
		}
		rest := strings.TrimPrefix(at.Rel()[len(root.Rel()):], "/")
		if p, err := ir.NewPath(slot, rest); err == nil {
			best, depth = p, root.Depth()
		}
	}
	return best
}

// noLine begins the reason of what no addition would allow.
const noLine = "no line of its own would do"

// try adds lines to the policy and asks again; "" when they compile and the answer is
// yes.
func (p *proposer) try(r ir.Request, add []Addition) string {
	with := With(p.Policy, add)
	if err := Compiles(with); err != nil {
		return noLine + ": " + err.Error()
	}
	bound, err := with.Bind(p.Binding)
	if err != nil {
		return noLine + ": " + err.Error()
	}
	if !ir.Decide(bound, r).Allow {
		return noLine
	}
	return ""
}

// maxTogether is how many findings the targets are asked about at once: what a proof
// takes grows faster than the policy.
const maxTogether = 32

// keep withholds what the targets could not keep. Asking them is what takes long, so
// many additions are asked about together, as an author may take them, and told apart
// where they are not kept.
func (p *proposer) keep(list []Finding) {
	if p.Keeps == nil {
		return
	}
	var some []*Finding
	for i := range list {
		if len(list[i].Add) > 0 {
			some = append(some, &list[i])
		}
	}
	for part := range slices.Chunk(some, maxTogether) {
		p.keepPart(part)
	}
}

func (p *proposer) keepPart(list []*Finding) {
	err := p.Keeps(With(p.Policy, together(list)))
	switch {
	case err == nil:
	case len(list) == 1:
		list[0].Add, list[0].Withheld = nil, noLine+": "+err.Error()
	default:
		p.keepPart(list[:len(list)/2])
		p.keepPart(list[len(list)/2:])
	}
}

// together is the additions of all: of two about one path, the wider.
func together(list []*Finding) []Addition {
	var out, writes []Addition
	for _, f := range list {
		for _, a := range f.Add {
			switch {
			case a.Endpoint != nil:
				out = mergeEndpoint(out, a)
			case a.List == "write":
				writes = append(writes, a)
			default:
				out = append(out, a)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Addition) int { return narrow(b) - narrow(a) })
	return append(out, writes...)
}

func narrow(a Addition) int {
	if a.Only {
		return 1
	}
	return 0
}

// Compiles says why the compiler would refuse a policy with additions, nil when it
// would not. Beside what ir.Check holds of every policy: a path under two spellings is
// one file on macOS, and an optional read inside a write protects nothing that is
// missing.
func Compiles(with *ir.Policy) error {
	if err := with.Check(); err != nil {
		return err
	}
	spelt := map[string]ir.Path{}
	files := map[ir.Path]*ir.FileRule{}
	for i := range with.Files {
		r := &with.Files[i]
		files[r.Path] = r
		if err := twins(spelt, r.Path); err != nil {
			return err
		}
	}
	for _, r := range with.Execute {
		if err := twins(spelt, r.Path); err != nil {
			return err
		}
	}
	for _, r := range with.Files {
		if !r.Optional || r.Level != ir.Read || r.Path.Root() == ir.Config {
			continue
		}
		for q, ok := r.Path.Parent(); ok; q, ok = q.Parent() {
			if around := files[q]; around != nil && !around.Only {
				if around.Level == ir.Write {
					return fmt.Errorf("the optional read of %s would lie inside a write, and protect it only while it is there", r.Path)
				}
				break
			}
		}
	}
	return nil
}

// twins reports a path that differs by case alone from one before it.
func twins(spelt map[string]ir.Path, at ir.Path) error {
	key := at.Root().String() + " " + strings.ToLower(strings.ToUpper(at.Rel()))
	if have, ok := spelt[key]; ok && have != at {
		return fmt.Errorf("%s and %s differ by case alone, and macOS may take them for one file", have, at)
	}
	spelt[key] = at
	return nil
}

// Proposed is the origin of what was added.
const Proposed ir.Origin = "proposed"

// levels are those of the lists.
var levels = map[string]ir.Level{"deny": ir.Deny, "read": ir.Read, "write": ir.Write}

// tmpSize is the capacity of a tmp slot: the policy's limit, or what the compiler gives
// one without.
func tmpSize(p *ir.Policy) int64 {
	if n, ok := p.Limit(ir.TmpSize); ok {
		return n
	}
	return 256 << 20
}

// With is the policy with additions. A statement about the same path gives way.
func With(p *ir.Policy, add []Addition) *ir.Policy {
	q := *p
	q.Files, q.Execute, q.Endpoints = slices.Clone(p.Files), slices.Clone(p.Execute), slices.Clone(p.Endpoints)
	for _, a := range add {
		switch {
		case a.Into != nil:
			for i := range q.Endpoints {
				if e := &q.Endpoints[i]; e.Name == a.Into.Name {
					*e = joined(*e, *a.Endpoint)
				}
			}
		case a.Endpoint != nil:
			q.Endpoints = append(q.Endpoints, *a.Endpoint)
		case a.List == "execute":
			q.Execute = slices.DeleteFunc(q.Execute, func(r ir.ExecuteRule) bool { return r.Path == a.Path })
			q.Execute = append(q.Execute, ir.ExecuteRule{Path: a.Path, Only: a.Only, Origin: Proposed})
		default:
			r := ir.FileRule{Path: a.Path, Level: levels[a.List], Only: a.Only, Origin: Proposed}
			if a.Path == ir.RootPath(ir.Tmp) {
				r.Backing, r.Size = ir.TmpFS, tmpSize(p)
			}
			q.Files = slices.DeleteFunc(q.Files, func(r ir.FileRule) bool { return r.Path == a.Path })
			q.Files = append(q.Files, r)
		}
	}
	slices.SortFunc(q.Files, func(a, b ir.FileRule) int { return a.Path.Compare(b.Path) })
	slices.SortFunc(q.Execute, func(a, b ir.ExecuteRule) int { return a.Path.Compare(b.Path) })
	slices.SortFunc(q.Endpoints, func(a, b ir.Endpoint) int { return strings.Compare(a.Name, b.Name) })
	return &q
}
