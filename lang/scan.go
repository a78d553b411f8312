package lang

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"golang.org/x/text/unicode/norm"

	"github.com/obspc/obspc/lang/diag"
)

// Limits of the token scan. hclsyntax (v2.25.0) recurses without a limit over
// brackets, templates and operators, so 160 KB of parentheses overflow the Go
// stack, which nothing can recover from; huge exponents and long flush heredocs
// cost seconds. Its lexer is iterative, so everything is counted on tokens first.
const (
	maxNesting      = 64      // brackets and templates open at once
	maxOperators    = 256     // operators, dots and indexes of the expressions open at once
	maxNumberBytes  = 40      // a number literal
	maxExponent     = 64      // its decimal exponent, either sign
	maxHeredocLines = 2000    // lines of all heredocs of one file
	maxTokens       = 500_000 // tokens of one file
)

func (p *parser) scanAll() {
	for _, name := range p.files {
		p.scanFile(name, p.config.Sources[name])
	}
	for _, name := range p.tests {
		p.scanFile(name, p.opts.Tests[name])
	}
}

func (p *parser) scanFile(name string, src []byte) {
	if d, ok := notText(name, src); ok {
		p.add(d)
		return
	}
	tokens, _ := hclsyntax.LexConfig(src, name, hcl.InitialPos)
	p.add(scan(tokens)...)
}

// level is what is open: a bracket, a template or an interpolation.
type level struct {
	operators int  // since the last comma, equals sign or end of a line of a body
	body      bool // of a file or a block, where a line's end ends an expression
	value     bool // after the equals sign of a line of a body
}

// scanner counts tokens. Its first finding of a kind is enough: the file is not
// parsed then.
type scanner struct {
	levels    []level
	operators int // the sum over levels: what the parser's recursion can reach
	lines     int // of heredocs
	before    hclsyntax.TokenType
	found     map[string]bool
	diags     diag.List
	stop      bool // past a limit of depth the count means nothing
}

// scan reports what would make parsing or evaluation of these tokens run away.
func scan(tokens hclsyntax.Tokens) diag.List {
	s := &scanner{levels: []level{{body: true}}, found: map[string]bool{}}
	if len(tokens) > maxTokens {
		s.report(tooManyTokens(at(tokens[maxTokens].Range)))
		return s.diags
	}
	for _, t := range tokens {
		s.token(t)
		s.before = t.Type
		if s.stop {
			break
		}
	}
	return s.diags
}

func (s *scanner) token(t hclsyntax.Token) {
	switch t.Type {
	case hclsyntax.TokenOBrack:
		s.operator(t) // indexes chain: a[0][0]
		s.open(t)
	case hclsyntax.TokenOParen, hclsyntax.TokenOBrace,
		hclsyntax.TokenTemplateInterp, hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc:
		s.open(t)
	case hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenCBrace, hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc:
		s.close()
	case hclsyntax.TokenTemplateSeqEnd:
		s.close()
		s.reset() // the parts of a template lie side by side
	case hclsyntax.TokenComma:
		s.reset()
	case hclsyntax.TokenEqual:
		s.reset()
		s.top().value = true
	case hclsyntax.TokenNewline:
		if s.top().body {
			s.reset()
			s.top().value = false
		}
	case hclsyntax.TokenPlus, hclsyntax.TokenMinus, hclsyntax.TokenStar, hclsyntax.TokenSlash, hclsyntax.TokenPercent,
		hclsyntax.TokenBang, hclsyntax.TokenAnd, hclsyntax.TokenOr, hclsyntax.TokenQuestion, hclsyntax.TokenDot,
		hclsyntax.TokenEqualOp, hclsyntax.TokenNotEqual, hclsyntax.TokenLessThan, hclsyntax.TokenLessThanEq,
		hclsyntax.TokenGreaterThan, hclsyntax.TokenGreaterThanEq:
		s.operator(t)
	case hclsyntax.TokenNumberLit:
		s.number(t)
	case hclsyntax.TokenQuotedLit:
		s.normal(t)
	case hclsyntax.TokenStringLit:
		s.line(t)
		s.normal(t)
	case hclsyntax.TokenTemplateControl:
		s.report(templateDirective(at(t.Range)))
	}
	if bytes.IndexByte(t.Bytes, 0) >= 0 && t.Type != hclsyntax.TokenQuotedLit && t.Type != hclsyntax.TokenStringLit {
		// In a string literal the place decides about the code: see prepare.go.
		s.report(controlCharacter(at(t.Range), elsewhere))
	}
	if t.Type == hclsyntax.TokenComment && bytes.ContainsFunc(t.Bytes, diag.Turning) {
		s.report(turningCharacter(at(t.Range)))
	}
}

