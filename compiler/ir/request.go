package ir

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/obspc/obspc/compiler/syscalls"
)

// RequestKind is the verb of a request (design 5).
type RequestKind string

// The request words. Write is about contents, mode, owner, times and attributes.
const (
	ReadRequest        RequestKind = "read"
	ListRequest        RequestKind = "list"
	StatRequest        RequestKind = "stat"
	WriteRequest       RequestKind = "write"
	CreateRequest      RequestKind = "create"
	RemoveRequest      RequestKind = "remove"
	RenameRequest      RequestKind = "rename"
	LinkRequest        RequestKind = "link"
	ExecuteRequest     RequestKind = "execute"
	ConnectRequest     RequestKind = "connect"
	ConnectUnixRequest RequestKind = "connect-unix"
	SyscallRequest     RequestKind = "syscall"
	URLRequest         RequestKind = "request"
)

// FileRequests lists the words that ask about one path.
func FileRequests() []RequestKind {
	return []RequestKind{ReadRequest, ListRequest, StatRequest, WriteRequest, CreateRequest, RemoveRequest, ExecuteRequest, ConnectUnixRequest}
}

// RequestKinds lists the words about what a policy lets be reached, which every target
// answers. Beside them SyscallRequest asks about one system's calls.
func RequestKinds() []RequestKind {
	return append(FileRequests(), RenameRequest, LinkRequest, ConnectRequest)
}

// allWords lists every word.
func allWords() []RequestKind { return append(RequestKinds(), URLRequest, SyscallRequest) }

// Changes reports whether a request of this word changes a file or a name.
func (k RequestKind) Changes() bool {
	switch k {
	case WriteRequest, CreateRequest, RemoveRequest, RenameRequest, LinkRequest:
		return true
	}
	return false
}

// Pairs reports whether a request of this word is about two paths.
func (k RequestKind) Pairs() bool { return k == RenameRequest || k == LinkRequest }

// Request is one thing a program in the sandbox may try. Path is what most words
// ask about; To is the second path of rename and link; Host or Addr, and Port,
// belong to connect and request, Method, Scheme and Target to request, Syscall to
// syscall. By is the program that asks, if HasBy.
type Request struct {
	Kind    RequestKind
	Path    Path
	To      Path
	Host    string // canonical
	Addr    netip.Addr
	Port    uint16
	Method  string
	Scheme  string // http or https
	Target  string // a path in canonical form
	By      Path
	HasBy   bool
	Syscall string
	asText  string
}

// String is the request as a user would type it.
func (r Request) String() string {
	var b strings.Builder
	b.WriteString(string(r.Kind) + " ")
	switch {
	case r.Kind == ConnectRequest:
		b.WriteString(r.authority())
	case r.Kind == URLRequest:
		b.WriteString(r.Method + " " + r.Scheme + "://" + strings.TrimSuffix(r.authority(), ":"+defaultPorts[r.Scheme]) + r.Target)
	case r.Kind == SyscallRequest:
		b.WriteString(r.Syscall)
	default:
		b.WriteString(r.Path.String())
	}
	if r.Kind.Pairs() {
		b.WriteString(" " + r.To.String())
	}
	if r.HasBy {
		b.WriteString(" by " + r.By.String())
	}
	return b.String()
}

// Value is the request's object as it was written.
func (r Request) Value() string { return r.asText }

// ParseRequest reads a request from its words: the verb, its one or two objects,
// and optionally "by" and a program. Paths may begin with ${workspace}, ${home}
// or ${tmp}.
func ParseRequest(words []string) (Request, error) {
	if len(words) == 0 {
		return Request{}, fmt.Errorf("a request needs a word, one of %s", listKinds())
	}
	r := Request{Kind: RequestKind(words[0])}
	objects := words[1:]
	if n := len(objects); n >= 2 && objects[n-2] == "by" {
		by, err := ParsePath(objects[n-1])
		if err != nil {
			return Request{}, err
		}
		r.By, r.HasBy, objects = by, true, objects[:n-2]
	}
	if !slices.Contains(allWords(), r.Kind) {
		return Request{}, fmt.Errorf("%q is no request; write one of %s", words[0], listKinds())
	}
	if want, n := r.Kind.wants(); len(objects) != n {
		return Request{}, fmt.Errorf("%s wants %s; there %s", r.Kind, want, given(len(objects)))
	}
	r.asText = strings.Join(objects, " ")
	return parseObjects(r, objects)
}

