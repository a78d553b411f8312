package compiler

import (
	"os"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
)

// designExample is the policy of docs/design.md, section 4.
func designExample(t *testing.T) string {
	t.Helper()
	doc, err := os.ReadFile("../docs/design.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(doc), "```hcl\n")
	text, _, ok2 := strings.Cut(rest, "```\n")
	if !ok || !ok2 {
		t.Fatal("docs/design.md has no hcl block")
	}
	return text
}

func TestDesignExample(t *testing.T) {
	p := compileOne(t, designExample(t))
	for request, want := range map[string]bool{
		"read /usr/share/zoneinfo/UTC": true, "read /etc/ssl/certs/x.pem": true, "read /etc/shadow": false,
		"write ${workspace}/out": true, "write ${workspace}/.git/hooks/x": false, "read ${home}/.ssh/id": false,
		"create ${workspace}/.git/hooks": false, "rename ${workspace}/.git ${workspace}/g": false,
		"execute /usr/bin/curl": true, "execute /usr/bin/env": false, "execute /usr/lib/ld.so": true,
		"write /dev/null": true, "write ${tmp}/x": true, "read /proc/self/status": true, "list /": true, "list /usr": false, "stat /usr": true,
		"connect example.com:443": true, "connect example.com:80": false, "connect a.example.com:443": false, "connect 10.0.0.1:443": false,
		"connect-unix ${workspace}/s": false,
	} {
		r, err := ir.ParseRequest(strings.Fields(request))
		if err != nil {
			t.Fatal(err)
		}
		if got := ir.Decide(p, r); got.Allow != want {
			t.Errorf("Decide(%s) = %v (%s), want %v", request, got.Allow, got.Reason, want)
		}
	}
	cmd, ok := p.Command("post-batch")
	if !ok || len(cmd.Arguments) != 9 || cmd.Arguments[7].String() != `{"http_status":%{http_code}}` || cmd.Arguments[8].String() != "https://example.com/batches/<batch_id>" {
		t.Errorf("the command is %v", cmd.Arguments)
	}
	if n, ok := p.Limit(ir.Timeout); !ok || n != 30_000 {
		t.Errorf("timeout is %d ms, want 30000", n)
	}
}
