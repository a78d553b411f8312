package seccomp

import (
	"fmt"
	"math"
	"slices"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/compiler/syscalls"
	"github.com/obspc/obspc/lang/diag"
)

// Compile writes p's filter for one architecture; every host writes the same
// bytes. Calls of a foreign architecture or interface (i386 on x86_64, x32) kill
// the process: their numbers mean other calls, socketcall(2) among them.
func Compile(p *ir.Policy, arch Arch) Program {
	var b builder
	b.begin(arch)
	list := refusals(p, arch)
	var cases []target
	actions := []Action{Allow}
	for _, r := range list {
		cases = append(cases, to(r.number, r.label()))
		if !slices.Contains(actions, r.answer) {
			actions = append(actions, r.answer)
		}
	}
	b.choose(Allow.String(), cases...)
	for _, r := range list {
		switch r.Part {
		case syscalls.All:
		case syscalls.Families:
			b.sockets(r, p.Unix.Visible)
		default:
			b.watch(r)
		}
	}
	b.exits(append(actions, KillProcess)...)
	return b.program()
}

// label is where calls of r are judged: calls whose arguments stand alike share
// the instructions.
func (r refusal) label() string {
	switch r.Part {
	case syscalls.All:
		return r.answer.String()
	case syscalls.Families:
		return r.Call
	}
	w := r.watch
	return fmt.Sprintf("argument %d: bits %#x, values %#x; flags %d; %s", w.arg, w.bits, w.values, w.flags, r.answer)
}

// begin kills calls of every other interface and loads the number.
func (b *builder) begin(arch Arch) {
	b.load(offArch)
	b.choose(KillProcess.String(), to(arch.audit(), ""))
	b.load(offNumber)
	if arch == X86_64 {
		b.emit(jumpFrom, x32Bit, KillProcess.String(), "")
	}
}

// watch writes what calls answer that are refused by one argument.
func (b *builder) watch(r refusal) {
	if _, done := b.labels[r.label()]; done {
		return
	}
	b.label(r.label())
	w := r.watch
	if w.flags >= 0 {
		b.load(low(w.flags))
		b.emit(andValue, makesFile, "", "")
		b.emit(jumpEqual, 0, Allow.String(), "")
	}
	b.load(low(w.arg))
	if w.bits != 0 {
		b.emit(andValue, w.bits, "", "")
		b.emit(jumpEqual, 0, Allow.String(), r.answer.String())
		return
	}
	var cases []target
	for _, v := range w.values {
		cases = append(cases, to(v, r.answer.String()))
	}
	b.choose(Allow.String(), cases...)
}

// sockets writes what socket(2) or socketpair(2) answers. The kernel takes family
// and type as int, so only the low words count.
func (b *builder) sockets(r refusal, unix bool) {
	b.label(r.label())
	b.load(low(0))
	if r.Call == "socket" {
		b.socket(unix, r.answer.String())
	} else {
		b.socketpair(unix, r.answer.String())
	}
}

// socket writes what socket(2) answers to a family, and where it matters a type.
func (b *builder) socket(unix bool, refuse string) {
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
func (b *builder) socketpair(unix bool, refuse string) {
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
