package fragment

import (
	"slices"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
)

// words are the filters that compare one property of the request with a word, by
// name. Symbols are the words that stand there as symbols, nil for strings.
var words = map[string]struct {
	kind    Kind
	symbols []string
}{
	"target":                     {Target, []string{"self", "same-sandbox"}},
	"socket-domain":              {SocketDomain, []string{"AF_UNIX", "AF_INET", "AF_INET6"}},
	"mac-policy-name":            {MacPolicy, nil},
	"global-name":                {GlobalName, nil},
	"sysctl-name":                {SysctlName, nil},
	"ipc-posix-name":             {PosixName, nil},
	"iokit-registry-entry-class": {UserClient, nil},
}

// takes tells which filters an operation takes; what would have another never
// matches, or fails the profile, by release. (The libsandbox tables of 13.0 in
// blacktop/ipsw; a name that ends in - stands for all that begin so.)
var takes = []struct {
	operations string
	kinds      []Kind
}{
	{"file-", []Kind{Node, Tree, Ancestors}},
	{"process-exec* process-exec-interpreter", []Kind{Node, Tree, Ancestors}},
	{"network-outbound", []Kind{Node, Tree, Ancestors, Remote, Proxy, Loopback}},
	{"network-bind network-inbound", []Kind{Own}},
	{"signal process-info- process-info* process-codesigning process-codesigning- process-codesigning*", []Kind{Target}},
	{"process-legacy-codesigning- process-legacy-codesigning* mach-task- mach-task*", []Kind{Target}},
	{"socket-ioctl socket-option-get socket-option-set system-socket", []Kind{SocketDomain}},
	{"system-mac-syscall", []Kind{MacPolicy}},
	{"mach-lookup", []Kind{GlobalName}},
	{"sysctl-read sysctl-write", []Kind{SysctlName}},
	{"ipc-posix-sem- ipc-posix-sem* ipc-posix-shm- ipc-posix-shm*", []Kind{PosixName}},
	{"iokit-open iokit-open-user-client", []Kind{UserClient}},
}

// take reports whether the operation takes filters of the kind.
func take(operation string, k Kind) bool {
	for _, row := range takes {
		for name := range strings.FieldsSeq(row.operations) {
			if name == operation || strings.HasSuffix(name, "-") && strings.HasPrefix(operation, name) {
				return slices.Contains(row.kinds, k)
			}
		}
	}
	return false
}

// filter reads the filter at the front and returns what follows it.
func (r *reader) filter(fs []form) []form {
	f := fs[0]
	var out Filter
	switch word := head(f); word {
	case "literal":
		out, fs = r.area(fs)
		if len(fs) > 0 && head(fs[0]) == "regex" {
			r.twin(fs[0], out)
			out.Caseless, fs = true, fs[1:]
		}
	case "require-all":
		if len(f.list) > 1 && head(f.list[1]) == "socket-domain" {
			out, fs = r.stream(f), fs[1:]
			break
		}
		out, fs = r.starting(f), fs[1:]
	case "path-ancestors":
		out, fs = Filter{Kind: Ancestors, Path: r.slot(f)}, fs[1:]
	case "obspc-caseless-ancestors":
		r.needs(f, word)
		out, fs = Filter{Kind: Ancestors, Path: r.slot(f), Caseless: true}, fs[1:]
	default:
		out, fs = r.word(f), fs[1:]
	}
	if out.Caseless && r.rule.Allow {
		r.fail(f, "a filter of all spellings in a rule that allows")
	}
	for _, operation := range r.rule.Operations {
		elsewhere := out.Starts && !strings.HasPrefix(operation, "process-exec") || strings.HasSuffix(out.Word, Stream) && operation != "system-socket"
		if !take(operation, out.Kind) || elsewhere {
			r.fail(f, "a filter that %s does not take", operation)
		}
	}
	r.rule.Filters = append(r.rule.Filters, out)
	return fs
}

// area reads a node, or a node and its subtree. Whether a subpath matches a path
// that is no directory is not settled, so it never stands alone.
func (r *reader) area(fs []form) (Filter, []form) {
	if head(fs[0]) != "literal" {
		r.fail(fs[0], "no literal, where one must be")
		return Filter{}, fs[1:]
	}
	out := Filter{Kind: Node, Path: r.pathOf(fs[0])}
	if len(fs) > 1 && head(fs[1]) == "subpath" {
		if r.pathOf(fs[1]) != out.Path {
			r.fail(fs[1], "a subpath after the literal of another path")
		}
		out.Kind, fs = Tree, fs[1:]
	}
	return out, fs[1:]
}

// startsName is the name of what the execute rules name.
const startsName = "obspc-execute"

// defineStarts reads (define obspc-execute AREAS).
func (r *reader) defineStarts(f form) {
	if r.defined[startsName] {
		r.fail(f, "a second definition of %s", startsName)
	}
	r.defined[startsName] = true
	for rest := unfolded(f.list[2]); len(rest) > 0 && r.err == nil; {
		var a Filter
		a, rest = r.area(rest)
		r.starts = append(r.starts, a)
	}
}

// starting reads (require-all AREA obspc-execute).
func (r *reader) starting(f form) Filter {
	if len(f.list) != 3 || !same(f.list[2], form{kind: 'a', text: startsName}) {
		r.fail(f, "a require-all of other than an area and %s", startsName)
		return Filter{}
	}
	r.needs(f, startsName)
	out, rest := r.area(unfolded(f.list[1]))
	if len(rest) > 0 {
		r.fail(f, "a require-all of more than one area")
	}
	if !r.rule.Allow {
		r.fail(f, "a require-all in a rule that denies")
	}
	out.Starts = true
	return out
}

