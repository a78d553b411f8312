package ir

import (
	"fmt"
	"strconv"
	"strings"
)

func (r FileRule) String() string {
	return fmt.Sprintf("%s %s", r.Level, wrapped(r.Path, r.Only, r.Optional))
}

func (r ExecuteRule) String() string {
	return "execute " + wrapped(r.Path, r.Only, r.Optional)
}

func (r UnixRule) String() string {
	if r.Visible {
		return `unix = "visible"`
	}
	return `unix = "none"`
}

// Amount is the limit's value as a policy writes it, without quotes.
func (l Limit) Amount() string {
	switch l.Name {
	case OpenFiles, Processes:
		return strconv.FormatInt(l.Value, 10)
	case Timeout:
		return units(l.Value, []string{"h", "m", "s", "ms"}, 3_600_000, 60_000, 1000, 1)
	case CPUTime:
		return units(l.Value, []string{"h", "m", "s"}, 3600, 60, 1)
	}
	return bytesText(l.Value)
}

// units writes n as several whole numbers, each with its unit.
func units(n int64, names []string, amounts ...int64) string {
	var b strings.Builder
	for i, a := range amounts {
		if n >= a {
			fmt.Fprintf(&b, "%d%s", n/a, names[i])
			n %= a
		}
	}
	return b.String()
}

// bytesText writes n in the largest unit of which it is a whole number.
func bytesText(n int64) string {
	for _, u := range []struct {
		name   string
		amount int64
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}} {
		if n >= u.amount && n%u.amount == 0 {
			return fmt.Sprintf("%d%s", n/u.amount, u.name)
		}
	}
	return fmt.Sprintf("%dB", n)
}

func wrapped(p Path, only, optional bool) string {
	switch {
	case only && optional:
		return "only(optional(" + p.String() + "))"
	case only:
		return "only(" + p.String() + ")"
	case optional:
		return "optional(" + p.String() + ")"
	}
	return p.String()
}

// Text is the policy for people: one statement a line, each with its origin, in
// the order of the lists. It is what reviewers diff; the canonical JSON is what
// is signed.
func (p *Policy) Text() string {
	var b strings.Builder
	targets := make([]string, len(p.Targets))
	for i, t := range p.Targets {
		targets[i] = string(t)
	}
	fmt.Fprintf(&b, "policy %s version %d\ntargets %s\n", p.Name, p.Version, strings.Join(targets, " "))
	if p.Workspace != ByCommand {
		fmt.Fprintf(&b, "workspace %s\n", p.Workspace)
	}
	line := func(text string, o Origin) { fmt.Fprintf(&b, "%-58s # %s\n", text, o) }
	section := func(name string, n int) {
		if n > 0 {
			fmt.Fprintf(&b, "\n[%s]\n", name)
		}
	}
	section("files", len(p.Files))
	for _, r := range p.Files {
		text := r.String()
		if r.Backing != HostFile {
			text += " (" + string(r.Backing) + sizeText(r.Size) + ")"
		}
		line(text, r.Origin)
	}
	section("execute", len(p.Execute))
	for _, r := range p.Execute {
		line(r.String(), r.Origin)
	}
	fmt.Fprintf(&b, "\n[network]\n")
	line(p.Unix.String(), p.Unix.Origin)
	if p.Loopback.Host {
		line(p.Loopback.String(), p.Loopback.Origin)
	}
	for _, r := range p.DeniedHosts {
		line(r.String(), r.Origin)
	}
	for _, e := range p.Endpoints {
		line(e.String(), e.Origin)
	}
	section("environment", len(p.Environment))
	for _, v := range p.Environment {
		line(fmt.Sprintf("%s=%q", v.Name, v.Value), v.Origin)
	}
	section("limits", len(p.Limits))
	for _, l := range p.Limits {
		text := fmt.Sprintf("%s %d", l.Name, l.Value)
		if l.Scope != "" {
			text += ", scope " + string(l.Scope)
		}
		line(text, l.Origin)
	}
	section("syscalls", len(p.Syscalls))
	for _, r := range p.Syscalls {
		line(r.String(), r.Origin)
	}
	p.System.text(section, line)
	for _, c := range p.Commands {
		c.text(&b)
	}
	section("waivers", len(p.Waivers))
	for _, w := range p.Waivers {
		line(fmt.Sprintf("%s does not enforce %s: %q", w.Target, w.Feature, w.Reason), w.Origin)
	}
	return b.String()
}

func sizeText(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d bytes", n)
}

func (s System) text(section func(string, int), line func(string, Origin)) {
	section("system", len(s.Services)+len(s.Sysctls)+len(s.IPC)+len(s.IOKit))
	for _, list := range []struct {
		word  string
		names []Name
	}{{"service", s.Services}, {"sysctl", s.Sysctls}, {"ipc", s.IPC}, {"iokit", s.IOKit}} {
		for _, n := range list.names {
			line(list.word+" "+n.Name, n.Origin)
		}
	}
}

func (c Command) text(b *strings.Builder) {
	fmt.Fprintf(b, "\n[command %s] # %s\nexecutable %s\n", c.Name, c.Origin, c.Executable)
	if c.SHA256 != "" {
		fmt.Fprintf(b, "sha256 %s\n", c.SHA256)
	}
	for _, a := range c.Arguments {
		fmt.Fprintf(b, "argument %q\n", a.String())
	}
	if c.Rest != "" {
		fmt.Fprintf(b, "rest <%s>\n", c.Rest)
	}
	for _, f := range c.Fields {
		switch f.Form {
		case IdentifierForm:
			fmt.Fprintf(b, "field %s identifier, at most %d bytes\n", f.Name, f.MaxBytes)
		case IntegerForm:
			fmt.Fprintf(b, "field %s integer from %d to %d\n", f.Name, f.Min, f.Max)
		default:
			fmt.Fprintf(b, "field %s %s\n", f.Name, f.Form)
		}
	}
	if c.Result == nil {
		return
	}
	fmt.Fprintf(b, "result %s\n", c.Result.Name)
	for _, f := range c.Result.Fields {
		switch f.Kind {
		case IntegerResult:
			fmt.Fprintf(b, "  %s integer from %d to %d\n", f.Name, f.Min, f.Max)
		case IdentifierResult:
			fmt.Fprintf(b, "  %s identifier, at most %d bytes\n", f.Name, f.MaxBytes)
		case EnumResult:
			fmt.Fprintf(b, "  %s one of %q\n", f.Name, f.Values)
		default:
			fmt.Fprintf(b, "  %s %s\n", f.Name, f.Kind)
		}
	}
}
