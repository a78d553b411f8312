package sbpl_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/obspc/obspc/targets/seatbelt/sbpl"
	"github.com/obspc/obspc/targets/seatbelt/sbpl/scheme"
)

// TestHostile gives profiles that are small and would become large, or would take for
// ever. Each is refused, and none takes long to lint.
func TestHostile(t *testing.T) {
	const frame = "(version 1)\n(deny default)\n"
	for name, src := range map[string]string{
		"a filter of doubles":    `(define (double n f) (if (= n 0) f (double (- n 1) (require-any f f)))) (allow file-read* (double 40 (literal "/")))`,
		"endless rules":          `(let loop () (allow file-read* (literal "/a")) (deny file-read* (literal "/a")) (loop))`,
		"endless wide rules":     `(let loop ((f (require-any (literal "/a") (literal "/b")))) (allow file* file-read* file-write* f) (loop (require-any f (literal "/c"))))`,
		"endless patterns":       `(let loop ((i 0)) (regex (string-append "^/[a-z]+/" (number->string i) "{9}")) (loop (+ i 1)))`,
		"wraps in wraps":         `(define (deep) (with-filter (literal "/a") (allow file-read*) (deep))) (deep)`,
		"a pattern of counts":    `(allow file-read* (regex "((a{1000}){1000}){1000}"))`,
		"a long pattern":         `(define (grow n s) (if (= n 0) s (grow (- n 1) (string-append s s)))) (regex (grow 15 "ab"))`,
		"ancestors of deep path": `(define (grow n s) (if (= n 0) s (grow (- n 1) (string-append s s)))) (path-ancestors (grow 18 "/a"))`,
		"imports itself":         `(import "endless.sb")`,
		"nested brackets":        strings.Repeat("(", 10_000),
	} {
		_, err := sbpl.Parse("h.sb", []byte(frame+src), sbpl.Options{Imports: library})
		var e *scheme.Error
		if !errors.As(err, &e) || e.Code != scheme.PastLimit && e.Code != sbpl.BadRegex {
			t.Errorf("%s: %v, want a limit", name, err)
		}
	}
	start := time.Now()
	wide := `(define fs (map (lambda (i) (literal (string-append "/" (number->string i)))) '(` + strings.Repeat("1 2 3 4 5 6 7 8 ", 500) + `)))
(define f (apply require-any fs))
(deny file* f) (deny file-read* file-write* network* f) (allow file-read-data file-write-data f)` + strings.Repeat("(deny file* f)(allow file-write-xattr f)", 10)
	for _, src := range []string{strings.Repeat("(a)", 100_000), strings.Repeat(`(deny file* (regex "a"))`, 5_000), wide} {
		sbpl.Lint("h.sb", []byte(frame+src), sbpl.Options{})
	}
	if took := time.Since(start); took > 60*time.Second {
		t.Errorf("linting takes %v", took)
	}
}
