package proof

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/seatbelt"
)

// wide is a policy of n paths in directories of 20, with holes and windows in them.
func wide(n int) *ir.Policy {
	p := &ir.Policy{Name: "p", Version: 1, Targets: []ir.Target{ir.Seatbelt}, Unix: ir.UnixRule{Origin: "builtin/unix"}}
	rule := func(path string, level ir.Level) {
		p.Files = append(p.Files, ir.FileRule{Path: ir.MustPath(path), Level: level, Origin: "p/filesystem.read[0]"})
	}
	for i := range n {
		dir := fmt.Sprintf("/opt/tree/d%d", i/20)
		switch i % 20 {
		case 0:
			rule(dir, ir.Read)
		case 1:
			rule(dir+"/hole", ir.Deny)
		default:
			rule(fmt.Sprintf("%s/hole/f%d", dir, i), ir.Read)
		}
	}
	rule("${workspace}", ir.Write)
	rule("${config}", ir.Read)
	p.Files[len(p.Files)-1].Optional = true
	slices.SortFunc(p.Files, func(a, b ir.FileRule) int { return a.Path.Compare(b.Path) })
	p.Execute = append(p.Execute, ir.ExecuteRule{Path: ir.MustPath("/usr/bin"), Origin: "p/filesystem.execute[0]"})
	return p
}

// checked is a benchmark, named n, of the proof of a policy's profile.
func checked(b *testing.B, n int, p *ir.Policy) {
	profile, err := seatbelt.Compile(p)
	if err != nil {
		b.Fatal(err)
	}
	b.Run(fmt.Sprint(n), func(b *testing.B) {
		for b.Loop() {
			if err := Check(p, profile); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkCheck: the cost grows as the number of rules does.
func BenchmarkCheck(b *testing.B) {
	for _, n := range []int{500, 1000, 2000} {
		checked(b, n, wide(n))
	}
}

// BenchmarkCheckDeep: one path of many names. The cost grows with the square of their
// number, as the bytes of the names do that the profile spells out.
func BenchmarkCheckDeep(b *testing.B) {
	for _, n := range []int{200, 400, 800} {
		p := &ir.Policy{Name: "p", Version: 1, Targets: []ir.Target{ir.Seatbelt}, Unix: ir.UnixRule{Origin: "builtin/unix"}}
		p.Files = append(p.Files, ir.FileRule{Path: ir.MustPath(strings.Repeat("/a", n)), Level: ir.Read, Origin: "p/filesystem.read[0]"})
		checked(b, n, p)
	}
}
