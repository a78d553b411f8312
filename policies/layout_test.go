package policies_test

import (
	"os"
	"path"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/bwrap"
)

// layout is where a system keeps its files, read from testdata/layouts: lines
// "dir P", "file P" and "link P -> TARGET" say what is there; "start P LOADER",
// "read P" and "state read|execute P" what a policy does there.
type layout struct {
	nodes  map[string]string // target of a link; "dir" and "file" are the others
	starts [][2]string       // a program and the loader it names
	reads  []string
	states [][2]string // the policy's own statements: list and path
}

const (
	isDir  = "dir"
	isFile = "file"
)

func readLayout(t *testing.T, file string) *layout {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	l := &layout{nodes: map[string]string{"/": isDir}}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		switch {
		case (words[0] == isDir || words[0] == isFile) && len(words) == 2:
			l.nodes[words[1]] = words[0]
		case words[0] == "link" && len(words) == 4 && words[2] == "->":
			l.nodes[words[1]] = words[3]
		case words[0] == "start" && len(words) == 3:
			l.starts = append(l.starts, [2]string{words[1], words[2]})
		case words[0] == "read" && len(words) == 2:
			l.reads = append(l.reads, words[1])
		case words[0] == "state" && len(words) == 3:
			l.states = append(l.states, [2]string{words[1], words[2]})
		default:
			t.Fatalf("%s: cannot read %q", file, line)
		}
	}
	l.complete()
	return l
}

// complete moves nodes that are named through links to where they are, and adds
// the directories that lead to each.
func (l *layout) complete() {
	for at, what := range l.nodes {
		if real := l.directory(path.Dir(at)) + "/" + path.Base(at); at != "/" && path.Clean(real) != at {
			delete(l.nodes, at)
			l.nodes[path.Clean(real)] = what
		}
	}
	for at := range l.nodes {
		for up := path.Dir(at); up != "/"; up = path.Dir(up) {
			if l.nodes[up] == "" {
				l.nodes[up] = isDir
			}
		}
	}
}

// directory is a directory's path without links; what is not there counts as a
// directory.
func (l *layout) directory(at string) string {
	real, _ := l.follow(at)
	return real
}

// follow resolves every link of at as path_resolution(7) does, and lists the
// links it led over: where each lies.
func (l *layout) follow(at string) (real string, links []string) {
	real = "/"
	for rest := strings.Split(at, "/"); len(rest) > 0 && len(links) < 40; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			real = path.Dir(real)
			continue
		}
		next := path.Join(real, name)
		switch target := l.nodes[next]; target {
		case "", isDir, isFile:
			real = next
		default:
			links = append(links, next)
			if path.IsAbs(target) {
				real = "/"
			}
			rest = append(strings.Split(target, "/"), rest...)
		}
	}
	return real, links
}

// facts is what the runtime would find at the named paths (bwrap.Facts).
func (l *layout) facts(named []ir.Path) bwrap.Facts {
	f := bwrap.Facts{}
	for _, p := range named {
		for at := p.String(); ; {
			_, links := l.follow(at)
			if len(links) == 0 {
				f[ir.MustPath(at)] = bwrap.Fact{Kind: l.kind(at)}
				break
			}
			real, _ := l.follow(links[0])
			f[ir.MustPath(links[0])] = bwrap.Fact{Kind: bwrap.Link, Target: ir.MustPath(real)}
			at = path.Join(real, strings.TrimPrefix(at, links[0]))
		}
	}
	return f
}

func (l *layout) kind(at string) bwrap.Kind {
	switch l.nodes[at] {
	case isDir:
		return bwrap.Directory
	case isFile:
		return bwrap.File
	}
	return bwrap.Missing
}
