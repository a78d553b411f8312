package seccomp

import (
	"fmt"
	"strconv"

	"github.com/obspc/obspc/compiler/syscalls"
)

// Text is the program for people and diffs: one instruction a line, jumps by
// line number or by the answer they lead to, values with the names they have.
// The same program has the same text.
func (p Program) Text() []byte {
	arch, calls := p.context()
	title := string(arch)
	if title == "" {
		title = "no known architecture"
	}
	b := make([]byte, 0, lineRoom*(1+len(p.code)))
	b = fmt.Appendf(b, "# seccomp filter, %s, %d instructions\n", title, len(p.code))
	for i := range p.code {
		from := len(b)
		b = fmt.Appendf(b, "%3d  ", i)
		b = p.line(b, i)
		if note := p.note(i, arch, calls[i]); note != "" {
			for len(b) < from+noteColumn {
				b = append(b, ' ')
			}
			b = append(append(b, " # "...), note...)
		}
		b = append(b, '\n')
	}
	return b
}

// Where notes begin, and what a line takes in all: texts are ASCII.
const (
	noteColumn = 64
	lineRoom   = 96
)

// line appends instruction i without the names of its values.
func (p Program) line(b []byte, i int) []byte {
	in := p.code[i]
	switch in.code {
	case loadWord:
		return append(append(b, "load "...), wordName(in.k)...)
	case andValue:
		return strconv.AppendUint(append(b, "and 0x"...), uint64(in.k), 16)
	case returnAs:
		return append(append(b, "return "...), Action(in.k).String()...)
	}
	op := "if == "
	if in.code == jumpFrom {
		op = "if >= "
	}
	b = appendValue(append(b, op...), in.k)
	b = p.place(append(b, " then "...), i, in.jt)
	return p.place(append(b, ", else "...), i, in.jf)
}

// appendValue appends a number that is compared with: decimal, but for tokens and
// bits.
func appendValue(b []byte, k uint32) []byte {
	if k >= 1<<16 {
		return strconv.AppendUint(append(b, "0x"...), uint64(k), 16)
	}
	return strconv.AppendUint(b, uint64(k), 10)
}

// place appends where a jump of i leads: an answer, the next line, or a line.
func (p Program) place(b []byte, i int, by uint8) []byte {
	at := i + 1 + int(by)
	switch {
	case p.code[at].code == returnAs:
		return append(b, Action(p.code[at].k).String()...)
	case by == 0:
		return append(b, "next"...)
	}
	return strconv.AppendInt(append(b, "line "...), int64(at), 10)
}

// wordName names the word at a loadable offset.
func wordName(offset uint32) string {
	switch offset {
	case offNumber:
		return "number"
	case offArch:
		return "architecture"
	}
	half := "low"
	if offset%8 != 0 {
		half = "high"
	}
	return fmt.Sprintf("argument %d, %s word", (offset-offArgs)/8, half)
}

// context is the architecture the program is for, "" when its comparisons name
// none or several, and, by instruction, the number of the one call that leads
// there, -1 when several do.
func (p Program) context() (Arch, []int64) {
	const unset, several = -2, -1
	calls := make([]int64, len(p.code))
	for i := range calls {
		calls[i] = unset
	}
	var arch Arch
	named := 0
	for i, in := range p.code {
		if calls[i] == unset {
			calls[i] = several
		}
		mark := func(by uint8, call int64) {
			if at := i + 1 + int(by); calls[at] == unset || calls[at] == call {
				calls[at] = call
			} else {
				calls[at] = several
			}
		}
		switch in.code {
		case loadWord, andValue:
			mark(0, calls[i])
		case jumpEqual, jumpFrom:
			mark(in.jf, calls[i])
			if in.code == jumpEqual && p.terms[i].offset == offNumber {
				mark(in.jt, int64(in.k))
				continue
			}
			mark(in.jt, calls[i])
			if a, ok := archOf(in.k); ok && p.terms[i].offset == offArch {
				arch, named = a, named+1
			}
		}
	}
	if named != 1 {
		arch = ""
	}
	return arch, calls
}

// note names what instruction i speaks of, as far as the tables know it.
func (p Program) note(i int, arch Arch, call int64) string {
	in, t := p.code[i], p.terms[i]
	name := callName(arch, call)
	sockets := name == "socket" || name == "socketpair"
	switch {
	case in.code == loadWord && sockets && in.k == low(0):
		return name + ": address family"
	case in.code == loadWord && sockets && in.k == low(1):
		return name + ": type"
	case in.code == loadWord && call >= 0:
		return name
	case in.code == andValue && sockets && t.offset == low(1) && in.k == sockTypeMask:
		return "less SOCK_CLOEXEC, SOCK_NONBLOCK"
	case in.code == jumpFrom && t.offset == offNumber && in.k == x32Bit && arch == X86_64:
		return "x32"
	case in.code == andValue:
		return valueName(in.k)
	case in.code != jumpEqual:
		return ""
	case t.offset == offArch:
		a, _ := archOf(in.k)
		return string(a)
	case t.offset == offNumber:
		return callName(arch, int64(in.k))
	case sockets && t.offset == low(0):
		return familyName(in.k)
	case sockets && t == (term{low(1), sockTypeMask}):
		return typeName(in.k)
	case name == "ioctl" && t.offset == low(1):
		return valueName(in.k)
	}
	return ""
}

func callName(arch Arch, number int64) string {
	if number < 0 {
		return ""
	}
	return syscalls.Name(string(arch), uint32(number))
}

func valueName(value uint32) string {
	for _, v := range valueNames {
		if v.value == value {
			return v.name
		}
	}
	return ""
}

func familyName(number uint32) string {
	for _, f := range families {
		if f.number == number {
			return f.name
		}
	}
	return ""
}

func typeName(number uint32) string {
	for _, t := range typeNames {
		if t.number == number {
			return t.name
		}
	}
	return ""
}
