package lang

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/obspc/obspc/lang/diag"
)

// Options are what a call adds to the sources.
type Options struct {
	// Vars are the values given with --var, as text, by name; each is read by
	// the type of its variable.
	Vars map[string]string
	// Library accepts a configuration that holds templates and no policy.
	Library bool
	// Tests are *.test.hcl files that ask about the configuration's policies;
	// they are no part of it.
	Tests Sources
}

// steps is the path from text to Config, in order. A step that stops ends the
// run when it found errors: what follows would report the same fault again.
var steps = []struct {
	name  string
	run   func(*parser)
	stops bool
}{
	{"scanned", (*parser).scanAll, true},        // bounded before the recursive parser sees it
	{"parsed", (*parser).parseAll, true},        // HCL's own syntax
	{"declared", (*parser).declareAll, false},   // top-level blocks sorted by what they declare
	{"valued", (*parser).valueVariables, false}, // default or --var, by type
	{"evaluated", (*parser).evaluateLocals, false},
	{"decoded", (*parser).decodeAll, false}, // policies and templates
	{"asked", (*parser).decodeTests, false}, // what tests want of them
}

// Parse turns sources into a Config. The findings are sorted and say each fault
// once; when they hold an error the Config is partial: what was faulty is left
// out of it. Parse never panics on any input, and its work is bounded whatever
// the input says.
func Parse(src Sources, opts Options) (*Config, diag.List) {
	p := &parser{
		opts:   opts,
		config: &Config{Sources: src, Variables: map[string]string{}},
		files:  slices.Sorted(maps.Keys(src)),
		tests:  slices.Sorted(maps.Keys(opts.Tests)),
		vars:   map[string]*variable{},
		locals: map[string]*local{},
		bounds: bounds{left: workLimit},

		formIndex: map[Field]int{},
	}
	for _, step := range steps {
		step.run(p)
		if step.stops && p.diags.HasErrors() {
			break
		}
	}
	p.config.Partial = p.diags.HasErrors()
	return p.config, p.capped()
}

// parser is the state of one Parse.
type parser struct {
	opts   Options
	config *Config
	files  []string // names of sources, sorted
	tests  []string // names of Options.Tests, sorted
	parsed []*hclsyntax.Body
	asked  []*hclsyntax.Body // of tests
	diags  diag.List

	vars      map[string]*variable
	varBlocks []*hclsyntax.Block
	locals    map[string]*local
	localList []*local           // in source order
	bodies    []*hclsyntax.Block // policies and templates, in source order
	bounds    bounds
	forms     []Field // every call of an argument form, by the number in its hole
	formIndex map[Field]int
	elements  int // list elements decoded so far
	faults    int // findings, and uses of what was found faulty elsewhere
}

// add collects a finding.
func (p *parser) add(d ...diag.Diagnostic) {
	p.faults += len(d)
	p.diags.Add(d...)
}

// maxFindings is how many findings one Parse hands out: a generated file with
// one mistake on every line should not cost more than the file itself.
const maxFindings = 1000

func (p *parser) capped() diag.List {
	l := p.diags.Sorted()
	if len(l) <= maxFindings {
		return l
	}
	cut := l[maxFindings]
	return append(l[:maxFindings:maxFindings], tooManyFindings(cut.At, len(l)-maxFindings))
}

// tooManyFindings says that the list of findings ends early.
func tooManyFindings(at diag.Range, more int) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "too-many-findings",
		At:      at,
		Message: fmt.Sprintf("%d more findings from here on are not shown", more),
		Help:    "mend the first ones and run again",
	}
}