// unfolded is the filters of (require-any …), or the form itself.
func unfolded(f form) []form {
	if head(f) == "require-any" && len(f.list) > 2 {
		return f.list[1:]
	}
	return []form{f}
}

// only is the argument of a form of one.
func (r *reader) only(f form) form {
	if len(f.list) != 2 {
		r.fail(f, "a filter of other than one argument")
		return form{at: f.at}
	}
	return f.list[1]
}

// slot is the slot of (WORD (param "SLOT")).
func (r *reader) slot(f form) ir.Path {
	return r.param(r.only(f))
}

// param is the slot of (param "SLOT").
func (r *reader) param(f form) ir.Path {
	root := parameter(f)
	switch {
	case root == ir.Host:
		r.fail(f, `no (param "SLOT"), where one must be`)
	case root == ir.Config && !r.rule.IfConfig:
		r.fail(f, `CONFIG, which need not be given, outside of (when (param "CONFIG") …)`)
	}
	return ir.RootPath(root)
}

// pathOf is the path of (literal PATH) or (subpath PATH).
func (r *reader) pathOf(f form) ir.Path {
	f = r.only(f)
	switch {
	case head(f) == "param":
		return r.param(f)
	case head(f) == "string-append" && len(f.list) == 3 && head(f.list[1]) == "param":
		return r.clean(f, r.param(f.list[1]).Root(), r.string(f.list[2]))
	}
	return r.clean(f, ir.Host, r.string(f))
}

// clean is a path that is written as the kernel spells paths. Others never match.
func (r *reader) clean(f form, root ir.Root, text string) ir.Path {
	p, err := ir.NewPath(root, text)
	if err != nil || text != "/"+p.Rel() || root != ir.Host && p.IsRoot() {
		r.fail(f, "%.80q, which is no clean path", text)
	}
	return p
}

// string is the value of a string, or of several that are joined.
func (r *reader) string(f form) string {
	switch {
	case f.kind == '"':
		return f.text
	case head(f) != "string-append" || len(f.list) < 3:
		r.fail(f, "no string, where one must be")
	}
	var b strings.Builder
	for _, piece := range f.list[min(1, len(f.list)):] {
		if piece.kind != '"' {
			r.fail(piece, "no string, where one must be")
		}
		b.WriteString(piece.text)
	}
	return b.String()
}

// twin reads (regex EXPRESSION), which must match the area before it in every
// spelling and nothing else.
func (r *reader) twin(f form, a Filter) {
	expression, text := r.only(f), ""
	if head(expression) == "string-append" && len(expression.list) == 4 && expression.list[2].kind == 'a' {
		name := expression.list[2].text
		if anchor := expression.list[1]; caselessNames[name] != a.Path.Root() || a.Path.Root() == ir.Host || anchor.kind != '"' || anchor.text != "^" {
			r.fail(expression, "an expression that does not begin with the root of the path before it")
		}
		r.needs(expression, name)
		text = r.string(expression.list[3])
	} else {
		var anchored bool
		if text, anchored = strings.CutPrefix(r.string(expression), "^"); !anchored || a.Path.Root() != ir.Host {
			r.fail(expression, "an expression that does not begin with the root of the path before it")
		}
	}
	text, below := strings.CutSuffix(text, "(/|$)")
	if !below {
		var ends bool
		if text, ends = strings.CutSuffix(text, "$"); !ends {
			r.fail(expression, "an expression that does not end in $ or (/|$)")
		}
	}
	want := "/" + Small(a.Path.Rel())
	if a.Path.Root() != ir.Host && a.Path.IsRoot() {
		want = ""
	}
	if small, ok := spelling(text); !ok || small != want || below != (a.Kind == Tree) {
		r.fail(expression, "an expression that does not spell out the literal before it")
	}
}

// special are the bytes that mean something in an expression; a backslash before
// one takes the meaning away.
const special = `^.[$()|*+?{\`

// spelling is the text, in small letters, of an expression that matches it in every
// case of its letters and matches nothing else.
func spelling(expression string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(expression); i++ {
		c, rest := expression[i], expression[i+1:]
		switch {
		case c == '[' && len(rest) >= 3 && 'A' <= rest[0] && rest[0] <= 'Z' && rest[1] == rest[0]+'a'-'A' && rest[2] == ']':
			b.WriteByte(rest[1])
			i += 3
		case c == '\\' && rest != "" && strings.IndexByte(special, rest[0]) >= 0:
			b.WriteByte(rest[0])
			i++
		case strings.IndexByte(special, c) >= 0 || 'a' <= c|0x20 && c|0x20 <= 'z':
			return "", false
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), true
}

// word reads a filter that compares one property.
func (r *reader) word(f form) Filter {
	if head(f) == "remote" || head(f) == "local" {
		return r.address(f)
	}
	w, ok := words[head(f)]
	if !ok {
		r.fail(f, "no filter that obspc writes")
		return Filter{}
	}
	out := Filter{Kind: w.kind}
	if argument := r.only(f); w.symbols == nil {
		out.Word = r.string(argument)
	} else {
		out.Word = argument.text
		if argument.kind != 'a' || !slices.Contains(w.symbols, argument.text) {
			r.fail(argument, "%s of something that obspc does not write", head(f))
		}
	}
	return out
}
