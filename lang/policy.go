package lang

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/obspc/obspc/lang/diag"
)

// targetNames are what targets and waive know.
var targetNames = []string{"bwrap", "seatbelt"}

func (p *parser) decodeAll() {
	for _, b := range p.bodies {
		before := p.faults
		body := p.decodeBody(b)
		body.Partial = p.faults > before
		if body.Template {
			p.config.Templates = append(p.config.Templates, body)
		} else {
			p.config.Policies = append(p.config.Policies, body)
		}
	}
	p.requirePolicy()
}

// requirePolicy reports a configuration in which there is nothing to compile.
func (p *parser) requirePolicy() {
	if len(p.config.Policies) > 0 || p.opts.Library && len(p.config.Templates) > 0 || p.diags.HasErrors() {
		return
	}
	r := diag.Range{}
	if len(p.files) > 0 {
		r.File = p.files[0]
	}
	p.add(noPolicy(r, len(p.config.Templates)))
}

func (p *parser) decodeBody(hb *hclsyntax.Block) *Body {
	b := p.open(hb)
	b.checkName(identifierName.MatchString, identifierHelp)
	out := &Body{
		Template:    b.kind == "template",
		Name:        b.name,
		Range:       b.header,
		Description: b.str("description"),
		Extends:     b.extends(),
		Workspace:   b.choice("workspace", "fresh", "shared"),
		Environment: b.environment(),
	}
	if !out.Template {
		out.Version, out.Targets = b.version(), b.targets()
	}
	b.decodeFilesystem(out)
	b.decodeNetwork(out)
	b.decodeLimits(out)
	if s := b.single("syscalls"); s != nil {
		out.Syscalls = Syscalls{Deny: s.strs("deny"), Allow: s.strs("allow")}
	}
	b.decodeSystem(out)
	b.decodeCommands(out)
	b.decodeWaives(out)
	return out
}

func (b *block) version() Integer {
	if _, ok := b.attrs["version"]; !ok {
		b.p.add(missingAttribute(b.header, "policy", "version", "write version = 1, and raise it whenever the meaning changes"))
		return Integer{}
	}
	n, ok := b.integer("version")
	if ok && n.Value < 1 {
		b.p.add(versionRange(n))
		return Integer{}
	}
	return n
}

func (b *block) targets() []String {
	all := b.strs("targets")
	if all == nil {
		return nil
	}
	out := []String{}
	taken := b.p.names()
	for _, t := range all {
		if !slices.Contains(targetNames, t.Value) {
			b.p.add(unknownValue(t, "a target", targetNames))
			continue
		}
		taken.take("target", t)
		out = append(out, t)
	}
	if len(all) == 0 {
		b.p.add(targetsEmpty(at(b.attrs["targets"].Expr.Range())))
	}
	return out
}

// extends reads template.NAME by its syntax: it is a name, not a value.
func (b *block) extends() []Extend {
	a, ok := b.attrs["extends"]
	if !ok {
		return nil
	}
	tuple, ok := a.Expr.(*hclsyntax.TupleConsExpr)
	if name, bare := b.bareTemplate(a.Expr); bare || isTemplate(a.Expr) {
		b.p.add(extendsNoList(at(a.Expr.Range()), name))
		return nil
	}
	if !ok {
		out := []Extend{}
		for _, s := range b.strs("extends") {
			out = append(out, Extend{Name: s, Embedded: true})
		}
		return out
	}
	out := []Extend{}
	for _, e := range tuple.Exprs {
		if t, ok := e.(*hclsyntax.ScopeTraversalExpr); ok && t.Traversal.RootName() == "template" && len(t.Traversal) == 2 {
			if step, ok := t.Traversal[1].(hcl.TraverseAttr); ok {
				out = append(out, Extend{Name: String{step.Name, at(e.Range())}})
				continue
			}
		}
		if name, bare := b.bareTemplate(e); bare {
			b.p.add(templateUnquoted(at(e.Range()), name))
			continue
		}
		v, ok := b.p.evaluate(e, elsewhere)
		if !ok {
			continue
		}
		if s, ok := b.p.str(item{v, at(e.Range())}, "an element of extends"); ok {
			out = append(out, Extend{Name: s, Embedded: true})
		}
	}
	return out
}

// bareTemplate is the name of a template that stands without quotes: base, or
// std/base, which HCL takes for a division.
func (b *block) bareTemplate(e hclsyntax.Expression) (string, bool) {
	if division, ok := e.(*hclsyntax.BinaryOpExpr); ok && division.Op == hclsyntax.OpDivide {
		left, right := hcl.ExprAsKeyword(division.LHS), hcl.ExprAsKeyword(division.RHS)
		return left + "/" + right, left != "" && right != ""
	}
	name := hcl.ExprAsKeyword(e)
	return name, name != "" && !slices.Contains(roots, name)
}

func (b *block) decodeFilesystem(out *Body) {
	f := b.single("filesystem")
	if f == nil {
		return
	}
	out.Filesystem = Filesystem{
		Read:    f.paths("read"),
		Write:   f.paths("write"),
		Deny:    f.paths("deny"),
		Execute: f.paths("execute"),
		Stated:  map[string]diag.Range{},
		Range:   f.header,
	}
	for name, a := range f.attrs {
		out.Filesystem.Stated[name] = at(a.NameRange)
	}
}

