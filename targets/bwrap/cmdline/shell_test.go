package cmdline_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/targets/bwrap/cmdline"
	"github.com/obspc/obspc/testdata/cases"
)

// TestShellWords: what only a shell knows is refused where bwrap would get it, and what
// is certain is read. want is the operations, or "!" and the code of the error.
func TestShellWords(t *testing.T) {
	t.Parallel()
	const many, other = "!bwrap-many-words", "!bwrap-shell-word"
	for _, tt := range []struct{ text, want string }{
		// The program, and what stands before it.
		{"#!/bin/sh\nexec bwrap $OPTS --unshare-all bash", "!unknown-word"},
		{"#!/bin/sh\nOPTS=\"--bind /a /b\"\nexec bwrap $OPTS --unshare-all bash", "--bind /a /b"},
		{"set -e\nsudo -u x bwrap \"$OPTS\" ls", "!unknown-word"},
		{"A=1 bwrap $OPTS ls", "!unknown-word"},
		{"if true; then bwrap $OPTS ls; fi", "!unknown-word"},
		{"bwrap\\\n  $OPTS ls", "!unknown-word"},
		{"set -e\nls /a\n", "!no-options"},
		{"ls", "!no-options"},
		{"$OPTS", "!no-options"},
		{"command -v bwrap\necho bwrap --x\ntest -x /bin/bwrap -a 1\nbwrap --dir /a ls", "--dir /a"},
		{"cat <<EOF\nit's bwrap --dir /x\nEOF\nbwrap --dir /a ls", "--dir /a"},
		{"cat <<-'E F'; bwrap --dir /a ls\n\tbwrap --dir /x\n\tE F\n", "--dir /a"},
		{"bwrap() { command bwrap --dir /a \"$@\"; }\nbwrap --dir /b ls", other},
		{"alias bwrap='bwrap --bind / /'\nbwrap --dir /b ls", other},
		{"#!/usr/bin/fish\nbwrap --dir /a ls", "!bwrap-other-shell"},
		{"#!/usr/bin/env -S zsh -f\nbwrap --dir /a ls", "!bwrap-other-shell"},
		{"#!/usr/bin/env bash\nbwrap --dir /a ls", "--dir /a"},
		// Patterns and braces.
		{"bwrap --bind /d/d* /d/d* true", many},
		{"bwrap --tmpfs /root/.s? true", many},
		{"bwrap --tmpfs /root/[ab] true", many},
		{"bwrap --dir /[ --dir /] --dir '/a*'\"?\"\\[b] true", "--dir /[|--dir /]|--dir /a*?[b]"},
		{"bwrap {--bind,/a,/a} true", many},
		{"bwrap --dir /{1..3} true", many},
		{"bwrap --dir /{a} --dir '/{a,b}' --dir /\\{a,b} true", "--dir /{a}|--dir /{a,b}|--dir /{a,b}"},
		{"bwrap --dir /a -- ls * {a,b} $X \"$@\"", "--dir /a"},
		{"bwrap --dir /a ls *", "--dir /a"},
		{"bwrap --dir /!(a) ls", other},
		{"--tmpfs /a*", many},
		{"--tmpfs /{a,b}", "--tmpfs /{a,b}"},
		// Other quotes.
		{`bwrap --dir $'/a\tb\'\x41\101\u0041\q\\' ls`, "--dir '/a\tb\\''AAA\\q\\'"},
		{`bwrap --dir $'/a\0b'c --dir "$'/a'" ls`, "--dir /ac|--dir $\\/a\\"},
		{`bwrap --dir $'/\u00e9' ls`, other},
		{`bwrap --dir $'/\cA' ls`, other},
		{"#!/bin/sh\nbwrap --dir $'/a' ls", other},
		{"#!/bin/bash\nbwrap --dir $'/a' ls", "--dir /a"},
		{`bwrap --bind $"/a" $"/a" ls`, other},
		{"bwrap --dir $'/a", "!bwrap-unclosed"},
		// Homes.
		{"bwrap --bind ~root/x ~root/x true", "--bind ${home of root}/x ${home of root}/x"},
		{"bwrap --bind ~+ ~+/a true", "--bind ${PWD} ${PWD}/a"},
		{"bwrap --dir ~\"root\" --dir /~root --dir \\~root true", "--dir ~root|--dir /~root|--dir ~root"},
		{"bwrap --bind a=~/b /b true", other},
		// Variables and outputs without quotes.
		{"bwrap --setenv FOO $(cat args) true", many},
		{"bwrap --setenv FOO `cat args` true", many},
		{"bwrap --bind $X /a true", many},
		{"bwrap --bind ${X} /a true", many},
		{"bwrap --bind /a/$X /a true", many},
		{"bwrap --bind \"/a/$X\" \"/a/${X%/*}\" true", "--bind /a/${X} '/a/${X at 1:26}'"},
		{"bwrap --dir \"/$$\" --dir \"/$RANDOM\" --dir \"/$RANDOM\" ls", "--dir '/${$$, at 1:15}'|--dir '/${RANDOM at 1:27}'|--dir '/${RANDOM at 1:44}'"},
		{"bwrap --dir \"/${A:-${B}}/c\" --dir \"/$(echo ')')/c\" ls", "--dir '/${A at 1:15}/c'|--dir '/${output of 1:38}/c'"},
		{"bwrap --file 5 <(gen) ls", "--file 5 ${output of 1:17}"},
		{"bwrap --dir ${K} --dir $K/b ls", "--dir /k|--dir /k/b"},
		{"bwrap --dir $L ls", "--dir /k|--bind /a /b"},
		{"bwrap --dir /x$L ls", "--dir /x/k|--bind /a /b"},
		{"bwrap --dir $E/x $E --dir /y ls", "--dir /x|--dir /y"},
		{"bwrap --dir $G ls", many},
		{"bwrap --dir \"$G\" --dir \"$L\" ls", "--dir /g*|--dir '/k --bind /a /b'"},
		{"--bind $L /x", "--bind '/k --bind /a /b' /x"},
		{"--bind $X $X", "--bind ${X} ${X}"},
		{"IFS=/\nbwrap --dir $K ls", many},
		{"bwrap --dir \"${K:-/z}\" --dir \"${K#/}\" ls", "--dir /k|--dir '${K at 1:31}'"},
		// Values that the script gives.
		{"X=\"v --bind / /\"\nbwrap --ro-bind / / --setenv FOO $X true", "--ro-bind / /|--bind / /"},
		{"X=/a; Y=$X/b\nbwrap --dir $Y ls", "--dir /a/b"},
		{"X=/a Y=\"c d\"\nexport X\nbwrap --dir $X ls", many},
		{"export X='/a'\nbwrap --dir $X ls", "--dir /a"},
		{"X=/a\nX=/b\nbwrap --dir $X ls", many},
		{"X=/a\nif true; then X=/b; fi\nbwrap --dir $X ls", many},
		{"if true; then X=/a; fi\nbwrap --dir $X ls", many},
		{"true && X=/a\nbwrap --dir $X ls", many},
		{"true &&\n X=/a\nbwrap --dir $X ls", many},
		{"X=/a | cat\nbwrap --dir $X ls", many},
		{"X=/a &\nbwrap --dir $X ls", many},
		{"X=/a && bwrap --dir $X ls", "--dir /a"},
		{"f() { X=/b; }\nX=/a\nf\nbwrap --dir $X ls", many},
		{"f() { X=/b; }\nf\nbwrap --dir $X ls", many},
		{"case a in a) X=/a ;; esac\nbwrap --dir $X ls", many},
		{"(X=/a)\nbwrap --dir $X ls", many},
		{"X=/a\nread X\nbwrap --dir $X ls", many},
		{"X=/a\nfor X in b c; do :; done\nbwrap --dir $X ls", many},
		{"X=/a\n: ${X:=b} ${Y:=c}\nbwrap --dir $X ls", many},
		{"X=/a\n. ./more\nbwrap --dir $X ls", many},
		{"X=/a\neval \"X=b\"\nbwrap --dir $X ls", many},
		{"X=1\n((X++))\nbwrap --dir $X ls", many},
		{"X=/a\ndeclare -n R=X\nR=/b\nbwrap --dir $X ls", many},
		{"X=/a\nexec {X}<f\nbwrap --dir $X ls", many},
		{"X=$(pwd)\nbwrap --dir $X ls", many},
		{"X=$(pwd)\nbwrap --dir \"$X\" ls", "--dir ${X}"},
		{"X=/a bwrap --dir $X ls", many},
		{"bwrap --dir \"$X\" ls\nX=/a", "--dir ${X}"},
		{"K=/z\nbwrap --dir \"$K\" ls", "--dir /z"},
		{"\"X=/a\"\nbwrap --dir \"$X\" ls", "--dir ${X}"},
		{"X\"=/a\"\nbwrap --dir \"$X\" ls", "--dir ${X}"},
		{"A=0123456789" + doubled(40) + "\nbwrap --dir $Z ls", "!text-too-long"},
		// Redirections.
		{"bwrap &>/dev/null --dir /a ls", "--dir /a"},
		{"#!/bin/sh\nbwrap &>/dev/null --dir /a ls", other},
		{"bwrap {fd}<f --dir /a ls", "--dir /a"},
		{"bwrap >|f --dir /a 5<<<'x y' ls", "--dir /a"},
	} {
		values := map[string]string{"K": "/k", "L": "/k --bind /a /b", "E": "", "G": "/g*"}
		c, list := cmdline.Read("t", []byte(tt.text), cmdline.Options{Values: values})
		var operations []string
		for i := range c.Operations {
			operations = append(operations, c.Operations[i].String())
		}
		got := strings.Join(operations, "|")
		var errs diag.List
		for _, d := range list {
			if d.Severity == diag.Error {
				errs.Add(d)
			}
			if d.At.Start.Line == 0 && d.Code != "text-too-long" || d.Help == "" {
				t.Errorf("%q: %+v has no place or help", tt.text, d)
			}
		}
		if errs.HasErrors() {
			got = "!" + cases.Codes(errs)
		}
		if strings.ReplaceAll(got, "'", "") != strings.ReplaceAll(tt.want, "'", "") {
			t.Errorf("Read(%q) = %s, want %s", tt.text, got, tt.want)
		}
		if lint := cmdline.Lint("t", []byte(tt.text), cmdline.Options{Values: values}); errs.HasErrors() != lint.HasErrors() {
			t.Errorf("Lint(%q) = %v, and Read %v", tt.text, lint, errs)
		}
	}
}

