package targets

import (
	"slices"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
)

// minimalDevices is what system.devices states, by path, "w" for a write, "+" for
// all below.
var minimalDevices = map[string]string{
	"/dev": "r", "/dev/core": "r", "/dev/fd": "r", "/dev/ptmx": "r", "/dev/stderr": "r", "/dev/stdin": "r", "/dev/stdout": "r",
	"/dev/full": "w", "/dev/null": "w", "/dev/random": "w", "/dev/tty": "w", "/dev/urandom": "w", "/dev/zero": "w", "/dev/pts": "w+",
}

// policy builds a policy for Linux from statements: "[only] [optional]
// read|write|deny|execute PATH", "devices", "shm", "tmp", "visible".
func policy(t interface {
	Helper()
	Fatalf(string, ...any)
}, statements ...string) *ir.Policy {
	t.Helper()
	p := &ir.Policy{Name: "p", Version: 1, Targets: []ir.Target{ir.Bwrap}, Unix: ir.UnixRule{Origin: "builtin/unix"}}
	p.Files = append(p.Files, ir.FileRule{Path: ir.MustPath("/proc"), Level: ir.Read, Backing: ir.ProcFS, Origin: "builtin/proc"})
	writes := false
	for _, text := range statements {
		origin := ir.Origin("p/" + text)
		words := strings.Fields(text)
		last := words[len(words)-1]
		switch {
		case text == "devices":
			for path, how := range minimalDevices {
				r := ir.FileRule{Path: ir.MustPath(path), Level: ir.Read, Only: !strings.HasSuffix(how, "+"), Backing: ir.DevFS, Origin: origin}
				if how[0] == 'w' {
					r.Level = ir.Write
				}
				p.Files = append(p.Files, r)
			}
			if !slices.Contains(statements, "shm") {
				p.Files = append(p.Files, ir.FileRule{Path: ir.MustPath("/dev/shm"), Level: ir.Read, Only: true, Backing: ir.DevFS, Origin: origin})
			}
		case text == "shm":
			p.Files = append(p.Files, ir.FileRule{Path: ir.MustPath("/dev/shm"), Level: ir.Write, Backing: ir.TmpFS, Size: 1 << 20, Origin: origin})
		case text == "tmp":
			p.Files = append(p.Files, ir.FileRule{Path: ir.RootPath(ir.Tmp), Level: ir.Write, Backing: ir.TmpFS, Size: 1 << 20, Origin: origin})
		case text == "visible":
			p.Unix = ir.UnixRule{Visible: true, Origin: origin}
		case slices.Contains(words, "execute"):
			p.Execute = append(p.Execute, ir.ExecuteRule{
				Path: ir.MustPath(last), Only: slices.Contains(words, "only"), Optional: slices.Contains(words, "optional"), Origin: origin,
			})
		default:
			r := ir.FileRule{Path: ir.MustPath(last), Only: slices.Contains(words, "only"), Optional: slices.Contains(words, "optional"), Origin: origin}
			switch {
			case slices.Contains(words, "read"):
				r.Level = ir.Read
			case slices.Contains(words, "write"):
				r.Level, writes = ir.Write, true
			}
			p.Files = append(p.Files, r)
		}
	}
	if writes {
		p.Files = append(p.Files, ir.FileRule{Path: ir.RootPath(ir.Config), Level: ir.Read, Optional: true, Origin: "builtin/config"})
	}
	slices.SortFunc(p.Files, func(a, b ir.FileRule) int { return a.Path.Compare(b.Path) })
	slices.SortFunc(p.Execute, func(a, b ir.ExecuteRule) int { return a.Path.Compare(b.Path) })
	if err := p.Check(); err != nil {
		t.Fatalf("policy(%q): %v", statements, err)
	}
	return p
}

// samples are policies that together use every operation.
var samples = map[string][]string{
	"nothing":           nil,
	"read":              {"read /usr", "optional read /opt/x", "only read /"},
	"everything read":   {"read /", "deny /etc", "read /etc/ssl", "devices", "shm", "tmp", "write ${workspace}"},
	"hole and window":   {"write ${workspace}", "deny ${workspace}/s", "read ${workspace}/s/m/pub", "write ${workspace}/s/m/rw"},
	"carve-out":         {"write ${workspace}", "read ${workspace}/.git/hooks", "deny ${workspace}/.env", "execute ${workspace}/bin/tool"},
	"execute":           {"read /usr", "execute /usr/bin", "optional execute /usr/lib/ld.so", "only execute /usr/lib/x", "deny /usr/bin/sudo"},
	"home":              {"read ${home}", "deny ${home}/.ssh", "write ${home}/.cache", "write ${workspace}", "execute ${workspace}"},
	"only":              {"only read /opt", "read /opt/a", "only write /srv/log/file", "only read /etc/passwd", "only execute /opt/a/x"},
	"five levels":       {"read /a/b", "write /a/b/c", "read /a/b/c/d", "deny /a/b/c/d/e", "write /a/b/c/d/e/f"},
	"devices alone":     {"devices", "visible"},
	"host write":        {"write /data", "deny /data/k", "optional write /data/o", "write ${workspace}", "read ${workspace}/r", "tmp", "shm"},
	"uncovered denies":  {"deny /opt/x", "read /srv", "deny ${home}/.aws", "deny ${workspace}/x/y"},
	"slots of no write": {"read ${workspace}/in", "optional read ${home}/.config/tool", "execute ${workspace}/in/run", "write /var/out"},
}
