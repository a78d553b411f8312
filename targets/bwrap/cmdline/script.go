package cmdline

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/obspc/obspc/lang/diag"
)

// script is what a text says of itself beside its words.
type script struct {
	// shell is "bash", "sh" for what need not be bash, "" when the text does not say.
	shell string
	// ifs: something sets IFS, so where values are split is not known.
	ifs bool
	// certain are the variables that have one value from one line on, whatever happens.
	certain map[string]bool
	// sureArrays are the arrays that hold the same words in each line, whatever happens;
	// madeArrays are all that the text makes.
	sureArrays, madeArrays map[string]bool
	// assigned are the variables that the text may change.
	assigned map[string]bool
}

// shells are the interpreters whose words are read here.
var shells = map[string]string{"bash": "bash", "sh": "sh", "dash": "sh", "ash": "sh", "ksh": "sh", "mksh": "sh", "busybox": "sh"}

// shellOf reads the first line of a script; other is an interpreter that is no such shell.
func shellOf(src []byte) (shell, other string) {
	line, _, _ := bytes.Cut(src, []byte("\n"))
	if !bytes.HasPrefix(line, []byte("#!")) {
		return "", ""
	}
	for _, w := range strings.Fields(string(line[2:])) {
		name := path.Base(w)
		if name == "env" || strings.HasPrefix(w, "-") || strings.Contains(w, "=") {
			continue
		}
		if shell = shells[name]; shell == "" {
			other = name
		}
		return shell, other
	}
	return "", ""
}

func isName(text string) bool {
	return text != "" && strings.Trim(text, nameBytes) == "" && (text[0] < '0' || text[0] > '9')
}

// assigning tells that the word that is being read is an assignment, in which nothing
// is split.
func (l *lexer) assigning() bool { return l.first && l.marks.assigns && !l.lines }

// command is what is read of the command at hand.
func (l *lexer) command() []token {
	for i := len(l.out) - 1; i >= 0; i-- {
		if l.out[i].ends != 0 {
			return l.out[i+1:]
		}
	}
	return l.out
}

func onlyAssignments(words []token) bool {
	return !slices.ContainsFunc(words, func(t token) bool { return !t.assigns })
}

// assign notes the values that the command at hand gives to variables for good.
func (l *lexer) assign() {
	words := declared(l.command())
	if !onlyAssignments(words) {
		return
	}
	for _, w := range words {
		if w.array != nil {
			l.assignArray(w.array)
			continue
		}
		name, value, _ := strings.Cut(w.Text, "=")
		if !l.certain[name] {
			continue
		}
		if delete(l.values, name); !w.Unknown && w.fault == nil && !w.split {
			l.values[name] = value
		}
	}
}

// elsewhere are words after which a variable may change unseen.
var elsewhere = []string{"eval", "source", ".", "trap", "alias", "builtin", "declare", "typeset"}

// own are variables that bash sets itself, or of which it takes no value.
var own = map[string]bool{
	"REPLY": true, "MAPFILE": true, "COPROC": true, "OPTARG": true, "OPTIND": true, "PWD": true, "OLDPWD": true, "DIRSTACK": true, "FUNCNAME": true,
	"GROUPS": true, "PIPESTATUS": true, "UID": true, "EUID": true, "PPID": true, "BASHOPTS": true, "SHELLOPTS": true, "COMPREPLY": true,
	"RANDOM": true, "SRANDOM": true, "SECONDS": true, "LINENO": true, "_": true, "BASH_REMATCH": true, "BASH_VERSINFO": true, "BASH_ARGV": true,
	"BASH_ARGC": true, "BASH_LINENO": true, "BASH_SOURCE": true, "BASHPID": true, "EPOCHSECONDS": true, "EPOCHREALTIME": true, "HISTCMD": true,
}

// opens and closes are the reserved words around commands that may not run, or not once.
var (
	opens  = map[string]string{"if": "fi", "case": "esac", "while": "done", "until": "done", "for": "done", "select": "done", "{": "}"}
	closes = []string{"fi", "esac", "done", "}"}
)

// expands finds expansions, arithmetic and redirections that assign.
var expands = regexp.MustCompile(`\(\(|\$\[|\$\{[A-Za-z_0-9]+(\[[^]]*\])?:?=|\$\{[A-Za-z_0-9]+\[[^]]*=|\$\{[^}]*:[^-+?=}][^}]*=|\{[A-Za-z_0-9]+\}[<>]`)

