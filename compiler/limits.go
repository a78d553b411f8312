package compiler

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/lang/diag"
)

// unit is one way to write an amount, and how many of the IR's units it is.
type unit struct {
	suffix string
	amount int64
}

// measure is what a limit counts: its units and its range, in the IR's units.
type measure struct {
	units    []unit // none: a plain number
	least    int64
	most     int64
	example  string
	smallest string // least and largest as a policy writes them
	largest  string
}

var (
	millisecondUnits = []unit{{"ms", 1}, {"s", 1000}, {"m", 60_000}, {"h", 3_600_000}}
	byteUnits        = []unit{{"B", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
		{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}}
	secondUnits = []unit{{"s", 1}, {"m", 60}, {"h", 3600}}
)

// measures says for each limit how it is written. The kernel keeps cpu_time in
// whole seconds (RLIMIT_CPU), lets no process have more than 1,048,576
// descriptors (fs.nr_open), and numbers at most 4,194,304 processes
// (PID_MAX_LIMIT). Below 16 descriptors or 16 MiB the first process itself cannot
// work. A tmpfs counts whole pages.
var measures = map[ir.LimitName]measure{
	ir.Timeout:       {millisecondUnits, 1, 30 * 24 * 3_600_000, `"30s"`, "1ms", "720h"},
	ir.Memory:        {byteUnits, 16 << 20, 1 << 50, `"512MiB"`, "16MiB", "1024TiB"},
	ir.Processes:     {nil, 1, 1 << 22, "64", "1", "4194304"},
	ir.CPUTime:       {secondUnits, 1, 30 * 24 * 3600, `"30s"`, "1s", "720h"},
	ir.OpenFiles:     {nil, 16, 1 << 20, "256", "16", "1048576"},
	ir.FileSize:      {byteUnits, 1, 1 << 50, `"64MiB"`, "1B", "1024TiB"},
	ir.TmpSize:       {byteUnits, 4096, 1 << 40, `"64MiB"`, "4KiB", "1TiB"},
	ir.WorkspaceSize: {byteUnits, 4096, 1 << 50, `"1GiB"`, "4KiB", "1024TiB"},
	ir.Stdout:        {byteUnits, 1, 1 << 40, `"1MiB"`, "1B", "1TiB"},
	ir.Stderr:        {byteUnits, 1, 1 << 40, `"1MiB"`, "1B", "1TiB"},
}

// limits counts every limit in the IR's units.
func limits(c *compilation) {
	for _, b := range c.bodies {
		c.setting(b, limitScopeKind, "limits.scope", b.source.LimitScope)
		for _, l := range b.source.Limits {
			name := ir.LimitName(l.Name.Value)
			m, ok := measures[name]
			if !ok {
				diag.Bug("limit %q has no measure", l.Name.Value)
			}
			n, fault := m.count(l.Name.Value, l.Value, l.Number)
			if fault != nil {
				c.find(b, *fault)
				continue
			}
			at := l.Value.Range
			if l.Number != nil {
				at = l.Number.Range
			}
			b.add(key{kind: limitKind, name: l.Name.Value}, ir.Limit{Name: name, Value: n}, "limits."+l.Name.Value, at)
		}
	}
}

// count is the amount that the attribute name says, given as text or as a number.
func (m measure) count(name string, s lang.String, plain *lang.Integer) (int64, *diag.Diagnostic) {
	if plain != nil {
		switch {
		case m.units != nil:
			return 0, unitMissing(name, *plain, m)
		case plain.Value < m.least || plain.Value > m.most:
			return 0, amountRange(name, plain.Range, m)
		}
		return plain.Value, nil
	}
	if m.units == nil {
		return 0, unitless(name, s, m)
	}
	n, ok := m.amount(s.Value)
	switch {
	case !ok:
		return 0, unitUnknown(name, s, m)
	case n < m.least || n > m.most:
		return 0, amountRange(name, s.Range, m)
	}
	return n, nil
}

// amount reads whole numbers, each with a unit; of several, as in 1m30s, each
// unit is smaller than the one before. What overflows is past every range.
func (m measure) amount(s string) (int64, bool) {
	total, before := int64(0), int64(math.MaxInt64)
	for s != "" {
		digits := s[:len(s)-len(strings.TrimLeft(s, "0123456789"))]
		s = s[len(digits):]
		name := s[:len(s)-len(strings.TrimLeft(s, letters))]
		s = s[len(name):]
		i := slices.IndexFunc(m.units, func(u unit) bool { return u.suffix == name })
		if digits == "" || i < 0 || m.units[i].amount >= before {
			return 0, false
		}
		before = m.units[i].amount
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n > (math.MaxInt64-total)/before {
			total = math.MaxInt64
			continue
		}
		total += n * before
	}
	return total, before != math.MaxInt64
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// list is the units for a reader.
func (m measure) list() string {
	words := make([]string, len(m.units))
	for i, u := range m.units {
		words[i] = u.suffix
	}
	return strings.Join(words, ", ")
}

// unitUnknown reports an amount that is no whole number with a unit.
func unitUnknown(name string, s lang.String, m measure) *diag.Diagnostic {
	return &diag.Diagnostic{
		Code:    "unit",
		At:      s.Range,
		Message: fmt.Sprintf("%s = %q is not a whole number with a unit that %s has", name, s.Value, name),
		Help:    fmt.Sprintf("units are %s, as in %s = %s", m.list(), name, m.example),
	}
}

// unitMissing reports a bare number whose unit a reader would have to guess.
func unitMissing(name string, n lang.Integer, m measure) *diag.Diagnostic {
	return &diag.Diagnostic{
		Code:    "unit",
		At:      n.Range,
		Message: fmt.Sprintf("%s = %d has no unit", name, n.Value),
		Help:    fmt.Sprintf("units are %s, as in %s = %s", m.list(), name, m.example),
	}
}

// unitless reports text where a plain number is counted.
func unitless(name string, s lang.String, m measure) *diag.Diagnostic {
	return &diag.Diagnostic{
		Code:    "unit",
		At:      s.Range,
		Message: fmt.Sprintf("%s = %q is not a plain number", name, s.Value),
		Help:    fmt.Sprintf("it has no unit: write %s = %s", name, m.example),
	}
}

// amountRange reports an amount that is too small or too large to be kept.
func amountRange(name string, at diag.Range, m measure) *diag.Diagnostic {
	return &diag.Diagnostic{
		Code:    "limit-range",
		At:      at,
		Message: fmt.Sprintf("%s is out of range", name),
		Help:    fmt.Sprintf("it goes from %s to %s", m.smallest, m.largest),
	}
}
