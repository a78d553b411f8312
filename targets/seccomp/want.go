package seccomp

import (
	"fmt"
	"slices"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/compiler/syscalls"
)

// Want is what a program for the policy has to grant, exactly: the meaning that
// Grants is compared with, worked out from the tables alone.
func Want(p *ir.Policy, arch Arch) Summary {
	s := own(arch)
	list := refusals(p, arch)
	breaks := []uint32{x32Bit}
	for _, r := range list {
		breaks = append(breaks, r.number, r.number+1)
	}
	s.Calls = spans(breaks, func(nr uint32) Answer { return wantCall(list, arch, nr) })
	breaks = nil
	for _, f := range families {
		breaks = append(breaks, f.number, f.number+1)
	}
	for kind := range uint32(sockTypeMask + 1) {
		s.Socket[kind] = spans(breaks, func(family uint32) Answer { return wantSocket(p, family, kind) })
		s.Pair[kind] = spans(breaks, func(family uint32) Answer { return wantPair(p, family, kind) })
	}
	for _, r := range list {
		switch w := r.watch; {
		case w.bits != 0:
			want := Bits{None: Answer{Action: Allow}, Some: Answer{Action: r.answer}}
			if w.flags >= 0 {
				want.NoFile = Answer{Action: Allow}
			}
			s.Bits[r.Call] = want
		case w.values != nil:
			s.Words[r.Call] = wantWord(r)
		}
	}
	return s
}

// own is a summary of which only the architecture is known.
func own(arch Arch) Summary {
	return Summary{Arch: arch, Arches: interfaces(arch, Answer{Mixed: true}), Bits: map[string]Bits{}, Words: map[string]Spans{}}
}

// interfaces is what is answered by audit token: calls of another interface kill.
func interfaces(arch Arch, own Answer) Spans {
	return spans([]uint32{arch.audit(), arch.audit() + 1}, func(token uint32) Answer {
		if token == arch.audit() {
			return own
		}
		return Answer{Action: KillProcess}
	})
}

func wantCall(list []refusal, arch Arch, nr uint32) Answer {
	if arch == X86_64 && nr >= x32Bit {
		return Answer{Action: KillProcess}
	}
	for _, r := range list {
		if r.number == nr && r.Part == syscalls.All {
			return Answer{Action: r.answer}
		} else if r.number == nr {
			return Answer{Mixed: true}
		}
	}
	return Answer{Action: Allow}
}

func wantWord(r refusal) Spans {
	var breaks []uint32
	for _, v := range r.watch.values {
		breaks = append(breaks, v, v+1)
	}
	return spans(breaks, func(v uint32) Answer {
		if slices.Contains(r.watch.values, v) {
			return Answer{Action: r.answer}
		}
		return Answer{Action: Allow}
	})
}

func wantSocket(p *ir.Policy, number, kind uint32) Answer {
	for _, f := range families {
		if f.number == number && !slices.Contains(f.except, kind) && (!f.unix || p.Unix.Visible) {
			return Answer{Action: Allow}
		}
	}
	return Answer{Action: Errno(eafnosupport)}
}

func wantPair(p *ir.Policy, number, kind uint32) Answer {
	if number == afUnix && (slices.Contains(pairTypes, kind) || p.Unix.Visible) {
		return Answer{Action: Allow}
	}
	return Answer{Action: Errno(eafnosupport)}
}

// Differences lists every class of calls that s and want answer differently, for
// people; empty when they are the same.
func (s Summary) Differences(want Summary) []string {
	var out []string
	compare := func(class string, have, want Spans) {
		for _, from := range starts(have, want) {
			if a, b := have.At(from), want.At(from); a != b {
				out = append(out, fmt.Sprintf("%s: %s from %d on: %s, want %s", s.Arch, class, from, a, b))
			}
		}
	}
	if s.Arch != want.Arch {
		return []string{fmt.Sprintf("architecture %s, want %s", s.Arch, want.Arch)}
	}
	compare("architecture", s.Arches, want.Arches)
	compare("call", s.Calls, want.Calls)
	for kind := range s.Socket {
		compare(fmt.Sprintf("socket of type %d, family", kind), s.Socket[kind], want.Socket[kind])
		compare(fmt.Sprintf("socket pair of type %d, family", kind), s.Pair[kind], want.Pair[kind])
	}
	for _, w := range watchedCalls {
		if have, want := s.Bits[w.call], want.Bits[w.call]; have != want {
			out = append(out, fmt.Sprintf("%s: %s answers %v by bits, want %v", s.Arch, w.call, have, want))
		}
		compare(w.call+", argument", s.Words[w.call], want.Words[w.call])
	}
	return out
}

// starts is where some span of either begins.
func starts(a, b Spans) []uint32 {
	var out []uint32
	for _, s := range slices.Concat(a, b) {
		out = append(out, s.From)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
