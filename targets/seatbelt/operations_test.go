package seatbelt

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
)

// TestTable holds the operation table to its form: parents exist in the same
// release, and every operation ends in a decision.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, o := range operations() {
		if seen[o.Name] {
			t.Errorf("%s stands twice", o.Name)
		}
		seen[o.Name] = true
		for r := range release(numReleases) {
			name, steps := o.Name, 0
			for steps < 9 {
				at, ok := operationNamed(name)
				if !ok || !at.in(r) && name != o.Name {
					t.Errorf("%s: %s has the parent %s, which is not there", r, o.Name, name)
					break
				}
				next := at.Parent[r]
				if next == "" || next == "allow" || next == "deny" {
					break
				}
				name, steps = next, steps+1
			}
			if steps == 9 {
				t.Errorf("%s: %s never ends", r, o.Name)
			}
		}
	}
	if len(operations()) != 209 {
		t.Errorf("the table has %d rows, the published ones 209", len(operations()))
	}
}

// TestClosed: with an empty policy every operation of every release is refused,
// but for what is kept and what concerns the sandbox's own processes.
func TestClosed(t *testing.T) {
	p := statements("")
	for _, m := range machines(t, p, bound) {
		for _, o := range operations() {
			if !o.in(m.release) || keptParent(o, m.release) {
				continue
			}
			e := event{Path: "/Users/u/x", Words: map[string]string{"target": "others", "socket-domain": "AF_INET", "remote": "192.0.2.1:80"}}
			open := o.Name == "process-fork" || isKept(o.Name) && (o.Parent[m.release] == "allow" || o.Open && m.release > catalina)
			if got := m.allows(o.Name, e); got != open {
				t.Errorf("%s: an empty policy allows %s: %v", m.release, o.Name, got)
			}
		}
		if !m.allows("signal", event{Words: map[string]string{"target": "same-sandbox"}}) {
			t.Errorf("%s: no signal within the sandbox", m.release)
		}
	}
}

// keptParent reports whether o asks a kept operation.
func keptParent(o operation, r release) bool {
	for name := o.Parent[r]; ; {
		if isKept(name) {
			return true
		}
		at, ok := operationNamed(name)
		if !ok {
			return false
		}
		name = at.Parent[r]
	}
}

// TestKeptIsLeftOpen: the list of reasons holds nothing that (deny default) closes.
func TestKeptIsLeftOpen(t *testing.T) {
	for _, k := range kept {
		if o, ok := operationNamed(k.Name); !ok || !o.leftOpen() || isNamed(k.Name) {
			t.Errorf("%s is kept open for nothing", k.Name)
		}
	}
}

// TestWidest: the widest policy allows nothing that escapes.
func TestWidest(t *testing.T) {
	p := statements("read=[/] write=[/Users, /opt, /private/var, W, H] execute=[/]")
	p.Unix = ir.UnixRule{Visible: true, Origin: "p/network.unix"}
	profile, err := Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, banned := range []string{"allow default", "import", "no-sandbox", "no-profile", "(allow file*", "(local", "entitlement"} {
		if strings.Contains(string(profile), banned) {
			t.Errorf("the widest profile holds %q", banned)
		}
	}
	if !strings.Contains(string(profile), "\n(version 1)\n(deny default (with message \"obspc p\"))\n") {
		t.Errorf("the widest profile does not deny by default")
	}
	for _, m := range machines(t, p, bound) {
		for _, op := range []string{
			"default", "file-mount", "file-mount-update", "file-unmount", "file-chroot", "file-mknod", "job-creation", "lsopen",
			"file-write-setugid", "file-issue-extension", "file-ioctl", "system-privilege", "mach-register", "mach-priv-task-port",
			"network-bind", "network-inbound", "appleevent-send", "nvram-set", "system-kext-load", "sysctl-write", "pseudo-tty",
		} {
			if m.allows(op, event{Path: "/Users/u/x"}) {
				t.Errorf("%s: the widest policy allows %s", m.release, op)
			}
		}
		if m.allows("network-outbound", event{Path: "/", Words: map[string]string{"remote": "192.0.2.1:443"}}) {
			t.Errorf("%s: a path rule reaches the network", m.release)
		}
		if m.allows("system-socket", event{Words: map[string]string{"socket-domain": "AF_INET"}}) {
			t.Errorf("%s: unix sockets bring others", m.release)
		}
	}
}

