package diff

import (
	"maps"
	"slices"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
)

// Request paths are compared as languages (O8): a path that one list of rules allows
// and the other does not is looked for in the product of the automata of all their
// patterns, shortest first, among paths in canonical form alone.

// mostStates bounds the search. Past it the answer is unknown, which counts as
// widened. Tests lower it.
var mostStates = 20_000

// requestRules are the patterns of rules about one method: a path is allowed that one
// of allow matches and none of deny.
type requestRules struct{ allow, deny []ir.PathPattern }

func (r requestRules) allows(path string) bool {
	matches := func(p ir.PathPattern) bool { return p.Matches(path) }
	return slices.ContainsFunc(r.allow, matches) && !slices.ContainsFunc(r.deny, matches)
}

// beyond is a path that r allows and other does not, "" when there is none; known is
// false when the search was given up.
func (r requestRules) beyond(other requestRules) (path string, known bool) {
	m := newMachines(slices.Concat(r.allow, r.deny, other.allow, other.deny))
	type visited struct {
		state  within
		from   int
		symbol string
	}
	start := m.start()
	list, seen := []visited{{start, -1, "/"}}, map[string]bool{start.key(): true}
	spelt := func(at int) string {
		var symbols []string
		for ; at >= 0; at = list[at].from {
			symbols = append(symbols, list[at].symbol)
		}
		slices.Reverse(symbols)
		return strings.Join(symbols, "")
	}
	for at := 0; at < len(list); at++ {
		if list[at].state.mayEnd() {
			if path := spelt(at); r.allows(path) && !other.allows(path) {
				return path, true
			}
		}
		for _, symbol := range m.symbols {
			next, ok := m.step(list[at].state, symbol)
			if !ok || seen[next.key()] {
				continue
			}
			if len(list) == mostStates {
				return "", false
			}
			seen[next.key()] = true
			list = append(list, visited{next, at, symbol})
		}
	}
	return "", true
}

// machines are the automata of several patterns. A position is a place in a pattern:
// before a symbol of a segment, at its end, or inside of "**".
type machines struct {
	positions []position
	starts    []int // by pattern: its first segment
	segments  []segment
	symbols   []string // one that no pattern names, "/", and every one that some pattern does
}

// segment is one segment of a pattern; next is the one behind it, -1 where the pattern
// ends.
type segment struct {
	any   bool // "**"
	first int  // its first position
	next  int
}

type position struct {
	segment int
	symbol  string // "*" for any symbols of the segment, "" at the segment's end
	inside  bool   // of "**"
}

func newMachines(patterns []ir.PathPattern) *machines {
	m := &machines{}
	named := map[string]bool{}
	for _, p := range patterns {
		m.starts = append(m.starts, len(m.segments))
		parts := strings.Split(string(p[1:]), "/")
		for i, part := range parts {
			s := segment{any: part == "**", first: len(m.positions), next: len(m.segments) + 1}
			if i == len(parts)-1 {
				s.next = -1
			}
			if s.any {
				m.positions = append(m.positions, position{segment: len(m.segments), inside: true})
			} else {
				for _, symbol := range symbolsOf(part) {
					m.positions = append(m.positions, position{segment: len(m.segments), symbol: symbol})
					named[symbol] = true
				}
				m.positions = append(m.positions, position{segment: len(m.segments)})
			}
			m.segments = append(m.segments, s)
		}
	}
	delete(named, "*")
	// What no pattern names comes first: a witness of it says that any would do.
	m.symbols = append([]string{unnamedSymbol(named), "/"}, slices.Sorted(maps.Keys(named))...)
	return m
}

// symbolsOf are the characters of a segment, an encoded one as a whole.
func symbolsOf(part string) []string {
	var out []string
	for len(part) > 0 {
		n := 1
		if part[0] == '%' {
			n = 3
		}
		out, part = append(out, part[:n]), part[n:]
	}
	return out
}

func unnamedSymbol(named map[string]bool) string {
	for c := 'z'; c >= 'a'; c-- {
		if !named[string(c)] {
			return string(c)
		}
	}
	const hex = "0123456789ABCDEF"
	for i := 0x80; i < 0x100; i++ {
		if s := "%" + hex[i>>4:i>>4+1] + hex[i&15:i&15+1]; !named[s] {
			return s
		}
	}
	return "~"
}

// within is where all patterns are, and what the segment is so far that a path is in:
// canonical paths have no empty segment but the last, and none that is "." or "..".
type within struct {
	at  []int // positions, in order
	dot int8  // 0 empty, 1 ".", 2 "..", 3 anything else
}

func (s within) mayEnd() bool { return s.dot != 1 && s.dot != 2 }

func (s within) key() string {
	b := make([]byte, 0, 2*len(s.at)+1)
	for _, p := range s.at {
		b = append(b, byte(p), byte(p>>8))
	}
	return string(append(b, byte(s.dot)))
}

func (m *machines) start() within {
	set := map[int]bool{}
	for _, s := range m.starts {
		m.enter(set, s)
	}
	return within{at: sortedSet(set)}
}

// enter adds where a path may be at the beginning of a segment that pattern segment s
// is next for.
func (m *machines) enter(set map[int]bool, s int) {
	for s >= 0 {
		if m.segments[s].any {
			set[m.segments[s].first] = true
			s = m.segments[s].next // it may stand for no segment
			continue
		}
		m.add(set, m.segments[s].first)
		return
	}
}

// add adds a position and those behind each "*" that may stand for nothing.
func (m *machines) add(set map[int]bool, p int) {
	set[p] = true
	for m.positions[p].symbol == "*" {
		p++
		set[p] = true
	}
}

// step is the state after one more symbol; false where no canonical path goes on so.
func (m *machines) step(s within, symbol string) (within, bool) {
	set := map[int]bool{}
	if symbol == "/" {
		if s.dot != 3 {
			return within{}, false
		}
		for _, at := range s.at {
			switch p := m.positions[at]; {
			case p.inside:
				m.enter(set, p.segment)
			case p.symbol == "":
				m.enter(set, m.segments[p.segment].next)
			}
		}
		return within{at: sortedSet(set)}, true
	}
	for _, at := range s.at {
		switch p := m.positions[at]; {
		case p.inside:
			set[at] = true
		case p.symbol == "*":
			m.add(set, at)
		case p.symbol == symbol:
			m.add(set, at+1)
		}
	}
	dot := int8(3)
	if symbol == "." && s.dot < 2 {
		dot = s.dot + 1
	}
	return within{at: sortedSet(set), dot: dot}, true
}

func sortedSet(set map[int]bool) []int {
	out := make([]int, 0, len(set))
	for p := range set {
		out = append(out, p)
	}
	slices.Sort(out)
	return out
}
