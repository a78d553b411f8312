package targets

import (
	"errors"
	"flag"
	"os"
	"testing"

	"pgregory.net/rapid"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/bwrap"
)

func TestMain(m *testing.M) {
	for name, value := range map[string]string{"rapid.checks": "400", "rapid.nofailfile": "true"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	flag.Parse()
	os.Exit(m.Run())
}

// statementsOf draws statements whose paths meet: few names, all roots.
func statementsOf() *rapid.Generator[[]string] {
	path := rapid.Custom(func(t *rapid.T) string {
		p := rapid.SampledFrom([]string{"/opt", "/opt", "/srv/a", "/usr", "${home}", "${workspace}", "${workspace}", "${workspace}", "/"}).Draw(t, "top")
		if p == "/" {
			return p
		}
		for range rapid.IntRange(0, 4).Draw(t, "depth") {
			p += "/" + rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name")
		}
		return p
	})
	return rapid.Custom(func(t *rapid.T) []string {
		var out []string
		for _, p := range rapid.SliceOfNDistinct(path, 0, 9, rapid.ID[string]).Draw(t, "files") {
			how := rapid.SampledFrom([]string{"read", "read", "write", "write", "deny", "optional read", "optional write", "only read", "only deny", "only write"}).Draw(t, "how")
			if p == "/" {
				how = rapid.SampledFrom([]string{"read", "only read", "only read"}).Draw(t, "how")
			}
			out = append(out, how+" "+p)
		}
		for _, p := range rapid.SliceOfNDistinct(path, 0, 3, rapid.ID[string]).Draw(t, "execute") {
			out = append(out, rapid.SampledFrom([]string{"execute", "only execute", "optional execute"}).Draw(t, "how")+" "+p)
		}
		for _, extra := range []string{"devices", "shm", "tmp", "visible"} {
			if rapid.Bool().Draw(t, extra) {
				out = append(out, extra)
			}
		}
		return out
	})
}

// TestGeneratedPolicies compiles policies whose rules meet in every way. Compile
// validates what it made, so an error is a place where mounts and meaning differ;
// but for what bubblewrap cannot express, which it says.
func TestGeneratedPolicies(t *testing.T) {
	made, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		statements := statementsOf().Draw(t, "statements")
		p := policy(t, statements...)
		if hasAbsent(p) {
			refused++
			return
		}
		_, err := Compile(p)
		var unsupported *bwrap.UnsupportedError
		var fault *ValidationError
		switch {
		case errors.As(err, &unsupported):
			refused++
		case errors.As(err, &fault) && fault.Detail == noBinding:
			refused++
		case err != nil:
			t.Fatalf("Compile(%q) = %v", statements, err)
		default:
			made++
		}
	})
	if made < 3*refused || made < 60 {
		t.Errorf("%d policies were compiled and %d refused: too few to say anything", made, refused)
	}
}

func hasAbsent(p *ir.Policy) bool {
	for _, u := range p.Uses() {
		if Answers(ir.Bwrap, u.Feature).Capability == Absent {
			return true
		}
	}
	return false
}
