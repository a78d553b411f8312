package lang

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/zclconf/go-cty/cty"

	"github.com/obspc/obspc/lang/diag"
)

// Test is one test block: what a policy must answer.
type Test struct {
	Name  String
	Range diag.Range // the block's header
	// Policy names the policy; its Range is zero when the test leaves it to
	// there being only one.
	Policy       String
	Bind         []SlotPath // in source order
	Expectations []Expectation
}

// SlotPath is one attribute of a bind block; its path has no slots.
type SlotPath struct {
	Slot String
	Path Text
}

// Expectation is one element of a list in an allow or deny block: the request
// word, and what it is about: two paths for rename and link, HOST:PORT for
// connect, else one path. By is the program that asks; its Range is zero when the
// block names none.
type Expectation struct {
	Allow   bool
	Word    String
	Objects []Text
	By      Text
	Range   diag.Range
}

// maxTitle is how many characters a test's name has, blanks left out.
const maxTitle = 120

// isTitle reports whether a test may be called so: a title for people, in one line,
// words with single blanks between them. As a regular expression, with a hundred
// copies of Unicode's classes, this cost every start of obspc 8 MB and more time
// than all else.
func isTitle(name string) bool {
	count, word := 0, false // word: the character before is no blank
	for _, r := range name {
		switch {
		case r == ' ' && word:
			word = false
		case unicode.IsLetter(r), unicode.IsNumber(r), unicode.IsPunct(r), unicode.IsSymbol(r), unicode.IsMark(r) && count > 0:
			count, word = count+1, true
		default:
			return false
		}
	}
	return word && count <= maxTitle
}

// decodeTests reads the test blocks of all test files. They see the variables and
// locals of the configuration.
func (p *parser) decodeTests() {
	taken := p.names()
	for _, body := range p.asked {
		file := &block{p: p, kind: "test file"}
		file.fill(body)
		for _, hb := range file.blocks {
			before := p.faults
			b := p.open(hb)
			b.checkName(isTitle, "use a title of at most 120 letters, digits and signs, with single blanks between words")
			taken.take("test", b.name)
			t := b.test()
			if len(t.Expectations) == 0 && p.faults == before {
				p.add(testEmpty(t))
			}
			p.config.Tests = append(p.config.Tests, t)
		}
	}
}

func (b *block) test() *Test {
	t := &Test{Name: b.name, Range: b.header, Policy: b.str("policy"), Bind: b.bind()}
	for _, hb := range b.blocks {
		if hb.Type == "allow" || hb.Type == "deny" {
			t.Expectations = append(t.Expectations, b.p.open(hb).expectations()...)
		}
	}
	return t
}

func (b *block) bind() []SlotPath {
	inner := b.single("bind")
	if inner == nil {
		return nil
	}
	var out []SlotPath
	for _, a := range inOrder(inner.hclAttributes()) {
		if s := inner.str(a.Name); !s.Range.IsZero() {
			out = append(out, SlotPath{String{a.Name, at(a.NameRange)}, literalText(s)})
		}
	}
	return out
}

// expectations are those of one allow or deny block, in source order.
func (b *block) expectations() []Expectation {
	by, limited := Text{}, false
	if it, ok := b.item("by", inPaths); ok {
		by, limited = b.p.onePath(it, "by")
	}
	var out []Expectation
	for _, a := range inOrder(b.hclAttributes()) {
		if a.Name == "by" {
			if b.attrs["connect"] == nil && b.attrs["request"] == nil {
				b.p.add(byWithoutConnect(at(a.NameRange)))
			}
			continue
		}
		if limited && a.Name != "connect" && a.Name != "request" {
			b.p.add(byMisplaced(at(a.NameRange), a.Name, by.Range))
			continue
		}
		word := String{a.Name, at(a.NameRange)}
		for _, it := range b.items(a.Name, inPaths) {
			objects, ok := b.p.objects(it, a.Name)
			if ok {
				out = append(out, Expectation{b.kind == "allow", word, objects, by, it.at})
			}
		}
	}
	return out
}

