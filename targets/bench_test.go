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