// survey finds the variables that are assigned once in the whole text, by a command of
// assignments alone that runs in any case.
func survey(src []byte, tokens []token) script {
	s := script{certain: map[string]bool{}, sureArrays: map[string]bool{}, madeArrays: map[string]bool{}, assigned: map[string]bool{}}
	seen, arrays, fixed := map[string]int{}, map[string]int{}, map[string]bool{}
	var inside []string
	broken := expands.Match(src)
	for i := 0; i < len(tokens); {
		start := i
		for i < len(tokens) && tokens[i].ends != 0 {
			switch top := len(inside) - 1; {
			case tokens[i].ends == '(':
				inside = append(inside, ")")
			case tokens[i].ends == ')' && top >= 0 && inside[top] == ")":
				inside = inside[:top]
			}
			i++
		}
		before := tokens[start:i]
		for start = i; i < len(tokens) && tokens[i].ends == 0; {
			i++
		}
		words := tokens[start:i]
		alone := len(inside) == 0 && !joined(before) && !joined(tokens[i:min(i+1, len(tokens))]) && !background(tokens[i:])
		inside, broken = compound(inside, words, broken)
		forGood := len(words) > 0 && words[0].Text == "readonly"
		words = declared(words)
		broken = broken || slices.ContainsFunc(words, func(t token) bool { return slices.Contains(elsewhere, t.Text) }) || namesUnseen(words)
		only := alone && onlyAssignments(words)
		for _, name := range joinedNames(words) {
			seen[name]++
			s.assigned[name] = true
		}
		for _, w := range words {
			name := changed(w.Text)
			if name == "" {
				continue
			}
			seen[name]++
			fixed[name] = fixed[name] || forGood
			s.assigned[name] = true
			s.madeArrays[name] = s.madeArrays[name] || w.array != nil
			switch {
			case only && w.array != nil:
				arrays[name]++
			case only:
				s.certain[name] = true
			}
		}
	}
	s.ifs = seen["IFS"] > 0
	sure := func(name string, n int) bool {
		// What is assigned after readonly fails, and the script goes on.
		return !broken && len(inside) == 0 && seen[name] == n && !own[name] && (n == 1 || !fixed[name])
	}
	for name := range s.certain {
		if !sure(name, 1) {
			delete(s.certain, name)
		}
	}
	for name, n := range arrays {
		if sure(name, n) {
			s.sureArrays[name] = true
		}
	}
	return s
}

// naming are commands whose arguments name the variables that they change.
var naming = []string{"unset", "read", "mapfile", "readarray", "let", "export", "readonly", "local", "getopts", "printf", "wait"}

// namesUnseen tells that a command may change a variable whose name is not known, or
// under another name.
func namesUnseen(words []token) bool {
	at := slices.IndexFunc(words, func(t token) bool { return slices.Contains(naming, t.Text) })
	if at < 0 {
		return false
	}
	values := words[at].Text == "printf" || words[at].Text == "wait"
	for i, w := range words[at+1:] {
		before := words[at+i].Text
		switch {
		case words[at].Text == "local" && strings.HasPrefix(w.Text, "-") && strings.Contains(w.Text, "n"):
			return true
		case w.Unknown && !w.assigns && (!values || before == "-v" || before == "-p" || strings.HasPrefix(w.Text, "-")):
			return true
		}
	}
	return false
}

// joinedNames are the variables that a command may name in the word of an option, as
// printf -vNAME and read -raNAME do.
func joinedNames(words []token) (names []string) {
	at := slices.IndexFunc(words, func(t token) bool { return slices.Contains(naming, t.Text) })
	if at < 0 {
		return nil
	}
	for _, w := range words[at+1:] {
		if !strings.HasPrefix(w.Text, "-") || len(w.Text) > 64 {
			continue
		}
		for i := 2; i < len(w.Text); i++ {
			if name := changed(w.Text[i:]); name != "" {
				names = append(names, name)
			}
		}
	}
	return names
}

// joined tells that commands before or behind these ends decide whether one runs, or
// that it runs in a process of its own.
func joined(ends []token) bool {
	for i, t := range ends {
		if t.ends == '|' || t.ends == '&' && i+1 < len(ends) && ends[i+1].ends == '&' {
			return true
		}
	}
	return false
}

// background tells that the command before runs in a process of its own.
func background(rest []token) bool {
	return len(rest) > 0 && rest[0].ends == '&' && (len(rest) == 1 || rest[1].ends != '&')
}

// compound follows the reserved words that a command begins with.
func compound(inside []string, words []token, broken bool) ([]string, bool) {
	for len(words) > 0 {
		switch w := words[0].Text; {
		case w == "function":
			words = words[min(2, len(words)):]
			continue
		case opens[w] != "":
			inside = append(inside, opens[w])
			if w == "case" || w == "for" || w == "select" {
				return inside, broken
			}
		case slices.Contains(closes, w):
			if len(inside) == 0 || inside[len(inside)-1] != w {
				return inside, true
			}
			inside = inside[:len(inside)-1]
		case w == "then" || w == "do" || w == "else" || w == "elif" || w == "!" || w == "time":
		default:
			return inside, broken
		}
		words = words[1:]
	}
	return inside, broken
}

// changed is the variable that a word may be about: of X, X=…, X+=…, X[1]=… and ++X.
func changed(text string) string {
	text = strings.TrimLeft(text, "+-")
	name := text[:len(text)-len(strings.TrimLeft(text, nameBytes))]
	if !isName(name) || strings.HasPrefix(text[len(name):], "/") {
		return ""
	}
	return name
}

// otherShell reports a script whose words are read otherwise.
func otherShell(file, name string) diag.Diagnostic {
	at := diag.Range{File: file, Start: diag.Pos{Line: 1, Column: 1}, End: diag.Pos{Line: 1, Column: 3, Byte: 2}}
	return diag.Diagnostic{
		Severity: diag.Error, Code: "bwrap-other-shell", At: at,
		Message: fmt.Sprintf("the script is for %s; the words of sh and bash are read here", name),
		Help:    "give the words that bwrap gets; /proc/PID/cmdline of a running one has them",
	}
}
