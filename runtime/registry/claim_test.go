package registry

import (
	"fmt"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
)

// claimed is the claim of a run with those statements, each "LEVEL PATH", on a
// machine where every path is a node of its own, but for those in nodes.
func claimed(t *testing.T, statements string, nodes map[string]uint64) *Claim {
	t.Helper()
	p := &ir.Policy{Name: "p"}
	var trusts []ir.Path
	for s := range strings.SplitSeq(statements, ", ") {
		word, path, _ := strings.Cut(s, " ")
		rule := ir.FileRule{Path: ir.MustPath(path)}
		switch word {
		case "deny":
		case "read":
			rule.Level = ir.Read
		case "write":
			rule.Level = ir.Write
		case "memory":
			rule.Level, rule.Backing = ir.Write, ir.TmpFS
		case "execute":
			p.Execute = append(p.Execute, ir.ExecuteRule{Path: rule.Path})
			continue
		case "trust":
			trusts = append(trusts, rule.Path)
			continue
		default:
			t.Fatalf("statement %q", s)
		}
		p.Files = append(p.Files, rule)
	}
	return NewClaim(p, trusts, func(at ir.Path) (Node, bool) {
		ino, named := nodes[at.String()]
		if !named {
			for _, b := range []byte(at.String()) {
				ino = ino*31 + uint64(b)
			}
			ino += 1 << 20
		}
		return Node{at, 1, ino}, ino != 0
	})
}

func nothingBelow(ir.Path) []Node { return nil }

// TestBetween: who is in whose way. The answer is the same whoever comes first.
func TestBetween(t *testing.T) {
	for _, tt := range []struct {
		name, a, b string
		want       string // the name that one relies on; "": they go together
	}{
		{"one policy, one tree", "write /w, deny /w/.env, read /w/carve", "write /w, deny /w/.env, read /w/carve", ""},
		{"two trees", "write /w, deny /w/.env", "write /v, deny /v/.env", ""},
		{"names that begin alike", "write /w, deny /w/.env", "write /w2", ""},
		{"a mask", "write /w, deny /w/.env", "write /w", "/w/.env"},
		{"a carve-out", "write /w, read /w/carve", "write /w", "/w/carve"},
		{"a carve-out that the other writes", "write /w, read /w/carve", "write /w, write /w/carve", ""},
		{"a mask below another write", "write /w, deny /w/a/.env", "write /w/a", "/w/a/.env"},
		{"a mask above the other write", "write /w, deny /w/a", "write /w/a/b", ""},
		{"what leads to a mask", "write /w, deny /w/a/b/c", "write /w/a", "/w/a/b/c"},
		{"what leads to a mask, held", "write /w, deny /w/a/b/c", "write /w, read /w/a, write /w/a/b/c/d", ""},
		{"a hole in a read", "read /r, deny /r/key", "write /r", "/r/key"},
		{"a hole in a read, below the write", "read /r, deny /r/key", "write /r/other", ""},
		{"a window in a hole", "read /r, deny /r/h, read /r/h/w", "write /r/h", ""},
		{"a write in a read", "read /r, write /r/w", "write /r", "/r/w"},
		{"a write in a write", "write /w, write /w/v", "write /w", "/w/v"},
		{"a read in a read", "read /r, read /r/s", "write /r", ""},
		{"a read", "read /r", "write /r", ""},
		{"a deny in nothing", "deny /r", "write /r", ""},
		{"a program in a write", "write /w, execute /w/tool", "write /w", "/w/tool"},
		{"a program in a write, named by both", "write /w, execute /w/tool", "write /w, execute /w/tool", ""},
		{"a mask in memory", "memory /tmp, deny /tmp/x", "write /tmp", ""},
		{"a mask, and memory around", "write /tmp/w, deny /tmp/w/x", "memory /tmp", ""},
		{"a mask below memory of the other's write", "write /v/w, deny /v/w/x", "write /v, memory /v/w", ""},
		{"what is trusted", "read /r, trust /home/u/p/.obspc", "write /home/u/p", "/home/u/p/.obspc"},
		{"what is trusted, held and written", "read /r, trust /w/.obspc", "write /w, write /w/.obspc", "/w/.obspc"},
		{"what is trusted, written inside", "read /r, trust /w/.obspc", "read /w, write /w/.obspc/cache", "/w/.obspc"},
		{"what is trusted, carved out", "write /w, read /w/.obspc, trust /w/.obspc", "write /w, read /w/.obspc", ""},
		{"a trusted file's neighbour", "read /r, trust /home/u/pins", "write /home/u/p", ""},
	} {
		a, b := claimed(t, tt.a, nil), claimed(t, tt.b, nil)
		for _, swapped := range []bool{false, true} {
			if swapped {
				a, b = b, a
			}
			got := Between(a, b, nothingBelow)
			switch {
			case got == nil && tt.want == "":
			case got == nil || got.Path.String() != tt.want || got.As != got.Path || got.First != swapped:
				t.Errorf("%s: Between(%q, %q) = %+v, want %q, swapped %v", tt.name, tt.a, tt.b, got, tt.want, swapped)
			}
		}
	}
}

