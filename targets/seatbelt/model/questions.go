package model

import (
	"fmt"
	"slices"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/seatbelt/sbpl"
)

// asked are the operations of the words about one path. What macOS asks is from
// Apple's operation names and the violations that its log shows: opening and listing
// ask for the data, stat for metadata, and each way to change a file has an operation
// of its own. Releases lack some.
var asked = map[ir.RequestKind][]string{
	ir.ReadRequest: {"file-read-data", "file-read-xattr"},
	ir.ListRequest: {"file-read-data"},
	ir.StatRequest: {"file-read-metadata"},
	ir.WriteRequest: {
		"file-write-data", "file-write-mode", "file-write-owner", "file-write-flags", "file-write-times",
		"file-write-xattr", "file-write-acl", "file-write-finderinfo",
	},
	ir.CreateRequest:  {"file-write-create"},
	ir.RemoveRequest:  {"file-write-unlink"},
	ir.ExecuteRequest: {"process-exec*", "process-exec", "process-exec-interpreter"},
}

// Apart reports whether each operation of a word gives something by itself, as the
// contents of a file without its extended attributes. Those of the other words are
// steps of one thing, and all are needed.
func Apart(k ir.RequestKind) bool { return len(asked[k]) > 1 }

// Questions are what macOS asks for a request, in its order where that is known.
func (m *Model) Questions(r ir.Request) ([]Question, error) {
	for _, p := range []ir.Path{r.Path, r.To, r.By} {
		if p.Root() != ir.Host {
			return nil, fmt.Errorf("%s: %s is not bound", r, p.Root())
		}
	}
	switch r.Kind {
	case ir.RenameRequest:
		// rename(2) reads nothing: it takes one name away and makes another.
		return m.keep(ask("file-write-unlink", r.Path), ask("file-write-create", r.To)), nil
	case ir.LinkRequest:
		// Which of the two names file-link is asked about is not published; both.
		return m.keep(ask("file-link", r.Path), ask("file-link", r.To), ask("file-write-create", r.To)), nil
	case ir.ConnectUnixRequest:
		socket := ask("network-outbound", r.Path)
		socket.Known["vnode-type"] = []string{"SOCKET"}
		return m.keep(openSocket("AF_UNIX"), socket), nil
	case ir.ConnectRequest:
		return m.keep(m.connect(r)...), nil
	}
	names, ok := asked[r.Kind]
	if !ok {
		return nil, fmt.Errorf("%q is no request that a profile answers", r.Kind)
	}
	var out []Question
	for _, op := range names {
		q := ask(op, r.Path)
		switch {
		case r.Kind == ir.ListRequest:
			q.Known["vnode-type"] = []string{"DIRECTORY"}
		case r.Kind == ir.StatRequest && sbpl.IsLink(r.Path.String()):
			// The link itself is looked at under its own name.
			q.Known["path"], q.Known["vnode-type"] = []string{r.Path.String()}, []string{"SYMLINK"}
		}
		out = append(out, q)
	}
	return m.keep(out...), nil
}

// ask is a question about a path, which rules see as the kernel resolves it. A
// process that sandbox-exec starts holds no extension.
func ask(op string, p ir.Path) Question {
	return Question{op, sbpl.Context{"path": {sbpl.Canonical(p.String())}, "extension": {}}}
}

// openSocket is asked before any connection.
func openSocket(domain string) Question {
	return Question{"system-socket", sbpl.Context{
		"socket-domain": {domain}, "socket-type": {"SOCK_STREAM"}, "socket-protocol": {"0"}, "extension": {},
	}}
}

// keep leaves out the operations that the release lacks.
func (m *Model) keep(questions ...Question) []Question {
	return slices.DeleteFunc(questions, func(q Question) bool { return !m.profile.HasOperation(q.Operation) })
}

// connect is a TCP connection. Profiles see addresses: for a host by name one of the
// addresses kept for documentation stands in (RFC 5737), which no rule can tell from
// any other but localhost.
func (m *Model) connect(r ir.Request) []Question {
	domain, remote := "AF_INET", fmt.Sprintf("tcp 192.0.2.1:%d", r.Port)
	switch {
	case r.Addr.Is6():
		domain, remote = "AF_INET6", fmt.Sprintf("tcp [%s]:%d", r.Addr, r.Port)
	case r.Addr.IsValid():
		remote = fmt.Sprintf("tcp %s:%d", r.Addr, r.Port)
	case r.Host == "localhost":
		remote = fmt.Sprintf("tcp 127.0.0.1:%d", r.Port)
	}
	known := sbpl.Context{"remote": {remote}, "extension": {}}
	if r.HasBy {
		known["process-path"] = []string{sbpl.Canonical(r.By.String())}
	}
	return []Question{openSocket(domain), {"network-outbound", known}}
}
