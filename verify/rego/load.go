package rego

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	oparego "github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/types"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/verify/release"
)

// ExemptionsName is the file of exemptions in a directory of rules.
const ExemptionsName = "exemptions.txt"

// Limits on a directory of rules.
const (
	maxFiles = 1000
	maxFile  = 1 << 20 // bytes
)

// codeForm is what findings are called.
var codeForm = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// Load reads and compiles every *.rego file of fsys, folders included, and its
// exemptions, which may be all there is. Test files are read and not part of the rules. The error is Errors:
// all faults at once.
func Load(fsys fs.FS) (*Rules, error) {
	files, err := readAll(fsys)
	if err != nil {
		return nil, err
	}
	r := &Rules{modules: map[string]*ast.Module{}, tests: map[string]*ast.Module{}}
	var wrong Errors
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if name == ExemptionsName {
			r.exemptions, err = parseExemptions(files[name])
		} else {
			err = r.parse(name, files[name])
		}
		if err != nil {
			wrong = append(wrong, faults(err)...)
		}
	}
	if len(wrong) == 0 {
		wrong = r.compile()
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	r.digest = digest(files)
	return r, nil
}

func readAll(fsys fs.FS) (map[string][]byte, error) {
	files := map[string][]byte{}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() || !strings.HasSuffix(name, ".rego") && name != ExemptionsName {
			return nil
		}
		if !d.Type().IsRegular() {
			return fmt.Errorf("%s is no plain file", name)
		}
		if len(files) == maxFiles {
			return fmt.Errorf("there are more than %d files of rules", maxFiles)
		}
		files[name], err = readFile(fsys, name)
		return err
	})
	if err != nil {
		return nil, err
	}
	return files, nil
}

func readFile(fsys fs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s has more than %d bytes", name, maxFile)
	}
	return data, err
}

// digest covers names, lengths and contents, so that no two sets of files share
// one but by a collision of SHA-256.
func digest(files map[string][]byte) release.Digest {
	h := sha256.New()
	io.WriteString(h, "obspc-rules/1\n")
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !strings.HasSuffix(name, testSuffix) {
			fmt.Fprintf(h, "%s  %q\n", release.Sum(files[name]), name)
		}
	}
	return release.Digest(hex.EncodeToString(h.Sum(nil)))
}

// testSuffix ends the names of files that test rules.
const testSuffix = "_test.rego"

func (r *Rules) parse(name string, text []byte) error {
	module, err := ast.ParseModuleWithOpts(name, string(text), ast.ParserOptions{RegoVersion: ast.RegoV1, Capabilities: capabilities()})
	if err != nil {
		return err
	}
	if strings.HasSuffix(name, testSuffix) {
		r.tests[name] = module
	} else {
		r.modules[name] = module
	}
	return nil
}

// compiler is OPA's, with everything on that makes it refuse more.
func compiler() *ast.Compiler {
	var schema any
	if err := json.Unmarshal(ir.JSONSchema(), &schema); err != nil {
		panic("bug in obspc: the schema of ir.json is no JSON: " + err.Error())
	}
	schemas := ast.NewSchemaSet()
	schemas.Put(ast.SchemaRootRef, schema)
	return ast.NewCompiler().WithCapabilities(capabilities()).WithStrict(true).WithSchemas(schemas).WithUseTypeCheckAnnotations(false)
}

// compile finds the rules that are asked and prepares the one query that asks
// them all.
func (r *Rules) compile() Errors {
	if wrong := r.findAsked(); len(wrong) > 0 {
		return wrong
	}
	c := compiler()
	if c.Compile(maps.Clone(r.modules)); c.Failed() {
		return faults(c.Errors)
	}
	var terms []string
	for _, a := range r.asked {
		terms = append(terms, fmt.Sprintf("data.%s.%s", a.pkg, a.kind))
	}
	query, err := oparego.New(
		oparego.Query("["+strings.Join(terms, ", ")+"]"), oparego.Compiler(c), oparego.StrictBuiltinErrors(true),
		oparego.SetRegoVersion(ast.RegoV1), changeFunction(),
	).PrepareForEval(context.Background())
	if err != nil {
		return faults(err)
	}
	r.query = query
	return nil
}

