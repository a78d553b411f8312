package violations_test

import (
	"slices"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/seatbelt/violations"
)

// TestParse: the forms in which the log shows a refusal, and what is none.
func TestParse(t *testing.T) {
	for _, tt := range []struct {
		text    string
		want    violations.Violation
		request string // "": no request word is about it
	}{
		{"Sandbox: cat(1234) deny(1) file-read-data /Users/u/.ssh/id_rsa", violations.Violation{Process: "cat", PID: 1234, Operation: "file-read-data", Target: "/Users/u/.ssh/id_rsa", Count: 1}, "read /Users/u/.ssh/id_rsa"},
		{"2026-01-02 10:11:12.345678+0100 0x1a2b     Error       0x0                  0      0    kernel: (Sandbox) Sandbox: node(77) deny(1) file-read-metadata /private/var/db/x y", violations.Violation{Process: "node", PID: 77, Operation: "file-read-metadata", Target: "/private/var/db/x y", Count: 1}, "stat /var/db/x y"},
		{"2026-01-02 10:11:12.345 E  kernel[0:1a2b] (Sandbox) Sandbox: git(9) deny(1) file-write-create /private/tmp/w/new", violations.Violation{Process: "git", PID: 9, Operation: "file-write-create", Target: "/private/tmp/w/new", Count: 1}, "create /tmp/w/new"},
		{`{"eventMessage":"Sandbox: my tool(9) deny(1) file-write-unlink \/private\/etc\/x\nTAG","subsystem":"com.apple.sandbox.reporting","category":"violation"}`, violations.Violation{Process: "my tool", PID: 9, Operation: "file-write-unlink", Target: "/private/etc/x", Count: 1}, "remove /etc/x"},
		{"Sandbox: nc(77) deny(1) network-outbound 192.0.2.7:443", violations.Violation{Process: "nc", PID: 77, Operation: "network-outbound", Target: "192.0.2.7:443", Count: 1}, "connect 192.0.2.7:443"},
		{"Sandbox: nc(77) deny(1) network-outbound [2001:db8::7]:443", violations.Violation{Process: "nc", PID: 77, Operation: "network-outbound", Target: "[2001:db8::7]:443", Count: 1}, "connect [2001:db8::7]:443"},
		{"Sandbox: nc(77) deny(1) network-outbound *:443", violations.Violation{Process: "nc", PID: 77, Operation: "network-outbound", Target: "*:443", Count: 1}, ""},
		{"Sandbox: curl(7) deny(1) network-outbound /private/var/run/mDNSResponder", violations.Violation{Process: "curl", PID: 7, Operation: "network-outbound", Target: "/private/var/run/mDNSResponder", Count: 1}, "connect-unix /var/run/mDNSResponder"},
		{"Sandbox: zsh(7) deny(1) process-exec /opt/bin/x", violations.Violation{Process: "zsh", PID: 7, Operation: "process-exec", Target: "/opt/bin/x", Count: 1}, "execute /opt/bin/x"},
		{"Sandbox: zsh(7) deny(1) process-exec* /opt/bin/x", violations.Violation{Process: "zsh", PID: 7, Operation: "process-exec*", Target: "/opt/bin/x", Count: 1}, "execute /opt/bin/x"},
		{"Sandbox: zsh(7) deny(1) file-read* /opt/x", violations.Violation{Process: "zsh", PID: 7, Operation: "file-read*", Target: "/opt/x", Count: 1}, "read /opt/x"},
		{"Sandbox: zsh(7) deny(1) file-write* /opt/x", violations.Violation{Process: "zsh", PID: 7, Operation: "file-write*", Target: "/opt/x", Count: 1}, "write /opt/x"},
		{"Sandbox: zsh(7) deny(1) file* /opt/x", violations.Violation{Process: "zsh", PID: 7, Operation: "file*", Target: "/opt/x", Count: 1}, ""},
		{"Sandbox: tool(14485) deny(1) mach-lookup com.apple.logd", violations.Violation{Process: "tool", PID: 14485, Operation: "mach-lookup", Target: "com.apple.logd", Count: 1}, ""},
		{"Sandbox: sh(9) deny(1) process-fork", violations.Violation{Process: "sh", PID: 9, Operation: "process-fork", Count: 1}, ""},
		{"Sandbox: mds(169) System Policy: deny(1) file-read-metadata /path", violations.Violation{Process: "mds", PID: 169, Operation: "file-read-metadata", Target: "/path", Count: 1, System: true}, "stat /path"},
		{"Sandbox: 4 duplicate reports for mds deny(1) file-read-metadata /path", violations.Violation{Process: "mds", Operation: "file-read-metadata", Target: "/path", Count: 4}, "stat /path"},
		{"Sandbox: cat(1) deny file-read-data /old", violations.Violation{Process: "cat", PID: 1, Operation: "file-read-data", Target: "/old", Count: 1}, "read /old"},
		{"Sandbox: cat(1) deny(1) file-read-data relative", violations.Violation{Process: "cat", PID: 1, Operation: "file-read-data", Target: "relative", Count: 1}, ""},
		{"Sandbox: cat(1) deny(1) file-read-data /a/../b", violations.Violation{Process: "cat", PID: 1, Operation: "file-read-data", Target: "/a/../b", Count: 1}, ""},
	} {
		list, unknown := violations.Parse([]byte("Timestamp  Thread\n" + tt.text + "\nTAG_SBX\n"))
		if unknown != 0 || !slices.Equal(list, []violations.Violation{tt.want}) {
			t.Errorf("Parse(%q) = %+v, %d unknown, want %+v", tt.text, list, unknown, tt.want)
			continue
		}
		r, ok := list[0].Request()
		if got := r.String(); ok != (tt.request != "") || ok && got != tt.request {
			t.Errorf("%q is %q, %v, want %q", tt.text, got, ok, tt.request)
		}
	}
}

