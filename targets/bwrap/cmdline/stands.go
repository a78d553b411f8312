package cmdline

import (
	"fmt"
	"slices"
)

// fact is what is not known and decides which layer a path lies on.
type fact struct {
	text  string
	holds bool
	host  string // what exists on the host if it holds
	lies  bool   // it is about where an unknown path lies
	layer int
	path  string // of which layer's path lies over it
}

// standing is the layer that a path lies on if the facts are so.
type standing struct {
	path  string
	layer int
	facts []fact
	host  string // the host's path behind the path

	ended, unsure bool // of the way that leads here
}

// maxStandings bounds how many unknown mounts over one path are told apart.
const maxStandings = 64

// stands lists the layers that p may lie on: the last mount that covers it decides,
// whatever was mounted before, because later mounts hide earlier ones at and below
// their own path.
func (c *Command) stands(p string) []standing {
	var out []standing
	var not []fact
	for i := len(c.layers) - 1; i >= 0; i-- {
		l := &c.layers[i]
		covered := covers(l.dest, p)
		if !l.mounted() || covered == No {
			continue
		}
		s := standing{path: p, layer: i, facts: slices.Clone(not), host: l.hostPath(p)}
		if covered == Yes && !l.try() || len(out) == maxStandings {
			return append(out, s)
		}
		f := c.unknown(i, p, covered)
		s.facts = append(s.facts, f)
		out = append(out, s)
		f.holds = false
		not = append(not, f)
	}
	return out
}

// hostPath is the host's path behind p.
func (l *layer) hostPath(p string) string {
	if l.source == "" {
		return ""
	}
	return join(l.source, below(l.dest, p))
}

// unknown is the fact that decides whether p lies on layer l.
func (c *Command) unknown(i int, p string, covered State) fact {
	l := &c.layers[i]
	f := fact{holds: true, layer: i}
	if l.try() {
		f.host, f.text = l.source, "the host has "+l.source
	}
	if covered == Maybe {
		lies := fmt.Sprintf("%s lies at or below %s", p, l.dest)
		if f.text != "" {
			lies = f.text + " and " + lies
			f.host = ""
		}
		f.text, f.lies, f.path = lies, true, p
	}
	return f
}

// contradicts reports whether two standings cannot be at once.
func contradicts(a, b []fact) bool {
	for _, f := range a {
		for _, g := range b {
			if f.text == g.text && f.holds != g.holds {
				return true
			}
			if f.layer != g.layer || !f.lies || !g.lies {
				continue
			}
			// What lies over a directory lies over all in it.
			if f.holds && !g.holds && covers(f.path, g.path) == Yes || g.holds && !f.holds && covers(g.path, f.path) == Yes {
				return true
			}
		}
	}
	return false
}

func joinFacts(a, b []fact) []fact {
	out := slices.Clone(a)
	for _, f := range b {
		if !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}

// real reports whether a standing agrees with the host having what stands behind the
// path.
func (s standing) real() bool {
	for _, f := range s.facts {
		if !f.holds && f.host != "" && s.host != "" && covers(f.host, s.host) == Yes {
			return false
		}
	}
	return true
}
