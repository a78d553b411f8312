package registry

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/obspc/obspc/compiler/ir"
)

// An entry is text, one fact a line, the path last: paths hold no control
// characters, so no line is cut by one. Lines are only ever added. What a run is
// about to make stands here before it is made, and what it is known by after that.
const header = "obspc-run 1"

// Entry is what is known of one run.
type Entry struct {
	Policy  string
	PID     int // of obsrun
	Began   time.Time
	Claim   *Claim // nil until the run has been admitted
	Made    Made
	Sandbox Sandbox
}

// Made is what a run has made on the host. Nodes are zero where it was cut off
// before it could note what it had made.
type Made struct {
	Fresh        *Node // a workspace
	Placeholders []Placeholder
}

// Placeholder is an empty file or directory that keeps a missing name missing.
type Placeholder struct {
	Node
	Directory bool
}

// Sandbox is what tells the processes of a run from others. Launched, when
// bubblewrap was about to be started, is in nanoseconds since the machine's start;
// InitStart, of PID 1 inside, in clock ticks (proc_pid_stat(5)).
type Sandbox struct {
	Bwrap, Init int
	Launched    int64
	InitStart   uint64
}

func (e *Entry) String() string {
	return fmt.Sprintf("the run of policy %q that process %d began at %s", e.Policy, e.PID, e.Began.Format(time.TimeOnly))
}

// opening is the beginning of an entry.
func opening(policy string, pid int, began time.Time) string {
	return fmt.Sprintf("%s\npolicy %s\nprocess %d %s\n", header, policy, pid, began.UTC().Format(time.RFC3339))
}

// text is the claim's part of an entry.
func (c *Claim) text() string {
	var b strings.Builder
	for _, r := range c.Files {
		fmt.Fprintf(&b, "file %d %t %q %s\n", r.Level, r.Only, string(r.Backing), r.Path)
	}
	for _, r := range c.Execute {
		fmt.Fprintf(&b, "execute %t %s\n", r.Only, r.Path)
	}
	for _, n := range c.Writes {
		fmt.Fprintf(&b, "write %s\n", n)
	}
	for _, p := range c.Keeps {
		fmt.Fprintf(&b, "keep %s\n", p)
	}
	for _, p := range c.Trusts {
		fmt.Fprintf(&b, "trust %s\n", p)
	}
	for _, n := range c.Way {
		fmt.Fprintf(&b, "way %s\n", n)
	}
	b.WriteString("claimed\n")
	return b.String()
}

// String is device, inode and path, as they stand in an entry.
func (n Node) String() string { return fmt.Sprintf("%d %d %s", n.Dev, n.Ino, n.Path) }

// ParseEntry reads an entry; an empty one has just been made. A last line without
// its end is one that its writer was cut off in, before it did what the line says.
func ParseEntry(text string) (*Entry, error) {
	p := parser{entry: &Entry{}, claim: &Claim{}}
	first, rest, begun := strings.Cut(text, "\n")
	switch {
	case !begun && strings.HasPrefix(header, first):
		return p.entry, nil
	case first != header:
		return nil, fmt.Errorf("it begins with %q and not with %q", first, header)
	}
	for line := range strings.Lines(rest) {
		line, whole := strings.CutSuffix(line, "\n")
		if !whole {
			break
		}
		word, rest, _ := strings.Cut(line, " ")
		read, known := words[word]
		if !known {
			return nil, fmt.Errorf("it has the unknown line %q", line)
		}
		if p.rest = rest; !read(&p) || p.bad {
			return nil, fmt.Errorf("it has the odd line %q", line)
		}
	}
	return p.entry, nil
}

// parser takes a line apart, word by word.
type parser struct {
	entry *Entry
	claim *Claim
	rest  string
	bad   bool
}

func (p *parser) word() string {
	word, rest, _ := strings.Cut(p.rest, " ")
	p.rest = rest
	return word
}

func (p *parser) number() uint64 {
	n, err := strconv.ParseUint(p.word(), 10, 64)
	p.bad = p.bad || err != nil
	return n
}

func (p *parser) yes() bool {
	b, err := strconv.ParseBool(p.word())
	p.bad = p.bad || err != nil
	return b
}

func (p *parser) path() ir.Path {
	at, err := ir.NewPath(ir.Host, p.rest)
	p.bad = p.bad || err != nil || at.String() != p.rest
	return at
}

func (p *parser) node() Node {
	dev, ino := p.number(), p.number()
	return Node{Path: p.path(), Dev: dev, Ino: ino}
}

// words are the lines of an entry by their first word; false: the line makes no
// sense where it stands.
var words = map[string]func(*parser) bool{
	"policy": func(p *parser) bool {
		p.entry.Policy, p.claim.Policy = p.rest, p.rest
		return true
	},
	"process": func(p *parser) bool {
		p.entry.PID = int(p.number())
		began, err := time.Parse(time.RFC3339, p.rest)
		p.entry.Began = began
		return err == nil
	},
	"file": func(p *parser) bool {
		level, only := p.number(), p.yes()
		backing, err := strconv.Unquote(p.word())
		p.claim.Files = append(p.claim.Files, ir.FileRule{Level: ir.Level(level), Only: only, Backing: ir.Backing(backing), Path: p.path()})
		return err == nil && level <= uint64(ir.Write)
	},
	"execute": func(p *parser) bool {
		only := p.yes()
		p.claim.Execute = append(p.claim.Execute, ir.ExecuteRule{Only: only, Path: p.path()})
		return true
	},
	"write": func(p *parser) bool { p.claim.Writes = append(p.claim.Writes, p.node()); return true },
	"keep":  func(p *parser) bool { p.claim.Keeps = append(p.claim.Keeps, p.path()); return true },
	"trust": func(p *parser) bool { p.claim.Trusts = append(p.claim.Trusts, p.path()); return true },
	"way":   func(p *parser) bool { p.claim.Way = append(p.claim.Way, p.node()); return true },
	"claimed": func(p *parser) bool {
		p.entry.Claim = p.claim
		return p.rest == ""
	},
	"fresh": func(p *parser) bool { n := p.node(); p.entry.Made.Fresh = &n; return true },
	"place": func(p *parser) bool {
		directory := p.yes()
		p.entry.Made.place(Placeholder{Directory: directory, Node: p.node()})
		return true
	},
	"launch": func(p *parser) bool {
		p.entry.Sandbox.Bwrap, p.entry.Sandbox.Launched = int(p.number()), int64(p.number())
		return p.rest == ""
	},
	"init": func(p *parser) bool {
		p.entry.Sandbox.Init, p.entry.Sandbox.InitStart = int(p.number()), p.number()
		return p.rest == ""
	},
}

// place adds a placeholder, or what one is known by.
func (m *Made) place(add Placeholder) {
	for i := range m.Placeholders {
		if m.Placeholders[i].Path == add.Path {
			m.Placeholders[i] = add
			return
		}
	}
	m.Placeholders = append(m.Placeholders, add)
}

// lines are what is noted of one thing that was made, or is about to be.
func (n Node) freshLine() string { return fmt.Sprintf("fresh %s\n", n) }

func (p Placeholder) line() string { return fmt.Sprintf("place %t %s\n", p.Directory, p.Node) }
