package compiler

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/testdata/cases"
)

// findings has a row for everything this package says: where the text stands, the
// text, the code, what is underlined, a piece of the message, a piece of the help,
// and what is underlined as related. A row's finding is the only one.
// aHost begins an endpoint of one host.
const aHost = "host = \"a.test\"\nports = [443]\n"

var findings = []struct {
	where, text, code, at, message, help string
	related                              []string
}{
	// Templates.
	{"policy", `extends = ["std/basee"]`, "unknown-template", `"std/basee"`, `"std/basee"`, "did you mean std/base?", nil},
	{"policy", `extends = [template.tls]`, "unknown-template", `template.tls`, `"template.tls"`, `write "std/tls", in quotes`, nil},
	{"policy", `extends = ["base"]`, "unknown-template", `"base"`, `"base"`, `write "std/base"`, nil},
	{"policy", `extends = ["zlib"]`, "unknown-template", `"zlib"`, `"zlib"`, "known here: std/base, std/tls", nil},
	{"file", "template \"tools\" {}\npolicy \"p\" {\nversion = 1\nextends = [template.toolz]\n}", "unknown-template", `template.toolz`, `"template.toolz"`, "did you mean template.tools?", nil},
	{"file", "template \"a\" {}\npolicy \"p\" {\nversion = 1\nextends = [\"a\"]\n}", "unknown-template", `"a"`, `"a"`, "write template.a, without quotes", nil},
	{"file", "template \"a\" {}\npolicy \"p\" {\nversion = 1\nextends = [\"template.a\"]\n}", "unknown-template", `"template.a"`, `"template.a"`, "write template.a without quotes", nil},
	{"file", "policy \"q\" {\nversion = 1\n}\npolicy \"p\" {\nversion = 1\nextends = [template.q]\n}", "unknown-template", `template.q`, `"template.q"`, "", nil},
	{"file", "template \"a\" {\nextends = [template.b]\n}\ntemplate \"b\" {\nextends = [template.c]\n}\ntemplate \"c\" {\nextends = [template.a]\n}\npolicy \"p\" {\nversion = 1\n}",
		"template-cycle", "template.a", "template.a → template.b → template.c → template.a", "take one of these out", []string{"template.b", "template.c"}},
	{"file", "template \"a\" {\nextends = [template.a]\n}\npolicy \"p\" {\nversion = 1\n}", "template-cycle", "template.a", "template.a → template.a", "", nil},
	{"file", twoTemplates(`read = ["/x"]`, `write = ["/x"]`), "template-conflict", "template.b", "template.a and template.b disagree about /x: read and write", "state it in policy p itself", []string{`"/x"`, `"/x"`}},
	{"file", twoTemplates(`read = ["/x"]`, `read = [only("/x")]`), "template-conflict", "template.b", "read and only() read", "", []string{`"/x"`, `only("/x")`}},
	{"file", twoTemplates("read = [\"/x\"]\nexecute = [\"/x\"]", "read = [\"/x\"]\nexecute = [only(\"/x\")]"), "template-conflict", "template.b", "executing /x", "", []string{`"/x"`, `only("/x")`}},

	// Paths.
	{"filesystem", `read = ["build/out"]`, "path-not-absolute", `"build/out"`, `"build/out"`, `"${workspace}/build/out"`, nil},
	{"filesystem", `read = ["./x"]`, "path-not-absolute", `"./x"`, `"./x"`, `"${workspace}/x"`, nil},
	{"filesystem", `read = [""]`, "path-not-absolute", `""`, "a path is empty", "known root", nil},
	{"filesystem", `read = ["usr/lib"]`, "path-not-absolute", `"usr/lib"`, "", `write "/usr/lib", or "${workspace}/usr/lib"`, nil},
	{"filesystem", `read = [" /usr"]`, "path-not-absolute", `" /usr"`, "", `write "/usr"`, nil},
	{"filesystem", `deny = [".env"]`, "path-not-absolute", `".env"`, "", `"${workspace}/.env"`, nil},
	{"filesystem", `deny = ["../secrets"]`, "path-not-absolute", `"../secrets"`, "", "absolute or begins with a slot", nil},
	{"filesystem", `write = ["."]`, "path-not-absolute", `"."`, "", "write workspace, without quotes", nil},
	{"filesystem", `execute = ["sh"]`, "path-not-absolute", `"sh"`, "", `give the full path, as in "/usr/bin/sh"`, nil},
	{"filesystem", `execute = ["bin/tool"]`, "path-not-absolute", `"bin/tool"`, "", `"/bin/tool"`, nil},
	{"policy", `command "c" {` + "\nexecutable = \"curl\"\n}", "path-not-absolute", `"curl"`, "", `"/usr/bin/curl"`, nil},
	{"filesystem", `read = ["$HOME/x"]`, "path-not-absolute", `"$HOME/x"`, "", `write "${home}/x"`, nil},
	{"filesystem", `read = ["$workspace"]`, "path-not-absolute", `"$workspace"`, "", `write "${workspace}"`, nil},
	{"filesystem", `read = ["$${home}/x"]`, "path-not-absolute", `"$${home}/x"`, "", `for the slot write "${home}/x"`, nil},
	{"filesystem", `read = ["$GOPATH/x"]`, "path-not-absolute", `"$GOPATH/x"`, "", "var.NAME", nil},
	{"filesystem", `read = ["C:\\data"]`, "path-not-absolute", `"C:\\data"`, "", "Linux and macOS", nil},
	{"filesystem", `read = ["c:/data"]`, "path-not-absolute", `"c:/data"`, "", "Linux and macOS", nil},
	{"filesystem", `read = ["file:///data"]`, "path-not-absolute", `"file:///data"`, "", "without the scheme", nil},
	{"filesystem", `deny = ["**/.env"]`, "path-wildcard", `"**/.env"`, `"*"`, "list each path", nil},
	{"filesystem", `read = ["*.txt"]`, "path-wildcard", `"*.txt"`, `"*"`, "name the directory: ", nil},
	{"filesystem", `read = ["src/*"]`, "path-wildcard", `"src/*"`, `"*"`, "name the directory: ", nil},
	{"filesystem", `execute = ["/usr/bin/*"]`, "path-wildcard", `"/usr/bin/*"`, `"*"`, "list each path, or make the list with a for expression", nil},
	{"policy", `command "c" {` + "\nexecutable = \"/usr/bin/pytho?\"\n}", "path-wildcard", `"/usr/bin/pytho?"`, `"?"`, "name the one program", nil},
	{"filesystem", `read = ["/"]`, "read-everything", `"/"`, "secrets included", "name the directories", nil},
	{"filesystem", `read = [optional("/")]`, "read-everything", `optional("/")`, "", "", nil},
	{"filesystem", "write = [workspace]\ndeny = [\"/\"]", "slot-nowhere", `"/"`, `the deny of / leaves no place for ${workspace}`, "leave it out: what no rule names is denied", []string{"workspace"}},
	{"filesystem", "read = [\"/data\", \"${home}/x\"]\ndeny = [\"/\"]", "slot-nowhere", `"/"`, "${home}", "", []string{`"${home}/x"`}},
	{"filesystem", `read = ["/usr/./x/../y/"]`, "path-dot-dot", `"/usr/./x/../y/"`, `it would be "/usr/y"`, `write "/usr/y"`, nil},
	{"filesystem", `read = ["/.."]`, "path-dot-dot", `"/.."`, `it would be "/"`, `write "/"`, nil},
	{"filesystem", `read = ["${home}/a/../b"]`, "path-dot-dot", `"${home}/a/../b"`, `it would be "${home}/b"`, "", nil},
	{"filesystem", `read = ["${home}/a/.."]`, "path-dot-dot", `"${home}/a/.."`, `it would be "${home}"`, "", nil},
	{"filesystem", `read = ["${home}/../x"]`, "path-dot-dot", `"${home}/../x"`, "leaves the slot", "another slot", nil},
	{"filesystem", `read = ["/a\u001bb"]`, "path-control-character", `"/a\u001bb"`, "control character", "", nil},
	{"filesystem", `read = ["/a\u0085b"]`, "path-control-character", `"/a\u0085b"`, "control character", "", nil},
	{"filesystem", `read = ["~"]`, "path-tilde", `"~"`, `"~"`, `"${home}"`, nil},
	{"filesystem", `read = ["~bob/x"]`, "path-tilde", `"~bob/x"`, `"~bob/x"`, `"${home}/x"`, nil},
	{"filesystem", `read = ["/var/*/x"]`, "path-wildcard", `"/var/*/x"`, `"*"`, `"/var"`, nil},
	{"filesystem", `read = ["/a?"]`, "path-wildcard", `"/a?"`, `"?"`, "name the directory", nil},
	{"filesystem", `read = ["/a/[id]"]`, "path-wildcard", `"/a/[id]"`, `"["`, `"/a"`, nil},
	{"filesystem", `read = ["${workspace}/x.{a,b}"]`, "path-wildcard", `"${workspace}/x.{a,b}"`, `"{"`, `"${workspace}"`, nil},
	{"filesystem", `read = ["/x/${workspace}"]`, "path-slot-position", `"/x/${workspace}"`, "slot workspace", `"${workspace}/x"`, nil},
	{"filesystem", `read = ["${workspace}${home}"]`, "path-slot-position", `"${workspace}${home}"`, "slot home", "", nil},
	{"filesystem", `read = ["${workspace}-old"]`, "path-slot-slash", `"${workspace}-old"`, "neighbour", `"${workspace}/-old"`, nil},
	{"filesystem", `read = ["/` + strings.Repeat("x", 256) + `"]`, "path-too-long", `"/` + strings.Repeat("x", 256) + `"`, "a name of 256 bytes", "name a directory above", nil},
	{"filesystem", `read = ["/` + strings.Repeat("x/", 2100) + `"]`, "path-too-long", `"/` + strings.Repeat("x/", 2100) + `"`, "4201 bytes", "", nil},
	{"filesystem", `write = ["//"]`, "path-too-broad", `"//"`, "whole machine", "write = [workspace]", nil},

	// Levels and modifiers.
	{"filesystem", "read = [\"/x/\"]\ndeny = [\"/x\"]", "path-two-levels", `"/x"`, "/x is stated as read and as deny", "keep one", []string{`"/x/"`}},
	{"filesystem", "read = [optional(\"/x\")]\nwrite = [\"/x\"]", "path-two-levels", `"/x"`, "as read and as write", "", []string{`optional("/x")`}},
	{"filesystem", "read = [\"/x\", only(\"/x\")]", "path-twice", `only("/x")`, "/x is stated twice in read", "", []string{`"/x"`}},
	{"filesystem", "read = [\"/x\"]\nexecute = [\"/x\", \"/x/\"]", "path-twice", `"/x/"`, "/x is stated twice in execute", "", []string{`"/x"`}},
	{"filesystem", `write = [only("/x")]`, "only-level", `only("/x")`, "stands in write", `for a file write "/x"`, nil},
	{"filesystem", `deny = [only("/x")]`, "only-level", `only("/x")`, "stands in deny", "", nil},
	{"filesystem", `deny = [optional("/x")]`, "optional-protection", `optional("/x")`, "a deny cannot be optional", `write "/x"`, nil},
	{"filesystem", "write = [workspace]\nread = [optional(\"${workspace}/a/b\")]", "optional-protection", `optional("${workspace}/a/b")`, "inside a write", `write "${workspace}/a/b": if it is missing, an empty file`, []string{"workspace"}},
	{"filesystem", `read = [tmp]`, "tmp-below", `tmp`, "tmp slot", "write = [tmp]", nil},
	{"filesystem", `write = ["${tmp}/x"]`, "tmp-below", `"${tmp}/x"`, "tmp slot", "", nil},
	{"filesystem", `write = [optional(tmp)]`, "tmp-below", `optional(tmp)`, "tmp slot", "", nil},
	{"filesystem", `execute = ["${tmp}/x"]`, "tmp-below", `"${tmp}/x"`, "tmp slot", "", nil},
	{"filesystem", "write = [tmp]\nread = [\"/tmp/x\"]", "tmp-overlap", `"/tmp/x"`, "hides /tmp/x", "", []string{"tmp"}},
	{"filesystem", `read = ["/proc/cpuinfo"]`, "proc-stated", `"/proc/cpuinfo"`, "sandbox's own", "remove it", nil},
	{"filesystem", `deny = ["/proc"]`, "proc-stated", `"/proc"`, "sandbox's own", "remove it", nil},
	{"filesystem", "read = [\"/a/x\"]\nexecute = [\"/a/X\"]\n", "path-case-twins execute-unreadable", `"/a/X"`, "differ by case alone", `"seatbelt"`, []string{`"/a/x"`}},
	{"filesystem", "read = [\"/Ärger\"]\ndeny = [\"/ärger\"]", "path-case-twins", `"/ärger"`, "", "", []string{`"/Ärger"`}},
	{"filesystem", "read = [\"/\\u017f\"]\ndeny = [\"/S\"]", "path-case-twins", `"/S"`, "", "", []string{`"/\u017f"`}},

	// Addresses, requests, denied hosts.
	{"endpoint", "address = \"10.0.0.1\"\nports = [443]\naddresses = [\"10.0.0.0/8\"]", "addresses-misplaced", `"10.0.0.0/8"`, "that address and no other", "name a host", nil},
	{"endpoint", aHost + "addresses = [\"ten\"]", "range-malformed", `"ten"`, "no range of addresses", "10.2.0.0/16", nil},
	{"endpoint", aHost + "addresses = [\"0x7f000001\"]", "range-malformed", `"0x7f000001"`, "", `"127.0.0.1"`, nil},
	{"endpoint", aHost + "addresses = [\"fe80::1%%eth0\"]", "range-malformed", `"fe80::1%%eth0"`, "", "", nil},
	{"endpoint", aHost + "addresses = [\"10.0.0.1/8\"]", "range-bits", `"10.0.0.1/8"`, "an address in a range", `"10.0.0.0/8"`, nil},
	{"endpoint", "address = \"224.0.0.1\"\nports = [443]", "range-never", `"224.0.0.1"`, "nothing opens", "remove it", nil},
	{"endpoint", "address = \"0.0.0.0\"\nports = [443]", "range-never", `"0.0.0.0"`, "", "", nil},
	{"endpoint", aHost + "addresses = [\"224.0.0.1\"]", "range-never", `"224.0.0.1"`, "nothing opens", "remove it", nil},
	{"endpoint", aHost + "addresses = [\"0.0.0.0/32\"]", "range-never", `"0.0.0.0/32"`, "", "", nil},
	{"endpoint", aHost + "addresses = [\"8.8.8.0/24\"]", "range-ordinary", `"8.8.8.0/24"`, "ordinary addresses alone", "keeps names out of none", nil},
	{"endpoint", aHost + "allow {\npath = \"/a\"\n}", "requests-need-rest", `allow`, "does not look at requests", `protocol = "rest"`, nil},
	{"endpoint", aHost + "protocol = \"tls\"\ndeny {\npath = \"/a\"\n}", "requests-need-rest", `deny`, "", "", []string{`"tls"`}},
	{"endpoint", aHost + "protocol = \"rest\"\ndeny {\npath = \"/a\"\n}", "rest-allows-nothing", `endpoint "e"`, "allows none", "an allow block", nil},
	{"endpoint", aHost + "protocol = \"rest\"\nallow {\npath = \"/a\"\n}\nallow {\npath = \"/a\"\n}", "duplicate-request", `allow`, "named twice", "remove one", []string{`allow`}},
	{"endpoint", aHost + "protocol = \"rest\"\nallow {\npath = \"/a\"\n}\ndeny {\npath = \"/a\"\n}", "request-both", `deny`, "allowed and denied", "decide", []string{`allow`}},
	{"endpoint", aHost + "protocol = \"rest\"\nallow {\nmethods = []\n}", "methods-empty", `allow`, "no request", "every method", nil},
	{"endpoint", aHost + "protocol = \"rest\"\nallow {\nmethods = [\"get\"]\n}", "method-malformed", `"get"`, "no method", `"GET"`, nil},
	{"endpoint", aHost + "protocol = \"rest\"\nallow {\nmethods = [\"*\"]\n}", "method-malformed", `"*"`, "", "for every method", nil},
	{"endpoint", aHost + "protocol = \"rest\"\nallow {\nmethods = [\"CONNECT\"]\n}", "method-malformed", `"CONNECT"`, "", "the endpoint itself", nil},
	{"endpoint", aHost + "protocol = \"rest\"\nallow {\nmethods = [\"TRACE\"]\n}", "method-malformed", `"TRACE"`, "", "repeat what it was sent", nil},
	{"endpoint", aHost + "protocol = \"rest\"\nallow {\npath = \"/a/../b\"\n}", "request-path-malformed", `"/a/../b"`, `write "/b"`, "any number of segments", nil},
	{"endpoint", aHost + "protocol = \"rest\"\nallow {\npath = \"/a**\"\n}", "request-path-malformed", `"/a**"`, "segment by itself", "", nil},
	{"policy", "network {\ndeny = [\"a.test\", \"A.test.\"]\n}", "duplicate-host", `"A.test."`, "twice", "remove one", []string{`"a.test"`}},
	{"policy", "network {\ndeny = [\"*\"]\n}", "host-wildcard-too-wide", `"*"`, "every host", "remove the endpoints", nil},
	{"policy", "network {\ndeny = [\"10.0.0.1\"]\n}", "host-is-address", `"10.0.0.1"`, "", "deny is about names", nil},
	{"policy", "network {\nendpoint \"a\" {\nhost = \"*.a.test\"\nports = [443]\n}\nendpoint \"b\" {\nhost = \"x.a.test\"\nports = [80, 443]\nprotocol = \"tcp\"\n}\n}",
		"endpoints-differ", `endpoint "b"`, "differ in protocol", "same protocol", []string{`endpoint "a"`}},
	{"file", "template \"t\" {\nnetwork {\nendpoint \"a\" {\nhost = \"a.test\"\nports = [443]\naddresses = [\"10.0.0.0/8\"]\n}\n}\n}\npolicy \"p\" {\nversion = 1\nextends = [template.t]\nnetwork {\nendpoint \"b\" {\nhost = \"a.test\"\nports = [443]\n}\n}\n}",
		"endpoints-differ", `endpoint "b"`, "differ in addresses", "", []string{`endpoint "a"`}},

	// System calls.
	{"policy", "syscalls {\ndeny = [\"mkdr\"]\n}", "unknown-syscall", `"mkdr"`, `no system call "mkdr"`, "did you mean mkdir?", nil},
	{"policy", "syscalls {\nallow = [\"SYS_ptrace_\"]\n}", "unknown-syscall", `"SYS_ptrace_"`, `"SYS_ptrace_"`, "syscalls(2)", nil},
	{"policy", "syscalls {\ndeny = [\"mkdir\", \"mkdir\"]\n}", "duplicate-syscall", `"mkdir"`, "deny names mkdir twice", "remove one", []string{`"mkdir"`}},
	{"policy", "syscalls {\ndeny = [\"clone\"]\nallow = [\"clone\"]\n}", "syscall-both", `"clone"`, "clone is denied and allowed", "decide", []string{`"clone"`}},
	{"policy", "syscalls {\nallow = [\"mount\"]\n}", "syscall-never-allowed", `"mount"`, "no policy may allow mount: the sandbox is made of mounts", "docs/syscalls.md", nil},
	{"policy", "syscalls {\nallow = [\"ioctl\"]\n}", "syscall-never-allowed", `"ioctl"`, "a shell outside reads as typed", "", nil},
	{"policy", "syscalls {\nallow = [\"ptrace\"]\n}", "syscall-allowed", `"ptrace"`, "ptrace is refused to every other sandbox: PID 1", "do not work without it", nil},
	{"policy", "syscalls {\nallow = [\"mkdir\"]\n}", "syscall-not-refused", `"mkdir"`, "nothing refuses mkdir", "remove it", nil},
	{"file", "template \"a\" {\nsyscalls {\nallow = [\"mkdir\"]\n}\n}\npolicy \"p\" {\nversion = 1\nextends = [template.a]\n}\npolicy \"q\" {\nversion = 1\nextends = [template.a]\n}",
		"syscall-not-refused", `"mkdir"`, "", "", nil},
	{"policy", "syscalls {\ndeny = [\"execveat\"]\n}", "syscall-needed", `"execveat"`, "nothing runs without execveat: obsrun starts", "execute says", nil},
	{"policy", "syscalls {\ndeny = [\"uretprobe\"]\n}", "syscall-unfiltered", `"uretprobe"`, "asks no filter about uretprobe", "ends every other caller", nil},
	{"policy", "syscalls {\ndeny = [\"write\"]\n}", "syscall-used", `"write"`, "few programs run without write", "seen to run", nil},
	{"policy", "syscalls {\ndeny = [\"bpf\"]\n}", "syscall-denied-anyway", `"bpf"`, "no sandbox may call bpf", "EPERM", nil},
	{"policy", "syscalls {\ndeny = [\"clone3\"]\n}", "syscall-denied-anyway", `"clone3"`, "", "ENOSYS", nil},
	{"policy", "syscalls {\ndeny = [\"getcpu\"]\n}", "syscall-unseen", `"getcpu"`, "without calling it", "nothing keeps", nil},
	{"file", "template \"a\" {\nsyscalls {\ndeny = [\"chmod\"]\n}\n}\ntemplate \"b\" {\nsyscalls {\nallow = [\"chmod\"]\n}\n}\npolicy \"p\" {\nversion = 1\nextends = [template.a]\n}",
		"syscall-never-allowed", `"chmod"`, "", "", nil},
	{"file", "template \"a\" {\nsyscalls {\ndeny = [\"ptrace\"]\n}\n}\ntemplate \"b\" {\nsyscalls {\nallow = [\"ptrace\"]\n}\n}\npolicy \"p\" {\nversion = 1\nextends = [template.a, template.b]\n}",
		"template-conflict syscall-allowed syscall-denied-anyway", "template.b", "disagree about the system call ptrace: deny and allow", "", []string{`"ptrace"`, `"ptrace"`}},

	// Hosts and endpoints.
	{"endpoint", "host = \"**.co.uk\"\nports = [443]", "host-wildcard-too-wide", `"**.co.uk"`, "every host below co.uk", "*.example.com", nil},
	{"endpoint", "host = \"*.localhost\"\nports = [443]", "host-wildcard-too-wide", `"*.localhost"`, "every host below localhost", "", nil},
	{"endpoint", "host = \"*.x.ck\"\nports = [443]", "host-wildcard-too-wide", `"*.x.ck"`, "every host below x.ck", "", nil},
	{"endpoint", "host = \"*.COM.\"\nports = [443]", "host-wildcard-too-wide", `"*.COM."`, "every host below com", "", nil},
	{"endpoint", "host = \"**.公司.cn\"\nports = [443]", "host-wildcard-too-wide", `"**.公司.cn"`, "xn--55qx5d.cn", "", nil},
	{"endpoint", "host = \"**.\"\nports = [443]", "host-wildcard-too-wide", `"**."`, "every host", "", nil},
	{"endpoint", "host = \"***.example.com\"\nports = [443]", "host-wildcard-position", `"***.example.com"`, "whole first label", "", nil},
	{"endpoint", "host = \"*a.example.com\"\nports = [443]", "host-wildcard-position", `"*a.example.com"`, "", "", nil},
	{"endpoint", "host = \"*.*.example.com\"\nports = [443]", "host-wildcard-position", `"*.*.example.com"`, "", "", nil},
	{"endpoint", "host = \"*com\"\nports = [443]", "host-wildcard-position", `"*com"`, "", "", nil},
	{"endpoint", "host = \"[2001:DB8::7]\"\nports = [443]", "host-is-address", `"[2001:DB8::7]"`, "spelling of the address 2001:db8::7", `address = "2001:db8::7"`, nil},
	{"endpoint", "host = \"2130706433\"\nports = [443]", "host-is-address", `"2130706433"`, "127.0.0.1", `address = "127.0.0.1"`, nil},
	{"endpoint", "host = \"0x7f.1\"\nports = [443]", "host-is-address", `"0x7f.1"`, "127.0.0.1", "", nil},
	{"endpoint", "host = \"0177.0.0.1.\"\nports = [443]", "host-is-address", `"0177.0.0.1."`, "127.0.0.1", "", nil},
	{"endpoint", "host = \"::ffff:10.0.0.1\"\nports = [443]", "host-is-address", `"::ffff:10.0.0.1"`, "10.0.0.1", "", nil},
	{"endpoint", "host = \"fe80::1%%eth0\"\nports = [443]", "host-is-address", `"fe80::1%%eth0"`, "fe80::1", "", nil},
	{"endpoint", "host = \"\"\nports = [443]", "host-malformed", `""`, `"" is not a host name`, "", nil},
	{"endpoint", "host = \"a.test:443\"\nports = [443]", "host-malformed", `"a.test:443"`, "", "ports stand in ports", nil},
	{"endpoint", "host = \"https://a.test/\"\nports = [443]", "host-malformed", `"https://a.test/"`, "", "without scheme and path", nil},
	{"endpoint", "host = \"10.0.0.0/8\"\nports = [443]", "host-malformed", `"10.0.0.0/8"`, "", "ranges cannot stand here", nil},
	{"endpoint", "host = \"a@b.test\"\nports = [443]", "host-malformed", `"a@b.test"`, "", "without a user", nil},
	{"endpoint", "host = \"a_b.test\"\nports = [443]", "host-malformed", `"a_b.test"`, "", "underscore", nil},
	{"endpoint", "host = \"*.10.0.0.1\"\nports = [443]", "host-malformed", `"*.10.0.0.1"`, "", "", nil},
	{"endpoint", "host = \"example.123\"\nports = [443]", "host-malformed", `"example.123"`, "", "", nil},
	{"endpoint", "address = \"a.test\"\nports = [443]", "address-malformed", `"a.test"`, "", "a name belongs into host", nil},
	{"endpoint", "address = \"10.0.0.0/8\"\nports = [443]", "address-malformed", `"10.0.0.0/8"`, "", "not a range", nil},
	{"endpoint", "address = \"127.1\"\nports = [443]", "address-malformed", `"127.1"`, "", `write "127.0.0.1"`, nil},
	{"endpoint", "address = \"fe80::1%%eth0\"\nports = [443]", "address-malformed", `"fe80::1%%eth0"`, "", `write "fe80::1"`, nil},
	{"endpoint", "host = \"a.test\"\nports = [443]\nexecutables = []", "executables-empty", "executables", "names no program", "any program", nil},
	{"endpoint", "host = \"a.test\"\nports = [443]\nexecutables = [optional(\"/x\")]", "executable-modifier", `optional("/x")`, "plain path", `write "/x"`, nil},
	{"endpoint", "host = \"a.test\"\nports = [443]\nexecutables = [\"curl\"]", "path-not-absolute", `"curl"`, "", "", nil},

	// Environment, limits, system.
	{"environment", `HTTPS_PROXY = "x"`, "environment-proxy-variable", `HTTPS_PROXY`, "HTTPS_PROXY", "endpoint blocks", nil},
	{"environment", `no_proxy = "x"`, "environment-proxy-variable", `no_proxy`, "no_proxy", "", nil},
	{"limits", `timeout = 30`, "unit", `30`, "has no unit", `ms, s, m, h, as in timeout = "30s"`, nil},
	{"limits", `timeout = "1.5h"`, "unit", `"1.5h"`, "", "", nil},
	{"limits", `timeout = "-1s"`, "unit", `"-1s"`, "", "", nil},
	{"limits", `timeout = "s"`, "unit", `"s"`, "", "", nil},
	{"limits", `timeout = ""`, "unit", `""`, "", "", nil},
	{"limits", `timeout = "30s1m"`, "unit", `"30s1m"`, "", "", nil},
	{"limits", `timeout = "5 s"`, "unit", `"5 s"`, "", "", nil},
	{"limits", `file_size = "1Mb"`, "unit", `"1Mb"`, "", "B, KiB, MiB, GiB, TiB, KB, MB, GB, TB", nil},
	{"limits", `cpu_time = "500ms"`, "unit", `"500ms"`, "", "s, m, h", nil},
	{"limits", `open_files = "256"`, "unit", `"256"`, "not a plain number", "open_files = 256", nil},
	{"limits", `open_files = 3`, "limit-range", `3`, "open_files is out of range", "from 16 to 1048576", nil},
	{"limits", `timeout = "0s"`, "limit-range", `"0s"`, "", "from 1ms to 720h", nil},
	{"limits", `timeout = "99999999999999999999h"`, "limit-range", `"99999999999999999999h"`, "", "", nil},
	{"limits", `timeout = "9223372036854775807h"`, "limit-range", `"9223372036854775807h"`, "", "", nil},
	{"limits", `memory = "8MiB"`, "limit-range", `"8MiB"`, "memory is out of range", "from 16MiB to 1024TiB", nil},
	{"limits", `memory = 64`, "unit", `64`, "has no unit", `as in memory = "512MiB"`, nil},
	{"limits", `processes = 0`, "limit-range", `0`, "processes is out of range", "from 1 to 4194304", nil},
	{"limits", `processes = "64"`, "unit", `"64"`, "not a plain number", "processes = 64", nil},
	{"limits", `tmp_size = "1KiB"`, "limit-range", `"1KiB"`, "tmp_size is out of range", "from 4KiB to 1TiB", nil},
	{"limits", `tmp_size = "1MiB"`, "limit-unused", `"1MiB"`, "no rule writes tmp", "write = [tmp]", nil},
	{"limits", `workspace_size = "2KiB"`, "limit-range", `"2KiB"`, "workspace_size is out of range", "from 4KiB", nil},
	{"limits", `workspace_size = "1GiB"`, "limit-unused", `"1GiB"`, "no rule writes the workspace", "write = [workspace]", nil},
	{"limits", `scope = "tree"`, "limit-unused", `"tree"`, "neither memory nor processes", "add one of them", nil},
	{"system", `shm = "1KiB"`, "limit-range", `"1KiB"`, "shm is out of range", "4KiB", nil},
	{"system", `shm = "64"`, "unit", `"64"`, "", "", nil},
	{"system", `services = [""]`, "system-name", `""`, "system.services", "", nil},
	{"system", `sysctls = ["hw.*"]`, "system-wildcard", `"hw.*"`, "system.sysctls", "in full", nil},

	// Commands, waivers, versions.
	{"policy", "filesystem {\ndeny = [\"/x\"]\nexecute = [\"/x\"]\n}\n" + `command "c" {` + "\nexecutable = \"/x/y\"\n}", "command-not-executable execute-unreadable", `"/x/y"`, "deny /x decides", `add "/x/y" to read`, []string{`"/x"`}},
	{"policy", "filesystem {\ndeny = [\"/x\"]\n}\n" + `command "c" {` + "\nexecutable = \"/x\"\n}", "command-not-executable", `"/x"`, "deny /x decides", `move "/x" from deny to read`, []string{`"/x"`}},
	{"policy", `command "c" {` + "\nexecutable = \"/x/y\"\n}", "command-not-executable", `"/x/y"`, "no rule lets /x/y be read", `read, and to execute; most programs need extends = ["std/base"] too`, nil},
	{"policy", "extends = [\"std/tls\"]\n" + `command "c" {` + "\nexecutable = \"/x/y\"\n}", "command-not-executable", `"/x/y"`, "no execute rule covers", `add "/x/y" to execute`, nil},
	{"command", `sha256 = "AB"`, "sha256-malformed", `"AB"`, "64 lower-case", "sha256sum", nil},
	{"command", `sha256 = "` + strings.Repeat("AB", 32) + `"`, "sha256-malformed", `"` + strings.Repeat("AB", 32) + `"`, "", "in lower case", nil},
	{"command", `arguments = [integer("a", 0, 9007199254740992)]`, "integer-range", `integer("a", 0, 9007199254740992)`, "9007199254740992", "", nil},
	{"file", "policy \"p\" {\nversion = 9007199254740992\n}", "version-range", "9007199254740992", "larger", "count versions from 1", nil},
	{"filesystem", `execute = ["/x"]`, "execute-unreadable", `"/x"`, "nothing at /x can be read", `add "/x" to read, or remove it from execute; most programs need extends = ["std/base"] too`, nil},
	{"filesystem", "deny = [\"/x\"]\nexecute = [\"/x\"]", "execute-unreadable", `"/x"`, "", `move "/x" from deny to read`, []string{`"/x"`}},
	{"filesystem", "deny = [\"/x\"]\nexecute = [\"/x/y\"]", "execute-unreadable", `"/x/y"`, "", "", []string{`"/x"`}},
	{"policy", "waive \"seatbelt\" {\nfeatures = [\"limits.tiemout\"]\nreason = \"r\"\n}", "unknown-feature", `"limits.tiemout"`, "", "did you mean limits.timeout?", nil},
}

