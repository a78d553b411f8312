package compiler

import (
	"fmt"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/lang/diag"
)

// waivers states every feature of the waive blocks.
func waivers(c *compilation) {
	known := map[ir.Feature]bool{}
	for _, f := range ir.Features() {
		known[f] = true
	}
	for _, b := range c.bodies {
		count := map[string]int{}
		stated := map[key]bool{}
		for _, w := range b.source.Waives {
			c.waive(b, w, known, count, stated)
		}
	}
}

func (c *compilation) waive(b *body, w *lang.Waive, features map[ir.Feature]bool, count map[string]int, stated map[key]bool) {
	target := ir.Target(w.Target.Value)
	known := isTarget(w.Target.Value) && strings.TrimSpace(w.Reason.Value) != ""
	if !c.promised(known, "a waiver of an unknown target or without a reason", w.Range) {
		return
	}
	for _, f := range w.Features {
		feature := ir.Feature(f.Value)
		k := key{kind: waiverKind, name: w.Target.Value + " " + f.Value}
		place := fmt.Sprintf("waive.%s[%d]", target, count[w.Target.Value])
		count[w.Target.Value]++
		switch {
		case !features[feature]:
			c.find(b, unknownFeature(f))
		case !stated[k]:
			stated[k] = true
			b.add(k, ir.Waiver{Target: target, Feature: feature, Reason: w.Reason.Value}, place, f.Range)
		}
	}
}

// unknownFeature reports a waiver of something that no policy can use.
func unknownFeature(f lang.String) diag.Diagnostic {
	var names []string
	for _, k := range ir.Features() {
		names = append(names, string(k))
	}
	return diag.Diagnostic{
		Code:    "unknown-feature",
		At:      f.Range,
		Message: fmt.Sprintf("there is no feature %q", f.Value),
		Help:    lang.DidYouMean(f.Value, names),
	}
}
