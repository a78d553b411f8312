package cmdline_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obspc/obspc/targets/bwrap/cmdline"
)

// TestArrays: an array of plain words that every run of the script makes alike is
// read, and every other is refused by its name. want is the operations, or "!" and
// what the error says.
func TestArrays(t *testing.T) {
	t.Parallel()
	const (
		depends = "!what the array A holds here depends on how the script runs"
		nothing = "!the text does not say what the array A holds"
	)
	for _, tt := range []struct{ text, want string }{
		{"A=(--dir /a --bind /b /c)\nbwrap \"${A[@]}\" ls", "--dir /a|--bind /b /c"},
		{"A=(\n  --dir /a # why\n\n  --dir '/b c'\n)\nexec bwrap \"${A[@]}\" -- ls", "--dir /a|--dir /b c"},
		{"A=()\nA+=(--dir /a)\nA+=(--dir \\\n /b)\nbwrap \"${A[@]}\" ls", "--dir /a|--dir /b"},
		{"A=(--dir /a)\nA=(--dir /b)\nbwrap \"${A[@]}\" ls", "--dir /b"},
		{"A=(--dir /a)\nbwrap \"${A[@]}\" ls\nA+=(--dir /b)", "--dir /a"},
		{"A=(bwrap --dir /a)\nA+=(--dir /b)\n\"${A[@]}\" ls", "--dir /a|--dir /b"},
		{"A=(--dir /a)\nB=(\"${A[@]}\" --dir /b)\nbwrap \"${B[@]}\" ls", "--dir /a|--dir /b"},
		{"A=()\nbwrap \"${A[@]}\" --dir /a \"${A[@]}\" ls", "--dir /a"},
		{"A=() B=()\nbwrap \"${A[@]}${B[@]}\" --dir \"/a${A[@]}\" ls", "--dir /a"},
		{"A=(ir /a --dir /b)\nbwrap --d\"${A[@]}\"/c ls", "--dir /a|--dir /b/c"},
		{"A=(--dir '')\nbwrap \"${A[@]}\"/a ls", "--dir /a"},
		{"A=(--dir /a)\nbwrap ${A[@]} ls", "--dir /a"},
		{"A=('--dir /a')\nbwrap ${A[@]} ls", "--dir /a"},
		{"A=(--dir /a)\nbwrap ${A[@]+\"${A[@]}\"} ls", "--dir /a"},
		{"A=()\nbwrap ${A[@]+\"${A[@]}\"} --dir /a ls", "--dir /a"},
		{"declare -a A=(--dir /a)\nbwrap \"${A[@]}\" ls", "--dir /a"},
		{"readonly A=(--dir /a)\nbwrap \"${A[@]}\" ls", "--dir /a"},
		{"A=(--dir \"$K\" --dir $K/x)\nbwrap \"${A[@]}\" ls", "--dir /k|--dir /k/x"},
		{"A=(--bind ~/x ~/x)\nbwrap \"${A[@]}\" ls", "--bind ${HOME}/x ${HOME}/x"},
		{"A=(--bind \"$X\" \"$X\")\nbwrap \"${A[@]}\" --dir \"$X\" ls", "--bind ${X} ${X}|--dir ${X}"},
		{"A=(--dir \"$(pwd)\" --file 5 <(gen))\nbwrap \"${A[@]}\" ls", "--dir ${output of 1:12}|--file 5 ${output of 1:29}"},
		{"A=(--dir \"$(pwd)\")\nbwrap \"${A[@]}\" ls", "--dir ${output of 1:12}"},
		// The same name of another time is another thing.
		{"A=(--dir \"$PWD\")\ncd /x\nbwrap \"${A[@]}\" --dir \"$PWD\" ls", "--dir ${PWD at 1:11}|--dir ${PWD}"},
		{"A=(--dir \"$X\")\nread X\nbwrap \"${A[@]}\" --dir \"$X\" ls", "--dir ${X at 1:11}|--dir ${X}"},
		{"A=(--dir /a)\nbwrap --dir /b -- \"${A[*]}\" \"${B[@]}\" ${#A[@]}", "--dir /b"},

		// What depends on how the script runs.
		{"A=(--dir /a)\nif [ -d /x ]; then A+=(--dir /b); fi\nbwrap \"${A[@]}\" ls", depends},
		{"if true; then A=(--dir /a); fi\nbwrap \"${A[@]}\" ls", depends},
		{"A=(--dir /a)\n[ -d /x ] && A+=(--dir /b)\nbwrap \"${A[@]}\" ls", depends},
		{"A=(--dir /a)\nfor f in x y; do A+=(--dir /$f); done\nbwrap \"${A[@]}\" ls", depends},
		{"f() { A+=(--dir /b); }\nA=(--dir /a)\nf\nbwrap \"${A[@]}\" ls", depends},
		{"(A=(--dir /a))\nbwrap \"${A[@]}\" ls", depends},
		{"A=(--dir /a) | cat\nbwrap \"${A[@]}\" ls", depends},
		{"A=(--dir /a) &\nbwrap \"${A[@]}\" ls", depends},
		{"A+=(--dir /a)\nbwrap \"${A[@]}\" ls", depends},
		{"A=(--dir /a)\nA[1]=/b\nbwrap \"${A[@]}\" ls", depends},
		{"A=(--dir /a)\nA=x\nbwrap \"${A[@]}\" ls", depends},
		{"A=(--dir /a)\nA+=x\nbwrap \"${A[@]}\" ls", depends},
		{"A=(--dir /a)\nunset 'A[1]'\nbwrap \"${A[@]}\" ls", depends},
		{"A=(--dir /a)\nmapfile -t A <f\nbwrap \"${A[@]}\" ls", depends},
		{"A=(--dir /a)\nread -ra A\nbwrap \"${A[@]}\" ls", depends},
		{"A=(--dir /a)\nprintf -v A x\nbwrap \"${A[@]}\" ls", depends},
		{"A=(--dir /a)\n. ./more\nbwrap \"${A[@]}\" ls", depends},
		{"A=(--dir /a)\neval \"A+=(x)\"\nbwrap \"${A[@]}\" ls", depends},
		{"A=(--dir /a)\ndeclare -n R=A\nR+=(x)\nbwrap \"${A[@]}\" ls", depends},
		{"declare -A A=(--dir /a)\nbwrap \"${A[@]}\" ls", depends},
		{"A=(--dir /a)\nlocal -a A\nbwrap \"${A[@]}\" ls", depends},
		{"A=(--dir /a)\nB=(unset A)\n\"${B[@]}\"\nbwrap \"${A[@]}\" ls", depends},
		{"A=(--dir /a)\nB=(eval A=x)\n\"${B[@]}\"\nbwrap \"${A[@]}\" ls", depends},
		{"A=(--dir /a)\nB='unset A'\n$B\nbwrap \"${A[@]}\" ls", depends},
		{"A=(--dir /a)\n: \"${A[1]=/b}\"\nbwrap \"${A[@]}\" ls", depends},
		{"A=(--dir /a)\n: \"${A[1]:=/b}\"\nbwrap \"${A[@]}\" ls", depends},
		{"A=(--dir /a)\n: \"${B[A=1]}\"\nbwrap \"${A[@]}\" ls", depends},
		{"A=(--dir /a)\n: \"${X:A[1]=2}\"\nbwrap \"${A[@]}\" ls", depends},
		{"A=(--dir /a)\n: $[A[1]=2]\nbwrap \"${A[@]}\" ls", depends},
		{"A=(--dir /a)\nlet 'A[1]=2'\nbwrap \"${A[@]}\" ls", depends},
		{"A=(--dir /a)\n[[ A[1]=2 -eq 2 ]]\nbwrap \"${A[@]}\" ls", depends},
		{"A=(--dir /a)\nprintf -vA x\nbwrap \"${A[@]}\" ls", depends},
		{"A=(--dir /a)\nread -raA\nbwrap \"${A[@]}\" ls", depends},
		{"A=(--dir /a)\nunset \"$N\"\nbwrap \"${A[@]}\" ls", depends},
		{"A=(--dir /a)\nprintf -v \"$N\" x\nbwrap \"${A[@]}\" ls", depends},
		{"f() { local -n R=$1; R+=(x); }\nA=(--dir /a)\nf \"$N\"\nbwrap \"${A[@]}\" ls", depends},
		{"readonly A=(--dir /a)\nA=(--dir /b)\nbwrap \"${A[@]}\" ls", depends},
		{"A=(--dir /a)\nprintf '%s\\n' \"$N\"\nexport PATH=\"$HOME/bin\"\nbwrap \"${A[@]}\" ls", "--dir /a"},
		{"A=(--dir /a) true\nbwrap \"${A[@]}\" ls", depends},
		{"MAPFILE=(--dir /a)\nmapfile <f\nbwrap \"${MAPFILE[@]}\" ls", "!what the array MAPFILE holds"},
		{"bwrap \"${A[@]}\" ls\nA=(--dir /a)", depends},
		{"bwrap \"${A[@]}\" ls", nothing},
		{"A='--dir /a'\nbwrap \"${A[@]}\" ls", nothing},
		{"\"A=\"(--dir /a)\nbwrap \"${A[@]}\" ls", nothing},
		{"A= (--dir /a)\nbwrap \"${A[@]}\" ls", nothing},
		// Parts of arrays.
		{"A=(--dir /a)\nbwrap \"${A[*]}\" ls", "!this joins the words of the array A"},
		{"A=(--dir /a)\nbwrap \"${A[0]}\" /a ls", "!this is one element of the array A"},
		{"A=(--dir /a)\nbwrap --dir \"${A[-1]}\" ls", "!this is one element of the array A"},
		{"A=(--dir /a)\nbwrap \"${A[@]:1}\" ls", "!this changes or picks words of the array A"},
		{"A=(--dir /a)\nbwrap \"${A[@]/a/b}\" ls", "!this changes or picks words of the array A"},
		{"A=(--dir /a)\nbwrap --dir \"${A[@]+x}\" ls", "!this changes or picks words of the array A"},
		{"A=(--dir /a)\nbwrap --dir \"${!A[@]}\" ls", "!this stands for any number of words"},
		{"A=(--dir /a)\nbwrap --dir \"${#A[@]}\" ls", "!this stands for any number of words"},
		{"A=(--dir /a)\nbwrap --dir $A ls", "!\"$A\" stands without quotes"},
		{"A=(--dir /a)\nbwrap \"$A\" /a ls", "!${A} stands where an option does"},
		// Elements that are not words as they stand.
		{"A=(--dir /a*)\nbwrap \"${A[@]}\" ls", "!a shell puts the names of files here"},
		{"A=(--dir /{a,b})\nbwrap \"${A[@]}\" ls", "!bash makes several words of these braces"},
		{"A=(--dir $X)\nbwrap \"${A[@]}\" ls", "!\"$X\" stands without quotes"},
		{"A=([0]=--dir [1]=/a)\nbwrap \"${A[@]}\" ls", "!an element that begins with a bracket"},
		{"A=(--dir /a;)\nbwrap \"${A[@]}\" ls", "!an array holds words, and this is none"},
		{"A=(--dir (/a))\nbwrap \"${A[@]}\" ls", "!an array holds words, and this is none"},
		{"A=(--dir /a >f)\nbwrap \"${A[@]}\" ls", "!an array holds words, and this is none"},
		{"A=(--dir '/a*')\nbwrap ${A[@]} ls", "!a shell puts the names of files here"},
		{"A=(--dir \"$X\")\nbwrap ${A[@]} ls", "!\"${A[@]}\" stands without quotes"},
		{"IFS=/\nA=(/a)\nbwrap --dir ${A[@]} ls", "!\"${A[@]}\" stands without quotes"},
		{"A=()\nbwrap --dir \"$X${A[@]}\" ls", "!an array without words stands here beside what is not known"},
		{"A=()\nbwrap --dir \"$K${A[@]}\" ls", "--dir /k"},
		{"if true; then A=(bwrap --dir /a); fi\nbwrap --dir /b ls", "--dir /b"},
		{"declare -A A=([x]=bwrap)\nbwrap --dir /b ls", "--dir /b"},
		{"A=(--dir /a", "!( is never closed"},
		{"#!/bin/sh\nA=(--dir /a)\nbwrap \"${A[@]}\" ls", "!arrays are of bash"},
		{"A=(" + strings.Repeat("x", 1<<10) + ")\n" + strings.Repeat("A=(\"${A[@]}\" \"${A[@]}\")\n", 40) + "bwrap \"${A[@]}\" ls", "!the text has"},
	} {
		c, list := cmdline.Read("t", []byte(tt.text), cmdline.Options{Values: map[string]string{"K": "/k"}})
		var operations []string
		for i := range c.Operations {
			operations = append(operations, strings.ReplaceAll(c.Operations[i].String(), "'", ""))
		}
		got := strings.Join(operations, "|")
		for _, d := range list {
			if d.Severity.String() == "error" {
				got = "!" + d.Message
				break
			}
		}
		if got != tt.want && (tt.want[0] != '!' || !strings.HasPrefix(got, tt.want)) {
			t.Errorf("Read(%.200q) = %s, want %s", tt.text, got, tt.want)
		}
	}
}

