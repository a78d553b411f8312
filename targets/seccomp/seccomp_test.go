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

// contract is what no policy decides, by number: the calls that answer EPERM and
// ENOSYS, the argument that holds a mode, the one that holds an open's flags (the
// mode comes next), and the calls told apart by a request or by flags.
type contract struct {
	eperm, enosys         []uint32
	modes, opens          map[uint32]int
	ioctl, clone, unshare uint32
}

var contracts = map[uint32]contract{
	0xc000003e: { // x86_64
		eperm: []uint32{
			101, 310, 311, 438, 308, 165, 166, 155, 161, 304, 321, 298, 323, 172, 173, 246, 320, 169, 175, 313, 176,
			164, 227, 305, 159, 167, 168, 179, 443, 163, 103,
		},
		enosys: []uint32{154, 248, 249, 250, 425, 426, 427, 428, 429, 430, 431, 432, 433, 435, 437, 442, 467},
		modes:  map[uint32]int{90: 1, 91: 1, 268: 2, 452: 2, 85: 1, 133: 1, 259: 2},
		opens:  map[uint32]int{2: 1, 257: 2},
		ioctl:  16, clone: 56, unshare: 272,
	},
	0xc00000b7: { // aarch64
		eperm: []uint32{
			117, 270, 271, 438, 268, 40, 39, 41, 51, 265, 280, 241, 282, 104, 294, 142, 105, 273, 106,
			170, 112, 266, 171, 224, 225, 60, 443, 89, 116,
		},
		enosys: []uint32{217, 218, 219, 425, 426, 427, 428, 429, 430, 431, 432, 433, 435, 437, 442, 467},
		modes:  map[uint32]int{52: 1, 53: 2, 452: 2, 33: 2},
		opens:  map[uint32]int{56: 2},
		ioctl:  29, clone: 220, unshare: 97,
	},
}

func expectedOfAnyPolicy(d Data) (Action, bool) {
	c := contracts[d.Arch]
	mode, gives := c.modes[d.Nr]
	if flags, ok := c.opens[d.Nr]; ok {
		mode, gives = flags+1, d.Args[flags]&(0x40|0x400000) != 0
	}
	refused := false
	switch d.Nr {
	case c.ioctl:
		refused = uint32(d.Args[1]) == 0x5412 || uint32(d.Args[1]) == 0x541c
	case c.clone:
		refused = d.Args[0]&0x7e020000 != 0
	case c.unshare:
		refused = d.Args[0]&0x7e020080 != 0
	}
	switch {
	case slices.Contains(c.enosys, d.Nr):
		return Errno(38), true
	case refused, slices.Contains(c.eperm, d.Nr), gives && d.Args[mode]&0o4000 != 0:
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
		for _, nr := range []uint32{16, 29, 56, 220, 97, 272} {
			flagCalls(func(args [6]uint64) { yield(Data{token, nr, args}) })
		}
	}
}

// flagCalls yields every single bit, requests and their neighbours, and what
// libraries ask for, with and without high bits, as each of two arguments.
func flagCalls(yield func([6]uint64)) {
	values := []uint64{0, 0x5411, 0x5412, 0x5413, 0x541b, 0x541c, 0x541d, 0x15412, 0x3d0f00, 0x01200011, 0x4111, ^uint64(0)}
	for bit := range 64 {
		values = append(values, 1<<bit, ^uint64(1<<bit))
	}
	for _, v := range values {
		for _, high := range []uint64{0, 1 << 40, 0x5412 << 32} {
			yield([6]uint64{v | high, 0x5401})
			yield([6]uint64{0, v | high})
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
