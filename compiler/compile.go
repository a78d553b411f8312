// Package compiler turns a lang.Config into one ir.Policy for each policy: names
// of templates become their statements, text becomes paths, hosts and sizes, and
// what remains means one thing. Its one rule: a statement reaches the IR whole or
// is refused where it stands; nothing is dropped, guessed or reordered silently.
// What may be written is package lang's; what an answer follows from is package
// ir's.
package compiler

import (
	"cmp"
	"slices"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/lang/diag"
)

// Options are what a call adds to the configuration.
type Options struct {
	// Library is the embedded template of a name ("std/base"); nil: there are
	// none.
	Library func(name string) (*lang.Body, bool)
	// LibraryNames lists what Library knows, for suggestions.
	LibraryNames []string
}

// Result is one compiled policy. Ranges tells where each statement stands that
// the policy's origins name; a builtin rule stands at the policy's own header.
type Result struct {
	Policy *ir.Policy
	Ranges map[ir.Origin]diag.Range
}

// pass is one step from text to meaning. Name says what holds afterwards.
type pass struct {
	name string
	run  func(*compilation)
	why  string
}

// passes are all steps, in the order in which they run.
var passes = []pass{
	{"templates bound", bind, "every later pass follows extends without asking whether it ends"},
	{"rules bounded", bound, "what follows may cost a constant for each rule"},
	{"settings known", settings, "targets decide what the later passes must ask for"},
	{"files placed", files, "a path is one place before any two are compared"},
	{"levels single", levels, "one body says one thing about one path, or merging would have to choose"},
	{"endpoints placed", endpoints, "hosts compare in canonical form only"},
	{"hosts denied", deniedHosts, "they compare with the hosts of endpoints"},
	{"environment typed", environment, "a value is parts from here on, never text with holes"},
	{"limits counted", limits, "units end here: the IR counts bytes, milliseconds, seconds, descriptors and processes"},
	{"system calls known", systemCalls, "a call that is misspelt would be denied nowhere, and one that all programs need would end them all"},
	{"system named", system, "names of system resources compare by equality"},
	{"commands typed", commands, "arguments are parts and fields before anything asks what a caller may say"},
	{"waivers known", waivers, "a waiver of something misspelt would waive nothing and look as if it did"},
	{"templates merged", merge, "own statements replace inherited ones only once all of them are known"},
	{"allowed calls refused", callsRefused, "what a template denies is known only after merging"},
	{"builtins stated", builtins, "what obspc adds stands in the IR like every other statement"},
	{"limits applied", applied, "a limit is about something the whole policy has: a tmp slot, a workspace"},
	{"endpoints agree", endpointsAgree, "two that can be of one connection may come from two templates"},
	{"policies assembled", assemble, "lists are in their one order, so the same meaning has the same bytes"},
	{"slots placeable", slotPlaces, "a slot may be named in one template and denied in another"},
	{"protections certain", protections, "what optional() surrounds is known only after merging"},
	{"names apart by more than case", caseTwins, "on macOS two such rules would name one file"},
	{"programs startable", programs, "asks ir.Decide, so it needs the whole policy"},
}

// Compile compiles every policy of the configuration, in the order of their
// names. A policy with an error, or that extends a template with one, has no
// Result; the others have, unless the configuration itself is partial. The
// findings are those of the whole configuration.
func Compile(cfg *lang.Config, o Options) ([]Result, diag.List) {
	return run(cfg, o, func(pass, *compilation) {})
}

// run is Compile; after is called after every pass.
func run(cfg *lang.Config, o Options, after func(pass, *compilation)) ([]Result, diag.List) {
	c := &compilation{config: cfg, options: o, embedded: map[string]*body{}}
	for _, p := range passes {
		p.run(c)
		after(p, c)
	}
	var out []Result
	for _, d := range c.drafts {
		if cfg.Partial || !d.body.sound() {
			continue
		}
		if err := d.policy.Check(); err != nil {
			diag.Bug("policy %s compiled to what ir.Check refuses: %v", d.body.name, err)
		}
		out = append(out, Result{d.policy, d.ranges})
	}
	slices.SortFunc(out, func(a, b Result) int { return cmp.Compare(a.Policy.Name, b.Policy.Name) })
	return out, capped(c.diags)
}
