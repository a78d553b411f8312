package seccomp

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
)

// sockets are the two policies that the filter tells apart.
var sockets = map[string]*ir.Policy{
	"none":    {Unix: ir.UnixRule{}},
	"visible": {Unix: ir.UnixRule{Visible: true}},
}

// each runs f for every policy and architecture.
func each(t *testing.T, f func(t *testing.T, p *ir.Policy, a Arch, prog Program)) {
	for word, p := range sockets {
		for _, a := range Arches() {
			t.Run(word+" "+string(a), func(t *testing.T) { f(t, p, a, Compile(p, a)) })
		}
	}
}

// expected is the contract in words of its own: nothing here reads the tables.
func expected(p *ir.Policy, d Data) Action {
	socket, pair := uint32(41), uint32(53)
	switch d.Arch {
	case 0xc000003e: // x86_64
		if d.Nr >= 0x40000000 {
			return KillProcess
		}
	case 0xc00000b7: // aarch64
		socket, pair = 198, 199
	default:
		return KillProcess
	}
	family, kind := uint32(d.Args[0]), uint32(d.Args[1])&15
	if answer, ok := expectedOfAnyPolicy(d); ok {
		return answer
	}
	switch d.Nr {
	case socket:
		if family == 10 || family == 2 && kind != 10 || family == 1 && p.Unix.Visible {
			return Allow
		}
		return Errno(97)
	case pair:
		if family == 1 && (kind == 1 || kind == 5 || p.Unix.Visible) {
			return Allow
		}
		return Errno(97)
	}
	return Allow
}

// expectedOfAnyPolicy is what no policy decides: calls that are refused, and calls
// that give a file its mode.
func expectedOfAnyPolicy(d Data) (Action, bool) {
	keys, others := []uint32{248, 249, 250}, []uint32{101, 310, 311, 438}
	modes := map[uint32]int{90: 1, 91: 1, 268: 2, 452: 2, 85: 1, 133: 1, 259: 2}
	opens := map[uint32]int{2: 1, 257: 2} // the flags; the mode comes next
	if d.Arch == 0xc00000b7 {
		keys, others = []uint32{217, 218, 219}, []uint32{117, 270, 271, 438}
		modes, opens = map[uint32]int{52: 1, 53: 2, 452: 2, 33: 2}, map[uint32]int{56: 2}
	}
	rings := []uint32{425, 426, 427}
	mode, gives := modes[d.Nr]
	if flags, ok := opens[d.Nr]; ok {
		mode, gives = flags+1, d.Args[flags]&(0x40|0x400000) != 0
	}
	switch {
	case slices.Contains(rings, d.Nr) || slices.Contains(keys, d.Nr):
		return Errno(38), true
	case slices.Contains(others, d.Nr) || gives && d.Args[mode]&0o4000 != 0:
		return Errno(1), true
	}
	return 0, false
}

// everyCall yields each class of call on each interface that shares or foreign
// token: every number, every family and type with and without flags and high
// bits.
func everyCall(yield func(Data)) {
	tokens := []uint32{0xc000003e, 0xc00000b7, 0x40000003, 0x40000028, 0, 0xffffffff}
	numbers := []uint32{0x3fffffff, 0x40000000, 0x40000029, 0x40000035, 0x7fffffff, 0x80000000, 0xffffffff}
	for nr := range uint32(601) {
		numbers = append(numbers, nr)
	}
	for _, token := range tokens {
		for _, nr := range numbers {
			yield(Data{Arch: token, Nr: nr})
			yield(Data{Arch: token, Nr: nr, Args: [6]uint64{^uint64(0), ^uint64(0), ^uint64(0), 0, 0, 0}})
		}
		for _, nr := range []uint32{41, 53, 198, 199} {
			socketCalls(func(args [6]uint64) { yield(Data{token, nr, args}) })
		}
		for _, nr := range []uint32{2, 33, 52, 53, 56, 85, 90, 91, 133, 257, 259, 268, 452} {
			modeCalls(func(args [6]uint64) { yield(Data{token, nr, args}) })
		}
	}
}

