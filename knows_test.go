package obspc_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strings"
	"testing"
)

const knows = "docs/how-obspc-knows.md"

// inFile is how the page names a function, method or variable: `name` in `file`.
var (
	inFile   = regexp.MustCompile("`([A-Za-z.]+)` in\\s+`([a-z0-9_/]+\\.go)`")
	anyFile  = regexp.MustCompile("`([a-z0-9_]+(?:/[a-z0-9_]+)*/[a-z0-9_]+\\.[a-z]+)`")
	testName = regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z]+)`")
)

// TestWhatThePageNamesExists: a sceptical reader finds every function and file.
func TestWhatThePageNamesExists(t *testing.T) {
	text, err := os.ReadFile(knows)
	if err != nil {
		t.Fatal(err)
	}
	pairs := inFile.FindAllStringSubmatch(string(text), -1)
	if len(pairs) < 25 {
		t.Errorf("%s names %d functions with their files, want at least 25", knows, len(pairs))
	}
	placed := map[string]bool{}
	for _, p := range pairs {
		placed[p[1]] = true
		if !declares(t, p[2], p[1]) {
			t.Errorf("%s: %s declares no %s", knows, p[2], p[1])
		}
	}
	for _, m := range anyFile.FindAllStringSubmatch(string(text), -1) {
		if _, err := os.Stat(m[1]); err != nil {
			t.Errorf("%s: %v", knows, err)
		}
	}
	for _, m := range testName.FindAllStringSubmatch(string(text), -1) {
		if !placed[m[1]] {
			t.Errorf("%s names %s and not its file", knows, m[1])
		}
	}
	for _, obligation := range []string{"O1", "O2", "O3", "O4", "O5", "O6", "O7"} {
		if !strings.Contains(string(text), "| "+obligation+" ") {
			t.Errorf("%s has no row for %s", knows, obligation)
		}
	}
}

// declares reports whether the file declares name: a function, a variable, or a
// method as Receiver.Method.
func declares(t *testing.T, file, name string) bool {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Errorf("%s: %v", knows, err)
		return true
	}
	for _, d := range parsed.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if receiver(d)+d.Name.Name == name {
				return true
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok && v.Names[0].Name == name {
					return true
				}
			}
		}
	}
	return false
}

// receiver is a method's type with a dot behind it; "" for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	of := d.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if name, ok := of.(*ast.Ident); ok {
		return name.Name + "."
	}
	return ""
}
