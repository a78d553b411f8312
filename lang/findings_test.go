package lang

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/testdata/cases"
)

// finding is one fault: where its text stands (see wrap), the one code expected,
// the text that is underlined, a word of its help, and a twin with the fault
// mended.
type finding struct {
	where, text, code, at, help, twin string
}

// findings are the faults that this package finds, beside those of the cases and
// of the hostile texts.
var findings = []finding{
	// What stands where.
	{"file", `polcy "p" {}`, "unknown-block", `polcy`, "did you mean policy?", ""},
	{"file", "x = 1 ⏎ " + smallest, "unknown-attribute", `x`, "put it into a block", smallest},
	{"file", `test "t" {} ⏎ ` + smallest, "unknown-block", `test`, "*.test.hcl", smallest},
	{"file", `# nothing`, "no-policy", "", `policy "NAME"`, smallest},
	{"file", ``, "no-policy", "", `policy "NAME"`, smallest},
	{"file", `template "t" {}`, "no-policy", "", `policy "NAME"`, smallest},
	{"policy", `filesystem = {}`, "unknown-attribute", `filesystem`, "is a block", `filesystem {}`},
	{"policy", `filesystm {}`, "unknown-block", `filesystm`, "did you mean filesystem?", `filesystem {}`},
	{"filesystem", `read {}`, "unknown-block", `read`, "equals sign", `read = []`},
	{"environment", `LANG {}`, "unknown-block", `LANG`, "equals sign", `LANG = "C"`},
	{"file", `template "t" { ⏎ version = 1 ⏎ } ⏎ ` + smallest, "unknown-attribute", `version`, "extends this template", `template "t" {} ⏎ ` + smallest},
	{"file", `template "t" { ⏎ targets = ["bwrap"] ⏎ } ⏎ ` + smallest, "unknown-attribute", `targets`, "extends this template", smallest},
	{"policy", `filesystem "f" {}`, "block-label", `"f"`, "write filesystem {", `filesystem {}`},
	{"file", `policy { ⏎ version = 1 ⏎ }`, "block-label", `policy`, `policy "NAME"`, smallest},
	{"file", `policy "p" "q" { ⏎ version = 1 ⏎ }`, "block-label", `"q"`, "remove it", smallest},
	{"file", `variable {} ⏎ ` + smallest, "block-label", `variable`, `variable "NAME"`, smallest},
	{"policy", `filesystem {} ⏎ filesystem {}`, "duplicate-block", `filesystem`, "one block", `filesystem {}`},

	// Words of the language that come later.
	{"policy", `network { ⏎ loopback = "hsot" ⏎ }`, "unknown-value", `"hsot"`, "host", `network { ⏎ loopback = "host" ⏎ }`},
	{"policy", `network { ⏎ deny = "a.test" ⏎ }`, "wrong-type", `"a.test"`, "a list", `network { ⏎ deny = ["a.test"] ⏎ }`},
	{"endpoint", anEndpoint + ` ⏎ addresses = "10.0.0.0/8"`, "wrong-type", `"10.0.0.0/8"`, "a list", anEndpoint + ` ⏎ addresses = ["10.0.0.0/8"]`},
	{"endpoint", anEndpoint + ` ⏎ protocol = "grpc"`, "unknown-value", `"grpc"`, "rest", anEndpoint + ` ⏎ protocol = "rest"`},
	{"endpoint", anEndpoint + ` ⏎ allow { ⏎ methods = 1 ⏎ } `, "wrong-type", `1`, "a list", anEndpoint + ` ⏎ allow { ⏎ methods = ["GET"] ⏎ }`},
	{"endpoint", anEndpoint + ` ⏎ deny {}`, "request-empty", `deny`, "every request", anEndpoint + ` ⏎ deny { ⏎ path = "/**" ⏎ }`},
	{"endpoint", anEndpoint + ` ⏎ allow {}`, "request-empty", `allow`, "every request", anEndpoint + ` ⏎ allow { ⏎ path = "/**" ⏎ }`},
	{"endpoint", anEndpoint + ` ⏎ allow { ⏎ read = ["/x"] ⏎ }`, "request-empty unknown-attribute", `read`, "", anEndpoint + ` ⏎ allow { ⏎ path = "/**" ⏎ }`},
	{"endpoint", `for_each = { a = "b" } ⏎ host = each.value`, "not-yet", `for_each`, "remove it", anEndpoint},
	{"policy", `system { ⏎ proc = "x" ⏎ }`, "not-yet", `proc`, "remove it", `system {}`},
	{"command", `stdin = "x"`, "not-yet", `stdin`, "remove it", ``},
	{"command", `input {}`, "not-yet", `input`, "remove it", ``},
	{"command", `output {}`, "not-yet", `output`, "remove it", ``},
	{"command", `for_each = ["a"] ⏎ arguments = [each.value]`, "not-yet", `for_each`, "remove it", ``},
	{"command", `arguments = [enum("a", ["b"])]`, "not-yet", `enum`, "remove it", `arguments = [identifier("a")]`},
	{"command", `arguments = [path("a")]`, "not-yet", `path`, "remove it", ``},
	{"command", `arguments = [text("a", ".*", 9)]`, "not-yet", `text`, "remove it", ``},
	{"environment", `A = secret("x")`, "not-yet", `secret`, "remove it", `A = "x"`},

	// Names.
	{"file", `policy "P" { ⏎ version = 1 ⏎ }`, "name-malformed", `"P"`, "a-z", smallest},
	{"file", `template "a_b" {} ⏎ ` + smallest, "name-malformed", `"a_b"`, "a-z", `template "a-b" {} ⏎ ` + smallest},
	{"policy", `network { ⏎ endpoint "E" { ⏎ ` + anEndpoint + ` ⏎ } ⏎ }`, "name-malformed", `"E"`, "a-z", ""},
	{"policy", `command "a.b" { ⏎ executable = "/x" ⏎ }`, "name-malformed", `"a.b"`, "a-z", `command "ab" { ⏎ executable = "/x" ⏎ }`},
	{"file", `policy "` + strings.Repeat("a", 64) + `" { ⏎ version = 1 ⏎ }`, "name-malformed", ``, "63", `policy "` + strings.Repeat("a", 63) + `" { ⏎ version = 1 ⏎ }`},
	{"file", `variable "a b" { ⏎ default = 1 ⏎ } ⏎ ` + smallest, "name-malformed", `"a b"`, "letters", `variable "ab" { ⏎ default = 1 ⏎ } ⏎ ` + smallest},
	{"file", `template "p" {} ⏎ ` + smallest, "duplicate-policy", `"p"`, "another name", `template "q" {} ⏎ ` + smallest},
	{"file", smallest + ` ⏎ template "p" {}`, "duplicate-template", `"p"`, "another name", ""},
	{"file", `variable "a" { ⏎ default = 1 ⏎ } ⏎ variable "a" { ⏎ default = 2 ⏎ } ⏎ ` + smallest, "duplicate-variable", `"a"`, "another name", ""},
	{"file", `locals { ⏎ a = 1 ⏎ } ⏎ locals { ⏎ a = 2 ⏎ } ⏎ ` + smallest, "duplicate-local", `a`, "another name", `locals { ⏎ a = 1 ⏎ } ⏎ locals { ⏎ b = 2 ⏎ } ⏎ ` + smallest},
	{"policy", `network { ⏎ endpoint "e" { ⏎ ` + anEndpoint + ` ⏎ } ⏎ endpoint "e" { ⏎ ` + anEndpoint + ` ⏎ } ⏎ }`, "duplicate-endpoint", `"e"`, "another name", ""},
	{"policy", `command "c" { ⏎ executable = "/x" ⏎ } ⏎ command "c" { ⏎ executable = "/x" ⏎ }`, "duplicate-command", `"c"`, "another name", ""},
	{"command", `result "r" { ⏎ boolean "a" {} ⏎ integer "a" {} ⏎ }`, "duplicate-field", `"a"`, "another name", `result "r" { ⏎ boolean "a" {} ⏎ integer "b" {} ⏎ }`},
	{"policy", aWaive + " ⏎ " + aWaive, "duplicate-waive", `"seatbelt"`, "one block", aWaive},
	{"policy", `filesystem { read = ["/x"] ⏎ write = ["/y"] ⏎ }`, "syntax", "", "begin a new line after the {", `filesystem { ⏎ read = ["/x"] ⏎ write = ["/y"] ⏎ }`},
	{"policy", `limits { timeout = "1s", stdout = "1MiB" }`, "syntax", `,`, "on its own line", `limits { timeout = "1s" }`},
	{"environment", `A = "1" ⏎ A = "2"`, "syntax", `A`, "one of the two", `A = "1" ⏎ B = "2"`},
	{"environment", `Ä = "1"`, "environment-name", `Ä`, "A-Z", `A = "1"`},
	{"environment", `DYLD_INSERT_LIBRARIES = "1"`, "environment-loader-variable", `DYLD_INSERT_LIBRARIES`, "never", `DYLD = "1"`},

	// What is required, and what values may be.
	{"endpoint", `host = "example.com"`, "missing-attribute", `endpoint "e"`, "ports = [443]", anEndpoint},
	{"endpoint", `ports = [443]`, "missing-attribute", `endpoint "e"`, "address", anEndpoint},
	{"endpoint", anEndpoint + ` ⏎ address = "10.0.0.1"`, "host-and-address", `address`, "keep one", anEndpoint},
	{"endpoint", `host = "example.com" ⏎ ports = [65536]`, "port-range", `65536`, "65535", anEndpoint},
	{"endpoint", `host = "example.com" ⏎ ports = [443, "80"]`, "wrong-type", `"80"`, "write 80, without quotes", anEndpoint},
	{"endpoint", `host = "example.com" ⏎ ports = [1.5]`, "wrong-type", `1.5`, "fraction", anEndpoint},
	{"endpoint", `host = "example.com" ⏎ ports = 443`, "wrong-type", `443`, "a list", anEndpoint},
	{"endpoint", `host = 3 ⏎ ports = [443]`, "wrong-type", `3`, `write "3", in quotes`, anEndpoint},
	{"endpoint", `host = null ⏎ ports = [443]`, "wrong-type", `null`, "a string", anEndpoint},
	{"file", `policy "p" { ⏎ version = 1.5 ⏎ }`, "wrong-type", `1.5`, "fraction", smallest},
	{"file", `policy "p" { ⏎ version = 99999999999999999999 ⏎ }`, "wrong-type", `99999999999999999999`, "", smallest},
	{"file", `policy "p" { ⏎ version = -1 ⏎ }`, "version-range", `-1`, "version = 1", smallest},
	{"policy", `targets = ["linux"]`, "unknown-value", `"linux"`, "bwrap", `targets = ["bwrap"]`},
	{"policy", `targets = ["seatbelts"]`, "unknown-value", `"seatbelts"`, `write "seatbelt"`, `targets = ["seatbelt"]`},
	{"policy", `targets = []`, "targets-empty", `[]`, "leave the attribute out", ``},
	{"policy", `targets = ["bwrap", "bwrap"]`, "duplicate-target", `"bwrap"`, "", `targets = ["bwrap", "seatbelt"]`},
	{"policy", `workspace = "shard"`, "unknown-value", `"shard"`, `write "shared"`, `workspace = "shared"`},
	{"limits", `scope = "process"`, "unknown-value", `"process"`, "watched", `scope = "watched"`},
	{"policy", `network { ⏎ unix = "visble" ⏎ }`, "unknown-value", `"visble"`, `write "visible"`, `network { ⏎ unix = "visible" ⏎ }`},
	{"policy", `system { ⏎ devices = "all" ⏎ }`, "unknown-value", `"all"`, "minimal", `system { ⏎ devices = "none" ⏎ }`},
	{"policy", `system { ⏎ services = "a" ⏎ }`, "wrong-type", `"a"`, "a list", `system { ⏎ services = ["a"] ⏎ shm = "1MiB" ⏎ }`},
	{"policy", `waive "linux" { ⏎ features = ["a"] ⏎ reason = "b" ⏎ }`, "unknown-value", `"linux"`, "bwrap", aWaive},
	{"policy", `waive "bwrap" { ⏎ reason = "b" ⏎ }`, "missing-attribute", `waive "bwrap"`, "features", aWaive},
	{"policy", `waive "bwrap" { ⏎ features = ["b"] ⏎ }`, "missing-attribute", `waive "bwrap"`, "why", aWaive},
	{"policy", `waive "bwrap" { ⏎ features = ["b"] ⏎ reason = "  " ⏎ }`, "missing-attribute", `waive "bwrap"`, "why", aWaive},
	{"limits", `timeout = true`, "wrong-type", `true`, "a string", `timeout = "1s"`},
	{"limits", `open_files = 1.5`, "wrong-type", `1.5`, "fraction", `open_files = 2`},
	{"filesystem", `read = ["/a", 1, "/b"]`, "wrong-type", `1`, "in quotes", `read = ["/a", "/b"]`},
	{"filesystem", `read = "/a"`, "wrong-type", `"/a"`, "a list", `read = ["/a"]`},
	{"filesystem", `read = [["/a"]]`, "wrong-type", `["/a"]`, "a string", `read = ["/a"]`},
	{"policy", `extends = "std/base"`, "wrong-type", `"std/base"`, "a list", `extends = ["std/base"]`},
	{"policy", `extends = [template]`, "unknown-name", `template`, "template.NAME", `extends = [template.a]`},
	{"policy", `description = template.a`, "unknown-name", `template.a`, "template.NAME", `description = "a"`},

	{"policy", `extends = template.a`, "wrong-type", `template.a`, "extends = [template.NAME]", `extends = [template.a]`},
	{"policy", `extends = base`, "wrong-type", `base`, "template.NAME", `extends = ["std/base"]`},
	{"policy", `extends = std/base`, "wrong-type", `std/base`, `extends = ["std/base"]`, `extends = ["std/base"]`},
	{"policy", `extends = [base]`, "unknown-name", `base`, `"std/base"`, `extends = ["std/base"]`},
	{"policy", `extends = [std/base]`, "unknown-name", `std/base`, `write "std/base", in quotes`, `extends = ["std/base"]`},
	{"policy", `workspace = fresh`, "unknown-name", `fresh`, `write "fresh", in quotes`, `workspace = "fresh"`},
	{"policy", `network { ⏎ unix = true ⏎ }`, "wrong-type", `true`, `write "none" or "visible"`, `network { ⏎ unix = "visible" ⏎ }`},
	{"policy", `targets = ["macos"]`, "unknown-value", `"macos"`, `write "seatbelt"`, `targets = ["seatbelt"]`},
	{"filesystem", `write = workspace`, "wrong-type", `workspace`, `write it as a list: write = [workspace]`, `write = [workspace]`},
	{"filesystem", `exec = ["/x"]`, "unknown-attribute", `exec`, "did you mean execute?", `execute = ["/x"]`},
	{"filesystem", `executables = ["/x"]`, "unknown-attribute", `executables`, "did you mean execute?", `execute = ["/x"]`},
	{"filesystem", `Read = ["/x"]`, "unknown-attribute", `Read`, "did you mean read?", `read = ["/x"]`},
	{"policy", `env {}`, "unknown-block", `env`, "did you mean environment?", `environment {}`},
	{"command", `args = []`, "unknown-attribute", `args`, "did you mean arguments?", `arguments = []`},
	{"policy", `command "c" { ⏎ executable = "/x" ⏎ exe = "/x" ⏎ }`, "unknown-attribute", `exe`, "did you mean executable?", ""},

	// Results and argument forms.
	{"command", `result "r" { ⏎ enum "e" {} ⏎ }`, "missing-attribute", `enum "e"`, "values", `result "r" { ⏎ enum "e" { ⏎ values = ["a"] ⏎ } ⏎ }`},
	{"command", `result "r" { ⏎ enum "e" { ⏎ values = [] ⏎ } ⏎ }`, "enum-empty", `[]`, "values", ""},
	{"command", `result "r" { ⏎ enum "e" { ⏎ values = ["a", "a"] ⏎ } ⏎ }`, "duplicate-value", `"a"`, "", ""},
	{"command", `result "r" { ⏎ integer "i" { ⏎ minimum = 2 ⏎ maximum = 1 ⏎ } ⏎ }`, "integer-range", `1`, "smaller", `result "r" { ⏎ integer "i" { ⏎ minimum = 1 ⏎ maximum = 1 ⏎ } ⏎ }`},
	{"command", `result "r" { ⏎ identifier "i" { ⏎ max_bytes = 0 ⏎ } ⏎ }`, "identifier-length", `0`, "4096", `result "r" { ⏎ identifier "i" { ⏎ max_bytes = 4096 ⏎ } ⏎ }`},
	{"command", `result "r" { ⏎ string "i" {} ⏎ }`, "unknown-block", `string`, "boolean", `result "r" { ⏎ boolean "i" {} ⏎ }`},
	{"command", `result "r" {} ⏎ result "s" {}`, "duplicate-block", `result "s"`, "one block", `result "r" {}`},
	{"command", `arguments = [identifier("a", 4097)]`, "identifier-length", `4097`, "4096", `arguments = [identifier("a", 4096)]`},
	{"command", `arguments = [identifier("a", 0)]`, "identifier-length", `0`, "4096", `arguments = [identifier("a", 1)]`},
	{"command", `arguments = [integer("a", 2, 1)]`, "integer-range", `integer("a", 2, 1)`, "smaller", `arguments = [integer("a", -1, 1)]`},
	{"command", `arguments = [integer("a", 0.5, 1)]`, "wrong-type", `0.5`, "fraction", `arguments = [integer("a", 0, 1)]`},
	{"command", `arguments = [integer("a", "0", 1)]`, "wrong-type", `"0"`, "without quotes", `arguments = [integer("a", 0, 1)]`},
	{"command", `arguments = [identifier(title)]`, "unknown-name", `title`, `write identifier("title"), in quotes`, `arguments = [identifier("title")]`},
	{"command", `arguments = ["--", rest(home)]`, "unknown-name", `home`, `write rest("home"), in quotes`, `arguments = ["--", rest("home")]`},
	{"command", `arguments = [for name in ["a"] : identifier(title)]`, "unknown-name", `title`, `write identifier("title"), in quotes`, `arguments = [for name in ["a"] : identifier(name)]`},
	{"command", `arguments = [identifier("a b")]`, "name-malformed", `"a b"`, "letters", `arguments = [identifier("a_b")]`},
	{"command", `arguments = [identifier("a"), identifier("a")]`, "duplicate-argument", `identifier("a")`, "locals", `arguments = [for i in [1] : identifier("a")]`},
	{"command", `arguments = ["--", "${rest("a")}x"]`, "rest-not-whole", `"${rest("a")}x"`, "of its own", `arguments = ["--", "${rest("a")}"]`},
	{"command", `arguments = [rest("a")]`, "rest-without-separator", `rest("a")`, `"--"`, `arguments = ["--", rest("a")]`},
	{"command", `arguments = ["--", rest("a"), rest("b")]`, "rest-not-last rest-without-separator", ``, "", ``},
	{"environment", `A = identifier("a")`, "field-misplaced", `identifier("a")`, "arguments", `A = "${tmp}/a"`},
	{"filesystem", `read = ["/x/${identifier("a")}"]`, "field-misplaced", `"/x/${identifier("a")}"`, "arguments", `read = ["/x/a"]`},
	{"policy", `description = "in ${workspace}"`, "slot-misplaced", `"in ${workspace}"`, "write it out", `description = "in"`},
	{"endpoint", `host = home ⏎ ports = [443]`, "slot-misplaced", `home`, "write it out", anEndpoint},
	{"filesystem", `read = ["${optional("/x")}/y"]`, "modifier-misplaced", `"${optional("/x")}/y"`, "whole", `read = [optional("/x/y")]`},
	{"filesystem", `read = ["/a${only("/x")}"]`, "modifier-misplaced", `"/a${only("/x")}"`, "whole", `read = [only("/a/x")]`},
	{"filesystem", `read = ["${optional("/x")}${optional("/y")}"]`, "modifier-misplaced", ``, "whole", `read = ["${optional("/x")}"]`},
	{"filesystem", `read = [optional(only("/x"))]`, "modifier-nested", `optional(only("/x"))`, "one of", `read = [only("/x")]`},
	{"environment", `A = optional("/x")`, "modifier-misplaced", `optional("/x")`, "element", `A = "/x"`},
	{"command", `arguments = [only("/x")]`, "modifier-misplaced", `only("/x")`, "element", `arguments = ["/x"]`},
	{"policy", `command "c" { ⏎ executable = optional("/x") ⏎ }`, "modifier-misplaced", `optional("/x")`, "element", `command "c" { ⏎ executable = "/x" ⏎ }`},

	// Expressions.
	{"filesystem", `read = [uper("/x")]`, "unknown-function", `uper`, "did you mean upper?", `read = [upper("/x")]`},
	{"filesystem", `read = [file("/x")]`, "unknown-function", `file`, "remove it", `read = ["/x"]`},
	{"filesystem", `read = [upper()]`, "wrong-arguments", `upper()`, "it takes 1", `read = [upper("/x")]`},
	{"filesystem", `read = [upper("/x", "/y")]`, "wrong-arguments", `upper("/x", "/y")`, "it takes 1", `read = [upper("/x")]`},
	{"filesystem", `read = [integer("a")]`, "wrong-arguments", `integer("a")`, "it takes 3", `read = []`},
	{"filesystem", `read = [join("/", "x")]`, "wrong-type", `"x"`, "a list", `read = [join("/", ["", "x"])]`},
	{"filesystem", `read = [join("/", ["", []])]`, "wrong-type", `["", []]`, "a string", `read = [join("/", ["", "x"])]`},
	{"filesystem", `read = concat(["/x"], "/y")`, "wrong-type", `"/y"`, "a list", `read = concat(["/x"], ["/y"])`},
	{"filesystem", `read = ["${["/x"]}"]`, "wrong-type", `"${["/x"]}"`, "a string", `read = ["${"/x"}"]`},
	{"filesystem", `read = ["/${["x"]}"]`, "expression", `["x"]`, "join", `read = ["/${"x"}"]`},
	{"filesystem", `read = [local.x.y]`, "unknown-name", `local.x.y`, "locals block", `read = []`},
	{"filesystem", `read = [var.x]`, "unknown-name", `var.x`, `variable "x"`, `read = []`},
	{"filesystem", `read = [var]`, "unknown-name", `var`, "var.NAME", `read = []`},
	{"filesystem", `read = [workspace.x]`, "expression", `.x`, "before the dot", `read = [workspace]`},
	{"filesystem", `read = [for x in ["/x"] : y]`, "unknown-name", `y`, "did you mean x?", `read = [for x in ["/x"] : x]`},
	{"filesystem", `read = [for home in ["/x"] : home]`, "reserved-name", `[`, "another name", `read = [for h in ["/x"] : h]`},
	{"filesystem", `read = [for x in "/x" : x]`, "expression", `"/x"`, "brackets", `read = [for x in ["/x"] : x]`},
	{"filesystem", `read = [true ? "/x" : ["/y"]]`, "wrong-type", `true ? "/x" : ["/y"]`, "same type", `read = [true ? "/x" : "/y"]`},
	{"filesystem", `read = ["true" ? "/x" : "/y"]`, "wrong-type", `"true"`, "true or false", `read = [true ? "/x" : "/y"]`},
	{"filesystem", `read = ["/x"][1]`, "expression", `[1]`, "count from 0", `read = [["/x"][0]]`},
	{"limits", `open_files = "1" + 1`, "wrong-type", `"1"`, "without quotes", `open_files = 1 + 1`},
	{"limits", `open_files = -"1"`, "wrong-type", `"1"`, "without quotes", `open_files = -(-1)`},

	// Slots in what decides.
	{"filesystem", `read = [workspace == "/x" ? "/a" : "/b"]`, "slot-in-function", `workspace`, "by a variable", `read = [true ? workspace : "/b"]`},
	{"filesystem", `read = [workspace == "/x" ? "${workspace}/a" : "${workspace}/b"]`, "slot-in-function", `workspace`, "by a variable", `read = ["${workspace}/b"]`},
	{"filesystem", `read = [for p in [workspace, "/x"] : p if p != home]`, "slot-in-function", `home`, "by a variable", `read = [for p in [workspace, "/x"] : p if true]`},
	{"filesystem", `read = [{ a = "/x" }[workspace]]`, "slot-in-function", `workspace`, "by a variable", `read = [{ a = "/x" }["a"]]`},
	{"filesystem", `read = [for k, v in { (workspace) = "/x" } : v]`, "slot-in-function", `(workspace)`, "by a variable", `read = [for k, v in { "a" = workspace } : v]`},
	{"filesystem", `read = [trimsuffix("${workspace}/${workspace}", workspace)]`, "slot-in-function", `trimsuffix("${workspace}/${workspace}", workspace)`, "literal part", `read = ["${workspace}/${trimsuffix("ab", "b")}"]`},
	{"filesystem", `read = [replace("${workspace}/x", "/", "-")]`, "slot-in-function", `replace("${workspace}/x", "/", "-")`, "literal part", `read = [replace("/x", "x", "y")]`},
	{"limits", `open_files = length([workspace])`, "slot-in-function", `length([workspace])`, "literal part", `open_files = length(["a"])`},
	{"filesystem", `read = split("/", workspace)`, "slot-in-function", `split("/", workspace)`, "literal part", `read = split(",", "/a,/b")`},
	{"filesystem", `read = distinct([workspace, workspace])`, "slot-in-function", `distinct([workspace, workspace])`, "literal part", `read = distinct(["/a", "/a"])`},
	{"filesystem", `read = [lookup({ a = "/x" }, workspace, "/y")]`, "slot-in-function", `lookup({ a = "/x" }, workspace, "/y")`, "literal part", `read = [lookup({ a = workspace }, "a")]`},
	{"command", `arguments = [upper(identifier("a"))]`, "slot-in-function", `upper(identifier("a"))`, "literal part", `arguments = [identifier("a")]`},

	// Characters.
	{"file", "policy \"p\" {\nversion = 1\n}\n# \x00", "control-character", "# \x00", "", smallest},
	{"environment", "A = \"\x00\"", "control-character", "\x00", "by name", `A = "x"`},
	{"environment", `A = "\u0000"`, "control-character", `\u0000`, "by name", `A = "\\u0000"`},
	{"filesystem", "read = [\"/\x00\"]", "path-control-character", "/\x00", "by name", `read = ["/x"]`},
	{"file", "policy \"p\" {\nversion = 1\n}\n# \u202e", "control-character", "# \u202e", "remove it", smallest},
	{"environment", "A = \"\u200b\"", "control-character", "\u200b", "remove it", `A = "x"`},
	{"environment", `A = "\u2066"`, "control-character", `\u2066`, "remove it", `A = "\\u2066"`},
	{"filesystem", "read = [\"/\u202e\"]", "path-control-character", "/\u202e", "renamed", `read = ["/x"]`},
	{"filesystem", `read = ["/\ufeff"]`, "path-control-character", `/\ufeff`, "renamed", `read = ["/x"]`},
	{"filesystem", `read = ["/a${"\u2028"}"]`, "path-control-character", `\u2028`, "renamed", `read = ["/a${"x"}"]`},
	{"policy", `command "c" { ⏎ executable = "/\u200d" ⏎ }`, "path-control-character", `/\u200d`, "renamed", `command "c" { ⏎ executable = "/x" ⏎ }`},
	{"policy", `command "c" { ⏎ executable = "/x" ⏎ arguments = ["\u202d"] ⏎ }`, "control-character", `\u202d`, "remove it", `command "c" { ⏎ executable = "/x" ⏎ arguments = ["x"] ⏎ }`},
	{"filesystem", `read = ["/a${"\u0000"}"]`, "path-control-character", `\u0000`, "by name", `read = ["/a${"x"}"]`},
	{"policy", `command "c" { ⏎ executable = "/\u0000" ⏎ }`, "path-control-character", `/\u0000`, "by name", `command "c" { ⏎ executable = "/x" ⏎ }`},
	{"endpoint", anEndpoint + ` ⏎ executables = ["/\u0000"]`, "path-control-character", `/\u0000`, "by name", anEndpoint},
	{"file", `locals { ⏎ a = { "\u0000" = 1 } ⏎ } ⏎ ` + smallest, "control-character", `\u0000`, "by name", smallest},
	{"file", `variable "a" { ⏎ default = "\u0000" ⏎ } ⏎ ` + smallest, "control-character", `\u0000`, "by name", smallest},
	{"file", "\xef\xbb\xbf" + smallest, "byte-order-mark", "\xef\xbb\xbf", "not", smallest},
	{"file", "\x7fELF\x02\x01\x01\x00\xff\xfe", "not-text", "\xff", "UTF-8", smallest},
	{"file", smallest + "# caf\xe9", "not-text", "\xe9", "UTF-8", smallest + "# café"},
	{"filesystem", "read = [\"/u\u0308\"]", "not-normal-form", "/u\u0308", "one character", "read = [\"/\u00fc\"]"},
	{"filesystem", `read = ["/u\u0308"]`, "not-normal-form", `/u\u0308`, "one character", `read = ["/\u00fc"]`},
	{"filesystem", `read = ["/${"u"}\u0308"]`, "not-normal-form", `\u0308`, "one character", `read = ["/\\u0308"]`},
}

