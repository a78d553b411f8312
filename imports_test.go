// Package obspc_test holds the tests that concern the repository as a whole.
package obspc_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/obspc/obspc/"

// imports reads every Go file of the repository itself, of every GOOS (go list
// sees one), and returns what each package imports outside tests.
func imports(t *testing.T) map[string][]string {
	t.Helper()
	sets := map[string]map[string]bool{}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(filepath.Dir(file))
		if sets[pkg] == nil {
			sets[pkg] = map[string]bool{}
		}
		for _, spec := range parsed.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			sets[pkg][name] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for pkg, set := range sets {
		out[pkg] = slices.Sorted(maps.Keys(set))
	}
	return out
}

type direction struct {
	from  string
	allow []string
	why   string
}

// directions are the import rules of design 3. Of obspc's own packages, from may
// import only those that match allow, and lang/diag; why is the reason a reviewer
// gets.
var directions = []direction{
	{"lang/diag", nil, "diagnostics are a leaf: everything may import them"},
	{"lang", nil, "the language knows what may be written, not what it means"},
	{"compiler/canon", nil, "canonical JSON is a leaf"},
	{"compiler/addresses", nil, "which addresses are special is data, and a search"},
	{"compiler/syscalls", nil, "the names and numbers of system calls are data"},
	{"compiler/ir", []string{"compiler/canon", "compiler/syscalls"}, "the meaning must not depend on how it is written or enforced"},
	{"compiler/ir/diff", []string{"compiler/ir", "compiler/canon", "compiler/addresses"}, "what changed in meaning knows nothing of text or targets"},
	{"compiler/ir/propose", []string{"compiler/ir", "compiler/addresses"}, "what an author may add is asked of what a policy means; who saw the accesses does not matter"},
	{"compiler/lint", []string{"compiler/ir", "compiler/syscalls", "compiler/addresses"}, "whether a policy is wise is asked of what it means"},
	{"compiler", []string{"lang", "compiler/ir", "compiler/canon", "compiler/syscalls", "compiler/addresses"}, "the compiler knows no target"},
	{"targets/seatbelt", []string{"targets/seatbelt/operations", "compiler/ir", "compiler/canon"}, "targets never import each other; the emitter of profiles never sees their reader"},
	{"targets/seatbelt/sbpl/scheme", nil, "reading Scheme knows nothing of profiles"},
	{"targets/seatbelt/sbpl", []string{"targets/seatbelt/operations", "targets/seatbelt/sbpl/scheme"}, "the reader of profiles shares the names of operations with their emitter, and nothing else"},
	{"targets/seatbelt/model", []string{"targets/seatbelt/sbpl", "targets/seatbelt/operations", "compiler/ir"}, "the model reads a profile's bytes, and never sees how they are made"},
	{"targets/seatbelt/violations", []string{"compiler/ir"}, "what macOS logs is read without knowing a profile"},
	{"targets/seatbelt/operations", nil, "the names of Seatbelt's operations are data"},
	{"targets/seatbelt/fragment", []string{"targets/seatbelt/operations", "compiler/ir"}, "the small reader of our profiles shares the names of operations with their emitter, and nothing with the reader of anybody's"},
	{"targets/seatbelt/proof", []string{"targets/seatbelt/fragment", "targets/seatbelt/operations", "compiler/ir"}, "a profile is held to the policy, and its emitter is not asked"},
	{"targets/models", []string{"targets", "targets/egress", "targets/seatbelt/model", "targets/seatbelt/operations", "compiler/ir"}, "every target's model side by side, for questions; never linked into obsrun"},
	{"targets/bwrap/cmdline", []string{"compiler/ir"}, "it reads anybody's command lines, and shares nothing with what writes ours"},
	{"targets/seccomp", []string{"compiler/ir", "compiler/syscalls"}, "targets never import each other"},
	{"targets/egress", []string{"compiler/ir", "compiler/canon", "compiler/addresses"}, "what the proxy decides by resolves nothing and dials nothing"},
	{"targets/*", []string{"compiler/ir", "compiler/canon"}, "targets never import each other"},
	{"targets", []string{"targets/*", "targets/seatbelt/proof", "targets/seatbelt/fragment", "compiler/ir", "compiler/canon", "compiler/syscalls", "compiler/addresses"}, "the registry sees every target, and no source text"},
	{"cmd/obspc/expect", []string{"lang", "compiler", "compiler/ir", "targets", "targets/models"}, "tests ask what policies mean and what artifacts do; a kernel is asked by the caller"},
	{"cmd/obspc/ocsf", []string{"runtime", "runtime/proxy", "compiler/ir"}, "how decisions are told to other systems knows evidence, and nothing of how they were made"},
	{"cmd/obspc/replay", []string{"runtime", "runtime/proxy", "targets/egress", "compiler/ir", "compiler/addresses"}, "what runs recorded is decided by what a policy means; nothing is asked of a network"},
	{"cmd/obspc/live", []string{"lang", "compiler", "compiler/ir", "compiler/syscalls", "policies", "policies/library", "targets", "targets/models", "targets/seatbelt", "targets/seatbelt/model", "targets/seatbelt/sbpl", "cmd/obspc/expect"}, "attempts know how a sandbox is called, and not how obsrun makes one"},
	{"verify/release", []string{"compiler/canon"}, "reading and writing a release is a leaf"},
	{"verify", []string{"verify/release", "targets", "targets/*", "compiler/ir", "compiler/canon"}, "one verifier, the same code in both programs"},
	{"verify/rego", []string{"verify", "verify/release", "targets", "compiler/ir", "compiler/ir/diff"}, "house rules are asked about what a policy means and whether targets keep it, never about its text"},
	{"verify/sign", []string{"verify", "verify/release"}, "signatures are over bytes, whatever they mean"},
	{"cmd/obspc/verdict", []string{"verify", "verify/release"}, "how a verdict is written knows nothing of how it was reached"},
	{"runtime/attribute", nil, "whose a connection is knows nothing of policies"},
	{"runtime/cgroup", nil, "a control group knows nothing of policies"},
	{"runtime/domain", []string{"targets/landlock", "compiler/ir"}, "a domain is asked for as its rules say, and not where they come from"},
	{"runtime/registry", []string{"compiler/ir"}, "keeping runs apart knows what rules mean, and not how they are enforced"},
	{"runtime/proxy", []string{"targets/egress", "compiler/ir"}, "the proxy knows the rules, and no release and no sandbox"},
	{"runtime/trace", []string{"compiler/ir"}, "seeing what fails knows no policy and no sandbox"},
	{"runtime", []string{"runtime/attribute", "runtime/proxy", "runtime/cgroup", "runtime/domain", "runtime/registry", "verify", "verify/release", "targets", "targets/*", "compiler/ir", "compiler/ir/propose", "compiler/canon", "compiler/syscalls", "runtime/trace"}, "the runtime sees verified releases only, never a policy's text"},
	{"policies", nil, "the library is data"},
	{"policies/library", []string{"policies", "lang"}, "reading templates knows nothing of what they mean"},
	{"cmd/obsrun", []string{"runtime", "runtime/proxy", "verify", "verify/release", "compiler/ir", "targets/*"}, "obsrun reads releases only"},
	{"cmd/obspc", []string{"*", "*/*", "*/*/*"}, "the command line ties everything together"},
	{"cmd/mac-proof/proof", nil, "the record of a Mac is a leaf: who reads it needs nothing else"},
	{"cmd/mac-proof", []string{"cmd/mac-proof/proof", "cmd/obspc/live", "lang", "compiler", "compiler/ir", "policies", "policies/library", "targets"}, "asking a Mac is the bench's work; this gathers the questions and writes the answers down"},
	{"cmd/release", []string{"verify/release", "verify/sign"}, "releases are made of the programs' bytes; only their checksums and signature are ours"},
	{"cmd/kernels", nil, "in a machine of its own it uses the programs as a user would"},
	{"cmd/obspc-demo", []string{"policies"}, "the demo uses the two programs as a user would"},
}

