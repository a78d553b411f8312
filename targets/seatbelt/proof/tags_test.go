package proof_test

import (
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/seatbelt"
	"github.com/obspc/obspc/targets/seatbelt/proof"
)

// TestTags: what the log will say of a violation is the policy's name and a
// statement of it that is about the path, or the profile is refused.
func TestTags(t *testing.T) {
	p := &ir.Policy{
		Name: "p", Version: 1, Targets: []ir.Target{ir.Seatbelt},
		Files: []ir.FileRule{
			{Path: ir.MustPath("/srv/a"), Level: ir.Write, Origin: "p/filesystem.write[0]"},
			{Path: ir.MustPath("/srv/c"), Level: ir.Read, Origin: "p/filesystem.read[0]"},
			{Path: ir.MustPath("/srv/a/b"), Level: ir.Deny, Origin: "p/filesystem.deny[0]"},
		},
		Unix: ir.UnixRule{Visible: true, Origin: "p/network.unix"},
	}
	profile, err := seatbelt.Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := proof.Check(p, profile); err != nil {
		t.Fatal(err)
	}
	const (
		first  = `(deny default (with message "obspc p"))`
		closed = `(deny file-ioctl (with message "obspc p"))`
		hole   = `(regex "^/[Ss][Rr][Vv]/[Aa]/[Bb](/|$)") (with message "obspc p p/filesystem.deny[0]")`
		remote = `(remote ip "*:*") (with message "obspc p p/network.unix")`
	)
	for _, tt := range []struct{ name, from, to string }{
		{"none for what nothing allows", first, "(deny default)"},
		{"another policy's", first, strings.Replace(first, "obspc p", "obspc q", 1)},
		{"a statement for what nothing allows", first, strings.Replace(first, "obspc p", "obspc p p/filesystem.deny[0]", 1)},
		{"none for what every profile denies", closed, "(deny file-ioctl)"},
		{"a statement for what every profile denies", closed, strings.Replace(closed, "obspc p", "obspc p p/filesystem.deny[0]", 1)},
		{"no statement", hole, strings.Replace(hole, " p/filesystem.deny[0]", "", 1)},
		{"a statement that there is not", hole, strings.Replace(hole, "deny[0]", "deny[1]", 1)},
		{"a statement about another path", hole, strings.Replace(hole, "deny[0]", "read[0]", 1)},
		{"a statement about what is around", hole, strings.Replace(hole, "deny[0]", "write[0]", 1)},
		{"more than a statement", hole, strings.Replace(hole, "deny[0]", "deny[0] and more", 1)},
		{"a path for the network", remote, strings.Replace(remote, "network.unix", "filesystem.deny[0]", 1)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if !strings.Contains(string(profile), tt.from) {
				t.Fatalf("the profile has no %s\n%s", tt.from, profile)
			}
			changed := strings.Replace(string(profile), tt.from, tt.to, 1)
			if err := proof.Check(p, []byte(changed)); err == nil || !strings.Contains(err.Error(), "recorded as") {
				t.Errorf("Check() = %v, want what it is recorded as", err)
			}
		})
	}
}
