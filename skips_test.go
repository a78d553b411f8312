package obspc_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// skipForms are how a test may say why it is skipped: what the machine lacks, by
// name; that it is a process which another test starts; what runs it instead.
var skipForms = []string{"host feature missing: ", "no test by itself: ", "runs elsewhere: "}

// TestSkips: every skip says why in one of the forms, and .ci/skips, by which
// scripts/test judges them, lists beginnings that some skip has, each with a reason.
func TestSkips(t *testing.T) {
	words := skipWords(t)
	text, err := os.ReadFile(".ci/skips")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "#") {
			continue
		}
		begins, reason, _ := strings.Cut(line, " # ")
		used := false
		for _, w := range words {
			used = used || strings.HasPrefix(w, begins)
		}
		if reason == "" || !used {
			t.Errorf(".ci/skips: %q has the reason %q, and is the beginning of some skip: %v", begins, reason, used)
		}
	}
}

// skipWords are the words of all skips in the tests of every system, as far as they
// stand in the source.
func skipWords(t *testing.T) []string {
	var out []string
	walk := func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			method, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || method.Sel.Name != "Skip" && method.Sel.Name != "Skipf" && method.Sel.Name != "SkipNow" {
				return true
			}
			said := ""
			if len(call.Args) > 0 {
				said = beginning(call.Args[0])
			}
			good := false
			for _, form := range skipForms {
				good = good || strings.HasPrefix(said, form)
			}
			if !good {
				t.Errorf("%s: a skip begins with %q, want one of %q", files.Position(call.Pos()), said, skipForms)
			}
			out = append(out, said)
			return true
		})
		return nil
	}
	if err := filepath.WalkDir(".", walk); err != nil {
		t.Fatal(err)
	}
	return out
}

// beginning is the string that an expression begins with.
func beginning(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return beginning(e.X)
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		if err == nil {
			return text
		}
	}
	return ""
}
