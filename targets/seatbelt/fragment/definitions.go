package fragment

import (
	"slices"
	"sync"

	"github.com/obspc/obspc/compiler/ir"
)

// definition is a definition that a profile may begin with, word for word but for
// spaces and comments, and the definitions that it uses.
type definition struct {
	name string
	text string
	uses []string
}

// definitions are all there are, in the order in which they may stand. Their
// meaning is fixed: obspc-caseless of a path is a regular expression that matches
// every spelling of it that differs in the case of ASCII letters, as the reader of
// regular expressions here understands it; obspc-caseless-ancestors of a path
// matches the directories above it so; the others are obspc-caseless of a
// parameter. Tests run them in an interpreter of Scheme.
var definitions = []definition{
	{"obspc-caseless", `(define (obspc-caseless text)
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
                "]"))))))))`, nil},
	{"obspc-caseless-ancestors", `(define (obspc-caseless-ancestors text)
  (let next ((i 1) (out (literal "/")))
    (if (>= i (string-length text))
      out
      (next (+ i 1)
        (if (char=? (string-ref text i) #\/)
          (require-any out (regex (string-append "^" (obspc-caseless (substring text 0 i)) "$")))
          out)))))`, []string{"obspc-caseless"}},
	{"obspc-home", `(define obspc-home (obspc-caseless (param "HOME")))`, []string{"obspc-caseless"}},
	{"obspc-tmp", `(define obspc-tmp (obspc-caseless (param "TMP")))`, []string{"obspc-caseless"}},
	{"obspc-workspace", `(define obspc-workspace (obspc-caseless (param "WORKSPACE")))`, []string{"obspc-caseless"}},
	{"obspc-config", `(define obspc-config (if (param "CONFIG") (obspc-caseless (param "CONFIG")) ""))`, []string{"obspc-caseless"}},
}

// parameters are the slots by the names under which their places are passed.
var parameters = map[string]ir.Root{"HOME": ir.Home, "TMP": ir.Tmp, "WORKSPACE": ir.Workspace, "CONFIG": ir.Config}

// caselessNames are the slots by the names of their caseless spellings.
var caselessNames = map[string]ir.Root{
	"obspc-home": ir.Home, "obspc-tmp": ir.Tmp, "obspc-workspace": ir.Workspace, "obspc-config": ir.Config,
}

// defined are the forms of definitions.
var defined = sync.OnceValue(func() []form {
	out := make([]form, len(definitions))
	for i, d := range definitions {
		read, err := forms(d.text)
		if err != nil || len(read) != 1 {
			panic(d.name + " is no form")
		}
		out[i] = read[0]
	}
	return out
})

// define notes a definition.
func (r *reader) define(f form) {
	if len(f.list) == 3 && f.list[1].text == startsName {
		r.defineStarts(f)
		return
	}
	i := slices.IndexFunc(defined(), func(d form) bool { return same(d, f) })
	if i < 0 {
		r.fail(f, "a definition that obspc does not write")
		return
	}
	d := definitions[i]
	if r.defined[d.name] {
		r.fail(f, "a second definition of %s", d.name)
	}
	for _, name := range d.uses {
		r.needs(f, name)
	}
	r.defined[d.name] = true
}

// needs refuses a name that is not defined before it is used.
func (r *reader) needs(f form, name string) {
	if !r.defined[name] {
		r.fail(f, "%s, which is not defined above", name)
	}
}
