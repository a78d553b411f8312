package seccomp

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Instruction codes of the fragment that programs are written in
// (linux/bpf_common.h). Everything else the kernel knows is outside it.
const (
	loadWord  = 0x20 // BPF_LD|BPF_W|BPF_ABS: A = the 32-bit word at offset K
	andValue  = 0x54 // BPF_ALU|BPF_AND|BPF_K: A &= K
	jumpEqual = 0x15 // BPF_JMP|BPF_JEQ|BPF_K: A == K ? JT : JF
	jumpFrom  = 0x35 // BPF_JMP|BPF_JGE|BPF_K: A >= K ? JT : JF
	returnAs  = 0x06 // BPF_RET|BPF_K: the answer is K
)

// maxInstructions is the longest program the kernel takes (BPF_MAXINSNS in
// linux/bpf_common.h); instructionSize is the size of one (struct sock_filter in
// linux/filter.h).
const (
	maxInstructions = 4096
	instructionSize = 8
)

// Offsets in struct seccomp_data (linux/seccomp.h). Arguments are 64 bits wide;
// their low word comes first on both architectures. The instruction pointer
// between them is outside the fragment: nothing a policy says depends on it.
const (
	offNumber = 0
	offArch   = 4
	offArgs   = 16
	dataSize  = 64
)

// low is the offset of the low word of argument i.
func low(i int) uint32 { return offArgs + 8*uint32(i) }

// instruction is one struct sock_filter. Jumps are relative to the next
// instruction and go forward only.
type instruction struct {
	code   uint16
	jt, jf uint8
	k      uint32
}

// term is what a comparison looks at: the word at an offset, less the bits
// outside mask.
type term struct {
	offset, mask uint32
}

// Program is a checked filter: Compile and Parse make the only ones. The zero
// Program holds no instruction and kills everything.
type Program struct {
	code  []instruction
	terms []term // by instruction: what A holds before it
}

// Bytes is the program as bubblewrap reads it: an array of struct sock_filter,
// little endian.
func (p Program) Bytes() []byte {
	out := make([]byte, 0, len(p.code)*instructionSize)
	for _, in := range p.code {
		out = binary.LittleEndian.AppendUint16(out, in.code)
		out = append(out, in.jt, in.jf)
		out = binary.LittleEndian.AppendUint32(out, in.k)
	}
	return out
}

// Equal reports whether both are the same instructions.
func (p Program) Equal(q Program) bool { return slices.Equal(p.code, q.code) }

// Parse reads a program of the fragment strictly: whole instructions, at most
// 4096, every one known, reachable and without stray bits, every jump forward
// and inside, no way past the end, and one known word under every comparison.
// What it accepts the kernel accepts, and Grants can judge.
func Parse(data []byte) (Program, error) {
	switch {
	case len(data) == 0 || len(data)%instructionSize != 0:
		return Program{}, fmt.Errorf("seccomp program: %d bytes are no whole number of instructions", len(data))
	case len(data) > maxInstructions*instructionSize:
		return Program{}, fmt.Errorf("seccomp program: %d instructions, the kernel takes %d", len(data)/instructionSize, maxInstructions)
	}
	code := make([]instruction, len(data)/instructionSize)
	for i := range code {
		raw := data[i*instructionSize:]
		code[i] = instruction{binary.LittleEndian.Uint16(raw), raw[2], raw[3], binary.LittleEndian.Uint32(raw[4:])}
	}
	return check(code)
}

// check holds code to the fragment and works out every term. Jumps go forward
// only, so one pass sees each instruction after all that lead to it.
func check(code []instruction) (Program, error) {
	p := Program{code, make([]term, len(code))}
	reached := make([]bool, len(code))
	reached[0] = true
	for i, in := range code {
		fail := func(format string, args ...any) (Program, error) {
			return Program{}, fmt.Errorf("seccomp program: instruction %d %s", i, fmt.Sprintf(format, args...))
		}
		if !reached[i] {
			return fail("is never reached")
		}
		after, next, err := step(in, p.terms[i])
		if err != nil {
			return fail("%v", err)
		}
		for _, by := range next {
			to := i + 1 + int(by)
			if to >= len(code) {
				return fail("leads past the end")
			}
			holds := after
			if reached[to] && p.terms[to] != after {
				holds = term{} // what A holds there depends on the way taken
			}
			reached[to], p.terms[to] = true, holds
		}
	}
	return p, nil
}

// step checks one instruction by itself: what A holds after it, and which jumps
// it may take.
func step(in instruction, a term) (term, []uint8, error) {
	if in.code != jumpEqual && in.code != jumpFrom && (in.jt != 0 || in.jf != 0) {
		return a, nil, fmt.Errorf("is no jump and has jump targets")
	}
	switch in.code {
	case loadWord:
		if in.k%4 != 0 || in.k >= dataSize || in.k > offArch && in.k < offArgs {
			return a, nil, fmt.Errorf("loads the word at %d, which is no number, architecture or argument", in.k)
		}
		return term{in.k, ^uint32(0)}, []uint8{0}, nil
	case andValue:
		if a.mask != ^uint32(0) || in.k == 0 || in.k == ^uint32(0) {
			return a, nil, fmt.Errorf("masks what is no whole word, or not at all")
		}
		return term{a.offset, in.k}, []uint8{0}, nil
	case jumpEqual, jumpFrom:
		switch {
		case a.mask == 0:
			return a, nil, fmt.Errorf("compares what was not loaded on every way to it")
		case in.k&^a.mask != 0:
			return a, nil, fmt.Errorf("compares with bits that were masked off")
		case in.code == jumpFrom && a.mask != ^uint32(0):
			return a, nil, fmt.Errorf("orders a masked word")
		case in.jt == in.jf:
			return a, nil, fmt.Errorf("goes the same way whatever it finds")
		}
		return a, []uint8{in.jt, in.jf}, nil
	case returnAs:
		if !Action(in.k).known() {
			return a, nil, fmt.Errorf("returns %s, which no program of ours does", Action(in.k))
		}
		return a, nil, nil
	}
	return a, nil, fmt.Errorf("has the code %#x, which is outside the fragment", in.code)
}
