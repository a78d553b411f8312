package ir

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The oracle answers file requests about bound policies from the sentences of
// docs/design.md, 5.1, one function a sentence, over paths as text. It shares
// nothing with Decide but the types of its input.

// told is a rule as the sentences speak of it.
type told struct {
	path  string
	level string // "deny", "read", "write", "execute", or "unix" without a path
	only  bool
}

type oracle []told

func newOracle(p *Policy) oracle {
	var o oracle
	for _, r := range p.Files {
		o = append(o, told{r.Path.String(), r.Level.String(), r.Only})
	}
	for _, r := range p.Execute {
		o = append(o, told{r.Path.String(), "execute", r.Only})
	}
	if p.Unix.Visible {
		o = append(o, told{level: "unix"})
	}
	return o
}

// components of a path; of "/" there are none.
func components(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/"), func(c string) bool { return c == "" })
}

// isAncestor: by whole components.
func isAncestor(p, q string) bool {
	a, b := components(p), components(q)
	return len(a) < len(b) && slices.Equal(a, b[:len(a)])
}

// covers: "Rule p covers q if p == q or p is an ancestor of q (only(P): just P)".
func (r told) covers(q string) bool {
	return r.path == q || !r.only && isAncestor(r.path, q)
}

// levelOf: "Of the read, write and deny rules that cover a path, the longest
// decides; with none, deny."
func (o oracle) levelOf(q string) (level string, by told) {
	level, longest := "deny", -1
	for _, r := range o {
		if r.level != "execute" && r.level != "unix" && r.covers(q) && len(components(r.path)) > longest {
			level, by, longest = r.level, r, len(components(r.path))
		}
	}
	return level, by
}

func (o oracle) readable(q string) bool {
	level, _ := o.levelOf(q)
	return level == "read" || level == "write"
}

func (o oracle) writable(q string) bool {
	level, _ := o.levelOf(q)
	return level == "write"
}

// seen: "stat P is allowed if P or its directory is readable (through a rule that
// covers more than the directory itself), or something below P is".
func (o oracle) seen(q string) bool {
	if o.readable(q) {
		return true
	}
	if c := components(q); len(c) > 0 {
		directory := "/" + strings.Join(c[:len(c)-1], "/")
		if _, by := o.levelOf(directory); o.readable(directory) && !by.only {
			return true
		}
	}
	// What is readable below q is named, or lies below something named.
	return slices.ContainsFunc(o, func(r told) bool { return isAncestor(q, r.path) && o.readable(r.path) })
}

// starts: "q may be executed if it can be read and some execute rule covers it".
func (o oracle) starts(q string) bool {
	return o.readable(q) && slices.ContainsFunc(o, func(r told) bool { return r.level == "execute" && r.covers(q) })
}

// isHeld: "The name of a path is held if any rule, execute included, names it, or
// if it is an ancestor, inside a write, of a path some rule names."
func (o oracle) isHeld(q string) bool {
	return slices.ContainsFunc(o, func(r told) bool { return r.path == q || isAncestor(q, r.path) && o.writable(q) })
}

// renames: "create and remove need write and a path that is not held".
func (o oracle) renames(q string) bool { return o.writable(q) && !o.isHeld(q) }

func (o oracle) allows(r Request) bool {
	p, to := r.Path.String(), r.To.String()
	switch r.Kind {
	case ReadRequest, ListRequest:
		return o.readable(p)
	case WriteRequest:
		return o.writable(p)
	case StatRequest:
		return o.seen(p)
	case CreateRequest, RemoveRequest:
		return o.renames(p)
	case RenameRequest:
		return o.renames(p) && o.renames(to)
	case LinkRequest:
		return o.writable(p) && o.renames(to)
	case ExecuteRequest:
		return o.starts(p)
	case ConnectUnixRequest:
		return o.readable(p) && slices.ContainsFunc(o, func(r told) bool { return r.level == "unix" })
	}
	panic(r.Kind)
}

// fileWords are the words that the oracle answers.
var fileWords = []RequestKind{ReadRequest, ListRequest, WriteRequest, StatRequest, CreateRequest, RemoveRequest, RenameRequest, LinkRequest, ExecuteRequest, ConnectUnixRequest}

// mix counts what a comparison compared, so that one that says nothing fails.
type mix struct {
	asked   map[RequestKind]int
	allowed map[RequestKind]int
}

func newMix() *mix { return &mix{map[RequestKind]int{}, map[RequestKind]int{}} }

func (m *mix) count(r Request, allow bool) {
	m.asked[r.Kind]++
	if allow {
		m.allowed[r.Kind]++
	}
}

// check wants every word asked, allowed and denied 50 times, and a third of all
// requests allowed.
func (m *mix) check(t *testing.T, words []RequestKind) {
	t.Helper()
	asked, allowed := 0, 0
	for _, w := range words {
		asked, allowed = asked+m.asked[w], allowed+m.allowed[w]
		if m.allowed[w] < 50 || m.asked[w]-m.allowed[w] < 50 {
			t.Errorf("%s was asked %d times and allowed %d times, want 50 of each answer", w, m.asked[w], m.allowed[w])
		}
	}
	if 3*allowed < asked {
		t.Errorf("%d of %d requests were allowed, want a third", allowed, asked)
	}
}

func TestDecideAgainstOracle(t *testing.T) {
	m := newMix()
	rapid.Check(t, func(t *rapid.T) {
		p := filePolicy(Host).Draw(t, "policy")
		o, d := newOracle(p), NewDecider(p)
		for range 24 {
			r := fileRequest(p, Host).Draw(t, "request")
			got := d.Decide(r)
			if want := o.allows(r); got.Allow != want {
				t.Fatalf("Decide(%s) = %v (%s, %v), the sentences say %v\n%s", r, got.Allow, got.Reason, got.Rule, want, p.Text())
			}
			if got.Depends != 0 {
				t.Fatalf("Decide(%s) depends on slots %b of a policy without slots\n%s", r, got.Depends, p.Text())
			}
			m.count(r, got.Allow)
		}
	})
	m.check(t, fileWords)
}

func TestOrderOfStatementsNeverMatters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := filePolicy(Host, Home, Workspace).Draw(t, "policy")
		q := *p
		q.Files = rapid.Permutation(p.Files).Draw(t, "files")
		q.Execute = rapid.Permutation(p.Execute).Draw(t, "execute")
		d, e := NewDecider(p), NewDecider(&q)
		for range 8 {
			r := fileRequest(p, Host, Home, Workspace).Draw(t, "request")
			if a, b := d.Decide(r), e.Decide(r); a.Allow != b.Allow || a.Depends != b.Depends || a.Reason != b.Reason {
				t.Fatalf("Decide(%s) = %v, in another order %v\n%s", r, a, b, p.Text())
			}
		}
	})
}
