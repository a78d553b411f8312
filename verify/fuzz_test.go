package verify

import (
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/verify/release"
)

// FuzzOpen changes one file of a release and mends the lists, so that the change
// reaches the proof. Open must answer, and what it accepts must read back.
func FuzzOpen(f *testing.F) {
	for _, file := range sample(f) {
		if policyOf(file.Name) == "web" {
			f.Add(file.Name, file.Data)
		}
	}
	f.Add("web/ir.json", policy("batch").JSON())
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		files := sample(t)
		if policyOf(name) != "web" || !has(files, name) {
			return
		}
		at(files, name).Data = data
		files = forge(t, files, meaning("web", at(files, "web/ir.json").Data))
		v, report := Open(Memory(files), trusting(t, files))
		if (v != nil) != report.Verified() || len(report.JSON()) == 0 || report.String() == "" {
			t.Fatalf("report:\n%s", report)
		}
		if v == nil {
			return
		}
		if p := v.IR("web"); p.HasTarget(ir.Bwrap) && v.Linux("web") == nil {
			t.Errorf("accepted, and Linux artifacts are not read back:\n%s", report)
		}
	})
}

func policyOf(name string) string { return release.Artifact{Name: name}.Policy() }

func has(files []release.File, name string) bool {
	for _, f := range files {
		if f.Name == name {
			return true
		}
	}
	return false
}
