package seatbelt

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
)

// odd are directory names that have closed a string, or been changed by escapes
// meant for another language, in some generator of profiles.
var odd = []string{
	`/data/a") (allow default) (literal "`, `/data/back\slash\`, `/data/a\"b`, "/data/line\u2028separator", "/data/é ü", "/data/😀",
	`/data/(paren;comment)`, `/data/#|x|#'y`, `/data/\x41\101\n`, `/data/%s {a}`, `/data/^.[$()|*+?{\`,
}

// goldens are the policies of testdata/*.sb.
func goldens() map[string]*ir.Policy {
	fit := func(name string, p *ir.Policy) *ir.Policy {
		p.Name = name
		p.Unix.Origin = "builtin/unix"
		return p
	}
	all := map[string]*ir.Policy{
		"nothing":    statements(""),
		"read":       statements("read=[/usr] execute=[/usr/bin]"),
		"carve-out":  statements("write=[W] read=[W/.git/hooks]"),
		"hole":       statements("write=[W] deny=[W/secret] read=[W/secret/pub]"),
		"home":       statements("read=[/, H] deny=[H/.ssh, /etc] write=[W]"),
		"links":      statements("read=[/etc/hosts, /private/etc/hosts, /var/db/timezone] write=[/tmp/x]"),
		"execute":    statements("read=[/opt, H/tools] deny=[/opt/x] execute=[/opt, H, W/bin] write=[W]"),
		"unix":       statements("read=[/private/var/run, W] deny=[/private/var/run/secret]"),
		"odd-names":  statements(""),
		"system":     statements("read=[/usr/lib]"),
		"tmp-config": statements("write=[W]"),
	}
	all["unix"].Unix.Visible = true
	for _, path := range odd {
		all["odd-names"].Files = append(all["odd-names"].Files, ir.FileRule{Path: ir.MustPath(path), Level: ir.Deny, Origin: "p/filesystem.deny[0]"})
	}
	for i, path := range []string{"/", "/usr/lib"} {
		all["execute"].Files = append(all["execute"].Files, ir.FileRule{Path: ir.MustPath(path), Level: ir.Read, Only: i == 0, Origin: "p/filesystem.read[9]"})
	}
	all["system"].System = ir.System{
		Services: []ir.Name{{Name: "com.apple.system.opendirectoryd.libinfo", Origin: "std/base/system.services[0]"}},
		Sysctls:  []ir.Name{{Name: "hw.ncpu", Origin: "std/base/system.sysctls[0]"}, {Name: "kern.osrelease", Origin: "std/base/system.sysctls[1]"}},
		IPC:      []ir.Name{{Name: "apple.shm.notification_center", Origin: "p/system.ipc[0]"}},
		IOKit:    []ir.Name{{Name: "RootDomainUserClient", Origin: "p/system.iokit[0]"}},
	}
	all["tmp-config"].Files = append(all["tmp-config"].Files, backed()...)
	for name, p := range all {
		sortRules(p)
		fit(name, p)
	}
	return all
}

// backed are rules that no host file stands behind on Linux.
func backed() []ir.FileRule {
	rule := func(path string, level ir.Level, only bool, b ir.Backing, size int64, origin ir.Origin) ir.FileRule {
		return ir.FileRule{Path: ir.MustPath(path), Level: level, Only: only, Backing: b, Size: size, Origin: origin}
	}
	config := rule("${config}", ir.Read, false, ir.HostFile, 0, "builtin/config")
	config.Optional = true
	return []ir.FileRule{
		config,
		rule("${tmp}", ir.Write, false, ir.TmpFS, 1<<28, "p/filesystem.write[1]"),
		rule("/proc", ir.Read, false, ir.ProcFS, 0, "builtin/proc"),
		rule("/dev", ir.Read, true, ir.DevFS, 0, "std/base/system.devices"),
		rule("/dev/fd", ir.Read, false, ir.DevFS, 0, "std/base/system.devices"),
		rule("/dev/core", ir.Read, false, ir.DevFS, 0, "std/base/system.devices"),
		rule("/dev/full", ir.Write, true, ir.DevFS, 0, "std/base/system.devices"),
		rule("/dev/null", ir.Write, true, ir.DevFS, 0, "std/base/system.devices"),
		rule("/dev/pts", ir.Write, false, ir.DevFS, 0, "std/base/system.devices"),
		rule("/dev/shm", ir.Write, false, ir.TmpFS, 1<<20, "std/base/system.shm"),
	}
}

func TestGolden(t *testing.T) {
	update := os.Getenv("OBSPC_UPDATE") == "1"
	all := goldens()
	for name, p := range all {
		got, err := Compile(p)
		if err != nil {
			t.Errorf("Compile(%s) = %v", name, err)
			continue
		}
		file := filepath.Join("testdata", name+".sb")
		want, _ := os.ReadFile(file)
		if bytes.Equal(got, want) {
			continue
		}
		if update {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
			t.Errorf("%s was rewritten", file)
			continue
		}
		t.Errorf("Compile(%s) differs from %s:\n%s", name, file, firstDifference(got, want))
	}
	files, err := filepath.Glob("testdata/*.sb")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		if all[name[:len(name)-len(".sb")]] == nil {
			t.Errorf("nothing produces %s", file)
		}
	}
}

func firstDifference(got, want []byte) string {
	a, b := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	for i := range a {
		if i >= len(b) {
			return "got more: " + string(a[i])
		}
		if !bytes.Equal(a[i], b[i]) {
			return "got  " + string(a[i]) + "\nwant " + string(b[i])
		}
	}
	return "got less"
}

func TestSameBytes(t *testing.T) {
	for name, p := range goldens() {
		first, err := Compile(p)
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if again, _ := Compile(p); !bytes.Equal(first, again) {
				t.Fatalf("Compile(%s) gave two profiles", name)
			}
		}
	}
}
