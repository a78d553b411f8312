package cmdline

import (
	"path"
	"slices"
	"strings"

	"github.com/obspc/obspc/lang/diag"
)

// wordsOf reads a text that is not NUL-separated.
func (c *Command) wordsOf(src []byte) []Word {
	shell, other := shellOf(src)
	if other != "" {
		c.findings.Add(otherShell(c.File, other))
		return nil
	}
	tokens, faults := lex(c.File, src, c.values, script{shell: shell})
	var last script
	// What variables hold can be commands that change others, so what is certain is
	// looked at again with the values in their places. It only becomes less.
	for pass := 0; !faults.HasErrors(); pass++ {
		of := survey(src, tokens)
		of.shell = shell
		if pass > 0 {
			if of = last.without(of); of.equals(last) {
				break
			}
			if pass > maxSurveys {
				of.certain, of.sureArrays = nil, nil
			}
		}
		last = of
		tokens, faults = lex(c.File, src, c.values, of)
	}
	c.findings.Add(faults...)
	if faults.HasErrors() {
		return nil
	}
	return c.commandOf(tokens)
}

// maxSurveys is how often a text is looked at again before nothing in it is certain.
const maxSurveys = 4

// commandOf is the words of the first bwrap command of a text; without one, all words
// are options.
func (c *Command) commandOf(tokens []token) []Word {
	if i := slices.IndexFunc(tokens, func(t token) bool { return t.ends == 0 }); i >= 0 && strings.HasPrefix(tokens[i].Text, "-") {
		return c.optionsOf(tokens)
	}
	first := program(tokens, 0)
	if first < 0 {
		if i := slices.IndexFunc(tokens, func(t token) bool { return t.ends == 0 }); i >= 0 {
			c.findings.Add(notOptions(tokens[i].At))
		}
		return nil
	}
	for i, t := range tokens {
		if redefines(tokens, i) {
			c.findings.Add(readOtherwise(t.At, "bwrap is a function or an alias of this script").Diagnostic)
			return nil
		}
	}
	var out []Word
	for i, t := range tokens[first:] {
		switch {
		case t.ends == 0:
			out = append(out, t.Word)
		case t.ends == '(':
			return append(out, Word{"(", t.At, true, readOtherwise(t.At, "a parenthesis without quotes ends the command, or is a pattern of names of files")})
		default:
			c.more(tokens[first+i:])
			return out
		}
	}
	return out
}

// optionsOf is the words of options in lines of their own.
func (c *Command) optionsOf(tokens []token) []Word {
	var out []Word
	for _, t := range tokens {
		switch {
		case t.ends == 0:
			out = append(out, t.Word)
		case t.ends != '\n':
			c.findings.Add(notOptions(t.At))
			return out
		}
	}
	return out
}

// starters are commands that start the one that follows, with the words that follow it.
var starters = []string{
	"exec", "command", "env", "nohup", "setsid", "sudo", "doas", "nice", "ionice", "chrt", "taskset", "timeout", "stdbuf", "unbuffer", "time",
	"systemd-run", "systemd-inhibit", "dbus-run-session", "strace", "gdb", "valgrind", "catchsegv", "prlimit", "unshare", "nsenter", "runuser",
}

// mentions are commands that name a program and do not start it.
var mentions = []string{"echo", "printf", "test", "[", "[[", "which", "type", "hash", "whereis", "man", "apt", "apt-get", "dnf", "yum", "apk", "pacman", "ls", "file", "stat", "pkill", "killall", "pgrep", "grep", "alias", "unset", "xargs", "parallel", "find"}

// program finds the next word that starts bwrap: one where a command stands, whatever
// follows, or one that an option follows.
func program(tokens []token, from int) int {
	for i := from; i < len(tokens); i++ {
		if tokens[i].ends != 0 || !isProgram(tokens[i].Word) || i+1 == len(tokens) || tokens[i+1].ends != 0 {
			continue
		}
		leads, mentioned := started(tokens, i)
		if leads || !mentioned && strings.HasPrefix(tokens[i+1].Text, "-") {
			return i
		}
	}
	return -1
}

// maxBefore is how many words before a program are looked at.
const maxBefore = 64

// started tells whether word i stands where a command does, and whether it is the
// argument of one that only names it.
func started(tokens []token, i int) (leads, mentioned bool) {
	start := i
	for start > 0 && tokens[start-1].ends == 0 {
		if start--; i-start > maxBefore {
			return false, false
		}
	}
	for words := tokens[start:i]; len(words) > 0; words = words[1:] {
		w := words[0].Text
		switch {
		case words[0].assigns || opens[w] != "" && w != "case" && w != "for" && w != "select":
		case slices.Contains([]string{"then", "do", "else", "elif", "!", "}", "fi", "done"}, w):
		case w == "command" && len(words) > 1 && strings.HasPrefix(strings.ToLower(words[1].Text), "-v"):
			return false, true
		default:
			name := path.Base(w)
			return slices.Contains(starters, name), slices.Contains(mentions, name)
		}
	}
	return true, false
}

// redefines tells that a word makes bwrap something else.
func redefines(tokens []token, i int) bool {
	before := func(text string) bool { return i > 0 && tokens[i-1].ends == 0 && tokens[i-1].Text == text }
	switch t := tokens[i]; {
	case t.ends != 0:
		return false
	case strings.HasPrefix(t.Text, "bwrap="):
		return before("alias")
	case t.Text != "bwrap":
		return false
	}
	return before("function") || i+1 < len(tokens) && tokens[i+1].ends == '('
}

// more says that only the first command is read.
func (c *Command) more(tokens []token) {
	if i := program(tokens, 0); i >= 0 {
		c.findings.Add(moreCommands(tokens[i].At))
	}
}

// notOptions reports a text that is neither a command of bwrap nor options.
func notOptions(at diag.Range) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Error, Code: "no-options", At: at,
		Message: "no command here is bwrap, so options were expected up to the end",
		Help:    "a program is bwrap when its name ends in bwrap, or when it is $BWRAP",
	}
}

// MoreCommands is the code of a warning that answers about the text need as well.
const MoreCommands = "more-commands"

// moreCommands reports a second command.
func moreCommands(at diag.Range) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Warning, Code: MoreCommands, At: at,
		Message: "only the first bwrap command of the text is read",
		Help:    "put each command into a file of its own",
	}
}
