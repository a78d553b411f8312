package lang

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/obspc/obspc/lang/diag"
)

func (p *parser) parseAll() {
	for _, name := range p.files {
		p.parsed = append(p.parsed, p.parseFile(name, p.config.Sources[name])...)
	}
	for _, name := range p.tests {
		p.asked = append(p.asked, p.parseFile(name, p.opts.Tests[name])...)
	}
}

// parseFile is the body of a file, if it has one.
func (p *parser) parseFile(name string, src []byte) []*hclsyntax.Body {
	f, diags := hclsyntax.ParseConfig(src, name, hcl.InitialPos)
	p.add(syntaxFindings(diags)...)
	if body, ok := f.Body.(*hclsyntax.Body); ok {
		return []*hclsyntax.Body{body}
	}
	return nil
}

// syntaxFindings are HCL's diagnostics in our words. Of several on one line the
// first is kept: the others come from its recovery.
func syntaxFindings(diags hcl.Diagnostics) diag.List {
	var out diag.List
	lines := map[int]bool{}
	for _, d := range diags {
		if d.Severity != hcl.DiagError || d.Subject == nil || lines[d.Subject.Start.Line] {
			continue
		}
		lines[d.Subject.Start.Line] = true
		out.Add(syntax(d))
	}
	return out
}

// words are a message and its help.
type words struct{ message, help string }

// syntaxWords says what HCL's parser found, by its summary (hcl v2.25.0).
var syntaxWords = map[string]words{
	"Argument definition required":             {"an attribute needs a value here", `write NAME = VALUE`},
	"Argument or block definition required":    {"an attribute or a block is expected here", `write NAME = VALUE, or NAME { … }`},
	"Attribute redefined":                      {"an attribute is stated twice in one block", "keep one of the two"},
	"Extra characters after expression":        {"the value goes on after its end", "quote strings, and put commas between the elements of a list"},
	"Invalid argument name":                    {"an attribute's name is in quotes", `write the name without quotes, as in LANG = "C.UTF-8"`},
	"Invalid attribute name":                   {"this is no attribute name", "a name has letters, digits, _ and -, and begins with a letter"},
	"Invalid block definition":                 {"this is neither an attribute nor a block", `write NAME = VALUE, or NAME "LABEL" { and its body on the next lines`},
	"Invalid character":                        {"a character has no meaning here", "put text into double quotes"},
	"Invalid escape sequence":                  {"a backslash begins no escape sequence here", `write \\ for a backslash; \n, \r, \t, \", \uNNNN and \UNNNNNNNN are known`},
	"Invalid expression":                       {"this is no value", `write a string in double quotes, a number, true, false, a list or a name`},
	"Invalid 'for' expression":                 {"this is no for expression", "write [for NAME in LIST : VALUE]"},
	"Invalid multi-line string":                {"a quoted string ends on another line", `write \n for a line break, or close the quotes`},
	"Invalid number literal":                   {"this is no number", "write a decimal number"},
	"Invalid single-argument block definition": {"a block on one line holds more than one attribute", "put each attribute on its own line"},
	"Invalid string literal":                   {"this cannot stand in a plain string", "write a quoted string without ${…}"},
	"Missing argument separator":               {"a comma is missing between two arguments", "separate arguments by commas"},
	"Missing attribute separator":              {"a comma or a new line is missing between two entries", "put each entry on its own line"},
	"Missing attribute value":                  {"an entry has no value", "write NAME = VALUE"},
	"Missing close bracket on index":           {"an index is not closed", "add ]"},
	"Missing closing parenthesis":              {"a parenthesis is not closed", "add )"},
	"Missing expression":                       {"a value is missing", "write one, or remove the attribute"},
	"Missing false expression in conditional":  {"a conditional has no second result", "write CONDITION ? A : B"},
	"Missing item separator":                   {"a comma is missing between two elements", "separate the elements of a list by commas"},
	"Missing key/value separator":              {"an entry has no equals sign", "write NAME = VALUE"},
	"Missing newline after argument":           {"something follows the value of an attribute on its line", "put each attribute on its own line, and commas between the elements of a list"},
	"Missing newline after block definition":   {"something follows a block on its line", "begin a new line after }"},
	"Unbalanced parentheses":                   {"a parenthesis is not closed", "add )"},
	"Unclosed configuration block":             {"a block is not closed", "add } after its last line"},
	"Unclosed configuration body":              {"a block is not closed", "add } after its last line"},
	"Unclosed template interpolation sequence": {"${ is not closed", "add }, or write $${ for a literal ${"},
	"Unsupported operator":                     {"there is no such operator", "use &&, || and ! for conditions"},
	"Unterminated function call":               {"a call is not closed", "add )"},
	"Unterminated string literal":              {"a string is not closed", `add "`},
	"Unterminated template string":             {"a string is not closed", `add "`},
	"Unterminated tuple constructor expression": {
		"a list is not closed", "add ]"},
	"Unterminated object constructor expression": {
		"a map is not closed", "add }"},
	"Variable name required": {"a name is expected here", "names begin with a letter"},
}

// syntax is a refusal of HCL's parser, with its range.
func syntax(d *hcl.Diagnostic) diag.Diagnostic {
	w, ok := syntaxWords[d.Summary]
	if d.Summary == "Invalid single-argument block definition" && d.Subject.Start.Line != d.Subject.End.Line {
		// The subject is the end of a line, and no other attribute.
		w = words{"a block begins with an attribute on its own line and goes on below it", "begin a new line after the {, or put } behind the attribute"}
	}
	if !ok {
		w = words{strings.ToLower(d.Summary[:1]) + d.Summary[1:], "see docs/language.md for what may stand here"}
	}
	return diag.Diagnostic{Code: "syntax", At: at(*d.Subject), Message: w.message, Help: w.help}
}
