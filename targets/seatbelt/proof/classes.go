package proof

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/seatbelt/fragment"
)

// classes compares the answers about every class of paths on every class of
// machines (O2); of several faults it reports that of the first machine.
func (c *check) classes() error {
	machines := c.machines()
	faults := make([]error, len(machines))
	var work sync.WaitGroup
	for i, m := range machines {
		work.Go(func() { faults[i] = c.machine(m) })
	}
	work.Wait()
	return cmp.Or(faults...)
}

// trial is policy and profile on one machine.
type trial struct {
	*check
	machine machine
	means   *ir.Decider
	spelt   *ir.Decider // of the paths as the policy spells them
	asks    []answers
	starts  *fragment.Bound // what the profile lets start
	runs    cover           // what the policy's execute rules name
	hidden  map[ir.Path]bool
	roots   map[ir.Path]ir.Root // of file rules, by their bound paths

	elsewhere map[ir.Root]struct{ earlier, later bool }
}

// answers are the lists for one word, ready for questions.
type answers struct {
	word  ir.RequestKind
	lists []asked
	bound []*fragment.Bound
}

// machine compares on one machine. What lies below a node and below no child of it
// is one class, for which a name stands that nothing has.
func (c *check) machine(m machine) error {
	b := c.trial(m)
	for _, p := range b.nodes() {
		for _, q := range [...]ir.Path{p, p.Join(c.fresh)} {
			if err := b.compare(q, q != p); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *check) trial(m machine) *trial {
	spelt := ir.Policy{Files: slices.Clone(c.stated.Files)}
	for i := range spelt.Files {
		spelt.Files[i].Path = m.binding.Path(spelt.Files[i].Path)
	}
	b := &trial{
		check: c, machine: m, means: ir.NewDecider(m.policy), spelt: ir.NewDecider(&spelt), hidden: map[ir.Path]bool{}, roots: map[ir.Path]ir.Root{},
		starts: c.profile.Starting().Bind(m.binding), runs: covers(m.policy.Execute), elsewhere: elsewhere(c.policy.Execute),
	}
	for _, row := range words {
		ask := answers{word: row.word}
		for _, a := range c.lists[index(m.moved == ir.Config)] {
			if a.word == row.word {
				ask.lists, ask.bound = append(ask.lists, a), append(ask.bound, a.list.Bind(m.binding))
			}
		}
		b.asks = append(b.asks, ask)
	}
	unbound := ir.NewDecider(c.policy)
	for _, r := range c.policy.Files {
		b.roots[m.binding.Path(r.Path)] = r.Path.Root()
		if r.Level == ir.Deny && r.Path.Root() != ir.Host && !covered(unbound, r.Path) {
			b.hidden[m.binding.Path(r.Path)] = true
		}
	}
	return b
}

// covered reports whether a rule of p's own root covers the directory of p.
func covered(d *ir.Decider, p ir.Path) bool {
	parent, ok := p.Parent()
	if !ok {
		return false
	}
	rule, isFile := d.Decide(ir.Request{Kind: ir.ReadRequest, Path: parent}).Rule.(*ir.FileRule)
	return isFile && rule.Path.Root() == p.Root()
}

// nodes is the joint trie: every path that the policy or the profile names, bound,
// every path above one, and the links of macOS.
func (b *trial) nodes() []ir.Path {
	nodes := map[ir.Path]bool{}
	add := func(p ir.Path) {
		for q := range b.machine.binding.Path(p).Upward() {
			if nodes[q] {
				return
			}
			nodes[q] = true
		}
	}
	for _, p := range b.paths {
		add(p)
	}
	for _, l := range links {
		add(l.link)
	}
	slot, _ := b.machine.binding.At(b.machine.moved)
	for p := range nodes {
		if p.Root() != ir.Host || !slot.Covers(p) && !p.Covers(slot) {
			delete(nodes, p)
		}
	}
	return slices.SortedFunc(maps.Keys(nodes), ir.Path.Compare)
}

// compare holds every word about q to the policy's answer, and what the policy
// denies to be denied under every other spelling of q as well: most volumes of macOS
// ignore case. unnamed: q stands for what nothing names.
func (b *trial) compare(q ir.Path, unnamed bool) error {
	at := fragment.At(q.String())
	for _, a := range b.asks {
		request := ir.Request{Kind: a.word, Path: q}
		means := b.means.Decide(request)
		if a.word == ir.StatRequest && !means.Allow && isLink(q) {
			means = b.spelt.Decide(request) // the link itself leads to something readable
		}
		for i, list := range a.bound {
			allow, rule := list.Decide(at)
			if a.word == ir.ExecuteRequest {
				if err := b.readable(a.lists[i], q, unnamed, allow, rule); err != nil {
					return err
				}
				allow = allow && b.lets(at)
			}
			if allow != means.Allow && !(means.Allow && a.word == ir.StatRequest && b.hidden[q]) {
				return b.fault(a.lists[i], request, means, rule, "")
			}
			if means.Allow {
				continue
			}
			for other, rule := range list.Respellings(at) {
				if a.word != ir.ExecuteRequest || b.lets(fragment.At(other)) {
					return b.fault(a.lists[i], request, means, rule, ", spelt "+other)
				}
			}
		}
	}
	return nil
}

func (b *trial) fault(a asked, r ir.Request, d ir.Decision, rule *fragment.Rule, spelt string) *Fault {
	return &Fault{
		Request: &r, Decision: d, Operation: a.operation, Release: a.release, Machine: b.machine.name + spelt, Rule: rule, binding: b.machine.binding,
	}
}