// modeCalls yields every combination of one bit and of all others in each of
// three neighbouring arguments, which are flags and mode of some call.
func modeCalls(yield func([6]uint64)) {
	var values []uint64
	for _, v := range []uint64{0, 0x40, 0x400000, 0x400040, 0o4000, 0o2000, 0o1000, 0o10000, 0o644, 0x80000, 1 << 31, 0o4000 << 32} {
		values = append(values, v, ^v)
	}
	for _, a := range values {
		for _, b := range values {
			yield([6]uint64{7, a, b})
			yield([6]uint64{7, 7, a, b})
		}
	}
}

func socketCalls(yield func([6]uint64)) {
	families := []uint64{64, 127, 255, 1 << 16, 0x01000000, 0x7fffffff, 0x80000001, 0xffffffff}
	for f := range uint64(64) {
		families = append(families, f)
	}
	for _, f := range families {
		for kind := range uint64(16) {
			for _, flags := range []uint64{0, 0x80000, 0x800, 0x80800} {
				yield([6]uint64{f, kind | flags, 7})
				yield([6]uint64{f | 0xdead<<32, kind | flags | 0xbeef<<32})
			}
		}
	}
}

func TestEveryClassOfCallGetsItsAnswer(t *testing.T) {
	each(t, func(t *testing.T, p *ir.Policy, a Arch, prog Program) {
		reached := map[int]bool{}
		everyCall(func(d Data) {
			want := expected(p, d)
			if d.Arch != a.audit() {
				want = KillProcess
			}
			if got := prog.run(d, func(i int) { reached[i] = true }); got != want {
				t.Errorf("Run(%#v) = %v, want %v", d, got, want)
			}
		})
		if len(reached) != len(prog.code) {
			t.Errorf("%d of %d instructions were reached", len(reached), len(prog.code))
		}
	})
}

func TestProgramsGrantWhatIsWanted(t *testing.T) {
	each(t, func(t *testing.T, p *ir.Policy, a Arch, prog Program) {
		back, err := Parse(prog.Bytes())
		if err != nil || !back.Equal(prog) {
			t.Fatalf("Parse(Bytes()) = %v, %v", back, err)
		}
		got := Grants(back, a)
		for _, d := range got.Differences(Want(p, a)) {
			t.Error(d)
		}
		if got.UnixSockets() != p.Unix.Visible {
			t.Errorf("UnixSockets() = %v, want %v", got.UnixSockets(), p.Unix.Visible)
		}
		for _, other := range Arches() {
			if other != a && len(Grants(back, other).Differences(Want(p, other))) == 0 {
				t.Errorf("the program for %s passes as one for %s", a, other)
			}
		}
	})
}

func TestNoProgramGrantsNothing(t *testing.T) {
	if got := Run(Program{}, Call(X86_64, 0)); got != KillProcess {
		t.Errorf("Run of the zero Program = %v, want %v", got, KillProcess)
	}
	if got := Grants(Program{}, X86_64); got.UnixSockets() || got.Calls.At(0) != (Answer{Action: KillProcess}) {
		t.Errorf("Grants of the zero Program = %v", got)
	}
}

// TestText holds each program's disassembly and digest. OBSPC_UPDATE=1 rewrites
// them, and fails so that nobody takes such a run for a test.
func TestText(t *testing.T) {
	each(t, func(t *testing.T, p *ir.Policy, a Arch, prog Program) {
		got := fmt.Appendf(prog.Text(), "# sha256 %x\n", sha256.Sum256(prog.Bytes()))
		word := "none"
		if p.Unix.Visible {
			word = "visible"
		}
		name := filepath.Join("testdata", "unix-"+word+"-"+string(a)+".txt")
		if os.Getenv("OBSPC_UPDATE") != "" {
			if err := os.WriteFile(name, got, 0o644); err != nil {
				t.Fatal(err)
			}
			t.Errorf("%s was rewritten", name)
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("Text() differs from %s; got\n%s", name, got)
		}
	})
}

func TestActionWords(t *testing.T) {
	for a, want := range map[Action]string{
		Allow: "allow", KillProcess: "kill process", Errno(97): "errno EAFNOSUPPORT", Errno(13): "errno 13", 0x7ff00000: "action 0x7ff00000",
	} {
		if got := a.String(); got != want {
			t.Errorf("Action(%#x).String() = %q, want %q", uint32(a), got, want)
		}
	}
}
