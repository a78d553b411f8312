package targets

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/seatbelt/operations"
)

// profileSamples are policies whose Seatbelt profiles are changed; together they
// have every form of rule.
func profileSamples(t *testing.T) map[string]*ir.Policy {
	out := map[string]*ir.Policy{"everything stated": mutated(t)["everything stated"]}
	for _, name := range []string{"hole and window", "execute", "carve-out", "five levels", "only"} {
		out[name] = policy(t, samples[name]...)
	}
	out["links and names"] = policy(t, "read /etc/ssl", "write /tmp/x", "deny /var/db/k.y", "devices", "write ${home}/a", "only execute ${home}/a/b")
	name := func(s string) []ir.Name { return []ir.Name{{Name: s, Origin: "p/system"}} }
	out["links and names"].System = ir.System{Services: name("com.example.x"), Sysctls: name("hw.ncpu"), IPC: name("example.shm"), IOKit: name("ExampleClient")}
	out["loopback"] = policy(t, "read /private/var/run", "visible")
	out["loopback"].Loopback = ir.LoopbackRule{Host: true, Origin: "p/network.loopback"}
	out["way out"] = policy(t)
	out["way out"].Endpoints = []ir.Endpoint{{Name: "e", Host: ir.HostPattern{Name: "a.test"}, Ports: []uint16{443}, Origin: "p/network.endpoint.e"}}
	for sample, p := range out {
		mac := *p
		mac.Targets = []ir.Target{ir.Seatbelt}
		mac.Files, mac.Execute = slices.Clone(p.Files), slices.Clone(p.Execute)
		for i := range mac.Files {
			mac.Files[i].Origin = ir.Origin("p/files[" + itoa(i) + "]") // a name that may stand in a comment
		}
		for i := range mac.Execute {
			mac.Execute[i].Origin = ir.Origin("p/execute[" + itoa(i) + "]")
		}
		out[sample] = &mac
	}
	return out
}

// edits are the changed lines of a rule, by mutator; "" takes the line away.
type edits map[string][]string

func (e edits) add(mutator string, lines ...string) { e[mutator] = append(e[mutator], lines...) }

// Lists of operations as rules write them.
const (
	readLeaves  = "file-read-data file-read-metadata file-read-xattr file-test-existence file-map-executable"
	writeLeaves = "file-write-data file-write-create file-write-unlink file-write-mode file-write-owner file-write-flags file-write-times " +
		"file-write-xattr file-write-acl file-write-finderinfo file-link file-clone"
)

