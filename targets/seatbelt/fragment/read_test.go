package fragment_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/obspc/obspc/targets/seatbelt/fragment"
)

// head begins every profile; caseless is the definition that others use.
const (
	head     = "(version 1)\n(deny default)\n"
	caseless = `(define (obspc-caseless text) (let next ((i 0) (out "")) (if (>= i (string-length text)) out (let* ((one (substring text i (+ i 1))) ` +
		`(code (char->integer (string-ref text i))) (letter (cond ((and (>= code 65) (>= 90 code)) (- code 65)) ((and (>= code 97) (>= 122 code)) (- code 97)) ` +
		`(else 26)))) (next (+ i 1) (string-append out (if (= letter 26) (regex-quote one) (string-append "[" (substring "ABCDEFGHIJKLMNOPQRSTUVWXYZ" letter (+ letter 1)) ` +
		`(substring "abcdefghijklmnopqrstuvwxyz" letter (+ letter 1)) "]"))))))))` + "\n"
	ancestors = `(define (obspc-caseless-ancestors text) (let next ((i 1) (out (literal "/"))) (if (>= i (string-length text)) out (next (+ i 1) ` +
		`(if (char=? (string-ref text i) #\/) (require-any out (regex (string-append "^" (obspc-caseless (substring text 0 i)) "$"))) out)))))` + "\n"
	proxy     = `(allow network-outbound (remote tcp4 (string-append "localhost:" (param "PROXY"))))`
	stream    = `(allow system-socket (require-all (socket-domain AF_INET) (socket-type SOCK_STREAM)))`
	workspace = `(define obspc-workspace (obspc-caseless (param "WORKSPACE")))` + "\n"
)