// objects are what one element of a list asks about.
func (p *parser) objects(it item, word string) ([]Text, bool) {
	what := "an element of " + word
	switch word {
	case "request":
		return p.methodAndURL(it, what)
	case "connect", "syscall":
		s, ok := p.str(it, what)
		if !ok {
			return nil, false
		}
		return []Text{literalText(s)}, true
	case "rename", "link":
		return p.pair(it, word)
	}
	t, ok := p.onePath(it, what)
	return []Text{t}, ok
}

// methodAndURL is one string that holds both, between them one blank.
func (p *parser) methodAndURL(it item, what string) ([]Text, bool) {
	s, ok := p.str(it, what)
	if !ok {
		return nil, false
	}
	method, url, two := strings.Cut(s.Value, " ")
	if !two {
		p.add(requestForm(s))
		return nil, false
	}
	return []Text{literalText(String{method, s.Range}), literalText(String{url, s.Range})}, true
}

// literalText is s as a text without holes.
func literalText(s String) Text {
	t := Text{Range: s.Range}
	if s.Value != "" {
		t.Parts = []Part{{LiteralPart, s.Value}}
	}
	return t
}

// pair is [from, to].
func (p *parser) pair(it item, word string) ([]Text, bool) {
	if _, ok := convertTo(it.value, list); !ok || it.value.IsMarked() {
		p.add(wrongType(it.at, "an element of "+word, "a list of two paths", it.value))
		return nil, false
	}
	elements := it.value.AsValueSlice()
	if len(elements) != 2 {
		p.add(pairLength(it.at, word, len(elements)))
		return nil, false
	}
	var out []Text
	for _, e := range elements {
		t, ok := p.onePath(item{e, it.at}, "a path of "+word)
		if !ok {
			return nil, false
		}
		out = append(out, t)
	}
	return out, true
}

// onePath is one path as a test names it: plain, for a request is about what is
// there.
func (p *parser) onePath(it item, what string) (Text, bool) {
	if plain, _ := it.value.Unmark(); !plain.IsNull() && plain.Type() != cty.String {
		p.add(wrongType(it.at, what, "a string", it.value))
		return Text{}, false
	}
	path, ok := p.path(it, what)
	if ok && path.Modifier != Plain {
		p.add(modifierInTest(it.at))
		return Text{}, false
	}
	return path.Text, ok
}

func testEmpty(t *Test) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "test-empty",
		At:      t.Range,
		Message: fmt.Sprintf("test %s asks nothing", quoted(t.Name.Value)),
		Help:    `say what must hold, as in deny { with read = ["/etc/shadow"] on the next line`,
	}
}

func requestForm(s String) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "request-malformed",
		At:      s.Range,
		Message: fmt.Sprintf("%s is no method and URL", quoted(s.Value)),
		Help:    `write both, as in "GET https://api.example.com/repos"`,
	}
}

func byWithoutConnect(r diag.Range) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "by-misplaced",
		At:      r,
		Message: "by names a program, and nothing in this block connects",
		Help:    `write connect = ["HOST:PORT"] beside it, or remove it`,
	}
}

func byMisplaced(r diag.Range, word string, by diag.Range) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "by-misplaced",
		At:      r,
		Message: fmt.Sprintf("the answer to %s is the same for every program, and this block is about one", word),
		Help:    "put it into a block of its own, without by",
		Related: []diag.Related{{At: by, Message: "the program"}},
	}
}

func pairLength(r diag.Range, word string, n int) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "pair-length",
		At:      r,
		Message: fmt.Sprintf("%s takes pairs of paths, and this list has %d", word, n),
		Help:    fmt.Sprintf(`write %s = [["${workspace}/old", "${workspace}/new"]]`, word),
	}
}

func modifierInTest(r diag.Range) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "modifier-misplaced",
		At:      r,
		Message: "a test asks about one path, and optional(…) and only(…) say what a policy grants",
		Help:    "write the path alone",
	}
}
