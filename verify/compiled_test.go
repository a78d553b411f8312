package verify

import (
	"bytes"
	"sync"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets"
	"github.com/obspc/obspc/verify/release"
)

// compiledBefore holds what was compiled by the policy's canonical text: compiling
// proves every artifact, which is worth doing once.
var compiledBefore sync.Map

// compiled is the policy's artifacts, with a map beside them.
func compiled(t testing.TB, p *ir.Policy) release.Policy {
	t.Helper()
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	before, ok := compiledBefore.Load(string(p.JSON()))
	if !ok {
		artifacts, err := targets.Compile(p)
		if err != nil {
			t.Fatal(err)
		}
		before = artifacts
		compiledBefore.Store(string(p.JSON()), before)
	}
	out := release.Policy{Name: p.Name, Artifacts: []release.Made{{Name: release.MapName, Kind: release.MapKind, Data: []byte("{}")}}}
	for _, a := range before.([]targets.Artifact) {
		out.Artifacts = append(out.Artifacts, release.Made{Name: a.Name, Kind: a.Kind, Target: string(a.Target), Data: bytes.Clone(a.Data)})
	}
	return out
}

// Every artifact that targets make is known, and nothing else is.
func TestKnownArtifactsAreThoseOfTheTargets(t *testing.T) {
	made := map[row]bool{}
	for _, a := range compiled(t, policy("web")).Artifacts {
		made[row{a.Name, a.Kind, ir.Target(a.Target)}] = true
	}
	for _, k := range known {
		if !made[k] {
			t.Errorf("no target makes %+v", k)
		}
	}
	if len(made) != len(known) {
		t.Errorf("targets make %d artifacts, %d are known", len(made), len(known))
	}
}