// findAsked lists the deny, violation and warn rules of every package, and
// refuses what could only be a slip: a rule of another name that nothing calls.
func (r *Rules) findAsked() (wrong Errors) {
	called := r.called()
	seen := map[asked]bool{}
	for _, file := range slices.Sorted(maps.Keys(r.modules)) {
		module := r.modules[file]
		pkg := strings.TrimPrefix(module.Package.Path.String(), "data.")
		if !packageForm.MatchString(pkg) {
			wrong = append(wrong, at(file, module.Package.Location, "package-name",
				fmt.Sprintf("package %s: write lower-case letters, digits and underscores, as in house.network", pkg)))
			continue
		}
		for _, rule := range module.Rules {
			name := rule.Head.Ref()[0].Value.String()
			name = strings.Trim(name, `"`)
			kind := Kind(name)
			switch {
			case slices.Contains(kinds, kind) && rule.Head.Key != nil && rule.Head.Value == nil && len(rule.Head.Ref()) == 1:
				if a := (asked{kind, pkg}); !seen[a] {
					seen[a] = true
					r.asked = append(r.asked, a)
				}
			case slices.Contains(kinds, kind):
				wrong = append(wrong, at(file, rule.Location, "no-set", fmt.Sprintf("%s is a set of findings; write %s contains finding if { … }", kind, kind)))
			case !called[name]:
				wrong = append(wrong, at(file, rule.Location, "never-asked",
					fmt.Sprintf("nothing uses %s; what is asked is called deny, violation or warn", name)))
			}
		}
	}
	if len(wrong) == 0 && len(r.asked) == 0 && len(r.exemptions) == 0 {
		wrong = Errors{{Code: "no-rules", Message: "there is no deny, violation or warn rule in any *.rego file here"}}
	}
	return wrong
}

var packageForm = regexp.MustCompile(`^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*$`)

// called are all names that some expression refers to, whatever the package: a
// slip of the pen names nothing at all.
func (r *Rules) called() map[string]bool {
	names := map[string]bool{}
	for _, module := range r.modules {
		for _, rule := range module.Rules {
			for chained := rule; chained != nil; chained = chained.Else {
				note := func(x any) bool {
					switch x := x.(type) {
					case ast.Var:
						names[string(x)] = true
					case ast.String:
						names[string(x)] = true
					}
					return false
				}
				ast.WalkTerms(chained.Body, func(t *ast.Term) bool { return note(t.Value) })
				for _, term := range []*ast.Term{chained.Head.Key, chained.Head.Value} {
					if term != nil {
						ast.WalkTerms(term, func(t *ast.Term) bool { return note(t.Value) })
					}
				}
			}
		}
	}
	return names
}

func at(file string, l *ast.Location, code, message string) Fault {
	f := Fault{File: path.Clean(file), Code: code, Message: message}
	if l != nil {
		f.Line, f.Column = l.Row, l.Col
	}
	return f
}

// changeName is the builtin that tells a rule what changed: an object with verdict
// (same, narrowed, widened or mixed) and version (of what was in use before);
// undefined when nothing was given to compare with.
const changeName = "obspc.change"

var changeType = types.NewFunction(types.Args(), types.NewObject([]*types.StaticProperty{
	types.NewStaticProperty("verdict", types.S), types.NewStaticProperty("version", types.N),
}, nil))

func changeFunction() func(*oparego.Rego) {
	return oparego.FunctionDyn(&oparego.Function{Name: changeName, Decl: changeType}, func(b oparego.BuiltinContext, _ []*ast.Term) (*ast.Term, error) {
		c, _ := b.Context.Value(changeKey{}).(*change)
		if c == nil {
			return nil, nil
		}
		return ast.ObjectTerm(
			ast.Item(ast.StringTerm("verdict"), ast.StringTerm(c.Verdict)),
			ast.Item(ast.StringTerm("version"), ast.IntNumberTerm(int(c.Version))),
		), nil
	})
}
