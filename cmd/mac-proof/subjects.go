package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/obspc/obspc/cmd/mac-proof/proof"
	"github.com/obspc/obspc/cmd/obspc/live"
	"github.com/obspc/obspc/compiler"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/policies"
	"github.com/obspc/obspc/policies/library"
	"github.com/obspc/obspc/targets"
)

// own are the slots that lie on the bench: nothing of the user's own is asked about.
var own = []ir.Root{ir.Home, ir.Tmp, ir.Workspace}

// staged are directories that the repository's policies speak of and no Mac has, or
// has something of the user's in.
var staged = []ir.Path{ir.MustPath("/srv"), ir.MustPath("/opt")}

// subject is a policy for macOS, the digest of its profile and what is asked of it.
type subject struct {
	result   compiler.Result
	profile  string
	requests []ir.Request
}

// subjects are the cases of testdata/corpus and the templates of policies, with
// their probes and with those that their own rules give.
func subjects(root string) ([]subject, error) {
	var out []subject
	add := func(file string, text []byte, probes string, about func(ir.Rule, ir.Path) bool) error {
		s, err := newSubject(file, text, filepath.Join(root, probes), about)
		if err == nil && s.result.Policy.HasTarget(ir.Seatbelt) {
			out = append(out, s)
		}
		return err
	}
	cases, err := filepath.Glob(filepath.Join(root, "testdata/corpus/*"))
	if err != nil || len(cases) == 0 {
		return nil, fmt.Errorf("%s holds no testdata/corpus: run make mac-proof in a clone of the repository", root)
	}
	for _, dir := range cases {
		name := filepath.Base(dir)
		text, err := os.ReadFile(filepath.Join(dir, name+lang.Suffix))
		if err == nil {
			err = add(name+lang.Suffix, text, filepath.Join("testdata/corpus", name, "probes.txt"), func(_ ir.Rule, p ir.Path) bool { return onBench(p) })
		}
		if err != nil {
			return nil, err
		}
	}
	templates, err := filepath.Glob(filepath.Join(root, "policies/std/*"))
	if err != nil || len(templates) == 0 {
		return nil, fmt.Errorf("%s holds no policies/std: run make mac-proof in a clone of the repository", root)
	}
	for _, dir := range templates {
		name := "std/" + filepath.Base(dir)
		policy := strings.ReplaceAll(name, "/", "-")
		text := fmt.Appendf(nil, "policy %q {\n  version = 1\n  targets = [\"seatbelt\"]\n  extends = [%q]\n}\n", policy, name)
		// What it extends is asked about there, and where programs may lie is dozens of
		// rules alike, of which the probes ask about some.
		own := func(r ir.Rule, p ir.Path) bool { return strings.HasPrefix(string(r.From()), name+"/") && inSlot(p) }
		if err := add(policy+lang.Suffix, text, filepath.Join("policies", name, "probes.txt"), own); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func newSubject(file string, text []byte, probes string, about func(ir.Rule, ir.Path) bool) (subject, error) {
	config, diags := lang.Parse(lang.Sources{file: text}, lang.Options{})
	results, more := compiler.Compile(config, compiler.Options{Library: library.Template, LibraryNames: policies.Names()})
	if diags.Add(more...); diags.HasErrors() || len(results) != 1 {
		return subject{}, fmt.Errorf("%s: %d policies, want one without errors: %v", file, len(results), diags)
	}
	s := subject{result: results[0]}
	requests, err := read(probes)
	if err != nil {
		return s, err
	}
	s.requests = distinct(append(requests, rulesAsk(s.result.Policy, about)...))
	if !s.result.Policy.HasTarget(ir.Seatbelt) {
		return s, nil
	}
	s.profile, err = digest(s.result.Policy)
	return s, err
}

// digest is that of the policy's own profile.
func digest(p *ir.Policy) (string, error) {
	alone := *p
	alone.Targets = []ir.Target{ir.Seatbelt}
	artifacts, err := targets.Compile(&alone)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(artifacts, func(a targets.Artifact) bool { return a.Target == ir.Seatbelt })
	sum := sha256.Sum256(artifacts[i].Data)
	return hex.EncodeToString(sum[:]), nil
}

// read takes the requests of a probes.txt: what follows the last tab of each line.
func read(file string) ([]ir.Request, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var out []ir.Request
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		words := line[strings.LastIndexByte(line, '\t')+1:]
		q, err := parse(words)
		if err != nil {
			return nil, fmt.Errorf("%s: %q: %w", file, words, err)
		}
		out = append(out, q)
	}
	return out, nil
}

// parse reads a request; only in one of three words does a space end the second.
func parse(text string) (ir.Request, error) {
	word, rest, _ := strings.Cut(text, " ")
	if kind := ir.RequestKind(word); kind.Pairs() || kind == ir.URLRequest {
		return ir.ParseRequest(strings.Fields(text))
	}
	return ir.ParseRequest([]string{word, rest})
}

// rulesAsk are the requests that the rules give: every word about each path among
// those asked about that they name, about what lies below it, and about moving either.
func rulesAsk(p *ir.Policy, asked func(ir.Rule, ir.Path) bool) []ir.Request {
	var out []ir.Request
	about := func(at ir.Path) {
		parent, ok := at.Parent()
		inside := ok && onBench(parent)
		for _, word := range ir.FileRequests() {
			if name := word == ir.CreateRequest || word == ir.RemoveRequest; word != ir.ConnectUnixRequest && (inside || !name) {
				out = append(out, ir.Request{Kind: word, Path: at})
			}
		}
		if inside {
			other := parent.Join("obspc-other")
			out = append(out,
				ir.Request{Kind: ir.RenameRequest, Path: at, To: other}, ir.Request{Kind: ir.RenameRequest, Path: other, To: at},
				ir.Request{Kind: ir.LinkRequest, Path: at, To: other})
		}
	}
	name := func(r ir.Rule, at ir.Path) {
		if asked(r, at) {
			about(at)
			about(at.Join("obspc-probe"))
		}
	}
	for i := range p.Files {
		name(&p.Files[i], p.Files[i].Path)
	}
	for i := range p.Execute {
		name(&p.Execute[i], p.Execute[i].Path)
	}
	return out
}

// onBench reports whether the path lies in what the bench makes for each attempt.
func onBench(p ir.Path) bool {
	return inSlot(p) || slices.ContainsFunc(staged, func(dir ir.Path) bool { return dir.Covers(p) })
}

// inSlot reports whether the path lies in a slot.
func inSlot(p ir.Path) bool { return slices.Contains(own, p.Root()) }

// distinct drops requests that are there already.
func distinct(list []ir.Request) []ir.Request {
	seen := map[string]bool{}
	return slices.DeleteFunc(list, func(q ir.Request) bool {
		text := q.String()
		had := seen[text]
		seen[text] = true
		return had
	})
}

// ask tries the requests and writes the answers down.
func (s subject) ask(bench *live.Bench, p *proof.Proof) {
	name := s.result.Policy.Name
	policy := proof.Policy{Name: name, Profile: s.profile}
	added, err := bench.Added(s.result)
	if policy.Added = added; err != nil {
		policy.Why = bench.Neutral(err.Error())
	}
	for _, q := range s.requests {
		o := bench.Observe(s.result, ir.Binding{}, q)
		policy.Rejected = policy.Rejected || o.Rejected
		p.Probes = append(p.Probes, proof.Probe{
			Policy: name, Request: q.String(), Decide: string(o.Decide), Model: string(o.Model),
			Control: o.Control, Kernel: string(o.Kernel), Errno: o.Errno, Why: bench.Neutral(o.Why),
		})
	}
	p.Policies = append(p.Policies, policy)
}
