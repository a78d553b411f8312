package lang

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// inLocal makes e the value of a local beside a valid policy.
func inLocal(e string) string { return "locals {\nx = " + e + "\n}\n" + smallest }

const smallest = "policy \"p\" {\nversion = 1\n}\n"

// chain is n locals, each made of the one before.
func chain(first, next string, n int) string {
	var out strings.Builder
	fmt.Fprintf(&out, "locals {\nx0 = %s\n", first)
	for i := range n {
		fmt.Fprintf(&out, "x%d = %s\n", i+1, strings.ReplaceAll(next, "PREV", fmt.Sprintf("local.x%d", i)))
	}
	return out.String() + "}\n" + smallest
}

const ten = "[0,1,2,3,4,5,6,7,8,9]"

// nestedFor is depth for expressions around one value.
func nestedFor(depth int) string {
	e := "1"
	for i := range depth {
		e = fmt.Sprintf("[for a%d in %s : %s]", i, ten, e)
	}
	return e
}

func lines(n int, line string) string { return strings.Repeat(line+"\n", n) }

// heredoc is a heredoc of n lines; flush ones are quadratic in hclsyntax.
func heredoc(sign string, n int) string { return sign + "EOT\n" + lines(n, "  text") + "EOT" }

// hostile are texts that make hclsyntax v2.25.0 or an evaluation on top of it
// overflow the stack, run for seconds or exhaust memory, and their harmless
// twins. All of them fit into a file of 1 MiB.
var hostile = []struct {
	name, src, code, twin string
}{
	{"parentheses", inLocal(strings.Repeat("(", 100_000)), "nesting-too-deep", inLocal(strings.Repeat("(", 50) + "1" + strings.Repeat(")", 50))},
	{"lists", inLocal(strings.Repeat("[", 100_000)), "nesting-too-deep", inLocal(strings.Repeat("[", 50) + strings.Repeat("]", 50))},
	{"maps", inLocal(strings.Repeat("{a=", 60_000)), "nesting-too-deep", inLocal(strings.Repeat("{a=", 50) + "1" + strings.Repeat("}", 50))},
	{"blocks", strings.Repeat("a {\n", 60_000), "nesting-too-deep", smallest},
	{"not", inLocal(strings.Repeat("!", 100_000) + "true"), "expression-too-long", inLocal(strings.Repeat("!", 100) + "true")},
	{"minus", inLocal(strings.Repeat("-", 100_000) + "1"), "expression-too-long", inLocal("- - - 1")},
	{"templates", inLocal(strings.Repeat(`"${`, 50_000)), "nesting-too-deep", inLocal(strings.Repeat(`"${`, 30) + "1" + strings.Repeat(`}"`, 30))},
	{"conditionals", inLocal(strings.Repeat("true?1:", 40_000) + "1"), "expression-too-long", inLocal(strings.Repeat("true?1:", 100) + "1")},
	{"left conditionals", inLocal(strings.Repeat("true?", 40_000) + "1"), "expression-too-long", inLocal("true ? false ? 1 : 2 : 3")},
	{"sum", inLocal(strings.Repeat("1+", 100_000) + "1"), "expression-too-long", inLocal(strings.Repeat("1+", 200) + "1")},
	{"sum in lines", inLocal("(" + strings.Repeat("1+\n", 60_000) + "1)"), "expression-too-long", inLocal("(1+\n1)")},
	{"sum in a map", inLocal("{a = " + strings.Repeat("1+\n", 60_000) + "1}"), "expression-too-long", inLocal("{\n a = 1 + 1\n b = 1 + 1\n}")},
	{"indexes", inLocal("[1]" + strings.Repeat("[0]", 60_000)), "expression-too-long", inLocal("[[1]][0][0]")},
	{"splats", inLocal("[1]" + strings.Repeat("[*]", 60_000)), "expression-too-long", inLocal("[[1]][*]")},
	{"attributes", inLocal("x" + strings.Repeat(".a", 100_000)), "expression-too-long", inLocal("{a = {b = 1}}.a.b")},
	{"arguments nested", inLocal(strings.Repeat("upper(", 100_000)), "nesting-too-deep", inLocal(`upper(upper("a"))`)},
	{"directives", inLocal(`"` + strings.Repeat("%{if true}", 40_000) + `"`), "template-directive", inLocal(`"%%{if true}"`)},
	{"directive loops", inLocal(`"` + strings.Repeat("%{for a in "+ten+"}", 7) + "0123456789" + strings.Repeat("%{endfor}", 7) + `"`), "template-directive", inLocal(`"a"`)},

	{"large exponent", inLocal("1e100000000"), "number-too-large", inLocal("1e10")},
	{"small exponent", inLocal(`"${1e-1000000}"`), "number-too-large", inLocal(`"${1e-10}"`)},
	{"many digits", inLocal(strings.Repeat("9", 1_000_000)), "number-too-large", inLocal(strings.Repeat("9", 40))},
	{"exponent in text", inLocal(`tonumber("1e100000000")`), "wrong-arguments", inLocal(`tonumber("1e10")`)},
	{"exponent in text, added", inLocal(`"1e100000000" + 1`), "wrong-type", inLocal(`1e10 + 1`)},
	{"exponent as index", inLocal(`[1]["1e100000000"]`), "expression", inLocal(`[1][0]`)},
	{"exponents that grow", chain("1e60", "PREV * PREV", 60), "number-too-large", chain("1e60", "PREV * 10", 9)},
	{"exponents that shrink", chain("1e-60", "PREV * PREV", 60), "number-too-large", chain("1e-60", "PREV / 10", 9)},
	{"division by zero", inLocal("1 / 0"), "expression", inLocal("1 / 2")},
	{"infinity", inLocal("-1 / 0"), "expression", inLocal("0 / 2")},

	{"for in for", inLocal(nestedFor(7)), "nesting-too-deep", inLocal(nestedFor(2))},
	{"for over for", chain(ten, "flatten([for a in PREV : [for b in PREV : 1]])", 5), "evaluation-limit", chain(ten, "[for a in PREV : a]", 5)},
	{"for over many", inLocal("[for a in local.y : [for b in local.y : true]]\ny = [" + strings.Repeat("true,", 20_000) + "]"), "evaluation-limit", inLocal("[for a in local.y : [for b in local.y : true]]\ny = [" + strings.Repeat("true,", 100) + "]")},
	{"for over faults", inLocal("[for a in local.y : a.b]\ny = [" + strings.Repeat("true,", 90_000) + "]"), "expression", inLocal("[for a in local.y : a]\ny = [" + strings.Repeat("true,", 9000) + "]")},
	{"for over long lists", inLocal("[for a in local.y : [" + strings.Repeat("0,", 100_000) + "][0]]\ny = [" + strings.Repeat("true,", 20_000) + "]"), "evaluation-limit", inLocal("[for a in local.y : [1, 2][0]]\ny = [true]")},
	{"for over long maps", inLocal("[for a in local.y : {" + strings.Repeat("a=1,", 50_000) + "}.a]\ny = [" + strings.Repeat("true,", 20_000) + "]"), "evaluation-limit", inLocal("[for a in local.y : { a = 1 }.a]\ny = [true]")},
	{"lists that double", chain("[1]", "[PREV, PREV]", 60), "evaluation-limit", chain("[1]", "[PREV, PREV]", 8)},
	{"lists that deepen", chain("[1]", "[PREV]", 20_000), "evaluation-limit", chain("[1]", "[PREV]", 100)},
	{"maps that double", chain("{a = 1}", "{a = PREV, b = PREV}", 60), "evaluation-limit", chain("{a = 1}", "{a = PREV}", 8)},
	{"joined lists that double", chain("[1]", "concat(PREV, PREV)", 60), "evaluation-limit", chain("[1]", "concat(PREV, PREV)", 8)},
	{"strings that double", chain(`"0123456789"`, `"${PREV}${PREV}"`, 60), "evaluation-limit", chain(`"0123456789"`, `"${PREV}${PREV}"`, 8)},
	{"strings repeated", chain(`"`+strings.Repeat("x", 100_000)+`"`, `"`+strings.Repeat("${PREV}", 5_000)+`"`, 1), "evaluation-limit", chain(`"x"`, `"`+strings.Repeat("${PREV}", 100)+`"`, 1)},
	{"strings replaced", chain(`"`+strings.Repeat("x", 100_000)+`"`, `replace(PREV, "x", PREV)`, 2), "evaluation-limit", chain(`"xx"`, `replace(PREV, "x", PREV)`, 2)},
	{"strings joined", chain(`"`+strings.Repeat("x", 100_000)+`"`, `join(PREV, ["`+strings.Repeat(`","`, 20_000)+`"])`, 1), "evaluation-limit", chain(`"x"`, `join(PREV, ["", ""])`, 1)},
	{"strings split", chain(`"`+strings.Repeat("x", 400_000)+`"`, `[for a in split("", PREV) : split("", PREV)]`, 1), "evaluation-limit", chain(`"xx"`, `[for a in split("", PREV) : split("", PREV)]`, 1)},
	{"locals in a circle", chain("local.x20000", "PREV", 20_000), "local-cycle", chain("1", "PREV", 20_000)},

	{"flush heredoc", inLocal(heredoc("<<-", 100_000)), "heredoc-too-long", inLocal(heredoc("<<-", 1000))},
	{"heredoc", inLocal(heredoc("<<", 100_000)), "heredoc-too-long", inLocal(heredoc("<<", 1000))},
	{"many heredocs", inLocal("[\n" + strings.Repeat(heredoc("<<-", 100)+"\n,\n", 1000) + "]"), "heredoc-too-long", inLocal("[\n" + strings.Repeat(heredoc("<<-", 10)+"\n,\n", 100) + "]")},
	{"tokens", inLocal("[" + strings.Repeat("0,", 500_000) + "]"), "too-many-tokens", inLocal("[" + strings.Repeat("0,", 1000) + "]")},
	{"elements", "policy \"p\" {\nversion = 1\nfilesystem {\nread = [" + strings.Repeat(`"/a",`, 99_990) + "]\ndeny = [for a in " + ten + " : \"/b\"]\nwrite = [\"/c\"]\n}\n}\n",
		"too-many-rules", smallest},
	{"labels", "a" + strings.Repeat(` "b"`, 50_000) + " {}\n", "unknown-block", smallest},
	{"a long name", strings.Repeat("x", 1_000_000) + " = 1\n" + smallest, "unknown-attribute", smallest},
}

// TestHostile runs every text to its one finding. Alone on a core the slowest
// takes some tenths of a second; the limit tells a bounded run on a busy machine
// from a runaway one.
func TestHostile(t *testing.T) {
	for _, tt := range hostile {
		t.Run(tt.name, func(t *testing.T) {
			if len(tt.src) > MaxFileBytes {
				t.Fatalf("the text has %d bytes, more than a file may have", len(tt.src))
			}
			start := time.Now()
			if got := codes(tt.src); got != tt.code {
				t.Errorf("Parse finds %.200q, want %q", got, tt.code)
			}
			if d := time.Since(start); d > time.Minute {
				t.Errorf("Parse took %v", d)
			} else if testing.Verbose() {
				t.Logf("%v", d)
			}
			if got := codes(tt.twin); got != "" {
				t.Errorf("Parse of the twin finds %.200q, want nothing", got)
			}
		})
	}
}
