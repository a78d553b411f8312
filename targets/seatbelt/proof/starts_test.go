package proof

import (
	"strings"
	"testing"
)

// TestStarts: what the profile lets start is held to what can be read, and to what
// execute rules name, also where only another binding would bring the two together.
func TestStarts(t *testing.T) {
	p := stated(t, "read /a", "write /b", "deny ${home}/key", "write ${workspace}", "execute ${home}/bin", "execute ${workspace}/bin")
	profile := compiled(t, p)
	if err := Check(p, []byte(profile)); err != nil {
		t.Fatal(err)
	}
	line := func(text string) string {
		for l := range strings.Lines(profile) {
			if strings.Contains(l, "process-exec") && strings.Contains(l, text) {
				return l
			}
		}
		t.Fatalf("no line about starting holds %q in\n%s", text, profile)
		return ""
	}
	a, key := line(`"/a"`), line(`"/key"`)
	_, programs, _ := strings.Cut(profile, "(define obspc-execute ")
	programs, _, _ = strings.Cut(programs, "\n")
	for _, tt := range []struct{ name, from, to, want string }{
		{"what cannot be read", a, strings.ReplaceAll(a, `"/a"`, `"/c"`) + a, "read /c: the policy and the profile differ (process-exec* of macOS 10.15, slots apart, if an execute rule names it)"},
		{"what can be read is left out", a, "", "read /a/_: the policy and the profile differ (process-exec* of macOS 10.15, slots apart, if an execute rule names it)"},
		{"a hole is left out", key, "", "read /a/_home/_home/key: the policy and the profile differ (process-exec* of macOS 10.15, home inside /a, if an execute rule names it)"},
		{"another program", programs, strings.ReplaceAll(programs, `"/bin"`, `"/sbin"`), "execute /_home/_home/bin: the policy and the profile differ (process-exec* of macOS 10.15, slots apart, by what obspc-execute names)"},
		{"any program", " obspc-execute)", " obspc-execute) (literal \"/a\") (subpath \"/a\")", "something may start whether an execute rule names it or not"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			changed := strings.ReplaceAll(profile, tt.from, tt.to)
			if changed == profile {
				t.Fatal("nothing was changed")
			}
			if err := Check(p, []byte(changed)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Check = %v, want %s", err, tt.want)
			}
		})
	}
}
