package sbpl_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/obspc/obspc/targets/seatbelt/operations"
	"github.com/obspc/obspc/targets/seatbelt/sbpl"
)

// statement is a rule of a random profile: one operation, perhaps a filter.
type statement struct {
	allow  bool
	op     string
	filter string // as written; "" for none
	holds  func(path, vnode string) bool
}

func (s statement) String() string {
	return fmt.Sprintf("(%s %s %s)", map[bool]string{true: "allow", false: "deny"}[s.allow], s.op, s.filter)
}

var (
	someOperations = []string{"default", "file*", "file-read*", "file-read-data", "file-read-metadata", "file-write*", "file-write-data", "file-link"}
	somePaths      = []string{"/", "/a", "/a/b", "/a/b/c", "/ab", "/b"}
	someVnodes     = []string{"REGULAR-FILE", "DIRECTORY"}
)

// randomFilter makes a filter and says in Go what it means.
func randomFilter(r *rand.Rand, depth int) (string, func(path, vnode string) bool) {
	p := somePaths[r.IntN(len(somePaths))]
	switch n := r.IntN(8); {
	case n < 2:
		return fmt.Sprintf("(literal %q)", p), func(path, _ string) bool { return path == p }
	case n < 4:
		return fmt.Sprintf("(subpath %q)", p), func(path, _ string) bool {
			return p == "/" || path == p || strings.HasPrefix(path, p+"/")
		}
	case n == 4 || depth > 2:
		v := someVnodes[r.IntN(2)]
		return "(vnode-type " + v + ")", func(_, vnode string) bool { return vnode == v }
	case n == 5:
		text, holds := randomFilter(r, depth+1)
		return "(require-not " + text + ")", func(path, vnode string) bool { return !holds(path, vnode) }
	default:
		a, first := randomFilter(r, depth+1)
		b, second := randomFilter(r, depth+1)
		if n == 6 {
			return "(require-all " + a + " " + b + ")", func(path, vnode string) bool { return first(path, vnode) && second(path, vnode) }
		}
		return "(require-any " + a + " " + b + ")", func(path, vnode string) bool { return first(path, vnode) || second(path, vnode) }
	}
}

func randomStatements(r *rand.Rand) (out []statement) {
	for range 1 + r.IntN(9) {
		s := statement{allow: r.IntN(2) == 0, op: someOperations[r.IntN(len(someOperations))], holds: func(string, string) bool { return true }}
		if r.IntN(4) > 0 {
			s.filter, s.holds = randomFilter(r, 0)
		}
		out = append(out, s)
	}
	return out
}

// expected decides in another way than the evaluator: for each operation from the
// request's up, the last rule with a filter that matches, else the last without one.
func expected(list []statement, op, path, vnode string, r operations.Release) bool {
	for {
		for _, filtered := range []bool{true, false} {
			for _, s := range slices.Backward(list) {
				if s.op == op && (s.filter != "") == filtered && s.holds(path, vnode) {
					return s.allow
				}
			}
		}
		o, _ := operations.Named(op)
		if o.Open && r >= operations.Monterey {
			return true
		}
		switch parent := o.Parent(r); parent {
		case operations.Allow, operations.Deny:
			return parent == operations.Allow
		default:
			op = parent
		}
	}
}

