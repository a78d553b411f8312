package propose

import (
	"fmt"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
)

// attribute is one line of a block; hclwrite aligns those that follow each other.
type attribute struct{ name, value string }

func writeAttributes(b *strings.Builder, indent string, list []attribute) {
	longest := 0
	for _, a := range list {
		longest = max(longest, len(a.name))
	}
	for _, a := range list {
		fmt.Fprintf(b, "%s%-*s = %s\n", indent, longest, a.name, a.value)
	}
}

func writeNetwork(b *strings.Builder, list []Addition) {
	b.WriteString("network {\n")
	for _, a := range list {
		if a.Endpoint == nil {
			continue
		}
		if a.Into != nil {
			fmt.Fprintf(b, "  # endpoint %q is there already: %s\n", a.Into.Name, a.change())
		}
		fmt.Fprintf(b, "  endpoint %q {\n", a.Endpoint.Name)
		writeAttributes(b, "    ", a.attributes())
		for i, r := range a.Endpoint.Requests {
			if i > 0 || len(a.attributes()) > 0 {
				b.WriteString("\n")
			}
			b.WriteString("    allow {\n")
			writeAttributes(b, "      ", []attribute{{"methods", quoted(r.Methods)}, {"path", fmt.Sprintf(`"%s"`, escapes.Replace(string(r.Path)))}})
			b.WriteString("    }\n")
		}
		b.WriteString("  }\n")
	}
	b.WriteString("}\n")
}

// change says what an addition to an endpoint that is there takes.
func (a Addition) change() string {
	switch {
	case len(a.Endpoint.Ports) == 0:
		return "this goes into it"
	case len(a.Endpoint.Requests) == 0:
		return "these are its ports now"
	}
	return "these are its ports now, and the blocks go into it"
}

// attributes are the endpoint's own, or those that change of one that is there.
func (a Addition) attributes() []attribute {
	e := *a.Endpoint
	if a.Into != nil {
		if len(e.Ports) == 0 {
			return nil
		}
		return []attribute{{"ports", numbers(joined(*a.Into, e).Ports)}}
	}
	out := []attribute{{"host", fmt.Sprintf("%q", e.Host.Name)}}
	if e.Host.Addr.IsValid() {
		out[0] = attribute{"address", fmt.Sprintf("%q", e.Host.Addr)}
	}
	out = append(out, attribute{"ports", numbers(e.Ports)})
	if len(e.Executables) > 0 {
		var programs []string
		for _, x := range e.Executables {
			programs = append(programs, expression(x))
		}
		out = append(out, attribute{"executables", "[" + strings.Join(programs, ", ") + "]"})
	}
	if len(e.Addresses) > 0 {
		var ranges []string
		for _, r := range e.Addresses {
			ranges = append(ranges, r.String())
		}
		out = append(out, attribute{"addresses", quoted(ranges)})
	}
	if e.Protocol != ir.Web {
		out = append(out, attribute{"protocol", fmt.Sprintf("%q", e.Protocol)})
	}
	return out
}

func numbers(list []uint16) string {
	words := make([]string, len(list))
	for i, n := range list {
		words[i] = fmt.Sprint(n)
	}
	return "[" + strings.Join(words, ", ") + "]"
}

func quoted(list []string) string {
	words := make([]string, len(list))
	for i, s := range list {
		words[i] = fmt.Sprintf("%q", s)
	}
	return "[" + strings.Join(words, ", ") + "]"
}

// endpointLine is a network addition in a report.
func (a Addition) endpointLine() Line {
	e := a.Endpoint
	switch {
	case a.Into != nil && len(e.Requests) > 0:
		return Line{List: "allow", Element: asked(e.Requests[0]), Endpoint: e.Name}
	case a.Into != nil:
		return Line{List: "ports", Element: fmt.Sprint(e.Ports[0]), Endpoint: e.Name}
	}
	element := fmt.Sprintf("%s:%d", e.Host, e.Ports[0])
	if len(e.Executables) > 0 {
		element += " by " + e.Executables[0].String()
	}
	if e.Protocol != ir.Web {
		element += ", " + string(e.Protocol)
	}
	if len(e.Requests) > 0 {
		element += ": " + asked(e.Requests[0])
	}
	return Line{List: "endpoint", Element: element}
}

// asked is the method and the path of a rule.
func asked(r ir.RequestRule) string { return strings.Join(r.Methods, ",") + " " + string(r.Path) }
