package compiler

import (
	"testing"

	"github.com/obspc/obspc/testdata/cases"
)

// TestCommandsThatMayStart: a command is refused only when it can start under no
// binding.
func TestCommandsThatMayStart(t *testing.T) {
	for _, tt := range []struct {
		name, filesystem, executable, want string
	}{
		{"covered", `read = ["/opt"]` + "\n" + `execute = ["/opt/x"]`, "/opt/x/y", ""},
		{"read but not executable", `read = ["/opt"]`, "/opt/x/y", "command-not-executable"},
		{"executable but not read", `execute = ["/opt"]`, "/opt/x/y", "command-not-executable"},
		{"in a slot", "write = [workspace]\nexecute = [workspace]", "${workspace}/x", ""},
		{"in a slot, not executable", "write = [workspace]", "${workspace}/x", "command-not-executable"},
		{"where the workspace may lie", "write = [workspace]\nexecute = [workspace]", "/data/x", ""},
		{"where it may not lie", "write = [workspace]\nexecute = [workspace]", "/usr/bin/x", "command-not-executable"},
		{"where it may lie, but nothing there starts", "write = [workspace]", "/data/x", "command-not-executable"},
		{"only the directory", `read = ["/opt"]` + "\n" + `execute = [only("/opt")]`, "/opt/x", "command-not-executable"},
		{"the file itself", `read = ["/opt"]` + "\n" + `execute = [only("/opt/x")]`, "/opt/x", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := cases.Policy("filesystem {\n" + tt.filesystem + "\n}\n" + "command \"c\" {\nexecutable = \"" + tt.executable + "\"\n}\n")
			if _, diags := compile(t, text); cases.ErrorCodes(diags) != tt.want {
				t.Errorf("%s: found %v, want %q", text, diags, tt.want)
			}
		})
	}
}

func TestExecuteUnreadable(t *testing.T) {
	for _, tt := range []struct {
		lists string
		warns bool
	}{
		{`execute = ["/usr"]` + "\n" + `read = ["/usr/bin"]`, false}, // something below can
		{`execute = [only("/usr")]` + "\n" + `read = ["/usr/bin"]`, true},
		{`execute = ["/usr/bin"]` + "\n" + `read = ["/usr"]`, false},
		{`execute = ["/usr/bin"]` + "\n" + `read = ["/usr"]` + "\n" + `deny = ["/usr/bin"]`, true},
		{`execute = ["/usr/bin"]` + "\n" + `read = ["/usr/bin/x"]` + "\n" + `deny = ["/usr/bin"]`, false},
		{`execute = ["/opt/x"]` + "\n" + `write = [workspace]`, true}, // no workspace may lie above what a rule names
		{`execute = [workspace]`, true},
		{`execute = [optional("/opt/x")]` + "\n" + `read = [optional("/opt")]`, false},
	} {
		_, diags := compile(t, filesystem(tt.lists))
		if _, ok := find(diags, "execute-unreadable"); ok != tt.warns || diags.HasErrors() {
			t.Errorf("%s: found %v, want a warning: %v", tt.lists, diags, tt.warns)
		}
	}
}