// profileEdits are the changes of one line of a profile.
func profileEdits(line string) edits {
	e := edits{}
	rule, comment, _ := strings.Cut(line, " ; ")
	if comment != "" {
		comment = " ; " + comment
	}
	e.add("drop", "")
	e.add("duplicate", line+"\n"+line)
	swap := func(mutator, from, to string) {
		if strings.Contains(rule, from) {
			e.add(mutator, strings.ReplaceAll(rule, from, to)+comment, strings.Replace(rule, from, to, 1)+comment)
		}
	}
	for _, pair := range [][2]string{{"(allow ", "(deny "}, {"(literal ", "(subpath "}, {readLeaves + " (", readLeaves + " " + writeLeaves + " ("}, {"self)", "same-sandbox)"}} {
		mutator := map[string]string{"(allow ": "allow to deny, and back", "(literal ": "literal to subpath, and back", "self)": "a word"}[pair[0]]
		if mutator == "" {
			mutator = "read to write, and back"
		}
		swap(mutator, pair[0], pair[1])
		swap(mutator, pair[1], pair[0])
	}
	for _, pair := range [][2]string{{`(with message "obspc `, `(with message "obspc x`}, {` (with message "`, ` (with report "`}, {`[0]")`, `[1]")`}} {
		swap("a tag", pair[0], pair[1])
	}
	if before, tag, ok := strings.Cut(rule, " (with message "); ok {
		_, after, _ := strings.Cut(tag, `")`)
		e.add("a tag", before+after+comment, before+` (with message "obspc")`+after+comment)
	} else {
		e.add("a tag", strings.TrimSuffix(rule, ")")+` (with message "obspc p"))`+comment)
	}
	for _, pair := range [][2]string{
		{"tcp4", "tcp"}, {"tcp4", "tcp6"}, {"tcp ", "ip "}, {"tcp ", "udp "}, {`"localhost:`, `"*:`}, {`:*"`, `:80"`}, {`"localhost:*"`, `"localhost:"`}, {`(string-append "localhost:" (param "PROXY"))`, `"localhost:*"`},
		{`(string-append "localhost:" (param "PROXY"))`, `"localhost:49152"`}, {`"PROXY"`, `"HOME"`}, {"(remote ", "(local "}, {"(local ", "(remote "},
	} {
		swap("an address", pair[0], pair[1])
	}
	for _, pair := range [][2]string{
		{"AF_INET)", "AF_INET6)"}, {"AF_INET6)", "AF_INET)"}, {"AF_INET)", "AF_UNIX)"}, {"AF_UNIX)", "AF_INET)"}, {"SOCK_STREAM", "SOCK_DGRAM"}, {"SOCK_STREAM", "SOCK_RAW"},
		{"(require-all (socket", "(require-any (socket"}, {" (socket-type SOCK_STREAM)", ""}, {"(socket-domain AF_INET) ", ""},
	} {
		swap("a socket", pair[0], pair[1])
	}
	e.operations(rule, comment)
	e.texts(rule, comment)
	e.filters(rule, comment)
	for _, pair := range [][2]string{{"^", ""}, {"(/|$)", "$"}, {"(/|$)", ""}, {`$"`, `(/|$)"`}, {`$"`, `"`}, {"[", "("}, {"[", "[^"}, {`\\.`, "."}, {"^", ".*"}} {
		swap("an expression", pair[0], pair[1])
	}
	for _, other := range []string{"WORKSPACE", "HOME", "TMP", "CONFIG", "OTHER"} {
		for _, name := range []string{"WORKSPACE", "HOME", "TMP", "CONFIG"} {
			swap("another parameter", `"`+name+`"`, `"`+other+`"`)
			swap("another parameter", "obspc-"+strings.ToLower(name), "obspc-"+strings.ToLower(other))
		}
	}
	if inner, ok := strings.CutPrefix(rule, "(when "); ok {
		_, inner, _ = strings.Cut(inner, ") ")
		e.add("no condition", strings.TrimSuffix(inner, ")")+comment)
		swap("another condition", "(defined? '", "(defined? 'x")
	} else {
		e.add("a condition", "(when (defined? 'file-lock) "+rule+")"+comment, `(when (param "CONFIG") `+rule+")"+comment, `(when (param "HOME") `+rule+")"+comment)
	}
	return e
}

// operations takes each operation away and puts others in its place, and adds some.
func (e edits) operations(rule, comment string) {
	first := ""
	for _, word := range strings.Fields(rule) {
		name := strings.Trim(word, "()")
		if !isOperation(name) || !strings.Contains(rule, " "+name) {
			continue
		}
		e.add("an operation fewer", strings.Replace(rule, " "+name, "", 1)+comment)
		for _, other := range []string{"file-ioctl", "mach-lookup"} {
			e.add("another operation", strings.Replace(rule, " "+name, " "+other, 1)+comment)
		}
		if first == "" {
			first = " " + name
		}
	}
	if first == "" {
		return
	}
	for _, other := range []string{"file-read*", "file-mount", "file-write-setugid", "file-issue-extension", "process-exec*", "network-outbound", "network-bind", "network-inbound", "file-lock", "signal", "default"} {
		e.add("an operation more", strings.Replace(rule, first, " "+other+first, 1)+comment)
	}
}

func isOperation(name string) bool { _, ok := operations.Named(name); return ok }

