package obspc_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEgressPageNamesTests: every test that docs/egress.md answers with is there.
func TestEgressPageNamesTests(t *testing.T) {
	const page = "docs/egress.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Za-z0-9]+)\(`)
	err = filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		source, err := os.ReadFile(file)
		for _, m := range function.FindAllStringSubmatch(string(source), -1) {
			declared[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z][A-Za-z0-9]+`).FindAllString(string(text), -1)
	for _, name := range named {
		if !declared[name] {
			t.Errorf("%s names %s, and no test is called so", page, name)
		}
	}
	if len(named) < 30 {
		t.Errorf("%s names %d tests, want at least 30", page, len(named))
	}
}