// TestTags: whose profile refused, and which statement of it, in every style of log.
func TestTags(t *testing.T) {
	for text, want := range map[string][2]string{
		"Sandbox: cat(1) deny(1) file-read-data /x\nobspc p p/filesystem.deny[0]":                     {"p", "p/filesystem.deny[0]"},
		"Sandbox: cat(1) deny(1) file-read-data /x\nobspc pay-2":                                      {"pay-2", ""},
		"Sandbox: 2 duplicate reports for cat deny(1) process-fork\nobspc p":                          {"p", ""},
		`{"eventMessage":"Sandbox: cat(1) deny(1) file-read-data \/x\nobspc p p/filesystem.deny[0]"}`: {"p", "p/filesystem.deny[0]"},
		"Sandbox: cat(1) deny(1) file-read-data /x\nTAG_SBX":                                          {},
		"Sandbox: cat(1) deny(1) file-read-data /x\nobspc P":                                          {},
		"Sandbox: cat(1) deny(1) file-read-data /x\nobspc p q r":                                      {},
		"Sandbox: cat(1) deny(1) file-read-data /x\n\nobspc p":                                        {},
		"obspc p\nSandbox: cat(1) deny(1) file-read-data /x":                                          {},
	} {
		list, unknown := violations.Parse([]byte(text))
		if unknown != 0 || len(list) != 1 || list[0].Policy != want[0] || list[0].Statement != want[1] {
			t.Errorf("Parse(%q) = %+v, %d unknown, want the tag %q", text, list, unknown, want)
		}
	}
}

// TestUnknown: what speaks of a refusal in another form is counted, what does not is
// passed over.
func TestUnknown(t *testing.T) {
	for text, want := range map[string]int{
		"":                                       0,
		"kernel: something else":                 0,
		"Sandbox: cat(1) allow file-read-data /": 0,
		"Sandbox: cat deny(1) file-read-data /x": 1,
		"Sandbox: cat(x) deny(1) file-read-data": 1,
		"Sandbox: 0 duplicate reports for x deny(1) process-fork": 1,
		"{\"eventMessage\": \"Sandbox: ? deny\"}":                 1,
		"{ Sandbox: cat(1) deny":                                  1,
	} {
		if list, unknown := violations.Parse([]byte(text)); len(list) != 0 || unknown != want {
			t.Errorf("Parse(%q) = %+v, %d unknown, want %d", text, list, unknown, want)
		}
	}
	long := make([]byte, 1<<20)
	if _, unknown := violations.Parse(long); unknown != 1 {
		t.Errorf("an endless line is %d unknown, want 1", unknown)
	}
}

func TestPlain(t *testing.T) {
	for path, want := range map[string]string{
		"/private/tmp": "/tmp", "/private/var/x": "/var/x", "/private/etc": "/etc", "/private/variable": "/private/variable", "/private": "/private",
		"/var/x": "/var/x", "/usr/private/tmp": "/usr/private/tmp",
	} {
		if got := violations.Plain(ir.MustPath(path)); got != ir.MustPath(want) {
			t.Errorf("Plain(%s) = %s, want %s", path, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("Sandbox: cat(1234) deny(1) file-read-data /x\n{\"eventMessage\":\"Sandbox: a(1) deny(1) b c\"}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, _ := violations.Parse(text)
		for _, v := range list {
			if v.Count < 1 || v.Operation == "" {
				t.Errorf("%+v", v)
			}
			v.Request()
		}
	})
}
