package seccomp

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
)

// encode is code as bytes, checked or not.
func encode(code ...instruction) []byte { return Program{code: code}.Bytes() }

func TestParseRefuses(t *testing.T) {
	allow := instruction{code: returnAs, k: uint32(Allow)}
	kill := instruction{code: returnAs, k: uint32(KillProcess)}
	load := instruction{code: loadWord, k: offNumber}
	for _, tt := range []struct {
		name string
		data []byte
		want string // part of the error; "" is accepted
	}{
		{"one return", encode(allow), ""},
		{"a comparison", encode(load, instruction{jumpEqual, 0, 1, 7}, allow, kill), ""},
		{"nothing", nil, "no whole number"},
		{"half an instruction", encode(allow)[:4], "no whole number"},
		{"a byte more", append(encode(allow), 0), "no whole number"},
		{"4,096 instructions", encode(append(slices.Repeat([]instruction{load}, 4095), allow)...), ""},
		{"4,097 instructions", encode(append(slices.Repeat([]instruction{load}, 4096), allow)...), "the kernel takes 4096"},
		{"no return", encode(load), "leads past the end"},
		{"a jump to the end", encode(load, instruction{jumpEqual, 0, 2, 7}, allow, kill), "leads past the end"},
		{"a jump far past it", encode(load, instruction{jumpEqual, 255, 0, 7}, allow), "leads past the end"},
		{"dead code", encode(allow, kill), "instruction 1 is never reached"},
		{"skipped code", encode(load, instruction{jumpEqual, 1, 2, 7}, kill, allow, kill), "instruction 2 is never reached"},
		{"the same way twice", encode(load, instruction{jumpEqual, 0, 0, 7}, allow), "the same way"},
		{"jump targets of a return", encode(instruction{returnAs, 1, 0, uint32(Allow)}, allow), "is no jump"},
		{"nothing loaded", encode(instruction{jumpEqual, 0, 1, 0}, allow, kill), "not loaded on every way"},
		{"loaded on one way", encode(load, instruction{jumpEqual, 1, 0, 7}, instruction{code: loadWord, k: 16}, instruction{jumpEqual, 0, 1, 0}, allow, kill), "not loaded on every way"},
		{"an unaligned word", encode(instruction{code: loadWord, k: 2}, allow), "loads the word at 2"},
		{"past the data", encode(instruction{code: loadWord, k: 64}, allow), "loads the word at 64"},
		{"the instruction pointer", encode(instruction{code: loadWord, k: 8}, allow), "loads the word at 8"},
		{"the last argument", encode(instruction{code: loadWord, k: 60}, allow), ""},
		{"a mask on nothing", encode(instruction{code: andValue, k: 15}, allow), "masks what is no whole word"},
		{"two masks", encode(load, instruction{code: andValue, k: 15}, instruction{code: andValue, k: 7}, allow), "masks what is no whole word"},
		{"an empty mask", encode(load, instruction{code: andValue}, allow), "masks"},
		{"a value outside the mask", encode(load, instruction{code: andValue, k: 15}, instruction{jumpEqual, 0, 1, 16}, allow, kill), "masked off"},
		{"order of a masked word", encode(load, instruction{code: andValue, k: 15}, instruction{jumpFrom, 0, 1, 3}, allow, kill), "orders a masked word"},
		{"errno 0", encode(instruction{code: returnAs, k: 0x00050000}), "returns errno 0"},
		{"an errno too large", encode(instruction{code: returnAs, k: 0x00051000}), "returns errno 4096"},
		{"user notification", encode(instruction{code: returnAs, k: 0x7fc00000}), "returns action"},
		{"allow with data", encode(instruction{code: returnAs, k: 0x7fff0001}), "returns action"},
		{"return A", encode(load, instruction{code: 0x16}), "outside the fragment"},
		{"a jump backwards by 32 bits", encode(load, instruction{code: 0x05, k: 0xfffffffe}, allow), "outside the fragment"},
		{"a store", encode(load, instruction{code: 0x02}, allow), "outside the fragment"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Parse(tt.data)
			switch {
			case tt.want == "" && (err != nil || !bytes.Equal(p.Bytes(), tt.data)):
				t.Errorf("Parse(%x) = %v, want it accepted", tt.data, err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("Parse(%x) = %v, want an error with %q", tt.data, err, tt.want)
			}
		})
	}
}

