package lang

import (
	"slices"
	"strconv"
	"strings"
)

// synonyms are words that other tools, or habit, use for a word of ours. Of
// several the first that may stand there is meant.
var synonyms = map[string][]string{
	"exec": {"execute", "executable"}, "exe": {"executable", "execute"}, "executable": {"execute"}, "executables": {"execute", "executable"},
	"execute": {"executable"}, "program": {"executable", "execute"}, "programs": {"execute", "executables"}, "binary": {"executable"},
	"bin": {"execute", "executable"}, "run": {"command", "execute", "executable"}, "cmd": {"command", "executable"}, "commands": {"command"},
	"env": {"environment"}, "envs": {"environment"}, "vars": {"variable", "environment"}, "args": {"arguments"}, "argv": {"arguments"},
	"params": {"arguments"}, "fs": {"filesystem"}, "file": {"filesystem"}, "files": {"filesystem"}, "net": {"network"},
	"ro": {"read"}, "readonly": {"read"}, "read_only": {"read"}, "rw": {"write"}, "writable": {"write"}, "readwrite": {"write"}, "read_write": {"write"},
	"hide": {"deny"}, "block": {"deny"}, "forbid": {"deny"}, "mask": {"deny"}, "exclude": {"deny"},
	"hostname": {"host"}, "domain": {"host"}, "url": {"host"}, "ip": {"address"}, "addr": {"address"},
	"include": {"extends"}, "includes": {"extends"}, "import": {"extends"}, "imports": {"extends"}, "inherit": {"extends"}, "inherits": {"extends"},
	"uses": {"extends"}, "os": {"targets"}, "platform": {"targets"}, "platforms": {"targets"}, "desc": {"description"},
	"linux": {"bwrap"}, "bubblewrap": {"bwrap"}, "macos": {"seatbelt"}, "mac": {"seatbelt"}, "osx": {"seatbelt"}, "darwin": {"seatbelt"},
	"sandbox-exec": {"seatbelt"}, "sbpl": {"seatbelt"},
	"npm": {"std/node"}, "nodejs": {"std/node"}, "golang": {"std/go"}, "bash": {"std/shell"}, "sh": {"std/shell"}, "coreutils": {"std/shell"},
	"gcc": {"std/cc"}, "clang": {"std/cc"}, "cargo": {"std/rust"}, "rustc": {"std/rust"}, "pip": {"std/python"}, "python3": {"std/python"},
	"jdk": {"std/java"}, "jvm": {"std/java"}, "tty": {"std/terminal"}, "brew": {"std/homebrew"}, "worktree": {"std/git-worktree"},
	"ssl": {"std/tls"}, "certificates": {"std/tls"}, "ca": {"std/tls"}, "openssl": {"std/tls"},
	"base": {"std/base"}, "std": {"std/base"}, "standard": {"std/base"}, "stdlib": {"std/base"},
	"hash": {"sha256"}, "digest": {"sha256"}, "checksum": {"sha256"}, "sha": {"sha256"}, "why": {"reason"}, "justification": {"reason"},
	"min": {"minimum"}, "max": {"maximum"}, "sockets": {"unix"}, "nofile": {"open_files"}, "cpu": {"cpu_time"}, "time": {"timeout"},
	"cwd": {"workspace"}, "pwd": {"workspace"}, "workdir": {"workspace"}, "project": {"workspace"}, "tmpdir": {"tmp"}, "temp": {"tmp"},
	"int": {"integer"}, "number": {"integer", "tonumber"}, "bool": {"boolean", "tobool"},
	"trim": {"trimspace"}, "append": {"concat"}, "count": {"length"}, "size": {"length"},
}

// nearest is the candidate that a reader would take given for a slip of, or for
// another word for, or "". Case does not count. Ties go to the first in
// alphabetical order, so the answer never depends on the order of a map.
func nearest(given string, candidates []string) string {
	given = strings.ToLower(given)
	for _, c := range synonyms[given] {
		if slices.Contains(candidates, c) {
			return c
		}
	}
	limit := min(2, max(1, len(given)/3))
	best, name := limit+1, ""
	for _, c := range slices.Sorted(slices.Values(candidates)) {
		if abs(len(c)-len(given)) > limit {
			continue
		}
		if d := distance(given, strings.ToLower(c)); d < best {
			best, name = d, c
		}
	}
	return name
}

// DidYouMean is a line of help for a name that stands for nothing: the candidate
// that it is a slip of or another word for, or all of them if they are few. Package compiler words
// its suggestions with it too, so that both read alike.
func DidYouMean(given string, candidates []string) string {
	if n := nearest(given, candidates); n != "" {
		return "did you mean " + n + "?"
	}
	if len(candidates) == 0 {
		return "remove it"
	}
	sorted := slices.Sorted(slices.Values(candidates))
	if len(sorted) > 12 {
		return "remove it; docs/language.md lists what may stand here"
	}
	return "known here: " + strings.Join(sorted, ", ")
}

// DidYouMeanIn is DidYouMean of more candidates than a line of help has room for;
// otherwise is what it says when none is near.
func DidYouMeanIn(given string, candidates []string, otherwise string) string {
	if n := nearest(given, candidates); n != "" {
		return "did you mean " + n + "?"
	}
	return otherwise
}

// distance is the number of letters to insert, drop, change or swap with a
// neighbour (the optimal string alignment distance), over bytes.
func distance(a, b string) int {
	prev2, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}

func abs(n int) int { return max(n, -n) }

// short is a name for a message, cut when it is long.
func short(name string) string {
	if q := quoted(name); strings.HasSuffix(q, "…") {
		return q[1:len(q)-len(`"…`)] + "…"
	}
	return name
}

// quoted is a user's string for a message: quoted, control characters escaped,
// long ones cut.
func quoted(s string) string {
	const most = 80
	if len(s) <= most {
		return strconv.Quote(s)
	}
	cut := most
	for cut > 0 && s[cut]&0xC0 == 0x80 { // not inside a character
		cut--
	}
	return strconv.Quote(s[:cut]) + "…"
}
