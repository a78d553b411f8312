package scheme

import (
	"math"
	"strconv"
)

var numberProcedures = []*Procedure{
	{Name: "+", Min: 0, Max: -1, Do: fold(0, add)},
	{Name: "*", Min: 0, Max: -1, Do: fold(1, multiply)},
	{Name: "-", Min: 1, Max: -1, Do: subtract},
	{Name: "quotient", Min: 2, Max: 2, Do: integers(func(a, b int64) int64 { return a / b })},
	{Name: "remainder", Min: 2, Max: 2, Do: integers(func(a, b int64) int64 { return a % b })},
	{Name: "modulo", Min: 2, Max: 2, Do: integers(func(a, b int64) int64 { return (a%b + b) % b })},
	{Name: "=", Min: 1, Max: -1, Do: compareNumbers(func(a, b float64) bool { return a == b })},
	{Name: "<", Min: 1, Max: -1, Do: compareNumbers(func(a, b float64) bool { return a < b })},
	{Name: ">", Min: 1, Max: -1, Do: compareNumbers(func(a, b float64) bool { return a > b })},
	{Name: "<=", Min: 1, Max: -1, Do: compareNumbers(func(a, b float64) bool { return a <= b })},
	{Name: ">=", Min: 1, Max: -1, Do: compareNumbers(func(a, b float64) bool { return a >= b })},
	{Name: "max", Min: 1, Max: -1, Do: pick(func(a, b float64) bool { return a > b })},
	{Name: "min", Min: 1, Max: -1, Do: pick(func(a, b float64) bool { return a < b })},
	{Name: "abs", Min: 1, Max: 1, Do: func(c *Call) (Value, error) {
		f, ok := asFloat(c.Args[0])
		if !ok {
			return nil, c.wants(0, "a number")
		}
		if f < 0 {
			return subtract(c)
		}
		return c.Args[0], nil
	}},
	{Name: "zero?", Min: 1, Max: 1, Do: numberTest(func(f float64) bool { return f == 0 })},
	{Name: "positive?", Min: 1, Max: 1, Do: numberTest(func(f float64) bool { return f > 0 })},
	{Name: "negative?", Min: 1, Max: 1, Do: numberTest(func(f float64) bool { return f < 0 })},
	{Name: "even?", Min: 1, Max: 1, Do: numberTest(func(f float64) bool { return math.Mod(f, 2) == 0 })},
	{Name: "odd?", Min: 1, Max: 1, Do: numberTest(func(f float64) bool { return math.Mod(f, 2) != 0 })},
	{Name: "number->string", Min: 1, Max: 2, Do: numberToString},
	{Name: "string->number", Min: 1, Max: 2, Do: stringToNumber},
	predicate("number?", func(v Value) bool { _, ok := asFloat(v); return ok }),
	predicate("integer?", func(v Value) bool { f, ok := asFloat(v); return ok && f == math.Trunc(f) }),
	predicate("real?", func(v Value) bool { _, ok := asFloat(v); return ok }),
}

// predicate is a procedure that tests one value.
func predicate(name string, test func(Value) bool) *Procedure {
	return &Procedure{Name: name, Min: 1, Max: 1, Do: func(c *Call) (Value, error) { return test(c.Args[0]), nil }}
}

func asFloat(v Value) (float64, bool) {
	switch n := v.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, true
	}
	return 0, false
}

func numberTest(test func(float64) bool) func(*Call) (Value, error) {
	return func(c *Call) (Value, error) {
		f, ok := asFloat(c.Args[0])
		if !ok {
			return nil, c.wants(0, "a number")
		}
		return test(f), nil
	}
}

// add and multiply are exact on integers that fit; ok is false when the result
// does not.
func add(a, b int64) (int64, bool) {
	sum := a + b
	return sum, (sum > a) == (b > 0)
}

func multiply(a, b int64) (int64, bool) {
	if a == 0 || b == 0 {
		return 0, true
	}
	product := a * b
	return product, product/b == a && (a != -1 || b != math.MinInt64) && (b != -1 || a != math.MinInt64)
}