func TestImportDirections(t *testing.T) {
	ruled := map[string]bool{}
	for pkg, list := range imports(t) {
		rule := slices.IndexFunc(directions, func(d direction) bool { ok, _ := path.Match(d.from, pkg); return ok })
		if rule < 0 {
			t.Errorf("package %s has no row in directions: say what it may import, and why", pkg)
			continue
		}
		d := directions[rule]
		ruled[d.from] = true
		for _, imported := range list {
			own, ok := strings.CutPrefix(imported, module)
			if ok && own != "lang/diag" && !slices.ContainsFunc(d.allow, func(pattern string) bool { ok, _ := path.Match(pattern, own); return ok }) {
				t.Errorf("%s imports %s: %s", pkg, own, d.why)
			}
		}
	}
	for _, d := range directions {
		if !ruled[d.from] {
			t.Errorf("the row for %s concerns no package", d.from)
		}
	}
}

// TestPurePackages keeps everything left of verify.Open a function of its inputs.
func TestPurePackages(t *testing.T) {
	impure := []string{"os", "net", "time", "syscall", "os/exec", "os/user", "net/http", "golang.org/x/sys/unix", "math/rand", "math/rand/v2", "crypto/rand"}
	for pkg, list := range imports(t) {
		first, _, _ := strings.Cut(pkg, "/")
		if !slices.Contains([]string{"lang", "compiler", "targets", "policies"}, first) && pkg != "cmd/obspc/expect" && pkg != "cmd/obspc/verdict" {
			continue
		}
		for _, imported := range list {
			if slices.Contains(impure, imported) {
				t.Errorf("%s imports %s: text to artifact is a function of its arguments, without clock, environment, network or host files", pkg, imported)
			}
		}
	}
}

