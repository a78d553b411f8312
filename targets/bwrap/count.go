package bwrap

import "github.com/obspc/obspc/compiler/ir"

// worst is how many arguments the operation takes on the machine where it takes
// most.
func (o Operation) worst() int {
	switch o.Verb {
	case Skeleton:
		if o.Path.Root() != ir.Host {
			return 6 // as Pin
		}
		return 4 // --perms M --dir P
	case Mask:
		return 8 // --perms M --size N --tmpfs P, --remount-ro P
	case Pin, Tmpfs:
		return 6 // --perms M --size N --tmpfs P
	case Proc, Dev:
		return 4 // --proc P, --remount-ro P
	}
	return 3 // --bind P P, --symlink T P
}

// count refuses a set that bwrap would refuse on some machine.
func (s *Set) count() error {
	n := wayReserve + len(fixedOptions(s.Namespaces)) + len(sealRoot) + descriptorArguments
	siblings := map[ir.Path]int{}
	var crowded ir.Path
	for _, o := range s.Operations {
		n += o.worst()
		parent, ok := o.Path.Parent()
		if !ok || !o.States() {
			continue
		}
		siblings[parent]++
		if siblings[parent] > siblings[crowded] {
			crowded = parent
		}
	}
	if n <= argumentLimit {
		return nil
	}
	return &TooManyArgumentsError{Count: n, Limit: argumentLimit, Crowded: crowded, Siblings: siblings[crowded]}
}
