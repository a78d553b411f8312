package seatbelt

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// event is one thing that the kernel asks about. Path is resolved; Words holds the
// other properties, as "global-name" → "com.apple.x".
type event struct {
	Path  string
	Words map[string]string
}

// filter matches events.
type filter func(event) bool

// opName is an operation as a value of the language.
type opName string

// modifier is (with message "…"), which decides nothing.
type modifier struct{}

// tail is what an operation does when no filtered rule matches.
type tail struct {
	decided, allow bool
	parent         string
}

// filtered is a rule with filters.
type filtered struct {
	allow bool
	match filter
}

// machine is a profile as a release of macOS understands it.
type machine struct {
	release release
	front   map[string][]filtered // the latest rule first
	tails   map[string]tail
	version int64
}

// load evaluates a profile: reads it, runs it, and keeps rules for each operation.
func load(profile []byte, r release, params map[string]string) (m *machine, err error) {
	defer func() {
		if e := recover(); e != nil {
			fault, ok := e.(schemeError)
			if !ok {
				panic(e)
			}
			m, err = nil, fmt.Errorf("%s: %s", r, string(fault))
		}
	}()
	forms, err := readAll(string(profile))
	if err != nil {
		return nil, err
	}
	m = &machine{release: r, front: map[string][]filtered{}, tails: map[string]tail{}}
	s := global(params)
	for _, o := range operations() {
		if !o.in(r) {
			continue
		}
		s.names[symbol(o.Name)] = opName(o.Name)
		switch p := o.Parent[r]; {
		case p == "allow" || p == "deny":
			m.tails[o.Name] = tail{decided: true, allow: p == "allow"}
		case o.Open && r > catalina:
			m.tails[o.Name] = tail{decided: true, allow: true}
		default:
			m.tails[o.Name] = tail{parent: p}
		}
	}
	m.bind(s)
	for _, form := range forms {
		eval(form, s)
	}
	if m.version != 1 {
		raise("no version specified")
	}
	return m, nil
}

func (m *machine) bind(s *scope) {
	s.names["version"] = procedure(func(a []any) any { m.version = a[0].(int64); return nil })
	s.names["allow"] = procedure(func(a []any) any { m.decide(true, a); return nil })
	s.names["deny"] = procedure(func(a []any) any { m.decide(false, a); return nil })
	for name, f := range filterMakers {
		s.names[symbol(name)] = procedure(f)
	}
	s.names["with"] = procedure(func(a []any) any {
		if len(a) != 2 || a[0] != "message" || text(a[1]) == "" {
			raise("malformed modifier")
		}
		return modifier{}
	})
	for _, word := range []string{"self", "same-sandbox", "AF_UNIX", "AF_INET", "AF_INET6", "SOCK_STREAM", "ip", "tcp", "tcp4", "message"} {
		s.names[symbol(word)] = word
	}
}

func (m *machine) decide(allow bool, args []any) {
	var ops []string
	var filters []filter
	modified := false
	for _, a := range args {
		switch a := a.(type) {
		case opName:
			ops = append(ops, string(a))
		case filter:
			filters = append(filters, a)
		case modifier:
			if modified {
				raise("message modifier can only appear once per rule")
			}
			modified = true
		default:
			raise("%v is neither operation, filter nor modifier", a)
		}
	}
	if len(ops) == 0 {
		raise("at least one operation required")
	}
	for _, op := range ops {
		if len(filters) == 0 {
			m.tails[op] = tail{decided: true, allow: allow}
			continue
		}
		m.front[op] = append([]filtered{{allow, anyFilter(filters)}}, m.front[op]...)
	}
}

func anyFilter(filters []filter) filter {
	return func(e event) bool {
		return slices.ContainsFunc(filters, func(f filter) bool { return f(e) })
	}
}

// allows walks the operation's rules, then its tail, then its parent's.
func (m *machine) allows(op string, e event) bool {
	for {
		for _, r := range m.front[op] {
			if r.match(e) {
				return r.allow
			}
		}
		t, ok := m.tails[op]
		if !ok {
			panic("no operation " + op)
		}
		if t.decided {
			return t.allow
		}
		op = t.parent
	}
}

