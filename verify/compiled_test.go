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

// Every artifact that targets make is known, and nothing else is: of a policy that
// denies system calls all, of another all but what only such policies have.
func TestKnownArtifactsAreThoseOfTheTargets(t *testing.T) {
	type artifact struct {
		file, kind string
		target     ir.Target
	}
	for _, p := range []*ir.Policy{policy("web"), denyingCalls(policy("web"))} {
		made := map[artifact]bool{}
		for _, a := range compiled(t, p).Artifacts {
			made[artifact{a.Name, a.Kind, ir.Target(a.Target)}] = true
		}
		for _, k := range known {
			if made[artifact{k.file, k.kind, k.target}] != (k.has == nil || k.has(p)) {
				t.Errorf("targets do not make %+v of %v", k, p.Syscalls)
			}
			delete(made, artifact{k.file, k.kind, k.target})
		}
		if len(made) > 0 {
			t.Errorf("%v are not known", made)
		}
	}
}

// denyingCalls is the policy with a denial of calls.
func denyingCalls(p *ir.Policy) *ir.Policy {
	p.Syscalls = []ir.SyscallRule{{Name: "kill", Origin: ir.Origin(p.Name + "/syscalls.deny[0]")}, {Name: "mkdir", Origin: ir.Origin(p.Name + "/syscalls.deny[1]")}}
	p.Waivers = append(p.Waivers, ir.Waiver{Target: ir.Seatbelt, Feature: ir.FeatureSyscallsDeny, Reason: "it has none", Origin: ir.Origin(p.Name + "/waive.seatbelt[9]")})
	return p
}
