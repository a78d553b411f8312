package cmdline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/obspc/obspc/lang/diag"
)

// use is one option of a command line with its arguments.
type use struct {
	option
	word Word
	args []Word
}

// at is the option with its arguments.
func (u use) at() diag.Range {
	r := u.word.At
	if n := len(u.args); n > 0 {
		r.End = u.args[n-1].At.End
	}
	return r
}

// words are the option and its arguments.
func (u use) words() []string {
	words := []string{u.word.Text}
	for _, a := range u.args {
		words = append(words, a.Text)
	}
	return words
}

// shellText is words as they could be written in a shell.
func shellText(words []string) string {
	var out []string
	for _, w := range words {
		out = append(out, quote(w))
	}
	return strings.Join(out, " ")
}

// quote is a word that a shell reads back; unknown parts stay as they are.
func quote(text string) string {
	if text != "" && !strings.ContainsAny(text, " \t\n'\"\\#;&|()<>`*?[]~") {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// Read reads a command line: NUL-separated arguments (of bwrap, as in
// /proc/PID/cmdline, or what `bwrap --args FD` reads), a shell command, or options in
// lines of their own. What bwrap would refuse is in the list; the Command then has
// what was understood. file is for messages.
func Read(file string, src []byte, o Options) (*Command, diag.List) {
	c := &Command{File: file, Environment: Environment{Inherited: true}, values: o.Values, release: o.Release, Needs: Version{0, 1, 0}}
	c.Capabilities.Root.All = true
	for _, name := range namespaceNames {
		c.Namespaces = append(c.Namespaces, Namespace{Name: name})
	}
	if len(src) > MaxText {
		c.findings.Add(tooLong(file, len(src)))
		return c, c.findings
	}
	if c.stream = isStream(src); c.stream {
		c.words = splitStream(file, src)
	} else {
		c.words = c.wordsOf(src)
	}
	if !c.findings.HasErrors() {
		c.take(c.program())
		c.apply()
		c.require()
	}
	if !c.findings.HasErrors() {
		c.build()
	}
	return c, c.findings.Sorted()
}

// program takes argv[0] off. Without one, a stream is what --args reads.
func (c *Command) program() []Word {
	switch {
	case len(c.words) == 0:
		c.findings.Add(empty(c.File))
	case c.words[0].fault != nil:
		c.findings.Add(c.words[0].fault.Diagnostic)
	case isProgram(c.words[0]) || c.stream && !strings.HasPrefix(c.words[0].Text, "-"):
		c.Program = c.words[0].Text
		return c.words[1:]
	default:
		c.inFile = c.stream
	}
	return c.words
}

// take goes through the options.
func (c *Command) take(words []Word) {
	if len(words) > maxWords {
		c.findings.Add(tooManyWords(words[maxWords].At))
	}
	for len(words) > 0 {
		w := words[0]
		o, known := optionNamed(w.Text)
		switch {
		case w.Text == "--":
			c.behind(words[1:])
			return
		case w.fault != nil && !w.fault.counts:
			c.findings.Add(w.fault.Diagnostic)
			return
		case w.Unknown:
			c.findings.Add(unknownWord(w))
			return
		case !strings.HasPrefix(w.Text, "-"):
			c.behind(words)
			return
		case !known:
			c.findings.Add(unknownOption(w))
			return
		case len(words) <= len(o.args) && !slices.ContainsFunc(words, func(w Word) bool { return w.fault != nil }):
			c.findings.Add(missingArgument(w, len(o.args)))
			return
		}
		u := use{o, w, words[1:min(1+len(o.args), len(words))]}
		if i := slices.IndexFunc(u.args, func(a Word) bool { return a.fault != nil }); i >= 0 {
			c.findings.Add(u.args[i].fault.Diagnostic)
			return
		}
		c.checkArguments(u)
		if c.options = append(c.options, u); c.Needs.Before(o.since) {
			c.Needs, c.By = o.since, o.name
		}
		if c.release != (Version{}) && c.release.Before(o.since) {
			c.findings.Add(newerOption(u, c.release))
		}
		words = words[1+len(o.args):]
	}
}

// behind is what follows the options: a command, or what --args drops.
func (c *Command) behind(words []Word) {
	if c.inFile {
		if len(words) > 0 {
			c.dropped = &words[0]
		}
		return
	}
	for _, w := range words {
		c.Argv = append(c.Argv, w.Text)
	}
	if len(words) > 0 {
		c.dropped = &words[0]
	}
}

// tooLong reports more than is read.
func tooLong(file string, n int) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Error, Code: "text-too-long", At: diag.Range{File: file},
		Message: fmt.Sprintf("the text has %d bytes; at most %d are read", n, MaxText),
		Help:    "give a file that holds one command line of bwrap",
	}
}

// empty reports a text without a word.
func empty(file string) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Error, Code: "no-options", At: diag.Range{File: file},
		Message: "there is no option of bwrap here",
		Help:    "give a shell command that starts bwrap, its options in lines of their own, or NUL-separated arguments",
	}
}

// tooManyWords reports the argument that bwrap refuses.
func tooManyWords(at diag.Range) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Error, Code: "too-many-arguments", At: at,
		Message: fmt.Sprintf("bwrap takes %d arguments in all", maxWords),
		Help:    "bind directories instead of the files in them",
	}
}

// unknownWord reports an option that only a shell would know.
func unknownWord(w Word) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Error, Code: "unknown-word", At: w.At,
		Message: fmt.Sprintf("%s stands where an option does, and what it is decides how the rest is read", w.Text),
		Help:    "give the variable its value (--param NAME=VALUE), or write the words themselves",
	}
}

// unknownOption reports an option that no bwrap has.
func unknownOption(w Word) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Error, Code: "unknown-option", At: w.At,
		Message: fmt.Sprintf("bwrap has no option %q", w.Text),
		Help:    nearest(w.Text),
	}
}

// missingArgument reports an option at the end that wants more.
func missingArgument(w Word, n int) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Error, Code: "missing-argument", At: w.At,
		Message: fmt.Sprintf("%s takes %d argument%s, and the words end before", w.Text, n, plural(n)),
		Help:    "bwrap takes the words behind an option as its arguments, whatever they are",
	}
}

// newerOption reports an option that the release to be run lacks.
func newerOption(u use, release Version) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Error, Code: "newer-option", At: u.word.At,
		Message: fmt.Sprintf("bubblewrap %s has no %s: it came with %s", release, u.name, u.since),
		Help:    "ask for a newer bubblewrap, or leave the option out",
	}
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// nearest names the option that a word is a slip of.
func nearest(word string) string {
	best, distance := "", 3
	for _, o := range options {
		if d := edits(word, o.name); d < distance {
			best, distance = o.name, d
		}
	}
	if best == "" {
		return "the options of bubblewrap 0.1 to 0.13 are known here"
	}
	return "did you mean " + best + "?"
}

// edits is the Levenshtein distance of two words, at most of the length of one.
func edits(a, b string) int {
	if len(a) > 64 {
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		left := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			left, row[j] = row[j], min(row[j]+1, row[j-1]+1, left+cost)
		}
	}
	return row[len(b)]
}