func toFilters(args []any) []filter {
	out := make([]filter, len(args))
	for i, a := range args {
		f, ok := a.(filter)
		if !ok {
			raise("%v is no filter", a)
		}
		out[i] = f
	}
	if len(out) == 0 {
		raise("a filter is required")
	}
	return out
}

// pathFilter matches events that have a path.
func pathFilter(match func(pattern, path string) bool) func([]any) any {
	return func(args []any) any {
		pattern := text(args[0])
		if !strings.HasPrefix(pattern, "/") || pattern != "/" && strings.HasSuffix(pattern, "/") || len(args) != 1 {
			raise("malformed path %q", pattern)
		}
		return filter(func(e event) bool { return e.Path != "" && match(pattern, e.Path) })
	}
}

func wordFilter(word string) func([]any) any {
	return func(args []any) any {
		return filter(func(e event) bool {
			have, ok := e.Words[word]
			return ok && have == text(args[0])
		})
	}
}

// addressFilter matches the end of a connection, an event's "tcp4 127.0.0.1:80".
func addressFilter(end string) func([]any) any {
	return func(args []any) any {
		protocol := args[0].(string)
		host, port, ok := strings.Cut(text(args[1]), ":")
		if _, err := strconv.ParseUint(port, 10, 16); host != "*" && host != "localhost" || !ok || err != nil && port != "*" {
			raise("host must be * or localhost in network address")
		}
		return filter(func(e event) bool {
			have, at, ok := strings.Cut(e.Words[end], " ")
			if !ok {
				have, at = "tcp4", e.Words[end]
			}
			colon := strings.LastIndexByte(at, ':')
			return at != "" && (protocol == "ip" || strings.HasPrefix(have, protocol)) && (port == "*" || port == at[colon+1:]) &&
				(host == "*" || at[:colon] == "127.0.0.1" || at[:colon] == "[::1]")
		})
	}
}

var filterMakers = map[string]func([]any) any{
	"literal": pathFilter(func(pattern, path string) bool { return pattern == path }),
	"subpath": pathFilter(func(pattern, path string) bool {
		return pattern == "/" || path == pattern || strings.HasPrefix(path, pattern+"/")
	}),
	"path-ancestors": pathFilter(func(pattern, path string) bool {
		return path == "/" && pattern != "/" || strings.HasPrefix(pattern, path+"/")
	}),
	"regex": func(args []any) any {
		pattern := text(args[0])
		if strings.IndexByte(pattern[1:], '^') >= 0 && !strings.Contains(pattern, `\^`) || pattern[0] != '^' {
			raise("unanchored expression %q", pattern)
		}
		re, err := regexp.Compile(pattern)
		if err != nil {
			raise("%v", err)
		}
		return filter(func(e event) bool { return e.Path != "" && re.MatchString(e.Path) })
	},
	"require-any": func(args []any) any { return anyFilter(toFilters(args)) },
	"require-all": func(args []any) any {
		filters := toFilters(args)
		return filter(func(e event) bool {
			return !slices.ContainsFunc(filters, func(f filter) bool { return !f(e) })
		})
	},
	"remote": addressFilter("remote"),
	"local":  addressFilter("local"),
	"target": func(args []any) any {
		return filter(func(e event) bool {
			have := e.Words["target"]
			return have == "self" || have != "" && have == args[0]
		})
	},
	"socket-domain":              wordFilter("socket-domain"),
	"socket-type":                wordFilter("socket-type"),
	"mac-policy-name":            wordFilter("mac-policy-name"),
	"global-name":                wordFilter("global-name"),
	"sysctl-name":                wordFilter("sysctl-name"),
	"ipc-posix-name":             wordFilter("ipc-posix-name"),
	"iokit-registry-entry-class": wordFilter("iokit-registry-entry-class"),
}
