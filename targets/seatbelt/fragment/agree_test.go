package fragment_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/seatbelt/fragment"
	"github.com/obspc/obspc/targets/seatbelt/model"
	"github.com/obspc/obspc/targets/seatbelt/operations"
	"github.com/obspc/obspc/targets/seatbelt/sbpl"
)

// binding is where these tests put the slots, one inside another.
var binding = ir.Binding{}.With(ir.Home, ir.MustPath("/Users/u")).With(ir.Tmp, ir.MustPath("/private/var/t")).
	With(ir.Workspace, ir.MustPath("/Users/u/src/w")).With(ir.Config, ir.MustPath("/Users/u/src/w/Tools/.c"))

// kinds are the names that the general reader has for the filters.
var kinds = map[fragment.Kind]string{
	fragment.Target: "target", fragment.SocketDomain: "socket-domain", fragment.MacPolicy: "mac-policy-name", fragment.GlobalName: "global-name",
	fragment.SysctlName: "sysctl-name", fragment.PosixName: "ipc-posix-name", fragment.UserClient: "iokit-registry-entry-class",
}

// agree holds the fragment's answers to those of the general evaluator, which shares
// nothing with it: on a release, of every operation, about every path that a rule
// names, those above and below and other spellings, every word, and addresses. brief:
// of those operations alone that a rule speaks of.
func agree(t *testing.T, text []byte, p *fragment.Profile, release operations.Release, config, brief bool) (allowed int) {
	t.Helper()
	b := binding
	if !config {
		b = ir.Binding{}.With(ir.Home, ir.MustPath("/Users/u")).With(ir.Tmp, ir.MustPath("/private/var/t")).With(ir.Workspace, ir.MustPath("/Users/u/src/w"))
	}
	general, err := sbpl.Parse("p.sb", text, sbpl.Options{Release: release, Params: model.Params(b)})
	if err != nil {
		t.Fatalf("the general reader does not read it on %s: %v\n%s", release, err, text)
	}
	ask := func(op string, known sbpl.Context) sbpl.Decision {
		for _, name := range append(slices.Sorted(maps.Values(kinds)), "path", "socket-type", "remote", "local", "extension", "vnode-type", "process-path") {
			if _, stated := known[name]; !stated {
				known[name] = nil // the request has no such property
			}
		}
		answer, err := general.Evaluate(op, known)
		if err != nil {
			t.Fatal(err)
		}
		return answer.Decision
	}
	same := func(op, what string, allow bool, other sbpl.Decision) {
		if allow {
			allowed++
		}
		if allow != (other == sbpl.Allow) || other == sbpl.Undecided {
			t.Fatalf("%s of %s about %s: the fragment allows it: %v, the general evaluator says %s, of\n%s", op, release, what, allow, other, text)
		}
	}
	paths := places(p, b)
	for _, o := range operations.All() {
		spoken := slices.ContainsFunc(p.Rules, func(r *fragment.Rule) bool { return slices.Contains(r.Operations, o.Name) })
		if !o.In(release) || brief && !spoken {
			continue
		}
		list := p.List(o.Name, release, config)
		for path := range paths {
			same(o.Name, path, decides(p, list, b, path), ask(o.Name, sbpl.Context{"path": {path}}))
		}
		for end, addresses := range ends {
			for _, address := range addresses {
				allow, _ := list.Network(end)
				if other := ask(o.Name, sbpl.Context{"remote": {address}}); allow != (other == sbpl.Allow) && !(allow && about(list)) || other == sbpl.Undecided {
					t.Fatalf("%s of %s to %s, %s: the fragment allows it: %v, the general evaluator says %s, of\n%s", o.Name, release, end, address, allow, other, text)
				}
			}
		}
		streams(o.Name, list, ask, same)
		own := list.Words(fragment.Own)["localhost:*"]
		for address, here := range map[string]bool{"tcp 127.0.0.1:80": true, "tcp [::1]:80": true, "udp 127.0.0.1:80": false, "tcp 192.0.2.1:80": false} {
			allow := list.Default
			if here && own != nil {
				allow = own.Allow
			}
			same(o.Name, "local "+address, allow, ask(o.Name, sbpl.Context{"local": {address}}))
		}
		for kind, name := range kinds {
			words := list.Words(kind)
			for _, word := range []string{"self", "same-sandbox", "AF_UNIX", "AMFI", "com.example.service", "hw.ncpu", "x"} {
				allow, holds := list.Default, []string{word}
				if r := words[word]; r != nil {
					allow = r.Allow
				}
				if kind == fragment.Target && word == "self" {
					holds = []string{"self", "same-sandbox"}
				}
				same(o.Name, name+" "+word, allow, ask(o.Name, sbpl.Context{name: holds}))
			}
		}
	}
	return allowed
}

// ends are addresses of each class.
var ends = map[fragment.End][]string{
	fragment.ProxyEnd:    {"tcp 127.0.0.1:49152"},
	fragment.LoopbackEnd: {"tcp [::1]:49152", "tcp 127.0.0.1:443", "tcp [::1]:443"},
	fragment.Elsewhere: {
		"tcp 192.0.2.1:443", "tcp 192.0.2.1:49152", "udp 127.0.0.1:49152", "udp 192.0.2.1:53", "tcp [2001:db8::1]:49152", "tcp [::ffff:127.0.0.1]:49152",
	},
}

