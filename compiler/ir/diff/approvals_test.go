package diff

import (
	"strings"
	"testing"
)

var someDigest = strings.Repeat("0123456789abcdef", 4)

func TestParseApprovals(t *testing.T) {
	other := strings.Repeat("f", 64)
	got, err := ParseApprovals([]byte("# agreed\n\n" + someDigest + " 2026-12-31 the batch needs it (OPS-7)\n" + other + " 2024-02-29 ends without a line end"))
	if err != nil || len(got) != 2 || got[0] != (Approval{someDigest, Date{2026, 12, 31}, "the batch needs it (OPS-7)", 3}) || got[1].Line != 4 {
		t.Errorf("ParseApprovals = %v, %v", got, err)
	}
	for _, tt := range []struct{ name, text, want string }{
		{"upper case", strings.ToUpper(someDigest) + " 2026-12-31 r", "line 1: \"0123456789ABCDEF"},
		{"short digest", someDigest[1:] + " 2026-12-31 r", "is no digest of 64"},
		{"no reason", someDigest + " 2026-12-31", "wants a digest, a last day and a reason"},
		{"empty reason", someDigest + " 2026-12-31 ", "wants a digest, a last day and a reason"},
		{"two spaces", someDigest + "  2026-12-31 r", "is no day"},
		{"spaces before the reason", someDigest + " 2026-12-31  r", "space around the reason"},
		{"space at the end", someDigest + " 2026-12-31 r ", "space around the reason"},
		{"carriage return", someDigest + " 2026-12-31 r\r\n", "holds a byte that is no text"},
		{"not UTF-8", someDigest + " 2026-12-31 \xff", "holds a byte that is no text"},
		{"text turned round", someDigest + " 2026-12-31 a\u202eb", "holds a byte that is no text"},
		{"indented", " " + someDigest + " 2026-12-31 r", `line 1: ""`},
		{"no such day", someDigest + " 2026-02-29 r", `"2026-02-29" is no day`},
		{"month 13", someDigest + " 2026-13-01 r", "is no day"},
		{"day 0", someDigest + " 2026-12-00 r", "is no day"},
		{"year 0", someDigest + " 0000-12-01 r", "is no day"},
		{"short day", someDigest + " 2026-1-1 r", "is no day"},
		{"signed", someDigest + " 2026-+1-01 r", "is no day"},
		{"twice", someDigest + " 2026-12-31 r\n" + someDigest + " 2027-12-31 r", "line 2: digest " + someDigest + " is approved in line 1 already"},
		{"too large", strings.Repeat("#\n", 1<<20), "at most 1048576 are read"},
	} {
		if got, err := ParseApprovals([]byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) || got != nil {
			t.Errorf("%s: ParseApprovals = %v, %v, want %q", tt.name, got, err, tt.want)
		}
	}
	// All faults at once.
	if _, err := ParseApprovals([]byte("x\ny\n")); err == nil || strings.Count(err.Error(), "line ") != 2 {
		t.Errorf("two faults: %v", err)
	}
}

func TestApprovals(t *testing.T) {
	old, new := compile(t, base), compile(t, strings.Replace(base, `"/opt/data/secret", `, ``, 1))
	today := Date{2026, 6, 30}
	report := Sets(old, new, nil)
	widening := report.Policies[0].Changes[0].Digest("p")
	narrowing := Sets(new, old, nil).Policies[0].Changes[0].Digest("p")
	approve := func(digest string, until Date) []Approval { return []Approval{{digest, until, "r", 1}} }
	for _, tt := range []struct {
		name      string
		approvals []Approval
		fails     bool
	}{
		{"none", []Approval{}, true},
		{"approved", approve(widening, Date{2026, 7, 1}), false},
		{"the last day", approve(widening, today), false},
		{"the day after", approve(widening, Date{2026, 6, 29}), true},
		{"last year", approve(widening, Date{2025, 12, 31}), true},
		{"another change", approve(someDigest, Date{2027, 1, 1}), true},
		{"that and another", append(approve(widening, Date{2027, 1, 1}), approve(someDigest, Date{2027, 1, 1})...), true},
		{"the other direction", approve(narrowing, Date{2027, 1, 1}), true},
	} {
		report.Approve(tt.approvals, today)
		if got := report.Fails(FailOnWidened); got != tt.fails {
			t.Errorf("%s: Fails(widened) = %v", tt.name, got)
		}
	}
	if report.Approve(nil, today); report.Fails(FailOnNothing) || !report.Fails(FailOnChanged) {
		t.Errorf("without approvals nothing fails unless it is asked for")
	}
	narrowed := Sets(new, old, nil)
	if narrowed.Fails(FailOnWidened) || !narrowed.Fails(FailOnChanged) {
		t.Errorf("a narrowing fails for changed alone")
	}
	narrowed.Approve(approve(narrowing, Date{2027, 1, 1}), today)
	if !narrowed.Fails(FailOnNothing) {
		t.Errorf("an approval of a narrowing matches no widening")
	}
}

