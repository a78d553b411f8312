package cmdline_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/bwrap"
	"github.com/obspc/obspc/targets/bwrap/cmdline"
	"github.com/obspc/obspc/targets/conform"
)

var pool = []string{"/a", "/a/b", "/a/b/c", "/a/d", "/e", "/e/f/g", "${workspace}", "${workspace}/a", "${workspace}/a/b", "${workspace}/c/d", "${home}", "${home}/.ssh", "${home}/a/b"}

// drawn is a policy of obspc's own and the stream that it becomes for one host, on
// which all exists as directories, or as files where the name says so.
func drawn(t *testing.T, r *rand.Rand) (stream []byte, table *bwrap.Table) {
	t.Helper()
	for {
		statements := []string{"only read /"}
		for _, s := range []string{"devices", "shm", "tmp"} {
			if r.IntN(2) == 0 {
				statements = append(statements, s)
			}
		}
		for _, p := range pool {
			if w := []string{"", "read ", "write ", "write ", "deny ", "only read "}[r.IntN(6)]; w != "" {
				statements = append(statements, w+p)
			}
		}
		p, err := conform.Policy(statements...)
		if err != nil {
			continue
		}
		s, err := bwrap.Compile(p)
		if err != nil {
			continue
		}
		b := ir.Binding{}.With(ir.Workspace, ir.MustPath("/w")).With(ir.Home, ir.MustPath("/h")).With(ir.Tmp, ir.MustPath("/tmp"))
		facts := bwrap.Facts{}
		named := s.NamedPaths(b)
		for _, q := range named {
			facts[q] = bwrap.Fact{Kind: bwrap.Directory}
			if r.IntN(3) == 0 && !slices.ContainsFunc(named, q.Above) {
				facts[q] = bwrap.Fact{Kind: bwrap.File}
			}
		}
		fds := bwrap.FDs{Seccomp: 3, Status: 4}
		masks, err := bwrap.MaskCount(s, b, facts)
		if err != nil {
			continue
		}
		for i := range masks {
			fds.Masks = append(fds.Masks, 5+i)
		}
		if stream, err = bwrap.Materialise(s, b, facts, fds); err != nil {
			continue
		}
		if table, err = bwrap.ReadStream(stream); err != nil {
			t.Fatalf("%v: %v", statements, err)
		}
		return stream, table
	}
}

// TestAgreesWithTheStrictReader: of obspc's own streams both readers make the same,
// for every word and every path that the stream names, above and below. They differ
// where the strict one asks what may be there and this one what is: memory in which
// nothing is yet, and names in file systems of the kernel's own.
func TestAgreesWithTheStrictReader(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	asked, allowed := 0, 0
	for range 120 {
		stream, table := drawn(t, r)
		c, list := cmdline.Read("stream", stream, cmdline.Options{})
		if len(list) > 0 {
			t.Fatalf("%v\n%s", list, strings.ReplaceAll(string(stream), "\x00", " "))
		}
		if got := mountLines(c); got != tableLines(table) {
			t.Fatalf("mounts:\n%s\nwant:\n%s", got, tableLines(table))
		}
		for _, q := range requests(t, table, r) {
			a := c.Decide(q)
			want := table.Allows(q)
			asked++
			if want {
				allowed++
			}
			if a.Decision == cmdline.Undecided || (a.Decision == cmdline.Allow) != want {
				t.Errorf("%s: the strict reader says %v, this one %s: %s (%v)\n%s", q, want, a.Decision, a.Because, a.Unknown, strings.ReplaceAll(string(stream), "\x00", " "))
			}
		}
		if t.Failed() {
			return
		}
	}
	if asked < 20000 || allowed*5 < asked {
		t.Errorf("%d requests, %d allowed", asked, allowed)
	}
}

func mountLines(c *cmdline.Command) string {
	var out []string
	for _, m := range c.Mounts() {
		out = append(out, fmt.Sprint(m.Path, " ", m.Writable))
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

func tableLines(table *bwrap.Table) string {
	var out []string
	for _, m := range table.Mounts() {
		out = append(out, fmt.Sprint(m.Path, " ", m.Writable))
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// requests are all words about the paths of the table, a name beside each and one
// below.
func requests(t *testing.T, table *bwrap.Table, r *rand.Rand) []ir.Request {
	var paths []ir.Path
	for _, e := range table.Entries {
		parent, _ := e.Path.Parent()
		for _, p := range []ir.Path{e.Path, e.Path.Join("x"), parent.Join("y")} {
			if p.Root() == ir.Host && p != (ir.Path{}) {
				paths = append(paths, p)
			}
		}
	}
	var out []ir.Request
	for _, p := range paths {
		for _, word := range ir.FileRequests() {
			q, err := ir.ParseRequest([]string{string(word), p.String()})
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, q)
		}
		for _, word := range []string{"rename", "link"} {
			q, err := ir.ParseRequest([]string{word, p.String(), paths[r.IntN(len(paths))].String()})
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, q)
		}
	}
	keep := out[:0]
	for _, q := range out {
		if !differs(table, q) {
			keep = append(keep, q)
		}
	}
	return keep
}

// differs reports whether the two readers mean different things by a request.
func differs(table *bwrap.Table, q ir.Request) bool {
	for _, p := range []ir.Path{q.Path, q.To} {
		e := table.Decides(table.Resolve(p))
		if (q.Kind == ir.ExecuteRequest || q.Kind == ir.ConnectUnixRequest) && e.Kind != bwrap.HostNode {
			return true // the strict one answers whether it can be read
		}
		switch e.Kind {
		case bwrap.ProcMount, bwrap.Terminals, bwrap.DeviceNode:
			return true
		case bwrap.Memory:
			if e.Path != table.Resolve(p) {
				return true
			}
		}
	}
	return false
}

// TestReadsTheTextForPeople: bwrap.args.txt of every case of the corpus is read, and
// means what its policy says of the slots.
func TestReadsTheTextForPeople(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../testdata/corpus/*/bwrap.args.txt")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c, list := cmdline.Read(file, text, cmdline.Options{})
		if list.HasErrors() || len(c.Operations) < 2 || !c.NoUserns || c.Needs.String() != "0.8.0" {
			t.Errorf("%s: %v", file, list)
		}
	}
	text, err := os.ReadFile("../../../testdata/corpus/home-without-keys/bwrap.args.txt")
	if err != nil {
		t.Fatal(err)
	}
	c, _ := cmdline.Read("home", text, cmdline.Options{Values: map[string]string{"config": "${home}/.obspc"}})
	for request, want := range map[string]cmdline.Decision{
		"read ${home}/a": cmdline.Allow, "write ${home}/a": cmdline.Deny, "read ${home}/.ssh/id": cmdline.Deny,
		"write ${home}/.cache/tool/a": cmdline.Allow, "read ${home}/.cache/tool/keys/k": cmdline.Deny,
	} {
		if a := ask(t, c, request); a.Decision != want {
			t.Errorf("%s = %+v, want %v", request, a, want)
		}
	}
}
