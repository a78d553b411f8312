package lang

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/hclwrite"
)

// examples are the hcl blocks of a page.
func examples(t *testing.T, page string) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for i, part := range strings.Split(string(text), "```") {
		if body, ok := strings.CutPrefix(part, "hcl\n"); ok && i%2 == 1 {
			out = append(out, body)
		}
	}
	return out
}

// TestLanguagePage parses every example of docs/language.md, and asks that each
// is written as a formatter would.
func TestLanguagePage(t *testing.T) {
	all := examples(t, "../docs/language.md")
	if len(all) < 6 {
		t.Fatalf("docs/language.md has %d hcl blocks, want at least 6", len(all))
	}
	for i, src := range all {
		sources, opts := Sources{fmt.Sprintf("block %d", i+1): []byte(src)}, Options{}
		if strings.HasPrefix(src, "test ") {
			sources, opts.Tests = Sources{"p": []byte("policy \"p\" {\nversion = 1\n}\n")}, sources
		}
		_, diags := Parse(sources, opts)
		if strings.HasPrefix(src, "verify ") {
			_, diags = ParseProject(ProjectFile, []byte(src))
		}
		if len(diags) > 0 {
			t.Errorf("docs/language.md: Parse of block %d finds %v, want nothing", i+1, diags)
		}
		if !bytes.Equal(hclwrite.Format([]byte(src)), []byte(src)) {
			t.Errorf("docs/language.md: block %d is not formatted, want\n%s", i+1, hclwrite.Format([]byte(src)))
		}
	}
}

// TestLanguagePageIsComplete asks that the page names every word there is.
func TestLanguagePageIsComplete(t *testing.T) {
	text, err := os.ReadFile("../docs/language.md")
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, inv := range inventories {
		words = slices.Concat(words, inv.attributes, inv.blocks, inv.later)
	}
	for name := range functions {
		words = append(words, name)
	}
	words = slices.Concat(words, later, slotNames)
	slices.Sort(words)
	for _, w := range slices.Compact(words) {
		if !bytes.Contains(text, []byte("`"+w+"`")) && !bytes.Contains(text, []byte("`"+w+"(")) &&
			!bytes.Contains(text, []byte("`"+w+" \"")) && !bytes.Contains(text, []byte("### "+w)) {
			t.Errorf("docs/language.md does not name %s", w)
		}
	}
}