// texts changes each string, everywhere and in one place; a path in its expression
// as well.
func (e edits) texts(rule, comment string) {
	fields := strings.Split(rule, `"`)
	for i := 1; i < len(fields); i += 2 {
		text := fields[i]
		one := func(with string) string {
			changed := slices.Clone(fields)
			changed[i] = with
			return strings.Join(changed, `"`) + comment
		}
		e.add("a text", one(text+"x"), one(""), one("/"), one(strings.ToUpper(text)))
		if !strings.HasPrefix(text, "/") || strings.Contains(text, "$") {
			continue
		}
		for mutator, with := range map[string]string{"one component longer": text + "/x", "one component shorter": text[:strings.LastIndexByte(text, '/')]} {
			e.add(mutator, one(with))
			whole := strings.ReplaceAll(rule, `"`+text+`"`, `"`+with+`"`)
			whole = strings.ReplaceAll(whole, `"^`+spelt(text), `"^`+spelt(with))
			whole = strings.ReplaceAll(whole, `"`+spelt(text), `"`+spelt(with))
			whole = strings.ReplaceAll(whole, `(string-append (param "HOME") "")`, `(param "HOME")`)
			whole = strings.ReplaceAll(whole, `(string-append (param "WORKSPACE") "")`, `(param "WORKSPACE")`)
			e.add(mutator, whole+comment)
		}
	}
}

