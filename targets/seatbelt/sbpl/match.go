package sbpl

import (
	"slices"
	"strconv"
	"strings"

	"github.com/obspc/obspc/targets/seatbelt/sbpl/scheme"
)

// request is one question while it is answered.
type request struct {
	op      string
	context Context
	ends    map[string][]socketAddress // remote and local, parsed
	// assumed gives truths to atoms that the context leaves open, to find out whether
	// they matter.
	assumed map[string]truth
}

// opens are the atoms that are not known, and what of the context they miss.
type opens map[*Filter]string

// names lists what is missing, sorted.
func (o opens) names() []string {
	var out []string
	for _, name := range o {
		out = append(out, name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// holds decides a filter. What is not known and could matter is added to missing.
func (r *request) holds(f *Filter, missing opens) truth {
	switch f.join {
	case not:
		return r.holds(f.subs[0], missing).not()
	case all, some:
		return r.joins(f, missing)
	}
	t, lacks := r.atom(f)
	if t != unknown {
		return t
	}
	if t, ok := r.assumed[f.String()]; ok {
		return t
	}
	missing[f] = lacks
	return t
}

// joins decides require-all and require-any.
func (r *request) joins(f *Filter, missing opens) truth {
	decisive, out := no, yes
	if f.join == some {
		decisive, out = yes, no
	}
	inner := opens{}
	for _, sub := range f.subs {
		t := r.holds(sub, inner)
		if t == decisive {
			return t
		}
		if t == unknown {
			out = unknown
		}
	}
	if out == unknown {
		for f, lacks := range inner {
			missing[f] = lacks
		}
	}
	return out
}

// atom decides one comparison and names what it lacks when that is unknown.
func (r *request) atom(f *Filter) (truth, string) {
	a := f.atom
	if !takes(r.op, a.spec.category) {
		return no, ""
	}
	switch a.how {
	case isAddress:
		return r.address(a)
	case isUnixSocket:
		return r.unixSocket(a)
	case hasEntitlement:
		return r.entitlement(a)
	}
	values, known := r.values(a.spec.name)
	if !known {
		return unknown, a.spec.name
	}
	out := no
	for _, v := range values {
		for i := range a.args {
			out = max(out, a.compare(i, v))
		}
	}
	return out, a.spec.name
}

// values is what the context says under a name. What excludes each other need not
// be said: a mach name is one of three kinds, a socket of the internet has no path.
func (r *request) values(name string) (values []string, known bool) {
	if values, known = r.context[name]; known {
		return values, true
	}
	for _, kinds := range exclusive {
		if !slices.Contains(kinds.names, name) || !strings.HasPrefix(r.op, kinds.operations) {
			continue
		}
		for _, other := range kinds.names {
			if given := r.context[other]; other != name && len(given) > 0 && !slices.Contains(kinds.together, other+" "+name) {
				return nil, true
			}
		}
	}
	return nil, false
}

// exclusive are names of which requests have one; together are pairs, "given
// asked", that may stand beside each other.
var exclusive = []struct {
	operations string
	names      []string
	together   []string
}{
	{"mach-", []string{"global-name", "local-name", "xpc-service-name"}, nil},
	{"network-", []string{"path", "remote", "local", "control-name"}, []string{"remote local", "local remote"}},
}

// compare compares argument i with one value.
func (a *atom) compare(i int, value string) truth {
	switch a.how {
	case equals:
		return truthOf(a.texts[i] == value)
	case hasPrefix:
		return truthOf(strings.HasPrefix(value, a.texts[i]))
	case below:
		return isBelowPath(a.texts[i], value)
	case matches:
		return truthOf(a.expressions[i].matches(value))
	case isBoolean:
		return truthOf(strconv.FormatBool(a.args[i].(bool)) == value)
	case hasBits:
		return sharesBits(a.args[i].(int64), value)
	}
	word := scheme.Show(a.args[i])
	if c, ok := a.args[i].(Constant); ok {
		word = c.Name
	}
	if value == "self" && word == "same-sandbox" {
		return yes // a process is in its own sandbox
	}
	return familyIndex()[a.spec.name].equal(word, value)
}

// isBelowPath is subpath. Whether one that ends in a slash matches anything on
// releases that take it, nobody verified.
func isBelowPath(dir, path string) truth {
	if dir == "/" {
		return truthOf(strings.HasPrefix(path, "/"))
	}
	trimmed := strings.TrimRight(dir, "/")
	rest, ok := strings.CutPrefix(path, trimmed)
	in := ok && (rest == "" || rest[0] == '/')
	if in && trimmed != dir || dir == "" {
		return unknown
	}
	return truthOf(in)
}

// sharesBits is file-mode: with several bits it is not known whether one is enough.
func sharesBits(bits int64, value string) truth {
	have, err := strconv.ParseInt(value, 8, 64)
	switch {
	case err != nil:
		return unknown
	case have&bits == bits:
		return yes
	case have&bits == 0:
		return no
	}
	return unknown
}

// address decides remote and local.
func (r *request) address(a *atom) (truth, string) {
	name := a.spec.name
	values, known := r.values(name)
	if !known {
		if remote, ok := r.context["remote"]; name == "local" && r.op == "network-outbound" && ok && len(remote) > 0 {
			return r.ownEnd(a)
		}
		return unknown, name
	}
	out := no
	for i := range values {
		for _, address := range a.addresses {
			out = max(out, address.matches(r.ends[name][i]))
		}
	}
	return out, name
}

// ownEnd decides local on a connection whose own end is not bound: any address of
// it matches, localhost too (measured, sandbox-runtime #131 and #225); a port is not
// known.
func (r *request) ownEnd(a *atom) (truth, string) {
	out := no
	for _, remote := range r.ends["remote"] {
		for _, address := range a.addresses {
			end := remote
			end.host, end.addr = "localhost", remote.addr
			t := address.matches(end)
			if address.port >= 0 {
				anyPort := address
				anyPort.port = -1
				t = min(unknown, anyPort.matches(end))
			}
			out = max(out, t)
		}
	}
	return out, "local"
}

// unixSocket decides the old (remote unix-socket FILTER).
func (r *request) unixSocket(a *atom) (truth, string) {
	own := "remote"
	if r.op != "network-outbound" {
		own = "local"
	}
	values, known := r.values("path")
	switch {
	case known && len(values) == 0:
		return no, ""
	case a.spec.name != own:
		return unknown, a.spec.name // the other end's path
	case a.value == nil && known:
		return yes, ""
	case a.value == nil:
		return unknown, "path"
	}
	missing := opens{}
	t := r.holds(a.value, missing)
	if lacks := missing.names(); len(lacks) > 0 {
		return t, lacks[0]
	}
	return t, "path"
}

// entitlement decides require-entitlement: the context has "NAME" for an entitlement
// that is true, "NAME=VALUE" for one with another value.
func (r *request) entitlement(a *atom) (truth, string) {
	values, known := r.context["entitlement"]
	if !known {
		return unknown, "entitlement"
	}
	out := no
	for _, v := range values {
		name, value, hasValue := strings.Cut(v, "=")
		if name != a.texts[0] {
			continue
		}
		if a.value == nil {
			out = max(out, truthOf(!hasValue || value == "true"))
			continue
		}
		inner := &request{op: r.op, context: Context{}}
		for k, v := range r.context {
			inner.context[k] = v
		}
		inner.context["%entitlement-string"] = []string{value}
		inner.context["%entitlement-boolean"] = []string{strconv.FormatBool(!hasValue || value == "true")}
		out = max(out, inner.holds(a.value, opens{}))
	}
	return out, "entitlement"
}
