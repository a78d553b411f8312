package targets

import (
	"errors"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
)

// TestProfileFaults: what a profile with a fault is refused with tells the request,
// both answers, the line and the statement. Another text of the same profile passes.
func TestProfileFaults(t *testing.T) {
	p := policy(t, "read /usr", "write ${workspace}", "deny ${workspace}/key", "execute /usr/bin")
	p.Targets = []ir.Target{ir.Seatbelt}
	for i := range p.Files {
		p.Files[i].Origin = ir.Origin("p/filesystem." + p.Files[i].Level.String() + "[0]")
	}
	p.Execute[0].Origin = "p/filesystem.execute[0]"
	files := compileFiles(t, p)
	profile := string(files[seatbeltFile])
	spaced := strings.ReplaceAll(strings.ReplaceAll(profile, " (literal", "\n  (literal"), "; p/", ";; by p/")
	for _, tt := range []struct{ name, profile, want string }{
		{"the same", profile, ""},
		{"other spaces and comments", spaced, ""},
		{"a rule twice", strings.Replace(profile, "(allow process-fork)\n", "(allow process-fork)\n(allow process-fork)\n", 1), ""},
		{"a foreign grant", profile + `(allow file-read-data (literal "/etc") (subpath "/etc"))` + "\n",
			`seatbelt.sb: read /etc: the policy denies it, as no rule speaks of it; the artifact allows it at seatbelt.sb:126: (allow file-read-data`},
		{"a foreign grant in its place", strings.Replace(profile, "; files", `(allow file-write-data (literal "/srv") (subpath "/srv")) ; files`, 1),
			`seatbelt.sb: write /srv: the policy denies it, as no rule speaks of it; the artifact allows it at seatbelt.sb:`},
		{"no hole", strings.Replace(profile, "(deny file-read-data", "(allow file-read-data", 1), "seatbelt.sb: it is no profile that obspc writes: a filter of all spellings in a rule that allows (seatbelt.sb:"},
		{"a hole less", without(profile, `file-clone (literal (string-append (param "WORKSPACE") "/key"))`),
			"seatbelt.sb: read /_workspace/_workspace/key: the policy denies it by deny ${workspace}/key (p/filesystem.deny[0]); the artifact allows it at seatbelt.sb:"},
		{"a read less", without(profile, `file-map-executable (literal "/usr")`),
			"seatbelt.sb: read /usr: the policy allows it by read /usr (p/filesystem.read[0]); the artifact denies it (file-read-data of macOS 10.15, slots apart)"},
		{"a mount", profile + "(allow file-mount)\n", "seatbelt.sb: file-mount of macOS 10.15: everything is allowed that no rule speaks of (seatbelt.sb:"},
		{"a foreign service", profile + `(allow mach-lookup (global-name "com.example.x"))` + "\n",
			`seatbelt.sb: mach-lookup of macOS 10.15: the policy has no statement that allows "com.example.x" (seatbelt.sb:`},
		{"an import", profile + `(import "system.sb")` + "\n", "seatbelt.sb: it is no profile that obspc writes: no decision, where one must be (seatbelt.sb:"},
		{"nothing", "", "seatbelt.sb: it is no profile that obspc writes: no (version 1), where it must be (seatbelt.sb:1:1)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			changed := map[string][]byte{irFile: files[irFile], runFile: files[runFile], seatbeltFile: []byte(tt.profile)}
			err := Validate(p, changed)
			var fault *ValidationError
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("Validate = %v", err)
			case tt.want == "":
			case !errors.As(err, &fault) || !strings.HasPrefix(err.Error(), tt.want):
				t.Errorf("Validate = %v, want %s", err, tt.want)
			}
		})
	}
}

// without is the profile less the lines that hold the text.
func without(profile, text string) string {
	var out strings.Builder
	for line := range strings.Lines(profile) {
		if !strings.Contains(line, text) {
			out.WriteString(line)
		}
	}
	return out.String()
}
