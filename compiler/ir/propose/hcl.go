package propose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
)

// Element is the addition as an element of its list.
func (a Addition) Element() string {
	if a.Only {
		return "only(" + expression(a.Path) + ")"
	}
	return expression(a.Path)
}

// expression is a path as the language writes it.
func expression(p ir.Path) string {
	if p.Root() != ir.Host && p.IsRoot() {
		return p.Root().String()
	}
	text := escapes.Replace("/" + p.Rel())
	if p.Root() != ir.Host {
		text = "${" + p.Root().String() + "}" + text
	}
	return `"` + text + `"`
}

// escapes are those of a quoted template (HCL native syntax specification,
// "Template Literals"). A path has no control characters.
var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "${", "$${", "%{", "%%{")

// Merge is all additions of the findings, each once, without those that others
// contain: a path that is named is held, so a name inside what is to be written must
// not be named as well.
func Merge(list []Finding) []Addition {
	var out []Addition
	for _, f := range list {
		for _, a := range f.Add {
			if a.Endpoint != nil {
				out = mergeEndpoint(out, a)
			} else if !slices.Contains(out, a) {
				out = append(out, a)
			}
		}
	}
	out = slices.DeleteFunc(slices.Clone(out), func(a Addition) bool {
		return a.Endpoint == nil && slices.ContainsFunc(out, func(b Addition) bool { return b != a && b.contains(a) })
	})
	slices.SortStableFunc(out, func(a, b Addition) int {
		if a.Endpoint != nil && b.Endpoint != nil {
			return strings.Compare(a.Endpoint.Name, b.Endpoint.Name)
		}
		return a.Path.Compare(b.Path)
	})
	return out
}

// contains reports whether b says nothing that a does not.
func (a Addition) contains(b Addition) bool {
	if a.Endpoint != nil || (a.List == "execute") != (b.List == "execute") || a.List == "read" && b.List == "write" {
		return false
	}
	if a.Only {
		return b.Only && a.Path == b.Path
	}
	return a.Path.Covers(b.Path)
}

// HCL is additions as blocks to put into a policy, as hclwrite formats them.
func HCL(list []Addition) string {
	var b strings.Builder
	if slices.ContainsFunc(list, func(a Addition) bool { return a.Endpoint == nil }) {
		writeFilesystem(&b, list)
	}
	if slices.ContainsFunc(list, func(a Addition) bool { return a.Endpoint != nil }) {
		writeNetwork(&b, list)
	}
	return b.String()
}

func writeFilesystem(b *strings.Builder, list []Addition) {
	b.WriteString("filesystem {\n")
	for _, a := range list {
		if a.Instead != "" {
			fmt.Fprintf(b, "  # take %s out of %s: a path has one level\n", a.Element(), a.Instead)
		}
	}
	for _, name := range []string{"read", "write", "execute"} {
		var elements []string
		for _, a := range list {
			if a.Endpoint == nil && a.List == name {
				elements = append(elements, a.Element())
			}
		}
		if len(elements) > 0 {
			fmt.Fprintf(b, "  %s = [\n    %s,\n  ]\n", name, strings.Join(elements, ",\n    "))
		}
	}
	b.WriteString("}\n")
}
