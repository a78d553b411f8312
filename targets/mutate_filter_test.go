package targets

import (
	"encoding/binary"
	"maps"
	"slices"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/seccomp"
)

// instructionSize is that of struct sock_filter: a code, two jumps and a constant
// (linux/filter.h).
const instructionSize = 8

// filterMutants changes the seccomp programs instruction by instruction, each
// field and each jump to every target, and the disassembly with them.
func (b *board) filterMutants(t *testing.T, p *ir.Policy, sample string, files map[string][]byte) {
	for _, arch := range seccomp.Arches() {
		b.programMutants(t, p, sample, files, arch, filterFiles{"seccomp", seccompFile(arch), seccompText(arch), seccomp.Want(p, arch)})
		if p.DeniesSyscalls() {
			b.programMutants(t, p, sample, files, arch, filterFiles{"denied calls", deniedFile(arch), deniedText(arch), seccomp.WantPolicy(p, arch)})
		}
	}
}

// filterFiles is a program, its disassembly, and what it has to grant.
type filterFiles struct {
	what, file, text string
	want             seccomp.Summary
}

func (b *board) programMutants(t *testing.T, p *ir.Policy, sample string, files map[string][]byte, arch seccomp.Arch, f filterFiles) {
	original, want := files[f.file], f.want
	judge := func(mutator, what string, mutant []byte) {
		if slices.Equal(mutant, original) {
			return
		}
		program, err := seccomp.Parse(mutant)
		refused := err != nil || len(seccomp.Grants(program, arch).Differences(want)) > 0
		if !refused { // and nothing else that is validated refuses it
			changed := maps.Clone(files)
			changed[f.file], changed[f.text] = mutant, program.Text()
			refused = Validate(p, changed) != nil
		}
		if what += " of " + string(arch); !refused && sameAnswers(t, original, mutant, arch) {
			what = string(arch) + ", the same answer to every call"
		}
		b.judge(f.what+": "+mutator, sample, what, refused)
	}
	n := len(original) / instructionSize
	for i := range n {
		filterMutant(original, i, n, judge)
	}
}

// filterMutant changes the instruction i of n.
func filterMutant(original []byte, i, n int, judge func(mutator, what string, mutant []byte)) {
	at, what := i*instructionSize, "instruction "+itoa(i)
	in := original[at : at+instructionSize]
	set := func(offset int, value byte) []byte {
		out := slices.Clone(original)
		out[at+offset] = value
		return out
	}
	judge("drop", what, slices.Delete(slices.Clone(original), at, at+instructionSize))
	judge("duplicate", what, slices.Insert(slices.Clone(original), at, in...))
	if i+1 < n {
		swapped := slices.Clone(original)
		copy(swapped[at:], original[at+instructionSize:at+2*instructionSize])
		copy(swapped[at+instructionSize:], in)
		judge("swap with the next", what, swapped)
	}
	for bit := range 8 {
		judge("constant, one bit", what+" bit "+itoa(bit), set(4, in[4]^1<<bit))
	}
	judge("allow to errno and back", what, set(6, in[6]^0xfa)) // 0x7fff0000, 0x00050000
	judge("another instruction", what, set(0, in[0]^0x20))
	for to := range n {
		judge("each jump target, when true", what+" to "+itoa(to), set(2, byte(to)))
		judge("each jump target, when false", what+" to "+itoa(to), set(3, byte(to)))
	}
}

// sameAnswers runs both programs on every number and, for two arguments at a time,
// on every value that either compares with and its neighbours: programs that agree
// there agree everywhere. It uses the interpreter alone, not what Validate reads
// programs with.
func sameAnswers(t *testing.T, a, b []byte, arch seccomp.Arch) bool {
	one, err := seccomp.Parse(a)
	if err != nil {
		t.Fatal(err)
	}
	other, err := seccomp.Parse(b)
	if err != nil {
		return false
	}
	values, arguments := compared(a, b)
	same := func(d seccomp.Data) bool { return seccomp.Run(one, d) == seccomp.Run(other, d) }
	for _, nr := range values {
		call := seccomp.Call(arch, uint32(nr))
		for _, token := range values {
			if d := call; !same(seccomp.Data{Arch: uint32(token), Nr: d.Nr}) {
				return false
			}
		}
		if nr > 0xffff {
			continue // no call has such a number: arguments do not matter
		}
		for _, first := range arguments {
			for _, second := range arguments {
				if call.Args = [6]uint64{first, second, second, first, second, first}; !same(call) {
					return false
				}
				if call.Args = [6]uint64{first, first, second, second, first, second}; !same(call) {
					return false
				}
			}
		}
	}
	return true
}

// compared are the constants of programs, with their neighbours, in order: all of
// them, and those from the first load of an argument on, with which alone an
// argument can be compared.
func compared(programs ...[]byte) (all, arguments []uint64) {
	const loadWord, firstArgument = 0x20, 16 // BPF_LD|BPF_W|BPF_ABS; its offset
	for _, program := range programs {
		loaded := false
		for i := 0; i < len(program); i += instructionSize {
			k := binary.LittleEndian.Uint32(program[i+4:])
			around := []uint64{uint64(k), uint64(k + 1), uint64(k - 1)}
			all = append(all, around...)
			if loaded = loaded || program[i] == loadWord && k >= firstArgument; loaded {
				arguments = append(arguments, around...)
			}
		}
	}
	slices.Sort(all)
	slices.Sort(arguments)
	return slices.Compact(all), slices.Compact(arguments)
}
