package obspc_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/obspc/obspc/targets/landlock"
)

// grantedTo are the words of docs/landlock.md for who has a right.
var grantedTo = map[landlock.Giver]string{
	landlock.ByExecute: "`execute` rules", landlock.ByRead: "`read` and `write` rules", landlock.ByWrite: "`write` rules",
	landlock.Nothing: "nobody", landlock.Unhandled: "everybody",
}

// landlockTable is the table of docs/landlock.md: neighbours of one ABI that the
// same rules grant share a row.
func landlockTable() string {
	var b strings.Builder
	b.WriteString("| ABI | Linux | right | granted to | what others may not, or why it is left alone | source |\n|---|---|---|---|---|---|\n")
	for _, rev := range landlock.Revisions() {
		for i := 0; i < len(rev.Rights); {
			first, names, whats := rev.Rights[i], []string{}, []string{}
			for ; i < len(rev.Rights); i++ {
				r := rev.Rights[i]
				if r.By != first.By || r.Why != first.Why {
					break
				}
				names, whats = append(names, "`"+r.Name+"`"), append(whats, r.What)
			}
			text := strings.Join(whats, ", ")
			if first.Why != "" {
				text += ": " + first.Why
			}
			fmt.Fprintf(&b, "| %d | %s | %s | %s | %s | %s |\n", rev.ABI, rev.Linux, strings.Join(names, ", "), grantedTo[first.By], text, rev.Source)
		}
	}
	return b.String()
}

// TestLandlockPage: the page's table is the data. OBSPC_UPDATE=1 rewrites it, and
// fails so that nobody takes such a run for a test.
func TestLandlockPage(t *testing.T) {
	const page = "docs/landlock.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, found := strings.Cut(string(text), "| ABI |")
	_, tail, end := strings.Cut(rest, "|\n\n")
	if !found || !end {
		t.Fatalf("%s has no table", page)
	}
	want := head + landlockTable() + "\n" + tail
	if os.Getenv("OBSPC_UPDATE") != "" {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Errorf("%s was rewritten", page)
	}
	if string(text) != want {
		t.Errorf("%s has another table than targets/landlock; OBSPC_UPDATE=1 rewrites it", page)
	}
}
