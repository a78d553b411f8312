package scheme

import (
	"cmp"
	"strings"
)

var stringProcedures = append([]*Procedure{
	{Name: "string-append", Min: 0, Max: -1, Do: stringAppend},
	{Name: "substring", Min: 2, Max: 3, Do: substring},
	{Name: "string-length", Min: 1, Max: 1, Do: onString(func(_ *Call, s string) (Value, error) { return int64(len(s)), nil })},
	{Name: "string-ref", Min: 2, Max: 2, Do: func(c *Call) (Value, error) {
		s, ok := c.Args[0].(string)
		if !ok {
			return nil, c.wants(0, "a string")
		}
		i, ok := c.Args[1].(int64)
		if !ok || i < 0 || i >= int64(len(s)) {
			return nil, c.wants(1, "an index of the string")
		}
		return Char(s[i]), nil
	}},
	{Name: "string->symbol", Min: 1, Max: 1, Do: onString(func(c *Call, s string) (Value, error) {
		if len(s) > maxAtom {
			return nil, c.Fail(0, PastLimit, "a name holds at most %d bytes", maxAtom)
		}
		return Symbol(s), nil
	})},
	{Name: "symbol->string", Min: 1, Max: 1, Do: func(c *Call) (Value, error) {
		s, ok := c.Args[0].(Symbol)
		if !ok {
			return nil, c.wants(0, "a symbol")
		}
		return string(s), nil
	}},
	{Name: "string->list", Min: 1, Max: 1, Do: onString(func(c *Call, s string) (Value, error) {
		out := make([]Value, len(s))
		for i := range len(s) {
			out[i] = Char(s[i])
		}
		return List(out...), c.Machine.spend(len(s), c.At)
	})},
	{Name: "list->string", Min: 1, Max: 1, Do: func(c *Call) (Value, error) {
		items, ok := Items(c.Args[0])
		if !ok {
			return nil, c.wants(0, "a list of characters")
		}
		return charsToString(c, items)
	}},
	{Name: "string", Min: 0, Max: -1, Do: func(c *Call) (Value, error) { return charsToString(c, c.Args) }},
	{Name: "split-string", Min: 2, Max: 2, Do: splitString},
	{Name: "char->integer", Min: 1, Max: 1, Do: onChar(func(c Char) Value { return int64(c) })},
	{Name: "integer->char", Min: 1, Max: 1, Do: func(c *Call) (Value, error) {
		n, ok := c.Args[0].(int64)
		if !ok || n < 0 || n > 255 {
			return nil, c.wants(0, "an integer from 0 to 255")
		}
		return Char(n), nil
	}},
	{Name: "char-upcase", Min: 1, Max: 1, Do: onChar(func(c Char) Value { return Char(strings.ToUpper(string(rune(c)))[0]) })},
	{Name: "char-downcase", Min: 1, Max: 1, Do: onChar(func(c Char) Value { return Char(strings.ToLower(string(rune(c)))[0]) })},
	{Name: "char-numeric?", Min: 1, Max: 1, Do: onChar(func(c Char) Value { return c >= '0' && c <= '9' })},
	{Name: "char-alphabetic?", Min: 1, Max: 1, Do: onChar(func(c Char) Value { return c|0x20 >= 'a' && c|0x20 <= 'z' })},
	{Name: "char-whitespace?", Min: 1, Max: 1, Do: onChar(func(c Char) Value { return isSpace(byte(c)) })},
	predicate("string?", func(v Value) bool { _, ok := v.(string); return ok }),
	predicate("symbol?", func(v Value) bool { _, ok := v.(Symbol); return ok }),
	predicate("char?", func(v Value) bool { _, ok := v.(Char); return ok }),
}, orderings()...)

