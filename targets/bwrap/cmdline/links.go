package cmdline

import (
	"path"
	"slices"
	"strings"
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
}

// maxLinks is how many links the kernel follows (path_resolution(7)).
const maxLinks = 40

// ways follows links on the way to p, and one at p itself if last is set. A link that
// may be hidden is followed and not followed.
func (c *Command) ways(p string, last bool) []way {
	open, out := []way{{path: p}}, []way(nil)
	for steps := 0; len(open) > 0; steps++ {
		w := open[0]
		open = open[1:]
		at, next, found := c.through(w, last)
		if !found || steps >= maxLinks {
			out = append(out, w)
			continue
		}
		_, hiders := c.hiders(at)
		for _, f := range hiders {
			hidden := append(slices.Clone(w.facts), f)
			if !contradicts(w.facts, []fact{f}) {
				open = append(open, way{w.path, hidden, append(slices.Clone(w.past), at)})
			}
			f.holds = false
			w.facts = append(slices.Clone(w.facts), f)
		}
		if !contradicts(w.facts, w.facts) {
			open = slices.Insert(open, 0, way{next, w.facts, w.past})
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
			out = append(out, s)
		}
	}
	return out
}