// TestApprovingAPolicy: one digest for all that widens, and for nothing else.
func TestApprovingAPolicy(t *testing.T) {
	two := strings.Replace(strings.Replace(base, `"/opt/data/secret", `, ``, 1), `"30s"`, `"60s"`, 1)
	three := strings.Replace(two, `open_files = 256`, `open_files = 512`, 1)
	fewer := strings.Replace(two, `"/opt/tool", `, ``, 1) // narrows as well
	digest := Sets(compile(t, base), compile(t, two), nil).Policies[0].Digest()
	for text, fails := range map[string]bool{two: false, three: true, fewer: false, base: true} {
		report := Sets(compile(t, base), compile(t, text), nil)
		report.Approve([]Approval{{digest, Date{2026, 12, 31}, "r", 1}}, Date{2026, 1, 1})
		if report.Fails(FailOnWidened) != fails {
			t.Errorf("Fails(widened) = %v:\n%s", !fails, report.Text())
		}
	}
}

// TestDigestsTellExtentsApart: an approval covers what was shown and nothing wider.
func TestDigestsTellExtentsApart(t *testing.T) {
	edits := map[string]string{
		"read":           `read    = ["/new", `,
		"hole":           `deny = ["/new/hole"]` + "\n" + `read    = ["/new", `,
		"only":           `read    = [only("/new"), `,
		"write":          `write   = ["/new", `,
		"optional write": `write   = [optional("/new"), `,
		"another":        `read    = ["/newer", `,
	}
	seen := map[string]string{}
	for name, text := range edits {
		edited := strings.Replace(base, `read    = [`, text, 1)
		switch {
		case strings.Contains(name, "write"):
			edited = strings.Replace(base, `write   = [`, text, 1)
		case name == "hole":
			edited = strings.Replace(strings.Replace(base, `read    = [`, `read    = ["/new", `, 1), `deny    = [`, `deny    = ["/new/hole", `, 1)
		}
		got := Sets(compile(t, base), compile(t, edited), nil).Policies[0]
		for _, c := range got.Changes {
			if c.Kind != GrantAdded {
				continue
			}
			digest := c.Digest("p")
			if other, ok := seen[digest]; ok && !(strings.HasSuffix(name, "write") && strings.HasSuffix(other, "write")) {
				t.Errorf("%s and %s have one digest", name, other)
			}
			if c.Digest("q") == digest {
				t.Errorf("%s has one digest in two policies", name)
			}
			seen[digest] = name
		}
	}
	if len(seen) != 5 {
		t.Errorf("%d digests, want 5: what is optional has no part in a grant", len(seen))
	}
}

// TestDigestsTellConnectionsApart: an approval of a connection covers what it may
// carry, as it was shown, and nothing wider.
func TestDigestsTellConnectionsApart(t *testing.T) {
	policy := func(endpoint string) string {
		return "policy \"p\" {\nversion = 1\ntargets = [\"bwrap\"]\nnetwork {\n" + endpoint + "\n}\n}\n"
	}
	const host = "endpoint \"e\" {\nhost = \"a.test\"\nports = [443]\n"
	rest := func(allow string) string { return policy(host + "protocol = \"rest\"\nallow {\n" + allow + "\n}\n}") }
	seen := map[string]string{}
	for _, old := range []string{policy(""), rest(`path = "/repos/**"`), policy(host + "addresses = [\"10.2.0.0/16\"]\n}")} {
		for _, new := range []string{
			rest(`path = "/**"`), rest("path = \"/**\"\nmethods = [\"GET\"]"), rest("path = \"/**\"\nmethods = [\"GET\", \"PUT\"]"), policy(host + "}"),
			policy(host + "addresses = [\"10.0.0.0/8\"]\n}"), policy(host + "addresses = [\"0.0.0.0/0\"]\n}"),
			policy(host + "addresses = [\"10.0.0.0/8\", \"127.0.0.0/8\"]\n}"), policy(host + "protocol = \"tcp\"\n}"),
		} {
			for _, c := range Sets(compile(t, old), compile(t, new), nil).Policies[0].Changes {
				if digest := c.Digest("p"); c.Effect().Widens() {
					if other, ok := seen[digest]; ok && other != old+new {
						t.Errorf("one digest for\n%s\nand\n%s", other, old+new)
					}
					seen[digest] = old + new
				}
			}
		}
	}
	if len(seen) < 20 {
		t.Errorf("%d digests, want at least 20", len(seen))
	}
}

// FuzzParseApprovals: what is read is written the same way.
func FuzzParseApprovals(f *testing.F) {
	for _, seed := range []string{
		"", "# nothing\n", someDigest + " 2026-12-31 because\n", someDigest + " 2024-02-29 a\n\n" + strings.Repeat("0", 64) + " 9999-12-31 b c",
		someDigest + " 2026-12-31 \u202e\n", someDigest + " 2026-12-31 r\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := ParseApprovals(data)
		if err != nil {
			if list != nil {
				t.Fatalf("ParseApprovals(%q) gives approvals and %v", data, err)
			}
			return
		}
		lines := strings.Split(string(data), "\n")
		for _, a := range list {
			if want := a.Digest + " " + a.Until.String() + " " + a.Reason; lines[a.Line-1] != want {
				t.Fatalf("line %d of %q was read as %q", a.Line, data, want)
			}
		}
	})
}
