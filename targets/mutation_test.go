package targets

import (
	"fmt"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
)

// board counts mutants by mutator and keeps those that nothing refused.
type board struct {
	mu        sync.Mutex
	scores    map[string]*score
	survivors []string
}

type score struct{ made, refused, byMeaning int }

func (b *board) of(mutator string) *score {
	if b.scores[mutator] == nil {
		b.scores[mutator] = &score{}
	}
	return b.scores[mutator]
}

// judge counts one mutant. One that was not refused is a survivor, named by
// mutator, sample and what was changed.
func (b *board) judge(mutator, sample, what string, refused bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.of(mutator)
	s.made++
	if refused {
		s.refused++
		return
	}
	b.survivors = append(b.survivors, strings.Join([]string{mutator, sample, what}, " | "))
}

func (b *board) byMeaning(mutator string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.of(mutator).byMeaning++
}

// mutated are the policies whose artifacts are changed: the samples, and one that
// states everything, whose texts are changed member by member.
func mutated(t *testing.T) map[string]*ir.Policy {
	out := map[string]*ir.Policy{}
	for name, statements := range samples {
		out[name] = policy(t, statements...)
	}
	p := policy(t, "read /usr", "write ${workspace}", "read ${workspace}/r", "deny ${home}/.ssh", "execute /usr/bin", "tmp", "visible", "optional read ${home}/.config")
	at := func(s string) ir.Origin { return ir.Origin("p/" + s) }
	for i := range p.Files {
		if p.Files[i].Backing == ir.HostFile && p.Files[i].Path.Root() != ir.Config {
			p.Files[i].Origin = at("filesystem." + p.Files[i].Level.String() + "[" + itoa(i) + "]")
		}
	}
	p.Execute[0].Origin = at("filesystem.execute[0]")
	p.Targets = []ir.Target{ir.Bwrap, ir.Seatbelt}
	p.Environment = []ir.Variable{{Name: "CACHE", Value: ir.Value{ir.SlotRef(ir.Workspace), ir.Literal("/c")}, Origin: at("environment.CACHE")}}
	p.Limits = []ir.Limit{{Name: ir.OpenFiles, Value: 64, Origin: at("limits.open_files")}, {Name: ir.Timeout, Value: 3000, Origin: at("limits.timeout")}}
	p.Syscalls = []ir.SyscallRule{
		{Name: "faccessat2", Origin: at("syscalls.deny[0]")}, {Name: "kill", Origin: at("syscalls.deny[1]")}, {Name: "ptrace", Allow: true, Origin: at("syscalls.allow[0]")},
	}
	p.System.Services = []ir.Name{{Name: "com.example.service", Origin: at("system.services[0]")}}
	p.Endpoints = []ir.Endpoint{
		{
			Name: "e", Host: ir.HostPattern{Wildcard: ir.ManyLabels, Name: "example.com"}, Ports: []uint16{80, 443},
			Executables: []ir.Path{ir.MustPath("/usr/bin/env")}, Addresses: []netip.Prefix{netip.MustParsePrefix("10.2.0.0/16")}, Origin: at("network.endpoint.e"),
		},
		{
			Name: "f", Host: ir.HostPattern{Name: "api.example.org"}, Ports: []uint16{443}, Protocol: ir.REST, Origin: at("network.endpoint.f"),
			Requests: []ir.RequestRule{
				{Allow: true, Methods: []string{"GET", "POST"}, Path: "/repos/*/issues/**", Origin: at("network.endpoint.f.allow[0]")},
				{Methods: []string{"DELETE"}, Path: "/**", Origin: at("network.endpoint.f.deny[0]")},
			},
		},
		{Name: "g", Host: ir.HostPattern{Addr: netip.MustParseAddr("10.9.0.7")}, Ports: []uint16{22}, Protocol: ir.TCP, Origin: at("network.endpoint.g")},
	}
	p.DeniedHosts = []ir.HostRule{{Host: ir.HostPattern{Wildcard: ir.OneLabel, Name: "ads.example.com"}, Origin: at("network.deny[0]")}}
	p.Waivers = append(p.Waivers, ir.Waiver{Target: ir.Seatbelt, Feature: ir.FeatureEndpointProgram, Reason: "accepted", Origin: at("waive.seatbelt")})
	p.Waivers = append(p.Waivers, ir.Waiver{Target: ir.Seatbelt, Feature: ir.FeatureSyscallsDeny, Reason: "accepted", Origin: at("waive.seatbelt")})
	p.Commands = []ir.Command{{
		Name: "c", Executable: ir.MustPath("/usr/bin/c"), Arguments: []ir.Value{{ir.Literal("-n")}, {ir.FieldRef("n")}},
		Fields: []ir.Field{{Name: "n", Form: ir.IntegerForm, Min: 1, Max: 9}},
		Result: &ir.Result{Name: "r", Fields: []ir.ResultField{{Name: "ok", Kind: ir.BooleanResult}}}, Origin: at("command.c"),
	}}
	slices.SortFunc(p.Waivers, func(a, b ir.Waiver) int {
		return strings.Compare(string(a.Target)+string(a.Feature), string(b.Target)+string(b.Feature))
	})
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	out["everything stated"] = p
	return out
}

