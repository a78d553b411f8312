// Package model answers the request words of policies by a Seatbelt profile: each
// word becomes the operations that macOS asks about for it, and all of them must be
// allowed. It reads any profile, obspc's own and other people's; what a profile
// decides about one operation is in package sbpl. Its one rule: an answer that
// depends on what nobody stated is no answer.
package model

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/seatbelt/operations"
	"github.com/obspc/obspc/targets/seatbelt/sbpl"
)

// Model is a profile that requests are asked of. It is safe for concurrent use.
type Model struct{ profile *sbpl.Profile }

// New is the model of a profile that was read.
func New(p *sbpl.Profile) *Model { return &Model{p} }

// Read is the model of a profile under a binding: each bound slot is the parameter
// of its name in capitals (WORKSPACE, HOME, TMP, CONFIG), PROXY is ProxyPort. A zero release is the
// newest with a published table.
func Read(name string, text []byte, b ir.Binding, r operations.Release) (*Model, error) {
	profile, err := sbpl.Parse(name, text, sbpl.Options{Release: r, Params: Params(b)})
	if err != nil {
		return nil, err
	}
	return New(profile), nil
}

// ProxyPort stands for the port of the proxy that a policy's endpoints are reached by,
// which the runtime chooses for each run (the first of those that nobody is given: RFC
// 6335, section 6).
const ProxyPort = 49152

// Params are the -D definitions of a binding, and of the proxy's port.
func Params(b ir.Binding) map[string]string {
	out := map[string]string{"PROXY": strconv.Itoa(ProxyPort)}
	for _, slot := range ir.Slots() {
		if at, ok := b.At(slot); ok {
			out[strings.ToUpper(slot.String())] = at.String()
		}
	}
	return out
}

// Question is one thing that macOS asks the profile.
type Question struct {
	Operation string
	Known     sbpl.Context
}

// Reply is a question and what the profile answers.
type Reply struct {
	Question
	sbpl.Answer
}

// Replies are the answers to everything that macOS asks for a request. The error
// says why the request cannot be asked: a path in an unbound slot, or a word that is
// no request.
func (m *Model) Replies(r ir.Request) ([]Reply, error) {
	questions, err := m.Questions(r)
	if err != nil {
		return nil, err
	}
	out := make([]Reply, len(questions))
	for i, q := range questions {
		answer, err := m.profile.Evaluate(q.Operation, q.Known)
		if err != nil {
			return nil, err
		}
		out[i] = Reply{q, answer}
	}
	return out, nil
}

// Decide answers a request; ok is false when the answer depends on what the request
// does not say, or when it cannot be asked.
func (m *Model) Decide(r ir.Request) (allow, ok bool) {
	replies, err := m.Replies(r)
	if err != nil {
		return false, false
	}
	return decide(replies)
}

// decide: one refusal refuses, whatever else is open.
func decide(replies []Reply) (allow, ok bool) {
	ok = true
	for _, reply := range replies {
		switch reply.Decision {
		case sbpl.Deny:
			return false, true
		case sbpl.Undecided:
			ok = false
		}
	}
	return ok, ok
}

// Explain tells how a request is decided: the answer, then each operation with the
// rule that decides it.
func (m *Model) Explain(r ir.Request) string {
	replies, err := m.Replies(r)
	if err != nil {
		return "undecided\n  " + err.Error() + "\n"
	}
	var b strings.Builder
	switch allow, ok := decide(replies); {
	case !ok:
		b.WriteString("undecided\n")
	case allow:
		b.WriteString("allow\n")
	default:
		b.WriteString("deny\n")
	}
	for _, reply := range replies {
		lines := strings.Split(strings.TrimSuffix(reply.Answer.Explain(), "\n"), "\n")
		fmt.Fprintf(&b, "  %s%s: %s\n", reply.Operation, object(reply.Known), lines[0])
		for _, line := range lines[1:] {
			b.WriteString("  " + line + "\n")
		}
	}
	return b.String()
}

// object is what a question is about, for people.
func object(known sbpl.Context) string {
	for _, name := range []string{"path", "remote", "socket-domain"} {
		if values := known[name]; len(values) > 0 {
			return " " + values[0]
		}
	}
	return ""
}