const (
	anEndpoint = `host = "example.com" ⏎ ports = [443]`
	aWaive     = `waive "seatbelt" { ⏎ features = ["limits.memory"] ⏎ reason = "not there" ⏎ }`
)

func TestFindings(t *testing.T) {
	for _, tt := range findings {
		t.Run(tt.code+"/"+tt.text, func(t *testing.T) {
			src := cases.Wrap(tt.where, tt.text)
			_, diags := Parse(Sources{"p": []byte(src)}, Options{})
			if got := codes(src); got != tt.code {
				t.Fatalf("Parse(%s) finds %q, want %q", tt.text, diags, tt.code)
			}
			d := diags[len(diags)-1]
			if tt.at != "" && underlined(src, d.At) != tt.at {
				t.Errorf("Parse(%s) underlines %q, want %q", tt.text, underlined(src, d.At), tt.at)
			}
			if !strings.Contains(d.Help, tt.help) {
				t.Errorf("Parse(%s) helps %q, want %q in it", tt.text, d.Help, tt.help)
			}
			checkWords(t, d)
			if tt.twin == "" {
				return
			}
			if got := codes(cases.Wrap(tt.where, tt.twin)); got != "" {
				t.Errorf("Parse(%s) finds %q, want nothing", tt.twin, got)
			}
		})
	}
}

