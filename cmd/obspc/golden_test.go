package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestGoldenNames: each artifact of the corpus is a golden file, or one of those
// that have a text beside them.
func TestGoldenNames(t *testing.T) {
	files, err := filepath.Glob("../../testdata/corpus/*/*")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d files in the corpus, %v", len(files), err)
	}
	others := []string{"ir.map.json", "bwrap.json",
		"findings.txt", "ir.txt", "probes.txt"} // the corpus' own
	for _, file := range files {
		base := filepath.Base(file)
		if strings.HasSuffix(base, ".hcl") || strings.Contains(base, ".bpf") {
			continue
		}
		if golden, other := isGoldenName(base), slices.Contains(others, base); golden == other {
			t.Errorf("%s: golden is %t", file, golden)
		}
	}
}