// TestRulesNameLeaves: what is allowed is a leaf in every release, or behind a
// guard where a release lacks it. process-exec* is what execve itself asks.
func TestRulesNameLeaves(t *testing.T) {
	parent := map[string]bool{}
	for _, o := range operations() {
		for r := range numReleases {
			parent[o.Parent[r]] = true
		}
	}
	for name, p := range goldens() {
		profile, err := Compile(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range decisions(t, profile) {
			for _, op := range d.operations {
				o, ok := operationNamed(op)
				if !ok || d.allow && parent[op] && op != "process-exec*" {
					t.Errorf("%s allows %s, which is no leaf", name, op)
				}
				if ok && !o.everywhere() && !slices.Contains(d.guards, op) {
					t.Errorf("%s names %s without a guard", name, op)
				}
			}
		}
	}
}

// decision is a rule as it stands in the text.
type decision struct {
	allow, filtered, tagged bool
	operations, guards      []string
}

// decisions reads the rules of a profile.
func decisions(t *testing.T, profile []byte) []decision {
	t.Helper()
	forms, err := readAll(string(profile))
	if err != nil {
		t.Fatal(err)
	}
	var out []decision
	for _, form := range forms {
		var d decision
		items := form.([]any)
		for items[0] == symbol("when") {
			if test := items[1].([]any); test[0] == symbol("defined?") {
				d.guards = append(d.guards, string(test[1].([]any)[1].(symbol)))
			}
			items = items[2].([]any)
		}
		if items[0] != symbol("allow") && items[0] != symbol("deny") {
			continue
		}
		d.allow = items[0] == symbol("allow")
		for _, item := range items[1:] {
			switch list, _ := item.([]any); {
			case list == nil:
				d.operations = append(d.operations, string(item.(symbol)))
			case list[0] == symbol("with"):
				d.tagged = true
			default:
				d.filtered = true
			}
		}
		out = append(out, d)
	}
	return out
}

// TestDenialsAreTagged: macOS records whose policy refused something, whatever rule
// of it did; what is allowed is not recorded.
func TestDenialsAreTagged(t *testing.T) {
	for name, p := range goldens() {
		profile, err := Compile(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range decisions(t, profile) {
			if d.tagged == d.allow {
				t.Errorf("%s: a rule about %q (allow: %v) has a tag: %v", name, d.operations, d.allow, d.tagged)
			}
		}
	}
}

// TestUnfilteredFirst: no unfiltered rule stands where a reader could take it to
// override a filtered one of its operation.
func TestUnfilteredFirst(t *testing.T) {
	for name, p := range goldens() {
		profile, err := Compile(p)
		if err != nil {
			t.Fatal(err)
		}
		filtered := map[string]bool{}
		for _, d := range decisions(t, profile) {
			for _, op := range d.operations {
				if !d.filtered && filtered[op] {
					t.Errorf("%s: an unfiltered rule about %s after a filtered one", name, op)
				}
				filtered[op] = filtered[op] || d.filtered
			}
		}
	}
}

func TestSystemNames(t *testing.T) {
	p := goldens()["system"]
	for _, m := range machines(t, p, bound) {
		ask := func(op, word, name string) bool { return m.allows(op, event{Words: map[string]string{word: name}}) }
		iokit := "iokit-open-user-client"
		if m.release == catalina {
			iokit = "iokit-open"
		}
		for _, tt := range []struct {
			op, word, name string
			want           bool
		}{
			{"mach-lookup", "global-name", "com.apple.system.opendirectoryd.libinfo", true},
			{"mach-lookup", "global-name", "com.apple.trustd.agent", false},
			{"sysctl-read", "sysctl-name", "hw.ncpu", true},
			{"sysctl-read", "sysctl-name", "kern.sysv.semmni", false},
			{"ipc-posix-shm-read-data", "ipc-posix-name", "apple.shm.notification_center", true},
			{"ipc-posix-sem-create", "ipc-posix-name", "other", false},
			{iokit, "iokit-registry-entry-class", "RootDomainUserClient", true},
			{iokit, "iokit-registry-entry-class", "IOSurfaceRootUserClient", false},
		} {
			if got := ask(tt.op, tt.word, tt.name); got != tt.want {
				t.Errorf("%s: %s %s = %v, want %v", m.release, tt.op, tt.name, got, tt.want)
			}
		}
		if m.release > catalina && !m.allows("mach-bootstrap", event{}) {
			t.Errorf("%s: services without the port they are looked up through", m.release)
		}
	}
}

// TestLinks: content rules stand on the resolved path, the link itself can be seen.
func TestLinks(t *testing.T) {
	p := statements("write=[/tmp/x] read=[/etc/hosts]")
	for _, m := range machines(t, p, bound) {
		for _, tt := range []struct {
			op, path string
			want     bool
		}{
			{"file-write-create", "/private/tmp/x/f", true},
			{"file-read-metadata", "/tmp", true},
			{"file-read-data", "/tmp", false},
			{"file-read-data", "/private/etc/hosts", true},
			{"file-read-metadata", "/etc", true},
			{"file-read-metadata", "/private/etc", true},
			{"file-read-metadata", "/private", true},
			{"file-read-metadata", "/", true},
			{"file-read-metadata", "/var", false},
			{"file-read-data", "/private/etc/passwd", false},
		} {
			if got := m.allows(tt.op, event{Path: tt.path}); got != tt.want {
				t.Errorf("%s: %s %s = %v, want %v", m.release, tt.op, tt.path, got, tt.want)
			}
		}
	}
}

func TestConflicts(t *testing.T) {
	for _, tt := range []struct {
		statements string
		want       int
	}{
		{"read=[/private/tmp/x] write=[/tmp/x]", 1},
		{"read=[/private/tmp/x, /tmp/x]", 0},
		{"read=[/opt/Tool] write=[/opt/tool]", 1},
		{"read=[/opt/Tool] execute=[/opt/tool]", 1},
		{"read=[/opt/tool] execute=[/opt/tool]", 0},
		{"read=[/Etc/x] write=[/etc/x]", 0},
		{"deny=[/opt/Tool] read=[/opt/tool/x/y]", 1},
		{"deny=[/opt/tool] read=[/opt/tool/x, /opt/tool/y, /opt/tool/z/Z]", 0},
		{"deny=[H/.SSH] read=[H/.ssh, W/.ssh]", 1},
	} {
		p := statements(tt.statements)
		if got := Conflicts(p); len(got) != tt.want {
			t.Errorf("Conflicts(%s) = %v, want %d", tt.statements, got, tt.want)
		}
		_, err := Compile(p)
		var conflict *ConflictError
		if errors.As(err, &conflict) != (tt.want > 0) {
			t.Errorf("Compile(%s) = %v", tt.statements, err)
		}
	}
}

// TestManyPaths: a profile either fits its budgets or is refused with the count.
func TestManyPaths(t *testing.T) {
	for n, fits := range map[int]bool{1000: true, 5000: false} {
		p := statements("")
		for i := range n {
			path := ir.MustPath(fmt.Sprintf("/opt/%s/%050d", strings.Repeat("d", 4), i))
			p.Files = append(p.Files, ir.FileRule{Path: path, Level: ir.Read, Origin: ir.Origin(fmt.Sprintf("p/filesystem.read[%d]", i))})
		}
		profile, err := Compile(p)
		var large *TooLargeError
		if fits != (err == nil) || !fits && (!errors.As(err, &large) || large.Rules < n) {
			t.Errorf("Compile(%d paths) = %d bytes, %v", n, len(profile), err)
		}
		for line := range strings.Lines(string(profile)) {
			if len(line) >= 60_000 {
				t.Errorf("a rule of %d bytes", len(line))
			}
		}
	}
}

// TestManyPrograms: what may be started stands in one pattern, which fits or is
// refused.
func TestManyPrograms(t *testing.T) {
	for n, fits := range map[int]bool{400: true, 1500: false} {
		p := statements("read=[/opt]")
		for i := range n {
			p.Execute = append(p.Execute, ir.ExecuteRule{Path: ir.MustPath(fmt.Sprintf("/opt/bin/%020d", i)), Origin: "p/filesystem.execute[0]"})
		}
		_, err := Compile(p)
		var large *TooLargeError
		if fits != (err == nil) || !fits && (!errors.As(err, &large) || large.Rules != n) {
			t.Errorf("Compile(%d programs) = %v", n, err)
		}
	}
}

// TestParameters: every slot that a policy names is one parameter, and a missing
// one refuses the profile.
func TestParameters(t *testing.T) {
	p := statements("write=[W] deny=[H/.ssh]")
	profile, err := Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, missing := range []string{"WORKSPACE", "HOME"} {
		params := arguments(bound)
		delete(params, missing)
		if _, err := load(profile, sonoma, params); err == nil {
			t.Errorf("a profile without %s loads", missing)
		}
	}
	names := slices.Sorted(func(yield func(string) bool) {
		for _, n := range parameters {
			if !yield(n) {
				return
			}
		}
	})
	if got := strings.Join(names, " "); got != "CONFIG HOME TMP WORKSPACE" {
		t.Errorf("parameters are %s", got)
	}
}
