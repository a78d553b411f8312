package cmdline

import (
	"slices"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang/diag"
)

// Answer is a decision, how it came about and what it rests on.
type Answer struct {
	Decision Decision
	Because  string
	// By is the operation whose mount decides; nil where none does.
	By *Operation
	// Host is the host's path behind the request's, "" when there is none.
	Host string
	// Assumes is what has to be so for the answer to hold.
	Assumes []string
	// Unknown is what an undecided answer depends on.
	Unknown []string
	// Cases are the answers by what is unknown, if there are several.
	Cases []Case
}

// Case is one answer and the facts under which it is right.
type Case struct {
	If       []string
	Decision Decision
	Because  string
	By       *Operation
	Host     string

	assumes, unknown []string
	coincidences     int
}

// Decide answers a request of the command in the sandbox. Paths are those inside.
func (c *Command) Decide(r ir.Request) Answer {
	var cases []Case
	switch r.Kind {
	case ir.ConnectRequest:
		cases = []Case{c.connect(r)}
	case ir.CreateRequest:
		cases = c.about(names, c.places(r.Path.String(), false), false)
	case ir.RemoveRequest:
		cases = c.remove(c.places(r.Path.String(), false))
	case ir.RenameRequest:
		cases = c.pair(names, r)
	case ir.LinkRequest:
		cases = c.pair(writes, r)
	default:
		a, known := acts[r.Kind]
		if !known {
			diag.Bug("no act for the request %q", r.Kind)
		}
		cases = c.about(a, c.places(r.Path.String(), true), true)
	}
	return c.answer(r.Kind, cases)
}

// acts are the words about what exists at one path.
var acts = map[ir.RequestKind]act{
	ir.ReadRequest: reads, ir.ListRequest: lists, ir.StatRequest: stats, ir.WriteRequest: writes,
	ir.ExecuteRequest: executes, ir.ConnectUnixRequest: connects,
}

// about judges an act on one path in every case. exists: the request is about what is
// there.
func (c *Command) about(a act, places []standing, exists bool) []Case {
	var out []Case
	for _, s := range places {
		if exists && len(places) > 1 && (!s.real() || len(out) > 0 && c.absent(s)) {
			continue
		}
		out = append(out, c.inCase(c.access(a, s.path, s), s))
	}
	return out
}

// absent reports whether nothing is there because the host lacks what would be mounted
// over it. A request about what exists is not about that case.
func (c *Command) absent(s standing) bool {
	lacks := slices.ContainsFunc(s.facts, func(f fact) bool { return !f.holds && f.host != "" })
	return lacks && c.layers[s.layer].memory() && c.node(s.layer, s.path).exists == No
}

func (c *Command) inCase(v verdict, s standing) Case {
	out := Case{Decision: v.decision, Because: v.because, By: c.layers[s.layer].op, assumes: v.assumes, unknown: v.unknown, Host: s.host}
	for _, f := range s.facts {
		text := f.text
		switch {
		case !f.holds:
			text = "not: " + text
		case f.lies:
			out.coincidences++
		}
		out.If = append(out.If, text)
	}
	return out
}

// remove: a directory with a mount below it is never empty.
func (c *Command) remove(places []standing) []Case {
	var out []Case
	for _, s := range places {
		if len(places) > 1 && !s.real() {
			continue
		}
		v := c.access(names, s.path, s)
		if d := c.mountBelow(s.path, s.layer); d != "" && v.decision == Allow {
			v = deny("%s is mounted below it, so it cannot be emptied", d)
		}
		out = append(out, c.inCase(v, s))
	}
	return out
}

