package proof

import (
	"errors"
	"flag"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/seatbelt"
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

// policies draws policies whose rules meet: few names, all roots, links of macOS.
func policies() *rapid.Generator[*ir.Policy] {
	path := rapid.Custom(func(t *rapid.T) string {
		tops := []string{"/opt", "/opt", "/Srv", "/usr", "/etc", "/var/db", "/private/var", "${home}", "${home}", "${workspace}", "${workspace}", "${workspace}", "/"}
		p := rapid.SampledFrom(tops).Draw(t, "top")
		if p == "/" {
			return p
		}
		for range rapid.IntRange(0, 3).Draw(t, "depth") {
			p += "/" + rapid.SampledFrom([]string{"a", "B", ".c(1)"}).Draw(t, "name")
		}
		return p
	})
	return rapid.Custom(func(t *rapid.T) *ir.Policy {
		p := &ir.Policy{Name: "p", Version: 1, Targets: []ir.Target{ir.Seatbelt}, Unix: ir.UnixRule{Origin: "builtin/unix"}}
		writes := false
		for _, at := range rapid.SliceOfNDistinct(path, 0, 9, rapid.ID[string]).Draw(t, "files") {
			r := ir.FileRule{Path: ir.MustPath(at), Origin: "p/filesystem.read[0]"}
			r.Level = rapid.SampledFrom([]ir.Level{ir.Read, ir.Read, ir.Write, ir.Write, ir.Deny}).Draw(t, "level")
			r.Only = rapid.IntRange(0, 4).Draw(t, "only") == 0
			if at == "/" {
				r.Level = min(r.Level, ir.Read)
			}
			writes = writes || r.Level == ir.Write
			p.Files = append(p.Files, r)
		}
		for _, at := range rapid.SliceOfNDistinct(path, 0, 4, rapid.ID[string]).Draw(t, "execute") {
			only := rapid.IntRange(0, 4).Draw(t, "only") == 0
			p.Execute = append(p.Execute, ir.ExecuteRule{Path: ir.MustPath(at), Only: only, Origin: "p/filesystem.execute[0]"})
		}
		if rapid.Bool().Draw(t, "tmp") {
			p.Files = append(p.Files, ir.FileRule{Path: ir.RootPath(ir.Tmp), Level: ir.Write, Backing: ir.TmpFS, Size: 1 << 20, Origin: "p/tmp"})
			writes = true
		}
		if writes {
			p.Files = append(p.Files, ir.FileRule{Path: ir.RootPath(ir.Config), Level: ir.Read, Optional: true, Origin: "builtin/config"})
		}
		p.Unix.Visible = rapid.Bool().Draw(t, "visible")
		if rapid.Bool().Draw(t, "endpoints") {
			p.Endpoints = []ir.Endpoint{{Name: "e", Host: ir.HostPattern{Name: "a.test"}, Ports: []uint16{443}, Origin: "p/network.endpoint.e"}}
		}
		if rapid.IntRange(0, 3).Draw(t, "loopback") == 0 {
			p.Loopback = ir.LoopbackRule{Host: true, Origin: "p/network.loopback"}
		}
		if rapid.Bool().Draw(t, "names") {
			p.System.Services = []ir.Name{{Name: "com.example.one", Origin: "p/system.services[0]"}}
			p.System.IOKit = []ir.Name{{Name: "ExampleUserClient", Origin: "p/system.iokit[0]"}}
		}
		slices.SortFunc(p.Files, func(a, b ir.FileRule) int { return a.Path.Compare(b.Path) })
		slices.SortFunc(p.Execute, func(a, b ir.ExecuteRule) int { return a.Path.Compare(b.Path) })
		if err := p.Check(); err != nil {
			t.Fatal(err)
		}
		return p
	})
}

// TestGeneratedPolicies holds the profile of every policy to it.
func TestGeneratedPolicies(t *testing.T) {
	made, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		p := policies().Draw(t, "policy")
		profile, err := seatbelt.Compile(p)
		var conflict *seatbelt.ConflictError
		if errors.As(err, &conflict) {
			refused++
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		made++
		if err := Check(p, profile); err != nil {
			t.Fatalf("%v\n%s\n%s", err, p.Text(), profile)
		}
	})
	if made < 3*refused || made < 100 {
		t.Errorf("%d profiles were made and %d policies refused: too few to say anything", made, refused)
	}
}
