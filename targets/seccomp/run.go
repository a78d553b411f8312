package seccomp

// Data is what a filter sees of one system call (struct seccomp_data in
// linux/seccomp.h, less the instruction pointer, which no program of the
// fragment loads).
type Data struct {
	Arch uint32 // audit token of the interface the call came through
	Nr   uint32 // number of the call there
	Args [6]uint64
}

// Call is the Data of a call on a, by number.
func Call(a Arch, nr uint32, args ...uint64) Data {
	d := Data{Arch: a.audit(), Nr: nr}
	copy(d.Args[:], args)
	return d
}

// word is the 32-bit word at a loadable offset.
func (d Data) word(offset uint32) uint32 {
	switch {
	case offset == offNumber:
		return d.Nr
	case offset == offArch:
		return d.Arch
	}
	i := (offset - offArgs) / 8
	return uint32(d.Args[i] >> (8 * (offset % 8)))
}

// Run is what the kernel does with a call under p: the model that tests hold the
// kernel to.
func Run(p Program, d Data) Action { return p.run(d, nil) }

// run tells visit, if there is one, each instruction it carries out.
func (p Program) run(d Data, visit func(i int)) Action {
	var a uint32
	for i := 0; i < len(p.code); i++ {
		in := p.code[i]
		if visit != nil {
			visit(i)
		}
		hit := false
		switch in.code {
		case loadWord:
			a = d.word(in.k)
			continue
		case andValue:
			a &= in.k
			continue
		case returnAs:
			return Action(in.k)
		case jumpEqual:
			hit = a == in.k
		case jumpFrom:
			hit = a >= in.k
		}
		if hit {
			i += int(in.jt)
		} else {
			i += int(in.jf)
		}
	}
	return KillProcess // the zero Program; check refuses any other that gets here
}