// doubled is assignments that make a text longer and longer.
func doubled(n int) string {
	var b strings.Builder
	last := "A"
	for i := range n {
		name := "A" + strings.Repeat("x", i+1)
		b.WriteString("\n" + name + "=$" + last + "$" + last)
		last = name
	}
	return b.String() + "\nZ=$" + last
}

// TestLongTexts: no text takes longer than its length warrants.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"bwrap ", "A=$X ", "a=b$X", "{.,", "$X", "~", "a=", "bwrap -", "X=1;", "(", "if ", "<<a\n", "${X:-$X}", "[", "bwrap --dir $X\n", "'a'\"b\"",
		"A=(", "A=(a) ", "A=(a)\n", "A+=(a \"${A[@]}\")\n", "A=()\n", "\"${A[@]}\"", "then A=(a) ", "declare -a A=(a)\n", "x A=(a) "} {
		start := time.Now()
		cmdline.Read("t", []byte(strings.Repeat(part, 1<<18/len(part))), cmdline.Options{Values: map[string]string{"X": "a b"}})
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("a text of %q takes %v", part, took)
		}
	}
}

// TestWordsAgreeWithBash: what is read without a fault is what bash makes of it.
func TestWordsAgreeWithBash(t *testing.T) {
	t.Parallel()
	for _, words := range []string{
		`a"b c"'d'\ e "\$K\x\"" '' "" #c`, `$K ${K} "$K" x$L$E y$E "$E" $E $E$K`, "a\\\nb \\\n# no\n", `~/x "~/x" ~"/x" a~ "${K:-z}"`,
		`$'a\tb\'c\x41\x4g\101\1234\u0041\U00000042\q\\\?\"' $'a\0b'c $'\400'd $'\x'`, `"$'a'" '$"b"' a$ "$" $% {a} {a,'b'"}" '{a,b}' [ ] '*' \?`,
		`"${K:=x}" "${K?}" "a${K}b" 1>/dev/null 2>&1 x <<<'y z' >|/dev/null`, `x 3<<E y
it's (not read
E
`, "x <<-E y\n\ta\n\tE\n", "x {fd}</dev/null y &>/dev/null z",
	} {
		script := "bwrap() { printf '%s\\0' \"$@\" >&9; }\nbwrap -- " + words
		out, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("bash", "-c", "exec 9>\"$0\"\n"+script, out.Name())
		cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=/h/u", "K=/k", "L= p  q ", "E=", "LC_ALL=C"}
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("bash of %q: %v: %s", words, err, said)
			continue
		}
		got, err := os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
		values := map[string]string{"HOME": "/h/u", "K": "/k", "L": " p  q ", "E": ""}
		c, list := cmdline.Read("t", []byte("bwrap -- "+words), cmdline.Options{Values: values})
		want := strings.Join(append([]string{"--"}, c.Argv...), "\x00") + "\x00"
		if list.HasErrors() || string(got) != want {
			t.Errorf("%s: bash %q, read here %q %v", words, got, want, list)
		}
	}
}
