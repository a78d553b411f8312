package obspc_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/obspc/obspc/cmd/mac-proof/proof"
)

// macProof is what make mac-proof writes.
const macProof = "docs/mac-proof.json"

// neverOnMac is how pages and programs say that no Mac was asked.
var neverOnMac = regexp.MustCompile(`(?i)never run on a Mac|nothing here has run on a Mac`)

// sayNever are the files that must say so until there is a record.
var sayNever = []string{
	"ARCHITECTURE.md", "README.md", "cmd/obspc/compile.go", "cmd/obspc/test.go", "docs/cli.md", "docs/how-obspc-knows.md",
	"docs/templates.md", "docs/threat-model.md", "policies/std/base/base.md", "targets/seatbelt/seatbelt.go",
}

// TestMacProof holds the record of a Mac to its form and to the one thing it must
// show: no kernel answer allows more than the policy or the model. Without a record
// everybody is told so, and with one nobody any more.
func TestMacProof(t *testing.T) {
	text, err := os.ReadFile(macProof)
	if errors.Is(err, fs.ErrNotExist) {
		saying := sayingNever(t)
		for _, file := range sayNever {
			if !slices.Contains(saying, file) {
				t.Errorf("%s does not say that the Seatbelt profile was never run on a Mac, and there is no %s", file, macProof)
			}
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if saying := sayingNever(t); len(saying) > 0 {
		t.Errorf("there is a %s, and these still say that no Mac was asked: %s", macProof, strings.Join(saying, ", "))
	}
	p, err := proof.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", macProof, err)
	}
	for _, fault := range p.Malformed() {
		t.Errorf("%s: %s", macProof, fault)
	}
	for _, q := range p.Escapes() {
		t.Errorf("%s: %s: %s: the kernel allows it; the policy says %s, the model %s", macProof, q.Policy, q.Request, q.Decide, q.Model)
	}
	for _, policy := range p.Rejected() {
		t.Errorf("%s: macOS refuses the profile of %s: %s", macProof, policy.Name, policy.Why)
	}
}

// sayingNever lists the pages and the programs' sources that say so.
func sayingNever(t *testing.T) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if d.IsDir() || strings.HasSuffix(file, "_test.go") || !slices.Contains([]string{".go", ".md"}, filepath.Ext(file)) {
			return nil
		}
		text, err := os.ReadFile(file)
		if err == nil && neverOnMac.Match(text) {
			out = append(out, filepath.ToSlash(file))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