// spelt is the expression of a text in a profile that matches it in either case.
func spelt(s string) string {
	var b strings.Builder
	for _, c := range s {
		switch {
		case strings.ToUpper(string(c)) != strings.ToLower(string(c)):
			b.WriteString("[" + strings.ToUpper(string(c)) + strings.ToLower(string(c)) + "]")
		case strings.ContainsRune(`^.[$()|*+?{\`, c):
			b.WriteString(`\\` + string(c))
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// filters takes each filter away.
func (e edits) filters(rule, comment string) {
	for i := range rule {
		for _, word := range []string{" (literal ", " (subpath ", " (regex ", " (target ", " (mac-policy-name ", " (socket-domain ", " (remote ", " (local ", " (require-all ", " (path-ancestors ", " obspc-execute"} {
			if strings.HasPrefix(rule[i:], word) {
				e.add("a filter fewer", rule[:i]+rule[i+len(group(rule[i:])):]+comment)
			}
		}
	}
}

// group is the leading space and form of text.
func group(text string) string {
	depth, quoted := 0, false
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(':
			depth++
		case c == ')' && depth <= 1:
			return text[:i+depth]
		case c == ')':
			depth--
		}
	}
	return text
}

// foreign are rules that no policy here states.
func foreign() map[string][]string {
	out := map[string][]string{}
	for _, where := range []string{`"/foreign"`, `(param "HOME")`, `(string-append (param "WORKSPACE") "/foreign")`, `"/"`} {
		for _, op := range []string{"file-read-data", "file-read-metadata", "file-write-data", "file-write-create", "process-exec*", "network-outbound"} {
			add := func(rule string) { out["add a foreign path"] = append(out["add a foreign path"], rule) }
			add("(allow " + op + " (literal " + where + ") (subpath " + where + "))")
			add("(allow " + op + " (literal " + where + "))")
			add("(deny " + op + " (literal " + where + ") (subpath " + where + "))")
		}
	}
	out["add a foreign pattern"] = []string{
		`(allow file-read-data (regex "^/[Ff](/|$)"))`, `(allow file-read-data (literal "/f") (regex "^/[Ff]$"))`, `(allow file-read-data (regex "."))`,
		`(allow file-write-data (prefix "/foreign"))`, `(allow mach-lookup (global-name-regex "."))`, `(deny file-read-data (regex "^/[Ff](/|$)"))`,
	}
	for _, o := range operations.All() {
		for _, rule := range []string{"(allow " + o.Name + ")", "(deny " + o.Name + ")", "(allow " + o.Name + " (target self))", "(allow " + o.Name + ` (literal "/x"))`} {
			out["add a foreign operation"] = append(out["add a foreign operation"], rule, "(when (defined? '"+o.Name+") "+rule+")")
		}
	}
	out["add a foreign word"] = []string{
		`(allow mach-lookup (global-name "foreign"))`, `(allow sysctl-read (sysctl-name "foreign"))`, `(allow ipc-posix-sem-open (ipc-posix-name "foreign"))`,
		`(allow system-socket (socket-domain AF_UNIX))`, `(allow system-socket (socket-domain AF_INET))`, `(allow network-outbound (remote ip "*:*"))`,
		`(allow network-outbound (remote ip "localhost:1"))`, `(allow network-outbound (remote tcp "*:*"))`, `(allow network-outbound (remote tcp "localhost:*"))`,
		`(allow network-outbound (remote tcp4 (string-append "localhost:" (param "PROXY"))))`, `(allow network-outbound (local tcp "localhost:*"))`,
		`(allow network-bind (local tcp "localhost:*"))`, `(allow network-inbound (local tcp "localhost:*"))`, `(allow network-bind (local ip "*:*"))`,
		`(allow system-socket (socket-domain AF_INET6))`, `(allow system-socket (require-all (socket-domain AF_INET) (socket-type SOCK_STREAM)))`,
		`(allow system-socket (require-all (socket-domain AF_INET6) (socket-type SOCK_STREAM)))`, `(allow socket-ioctl (socket-domain AF_INET))`,
		`(allow socket-option-set (socket-domain AF_INET6))`, `(deny network-outbound (remote ip "*:*"))`, `(allow system-mac-syscall (mac-policy-name "Quarantine"))`,
		`(allow iokit-open (iokit-registry-entry-class "foreign"))`, `(import "system.sb")`, `(allow process-exec* (with no-sandbox))`, `(version 3)`, `(version 1)`, `(deny default)`,
		`(define obspc-home "")`, `(allow default)`, `(trace "/tmp/x")`, `"x"`, `x`, `)`, `(`, `"`,
	}
	return out
}

// profileMutants changes a profile in every way that design 10 lists. One that is
// not refused and gives the same answers as before, by the general evaluator, is
// noted so, whatever was changed.
func (b *board) profileMutants(t *testing.T, sample string, p *ir.Policy, whole bool) {
	files := compileFiles(t, p)
	text := string(files[seatbeltFile])
	same := newProfileAnswers(t, p, text)
	judge := func(mutator, what, mutant string) {
		if mutant == text {
			return
		}
		changed := maps.Clone(files)
		changed[seatbeltFile] = []byte(mutant)
		sample, err := sample, Validate(p, changed)
		if err == nil && same.has(mutant) {
			sample, what = "any sample", "the same answers to every question"
		}
		b.judge(seatbeltFile+": "+mutator, sample, what, err != nil)
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	body := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "; files") })
	for i, line := range lines {
		with := func(line ...string) string {
			return strings.Join(slices.Concat(lines[:i], line, lines[i+1:]), "\n") + "\n"
		}
		switch {
		case line == "" || line[0] == ';' || i < body && !whole:
			continue
		case line[0] != '(' || strings.HasPrefix(line, "(define") || strings.HasPrefix(line, "(version"):
			judge("a definition", fmt.Sprintf("%d dropped", i), with())
			judge("a definition", fmt.Sprintf("%d changed", i), with(strings.Replace(line, "e", "f", 1)))
			judge("a definition", fmt.Sprintf("%d has a number more", i), with(strings.NewReplacer("1", "2", "0", "1", "26", "25").Replace(line)))
			continue
		}
		for mutator, mutants := range profileEdits(line) {
			for n, mutant := range mutants {
				judge(mutator, fmt.Sprintf("line %d, %d", i+1, n), with(mutant))
			}
		}
		if next := slices.IndexFunc(lines[i+1:], func(line string) bool { return strings.HasPrefix(line, "(") }); next >= 0 {
			swapped := slices.Clone(lines)
			swapped[i], swapped[i+1+next] = lines[i+1+next], line
			judge("swap with the next", fmt.Sprintf("line %d", i+1), strings.Join(swapped, "\n")+"\n")
		}
	}
	head, _, _ := strings.Cut(text, "; files")
	for mutator, rules := range foreign() {
		if !whole && mutator == "add a foreign operation" {
			continue
		}
		for _, rule := range rules {
			judge(mutator, rule+" last", text+rule+"\n")
			if mutator == "add a foreign path" {
				judge(mutator, rule+" first", head+rule+"\n"+text[len(head):])
			}
		}
	}
}
