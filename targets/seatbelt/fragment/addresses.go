package fragment

import (
	"slices"
	"sync"
)

// addresses are the filters of addresses that there are, word for word.
var addresses = []struct {
	text  string
	kind  Kind
	word  string
	allow bool // in rules that allow alone
}{
	{`(remote ip "*:*")`, Remote, "", false},
	{`(remote tcp4 (string-append "localhost:" (param "PROXY")))`, Proxy, "", true},
	{`(remote tcp "localhost:*")`, Loopback, "", true},
	{`(local tcp "localhost:*")`, Own, "localhost:*", true},
}

// addressForms are the forms of addresses.
var addressForms = sync.OnceValue(func() []form {
	out := make([]form, len(addresses))
	for i, a := range addresses {
		read, err := forms(a.text)
		if err != nil || len(read) != 1 {
			panic(a.text + " is no form")
		}
		out[i] = read[0]
	}
	return out
})

// address reads a filter of addresses.
func (r *reader) address(f form) Filter {
	i := slices.IndexFunc(addressForms(), func(a form) bool { return same(a, f) })
	if i < 0 {
		r.fail(f, "an address that obspc does not write")
		return Filter{}
	}
	if addresses[i].allow && !r.rule.Allow {
		r.fail(f, "an address on the loopback in a rule that denies")
	}
	return Filter{Kind: addresses[i].kind, Word: addresses[i].word}
}

// stream reads (require-all (socket-domain FAMILY) (socket-type SOCK_STREAM)). Filters
// in a row are alternatives, so that the two stand together decides.
func (r *reader) stream(f form) Filter {
	kind := f.list[len(f.list)-1]
	if len(f.list) != 3 || head(kind) != "socket-type" || len(kind.list) != 2 || !same(kind.list[1], form{kind: 'a', text: Stream[1:]}) {
		r.fail(f, "a require-all of other than a family and SOCK_STREAM")
		return Filter{}
	}
	out := r.word(f.list[1])
	if !r.rule.Allow || out.Word == "AF_UNIX" {
		r.fail(f, "a require-all in a rule that denies, or of AF_UNIX")
	}
	out.Word += Stream
	return out
}

// End is a class of addresses that a connection may be to, of which a profile of the
// fragment treats all alike.
type End uint8

// The classes. ProxyEnd: TCP to 127.0.0.1 at the port PROXY. LoopbackEnd: TCP to
// 127.0.0.1 or ::1, but for that. Elsewhere: all others, and all protocols but TCP.
const (
	Elsewhere End = iota
	LoopbackEnd
	ProxyEnd
	NumEnds = iota
)

func (e End) String() string {
	return [...]string{"an address of a network", "the machine's loopback", "the port of the proxy"}[e]
}

// reaches reports whether the filter is of addresses and matches the class.
func (f Filter) reaches(e End) bool {
	switch f.Kind {
	case Remote:
		return true
	case Loopback:
		return e != Elsewhere
	case Proxy:
		return e == ProxyEnd
	}
	return false
}

// paths reports whether the filter is of paths.
func (f Filter) paths() bool { return f.Kind <= Ancestors }

// Network is the answer about a class of addresses, and the rule that gives it.
// Whether a filter of paths may match an address is not settled: a rule that allows is
// taken to match, one that denies is not.
func (l List) Network(e End) (allow bool, by *Rule) {
	for _, r := range slices.Backward(l.Rules) {
		if slices.ContainsFunc(r.Filters, func(f Filter) bool { return f.reaches(e) || r.Allow && f.paths() }) {
			return r.Allow, r
		}
	}
	return l.Default, l.By
}
