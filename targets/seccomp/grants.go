package seccomp

import (
	"math"
	"slices"
)

// Answer is what a class of calls gets: one action, or Mixed, when something the
// class leaves open decides between several.
type Answer struct {
	Action Action
	Mixed  bool
}

func (a Answer) String() string {
	if a.Mixed {
		return "depends"
	}
	return a.Action.String()
}

// MayAllow reports whether some call of the class is carried out.
func (a Answer) MayAllow() bool { return a.Mixed || a.Action == Allow }

// Span is the values From to To, both included, that get one answer.
type Span struct {
	From, To uint32
	Answer   Answer
}

// Spans cover every 32-bit value once, in order; neighbours differ. So the same
// meaning is the same Spans, however a program is written.
type Spans []Span

// At is the answer v gets.
func (s Spans) At(v uint32) Answer {
	for _, span := range s {
		if v <= span.To {
			return span.Answer
		}
	}
	return Answer{Mixed: true}
}

// Summary is everything a program grants on one architecture.
type Summary struct {
	Arch Arch
	// Arches is by audit token: Mixed for the architecture's own, where the call
	// decides.
	Arches Spans
	// Calls is by number, on the own architecture: Mixed where arguments decide.
	Calls Spans
	// Socket and Pair are by address family, for each socket type (the type
	// argument less its flags): what socket(2) and socketpair(2) answer.
	Socket, Pair [sockTypeMask + 1]Spans
	// Bits is by call that is judged by bits of one argument, Words by call that is
	// judged by one argument's low word.
	Bits  map[string]Bits
	Words map[string]Spans
}

// Bits is what such a call answers: when none of the bits is set, when some is,
// and, of an open, when it makes no file.
type Bits struct {
	None, Some, NoFile Answer
}

// UnixSockets reports whether a socket can be made that connects to a path.
func (s Summary) UnixSockets() bool {
	for t := range s.Socket {
		if s.Socket[t].At(afUnix).MayAllow() {
			return true
		}
	}
	return s.Pair[sockDatagram].At(afUnix).MayAllow() || s.Pair[sockRaw].At(afUnix).MayAllow()
}

// Grants reads back what p grants to calls on arch, for every value of every
// word: a program is constant between the values it compares a word with. What a
// class leaves open is followed both ways, so a grant that hangs on it shows as
// Mixed and is never overlooked.
func Grants(p Program, arch Arch) Summary {
	s := Summary{Arch: arch}
	own := known{}.with(offArch, whole(arch.audit()))
	s.Arches = spans(p.breaks(offArch), func(token uint32) Answer {
		return p.answer(known{}.with(offArch, whole(token)))
	})
	s.Calls = spans(p.breaks(offNumber), func(nr uint32) Answer {
		return p.answer(own.with(offNumber, whole(nr)))
	})
	for kind := range uint32(sockTypeMask + 1) {
		s.Socket[kind] = p.byFamily(own, numberOf("socket", arch), kind)
		s.Pair[kind] = p.byFamily(own, numberOf("socketpair", arch), kind)
	}
	s.Bits, s.Words = map[string]Bits{}, map[string]Spans{}
	for _, w := range watchedCalls {
		nr := numberOf(w.call, arch)
		if nr == none {
			continue
		}
		call := own.with(offNumber, whole(nr))
		if w.bits != 0 {
			s.Bits[w.call] = p.byBits(call, w)
			continue
		}
		s.Words[w.call] = spans(p.breaks(low(w.arg)), func(v uint32) Answer {
			return p.answer(call.with(low(w.arg), whole(v)))
		})
	}
	return s
}

func (p Program) byBits(call known, w watched) Bits {
	var out Bits
	if w.flags >= 0 {
		out.NoFile = p.answer(call.with(low(w.flags), fact{mask: makesFile}))
		call = call.with(low(w.flags), fact{mask: makesFile, some: true})
	}
	out.None = p.answer(call.with(low(w.arg), fact{mask: w.bits}))
	out.Some = p.answer(call.with(low(w.arg), fact{mask: w.bits, some: true}))
	return out
}

func (p Program) byFamily(own known, nr, kind uint32) Spans {
	call := own.with(offNumber, whole(nr)).with(low(1), fact{value: kind, mask: sockTypeMask})
	return spans(p.breaks(low(0)), func(family uint32) Answer {
		return p.answer(call.with(low(0), whole(family)))
	})
}

// spans asks at 0 and at each break, and joins neighbours with the same answer.
func spans(breaks []uint32, answer func(uint32) Answer) Spans {
	breaks = append([]uint32{0}, breaks...)
	slices.Sort(breaks)
	var out Spans
	for _, from := range slices.Compact(breaks) {
		a := answer(from)
		if n := len(out); n > 0 {
			if out[n-1].Answer == a {
				continue
			}
			out[n-1].To = from - 1
		}
		out = append(out, Span{from, math.MaxUint32, a})
	}
	return out
}

// breaks is every value at which a comparison with the whole word at offset can
// turn.
func (p Program) breaks(offset uint32) []uint32 {
	var out []uint32
	for i, in := range p.code {
		if p.terms[i] != (term{offset, ^uint32(0)}) {
			continue
		}
		switch in.code {
		case jumpEqual:
			out = append(out, in.k)
			if in.k < math.MaxUint32 {
				out = append(out, in.k+1)
			}
		case jumpFrom:
			out = append(out, in.k)
		}
	}
	return out
}

// fact is what is known of a word: its bits inside mask are those of value or, if
// some, not all of them zero.
type fact struct {
	value, mask uint32
	some        bool
}

// whole is a word that is known.
func whole(value uint32) fact { return fact{value: value, mask: ^uint32(0)} }

// known holds what is known of each word, in the order of their offsets.
type known [dataSize / 4]fact

func (k known) with(offset uint32, f fact) known {
	k[offset/4] = f
	return k
}

// answer collects what every way through p that fits the facts returns. A class
// stands for a whole span of a word, so a word known entirely answers only
// comparisons of the whole word; one known in part, those within its mask.
func (p Program) answer(k known) Answer {
	if len(p.code) == 0 {
		return Answer{Action: KillProcess}
	}
	var reached instructions
	reached.add(0)
	var out Answer
	found := false
	for i, in := range p.code {
		if !reached.has(i) {
			continue
		}
		switch in.code {
		case returnAs:
			if found && out.Action != Action(in.k) {
				return Answer{Mixed: true}
			}
			out, found = Answer{Action: Action(in.k)}, true
		case jumpEqual, jumpFrom:
			yes, no := k.follow(in, p.terms[i])
			if yes {
				reached.add(i + 1 + int(in.jt))
			}
			if no {
				reached.add(i + 1 + int(in.jf))
			}
		default:
			reached.add(i + 1)
		}
	}
	return out
}

// instructions is a set of places in a program, as bits: it is made afresh for every
// answer.
type instructions [maxInstructions / 64]uint64

func (s *instructions) add(i int)      { s[i/64] |= 1 << (i % 64) }
func (s *instructions) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }

// follow tells which ways a comparison can go.
func (k *known) follow(in instruction, t term) (yes, no bool) {
	f := k[t.offset/4]
	whole := f.mask == ^uint32(0)
	if f.mask == 0 || whole != (t.mask == ^uint32(0)) || t.mask&^f.mask != 0 {
		return true, true
	}
	if f.some {
		return t.mask != f.mask || in.k != 0, true
	}
	v := f.value & t.mask
	hit := v == in.k || in.code == jumpFrom && v > in.k
	return hit, !hit
}
