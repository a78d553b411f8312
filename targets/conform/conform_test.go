package conform

import (
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
)

func TestClass(t *testing.T) {
	p, err := Policy("write /w", "deny /w/a/b", "only execute /w/x", "only read /o")
	if err != nil {
		t.Fatal(err)
	}
	n := NewNames(p)
	for path, want := range map[string]Class{
		"/w": Node, "/w/a/b": Node, "/w/x": Named, "/w/a": Ancestor, "/": Ancestor, "/w/f": Below, "/w/a/b/c": Below, "/o/f": Outside, "/e": Outside,
	} {
		if got := n.Class(ir.MustPath(path)); got != want {
			t.Errorf("Class(%s) = %s, want %s", path, got, want)
		}
	}
}

func TestInsideWrite(t *testing.T) {
	p, err := Policy("write /w", "read /w/r", "read /o", "only write /o/f")
	if err != nil {
		t.Fatal(err)
	}
	n := NewNames(p)
	for path, want := range map[string]bool{"/w": true, "/w/r/x": true, "/o": false, "/o/f": true, "/o/f/x": false, "/e": false} {
		if got := n.InsideWrite(ir.MustPath(path)); got != want {
			t.Errorf("InsideWrite(%s) = %v, want %v", path, got, want)
		}
	}
}

// TestAcross: a rename or link that meets a held directory is declared tighter,
// any other is not.
func TestAcross(t *testing.T) {
	p, err := Policy("write /w", "deny /w/a/b", "only execute /w/x", "write /v")
	if err != nil {
		t.Fatal(err)
	}
	n := NewNames(p)
	for _, tt := range []struct {
		request string
		want    bool
	}{
		{"rename /w/f /w/g", false},
		{"rename /w/c/f /w/d/g", false},
		{"rename /w/f /w/a/g", true},
		{"rename /w/a/f /w/a/g", false},
		{"rename /w/f /v/g", true},
		{"link /w/x /w/g", true},
		{"link /w/f /w/g", false},
		{"write /w/x", false},
	} {
		r, err := ir.ParseRequest(strings.Fields(tt.request))
		if err != nil {
			t.Fatal(err)
		}
		if got := n.Across(r); got != tt.want {
			t.Errorf("Across(%s) = %v, want %v", tt.request, got, tt.want)
		}
	}
}

// TestProbesAskEveryWord: a tree with one of everything gives every word but
// connect, which is about no path.
func TestProbesAskEveryWord(t *testing.T) {
	var tree []Entry
	for _, e := range []struct {
		kind Kind
		path string
	}{{Directory, "/d"}, {Empty, "/d/e"}, {File, "/d/f"}, {File, "/d/g"}, {Tool, "/d/x"}, {Socket, "/d/s"}, {Fifo, "/d/p"}, {Link, "/d/l"}, {Absent, "/d/n"}} {
		tree = append(tree, Entry{Path: ir.MustPath(e.path), Kind: e.kind, Ours: true})
	}
	tree = append(tree, Entry{Path: ir.MustPath("/theirs"), Kind: File})
	asked := map[ir.RequestKind]int{}
	for _, p := range Probes(tree, 3) {
		asked[p.Request.Kind]++
		if p.Request.Path == tree[len(tree)-1].Path && p.Request.Kind != ir.ReadRequest && p.Request.Kind != ir.StatRequest {
			t.Errorf("Probes ask %s of what is not ours", p.Request)
		}
	}
	for _, word := range ir.RequestKinds() {
		if word != ir.ConnectRequest && asked[word] == 0 {
			t.Errorf("Probes never ask %s", word)
		}
	}
}

// TestAShortMixIsSeen: nothing tried is short of everything, and one word that is
// never allowed shows.
func TestAShortMixIsSeen(t *testing.T) {
	m := &Mix{}
	if got := len(m.Short(200)); got < len(ir.RequestKinds())+len(Classes()) {
		t.Errorf("Short of an empty mix has %d lines", got)
	}
	m.Policies = 3
	for _, word := range ir.RequestKinds() {
		for _, class := range Classes() {
			for range least {
				m.Add(word, class, word != ir.LinkRequest, false)
				m.Add(word, class, false, false)
			}
		}
	}
	twice := &Mix{}
	twice.Join(m)
	twice.Join(m)
	if got := strings.Join(m.Short(3), "; "); got != "link was tried 500 times, 0 of them allowed" {
		t.Errorf("Short = %q, want the word link", got)
	}
	if got, want := twice.Requests(), 2*m.Requests(); got != want || twice.Policies != 6 {
		t.Errorf("Join twice: %d requests of %d policies, want %d of 6", got, twice.Policies, want)
	}
	if text := m.String(); strings.Count(text, "\n") != len(ir.RequestKinds())+2 || !strings.Contains(text, "link") {
		t.Errorf("String = %q, want a row for each word", text)
	}
}

func TestPolicyRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, text := range []string{"read", "grant /x", "read x", "write ${nowhere}/x"} {
		if _, err := Policy(text); err == nil {
			t.Errorf("Policy(%q) = nil error", text)
		}
	}
}

// TestNothingOfTheMachineIsChanged: as root every attempt outside succeeds, so an
// entry that is not the test's own gives no request that changes anything but a
// device's.
func TestNothingOfTheMachineIsChanged(t *testing.T) {
	tree := []Entry{
		{Path: ir.MustPath("/bin/sh"), Kind: File, Target: ir.MustPath("/usr/bin/dash")},
		{Path: ir.MustPath("/etc/passwd"), Kind: File},
		{Path: ir.MustPath("/usr/bin/tool"), Kind: Tool},
		{Path: ir.MustPath("/usr"), Kind: Directory},
		{Path: ir.MustPath("/run/socket"), Kind: Socket},
		{Path: ir.MustPath("/w"), Kind: Directory, Ours: true},
		{Path: ir.MustPath("/w/a"), Kind: File, Ours: true},
	}
	asked := 0
	for shift := range 8 {
		for _, p := range Probes(tree, shift) {
			asked++
			switch p.Request.Kind {
			case ir.WriteRequest, ir.CreateRequest, ir.RemoveRequest, ir.RenameRequest, ir.LinkRequest:
				for _, path := range []ir.Path{p.Request.Path, p.Real.Path} {
					if !ir.MustPath("/w").Covers(path) {
						t.Errorf("Probes gives %s, which changes what is not the test's own", p.Request)
					}
				}
			}
		}
	}
	if asked == 0 {
		t.Error("Probes asks nothing")
	}
}
