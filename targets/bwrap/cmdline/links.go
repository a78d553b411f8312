package cmdline

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/obspc/obspc/lang/diag"
)

// visible tells whether nothing was mounted over layer i later.
func (c *Command) visible(i int) State {
	certain, hiders := c.hiders(i)
	switch {
	case certain:
		return No
	case len(hiders) > 0:
		return Maybe
	}
	return Yes
}

// hiders are the facts under which a later mount lies over layer i; certain, when one
// does in any case.
func (c *Command) hiders(i int) (certain bool, out []fact) {
	for j := i + 1; j < len(c.layers); j++ {
		l := &c.layers[j]
		covered := covers(l.dest, c.layers[i].dest)
		switch {
		case !l.mounted() || l.kind == Unread || covered == No:
		case covered == Yes && !l.try():
			return true, nil
		case len(out) < maxStandings:
			out = append(out, c.unknown(j, c.layers[i].dest, covered))
		}
	}
	return false, out
}

// way is where a path leads over links of bwrap's own, if the facts are so.
type way struct {
	path  string
	facts []fact
	past  []int // links that are hidden
	links []int // links that were followed
	// outside: one of them leads to an absolute path, or to one that is not known.
	outside bool
	ended   bool // by more links than the kernel follows
	unsure  bool // by more ways than are told apart
}

// maxLinks is how many links the kernel follows (path_resolution(7)).
const maxLinks = 40

// ways follows links on the way to p, and one at p itself if last is set. A link that
// may be hidden is followed and not followed.
func (c *Command) ways(p string, last bool) []way {
	open, out := []way{{path: p}}, []way(nil)
	for len(open) > 0 {
		w := open[0]
		open = open[1:]
		at, next, found := c.through(w, last)
		w.ended = found && len(w.links) == maxLinks
		w.unsure = found && len(out)+len(open) > maxStandings
		if !found || w.ended || w.unsure {
			out = append(out, w)
			continue
		}
		_, hiders := c.hiders(at)
		for _, f := range hiders {
			hidden := append(slices.Clone(w.facts), f)
			if !contradicts(w.facts, []fact{f}) {
				other := w
				other.facts, other.past = hidden, append(slices.Clone(w.past), at)
				open = append(open, other)
			}
			f.holds = false
			w.facts = append(slices.Clone(w.facts), f)
		}
		if !contradicts(w.facts, w.facts) {
			w.path, w.links = next, append(slices.Clone(w.links), at)
			to := c.layers[at].target
			w.outside = w.outside || strings.HasPrefix(to, "/") || strings.HasPrefix(to, "${")
			open = slices.Insert(open, 0, w)
		}
	}
	return out
}

// through follows the first link on a way.
func (c *Command) through(w way, last bool) (at int, next string, found bool) {
	up := upward(w.path)
	for i := len(up) - 1; i >= 0; i-- {
		at, is := c.links[up[i]]
		if !is || i == 0 && !last || slices.Contains(w.past, at) || c.visible(at) == No {
			continue
		}
		to := c.layers[at].target
		if !strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "${") {
			dir, _ := parent(up[i])
			to = path.Join(dir, to)
		}
		return at, join(place(to), below(up[i], w.path)), true
	}
	return 0, "", false
}

// resolve is where a path leads if nothing hides a link by chance.
func (c *Command) resolve(p string, last bool) string { return c.ways(p, last)[0].path }

// places lists where p may lie: links followed, and on which layer.
func (c *Command) places(p string, last bool) []standing {
	var out []standing
	for _, w := range c.ways(p, last) {
		for _, s := range c.stands(w.path) {
			if contradicts(w.facts, s.facts) || len(out) >= maxStandings {
				continue
			}
			s.facts = joinFacts(w.facts, s.facts)
			s.ended, s.unsure = w.ended, w.unsure
			if out = append(out, s); w.ended || w.unsure {
				break // it leads nowhere, whatever lies there
			}
		}
	}
	return out
}

// reach looks at the links on the way to an operation's destination. What the set-up
// does with them differs by the release: up to 0.11 it follows them, from a root that
// is not the sandbox's, so that an absolute one leads out of it (measured with 0.8.0);
// 0.12 refuses them all.
func (c *Command) reach(op *Operation, last bool) {
	w := c.ways(op.Dest, last)[0]
	if op.links = len(w.links) > 0; !op.links || len(w.facts) > 0 {
		return
	}
	link := &c.layers[w.links[0]]
	switch {
	case w.ended:
		c.findings.Add(destinationEndless(op, link))
	case w.outside:
		c.findings.Add(destinationOutside(op, link))
	case !c.release.Before(refusesLinks):
		c.findings.Add(destinationRefused(op, link, w.path))
	case !c.dangles(w):
	case c.layers[w.links[0]].dest != op.Dest || slices.Contains(mountsOnDirectories, op.Option):
		c.findings.Add(destinationDangles(op, link))
	default:
		op.dangles = true
	}
}

// mountsOnDirectories are operations that need a directory at the end of a link. Of the
// others, --dir makes nothing there, and those about files make the file.
var mountsOnDirectories = []string{"--tmpfs", "--proc", "--dev", "--mqueue", "--overlay", "--tmp-overlay", "--ro-overlay", "--remount-ro", "--chmod"}

// refusesLinks is the first release that takes no link on the way to a destination.
var refusesLinks = Version{0, 12, 0}

// dangles tells that the last link on a way leads to what is not there: nothing makes it.
func (c *Command) dangles(w way) bool {
	l := &c.layers[w.links[len(w.links)-1]]
	dir, _ := parent(l.dest)
	to := place(path.Join(dir, l.target))
	s := c.stands(to)
	return len(s) == 1 && c.layers[s[0].layer].memory() && c.node(s[0].layer, to).exists == No
}

func behindLink(op *Operation, link *layer, what, help string) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Error, Code: "destination-behind-link", At: op.DestAt,
		Message: fmt.Sprintf("the link %s is on the way to %s, and %s", link.dest, op.Dest, what),
		Help:    help,
		Related: related(link.op, "the link"),
	}
}

// destinationEndless reports links that lead in a circle.
func destinationEndless(op *Operation, link *layer) diag.Diagnostic {
	return behindLink(op, link, fmt.Sprintf("more than %d links follow: the set-up fails (ELOOP)", maxLinks), "name the destination without links")
}

// destinationOutside reports a link that the set-up follows out of the sandbox.
func destinationOutside(op *Operation, link *layer) diag.Diagnostic {
	return behindLink(op, link, "the set-up does not follow absolute links inside the sandbox: it fails, or mounts where the command never looks",
		"name the destination without links")
}

// destinationRefused reports a link that the release takes at no destination.
func destinationRefused(op *Operation, link *layer, to string) diag.Diagnostic {
	return behindLink(op, link, fmt.Sprintf("bubblewrap %s and newer refuse that: the set-up fails", refusesLinks), "name the destination without links: "+to)
}

// destinationDangles reports a link to what nothing made.
func destinationDangles(op *Operation, link *layer) diag.Diagnostic {
	return behindLink(op, link, "nothing is where it leads: the set-up fails", "make the directory first, with --dir")
}
