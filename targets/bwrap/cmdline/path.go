package cmdline

import (
	"path"
	"strings"
)

// Paths are texts: clean absolute paths whose unknown parts stand as ${NAME}. One
// that begins with an unknown part is taken to be absolute once that is known.

// place is a destination: what is relative lies below the sandbox's root.
func place(text string) string {
	if strings.HasPrefix(text, "${") {
		if strings.Contains(text, "..") {
			return text
		}
		return path.Clean(text)
	}
	return path.Clean("/" + text)
}

// hostPlace is a source. What is relative begins where the caller is.
func hostPlace(text string) string {
	if strings.HasPrefix(text, "/") || strings.HasPrefix(text, "${") {
		return place(text)
	}
	return path.Join(callersDirectory, text)
}

// callersDirectory stands for the directory in which bwrap is started.
const callersDirectory = "${PWD}"

// literal is a path up to its first unknown part.
func literal(p string) string {
	head, _, _ := strings.Cut(p, "${")
	return head
}

// unknownPart is a path up to the end of its last unknown part.
func unknownPart(p string) string { return p[:strings.LastIndexByte(p, '}')+1] }

// tail is a path behind its last unknown part.
func tail(p string) string { return p[strings.LastIndexByte(p, '}')+1:] }

func isLiteral(p string) bool { return !strings.Contains(p, "${") }

// covers reports whether p is d or lies below it.
func covers(d, p string) State {
	if d == p || d == "/" || strings.HasPrefix(p, d+"/") {
		return Yes
	}
	head, begin := literal(d), literal(p)
	switch {
	case isLiteral(d) && isLiteral(p):
		return No
	case strings.HasPrefix(p, unknownPart(d)) && isLiteral(p[len(unknownPart(d)):]):
		return No // the same unknown part, and then something else
	case isLiteral(d):
		// p begins with what is known of it; the rest may lead anywhere below.
		if strings.HasPrefix(d, begin) {
			return Maybe
		}
		return No
	case isLiteral(p):
		if !strings.HasPrefix(p, head) || !strings.Contains(p[len(head):]+"/", tail(d)+"/") {
			return No
		}
		return Maybe
	case strings.HasPrefix(head, begin) || strings.HasPrefix(begin, head):
		return Maybe
	}
	return No
}

// below is p relative to d, which covers it; "" for d itself.
func below(d, p string) string {
	if !strings.HasPrefix(p, d) {
		return "…"
	}
	return strings.TrimPrefix(p[len(d):], "/")
}

// join is a path below another.
func join(d, rel string) string {
	switch {
	case rel == "":
		return d
	case d == "/":
		return "/" + rel
	}
	return d + "/" + rel
}

// upward yields p and its ancestors up to "/" or the unknown part it begins with.
func upward(p string) []string {
	out := []string{p}
	for p != "/" {
		i := strings.LastIndexByte(p, '/')
		switch {
		case i < 0:
			return out
		case i == 0:
			p = "/"
		default:
			p = p[:i]
		}
		out = append(out, p)
	}
	return out
}

// parent is the directory of p.
func parent(p string) (string, bool) {
	up := upward(p)
	if len(up) < 2 {
		return "", false
	}
	return up[1], true
}
