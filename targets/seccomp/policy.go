package seccomp

import (
	"fmt"
	"math"
	"slices"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/compiler/syscalls"
)

// The policy's own program is what its syscalls.deny adds: the first process loads it
// last, behind the one that bwrap has loaded. Of two programs the kernel follows the
// stricter answer, and of two errors the one loaded later (kernel/seccomp.c,
// seccomp_run_filters).

// denied are the calls that p denies on a, in the order of their numbers.
func denied(p *ir.Policy, a Arch) []refusal {
	var out []refusal
	for _, rule := range p.Syscalls {
		if nr := numberOf(rule.Name, a); nr != none && !rule.Allow {
			r := syscalls.Refusal{Call: rule.Name, Part: syscalls.All, Answer: syscalls.Denied(rule.Name)}
			out = append(out, refusal{Refusal: r, number: nr, answer: errno(r)})
		}
	}
	slices.SortFunc(out, func(x, y refusal) int { return int(x.number) - int(y.number) })
	return out
}

// stretch is how many calls are compared with before the answers stand again: a jump
// reaches 255 instructions.
const stretch = 200

// CompilePolicy writes what p adds for one architecture: calls of another interface
// kill the process, as in the first program; what no rule denies is allowed, numbers
// that no table has as well. A policy that denies nothing has no such program.
func CompilePolicy(p *ir.Policy, arch Arch) Program {
	const calls = "calls"
	var b builder
	b.load(offArch)
	if arch == X86_64 {
		b.choose(KillProcess.String(), to(arch.audit(), ""))
		b.load(offNumber)
		b.emit(jumpFrom, x32Bit, "", calls)
		b.exits(KillProcess)
		b.label(calls)
	} else {
		b.emit(jumpEqual, arch.audit(), calls, "")
		b.exits(KillProcess)
		b.label(calls)
		b.load(offNumber)
	}
	list := slices.Collect(slices.Chunk(denied(p, arch), stretch))
	for i, part := range list {
		b.stretch(part, i, i+1 == len(list))
	}
	b.exits(Allow)
	return b.program()
}

// stretch writes the comparisons of the i-th part of the list and what they answer.
func (b *builder) stretch(part []refusal, i int, last bool) {
	own := func(a Action) string { return fmt.Sprintf("%s, %d", a, i) }
	next := fmt.Sprintf("stretch %d", i+1)
	if last {
		next = Allow.String()
	}
	var cases []target
	var answers []Action
	for _, r := range part {
		cases = append(cases, to(r.number, own(r.answer)))
		if !slices.Contains(answers, r.answer) {
			answers = append(answers, r.answer)
		}
	}
	b.choose(next, cases...)
	for _, a := range answers {
		b.label(own(a))
		b.emit(returnAs, uint32(a), "", "")
	}
	b.label(next)
}

// WantPolicy is what the policy's own program has to grant, exactly, worked out from
// the tables alone: no argument matters to it.
func WantPolicy(p *ir.Policy, arch Arch) Summary {
	s := own(arch)
	list := denied(p, arch)
	breaks := []uint32{x32Bit}
	for _, r := range list {
		breaks = append(breaks, r.number, r.number+1)
	}
	answer := func(nr uint32) Answer { return wantCall(list, arch, nr) }
	s.Calls = spans(breaks, answer)
	if len(s.Calls) == 1 { // it denies nothing that this architecture has
		s.Arches = interfaces(arch, s.Calls[0].Answer)
	}
	all := func(name string) Answer { return answer(numberOf(name, arch)) }
	for kind := range uint32(sockTypeMask + 1) {
		s.Socket[kind] = Spans{{0, math.MaxUint32, all("socket")}}
		s.Pair[kind] = Spans{{0, math.MaxUint32, all("socketpair")}}
	}
	for _, w := range watchedCalls {
		switch a := all(w.call); {
		case numberOf(w.call, arch) == none:
		case w.bits == 0:
			s.Words[w.call] = Spans{{0, math.MaxUint32, a}}
		default:
			s.Bits[w.call] = Bits{None: a, Some: a}
			if w.flags >= 0 {
				s.Bits[w.call] = Bits{a, a, a}
			}
		}
	}
	return s
}
