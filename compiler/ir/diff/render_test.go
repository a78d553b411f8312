package diff

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
)

// rendered are two configurations with something of everything, as golden files
// hold them.
func rendered(t *testing.T) Report {
	t.Helper()
	read := func(name string) []*ir.Policy {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		return compile(t, string(text))
	}
	r := Sets(read("old.policy.hcl"), read("new.policy.hcl"), nil)
	r.Artifacts = []Artifact{
		{Name: "build/seatbelt.sb", Diff: "-(allow file-read* (subpath \"/opt/`a`\"))\n+(allow file-read* (subpath \"/opt/```b\"))\n"},
		{Name: "build/seccomp-x86_64.bpf"},
	}
	return r
}

// TestRenderings holds every form of the report. OBSPC_UPDATE=1 rewrites the files,
// and fails while doing so.
func TestRenderings(t *testing.T) {
	r := rendered(t)
	golden(t, "report.txt", []byte(r.Text()))
	golden(t, "report.md", []byte(r.Markdown()))
	golden(t, "report.json", r.JSON())
	var approvals []Approval
	for i, c := range r.Policies {
		for j, change := range c.Changes {
			if change.Effect().Widens() && (i+j)%2 == 0 {
				approvals = append(approvals, Approval{change.Digest(c.Policy), Date{2026, 12, 31}, "agreed with | the platform team", len(approvals) + 1})
			}
		}
	}
	approvals[0].Until = Date{2026, 11, 29}
	approvals = append(approvals, Approval{Digest: "00", Until: Date{2027, 1, 1}, Reason: "a change that was taken back", Line: 99})
	r.Approve(approvals, Date{2026, 11, 30})
	golden(t, "approved.txt", []byte(r.Text()))
	golden(t, "approved.md", []byte(r.Markdown()))
	golden(t, "approved.json", r.JSON())
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	want, _ := os.ReadFile(file)
	switch {
	case string(got) == string(want):
	case os.Getenv("OBSPC_UPDATE") == "1":
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		t.Errorf("%s was rewritten", file)
	default:
		t.Errorf("%s differs; OBSPC_UPDATE=1 rewrites it:\n%s", file, got)
	}
}

func TestHeadlines(t *testing.T) {
	p := compile(t, base)
	for _, tt := range []struct {
		report Report
		want   string
	}{
		{Sets(p, p, nil), "same meaning"},
		{Report{Artifacts: []Artifact{{Name: "a"}}}, "same meaning, 1 artifact differs"},
		{Report{Artifacts: []Artifact{{Name: "a"}, {Name: "b"}}}, "same meaning, 2 artifacts differ"},
		{Sets(nil, p, nil), "widened: 1 of 1 policy changed"},
		{Sets(p, nil, nil), "narrowed: 1 of 1 policy changed"},
	} {
		if got := tt.report.Headline(); got != tt.want {
			t.Errorf("Headline() = %q, want %q", got, tt.want)
		}
	}
}

func TestMarkdownHoldsNoForeignMarkup(t *testing.T) {
	for text, want := range map[string]string{
		"plain":      "`plain`",
		"a|b":        "`a\\|b`",
		"a`b":        "``a`b``",
		"`":          "`` ` ``",
		"":           "`  `",
		"a\u202eb\n": "`a\\u{202e}b\\u{a}`",
	} {
		if got := cell(text); got != want {
			t.Errorf("cell(%q) = %s, want %s", text, got, want)
		}
	}
	if got, want := escaped("<b>*x*</b> @team #1 https://x www.y"), `\<b\>\*x\*\</b\> \@`+"\u2060"+`team \#`+"\u20601 https:\u2060//x www\u2060.y"; got != want {
		t.Errorf("escaped = %s, want %s", got, want)
	}
	if got, want := fenceFor("a ```` b"), "`````"; got != want {
		t.Errorf("fenceFor = %s, want %s", got, want)
	}
}
