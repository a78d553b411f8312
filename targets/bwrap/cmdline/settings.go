package cmdline

import (
	"slices"
	"strconv"
	"strings"
)

func (e *Environment) set(name, value string) {
	e.Unset = slices.DeleteFunc(e.Unset, func(n string) bool { return n == name })
	e.Set = slices.DeleteFunc(e.Set, func(v Variable) bool { return v.Name == name })
	e.Set = append(e.Set, Variable{name, value})
}

func (e *Environment) unset(name string) {
	e.Set = slices.DeleteFunc(e.Set, func(v Variable) bool { return v.Name == name })
	if e.Inherited && !slices.Contains(e.Unset, name) {
		e.Unset = append(e.Unset, name)
	}
}

// change is the set after --cap-add or --cap-drop.
func (c CapabilitySet) change(add bool, name string) CapabilitySet {
	name = strings.ToUpper(name)
	if name == "ALL" {
		return CapabilitySet{All: add}
	}
	if n, ok := decimal(name); ok && n < len(capabilityNames) {
		name = capabilityNames[n]
	}
	names := slices.DeleteFunc(slices.Clone(c.Names), func(n string) bool { return n == name })
	if add != c.All {
		names = append(names, name)
	}
	return CapabilitySet{c.All, names}
}

func sizeOf(text string) uint64 {
	n, _ := strconv.ParseUint(text, 0, 64)
	return n
}
