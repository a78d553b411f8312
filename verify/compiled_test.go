package verify

import (
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/verify/release"
)

func init() { validate = func(*ir.Policy, map[string][]byte) error { return nil } }

func compiled(t testing.TB, p *ir.Policy) release.Policy {
	t.Helper()
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	out := release.Policy{Name: p.Name}
	for _, k := range known {
		if k.target != "" && !p.HasTarget(k.target) {
			continue
		}
		data := []byte(`{"usr":"/usr"}`)
		if k.file == irFile {
			data = p.JSON()
		}
		out.Artifacts = append(out.Artifacts, release.Made{Name: k.file, Kind: k.kind, Target: string(k.target), Data: data})
	}
	return out
}
