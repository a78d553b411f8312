package compiler

import (
	"fmt"
	"slices"
	"strings"

	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/lang/diag"
)

// visit is how far the walk over extends has come with a body.
type visit uint8

const (
	unvisited visit = iota
	open            // on the chain that is being walked
	closed
)

// maxExtends bounds the length of a chain of templates (design 4, nesting).
const maxExtends = 64

// bind makes a body of every policy and template and follows extends, which ends
// afterwards: an element that closes a circle is reported and cut.
func bind(c *compilation) {
	templates := map[string]*body{}
	for _, t := range c.config.Templates {
		b := &body{source: t, name: "template." + t.Name.Value}
		c.bodies = append(c.bodies, b)
		if templates[t.Name.Value] == nil {
			templates[t.Name.Value] = b
		}
	}
	for _, p := range c.config.Policies {
		c.bodies = append(c.bodies, &body{source: p, name: p.Name.Value})
	}
	w := &binder{c: c, templates: templates}
	for _, b := range slices.Clone(c.bodies) {
		w.walk(b)
	}
}

// binder walks the templates that bodies extend.
type binder struct {
	c         *compilation
	templates map[string]*body
	chain     []*body
}

func (w *binder) walk(b *body) {
	b.state = open
	w.chain = append(w.chain, b)
	for _, e := range b.source.Extends {
		t, ok := w.template(b, e)
		if ok && t.state == unvisited {
			w.walk(t)
		}
		switch {
		case !ok:
			w.c.lose(b, unknownTemplate(e, w.known(b)))
		case t.state == open:
			w.c.lose(b, templateCycle(e, w.chain[slices.Index(w.chain, t):]))
		case t.depth >= maxExtends:
			w.c.lose(b, extendsTooDeep(e))
		default:
			b.extends = append(b.extends, extension{e.Name.Range, t})
			b.depth = max(b.depth, t.depth+1)
		}
	}
	w.chain = w.chain[:len(w.chain)-1]
	b.state = closed
}

// template is what e names: an embedded one, or one of this configuration. The
// embedded know only each other.
func (w *binder) template(b *body, e lang.Extend) (*body, bool) {
	name := e.Name.Value
	if !e.Embedded {
		t, ok := w.templates[name]
		return t, ok && w.c.embedded[b.name] != b
	}
	if t, ok := w.c.embedded[name]; ok {
		return t, true
	}
	if w.c.options.Library == nil {
		return nil, false
	}
	source, ok := w.c.options.Library(name)
	if !ok {
		return nil, false
	}
	t := &body{source: source, name: name}
	w.c.embedded[name] = t
	w.c.bodies = append(w.c.bodies, t)
	return t, true
}

// known lists what b may extend, as it is written there.
func (w *binder) known(b *body) []string {
	names := slices.Clone(w.c.options.LibraryNames)
	if w.c.embedded[b.name] != b {
		for n := range w.templates {
			names = append(names, "template."+n)
		}
	}
	return names
}

// written is e as it stands in extends, less the quotes.
func written(e lang.Extend) string {
	if e.Embedded {
		return e.Name.Value
	}
	return "template." + e.Name.Value
}

// unknownTemplate reports an element of extends that names nothing.
func unknownTemplate(e lang.Extend, known []string) diag.Diagnostic {
	help := lang.DidYouMean(written(e), known)
	if own := "template." + e.Name.Value; e.Embedded && slices.Contains(known, own) {
		help = "write " + own + ", without quotes, for a template of this configuration"
	}
	if e.Embedded && strings.HasPrefix(e.Name.Value, "template.") {
		help = "write " + e.Name.Value + " without quotes"
	}
	if std := "std/" + e.Name.Value; slices.Contains(known, std) && !slices.Contains(known, "template."+e.Name.Value) {
		help = fmt.Sprintf("write %q, in quotes", std)
	}
	return diag.Diagnostic{
		Code:    "unknown-template",
		At:      e.Name.Range,
		Message: fmt.Sprintf("there is no template %q", written(e)),
		Help:    help,
	}
}

// templateCycle reports the element that closes a circle; chain is the circle's
// bodies, first the one that the element leads back to.
func templateCycle(e lang.Extend, chain []*body) diag.Diagnostic {
	d := diag.Diagnostic{
		Code: "template-cycle",
		At:   e.Name.Range,
		Help: "take one of these out of extends, and state what it brought in the template itself",
	}
	var names []string
	for i, b := range chain {
		names = append(names, b.name)
		if i+1 < len(chain) {
			for _, x := range b.source.Extends {
				if written(x) == chain[i+1].name {
					d.Related = append(d.Related, diag.Related{At: x.Name.Range, Message: fmt.Sprintf("%s extends %s here", b.name, chain[i+1].name)})
					break
				}
			}
		}
	}
	names = append(names, chain[0].name)
	d.Message = "a template extends itself: " + strings.Join(names, " → ")
	return d
}

// extendsTooDeep reports a chain of templates past the limit.
func extendsTooDeep(e lang.Extend) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "extends-too-deep",
		At:      e.Name.Range,
		Message: fmt.Sprintf("templates extend each other more than %d deep", maxExtends),
		Help:    "put statements that belong together into one template",
	}
}
