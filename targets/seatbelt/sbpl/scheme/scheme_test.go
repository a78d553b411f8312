package scheme

import (
	"errors"
	"strings"
	"testing"
)

// run evaluates a text and returns its last value, shown.
func run(src string, limits Limits) (string, error) {
	text, err := Read("t", []byte(src))
	if err != nil {
		return "", err
	}
	m := New(limits)
	var v Value = Unspecified{}
	for i, form := range text.Forms {
		if v, err = m.Eval(form, text.Open[i]); err != nil {
			return "", err
		}
	}
	return Show(v), nil
}

func TestEval(t *testing.T) {
	for _, tt := range []struct{ src, want string }{
		{`(+ 1 2 3)`, "6"},
		{`(- 5)`, "-5"},
		{`(- 5 2.5)`, "2.5"},
		{`(* 9223372036854775807 2)`, "1.8446744073709552e+19"},
		{`(quotient 7 2)`, "3"},
		{`(modulo -7 2)`, "1"},
		{`(abs -3)`, "3"},
		{`(list (max 1 3 2) (min 3 1 2))`, "(3 1)"},
		{`(number->string 255 16)`, `"ff"`},
		{`(string->number "ff" 16)`, "255"},
		{`(string->number "x")`, "#f"},
		{`(define (f a . rest) (list a rest)) (f 1 2 3)`, "(1 (2 3))"},
		{`(define f (lambda all all)) (f 1 2)`, "(1 2)"},
		{`(define x 1) (define (get) x) (let ((x 2)) (get))`, "1"},
		{`(let loop ((i 0) (out '())) (if (= i 3) (reverse out) (loop (+ i 1) (cons i out))))`, "(0 1 2)"},
		{`(let* ((a 1) (b (+ a 1))) (list a b))`, "(1 2)"},
		{`(letrec ((f (lambda (n) (if (= n 0) 'done (f (- n 1)))))) (f 1000))`, "done"},
		{`(do ((i 0 (+ i 1)) (s 0 (+ s i))) ((= i 4) s))`, "6"},
		{`(cond (#f 1) ((assq 'b '((a 1) (b 2))) => cadr) (else 3))`, "2"},
		{`(cond (#f 1))`, "()"},
		{`(append (if #f 1) (when #f 2) '(a))`, "(a)"},
		{`(case 'x ((a b) 1) ((x) 2) (else 3))`, "2"},
		{`(and 1 2)`, "2"},
		{`(and)`, "#t"},
		{`(or #f 3)`, "3"},
		{`(or)`, "#f"},
		{`(if '() 1 2)`, "1"},
		{"`(1 ,(+ 1 1) ,@(list 3 4) . 5)", "(1 2 3 4 . 5)"},
		{"`(1 `(2 ,(3 ,(+ 1 3))))", "(1 (quasiquote (2 (unquote (3 4)))))"},
		{"`#(1 ,(+ 1 1))", "#(1 2)"},
		{`(macro (swap form) (list 'list (caddr form) (cadr form))) (swap 1 2)`, "(2 1)"},
		{"(define-macro (twice x) `(list ,x ,x)) (twice 3)", "(3 3)"},
		{`(macro inc (lambda (form) (list '+ 1 (cadr form)))) (inc 4)`, "5"},
		{`(defined? 'nothing)`, "#f"},
		{`(let ((here 1)) (defined? 'here))`, "#t"},
		{`(define x 1) (set! x 2) x`, "2"},
		{`(define (f) (define y 3) y) (f)`, "3"},
		{`(map + '(1 2 3) '(10 20))`, "(11 22)"},
		{`(apply + 1 2 '(3 4))`, "10"},
		{`(filter even? '(1 2 3 4))`, "(2 4)"},
		{`(partition even? '(1 2 3 4))`, "((2 4) (1 3))"},
		{`(append '(1) '(2) 3)`, "(1 2 . 3)"},
		{`(list (member "b" '("a" "b")) (memq 'z '(a)))`, `(("b") #f)`},
		{`(assoc '(1) '(((1) . a)))`, "((1) . a)"},
		{`(equal? '(1 #(2 "x")) '(1 #(2 "x")))`, "#t"},
		{`(eq? '(1) '(1))`, "#f"},
		{`(list (list-ref '(a b c) 1) (list-tail '(a b c) 2))`, "(b (c))"},
		{`(caddr '(1 2 3))`, "3"},
		{`(string<? "a" "b")`, "#t"},
		{`(split-string "a:b::c" #\:)`, `("a" "b" "" "c")`},
		{`(split-string #\: "a:b")`, `("a" "b")`},
		{`(list->string (list #\a #\space #\x41))`, `"a A"`},
		{`(char->integer (string-ref "é" 0))`, "195"},
		{`(symbol->string (string->symbol "Ab"))`, `"Ab"`},
		{`(vector-ref #(1 2) 1)`, "2"},
		{`(display "hello") (newline)`, "#<unspecified>"},
		{`'(quote . (a))`, "(quote a)"},
		{`(begin)`, "()"},
		{`()`, "()"},
		{`-`, "#<procedure>"},
		{`'(- -5 +5 1.5 .5 a.b ... 1+)`, "(- -5 5 1.5 0.5 a.b ... 1+)"},
		{`(if #t 1)`, "1"},
	} {
		if got, err := run(tt.src, Generous); err != nil || got != tt.want {
			t.Errorf("%s = %s, %v; want %s", tt.src, got, err, tt.want)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		src, want string
		code      Code
	}{
		{"\n  (foo 1)", "t:2:4: unbound variable: foo", UnboundName},
		{"(list 1\n  é bar)", "t:2:3: unbound variable: é", UnboundName},
		{"(list \"é\" bar)", "t:1:11: unbound variable: bar", UnboundName},
		{"(+ 1\n   \"a\")", "t:2:4: +: argument 2 must be a number, not \"a\"", WrongArgument},
		{"(1 2)", "t:1:2: 1 is no procedure", WrongArgument},
		{"((lambda (x) x))", "t:1:2: procedure: not enough arguments: 0, not 1", WrongArgument},
		{"(define (f) 1) (f 2)", "t:1:17: f: too many arguments: 1, not 0", WrongArgument},
		{"(car '())", "t:1:6: car: argument 1 must be a long enough list, not ()", WrongArgument},
		{"(error \"no\" 'x 1)", "t:1:2: no x 1", Raised},
		{"(if)", "t:1:2: if: want a test, a form and perhaps another", Syntax},
		{"(let (x) x)", "t:1:2: let: want a list of bindings", Syntax},
		{"(define)", "t:1:2: define: want a name and a value", Syntax},
		{"(lambda (1) 2)", "t:1:2: parameter 1 is no name", Syntax},
		{"(set! nope 1)", "t:1:7: unbound variable: nope", UnboundName},
		{"(+ 1 . 2)", "t:1:2: a call has no dot", Syntax},
		{"(a (b)", "t:1:1: list is not closed", Syntax},
		{"(a (b\n", "t:1:4: list is not closed", Syntax},
		{"a )", "t:1:3: unexpected ): nothing is open here", Syntax},
		{"(a . b c)", "t:1:8: one datum may follow the dot of a list", Syntax},
		{"(a . )", "t:1:6: unexpected ): nothing is open here", Syntax},
		{"(\"abc", "t:1:2: Error reading string: it is not closed", Syntax},
		{"#\"abc", "t:1:1: Error reading string: it is not closed", Syntax},
		{"\"a\\", "t:1:3: Error reading string: it is not closed", Syntax},
		{"'", "t:1:1: nothing follows the quote", Syntax},
		{"#u8", "t:1:1: #u8 is no constant", Syntax},
		{"#\\", "t:1:1: nothing follows #\\", Syntax},
		{"#\\ab", "t:1:1: #\\ab is no character", Syntax},
		{"#(1 . 2)", "t:1:1: a vector has no dot", Syntax},
		{"a \xff", "t:1:3: byte 0xFF ends the text where characters are signed", Syntax},
		{`"\777"`, `t:1:2: Error reading string: an octal escape wants two or three digits, at most \377`, Syntax},
		{"(substring \"abc\" 2 1)", "t:1:2: substring: 2 lies after 1", WrongArgument},
		{"(quotient 1 0)", "t:1:13: quotient: argument 2 must be an integer other than 0, not 0", WrongArgument},
	} {
		_, err := run(tt.src, Generous)
		var e *Error
		if !errors.As(err, &e) || e.Error() != tt.want || e.Code != tt.code {
			t.Errorf("%q: %v, want %s [%s]", tt.src, err, tt.want, tt.code)
		}
	}
}

// TestLimits gives texts that would go on, nest or grow without end.
func TestLimits(t *testing.T) {
	small := Limits{Steps: 100_000, Depth: 500, Bytes: 1 << 20}
	for name, src := range map[string]string{
		"endless loop":        `(let loop () (loop))`,
		"endless recursion":   `(define (f) (+ 1 (f))) (f)`,
		"endless do":          `(do () (#f))`,
		"doubling text":       `(let loop ((s "ab")) (loop (string-append s s)))`,
		"nested lists":        strings.Repeat("(", 10_000),
		"nested quotes":       strings.Repeat("'", 10_000) + "a",
		"endless macro":       "(macro (m form) form) (m)",
		"macro in itself":     "(macro (m form) `(list ,form)) (m)",
		"long false junction": "(let loop () (and #f" + strings.Repeat(" x", 1000) + ") (loop))",
		"large text":          strings.Repeat(" ", MaxText+1),
		"long name":           strings.Repeat("a", maxAtom+1),
		"deep equal":          `(define (deep n l) (if (= n 0) l (deep (- n 1) (list l)))) (equal? (deep 5000 1) (deep 5000 1))`,
		"compare long texts":  `(define (double n s) (if (= n 0) s (double (- n 1) (string-append s s)))) (define s (double 16 "ab")) (let loop () (string=? s s) (loop))`,
		"map over nothing":    `(define (grow n l) (if (= n 0) l (grow (- n 1) (cons n l)))) (define l (grow 5000 '())) (let loop () (map + l '()) (loop))`,
		"quasiquote":          "(define (deep n l) (if (= n 0) l (deep (- n 1) (list l)))) (macro (m form) (list 'quasiquote (deep 2000 1))) (m)",
	} {
		_, err := run(src, small)
		var e *Error
		if !errors.As(err, &e) || e.Code != PastLimit {
			t.Errorf("%s: %v, want a limit", name, err)
		}
	}
	if got, err := run(`(let loop ((i 0)) (if (< i 3000) (loop (+ i 1)) i))`, small); got != "3000" {
		t.Errorf("a loop of 3,000 rounds takes depth: %s, %v", got, err)
	}
}

func TestReadTells(t *testing.T) {
	text, err := Read("t", []byte("(a \"\\.b\\w\" #\"\\.\")\x00(b)"))
	if err != nil || len(text.Forms) != 1 || len(text.Dropped) != 2 || text.Dropped[1].Column != 8 || text.Ended.Column != 18 {
		t.Errorf("Read = %+v, %v", text, err)
	}
}

func FuzzEval(f *testing.F) {
	for _, seed := range []string{
		`(define (f a . b) (list a b)) (f 1 2)`, "`(1 ,@(list 2) . ,3)", `(let loop ((i 0)) (if (< i 9) (loop (+ i 1))))`,
		`"\x41\101\." #"raw" #\a #o17 #(1 2)`, "(macro (m f) `(list ,(cadr f))) (m 1)", "; c\n#! d\n'(a . b)", "(equal? #(1) '(1))",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, src string) {
		_, err := run(src, Limits{Steps: 20_000, Depth: 300, Bytes: 1 << 18})
		var e *Error
		if err != nil && !errors.As(err, &e) {
			t.Errorf("%q: %v is no *Error", src, err)
		}
		if e != nil && e.At.Line < 1 {
			t.Errorf("%q: %v has no place", src, err)
		}
	})
}