// about reports whether a rule of the list that allows is about paths, of which the
// fragment holds for possible that it matches addresses.
func about(l fragment.List) bool {
	return slices.ContainsFunc(l.Rules, func(r *fragment.Rule) bool {
		return r.Allow && slices.ContainsFunc(r.Filters, func(f fragment.Filter) bool { return f.Kind <= fragment.Ancestors })
	})
}

// streams compares what is said of sockets by family and type.
func streams(op string, l fragment.List, ask func(string, sbpl.Context) sbpl.Decision, same func(string, string, bool, sbpl.Decision)) {
	words := l.Words(fragment.SocketDomain)
	for _, family := range []string{"AF_UNIX", "AF_INET", "AF_INET6", "AF_ROUTE"} {
		for kind, keys := range map[string][]string{"SOCK_STREAM": {family + fragment.Stream, family}, "SOCK_DGRAM": {family}} {
			allow := l.Default
			for _, key := range keys {
				if r := words[key]; r != nil {
					allow = r.Allow
					break
				}
			}
			same(op, family+" "+kind, allow, ask(op, sbpl.Context{"socket-domain": {family}, "socket-type": {kind}}))
		}
	}
}

// decides is the list's answer about a path, what the profile's Starts ask included.
func decides(p *fragment.Profile, l fragment.List, b ir.Binding, path string) bool {
	if starts, _ := p.Starting().Bind(b).Decide(fragment.At(path)); !starts {
		rules := l.Rules
		l.Rules = nil
		for _, r := range rules {
			less := *r
			less.Filters = slices.DeleteFunc(slices.Clone(r.Filters), func(f fragment.Filter) bool { return f.Starts })
			if len(less.Filters) > 0 {
				l.Rules = append(l.Rules, &less)
			}
		}
	}
	allow, _ := l.Bind(b).Decide(fragment.At(path))
	return allow
}

// places are the paths that rules name, those above, one below, and other spellings.
func places(p *fragment.Profile, b ir.Binding) map[string]bool {
	out := map[string]bool{"/elsewhere": true}
	for _, r := range append([]*fragment.Rule{{Filters: p.Starts}}, p.Rules...) {
		for _, f := range r.Filters {
			for q := range b.Path(f.Path).Upward() {
				for _, path := range []string{q.String(), q.Join("_").String()} {
					out[path], out[strings.ToUpper(path)] = true, true
				}
			}
		}
	}
	return out
}

// profiles are those of the corpus and of the emitter's own tests.
func profiles(t testing.TB) [][]byte {
	var out [][]byte
	for _, pattern := range []string{"../../../testdata/corpus/*/seatbelt.sb", "../testdata/*.sb"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) < 10 {
			t.Fatalf("%d profiles at %s, %v", len(files), pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, text)
		}
	}
	return out
}

// TestAgrees: on all profiles of the repository both readers give the same answers.
func TestAgrees(t *testing.T) {
	allowed := 0
	for i, text := range profiles(t) {
		p, err := fragment.Read(text)
		if err != nil {
			t.Errorf("%v of\n%s", err, text)
			continue
		}
		allowed += agree(t, text, p, operations.Supported()[i%4], i%3 > 0, false)
	}
	if allowed < 1000 {
		t.Errorf("%d answers allow: too few to say anything", allowed)
	}
}

// FuzzRead: every text is refused at a place, or read, and then by the general
// reader as well, with the same answers.
func FuzzRead(f *testing.F) {
	names, above := workspace, ancestors+`(define obspc-config (if (param "CONFIG") (obspc-caseless (param "CONFIG")) ""))`+"\n"
	for i, rule := range []string{
		`(deny file-read-data (literal "/a") (subpath "/a") (regex "^/[Aa](/|$)"))`, `(allow signal (target same-sandbox))`, `(allow process-fork)`,
		`(when (defined? 'file-lock) (deny file-lock))`, `(when (param "CONFIG") (allow file-read-data (literal (param "CONFIG"))))`,
		"(define obspc-execute (require-any (literal \"/a\") (subpath \"/a\")))\n(allow process-exec* (require-all (literal \"/a\") obspc-execute))",
		`(allow file-read-data file-write-data (literal (string-append (param "HOME") "/x")) (subpath (string-append (param "HOME") "/x"))) ; p/x`,
		caseless + names + `(deny file-write-create (literal (param "WORKSPACE")) (regex (string-append "^" obspc-workspace "$")))`,
		caseless + above + `(when (param "CONFIG") (deny file-write-create (obspc-caseless-ancestors (param "CONFIG"))))`,
		`(allow file-read-metadata (path-ancestors (param "TMP")))`, `(deny network-outbound (remote ip "*:*"))`,
		`(allow network-outbound (remote tcp4 (string-append "localhost:" (param "PROXY"))))`, `(allow network-bind network-inbound (local tcp "localhost:*"))`,
		`(allow network-outbound (remote tcp "localhost:*"))`, `(allow system-socket (require-all (socket-domain AF_INET) (socket-type SOCK_STREAM)))`, `(allow mach-lookup (global-name "com.example.service"))`,
	} {
		f.Add([]byte(head+rule+"\n"), uint8(i))
	}
	f.Fuzz(func(t *testing.T, text []byte, n uint8) {
		p, err := fragment.Read(text)
		if err != nil {
			var outside *fragment.Error
			if !errors.As(err, &outside) || outside.Line < 1 || outside.Column < 1 || outside.Message == "" {
				t.Errorf("Read(%q) = %v, which has no place", text, err)
			}
			return
		}
		agree(t, text, p, operations.Supported()[n%4], n%8 > 3, true)
	})
}