// TestRefused: what is outside the fragment is refused at its place, and a twin with
// the fault mended is read.
func TestRefused(t *testing.T) {
	for _, tt := range []struct {
		name, profile, mended string
		place, message        string
	}{
		{"nothing", "", head, "1:1", "no (version 1)"},
		{"another version", "(version 3)\n(deny default)", head, "1:1", "no (version 1)"},
		{"no default", "(version 1)\n", head, "2:1", "no (deny default)"},
		{"default allowed", "(version 1)\n(allow default)", head, "2:1", "no (deny default)"},
		{"default again", head + "(deny default)", head, "3:7", "default, which is no operation"},
		{"a version again", head + "(version 1)", head, "3:1", "no decision"},
		{"not closed", head + "(allow process-fork", head + "(allow process-fork)", "3:1", "not closed"},
		{"closed twice", head + "(allow process-fork))", head + "(allow process-fork)", "3:21", "no symbol"},
		{"not UTF-8", head + "; \xff", head + "; é", "1:1", "not valid UTF-8"},
		{"a carriage return", head + "; a\rb", head + "; a b", "3:4", "control character"},
		{"a NUL", head + "\x00", head, "3:1", "control character"},
		{"a string over two lines", head + "(allow file-read-data (literal \"/a\nb\"))", head + `(allow file-read-data (literal "/ab"))`, "3:35", "over two lines"},
		{"an escape", head + `(allow file-read-data (literal "/a\n"))`, head + `(allow file-read-data (literal "/a\\n"))`, "3:35", "an escape"},
		{"a raw string", head + `(allow file-read-data (literal #"/a"))`, head + `(allow file-read-data (literal "/a"))`, "3:32", "no symbol"},
		{"a long string", head + `(allow file-read-data (literal "/` + strings.Repeat("a", 1000) + `"))`, head + `(allow file-read-data (literal (string-append "/` + strings.Repeat("a", 200) + `" "/b")))`, "3:32", "not closed within 1000"},
		{"nested", head + strings.Repeat("(", 40), head, "3:33", "nested more than 32"},
		{"an import", head + `(import "system.sb")`, head, "3:1", "no decision"},
		{"an unknown operation", head + "(allow file-unheard)", head + "(allow process-fork)", "3:8", "no operation"},
		{"an operation of 10.9", head + "(when (defined? 'qtn-sandbox) (deny qtn-sandbox))", head + "(when (defined? 'file-lock) (deny file-lock))", "3:37", "no operation"},
		{"no guard", head + "(deny file-lock)", head + "(when (defined? 'file-lock) (deny file-lock))", "3:7", "some release lacks"},
		{"a guard for nothing", head + "(when (defined? 'file-link) (deny file-link))", head + "(deny file-link)", "3:35", "behind a condition"},
		{"a quote in a symbol", head + "(when (defined?'file-lock) (deny file-lock))", head + "(when (defined? 'file-lock) (deny file-lock))", "3:8", "no symbol"},
		{"a string in a symbol", head + `(allow signal"x")`, head + "(allow signal)", "3:8", "no symbol"},
		{"a guard about another", head + "(when (defined? 'file-lock) (deny syscall-mig))", head + "(when (defined? 'syscall-mig) (deny syscall-mig))", "3:35", "behind a condition"},
		{"another condition", head + `(when (param "HOME") (deny file-link))`, head + `(when (param "CONFIG") (deny file-link))`, "3:7", "a condition other than"},
		{"no operation", head + `(allow (literal "/a"))`, head + `(allow file-read-data (literal "/a"))`, "3:1", "about no operation"},
		{"an operation behind a filter", head + `(allow (target self) signal)`, head + `(allow signal (target self))`, "3:1", "about no operation"},
		{"a modifier", head + `(allow process-fork (with no-sandbox))`, head + "(allow process-fork)", "3:21", "no filter"},
		{"a tag of what is allowed", head + `(allow process-fork (with message "x"))`, head + `(deny process-fork (with message "x"))`, "3:21", "no filter"},
		{"two tags", head + `(deny process-fork (with message "x") (with message "y"))`, head + `(deny process-fork (with message "x"))`, "3:20", "no filter"},
		{"a tag before a filter", head + `(deny signal (with message "x") (target self))`, head + `(deny signal (target self) (with message "x"))`, "3:14", "no filter"},
		{"a tag that is no text", head + `(deny process-fork (with message (param "HOME")))`, head + `(deny process-fork (with message "HOME"))`, "3:20", "no filter"},
		{"another modifier of a denial", head + `(deny process-fork (with no-report))`, head + `(deny process-fork (with message "x"))`, "3:20", "no filter"},
		{"another modifier of the default", "(version 1)\n(deny default (with no-report))", "(version 1)\n" + `(deny default (with message "x"))`, "2:1", "no (deny default)"},
		{"a subpath alone", head + `(allow file-read-data (subpath "/a"))`, head + `(allow file-read-data (literal "/a") (subpath "/a"))`, "3:23", "no filter"},
		{"a subpath of another path", head + `(allow file-read-data (literal "/a") (subpath "/b"))`, head + `(allow file-read-data (literal "/a") (subpath "/a"))`, "3:38", "of another path"},
		{"a prefix", head + `(allow file-read-data (prefix "/a"))`, head + `(allow file-read-data (literal "/a"))`, "3:23", "no filter"},
		{"a path that is not clean", head + `(allow file-read-data (literal "/a/../b"))`, head + `(allow file-read-data (literal "/b"))`, "3:32", "no clean path"},
		{"a last slash", head + `(allow file-read-data (literal "/a/"))`, head + `(allow file-read-data (literal "/a"))`, "3:32", "no clean path"},
		{"a relative path", head + `(allow file-read-data (literal "a"))`, head + `(allow file-read-data (literal "/a"))`, "3:32", "no clean path"},
		{"another parameter", head + `(allow file-read-data (literal (param "OTHER")))`, head + `(allow file-read-data (literal (param "HOME")))`, "3:32", `no (param "SLOT")`},
		{"CONFIG without a condition", head + `(allow file-read-data (literal (param "CONFIG")))`, head + `(when (param "CONFIG") (allow file-read-data (literal (param "CONFIG"))))`, "3:32", "CONFIG, which need not be given"},
		{"a filter of another operation", head + `(allow signal (literal "/a"))`, head + `(allow signal (target self))`, "3:15", "signal does not take"},
		{"another target", head + `(allow signal (target others))`, head + `(allow signal (target self))`, "3:23", "target of something"},
		{"another address", head + `(deny network-outbound (remote ip "localhost:*"))`, head + `(deny network-outbound (remote ip "*:*"))`, "3:24", "an address that obspc does not write"},
		{"a port of its own", head + `(allow network-outbound (remote tcp4 "localhost:3128"))`, head + proxy, "3:25", "an address that obspc does not write"},
		{"the port of another parameter", head + strings.Replace(proxy, "PROXY", "HOME", 1), head + proxy, "3:25", "an address that obspc does not write"},
		{"any host at the port", head + strings.Replace(proxy, "localhost", "*", 1), head + proxy, "3:25", "an address that obspc does not write"},
		{"the port over IPv6 too", head + strings.Replace(proxy, "tcp4", "tcp", 1), head + proxy, "3:25", "an address that obspc does not write"},
		{"the port as the socket's own", head + strings.Replace(proxy, "remote", "local", 1), head + proxy, "3:25", "an address that obspc does not write"},
		{"a denied port", head + strings.Replace(proxy, "allow", "deny", 1), head + proxy, "3:24", "in a rule that denies"},
		{"local of a connection", head + `(allow network-outbound (local tcp "localhost:*"))`, head + `(allow network-bind (local tcp "localhost:*"))`, "3:25", "network-outbound does not take"},
		{"remote of a listener", head + `(allow network-bind (remote tcp "localhost:*"))`, head + `(allow network-outbound (remote tcp "localhost:*"))`, "3:21", "network-bind does not take"},
		{"a listener everywhere", head + `(allow network-bind (local tcp "*:*"))`, head + `(allow network-bind (local tcp "localhost:*"))`, "3:21", "an address that obspc does not write"},
		{"datagrams", head + strings.Replace(stream, "STREAM", "DGRAM", 1), head + stream, "3:22", "other than a family and SOCK_STREAM"},
		{"a stream of one part", head + `(allow system-socket (require-all (socket-domain AF_INET)))`, head + stream, "3:22", "other than a family and SOCK_STREAM"},
		{"a stream of either part", head + strings.Replace(stream, "require-all", "require-any", 1), head + stream, "3:22", "no filter"},
		{"a stream that is denied", head + strings.Replace(stream, "allow", "deny", 1), head + stream, "3:21", "in a rule that denies"},
		{"a stream of Unix", head + strings.Replace(stream, "AF_INET", "AF_UNIX", 1), head + `(allow system-socket (socket-domain AF_UNIX))`, "3:22", "of AF_UNIX"},
		{"a stream's option", head + strings.Replace(stream, "system-socket", "socket-ioctl", 1), head + `(allow socket-ioctl (socket-domain AF_INET))`, "3:21", "socket-ioctl does not take"},
		{"another family", head + `(allow system-socket (socket-domain AF_SYSTEM))`, head + `(allow system-socket (socket-domain AF_INET6))`, "3:37", "socket-domain of something"},
		{"an expression that allows", head + `(allow file-read-data (literal "/a") (regex "^/[Aa]$"))`, head + `(deny file-read-data (literal "/a") (regex "^/[Aa]$"))`, "3:23", "in a rule that allows"},
		{"an expression alone", head + `(deny file-read-data (regex "^/[Aa]$"))`, head + `(deny file-read-data (literal "/a") (regex "^/[Aa]$"))`, "3:22", "no filter"},
		{"an expression of another path", head + `(deny file-read-data (literal "/a") (regex "^/[Bb]$"))`, head + `(deny file-read-data (literal "/b") (regex "^/[Bb]$"))`, "3:44", "does not spell out"},
		{"an expression of more", head + `(deny file-read-data (literal "/a") (regex "^/[Aa](/|$)"))`, head + `(deny file-read-data (literal "/a") (subpath "/a") (regex "^/[Aa](/|$)"))`, "3:44", "does not spell out"},
		{"an expression of less", head + `(deny file-read-data (literal "/a") (subpath "/a") (regex "^/[Aa]$"))`, head + `(deny file-read-data (literal "/a") (subpath "/a") (regex "^/[Aa](/|$)"))`, "3:59", "does not spell out"},
		{"a letter in one case", head + `(deny file-read-data (literal "/ab") (regex "^/[Aa]b$"))`, head + `(deny file-read-data (literal "/ab") (regex "^/[Aa][Bb]$"))`, "3:45", "does not spell out"},
		{"a point that is any", head + `(deny file-read-data (literal "/.a") (regex "^/.[Aa]$"))`, head + `(deny file-read-data (literal "/.a") (regex "^/\\.[Aa]$"))`, "3:45", "does not spell out"},
		{"an expression without an end", head + `(deny file-read-data (literal "/a") (regex "^/[Aa]"))`, head + `(deny file-read-data (literal "/a") (regex "^/[Aa]$"))`, "3:44", "does not end"},
		{"an expression without a beginning", head + `(deny file-read-data (literal "/a") (regex "/[Aa]$"))`, head + `(deny file-read-data (literal "/a") (regex "^/[Aa]$"))`, "3:44", "does not begin"},
		{
			"a spelling that is not defined", head + `(deny file-read-data (literal (param "WORKSPACE")) (regex (string-append "^" obspc-workspace "$")))`,
			head + caseless + workspace + `(deny file-read-data (literal (param "WORKSPACE")) (regex (string-append "^" obspc-workspace "$")))`, "3:59", "not defined above",
		},
		{
			"a spelling of another slot", head + caseless + workspace + `(deny file-read-data (literal (param "HOME")) (regex (string-append "^" obspc-workspace "$")))`,
			head + caseless + workspace + `(deny file-read-data (literal (param "WORKSPACE")) (regex (string-append "^" obspc-workspace "$")))`, "5:54", "does not begin with the root",
		},
		{"a definition without what it uses", head + workspace, head + caseless + workspace, "3:1", "obspc-caseless, which is not defined above"},
		{"a definition twice", head + caseless + caseless, head + caseless, "4:1", "a second definition"},
		{"another definition", head + strings.Replace(caseless, "65", "66", 1), head + caseless, "3:1", "a definition that obspc does not write"},
		{"a definition behind a rule", head + "(allow process-fork)\n" + caseless, head + caseless + "(allow process-fork)", "4:1", "no decision"},
		{
			"caseless ancestors that allow", head + caseless + ancestors + `(allow file-write-create (obspc-caseless-ancestors (param "HOME")))`,
			head + caseless + ancestors + `(deny file-write-create (obspc-caseless-ancestors (param "HOME")))`, "5:26", "in a rule that allows",
		},
		{"ancestors of a text", head + `(allow file-read-metadata (path-ancestors "/a/b"))`, head + `(allow file-read-metadata (path-ancestors (param "HOME")))`, "3:43", `no (param "SLOT")`},
		{
			"a program that nothing names", head + `(allow process-exec* (require-all (literal "/a") obspc-execute))`,
			head + `(define obspc-execute (literal "/a"))` + "\n" + `(allow process-exec* (require-all (literal "/a") obspc-execute))`, "3:22", "not defined above",
		},
		{
			"programs in a rule about files", head + `(define obspc-execute (literal "/a"))` + "\n" + `(allow file-read-data (require-all (literal "/a") obspc-execute))`,
			head + `(define obspc-execute (literal "/a"))` + "\n" + `(allow process-exec* (require-all (literal "/a") obspc-execute))`, "4:23", "does not take",
		},
		{"another require-all", head + `(allow file-read-data (require-all (literal "/a") (literal "/b")))`, head + `(allow file-read-data (literal "/a"))`, "3:23", "other than an area and"},
		{"programs of nothing", head + `(define obspc-execute (require-any))`, head + `(define obspc-execute (require-any (literal "/a") (subpath "/a")))`, "3:23", "no literal"},
		{"programs by an expression", head + `(define obspc-execute (regex "."))`, head + `(define obspc-execute (literal "/a"))`, "3:23", "no literal"},
		{"require-not", head + `(deny file-read-data (require-not (literal "/a")))`, head + `(deny file-read-data (literal "/a"))`, "3:22", "no filter"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := fragment.Read([]byte(tt.profile))
			var outside *fragment.Error
			if !errors.As(err, &outside) || fmt.Sprintf("%d:%d", outside.Line, outside.Column) != tt.place || !strings.Contains(outside.Message, tt.message) {
				t.Errorf("Read(%q) = %v, want %q at %s", tt.profile, err, tt.message, tt.place)
			}
			if _, err := fragment.Read([]byte(tt.mended)); err != nil {
				t.Errorf("Read(%q) = %v", tt.mended, err)
			}
		})
	}
}