func underlined(src string, r diag.Range) string {
	if r.End.Byte > len(src) || r.Start.Byte > r.End.Byte {
		return "a range outside the text"
	}
	return src[r.Start.Byte:r.End.Byte]
}

// checkWords holds a finding to the style of all findings.
func checkWords(t *testing.T, d diag.Diagnostic) {
	t.Helper()
	switch {
	case d.Message == "" || d.Help == "" || d.Code == "":
		t.Errorf("the finding %v lacks a message, a help or a code", d)
	case strings.HasSuffix(d.Message, ".") || strings.HasSuffix(d.Help, "."):
		t.Errorf("the finding %v, help %q ends in a period", d, d.Help)
	case strings.Contains(d.Message, "invalid"):
		t.Errorf("the finding %v says invalid", d)
	case len(d.Message) > 400:
		t.Errorf("the finding %.100s… has %d bytes", d.Message, len(d.Message))
	}
}

// TestEveryCodeIsTested asks that each code of this package is expected by a
// test or a case.
func TestEveryCodeIsTested(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var code, tests string
	for _, name := range append(files, "../testdata/cases/refused.tsv") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, ".tsv") {
			tests += string(text)
		} else {
			code += string(text)
		}
	}
	raised := regexp.MustCompile(`(?:Code: +|code :?= )"([a-z-]+[a-z])"`).FindAllStringSubmatch(code, -1)
	if len(raised) < 50 {
		t.Fatalf("found %d codes in this package, want at least 50", len(raised))
	}
	for _, m := range raised {
		if !regexp.MustCompile(`["\t ]` + m[1] + `["\t ]`).MatchString(tests) {
			t.Errorf("no test expects the code %s", m[1])
		}
	}
}