// variableName is a portable environment variable (POSIX.1-2024, 8.1, with
// lower-case letters).
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (b *block) environment() []Variable {
	env := b.single("environment")
	if env == nil {
		return nil
	}
	out := []Variable{}
	for _, a := range inOrder(env.hclAttributes()) {
		name := String{a.Name, at(a.NameRange)}
		v, ok := b.p.evaluate(a.Expr, elsewhere)
		if !variableName.MatchString(name.Value) {
			b.p.add(environmentName(name))
			continue
		}
		if strings.HasPrefix(name.Value, "LD_") || strings.HasPrefix(name.Value, "DYLD_") {
			b.p.add(loaderVariable(name))
			continue
		}
		if !ok {
			continue
		}
		if t, ok := b.p.text(item{v, at(a.Expr.Range())}, short(name.Value), false); ok {
			out = append(out, Variable{name, t})
		}
	}
	return out
}

func (b *block) decodeLimits(out *Body) {
	l := b.single("limits")
	if l == nil {
		return
	}
	out.LimitScope = l.choice("scope", "tree", "watched")
	out.Limits = []Limit{}
	for _, a := range inOrder(l.hclAttributes()) {
		if a.Name == "scope" {
			continue
		}
		if limit, ok := l.limit(a); ok {
			out.Limits = append(out.Limits, limit)
		}
	}
}

func (b *block) decodeSystem(out *Body) {
	s := b.single("system")
	if s == nil {
		return
	}
	out.System = System{
		Devices:  s.choice("devices", "minimal", "none"),
		Shm:      s.str("shm"),
		Services: s.strs("services"),
		Sysctls:  s.strs("sysctls"),
		IPC:      s.strs("ipc"),
		IOKit:    s.strs("iokit"),
		Range:    s.header,
	}
}

func (b *block) decodeWaives(out *Body) {
	taken := b.p.names()
	for _, hb := range b.all("waive") {
		w := b.p.open(hb)
		taken.take("waive", w.name)
		if !w.name.Range.IsZero() && !slices.Contains(targetNames, w.name.Value) {
			b.p.add(unknownValue(w.name, "a target", targetNames))
		}
		waive := &Waive{Target: w.name, Range: w.header, Features: w.strs("features"), Reason: w.str("reason")}
		if _, ok := w.attrs["features"]; !ok {
			b.p.add(missingAttribute(w.header, "waive", "features", `name what the target need not enforce, as in features = ["filesystem.execute"]`))
		}
		if r := waive.Reason; w.attrs["reason"] == nil || !r.Range.IsZero() && strings.TrimSpace(r.Value) == "" {
			b.p.add(missingAttribute(w.header, "waive", "reason", "say why it may be missing, for whoever reviews the policy"))
		}
		out.Waives = append(out.Waives, waive)
	}
}

// isTemplate reports whether e is template.NAME.
func isTemplate(e hclsyntax.Expression) bool {
	t, ok := e.(*hclsyntax.ScopeTraversalExpr)
	return ok && t.Traversal.RootName() == "template" && len(t.Traversal) == 2
}

func extendsNoList(r diag.Range, name string) diag.Diagnostic {
	d := diag.Diagnostic{
		Code:    "wrong-type",
		At:      r,
		Message: "extends is a template, not a list of templates",
		Help:    "write it as a list: extends = [template.NAME]",
	}
	if name != "" {
		d.Help = fmt.Sprintf("write it as a list: extends = [%s], or [template.NAME] for a template of this configuration", quoted(name))
	}
	return d
}

func templateUnquoted(r diag.Range, name string) diag.Diagnostic {
	d := diag.Diagnostic{
		Code:    "unknown-name",
		At:      r,
		Message: fmt.Sprintf("the template %s stands without quotes", short(name)),
		Help:    fmt.Sprintf("write %s, in quotes", quoted(name)),
	}
	if !strings.Contains(name, "/") {
		d.Help = fmt.Sprintf("write template.%s for a template of this configuration; those of obspc stand in quotes, as in %q", short(name), "std/base")
	}
	return d
}

func noPolicy(r diag.Range, templates int) diag.Diagnostic {
	d := diag.Diagnostic{
		Code:    "no-policy",
		At:      r,
		Message: "no policy stands here",
		Help:    `write one: policy "NAME" { version = 1 }`,
	}
	if templates > 0 {
		d.Message = "templates stand here, and no policy that extends them"
	}
	return d
}

func versionRange(n Integer) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "version-range",
		At:      n.Range,
		Message: fmt.Sprintf("version %d is below 1", n.Value),
		Help:    "begin with version = 1",
	}
}

func targetsEmpty(r diag.Range) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "targets-empty",
		At:      r,
		Message: "the policy is for no target",
		Help:    `name targets, as in ["bwrap"], or leave the attribute out for all of them`,
	}
}

func environmentName(name String) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "environment-name",
		At:      name.Range,
		Message: fmt.Sprintf("%s is no portable name of an environment variable", quoted(name.Value)),
		Help:    "use A-Z, a-z, 0-9 and _, not beginning with a digit",
	}
}

func loaderVariable(name String) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "environment-loader-variable",
		At:      name.Range,
		Message: fmt.Sprintf("%s tells the dynamic loader what code to run", short(name.Value)),
		Help:    "remove it: LD_* and DYLD_* variables are never passed on",
	}
}
