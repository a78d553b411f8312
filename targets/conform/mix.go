package conform

import (
	"fmt"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
)

// Mix counts what was tried. A request counts when it proves something: it is
// carried out, or it is refused and the same attempt of the same user succeeds
// without the target.
type Mix struct {
	Policies, Refused int // runs; policies that the machine's state refuses
	Words             map[ir.RequestKind]map[Class]*Count
	Uncounted         int // requests refused that the control is refused as well
	Pipes             int // named pipes written in read-only parts of writes
}

// Count is one cell: requests that the policy allows and that it denies, and of
// the allowed ones those that the target refuses, as it declared.
type Count struct{ Allowed, Denied, Tighter int }

func (c Count) all() int { return c.Allowed + c.Denied }

// Add counts one request.
func (m *Mix) Add(word ir.RequestKind, class Class, allowed, tighter bool) {
	c := m.cell(word, class)
	switch {
	case !allowed:
		c.Denied++
		return
	case tighter:
		c.Tighter++
	}
	c.Allowed++
}

func (m *Mix) cell(word ir.RequestKind, class Class) *Count {
	if m.Words == nil {
		m.Words = map[ir.RequestKind]map[Class]*Count{}
	}
	if m.Words[word] == nil {
		m.Words[word] = map[Class]*Count{}
	}
	if m.Words[word][class] == nil {
		m.Words[word][class] = &Count{}
	}
	return m.Words[word][class]
}

// Join adds what another run counted.
func (m *Mix) Join(o *Mix) {
	m.Policies, m.Refused = m.Policies+o.Policies, m.Refused+o.Refused
	m.Uncounted, m.Pipes = m.Uncounted+o.Uncounted, m.Pipes+o.Pipes
	for word, cells := range o.Words {
		for class, c := range cells {
			sum := m.cell(word, class)
			sum.Allowed, sum.Denied, sum.Tighter = sum.Allowed+c.Allowed, sum.Denied+c.Denied, sum.Tighter+c.Tighter
		}
	}
}

func (m *Mix) sum(of func(ir.RequestKind, Class) bool) Count {
	var out Count
	for word, cells := range m.Words {
		for class, c := range cells {
			if of(word, class) {
				out.Allowed, out.Denied, out.Tighter = out.Allowed+c.Allowed, out.Denied+c.Denied, out.Tighter+c.Tighter
			}
		}
	}
	return out
}

// Requests is how many were counted.
func (m *Mix) Requests() int {
	return m.sum(func(ir.RequestKind, Class) bool { return true }).all()
}

// least is how often each word and each class has to be tried (design 10).
const least = 50

// Short lists what was tried too seldom to say anything (design 10): fewer than
// policies runs, or 50 requests a run; a word or class fewer than 50 times; less
// than a third that the policy allows; a word never allowed that some policy could
// allow, or never denied.
func (m *Mix) Short(policies int) []string {
	var out []string
	short := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	all := m.sum(func(ir.RequestKind, Class) bool { return true })
	if m.Policies < policies {
		short("%d policies were run, want %d", m.Policies, policies)
	}
	if all.all() < least*m.Policies {
		short("%d requests of %d policies, want %d of each", all.all(), m.Policies, least)
	}
	if 3*all.Allowed < all.all() {
		short("%d of %d requests are allowed, want a third", all.Allowed, all.all())
	}
	for _, word := range ir.RequestKinds() {
		c := m.sum(func(w ir.RequestKind, _ Class) bool { return w == word })
		if c.all() < least || c.Denied == 0 || c.Allowed == 0 && word != ir.ConnectRequest {
			short("%s was tried %d times, %d of them allowed", word, c.all(), c.Allowed)
		}
	}
	for _, class := range Classes() {
		c := m.sum(func(_ ir.RequestKind, have Class) bool { return have == class })
		if c.all() < least {
			short("the class %s was tried %d times, want %d", class, c.all(), least)
		}
	}
	return out
}

// String is the table of design 10: words by classes, allowed and denied.
func (m *Mix) String() string {
	var b strings.Builder
	all := m.sum(func(ir.RequestKind, Class) bool { return true })
	fmt.Fprintf(&b, "%d policies (%d more refused before a start), %d requests: %d allowed (%d of them refused as declared tighter), %d denied; %d more prove nothing, refused outside as well; %d named pipes written in a read-only part of a write\n",
		m.Policies, m.Refused, all.all(), all.Allowed, all.Tighter, all.Denied, m.Uncounted, m.Pipes)
	fmt.Fprintf(&b, "%-13s", "allowed/denied")
	for _, class := range Classes() {
		fmt.Fprintf(&b, " %13s", class)
	}
	b.WriteString("       tighter\n")
	for _, word := range ir.RequestKinds() {
		fmt.Fprintf(&b, "%-14s", word)
		for _, class := range Classes() {
			c := m.cell(word, class)
			fmt.Fprintf(&b, " %13s", fmt.Sprintf("%d/%d", c.Allowed, c.Denied))
		}
		c := m.sum(func(w ir.RequestKind, _ Class) bool { return w == word })
		fmt.Fprintf(&b, " %13d\n", c.Tighter)
	}
	return b.String()
}