// pair judges rename and link: first is what is done with the old name. Neither
// connects two mounts (EXDEV), not even of one file system.
func (c *Command) pair(first act, r ir.Request) []Case {
	var out []Case
	for _, s := range c.places(r.Path.String(), false) {
		for _, t := range c.places(r.To.String(), false) {
			if len(out) > 0 && (!s.real() || contradicts(s.facts, t.facts) || len(out) == maxStandings) {
				continue
			}
			at := s
			v := c.access(first, s.path, s)
			if v.decision == Allow {
				w := c.access(names, t.path, t)
				w.assumes = append(slices.Clone(v.assumes), w.assumes...)
				v, at = w, t
				at.host = s.host
			}
			if v.decision == Allow && s.layer != t.layer {
				v = deny("%s and %s lie on different mounts (EXDEV)", s.path, t.path)
			}
			at.facts = joinFacts(s.facts, t.facts)
			out = append(out, c.inCase(v, at))
		}
	}
	return out
}

// connect: a network namespace of bwrap's has nothing but a loopback of its own.
func (c *Command) connect(r ir.Request) Case {
	local := r.Host == "localhost" || r.Addr.IsValid() && r.Addr.Unmap().IsLoopback()
	switch n := c.namespace("net"); {
	case n.State == Maybe:
		return Case{Decision: Undecided, Because: "the network namespace is " + n.Note, unknown: []string{"what that network namespace reaches"}}
	case n.State == Yes && local:
		return Case{Decision: Deny, Because: "the loopback is the sandbox's own: nothing of the host listens there"}
	case n.State == Yes:
		return Case{Decision: Deny, Because: "the network namespace is the sandbox's own and has nothing but a loopback"}
	}
	return Case{Decision: Allow, Because: "the network is the host's", assumes: []string{"the host reaches it"}}
}

// answer joins the cases.
func (c *Command) answer(word ir.RequestKind, cases []Case) Answer {
	if len(cases) == 0 {
		diag.Bug("no case for a request")
	}
	first := plainest(cases)
	a := Answer{Decision: first.Decision, Because: first.Because, By: first.By, Host: first.Host, Assumes: c.restsOn(word, first), Unknown: first.unknown}
	decided, alike := true, true
	for _, k := range cases {
		decided = decided && k.Decision == first.Decision
		alike = alike && (k.Decision == Deny || k.Host == first.Host || k.coincidences > 0 && !word.Changes())
	}
	switch {
	case decided && alike:
		return a
	case decided:
		a.Because, a.By, a.Host = "of one file or another, by what is not known", nil, ""
	default:
		a = Answer{Decision: Undecided, Because: "it depends on what is not known"}
	}
	a.Cases = cases
	for _, k := range cases {
		for _, f := range k.If {
			a.Unknown = append(a.Unknown, "whether "+strings.TrimPrefix(f, "not: "))
		}
		a.Unknown = append(a.Unknown, k.unknown...)
	}
	a.Unknown = unique(a.Unknown)
	return a
}

// plainest is the case that needs the fewest coincidences: no unknown path leads over
// the one that is asked about.
func plainest(cases []Case) Case {
	return slices.MinFunc(cases, func(a, b Case) int { return a.coincidences - b.coincidences })
}

// restsOn is what an answer assumes beside what its mount says.
func (c *Command) restsOn(word ir.RequestKind, k Case) []string {
	out := slices.Clone(k.assumes)
	switch {
	case k.Decision == Allow && k.Host != "":
		out = append(out, "no link of the host leads elsewhere on the way")
	case k.Decision == Deny && word != ir.ConnectRequest && k.By != nil:
		switch admin := "CAP_SYS_ADMIN"; {
		case c.Capabilities.User.Has(admin):
			out = append(out, "the command does not undo mounts, which its "+admin+" lets it")
		case c.Capabilities.Root.Has(admin):
			out = append(out, "the caller is not root, who would keep "+admin+" and could undo mounts")
		}
	}
	if k.Decision != Undecided && k.By != nil && k.By.links && c.release == (Version{}) {
		out = append(out, "the bubblewrap is older than "+refusesLinks.String()+", which refuses a destination behind a link")
	}
	if k.Decision == Allow && len(c.Seccomp) > 0 {
		out = append(out, "the seccomp filter of descriptor "+strings.Join(c.Seccomp, ", ")+" lets it through")
	}
	return unique(out)
}

// unique is a list without what it says twice.
func unique(list []string) []string {
	var out []string
	for _, text := range list {
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}