// textMutated are the samples whose files are changed member by member, line by
// line and instruction by instruction; more of them would say the same again.
var textMutated = []string{"everything stated", "hole and window", "execute"}

// TestMutants changes the artifacts of every sample in every way that design 10
// lists, one change at a time (design 10). Each mutant must be refused from its
// bytes, or be listed with the reason why it may stay.
func TestMutants(t *testing.T) {
	b := &board{scores: map[string]*score{}}
	var work sync.WaitGroup
	for name, p := range mutated(t) {
		files := compileFiles(t, p)
		work.Go(func() {
			b.setMutants(t, p, name, files)
			b.ruleMutants(t, p, name, files)
			if !slices.Contains(textMutated, name) {
				return
			}
			b.streamMutants(t, p, name, files)
			if name != "execute" { // its filter is that of "hole and window"
				b.filterMutants(t, p, name, files)
			}
			b.lineMutants(p, name, files)
			b.memberMutants(t, p, name, files)
		})
	}
	for name, p := range profileSamples(t) {
		work.Go(func() { b.profileMutants(t, name, p, name == "everything stated") })
	}
	work.Wait()
	t.Log(b)
	made := 0
	for _, s := range b.scores {
		made += s.made
	}
	if made < 35000 { // what docs/how-obspc-knows.md says
		t.Errorf("only %d mutants were made", made)
	}
	for mutator, s := range b.scores {
		if s.made == 0 {
			t.Errorf("%s applied to nothing", mutator)
		}
	}
	b.compareSurvivors(t)
}

// String is the score by mutator.
func (b *board) String() string {
	var text strings.Builder
	all := score{}
	fmt.Fprintf(&text, "%-52s %7s %8s %s\n", "mutator", "mutants", "refused", "by meaning alone")
	for _, mutator := range slices.Sorted(maps.Keys(b.scores)) {
		s := b.scores[mutator]
		meaning := ""
		if s.byMeaning > 0 {
			meaning = fmt.Sprint(s.byMeaning)
		}
		fmt.Fprintf(&text, "%-52s %7d %8d %s\n", mutator, s.made, s.refused, meaning)
		all.made, all.refused, all.byMeaning = all.made+s.made, all.refused+s.refused, all.byMeaning+s.byMeaning
	}
	fmt.Fprintf(&text, "%-52s %7d %8d %d", "all", all.made, all.refused, all.byMeaning)
	return text.String()
}

// survivorsFile lists each survivor with the reason, "mutator | sample | what #
// reason".
const survivorsFile = "testdata/survivors.txt"

// compareSurvivors holds the list to the test both ways: a survivor that is not
// listed and one that no longer survives are faults.
func (b *board) compareSurvivors(t *testing.T) {
	data, err := os.ReadFile(survivorsFile)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		survivor, reason, found := strings.Cut(line, " # ")
		if !found || strings.TrimSpace(reason) == "" {
			t.Errorf("%s: %q has no reason", survivorsFile, line)
		}
		listed[strings.TrimSpace(survivor)] = true
	}
	slices.Sort(b.survivors)
	for _, s := range slices.Compact(b.survivors) {
		if !listed[s] {
			t.Errorf("survives and is not listed in %s: %s", survivorsFile, s)
		}
		delete(listed, s)
	}
	for s := range listed {
		t.Errorf("is listed in %s and does not survive: %s", survivorsFile, s)
	}
}
