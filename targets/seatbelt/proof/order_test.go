package proof

import (
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/seatbelt"
)

// stated is a policy of "LEVEL PATH" and "execute PATH".
func stated(t *testing.T, statements ...string) *ir.Policy {
	t.Helper()
	p := &ir.Policy{Name: "p", Version: 1, Targets: []ir.Target{ir.Seatbelt}, Unix: ir.UnixRule{Origin: "builtin/unix"}}
	for _, s := range statements {
		word, path, _ := strings.Cut(s, " ")
		at := ir.MustPath(path)
		if word == "execute" {
			p.Execute = append(p.Execute, ir.ExecuteRule{Path: at, Origin: "p/filesystem.execute[0]"})
			continue
		}
		level := map[string]ir.Level{"deny": ir.Deny, "read": ir.Read, "write": ir.Write}[word]
		p.Files = append(p.Files, ir.FileRule{Path: at, Level: level, Origin: ir.Origin("p/filesystem." + word + "[0]")})
	}
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	return p
}

// compiled is the profile of p.
func compiled(t *testing.T, p *ir.Policy) string {
	t.Helper()
	profile, err := seatbelt.Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(profile)
}

// moved is the profile with the line that holds one text behind that of another.
func moved(t *testing.T, profile, line, behind string) string {
	t.Helper()
	var out []string
	var taken string
	for l := range strings.Lines(profile) {
		if taken == "" && strings.Contains(l, line) {
			taken = l
			continue
		}
		out = append(out, l)
	}
	for i, l := range out {
		if strings.Contains(l, behind) {
			return strings.Join(out[:i+1], "") + taken + strings.Join(out[i+1:], "")
		}
	}
	t.Fatalf("nothing holds %q behind %q in\n%s", behind, line, profile)
	return ""
}

// TestOrder: a rule of an earlier root that could override one of a later root is
// found, whatever is there when slots lie apart. Two hosts' writes: the classes put
// the workspace into the first of them alone.
func TestOrder(t *testing.T) {
	p := stated(t, "write /data", "write /srv", "deny ${home}/key", "write ${workspace}", "deny ${workspace}/key")
	profile := compiled(t, p)
	if err := Check(p, []byte(profile)); err != nil {
		t.Fatal(err)
	}
	write := `(literal "/srv") (subpath "/srv")) ; p/filesystem.write[0]`
	for _, behind := range []string{`(string-append (param "HOME") "/key")) (regex`, `(string-append (param "WORKSPACE") "/key")) (regex`} {
		late := moved(t, profile, write, behind)
		if late == profile {
			t.Fatal("nothing was moved")
		}
		err := Check(p, []byte(late))
		if err == nil || !strings.Contains(err.Error(), "which it would override") {
			t.Errorf("Check(/srv behind %s) = %v", behind, err)
		}
	}
}