// fold combines all arguments, as integers while they are and fit.
func fold(start int64, exact func(a, b int64) (int64, bool)) func(*Call) (Value, error) {
	return func(c *Call) (Value, error) {
		var out Value = start
		for i, arg := range c.Args {
			var ok bool
			if out, ok = combineNumbers(out, arg, start == 1, exact); !ok {
				return nil, c.wants(i, "a number")
			}
		}
		return out, nil
	}
}

func combineNumbers(a, b Value, product bool, exact func(a, b int64) (int64, bool)) (Value, bool) {
	x, isInt := a.(int64)
	if y, ok := b.(int64); ok && isInt {
		if n, fits := exact(x, y); fits {
			return n, true
		}
	}
	f, _ := asFloat(a)
	g, ok := asFloat(b)
	if product {
		return f * g, ok
	}
	return f + g, ok
}

func subtract(c *Call) (Value, error) {
	args := c.Args
	var out Value = int64(0)
	if len(args) > 1 {
		out, args = args[0], args[1:]
		if _, ok := asFloat(out); !ok {
			return nil, c.wants(0, "a number")
		}
	}
	for i, arg := range args {
		var minus Value
		switch n := arg.(type) {
		case int64:
			if minus = -n; n == math.MinInt64 {
				minus = -float64(n)
			}
		case float64:
			minus = -n
		default:
			return nil, c.wants(i+len(c.Args)-len(args), "a number")
		}
		out, _ = combineNumbers(out, minus, false, add)
	}
	return out, nil
}

// integers is division, by anything but 0.
func integers(divide func(a, b int64) int64) func(*Call) (Value, error) {
	return func(c *Call) (Value, error) {
		a, ok := c.Args[0].(int64)
		if !ok {
			return nil, c.wants(0, "an integer")
		}
		b, ok := c.Args[1].(int64)
		if !ok || b == 0 {
			return nil, c.wants(1, "an integer other than 0")
		}
		return divide(a, b), nil
	}
}

func compareNumbers(holds func(a, b float64) bool) func(*Call) (Value, error) {
	return func(c *Call) (Value, error) {
		last := 0.0
		out := true
		for i, arg := range c.Args {
			f, ok := asFloat(arg)
			if !ok {
				return nil, c.wants(i, "a number")
			}
			out = out && (i == 0 || holds(last, f))
			last = f
		}
		return out, nil
	}
}

func pick(better func(a, b float64) bool) func(*Call) (Value, error) {
	return func(c *Call) (Value, error) {
		best := 0
		for i, arg := range c.Args {
			f, ok := asFloat(arg)
			if !ok {
				return nil, c.wants(i, "a number")
			}
			if have, _ := asFloat(c.Args[best]); better(f, have) {
				best = i
			}
		}
		return c.Args[best], nil
	}
}

// radix is the optional second argument of the two conversions.
func radix(c *Call) (int, error) {
	if len(c.Args) < 2 {
		return 10, nil
	}
	n, ok := c.Args[1].(int64)
	if !ok || n < 2 || n > 36 {
		return 0, c.wants(1, "a radix from 2 to 36")
	}
	return int(n), nil
}

func numberToString(c *Call) (Value, error) {
	base, err := radix(c)
	if err != nil {
		return nil, err
	}
	switch n := c.Args[0].(type) {
	case int64:
		return strconv.FormatInt(n, base), nil
	case float64:
		return strconv.FormatFloat(n, 'g', -1, 64), nil
	}
	return nil, c.wants(0, "a number")
}

func stringToNumber(c *Call) (Value, error) {
	base, err := radix(c)
	if err != nil {
		return nil, err
	}
	s, ok := c.Args[0].(string)
	if !ok {
		return nil, c.wants(0, "a string")
	}
	if len(s) > maxAtom {
		return false, nil
	}
	if base == 10 {
		if v, ok := number(s); ok {
			return v, nil
		}
		return false, nil
	}
	if n, err := strconv.ParseInt(s, base, 64); err == nil {
		return n, nil
	}
	return false, nil
}
