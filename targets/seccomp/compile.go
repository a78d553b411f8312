package seccomp

import (
	"fmt"
	"math"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang/diag"
)

// Compile writes p's filter for one architecture; every host writes the same
// bytes. Calls of a foreign architecture or interface (i386 on x86_64, x32) kill
// the process: their numbers mean other calls, socketcall(2) among them.
func Compile(p *ir.Policy, arch Arch) Program {
	var b builder
	b.load(offArch)
	b.choose(KillProcess.String(), to(arch.audit(), ""))
	b.load(offNumber)
	if arch == X86_64 {
		b.emit(jumpFrom, x32Bit, KillProcess.String(), "")
	}
	var cases []target
	for _, r := range fixed {
		cases = append(cases, to(numberOf(r.call, arch), r.answer.String()))
	}
	cases = append(cases, to(numberOf("socket", arch), "socket"), to(numberOf("socketpair", arch), "socketpair"))
	var checked []moded
	for _, m := range modedCalls {
		if nr := numberOf(m.call, arch); nr != none {
			cases, checked = append(cases, to(nr, m.block())), append(checked, m)
		}
	}
	b.choose(Allow.String(), cases...)
	b.socket(p.Unix.Visible)
	b.socketpair(p.Unix.Visible)
	b.modes(checked)
	b.exits(Allow, Errno(eafnosupport), Errno(enosys), Errno(eperm), KillProcess)
	return b.program()
}

// block is the label of the instructions that judge m: calls whose arguments
// stand alike share them.
func (m moded) block() string {
	if m.flags < 0 {
		return fmt.Sprintf("mode %d", m.mode)
	}
	return fmt.Sprintf("mode %d flags %d", m.mode, m.flags)
}

// modes writes what the calls that give a file its mode answer.
func (b *builder) modes(list []moded) {
	refuse := Errno(eperm).String()
	for _, m := range list {
		if _, done := b.labels[m.block()]; done {
			continue
		}
		b.label(m.block())
		if m.flags >= 0 {
			b.load(low(m.flags))
			b.emit(andValue, makesFile, "", "")
			b.emit(jumpEqual, 0, Allow.String(), "")
		}
		b.load(low(m.mode))
		b.emit(andValue, setUserID, "", "")
		b.emit(jumpEqual, 0, Allow.String(), refuse)
	}
}

// socket writes what socket(2) answers, by family and, where it matters, type.
// The kernel takes both as int, so only the low words count.
func (b *builder) socket(unix bool) {
	refuse := Errno(eafnosupport).String()
	b.label("socket")
	b.load(low(0))
	var cases []target
	for _, f := range families {
		switch {
		case f.unix && !unix:
		case len(f.except) > 0:
			cases = append(cases, to(f.number, f.name))
		default:
			cases = append(cases, to(f.number, Allow.String()))
		}
	}
	b.choose(refuse, cases...)
	for _, f := range families {
		if len(f.except) == 0 || f.unix && !unix {
			continue
		}
		b.label(f.name)
		b.loadType()
		cases = nil
		for _, t := range f.except {
			cases = append(cases, to(t, refuse))
		}
		b.choose(Allow.String(), cases...)
	}
}

// socketpair writes what socketpair(2) answers: Unix-domain pairs, of the types
// that stay paired unless Unix-domain sockets may be made anyway.
func (b *builder) socketpair(unix bool) {
	refuse := Errno(eafnosupport).String()
	b.label("socketpair")
	b.load(low(0))
	if unix {
		b.choose(refuse, to(afUnix, Allow.String()))
		return
	}
	b.choose(refuse, to(afUnix, ""))
	b.loadType()
	var cases []target
	for _, t := range pairTypes {
		cases = append(cases, to(t, Allow.String()))
	}
	b.choose(refuse, cases...)
}

// target is where a comparison with the value k leads when they are equal; ""
// is the next instruction.
type target struct {
	k     uint32
	label string
}

func to(k uint32, label string) target { return target{k, label} }

// builder collects instructions whose jumps name labels.
type builder struct {
	code   []instruction
	yes    []string // by instruction: the labels that jt and jf stand for
	no     []string
	labels map[string]int
}

func (b *builder) emit(code uint16, k uint32, yes, no string) {
	b.code = append(b.code, instruction{code: code, k: k})
	b.yes, b.no = append(b.yes, yes), append(b.no, no)
}

func (b *builder) load(offset uint32) { b.emit(loadWord, offset, "", "") }

// loadType loads the type of socket(2) and socketpair(2) without its flags.
func (b *builder) loadType() {
	b.load(low(1))
	b.emit(andValue, sockTypeMask, "", "")
}

// choose compares with each value in turn; none equal leads to otherwise.
func (b *builder) choose(otherwise string, cases ...target) {
	for i, c := range cases {
		no := ""
		if i == len(cases)-1 {
			no = otherwise
		}
		b.emit(jumpEqual, c.k, c.label, no)
	}
}

func (b *builder) label(name string) {
	if b.labels == nil {
		b.labels = map[string]int{}
	}
	b.labels[name] = len(b.code)
}

// exits ends the program: one return for each action, labelled by its words.
func (b *builder) exits(actions ...Action) {
	for _, a := range actions {
		b.label(a.String())
		b.emit(returnAs, uint32(a), "", "")
	}
}

// program resolves the labels and puts the result through the same check as
// bytes from outside.
func (b *builder) program() Program {
	for i := range b.code {
		b.code[i].jt, b.code[i].jf = b.distance(i, b.yes[i]), b.distance(i, b.no[i])
	}
	p, err := check(b.code)
	if err != nil {
		diag.Bug("compiled %v", err)
	}
	return p
}

func (b *builder) distance(from int, label string) uint8 {
	if label == "" {
		return 0
	}
	at, ok := b.labels[label]
	d := at - from - 1
	if !ok || d < 0 || d > math.MaxUint8 {
		diag.Bug("seccomp label %q is %d instructions away", label, d)
	}
	return uint8(d)
}
