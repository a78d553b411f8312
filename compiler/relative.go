package compiler

import (
	"fmt"
	"strings"

	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/lang/diag"
)

// pathNotAbsolute reports a path whose meaning depends on where obspc is run.
func pathNotAbsolute(t lang.Text, rest string, in list) *diag.Diagnostic {
	d := &diag.Diagnostic{
		Code:    "path-not-absolute",
		At:      t.Range,
		Message: fmt.Sprintf("path %s is not absolute", shown(t)),
		Help:    fromRoot(rest, in),
	}
	if rest == "" {
		d.Message = "a path is empty"
	}
	return d
}

// shellSlots are variables of a shell, and our slots by their name, that stand
// for a slot.
var shellSlots = map[string]string{
	"HOME": "home", "PWD": "workspace", "TMPDIR": "tmp", "WORKSPACE": "workspace",
	"home": "home", "workspace": "workspace", "tmp": "tmp",
}

// topLevel are directories of / whose names begin paths that lost their slash.
var topLevel = map[string]bool{
	"usr": true, "etc": true, "bin": true, "sbin": true, "lib": true, "lib64": true, "opt": true, "var": true, "srv": true,
	"root": true, "dev": true, "sys": true, "proc": true, "run": true, "mnt": true, "home": true,
	"Users": true, "Library": true, "System": true, "Applications": true,
}

// fromRoot says what to write for a path that begins at no root.
func fromRoot(rest string, in list) string {
	first, below, deeper := strings.Cut(rest, "/")
	trimmed := strings.TrimSpace(rest)
	switch {
	case rest == "":
		return `name a directory or a file from a known root, as in "${workspace}/build"`
	case rest != trimmed && strings.HasPrefix(trimmed, "/"):
		return fmt.Sprintf("write %q, without the blank before it", trimmed)
	case strings.HasPrefix(rest, "$"):
		return fromVariable(first, deeper, below)
	case strings.Contains(rest, "://"):
		return "write the path alone, without the scheme"
	case strings.Contains(rest, `\`), len(first) == 2 && first[1] == ':':
		return `paths are those of Linux and macOS, with / between their parts, as in "/srv/data"`
	case first == "..":
		return "a path is absolute or begins with a slot: write where it lies, counted from one of them"
	case in == writeList && trimmed == ".", trimmed == "./":
		return "write workspace, without quotes: the directory that the command works in"
	case (in == executeList || in == programList) && !deeper:
		return fmt.Sprintf(`give the full path, as in "/usr/bin/%s"`, rest)
	case topLevel[first] && deeper:
		return fmt.Sprintf(`write "/%s", or "${workspace}/%s" if it lies in the workspace`, rest, rest)
	}
	return fmt.Sprintf(`start from a known root, as in "${workspace}/%s"`, strings.TrimPrefix(rest, "./"))
}

// fromVariable is fromRoot for a path that begins with a variable, which nothing
// replaces.
func fromVariable(name string, deeper bool, below string) string {
	braced := strings.HasPrefix(name, "${")
	slot, known := shellSlots[strings.Trim(name, "${}")]
	if deeper {
		below = "/" + below
	}
	switch {
	case known && braced && slot == strings.Trim(name, "${}"):
		return fmt.Sprintf(`$${ writes the text ${: for the slot write "${%s}%s"`, slot, below)
	case known:
		return fmt.Sprintf(`write "${%s}%s"`, slot, below)
	}
	return "a path holds no variables of the environment: write it out, or declare a variable block and use var.NAME"
}