func (s *scanner) open(t hclsyntax.Token) {
	body := t.Type == hclsyntax.TokenOBrace && s.top().body && !s.top().value &&
		(s.before == hclsyntax.TokenIdent || s.before == hclsyntax.TokenCQuote)
	s.levels = append(s.levels, level{body: body})
	if len(s.levels)-1 > maxNesting {
		s.report(nestingTooDeep(at(t.Range)))
		s.stop = true
	}
}

func (s *scanner) close() {
	if len(s.levels) == 1 {
		return // unbalanced: the parser says so
	}
	s.reset()
	s.levels = s.levels[:len(s.levels)-1]
}

func (s *scanner) top() *level { return &s.levels[len(s.levels)-1] }

func (s *scanner) reset() {
	s.operators -= s.top().operators
	s.top().operators = 0
}

func (s *scanner) operator(t hclsyntax.Token) {
	s.top().operators++
	s.operators++
	if s.operators > maxOperators {
		s.report(expressionTooLong(at(t.Range)))
		s.stop = true
	}
}

func (s *scanner) line(t hclsyntax.Token) {
	s.lines++
	if s.lines > maxHeredocLines {
		s.report(heredocTooLong(at(t.Range)))
	}
}

func (s *scanner) number(t hclsyntax.Token) {
	if !smallNumber(string(t.Bytes)) {
		s.report(numberTooLarge(at(t.Range)))
	}
}