// TestRandomProfiles compares random profiles with expected; and an answer given
// without the vnode type, or without the path, must hold for all of them, and be
// undecided only if they differ.
func TestRandomProfiles(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	count := map[sbpl.Decision]int{}
	releases := []operations.Release{operations.Catalina, operations.Monterey, operations.Sonoma}
	for i := range 1500 {
		release := releases[i%len(releases)]
		list := randomStatements(random)
		src := "(version 1)"
		for _, s := range list {
			src += "\n" + s.String()
		}
		p, err := sbpl.Parse("r.sb", []byte(src), sbpl.Options{Release: release})
		if err != nil {
			t.Fatalf("%v\n%s", err, src)
		}
		for _, op := range []string{"file-read-data", "file-read-metadata", "file-write-data", "file-link", "file-ioctl"} {
			for _, path := range somePaths {
				want := [2]bool{}
				for j, vnode := range someVnodes {
					want[j] = expected(list, op, path, vnode, release)
					got, err := p.Evaluate(op, sbpl.Context{"path": {path}, "vnode-type": {vnode}})
					if err != nil || got.Decision != decision(want[j]) {
						t.Fatalf("%s %s %s: want %v, %v\n%s\n%s", op, path, vnode, want[j], err, got.Explain(), src)
					}
				}
				got, err := p.Evaluate(op, sbpl.Context{"path": {path}})
				if err != nil {
					t.Fatal(err)
				}
				count[got.Decision]++
				if both := want[0] == want[1]; got.Decision != sbpl.Undecided && (!both || got.Decision != decision(want[0])) || got.Decision == sbpl.Undecided && !slices.Equal(got.Unknown, []string{"vnode-type"}) {
					t.Fatalf("%s %s: want %v without the vnode type\n%s\n%s", op, path, want, got.Explain(), src)
				}
			}
		}
	}
	if count[sbpl.Undecided] < 500 || count[sbpl.Allow] < 4000 || count[sbpl.Deny] < 4000 {
		t.Errorf("%v answers", count)
	}
}

func decision(allow bool) sbpl.Decision {
	if allow {
		return sbpl.Allow
	}
	return sbpl.Deny
}

// TestUnknownThatAgrees: what is not known is not named where it turns nothing.
func TestUnknownThatAgrees(t *testing.T) {
	for _, tt := range []struct {
		rules string
		want  sbpl.Decision
		lacks []string
	}{
		{`(allow file-read* (vnode-type DIRECTORY)) (deny file-read* (vnode-type DIRECTORY))`, sbpl.Deny, nil},
		{`(allow file-read* (vnode-type DIRECTORY)) (allow file-read* (require-not (vnode-type DIRECTORY)))`, sbpl.Allow, nil},
		{`(allow file-read* (require-all (vnode-type DIRECTORY) (require-not (vnode-type DIRECTORY))))`, sbpl.Deny, nil},
		{`(allow file-read* (require-any (vnode-type DIRECTORY) (extension "x"))) (allow file-read* (vnode-type DIRECTORY))`, sbpl.Undecided, []string{"extension", "vnode-type"}},
		{`(allow file-read* (extension "x")) (deny file-read* (vnode-type DIRECTORY)) (deny file-read* (extension "x"))`, sbpl.Deny, nil},
		{`(import "system.sb")`, sbpl.Undecided, []string{"import"}},
		{`(import "system.sb") (allow file-read* (literal "/a")) (deny file-read-data (literal "/b"))`, sbpl.Undecided, []string{"import"}},
		{`(import "system.sb") (allow file-read-data (literal "/a"))`, sbpl.Allow, nil},
	} {
		p, err := sbpl.Parse("u.sb", []byte("(version 1) (deny default) "+tt.rules), sbpl.Options{UnknownImports: true})
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Evaluate("file-read-data", sbpl.Context{"path": {"/a"}})
		if err != nil || got.Decision != tt.want || !slices.Equal(got.Unknown, tt.lacks) {
			t.Errorf("%s: %v %v, %v; want %v %v", tt.rules, got.Decision, got.Unknown, err, tt.want, tt.lacks)
		}
	}
}

// TestVersion2 is undecided where version 1 and version 3 differ.
func TestVersion2(t *testing.T) {
	p, err := sbpl.Parse("v.sb", []byte("(version 2) (deny default) (deny file-clone)"), sbpl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for op, want := range map[string]sbpl.Decision{"file-link": sbpl.Undecided, "file-clone": sbpl.Deny, "file-ioctl": sbpl.Deny} {
		if got, err := p.Evaluate(op, sbpl.Context{"path": {"/a"}}); err != nil || got.Decision != want {
			t.Errorf("%s: %v, %v; want %v", op, got.Decision, err, want)
		}
	}
}