func twoTemplates(a, b string) string {
	in := func(name, lists string) string {
		return "template \"" + name + "\" {\nfilesystem {\n" + lists + "\n}\n}\n"
	}
	return in("a", a) + in("b", b) + "policy \"p\" {\nversion = 1\nextends = [template.a, template.b]\n}\n"
}

func TestFindings(t *testing.T) {
	for _, tt := range findings {
		t.Run(tt.code, func(t *testing.T) {
			src := cases.Wrap(tt.where, tt.text)
			_, diags := compile(t, src)
			var got []string
			for _, d := range diags {
				got = append(got, d.Code)
			}
			want := strings.Fields(tt.code)
			d, ok := find(diags, want[0])
			if !ok || !sameSet(got, want) {
				t.Fatalf("%s: found %q, want %q\n%v", tt.text, got, want, diags)
			}
			if at := underlined(src, d.At); at != tt.at {
				t.Errorf("%s: %s underlines %q, want %q", tt.text, d.Code, at, tt.at)
			}
			if !strings.Contains(d.Message, tt.message) || !strings.Contains(d.Help, tt.help) {
				t.Errorf("%s: %q, help %q, want %q and %q in them", tt.text, d.Message, d.Help, tt.message, tt.help)
			}
			var related []string
			for _, r := range d.Related {
				related = append(related, underlined(src, r.At))
			}
			if strings.Join(related, "|") != strings.Join(tt.related, "|") {
				t.Errorf("%s: relates %q, want %q", tt.text, related, tt.related)
			}
			style(t, d)
		})
	}
}

