package compiler

import (
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/testdata/cases"
)

func TestSystemStatements(t *testing.T) {
	const devices = "system {\ndevices = \"minimal\"\nshm = \"1MiB\"\n}\n"
	p := compileOne(t, cases.Policy(devices))
	count := 0
	for _, r := range p.Files {
		if r.Backing == ir.DevFS && r.Origin == "p/system.devices" {
			count++
		}
	}
	if count != len(minimalDevices) {
		t.Errorf("devices = minimal states %d rules, want %d", count, len(minimalDevices))
	}
	for _, tt := range []struct {
		list, path string
		want       string
	}{
		{`write = ["/dev/null"]`, "/dev/null", "write only(/dev/null) dev"}, // the sandbox's own, as before
		{`read = ["/dev/null"]`, "/dev/null", "read /dev/null "},
		{`deny = ["/dev/tty"]`, "/dev/tty", "deny /dev/tty "},
		{`read = ["/dev"]`, "/dev", "read /dev "}, // all of the host's, not the node alone
		{`read = [only("/dev")]`, "/dev", "read only(/dev) dev"},
		{`write = ["/dev/shm"]`, "/dev/shm", "write /dev/shm tmpfs"},
		{`write = ["/dev/kvm"]`, "/dev/kvm", "write /dev/kvm "},
	} {
		p := compileOne(t, cases.Policy(devices+"filesystem {\n"+tt.list+"\n}"))
		got := ""
		for _, r := range p.Files {
			if r.Path.String() == tt.path {
				got = r.String() + " " + string(r.Backing)
			}
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.list, got, tt.want)
		}
	}
	if p := compileOne(t, cases.Policy("system {\ndevices = \"none\"\n}")); len(p.Files) != 1 {
		t.Errorf("devices = none states %v", p.Files)
	}
}

func TestBuiltins(t *testing.T) {
	for _, tt := range []struct {
		text   string
		config bool
	}{
		{cases.Policy(""), false},
		{filesystem(`read = ["/x"]`), false},
		{filesystem(`write = [tmp]`), false}, // nothing of the host
		{cases.Policy("system {\ndevices = \"minimal\"\n}"), false},
		{filesystem(`write = [workspace]`), true},
	} {
		p := compileOne(t, tt.text)
		proc, config := false, false
		for _, r := range p.Files {
			proc = proc || r.Origin == "builtin/proc" && r.Backing == ir.ProcFS && r.Level == ir.Read
			config = config || r.Origin == "builtin/config" && r.Optional && r.Level == ir.Read
		}
		if !proc || config != tt.config || p.Unix != (ir.UnixRule{Origin: "builtin/unix"}) {
			t.Errorf("%s: proc %v, config %v, %v; want true, %v, unix none", tt.text, proc, config, p.Unix, tt.config)
		}
	}
}
