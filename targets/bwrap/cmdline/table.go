package cmdline

import (
	"fmt"
	"strings"
)

// Mount is one mount of the sandbox, in the order in which they are made.
type Mount struct {
	Path string
	Kind Kind
	// Writable is false for a read-only mount and for what holds no files.
	Writable bool
	// Source is the host's path behind it, "" when there is none or many.
	Source string
	// Certain is false where a missing source skips it.
	Certain bool
	// Hidden tells that a later mount lies over all of it.
	Hidden bool
	Op     *Operation // nil for the root
}

// Mounts lists them. What the host has mounted below a bind comes with it.
func (c *Command) Mounts() []Mount {
	var out []Mount
	for i := range c.layers {
		l := &c.layers[i]
		if l.mounted() && l.kind != Unread {
			out = append(out, Mount{l.dest, l.kind, l.writable, l.source, !l.try(), c.visible(i) == No, l.op})
		}
	}
	return out
}

// what is a mount for people.
func (m Mount) what() string {
	text := map[Kind]string{
		Root: "memory that everything stands on", Tmpfs: "memory", Dev: "memory with the minimal devices", Terminals: "terminals of its own",
		Proc: "processes", Queues: "message queues",
	}[m.Kind]
	switch {
	case m.Source != "":
		text = "the host's " + m.Source
	case m.Kind == Overlay:
		text = "layers: " + strings.Join(append(overlayTop(m.Op), m.Op.Lower...), ", ")
	case m.Kind == Data:
		text = "what descriptor " + m.Op.Source + " holds"
	}
	if m.Op != nil && m.Op.Size > 0 {
		text += fmt.Sprintf(", at most %d bytes", m.Op.Size)
	}
	if !m.Certain {
		text += ", if it exists"
	}
	if m.Hidden {
		text += "; hidden by a later mount"
	}
	return text
}

// Table is the sandbox for people: mounts, environment, namespaces, capabilities and
// the rest, a line each.
func (c *Command) Table() string {
	var b strings.Builder
	b.WriteString("mounts, in the order in which they are made:\n")
	for _, m := range c.Mounts() {
		if m.Kind == Device {
			continue // in the Dev above
		}
		access := "read-only"
		if m.Writable {
			access = "writable"
		}
		fmt.Fprintf(&b, "  %-24s %-9s %-9s %s\n", m.Path, m.Kind, access, m.what())
	}
	c.writeNamespaces(&b)
	c.writeEnvironment(&b)
	fmt.Fprintf(&b, "capabilities:\n  %-24s %s\n  %-24s %s\n", "of root", c.Capabilities.Root, "of any other caller", c.Capabilities.User)
	c.writeRest(&b)
	return b.String()
}

func (c *Command) writeNamespaces(b *strings.Builder) {
	b.WriteString("namespaces:\n")
	fmt.Fprintf(b, "  %-24s its own\n", "mount")
	for _, n := range c.Namespaces {
		fmt.Fprintf(b, "  %-24s %s\n", n.Name, n.whose())
	}
}

// whose is a namespace for people.
func (n Namespace) whose() string {
	switch {
	case n.Note != "":
		return n.Note
	case n.State == Yes:
		return "its own"
	}
	return "the host's"
}

func (c *Command) writeEnvironment(b *strings.Builder) {
	b.WriteString("environment:\n")
	switch e := c.Environment; {
	case e.Inherited && len(e.Unset) > 0:
		fmt.Fprintf(b, "  the caller's, without %s\n", strings.Join(e.Unset, ", "))
	case e.Inherited:
		b.WriteString("  the caller's\n")
	default:
		b.WriteString("  PWD\n")
	}
	for _, v := range c.Environment.Set {
		fmt.Fprintf(b, "  %s=%s\n", v.Name, v.Value)
	}
}

func (c *Command) writeRest(b *strings.Builder) {
	b.WriteString("process:\n")
	for _, row := range [][2]string{
		{"starts in", orElse(c.Directory, "the caller's directory, if it is there; else HOME or /")},
		{"host name", orElse(c.Hostname, "the host's")},
		{"new session", yesNo(c.NewSession)},
		{"dies with its parent", yesNo(c.DieWithin)},
		{"user namespaces inside", userns(c.NoUserns)},
		{"seccomp filter", orElse(strings.Join(c.Seccomp, ", "), "none")},
		{"bubblewrap", c.Needs.String() + " or newer" + because(c.By)},
	} {
		fmt.Fprintf(b, "  %-24s %s\n", row[0], row[1])
	}
	if len(c.Argv) > 0 {
		fmt.Fprintf(b, "  %-24s %s\n", "command", shellText(c.Argv))
	}
}

func because(option string) string {
	if option == "" {
		return ""
	}
	return ", for " + option
}

func userns(disabled bool) string {
	if disabled {
		return "none"
	}
	return "as the kernel allows"
}

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