func find(list diag.List, code string) (diag.Diagnostic, bool) {
	for _, d := range list {
		if d.Code == code {
			return d, true
		}
	}
	return diag.Diagnostic{}, false
}

func sameSet(a, b []string) bool {
	count := map[string]int{}
	for _, s := range a {
		count[s]++
	}
	for _, s := range b {
		count[s]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

func underlined(src string, r diag.Range) string { return src[r.Start.Byte:r.End.Byte] }

// style holds a finding to the form that all findings have.
func style(t *testing.T, d diag.Diagnostic) {
	t.Helper()
	if d.Message == "" || strings.HasSuffix(d.Message, ".") || strings.Contains(d.Message, "\n") || strings.Contains(d.Message, "invalid") {
		t.Errorf("%s: the message %q is no clause that names what is wrong", d.Code, d.Message)
	}
	if d.Help == "" || strings.Contains(d.Help, "\n") {
		t.Errorf("%s: the help %q says nothing to write instead", d.Code, d.Help)
	}
}

// elsewhere are codes whose findings need more than a line of text.
var elsewhere = map[string]string{
	"extends-too-deep":  "TestLimits",
	"too-many-rules":    "TestLimits",
	"too-many-findings": "TestFindingsAreBounded",
	"path-not-utf8":     "TestPathNotUTF8: lang refuses such text before",

	"connect-malformed":    "TestFindingsInTests",
	"request-malformed":    "TestFindingsInTests",
	"test-without-policy":  "TestFindingsInTests",
	"unknown-policy":       "TestFindingsInTests",
	"binding-inadmissible": "TestFindingsInTests",
}

// TestEveryCodeHasARow reads the codes out of the source.
func TestEveryCodeHasARow(t *testing.T) {
	covered := map[string]bool{}
	for _, tt := range findings {
		covered[strings.Fields(tt.code)[0]] = true
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile(`Code: *"([a-z0-9-]+)"`)
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range code.FindAllStringSubmatch(string(src), -1) {
			if !covered[m[1]] && elsewhere[m[1]] == "" {
				t.Errorf("%s raises %s, and no row of findings shows it", f, m[1])
			}
		}
	}
}

func TestPathNotUTF8(t *testing.T) {
	_, fault := place(lang.Text{Parts: []lang.Part{{Kind: lang.LiteralPart, Text: "/a\xffb"}}})
	if fault == nil || fault.Code != "path-not-utf8" {
		t.Errorf("place(/a\\xffb) finds %v, want path-not-utf8", fault)
	}
}

func TestFindingsAreBounded(t *testing.T) {
	b := bodyOf(false, "p")
	for range maxFindings + 5 {
		at := diag.Range{File: "p", Start: diag.Pos{Line: 1, Column: 1, Byte: len(b.Filesystem.Deny)}}
		b.Filesystem.Deny = append(b.Filesystem.Deny, lang.Path{Text: lang.Text{Range: at}})
	}
	_, diags := Compile(&lang.Config{Policies: []*lang.Body{b}}, Options{})
	last := diags[len(diags)-1]
	if len(diags) != maxFindings+1 || last.Code != "too-many-findings" || last.Severity != diag.Error || !strings.HasPrefix(last.Message, "5 more") {
		t.Errorf("%d findings, the last %s, want %d and too-many-findings", len(diags), last, maxFindings+1)
	}
}

// TestAllFaultsInOneRun: every fault once, whatever else is wrong, and the sound
// policy still compiles.
func TestAllFaultsInOneRun(t *testing.T) {
	results, diags := compile(t, `
template "shared" {
  filesystem {
    read = ["relative"]
  }
}
policy "one" {
  version = 1
  extends = [template.shared, "std/none"]
  filesystem {
    write = ["/", "~/x"]
    deny  = ["/a/*"]
  }
  network {
    endpoint "e" {
      host  = "*"
      ports = [1]
    }
  }
  limits {
    timeout = "soon"
  }
  command "c" {
    executable = "/bin/x" # not reported: what lets it run may be what is missing
  }
}
policy "two" {
  version = 1
  extends = [template.shared]
}
policy "three" {
  version = 1
  filesystem {
    read = ["/x"]
  }
}`)
	want := []string{"path-not-absolute", "unknown-template", "path-too-broad", "path-tilde", "path-wildcard", "host-wildcard-too-wide", "unit"}
	if got := strings.Fields(cases.ErrorCodes(diags)); !sameSet(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	if len(results) != 1 || results[0].Policy.Name != "three" {
		t.Errorf("%d policies compile, want three alone", len(results))
	}
}

// TestPartialConfigurations: what lang left out is not reported as missing.
func TestPartialConfigurations(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"a path of the wrong type", cases.Policy("filesystem {\nread = [7]\nexecute = [\"/x\"]\n}\ncommand \"c\" {\nexecutable = \"/x\"\n}"), "wrong-type"},
		{"an endpoint without host", cases.Policy("network {\nendpoint \"e\" {\nports = [1]\n}\n}"), "missing-attribute"},
		{"an endpoint of two", cases.Policy("network {\nendpoint \"e\" {\nhost = \"a.test\"\naddress = \"10.0.0.1\"\nports = [1]\n}\n}"), "host-and-address"},
		{"an endpoint without ports", cases.Policy("network {\nendpoint \"e\" {\nhost = \"a.test\"\nports = []\n}\n}"), "ports-empty"},
		{"an endpoint twice", cases.Policy("network {\nendpoint \"e\" {\nhost = \"a.test\"\nports = [1]\n}\nendpoint \"e\" {\nhost = \"b.test\"\nports = [1]\n}\n}"), "duplicate-endpoint"},
		{"an unknown target", cases.Policy("targets = [\"bwarp\"]"), "unknown-value"},
		{"an unknown word", cases.Policy("workspace = \"old\""), "unknown-value"},
		{"a waiver of nothing", cases.Policy("waive \"seccomp\" {\nfeatures = [\"limits.timeout\"]\nreason = \"r\"\n}"), "unknown-value"},
		{"a waiver without reason", cases.Policy("waive \"bwrap\" {\nfeatures = [\"limits.timeout\"]\nreason = \" \"\n}"), "missing-attribute"},
		{"a command without executable", cases.Policy("command \"c\" {\n}"), "missing-attribute"},
		{"a scope of later", cases.Policy("limits {\nscope = \"process\"\n}"), "unknown-value"},
		{"a settling statement of the wrong type", strings.Replace(twoTemplates(`read = ["/x"]`, `write = ["/x"]`), "version = 1", "version = 1\nfilesystem {\nread = [8]\n}", 1), "wrong-type"},
		{"and faults of both", cases.Policy("workspace = \"old\"\nfilesystem {\nread = [\"x\"]\n}"), "unknown-value path-not-absolute"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			results, diags := compile(t, tt.text)
			if got := cases.ErrorCodes(diags); got != tt.want || len(results) != 0 {
				t.Errorf("%s: found %q and compiled %d policies, want %q and none", tt.text, got, len(results), tt.want)
			}
		})
	}
}
