package seatbelt

import (
	"strings"

	"github.com/obspc/obspc/compiler/ir"
)

// caselessDefinition turns a path that is known only when the profile is read into
// a caseless regular expression, as caseless does here. It uses what Apple's own
// version 1 library uses to define path-ancestors, and regex-quote.
const caselessDefinition = `(define (obspc-caseless text)
  (let next ((i 0) (out ""))
    (if (>= i (string-length text))
        out
        (let* ((one (substring text i (+ i 1)))
               (code (char->integer (string-ref text i)))
               (letter (cond ((and (>= code 65) (>= 90 code)) (- code 65))
                             ((and (>= code 97) (>= 122 code)) (- code 97))
                             (else 26))))
          (next (+ i 1)
                (string-append out
                  (if (= letter 26)
                      (regex-quote one)
                      (string-append "["
                        (substring "ABCDEFGHIJKLMNOPQRSTUVWXYZ" letter (+ letter 1))
                        (substring "abcdefghijklmnopqrstuvwxyz" letter (+ letter 1))
                        "]"))))))))
`

// ancestorsDefinition is a filter for every directory above a path, under every
// spelling that differs by case. (path-ancestors, in the library since 10.15,
// matches the given spelling alone.)
const ancestorsDefinition = `(define (obspc-caseless-ancestors text)
  (let next ((i 1) (out (literal "/")))
    (if (>= i (string-length text))
        out
        (next (+ i 1)
              (if (char=? (string-ref text i) #\/)
                  (require-any out (regex (string-append "^" (obspc-caseless (substring text 0 i)) "$")))
                  out)))))
`

// caselessName is the variable that holds a slot's caseless spelling.
func caselessName(r ir.Root) string { return "obspc-" + r.String() }

// startsName is the filter of what the execute rules name.
const startsName = "obspc-execute"

// prelude is the definitions that the rules use: the caseless spelling of each of
// slots, in their order, the ancestors filter, and what the execute rules name.
func (w *printer) prelude() string {
	var b strings.Builder
	if len(w.slots) > 0 || w.ancestors {
		b.WriteString("\n; how bound paths may be spelt on a volume that ignores case\n" + caselessDefinition)
	}
	if w.ancestors {
		b.WriteString(ancestorsDefinition)
	}
	for _, r := range ir.Slots() {
		if !w.slots[r] {
			continue
		}
		param := `(param "` + parameters[r] + `")`
		value := "(obspc-caseless " + param + ")"
		if r == ir.Config {
			value = "(if " + param + " " + value + ` "")`
		}
		b.WriteString("(define " + caselessName(r) + " " + value + ")\n")
	}
	if len(w.starts) > 0 {
		b.WriteString("\n; what the execute rules name\n(define " + startsName + " " + anyOf(w.starts) + ")\n")
	}
	return b.String()
}
