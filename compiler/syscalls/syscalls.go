// Package syscalls is Linux's system calls as data: which there are on each
// architecture, which of them no sandbox may make and why, and which no program
// does without. The language names calls, targets compile programs from their
// numbers; what they share stands here. How a call is refused is not here, but in
// package seccomp.
package syscalls

import (
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Arches lists the architectures with a table, as uname -m names them.
func Arches() []string { return []string{"aarch64", "x86_64"} }

// Kernel is the Linux release whose tables these are. Numbers are never given to
// another call, so later releases only add to them.
const Kernel = "7.2"

// files hold one table an architecture: comments with the source, then a number
// and a name a line, in the order of the numbers.
//
//go:embed aarch64.txt x86_64.txt
var files embed.FS

// table is the calls of one architecture.
type table struct {
	numbers map[string]uint32
	names   map[uint32]string
}

var tables = sync.OnceValue(func() map[string]table {
	out := map[string]table{}
	for _, arch := range Arches() {
		text, err := files.ReadFile(arch + ".txt")
		if err != nil {
			panic(fmt.Sprintf("bug in obspc: %v", err))
		}
		t := table{map[string]uint32{}, map[uint32]string{}}
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "#") {
				continue
			}
			number, name, _ := strings.Cut(strings.TrimSpace(line), " ")
			n, err := strconv.ParseUint(number, 10, 16)
			if err != nil {
				panic(fmt.Sprintf("bug in obspc: the table of %s: %v", arch, err))
			}
			t.numbers[name], t.names[uint32(n)] = uint32(n), name
		}
		out[arch] = t
	}
	return out
})

// Number is the number of the named call on arch; false when arch does not have it.
func Number(arch, name string) (uint32, bool) {
	n, ok := tables()[arch].numbers[name]
	return n, ok
}

// Name is the call of that number on arch; "" when there is none.
func Name(arch string, number uint32) string { return tables()[arch].names[number] }

// On lists the architectures that have the named call; none: nobody knows it.
func On(name string) []string {
	var out []string
	for _, arch := range Arches() {
		if _, ok := Number(arch, name); ok {
			out = append(out, arch)
		}
	}
	return out
}

// Names lists every call that some architecture has, sorted.
func Names() []string {
	var out []string
	for _, t := range tables() {
		for name := range t.numbers {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
