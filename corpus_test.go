package obspc_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/policies"
	"github.com/obspc/obspc/targets"
	"github.com/obspc/obspc/targets/models"
)

// library parses an embedded template.
func library(t testing.TB) func(string) (*lang.Body, bool) {
	return func(name string) (*lang.Body, bool) {
		file, text, ok := policies.Source(name)
		if !ok {
			return nil, false
		}
		config, diags := lang.Parse(lang.Sources{file: text}, lang.Options{Library: true})
		if diags.HasErrors() || len(config.Templates) != 1 {
			t.Fatalf("embedded template %s: %v", name, diags)
		}
		return config.Templates[0], true
	}
}

// compileText compiles one configuration and its findings, those of the targets
// included.
func compileText(t testing.TB, file string, text []byte) ([]compiler.Result, diag.List) {
	t.Helper()
	config, diags := lang.Parse(lang.Sources{file: text}, lang.Options{})
	if diags.HasErrors() {
		return nil, diags
	}
	results, more := compiler.Compile(config, compiler.Options{Library: library(t), LibraryNames: policies.Names()})
	diags.Add(more...)
	for _, r := range results {
		diags.Add(targets.Compare(r.Policy, func(o ir.Origin) diag.Range { return r.Ranges[o] })...)
	}
	return results, diags
}

// TestCorpus compiles every case of testdata/corpus and compares all it becomes
// with the files beside it. An absent file is an empty one; a file that nothing
// produces fails. OBSPC_UPDATE=1 rewrites the files, and fails while doing so.
func TestCorpus(t *testing.T) {
	cases, err := filepath.Glob("testdata/corpus/*")
	if err != nil || len(cases) < 12 {
		t.Fatalf("testdata/corpus has %d cases, %v; want at least 12", len(cases), err)
	}
	for _, dir := range cases {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			compareGolden(t, dir, becomes(t, dir))
		})
	}
}

// becomes makes every golden file of a case, by name.
func becomes(t *testing.T, dir string) map[string][]byte {
	file := filepath.Base(dir) + lang.Suffix
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	results, diags := compileText(t, file, text)
	var findings bytes.Buffer
	sources := map[string][]byte{file: text}
	for _, name := range policies.Names() {
		f, source, _ := policies.Source(name)
		sources[f] = source
	}
	if err := diag.Render(&findings, diags, sources, diag.RenderOptions{}); err != nil {
		t.Fatal(err)
	}
	if diags.HasErrors() || len(results) != 1 {
		t.Fatalf("%s: %d policies, want one without errors\n%s", file, len(results), &findings)
	}
	p := results[0].Policy
	out := map[string][]byte{
		"findings.txt": findings.Bytes(),
		"ir.txt":       []byte(p.Text()),
		"ir.map.json":  results[0].MapJSON(),
	}
	artifacts, err := targets.Compile(p)
	if err != nil {
		t.Fatalf("targets.Compile(%s) = %v", p.Name, err)
	}
	files := map[string][]byte{}
	for _, a := range artifacts {
		files[a.Name] = a.Data
		if strings.HasSuffix(a.Name, ".bpf") {
			// The disassembly beside it is what people read; the digest holds the bytes.
			out[a.Name+".sha256"] = fmt.Appendf(nil, "%x\n", sha256.Sum256(a.Data))
			continue
		}
		out[a.Name] = a.Data
	}
	out["probes.txt"] = probes(t, filepath.Join(dir, "probes.txt"), p, files)
	return out
}

// probes answers the requests of probes.txt, a line each: what the policy means,
// what each target's model does with it ("-": it is not compiled for that target),
// the request.
func probes(t *testing.T, file string, p *ir.Policy, files map[string][]byte) []byte {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	binding := sampleBinding.With(ir.Tmp, ir.MustPath("/tmp"))
	bound, err := p.Bind(binding)
	if err != nil {
		t.Fatal(err)
	}
	answerers := map[ir.Target]models.Answerer{}
	for _, m := range models.All() {
		if !p.HasTarget(m.Target) {
			continue
		}
		if answerers[m.Target], err = m.Model(p, files, sampleBinding); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		request := line[strings.LastIndexByte(line, '\t')+1:]
		r, err := ir.ParseRequest(requestWords(request))
		if err != nil {
			t.Fatalf("%s: %q: %v", file, request, err)
		}
		unbound, asked := ir.Decide(p, r), r
		r.Path, r.To = binding.Path(r.Path), binding.Path(r.To)
		want := ir.Decide(bound, r)
		if unbound.Depends == 0 && unbound.Allow != want.Allow {
			t.Errorf("%s: %q is %v unbound and %v bound", file, request, unbound.Allow, want.Allow)
		}
		out.WriteString(allowDeny(want.Allow))
		for _, target := range []ir.Target{ir.Bwrap, ir.Seatbelt} {
			answer := "-"
			if m := answerers[target]; m != nil && models.Asked(target, r.Kind) {
				allow, _ := m.Decide(asked)
				if answer = allowDeny(allow); allow && !want.Allow {
					t.Errorf("%s: %q: %s allows what the policy denies", file, request, target)
				}
			}
			out.WriteString("\t" + answer)
		}
		out.WriteString("\t" + request + "\n")
	}
	return out.Bytes()
}

// requestWords splits a request into its words; only rename and link have two
// paths, and a path may hold spaces.
func requestWords(request string) []string {
	word, rest, _ := strings.Cut(request, " ")
	if word == "rename" || word == "link" || word == "request" {
		return strings.Fields(request)
	}
	return []string{word, rest}
}

func allowDeny(allow bool) string {
	if allow {
		return "allow"
	}
	return "deny"
}

// sampleBinding binds slots to an ordinary machine's paths; where tmp lies is each
// target's own affair.
var sampleBinding = ir.Binding{}.
	With(ir.Home, ir.MustPath("/opt/home/u")).
	With(ir.Workspace, ir.MustPath("/srv/w"))

// compareGolden holds want against the files of dir, the policy itself apart.
func compareGolden(t *testing.T, dir string, got map[string][]byte) {
	t.Helper()
	update := os.Getenv("OBSPC_UPDATE") == "1"
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, produced := got[e.Name()]; !produced && !strings.HasSuffix(e.Name(), lang.Suffix) {
			t.Errorf("%s: nothing produces this file", filepath.Join(dir, e.Name()))
			if update {
				os.Remove(filepath.Join(dir, e.Name()))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		file := filepath.Join(dir, name)
		want, err := os.ReadFile(file)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if bytes.Equal(got[name], want) {
			continue
		}
		t.Errorf("%s differs; OBSPC_UPDATE=1 go test rewrites it\n got: %s\nwant: %s", file, firstLines(got[name], want), firstLines(want, got[name]))
		if !update {
			continue
		}
		if len(got[name]) == 0 {
			os.Remove(file)
		} else if err := os.WriteFile(file, got[name], 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// firstLines is the part of text around its first difference from other.
func firstLines(text, other []byte) string {
	n := 0
	for n < len(text) && n < len(other) && text[n] == other[n] {
		n++
	}
	start := bytes.LastIndexByte(text[:n], '\n') + 1
	end := min(len(text), n+200)
	return fmt.Sprintf("…%q", text[start:end])
}
