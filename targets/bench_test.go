package targets

import (
	"fmt"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
)

// wide is a policy of about n paths in directories of 20, some with holes.
func wide(t testing.TB, n int) *ir.Policy {
	statements := []string{"write ${workspace}", "tmp", "devices", "shm"}
	for i := range n {
		dir := fmt.Sprintf("/opt/tree/d%d", i/20)
		switch i % 20 {
		case 0:
			statements = append(statements, "read "+dir)
		case 1:
			statements = append(statements, "deny "+dir+"/hole")
		default:
			statements = append(statements, fmt.Sprintf("read %s/hole/f%d", dir, i))
		}
	}
	return policy(t, statements...)
}

// wideBoth is wide for both targets, with names of statements that may stand in a
// profile.
func wideBoth(t testing.TB, n int) *ir.Policy {
	p := wide(t, n)
	p.Targets = []ir.Target{ir.Bwrap, ir.Seatbelt}
	for i := range p.Files {
		p.Files[i].Origin = "p/filesystem.read[0]"
	}
	return p
}

// BenchmarkValidateBoth: 2,000 paths for both targets.
func BenchmarkValidateBoth(b *testing.B) {
	p := wideBoth(b, 2000)
	files := compileFiles(b, p)
	for b.Loop() {
		if err := Validate(p, files); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCompileBoth: 2,000 paths for both targets, validation included.
func BenchmarkCompileBoth(b *testing.B) {
	p := wideBoth(b, 2000)
	for b.Loop() {
		compileFiles(b, p)
	}
}

func BenchmarkValidate(b *testing.B) {
	for _, n := range []int{500, 1000, 2000} {
		p := wide(b, n)
		files := compileFiles(b, p)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if err := Validate(p, files); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	p := wide(b, 2000)
	for b.Loop() {
		compileFiles(b, p)
	}
}
