// Package models lists the targets that can be asked: for each, what reads its
// artifacts back from their bytes and answers requests by them. Its one rule: an
// answer comes from the artifact, never from the policy. It is for people's
// questions (explain, test); what decides whether an artifact may be used is
// targets.Validate, which obsrun links, and this package's evaluators are not.
package models

import (
	"errors"
	"net/netip"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets"
	"github.com/obspc/obspc/targets/egress"
	"github.com/obspc/obspc/targets/seatbelt/model"
	"github.com/obspc/obspc/targets/seatbelt/operations"
)

// Answerer is what one target's artifacts make of one machine: it answers a
// request and names the layer that decides it.
type Answerer interface {
	Decide(r ir.Request) (allow bool, layer string)
}

// Modelled is a target whose artifacts can be read back and asked. Model reads
// the policy's artifacts, by name within its folder, for a machine with that
// binding; slots that it leaves open lie apart from everything the policy names.
type Modelled struct {
	Target ir.Target
	Model  func(p *ir.Policy, files map[string][]byte, b ir.Binding) (Answerer, error)
}

// All lists the targets that can be asked.
func All() []Modelled {
	return []Modelled{
		{ir.Bwrap, func(p *ir.Policy, files map[string][]byte, b ir.Binding) (Answerer, error) {
			return targets.LinuxModel(p, files, b)
		}},
		{ir.Seatbelt, seatbelt},
	}
}

// Asked reports whether requests of the word are a target's to answer: system calls
// are those of Linux.
func Asked(t ir.Target, word ir.RequestKind) bool { return word != ir.SyscallRequest || t == ir.Bwrap }

// bySeatbelt is the layer of what a profile decides.
const bySeatbelt = "Seatbelt"

// Undecided is the layer of a request that a profile leaves open: what decides it
// is not known here.
const Undecided = "Seatbelt, undecided"

// macTmp is where the tmp slot lies unless a binding says otherwise: a directory
// of the kind that macOS gives each user (confstr(3), _CS_DARWIN_USER_TEMP_DIR).
var macTmp = ir.MustPath("/private/var/folders/zz/zyxvpxvq6csfxvn_n0000000000000/T/obspc")

// seatbelt reads the profile for the newest release with a published table.
func seatbelt(p *ir.Policy, files map[string][]byte, b ir.Binding) (Answerer, error) {
	profile, ok := files["seatbelt.sb"]
	if !ok {
		return nil, errors.New("seatbelt.sb is missing")
	}
	if _, bound := b.At(ir.Tmp); !bound {
		b = b.With(ir.Tmp, macTmp)
	}
	b, err := targets.Apart(p, b)
	if err != nil {
		return nil, err
	}
	m, err := model.Read("seatbelt.sb", profile, b, operations.Newest)
	if err != nil {
		return nil, err
	}
	out := mac{model: m, binding: b}
	if rules, ok := files["egress.json"]; ok {
		read, err := egress.Parse(rules)
		if err != nil {
			return nil, err
		}
		out.proxy = egress.NewTable(read.Bind(b))
	}
	return out, nil
}

// mac is the model of a profile, asked about bound paths, and of the proxy that the
// profile lets be reached; nil where the policy has no endpoint.
type mac struct {
	model   *model.Model
	binding ir.Binding
	proxy   *egress.Table
}

// Decide answers one request; what the profile leaves open is no.
func (m mac) Decide(r ir.Request) (allow bool, layer string) {
	r.Path, r.To, r.By = m.binding.Path(r.Path), m.binding.Path(r.To), m.binding.Path(r.By)
	if r.Kind == ir.ConnectRequest || r.Kind == ir.URLRequest {
		return m.network(r)
	}
	return m.ask(r)
}

func (m mac) ask(r ir.Request) (allow bool, layer string) {
	allow, ok := m.model.Decide(r)
	if !ok {
		return false, Undecided
	}
	return allow, bySeatbelt
}

// network answers a connection, and a request on one: directly, or by the proxy, where
// the profile lets it be reached. No program is seen behind a connection there.
func (m mac) network(r ir.Request) (allow bool, layer string) {
	direct := ir.Request{Kind: ir.ConnectRequest, Host: r.Host, Addr: r.Addr, Port: r.Port, By: r.By, HasBy: r.HasBy}
	if direct.Port == model.ProxyPort {
		direct.Port++ // the server that is meant has it, so the proxy has another
	}
	allow, layer = m.ask(direct)
	if allow || m.proxy == nil {
		return allow, layer
	}
	loopback := ir.Request{Kind: ir.ConnectRequest, Addr: netip.AddrFrom4([4]byte{127, 0, 0, 1}), Port: model.ProxyPort}
	if reached, by := m.ask(loopback); !reached {
		return false, by
	}
	r.HasBy = false
	allow = targets.Leaves(m.proxy, r)
	if !allow && layer == Undecided {
		return false, layer
	}
	return allow, targets.ProxyLayer
}
