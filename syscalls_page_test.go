package obspc_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/syscalls"
)

// syscallTable is the table of docs/syscalls.md: neighbours that are refused alike
// share a row.
func syscallTable() string {
	var b strings.Builder
	b.WriteString("| call | refused | answer | why |\n|---|---|---|---|\n")
	list := syscalls.Refused()
	for i := 0; i < len(list); {
		first, calls := list[i], []string{}
		for ; i < len(list); i++ {
			r := list[i]
			if r.Part != first.Part || r.Answer != first.Answer || r.Why != first.Why {
				break
			}
			calls = append(calls, "`"+r.Call+"`")
		}
		part := string(first.Part)
		if first.Part == syscalls.All {
			part = "always"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", strings.Join(calls, ", "), part, first.Answer, first.Why)
	}
	return b.String()
}

// TestSyscallsPage: the page's table is the data. OBSPC_UPDATE=1 rewrites it, and
// fails so that nobody takes such a run for a test.
func TestSyscallsPage(t *testing.T) {
	const page = "docs/syscalls.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, found := strings.Cut(string(text), "| call |")
	_, tail, end := strings.Cut(rest, "|\n\n")
	if !found || !end {
		t.Fatalf("%s has no table", page)
	}
	want := head + syscallTable() + "\n" + tail
	if os.Getenv("OBSPC_UPDATE") != "" {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Errorf("%s was rewritten", page)
	}
	if string(text) != want {
		t.Errorf("%s has another table than compiler/syscalls; OBSPC_UPDATE=1 rewrites it", page)
	}
	_, loosened, _ := strings.Cut(string(text), "can take these calls off the list")
	loosened, _, _ = strings.Cut(loosened, ". ")
	for _, r := range syscalls.Refused() {
		if named := strings.Contains(loosened, "`"+r.Call+"`"); named != syscalls.MayAllow(r.Call) {
			t.Errorf("%s says that policies can allow %s: %v", page, r.Call, named)
		}
	}
	if !strings.Contains(string(text), "Linux "+syscalls.Kernel+" ") {
		t.Errorf("%s does not name Linux %s, whose tables these are", page, syscalls.Kernel)
	}
}