// TestBetweenAliases: directories that have several names on the machine.
func TestBetweenAliases(t *testing.T) {
	for _, tt := range []struct {
		name   string
		writes string
		nodes  map[string]uint64
		below  map[string][]Node
		want   string // as the other names it
	}{
		{"another directory", "write /m", map[string]uint64{"/m": 9}, nil, ""},
		{"the tree under another name", "write /m", map[string]uint64{"/m": 7}, nil, "/m/a/.env"},
		{"a part of it", "write /m", map[string]uint64{"/m": 8}, nil, "/m/.env"},
		{"what it lies in", "write /m", map[string]uint64{"/m": 6}, nil, "/m/w/a/.env"},
		{"held there as well", "write /m, deny /m/.env", map[string]uint64{"/m": 8}, nil, ""},
		{"a mount below the write", "write /m", nil, map[string][]Node{"/m": {{ir.MustPath("/m/n"), 1, 8}}}, "/m/n/.env"},
		{"a mount below, read only", "write /m, read /m/n", nil, map[string][]Node{"/m": {{ir.MustPath("/m/n"), 1, 8}}}, ""},
	} {
		nodes := map[string]uint64{"/x": 6, "/x/w": 7, "/x/w/a": 8}
		keeper := claimed(t, "write /x/w, deny /x/w/a/.env", nodes)
		mover := claimed(t, tt.writes, tt.nodes)
		got := Between(mover, keeper, func(at ir.Path) []Node { return tt.below[at.String()] })
		if (got == nil) != (tt.want == "") || got != nil && (got.As.String() != tt.want || got.Path != ir.MustPath("/x/w/a/.env") || !got.First) {
			t.Errorf("%s: Between = %+v, want %q", tt.name, got, tt.want)
		}
	}
}

// TestEntry: what is written is read back, and what was cut off is as if unsaid.
func TestEntry(t *testing.T) {
	c := claimed(t, "write /w, deny /w/a b, read /w/ü, memory /w/m, execute /w/t, trust /w/.obspc", nil)
	text := fmt.Sprintf("%s\npolicy p\nprocess 12 2026-11-29T12:00:03Z\n", header) +
		Node{Path: ir.MustPath("/tmp/obspc-workspace-X")}.freshLine() + c.text() +
		Placeholder{Node{Path: ir.MustPath("/w/d")}, true}.line() + Placeholder{Node{ir.MustPath("/w/d"), 5, 6}, true}.line() +
		Placeholder{Node{ir.MustPath("/w/d/f"), 5, 7}, false}.line() + "launch 40 1234\ninit 41 99\n"
	e, err := ParseEntry(text)
	if err != nil {
		t.Fatalf("ParseEntry(%s) = %v", text, err)
	}
	if got := e.Claim.text(); got != c.text() {
		t.Errorf("read back:\n%swant:\n%s", got, c.text())
	}
	if e.Policy != "p" || e.Claim.Policy != "p" || e.PID != 12 || e.Made.Fresh.Path.String() != "/tmp/obspc-workspace-X" || len(e.Made.Placeholders) != 2 ||
		e.Made.Placeholders[0] != (Placeholder{Node{ir.MustPath("/w/d"), 5, 6}, true}) || e.Sandbox != (Sandbox{40, 41, 1234, 99}) {
		t.Errorf("ParseEntry = %+v", e)
	}
	if want := `the run of policy "p" that process 12 began at 12:00:03`; e.String() != want {
		t.Errorf("String = %q, want %q", e, want)
	}
	cut, err := ParseEntry(strings.TrimSuffix(text, "9\n"))
	if err != nil || cut.Sandbox.Init != 0 || cut.Sandbox.Bwrap != 40 {
		t.Errorf("ParseEntry of what was cut off = %+v, %v", cut, err)
	}
	if half, err := ParseEntry(strings.TrimSuffix(text[:strings.Index(text, "claimed")], "\n")); err != nil || half.Claim != nil {
		t.Errorf("ParseEntry of half a claim = %+v, %v", half, err)
	}
	for _, bad := range []string{
		"obspc-run 2\n", "x " + header + "\n", header + "\nunknown line\n", header + "\nprocess x 2026-11-29T12:00:03Z\n", header + "\nprocess 1 noon\n",
		header + "\nfile 3 false \"\" /w\n", header + "\nfile 1 maybe \"\" /w\n", header + "\nfile 1 false x /w\n", header + "\nkeep w\n", header + "\nkeep /w/../x\n",
		header + "\nkeep /w//x\n", header + "\nwrite 1 /w\n", header + "\nclaimed x\n", header + "\nlaunch 1\n", header + "\ninit 1 2 3\n", header + "\nplace x 1 2 /w\n",
	} {
		if e, err := ParseEntry(bad); err == nil {
			t.Errorf("ParseEntry(%q) = %+v, want an error", bad, e)
		}
	}
}

func FuzzParseEntry(f *testing.F) {
	f.Add(header + "\npolicy p\nprocess 12 2026-11-29T12:00:03Z\nfile 2 false \"\" /w\nkeep /w/x\nclaimed\nplace true 1 2 /w/d\n")
	f.Fuzz(func(t *testing.T, text string) {
		e, err := ParseEntry(text)
		if err != nil || e.Claim == nil {
			return
		}
		again, err := ParseEntry(header + "\n" + e.Claim.text())
		if err != nil || again.Claim.text() != e.Claim.text() {
			t.Errorf("%q: its claim is read back as %+v, %v", text, again, err)
		}
	})
}