// normal reports text that HCL would change without a word: it turns every
// string into normal form C, also where two literals meet in a template, and a
// path in another form is another path on Linux.
func (s *scanner) normal(t hclsyntax.Token) {
	text := t.Bytes
	if t.Type == hclsyntax.TokenQuotedLit && bytes.Contains(text, []byte(`\`)) {
		text = []byte(unescaped(string(text)))
	}
	if !normalForm(text) {
		s.report(notNormalForm(at(t.Range)))
	}
}

// normalForm reports whether text is in Unicode normal form C and stays so
// beside any other such text.
func normalForm(text []byte) bool {
	return norm.NFC.IsNormal(text) && (len(text) == 0 || norm.NFC.Properties(text).BoundaryBefore())
}

// unescaped replaces the \u and \U escapes of a quoted literal; the others stand
// for ASCII, which no form changes.
func unescaped(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); {
		n := 0
		if s[i] == '\\' && i+1 < len(s) {
			n = map[byte]int{'u': 4, 'U': 8}[s[i+1]]
		}
		if n > 0 && i+2+n <= len(s) {
			if r, err := strconv.ParseUint(s[i+2:i+2+n], 16, 32); err == nil && r <= utf8.MaxRune {
				out.WriteRune(rune(r))
				i += 2 + n
				continue
			}
		}
		if s[i] == '\\' && i+1 < len(s) {
			i++ // what is escaped stands for itself or for ASCII
		}
		out.WriteByte(s[i])
		i++
	}
	return out.String()
}

// smallNumber reports whether text has the size of a number that anyone writes;
// it does not check that text is a number.
func smallNumber(text string) bool {
	if len(text) > maxNumberBytes {
		return false
	}
	i := strings.IndexAny(text, "eE")
	if i < 0 {
		return true
	}
	e, err := strconv.Atoi(text[i+1:])
	return err == nil && -maxExponent <= e && e <= maxExponent
}

// report keeps the first finding of each kind.
func (s *scanner) report(d diag.Diagnostic) {
	if !s.found[d.Code] {
		s.found[d.Code] = true
		s.diags.Add(d)
	}
}

// notText reports bytes that no editor would show as text.
func notText(name string, src []byte) (diag.Diagnostic, bool) {
	if bytes.HasPrefix(src, []byte("\xef\xbb\xbf")) {
		return byteOrderMark(name), true
	}
	if utf8.Valid(src) {
		return diag.Diagnostic{}, false
	}
	i := 0
	for {
		r, n := utf8.DecodeRune(src[i:])
		if r == utf8.RuneError && n <= 1 {
			return notUTF8(position(name, src, i), src[i]), true
		}
		i += n
	}
}

// position is the place of byte i: columns are counted in characters, which is
// near enough for a file that is not text.
func position(name string, src []byte, i int) diag.Range {
	line := 1 + bytes.Count(src[:i], []byte("\n"))
	column := 1 + utf8.RuneCount(src[bytes.LastIndexByte(src[:i], '\n')+1:i])
	start := diag.Pos{Line: line, Column: column, Byte: i}
	end := diag.Pos{Line: line, Column: column + 1, Byte: i + 1}
	return diag.Range{File: name, Start: start, End: end}
}

// at is a range of HCL's as ours.
func at(r hcl.Range) diag.Range {
	return diag.Range{File: r.Filename, Start: diag.Pos(r.Start), End: diag.Pos(r.End)}
}

func byteOrderMark(name string) diag.Diagnostic {
	start := diag.Pos{Line: 1, Column: 1}
	return diag.Diagnostic{
		Code:    "byte-order-mark",
		At:      diag.Range{File: name, Start: start, End: diag.Pos{Line: 1, Column: 2, Byte: 3}},
		Message: "the file begins with a byte order mark",
		Help:    `save it as "UTF-8", not "UTF-8 with BOM"`,
	}
}

func notUTF8(r diag.Range, b byte) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "not-text",
		At:      r,
		Message: fmt.Sprintf("the file is not UTF-8 text: byte 0x%02x cannot stand here", b),
		Help:    "a policy is a text file in UTF-8; is this the right file?",
	}
}

func notNormalForm(r diag.Range) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "not-normal-form",
		At:      r,
		Message: "a string is not in Unicode normal form C: a letter and its accent stand as two characters",
		Help:    "write them as one character, as keyboards do",
	}
}

func nestingTooDeep(r diag.Range) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "nesting-too-deep",
		At:      r,
		Message: fmt.Sprintf("brackets and templates nest deeper than %d", maxNesting),
		Help:    "name the inner parts in locals",
	}
}

func expressionTooLong(r diag.Range) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "expression-too-long",
		At:      r,
		Message: fmt.Sprintf("an expression has more than %d operators", maxOperators),
		Help:    "name parts of it in locals",
	}
}

func numberTooLarge(r diag.Range) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "number-too-large",
		At:      r,
		Message: fmt.Sprintf("a number has more than %d characters or an exponent beyond %d", maxNumberBytes, maxExponent),
		Help:    "no limit, port or version is that large; write a smaller number",
	}
}

func heredocTooLong(r diag.Range) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "heredoc-too-long",
		At:      r,
		Message: fmt.Sprintf("the heredocs of this file have more than %d lines", maxHeredocLines),
		Help:    "keep long texts in a file that the command reads",
	}
}

func tooManyTokens(r diag.Range) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "too-many-tokens",
		At:      r,
		Message: fmt.Sprintf("the file has more than %d words and symbols", maxTokens),
		Help:    "split it into several *.policy.hcl files of one directory",
	}
}

func templateDirective(r diag.Range) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "template-directive",
		At:      r,
		Message: "a template has a %{ } directive, which the policy language does not have",
		Help:    `choose with "${condition ? a : b}"; for a literal %{ write %%{`,
	}
}