// owners are the only packages that import a heavy dependency.
var owners = map[string]string{
	"github.com/hashicorp/hcl/":     "lang",
	"github.com/zclconf/":           "lang",
	"github.com/urfave/cli/":        "cmd/obspc",
	"github.com/open-policy-agent/": "verify/rego",
	"github.com/sigstore/":          "verify/sign",
	"github.com/CycloneDX/":         "cmd/release",
	"github.com/spdx/":              "cmd/release",
}

func TestHeavyDependenciesHaveOneOwner(t *testing.T) {
	for pkg, list := range imports(t) {
		for _, imported := range list {
			for prefix, owner := range owners {
				if strings.HasPrefix(imported, prefix) && pkg != owner {
					t.Errorf("%s imports %s: only %s may", pkg, imported, owner)
				}
			}
		}
	}
}

// TestClosureOfObspc: what makes releases is linked into none of their programs.
func TestClosureOfObspc(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "./cmd/obspc").CombinedOutput()
	if err != nil {
		t.Fatalf("go list -deps ./cmd/obspc: %v\n%s", err, out)
	}
	for dep := range strings.Lines(string(out)) {
		if strings.HasPrefix(dep, "github.com/CycloneDX/") || strings.HasPrefix(dep, "github.com/spdx/") {
			t.Errorf("cmd/obspc links %s", strings.TrimSpace(dep))
		}
	}
}

// TestClosureOfObsrun looks at what is linked into the program that runs as part
// of every sandbox: neither HCL, OPA, sigstore nor urfave/cli.
func TestClosureOfObsrun(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "./cmd/obsrun").CombinedOutput()
	if err != nil {
		t.Fatalf("go list -deps ./cmd/obsrun: %v\n%s", err, out)
	}
	for dep := range strings.Lines(string(out)) {
		dep = strings.TrimSpace(dep)
		for prefix := range owners {
			if strings.HasPrefix(dep, prefix) {
				t.Errorf("cmd/obsrun links %s", dep)
			}
		}
		if own := strings.TrimPrefix(dep, module); strings.HasPrefix(own, "targets/seatbelt/sbpl") || own == "targets/seatbelt/model" {
			t.Errorf("cmd/obsrun links %s: what is run is proven by the small reader of profiles alone", dep)
		}
		if strings.TrimPrefix(dep, module) == "lang" || strings.TrimPrefix(dep, module) == "compiler" {
			t.Errorf("cmd/obsrun links %s: it reads releases, never policies", dep)
		}
	}
}
