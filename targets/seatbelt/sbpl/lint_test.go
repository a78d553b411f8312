package sbpl_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/targets/seatbelt/operations"
	"github.com/obspc/obspc/targets/seatbelt/sbpl"
)

// sound is a frame that no check speaks of: version 3 opens nothing by itself, but
// for what no version closes.
const sound = "(version 3)\n(deny default)\n(deny default-message-filter mach-derive-port mach-kernel-endpoint system-privilege)\n"

// found is what Lint says, as line:column-column code.
func found(src string, o sbpl.Options) (out []string) {
	for _, d := range sbpl.Lint("p.sb", []byte(src), o) {
		place := fmt.Sprintf("%d:%d-%d", d.At.Start.Line, d.At.Start.Column, d.At.End.Column)
		out = append(out, place+" "+d.Code)
	}
	return out
}

func TestLint(t *testing.T) {
	for _, tt := range []struct {
		name, rules string
		want        []string // lines count from the first of rules
	}{
		{"nothing", `(allow file-read* (subpath "/usr/lib"))`, nil},
		{"unresolved /tmp", `(allow file-read* (subpath "/tmp/x"))`, []string{"1:28-36 link-path"}},
		{"/home", `(allow file-read* (literal "/home/u"))`, []string{"1:28-37 link-path"}},
		{"both spellings", `(allow file-read* (subpath "/tmp") (subpath "/private/tmp"))`, nil},
		{"the link itself", `(allow file-read-metadata (literal "/etc"))`, nil},
		{"prefix of a link", `(allow file-read* (prefix "/var/db/"))`, []string{"1:27-37 link-path"}},
		{"pattern through a link", `(allow file-read* (regex #"^/tmp/"))`, []string{"1:26-35 link-path"}},
		{"pattern of another path", `(allow file-read* (regex #"^/tmpx/"))`, nil},
		{"relative", `(allow file-read* (literal "usr"))`, []string{"1:28-33 relative-path"}},
		{"dots", `(allow file-read* (literal "/a/../b"))`, []string{"1:28-37 dot-path"}},
		{"double slash", `(allow file-read* (literal "/a//b"))`, []string{"1:28-35 double-slash"}},
		{"trailing slash", `(allow file-read* (subpath "/a/"))`, []string{"1:28-33 trailing-slash"}},
		{"prefix with a slash", `(allow file-read* (prefix "/a/"))`, nil},
		{"the root", `(allow file-read* (subpath "/"))`, nil},
		{"unanchored", `(allow file-read* (regex #"/a$"))`, []string{"1:26-32 unanchored-regex"}},
		{"one branch unanchored", `(allow file-read* (regex #"^/a$|/b"))`, []string{"1:26-36 unanchored-regex"}},
		{"branches in a group", `(allow file-read* (regex #"(^/a|^/b)$"))`, nil},
		{"unanchored name", `(allow mach-lookup (global-name-regex "_x$"))`, []string{"1:39-44 unanchored-regex"}},
		{"case of a refusal", `(deny file-read* (regex #"^/a/\.ssh/"))`, []string{"1:25-38 regex-case"}},
		{"classes of a refusal", `(deny file-read* (regex #"^/[Aa]/"))`, nil},
		{"case under require-not", `(allow file-read* (require-not (regex #"^/a/")))`, []string{"1:39-46 regex-case"}},
		{"local out", `(allow network-outbound (local ip "localhost:*"))`, []string{"1:26-31 local-on-outbound"}},
		{"local in", `(allow network-bind (local ip "localhost:*"))`, nil},
		{"local refused", `(deny network-outbound (local ip "localhost:*"))`, nil},
		{"no sandbox", "(allow file-read* (literal \"/\"))\n(allow process-exec (literal \"/bin/ps\") (with no-sandbox))", []string{"2:2-7 no-sandbox"}},
		{"modifier elsewhere", `(allow file-read* (with grant))`, []string{"1:2-7 modifier-without-effect"}},
		{"filter elsewhere", `(allow mach-lookup (literal "/a"))`, []string{"1:21-28 filter-without-effect"}},
		{"filter of a member", `(allow process-info* (target self))`, nil},
		{"unfiltered later", "(allow file-write* (subpath \"/w\"))\n(deny file-write*)", []string{"2:2-6 unfiltered-rule"}},
		{"unfiltered first", "(deny file-write*)\n(allow file-write* (subpath \"/w\"))", nil},
		{"deny on a family", "(allow file-read-data (subpath \"/\"))\n(deny file-read* (literal \"/x\"))", []string{"2:2-6 parent-deny"}},
		{"deny on both", "(allow file-read-data (subpath \"/\"))\n(deny file-read* file-read-data (literal \"/x\"))", nil},
		{"deny on a family, elsewhere", "(allow file-read-data (subpath \"/y\"))\n(deny file-read* (literal \"/x\"))", nil},
		{"deny of a name", "(allow mach-lookup)\n(deny mach* (global-name \"x\"))", []string{"2:2-6 parent-deny"}},
		{"overridden", "(deny file-read* (subpath \"/p/s\"))\n(allow file-read* (subpath \"/p\"))", []string{"1:2-6 overridden-deny"}},
		{"carved out", "(allow file-read* (subpath \"/p\"))\n(deny file-read* (subpath \"/p/s\"))\n(allow file-read* (subpath \"/p/s/pub\"))", nil},
		{"no root", "(allow process-exec (subpath \"/usr\"))", []string{"1:2-7 root-unreadable"}},
		{"root by data", "(allow process-exec)\n(allow file-read-data (literal \"/\"))", nil},
		{"dropped escape", `(allow file-read* (regex "^/a\.b"))`, []string{"1:30-32 dropped-escape"}},
		{"kept escape", `(allow file-read* (regex "^/a\\.b"))`, nil},
		{"after NUL", "(allow file-read* (literal \"/a\"))\x00more", []string{"1:34-39 text-after-nul"}},
		{"unbound", "(allow file-read (literal \"/a\"))\n(alow file-read*)", []string{"1:8-17 unbound-name", "2:2-6 unbound-name"}},
		{"wrong modifier", "(allow file-read* (with no-report))", []string{"1:2-7 wrong-modifier"}},
		{"host", `(allow network-outbound (remote tcp "example.com:80"))`, []string{"1:37-53 bad-address"}},
		{"regex", `(allow file-read* (regex #"a^b"))`, []string{"1:26-32 bad-regex"}},
		{"missing parameter", `(allow file-read* (subpath (param "X")))`, []string{"1:28-39 wrong-argument"}},
		{"import", `(import "nothing.sb")`, []string{"1:9-21 no-import"}},
		{"unclosed", `(allow file-read*`, []string{"1:1-1 syntax"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var want []string
			for _, w := range tt.want {
				line, rest, _ := strings.Cut(w, ":")
				want = append(want, fmt.Sprintf("%d:%s", int(line[0]-'0')+strings.Count(sound, "\n"), rest))
			}
			if got := found(sound+tt.rules, sbpl.Options{}); !slices.Equal(got, want) {
				t.Errorf("Lint(%s)\n got %q\nwant %q", tt.rules, got, want)
			}
		})
	}
}