// TestArraysStandWhereTheyWereWritten: a finding about a word of an array points at
// the word, not at its use.
func TestArraysStandWhereTheyWereWritten(t *testing.T) {
	t.Parallel()
	_, list := cmdline.Read("t", []byte("A=(\n  --tmpfs /x\n  --perms 9 --dir /y\n)\nbwrap \"${A[@]}\" ls"), cmdline.Options{})
	if len(list) == 0 || list[0].Code != "wrong-argument" || list[0].At.Start.Line != 3 || list[0].At.Start.Column != 11 {
		t.Errorf("the finding is %v, want wrong-argument at 3:11", list)
	}
}

// TestArraysAgreeWithBash: what is read is what bash makes of it.
func TestArraysAgreeWithBash(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("host feature missing: bash")
	}
	for _, script := range []string{
		"A=(a 'b c' \"\" d\\ e $'f\\tg' $K \"$K\" ~/x \"~\" # no\n h)\nbwrap -- \"${A[@]}\" x\"${A[@]}\"y ${A[@]}",
		"A=()\nB=(1 '' 2)\nbwrap -- \"${A[@]}\" \"${A[@]}${A[@]}\" \"x${A[@]}\" ''\"${A[@]}\" \"${A[@]}\"'' ${A[@]} \"${B[@]}${B[@]}\" ${B[@]} z${B[@]}z",
		"A=(1)\nA+=(2 3)\nA+=()\nB=(\"${A[@]}\" x${A[@]}y)\nA=(4)\nbwrap -- \"${A[@]}\" \"${B[@]}\" ${A[@]+\"${A[@]}\"}",
		"A=(X=1 a=b 'Y=2')\nE=()\nbwrap -- \"${A[@]}\" ${E[@]+\"${E[@]}\"} \"a\"\"${E[@]}\" \"$E1${E[@]}\"",
		"A=(if then '(' ')' \\; '|')\nbwrap -- \"${A[@]}\"\nA=(changed)",
		"A=(a b) B=(c)\nbwrap -- \"${A[@]}${B[@]}\"\"${A[@]}\" \"${A[@]} ${B[@]}\"",
		"readonly A=(p q)\ndeclare -a B=(r)\nbwrap -- \"${A[@]}\" \"${B[@]}\"",
		"A=(bwrap --)\nA+=(x 'y z')\n\"${A[@]}\" w",
	} {
		out := filepath.Join(t.TempDir(), "out")
		if err := os.WriteFile(out, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(bash, "-c", "exec 9>\"$0\"\nbwrap() { printf '%s\\0' \"$@\" >&9; }\n"+script, out)
		cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=/h/u", "K=/k", "E1=", "LC_ALL=C"}
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("bash of %q: %v: %s", script, err, said)
			continue
		}
		got, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		values := map[string]string{"HOME": "/h/u", "K": "/k", "E1": ""}
		c, list := cmdline.Read("t", []byte(script), cmdline.Options{Values: values})
		want := strings.Join(append([]string{"--"}, c.Argv...), "\x00") + "\x00"
		if list.HasErrors() || string(got) != want {
			t.Errorf("%q:\nbash      %q\nread here %q %v", script, got, want, list)
		}
	}
}