// wants is what a word is about, and how many words that is.
func (k RequestKind) wants() (what string, n int) {
	switch {
	case k.Pairs():
		return "two paths", 2
	case k == ConnectRequest:
		return "one HOST:PORT", 1
	case k == URLRequest:
		return "a method and a URL", 2
	case k == SyscallRequest:
		return "the name of one system call", 1
	}
	return "one path", 1
}

// given says how many words there are.
func given(n int) string {
	switch n {
	case 0:
		return "is none"
	case 1:
		return "is one"
	}
	return fmt.Sprintf("are %d", n)
}

func parseObjects(r Request, objects []string) (Request, error) {
	if r.Kind == ConnectRequest {
		return parseAuthority(r, objects[0])
	}
	if r.Kind == URLRequest {
		return parseURL(r, objects[0], objects[1])
	}
	if r.HasBy {
		return Request{}, fmt.Errorf("%s takes no program; only connect and request do", r.Kind)
	}
	if r.Kind == SyscallRequest {
		if len(syscalls.On(objects[0])) == 0 {
			return Request{}, fmt.Errorf("no system call of Linux is named %q on %s", objects[0], strings.Join(syscalls.Arches(), " or "))
		}
		r.Syscall = objects[0]
		return r, nil
	}
	var err error
	if r.Path, err = ParsePath(objects[0]); err != nil {
		return Request{}, err
	}
	if len(objects) == 2 {
		if r.To, err = ParsePath(objects[1]); err != nil {
			return Request{}, err
		}
	}
	return r, nil
}

// parseAuthority reads HOST:PORT; an IPv6 address stands in brackets (RFC 3986,
// section 3.2.2).
func parseAuthority(r Request, text string) (Request, error) {
	colon := strings.LastIndexByte(text, ':')
	if colon < 0 {
		return Request{}, fmt.Errorf("%q wants a port, as in %s:443", text, text)
	}
	port, err := strconv.ParseUint(text[colon+1:], 10, 16)
	if err != nil || port == 0 || strconv.FormatUint(port, 10) != text[colon+1:] {
		return Request{}, fmt.Errorf("%q has no port from 1 to 65535", text)
	}
	r.Port = uint16(port)
	if r.Addr, err = literalAddress(text[:colon]); err != nil || r.Addr.IsValid() {
		return r, err
	}
	r.Host, err = CanonicalHost(text[:colon])
	return r, err
}

// literalAddress is the address that host is written as; the zero Addr when it is
// a name. IPv6 stands in brackets, nothing else does, and none has a zone.
func literalAddress(host string) (netip.Addr, error) {
	inner, bracketed := strings.CutPrefix(host, "[")
	if bracketed {
		var closed bool
		if inner, closed = strings.CutSuffix(inner, "]"); !closed {
			return netip.Addr{}, fmt.Errorf("%q has a bracket that is not closed", host)
		}
	}
	addr, err := netip.ParseAddr(inner)
	switch {
	case err != nil && !bracketed:
		return netip.Addr{}, nil
	case err != nil || addr.Zone() != "" || addr.Is6() != bracketed:
		return netip.Addr{}, fmt.Errorf("%q is no address; write IPv6 as [2001:db8::7], IPv4 and names without brackets", host)
	}
	return addr.Unmap(), nil
}

func listKinds() string {
	kinds := allWords()
	out := make([]string, len(kinds))
	for i, k := range kinds {
		out[i] = string(k)
	}
	return strings.Join(out, ", ")
}