// mutants yields every program that differs from code by one fault, with the
// fault's name.
func mutants(code []instruction, yield func(fault string, code []instruction)) {
	change := func(i int, fault string, f func(*instruction)) {
		next := slices.Clone(code)
		if f(&next[i]); next[i] != code[i] {
			yield(fmt.Sprintf("%s %d", fault, i), next)
		}
	}
	for i, in := range code {
		yield(fmt.Sprintf("drop %d", i), slices.Delete(slices.Clone(code), i, i+1))
		yield(fmt.Sprintf("duplicate %d", i), slices.Insert(slices.Clone(code), i, in))
		if i > 0 {
			next := slices.Clone(code)
			next[i-1], next[i] = next[i], next[i-1]
			yield(fmt.Sprintf("swap %d", i), next)
		}
		for _, k := range []uint32{in.k + 1, in.k - 1, in.k ^ 1<<31, 0, uint32(Allow), uint32(KillProcess), uint32(Errno(1))} {
			change(i, "value", func(in *instruction) { in.k = k })
		}
		if in.code == jumpEqual || in.code == jumpFrom {
			for at := i + 1; at < len(code); at++ {
				change(i, fmt.Sprintf("then to %d at", at), func(in *instruction) { in.jt = uint8(at - i - 1) })
				change(i, fmt.Sprintf("else to %d at", at), func(in *instruction) { in.jf = uint8(at - i - 1) })
			}
			change(i, "swap ways", func(in *instruction) { in.jt, in.jf = in.jf, in.jt })
			change(i, "equal to from", func(in *instruction) { in.code = jumpEqual + jumpFrom - in.code })
		}
	}
}

// equivalent reports whether the mutant means what the original does, on every
// class of call.
func equivalent(a, b Program) bool {
	same := true
	everyCall(func(d Data) { same = same && Run(a, d) == Run(b, d) })
	return same
}

// TestGrantsSeesEveryMutation holds each mutant to: refused by Parse, or seen by
// Grants, or the same program in other words.
func TestGrantsSeesEveryMutation(t *testing.T) {
	each(t, func(t *testing.T, p *ir.Policy, a Arch, prog Program) {
		count := map[string]int{}
		want := Want(p, a)
		mutants(prog.code, func(fault string, code []instruction) {
			mutant, err := Parse(encode(code...))
			switch {
			case err != nil:
				count["refused"]++
			case len(Grants(mutant, a).Differences(want)) > 0:
				count["seen"]++
			case equivalent(prog, mutant):
				count["equivalent"]++
			default:
				t.Errorf("%s: the mutant passes and means something else\n%s", fault, mutant.Text())
			}
		})
		t.Logf("mutants: %v", count)
		if count["refused"] < 100 || count["seen"] < 150 {
			t.Errorf("mutants %v: too few to mean anything", count)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, p := range sockets {
		for _, a := range Arches() {
			f.Add(Compile(p, a).Bytes(), uint32(41), uint64(1), uint64(2))
		}
	}
	f.Add(encode(instruction{code: returnAs, k: uint32(Allow)}), uint32(0), uint64(0), uint64(0))
	f.Add([]byte("\x05\x00\x00\x00\xff\xff\xff\xff"), uint32(0), uint64(0), uint64(0))
	f.Fuzz(func(t *testing.T, data []byte, nr uint32, family, kind uint64) {
		p, err := Parse(data)
		if err != nil {
			return
		}
		if !bytes.Equal(p.Bytes(), data) {
			t.Fatalf("Parse(%x).Bytes() = %x", data, p.Bytes())
		}
		p.Text()
		for _, a := range Arches() {
			s, d := Grants(p, a), Call(a, nr, family, kind)
			answers := []Answer{s.Arches.At(d.Arch), s.Calls.At(nr)}
			if nr == numberOf("socket", a) {
				answers = append(answers, s.Socket[kind&sockTypeMask].At(uint32(family)))
			}
			got := Run(p, d)
			for _, want := range answers {
				if !want.Mixed && want.Action != got {
					t.Errorf("Run(%x, %#v) = %v, Grants says %v", data, d, got, want)
				}
			}
		}
	})
}