// TestLintFrame is about whole profiles.
func TestLintFrame(t *testing.T) {
	for _, tt := range []struct {
		name, src string
		options   sbpl.Options
		want      []string
	}{
		{"no version", `(allow default)`, sbpl.Options{}, []string{"0:0-0 no-version", "1:2-7 unbound-name", "0:0-0 default-missing"}},
		{"empty", "", sbpl.Options{}, []string{"0:0-0 default-missing", "0:0-0 no-version"}},
		{"fragment", `(deny default)`, sbpl.Options{AssumeVersion1: true, Release: operations.Mavericks}, []string{"0:0-0 version-missing", "1:2-6 open-operations"}},
		{"no default", "(version 1)", sbpl.Options{}, []string{"0:0-0 default-missing"}},
		{"open by version 1", "(version 1)\n(deny default)", sbpl.Options{}, []string{"2:2-6 open-operations"}},
		{"open by default", "(version 1)\n(allow default)", sbpl.Options{}, nil},
		{"unknown import", "(version 1)\n(allow default)\n(import \"system.sb\")", sbpl.Options{UnknownImports: true}, []string{"3:2-8 unknown-import"}},
		{"fault in an import", "(version 1)\n(allow default)\n(import \"wrong.sb\")", sbpl.Options{Imports: library}, []string{"2:3-3 unbound-name"}},
		{"endless import", "(version 1)\n(allow default)\n(import \"endless.sb\")", sbpl.Options{Imports: library}, []string{"1:9-9 too-large"}},
		{"category in 10.9", "(version 1)\n(allow default)\n(allow mach-lookup (literal \"/a\"))", sbpl.Options{Release: operations.Mavericks}, []string{"3:21-28 filter-category"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := found(tt.src, tt.options)
			slices.Sort(got)
			slices.Sort(tt.want)
			if !slices.Equal(got, tt.want) {
				t.Errorf("Lint(%q)\n got %q\nwant %q", tt.src, got, tt.want)
			}
		})
	}
}

// TestLintWords holds every finding to the form of all findings.
func TestLintWords(t *testing.T) {
	src := "(version 1)\n(deny default)\n(allow process-exec (with no-sandbox))\n(allow file-read-data (regex \"a\\.\"))\n(deny file-read* (literal \"/tmp/x\"))\n(alow)\n(deny file-read-data)"
	list := sbpl.Lint("p.sb", []byte(src), sbpl.Options{})
	if len(list) < 7 {
		t.Errorf("%d findings, want at least 7", len(list))
	}
	for _, d := range list {
		if d.Message == "" || d.Help == "" || strings.HasSuffix(d.Message, ".") || d.Severity == diag.Error && d.Code != "unbound-name" {
			t.Errorf("%s (help: %s)", d, d.Help)
		}
	}
}