// orderings are the comparisons of strings and of characters.
func orderings() (out []*Procedure) {
	for suffix, holds := range map[string]func(int) bool{
		"=?": func(n int) bool { return n == 0 }, "<?": func(n int) bool { return n < 0 }, ">?": func(n int) bool { return n > 0 },
		"<=?": func(n int) bool { return n <= 0 }, ">=?": func(n int) bool { return n >= 0 },
	} {
		out = append(out,
			&Procedure{Name: "string" + suffix, Min: 2, Max: 2, Do: compare[string]("a string", holds)},
			&Procedure{Name: "char" + suffix, Min: 2, Max: 2, Do: compare[Char]("a character", holds)})
	}
	return out
}

func compare[T cmp.Ordered](what string, holds func(int) bool) func(*Call) (Value, error) {
	return func(c *Call) (Value, error) {
		a, ok := c.Args[0].(T)
		if !ok {
			return nil, c.wants(0, what)
		}
		b, ok := c.Args[1].(T)
		if !ok {
			return nil, c.wants(1, what)
		}
		return holds(cmp.Compare(a, b)), c.Machine.spend(cost(c.Args[0]), c.At)
	}
}

func onString(f func(*Call, string) (Value, error)) func(*Call) (Value, error) {
	return func(c *Call) (Value, error) {
		s, ok := c.Args[0].(string)
		if !ok {
			return nil, c.wants(0, "a string")
		}
		return f(c, s)
	}
}

func onChar(f func(Char) Value) func(*Call) (Value, error) {
	return func(c *Call) (Value, error) {
		char, ok := c.Args[0].(Char)
		if !ok {
			return nil, c.wants(0, "a character")
		}
		return f(char), nil
	}
}

func stringAppend(c *Call) (Value, error) {
	var b strings.Builder
	for i, arg := range c.Args {
		s, ok := arg.(string)
		if !ok {
			return nil, c.wants(i, "a string")
		}
		if b.Len()+len(s) > MaxText {
			return nil, c.Fail(-1, PastLimit, "a string holds at most %d bytes", MaxText)
		}
		b.WriteString(s)
	}
	return c.Text(b.String())
}

func substring(c *Call) (Value, error) {
	s, ok := c.Args[0].(string)
	if !ok {
		return nil, c.wants(0, "a string")
	}
	bounds := [2]int64{0, int64(len(s))}
	for i, arg := range c.Args[1:] {
		n, ok := arg.(int64)
		if !ok || n < 0 || n > int64(len(s)) {
			return nil, c.wants(i+1, "an index of the string")
		}
		bounds[i] = n
	}
	if bounds[0] > bounds[1] {
		return nil, c.Fail(-1, WrongArgument, "substring: %d lies after %d", bounds[0], bounds[1])
	}
	return c.Text(s[bounds[0]:bounds[1]])
}

func charsToString(c *Call, items []Value) (Value, error) {
	out := make([]byte, len(items))
	for i, item := range items {
		char, ok := item.(Char)
		if !ok {
			return nil, c.Fail(-1, WrongArgument, "%s: %s is no character", c.Name, Show(item))
		}
		out[i] = byte(char)
	}
	return c.Text(string(out))
}

// splitString cuts a string at each separator, a character or a string; the two
// arguments may stand in either order where their kinds tell them apart.
func splitString(c *Call) (Value, error) {
	text, by := c.Args[0], c.Args[1]
	if _, ok := text.(Char); ok {
		text, by = by, text
	}
	s, ok := text.(string)
	if !ok {
		return nil, c.wants(0, "a string")
	}
	separator, ok := by.(string)
	if char, isChar := by.(Char); isChar {
		separator, ok = string([]byte{byte(char)}), true
	}
	if !ok || separator == "" {
		return nil, c.wants(1, "a character or a string")
	}
	if _, err := c.Text(s); err != nil {
		return nil, err
	}
	parts := strings.Split(s, separator)
	out := make([]Value, len(parts))
	for i, p := range parts {
		out[i] = p
	}
	return List(out...), c.Machine.spend(len(parts), c.At)
}
