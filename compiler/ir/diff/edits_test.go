package diff

import (
	"slices"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang"
)

// base is the policy that the table below edits.
const base = `
policy "p" {
  version = 1
  extends = [template.tools]
  filesystem {
    read    = ["/opt/data", "/opt/tool", "${home}/.config"]
    write   = [workspace, tmp, "/srv/out"]
    deny    = ["/opt/data/secret", "${workspace}/.git/hooks", "/srv/keys", "${home}/.ssh"]
    execute = ["/opt/tool/bin"]
  }
  environment {
    LANG = "C.UTF-8"
  }
  limits {
    timeout    = "30s"
    open_files = 256
  }
  command "post" {
    executable = "/opt/tool/bin/post"
    sha256     = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
    arguments  = ["-n", integer("count", 1, 9), identifier("id", 16), "fixed"]
    result "r" {
      integer "code" {
        minimum = 0
        maximum = 9
      }
    }
  }
}
template "tools" {
  filesystem {
    read = ["/opt/share"]
  }
}
`

// edit is a text of base and what it becomes.
type edit struct{ old, new string }

func TestEdits(t *testing.T) {
	for _, tt := range []struct {
		name  string
		edits []edit
		want  Effect
		told  []string // title and telling witness of each change
	}{
		{"nothing", nil, Same, nil},
		{"statements in another order", []edit{{`"/opt/data", "/opt/tool", `, `"/opt/tool", "/opt/data", `}}, Same, nil},
		{"template renamed", []edit{{"template.tools", "template.shared"}, {`template "tools"`, `template "shared"`}}, Same, nil},
		{"template's statement taken over", []edit{{`read    = [`, `read    = ["/opt/share", `}}, Same, nil},
		{"what a tree holds already", []edit{{`"/opt/data", `, `"/opt/data", "/opt/data/more", `}}, Same, nil},
		{"a deny inside a deny", []edit{{`"/srv/keys"`, `"/srv/keys", "/srv/keys/old"`}}, Same, nil},

		{"deny inside a read deleted", []edit{{`"/opt/data/secret", `, ``}}, Widened,
			[]string{"grant-added: read, list /opt/data/secret and below; stat below /opt/data/secret | read /opt/data/secret/_"}},
		{"deny inside a write deleted", []edit{{`, "${workspace}/.git/hooks"`, ``}}, Widened,
			[]string{"grant-added: read, list, write, create, remove, execute ${workspace}/.git/hooks and below; stat below ${workspace}/.git/hooks | write ${workspace}/.git/hooks/_"}},
		{"deny outside everything deleted", []edit{{`"/srv/keys", `, ``}}, Widened,
			[]string{"binding-admitted: /srv/keys and below | bind workspace=/srv/keys"}},
		{"deny in home deleted", []edit{{`, "${home}/.ssh"`, ``}}, Widened, []string{
			"binding-admitted: ${home}/.ssh and below | bind workspace=${home}/.ssh",
			"grant-added: read, list, write, create, remove, execute ${home}/.ssh and below; stat below ${home}/.ssh | write ${home}/.ssh/_ when home is /srv/out/_/_"}},
		{"carve-out moved", []edit{{`${workspace}/.git/hooks`, `${workspace}/.git/config`}}, Mixed, []string{
			"grant-removed: read, list, write, create, remove, execute ${workspace}/.git/config and below; stat below ${workspace}/.git/config | write ${workspace}/.git/config/_",
			"grant-added: read, list, write, create, remove, execute ${workspace}/.git/hooks and below; stat below ${workspace}/.git/hooks | write ${workspace}/.git/hooks/_"}},
		{"carve-out added", []edit{{`read    = [`, `read    = ["/srv/out/done", `}}, Narrowed,
			[]string{"grant-removed: write, create, remove /srv/out/done and below | write /srv/out/done/_"}},
		{"write inside a write", []edit{{`"/srv/out"]`, `"/srv/out", "/srv/out/a/b"]`}}, Narrowed,
			[]string{"grant-removed: create, remove /srv/out/a/b | create /srv/out/a/b"}},
		{"read becomes write", []edit{{`"/opt/data", `, ``}, {`"/srv/out"]`, `"/srv/out", "/opt/data"]`}}, Widened,
			[]string{"grant-added: write /opt/data and below; create, remove below /opt/data | write /opt/data/_"}},
		{"only one node", []edit{{`"/opt/data", `, `only("/opt/data"), `}}, Narrowed,
			[]string{"grant-removed: read, list, stat below /opt/data | read /opt/data/_"}},
		{"read removed", []edit{{`"/opt/tool", `, ``}}, Narrowed,
			[]string{"grant-removed: read, list, stat /opt/tool and below; execute /opt/tool/bin and below | execute /opt/tool/bin/_"}},
		{"execute added", []edit{{`["/opt/tool/bin"]`, `["/opt/tool/bin", "/opt/data"]`}}, Widened,
			[]string{"grant-added: execute /opt/data and below, ${home} and below, ${workspace} and below | execute /opt/data/_"}},
		{"everything can be read", []edit{{`"/opt/data", `, `"/", "/opt/data", `}}, Widened, []string{
			"grant-added: read, list / and below, ${home} and below; stat below /, below ${home} | read /_"}},
		{"tmp removed", []edit{{`tmp, `, ``}}, Narrowed,
			[]string{"grant-removed: read, list, write ${tmp} and below; stat, create, remove below ${tmp} | write ${tmp}/_"}},
		{"optional", []edit{{`"/opt/data", `, `optional("/opt/data"), `}}, Same, nil},
		{"sockets", []edit{{"  environment {", "  network {\n    unix = \"visible\"\n  }\n  environment {"}}, Widened,
			[]string{"grant-added: connect-unix /opt/data and below, /opt/share and below, /opt/tool and below and 5 more | connect-unix /opt/data/_"}},
		{"variable added", []edit{{`LANG =`, "TZ = \"UTC\"\n    LANG ="}}, Widened, []string{`variable-added: environment TZ | TZ="UTC"`}},
		{"variable changed", []edit{{`"C.UTF-8"`, `"${home}"`}}, Mixed, []string{"variable-changed: environment LANG | LANG=${home}"}},
		{"limit raised", []edit{{`"30s"`, `"1m"`}}, Widened, []string{"limit-raised: limit timeout | use 60000 ms of timeout"}},
		{"limit lowered", []edit{{`= 256`, `= 64`}}, Narrowed, []string{"limit-lowered: limit open_files | use 256 of open_files"}},
		{"limit removed", []edit{{`    open_files = 256`, ``}}, Widened, []string{"limit-removed: limit open_files | use 257 of open_files"}},
		{"limit on memory", []edit{{`= 256`, "= 256\n    memory = \"64MiB\""}}, Narrowed, []string{"limit-added: limit memory | use 67108865 bytes of memory"}},
		{"processes, kept by the kernel", []edit{{`= 256`, "= 256\n    processes = 9\n    scope = \"tree\""}}, Narrowed, []string{"limit-added: limit processes | use 10 of processes"}},
		{"tmp smaller", []edit{{`= 256`, "= 256\n    tmp_size = \"64MiB\""}}, Narrowed, []string{"size-lowered: ${tmp} and below | ${tmp} and below backed by memory of 67108864 bytes, not by memory of 268435456 bytes"}},
		{"tmp of the size it has", []edit{{`= 256`, "= 256\n    tmp_size = \"256MiB\""}}, Same, nil},
		{"limit spelt otherwise", []edit{{`"30s"`, `"30000ms"`}}, Same, nil},
		{"waived", []edit{{"  environment {", "  waive \"seatbelt\" {\n    features = [\"limits.timeout\"]\n    reason = \"r\"\n  }\n  environment {"}}, Widened,
			[]string{"waiver-added: waiver | seatbelt does not enforce limits.timeout"}},
		{"another target less", []edit{{`version = 1`, "version = 2\n  targets = [\"bwrap\"]"}}, Narrowed, []string{"target-removed: target seatbelt | run on seatbelt"}},
		{"workspace shared", []edit{{`version = 1`, "version = 2\n  workspace = \"shared\""}}, Widened, []string{"workspace-widened: workspace | a governed command in the caller's own directory"}},
		{"workspace fresh", []edit{{`version = 1`, "version = 2\n  workspace = \"fresh\""}}, Narrowed, []string{"workspace-narrowed: workspace | obspc exec in the caller's own directory"}},
		{"services", []edit{{"  environment {", "  system {\n    services = [\"com.example.x\"]\n  }\n  environment {"}}, Widened, []string{"system-name-added: service com.example.x | service com.example.x"}},
		{"range widened", []edit{{`1, 9)`, `1, 10)`}}, Widened, []string{"command-widened: command post: arguments | run post with count=10"}},
		{"range moved", []edit{{`1, 9)`, `2, 10)`}}, Mixed, []string{"command-changed: command post: arguments | run post with count=10"}},
		{"range narrowed", []edit{{`1, 9)`, `2, 8)`}}, Narrowed, []string{"command-narrowed: command post: arguments | run post with count=1"}},
		{"integer becomes identifier", []edit{{`integer("count", 1, 9)`, `identifier("count", 3)`}}, Widened, []string{"command-widened: command post: arguments | run post with count=a"}},
		{"literal becomes field", []edit{{`"fixed"]`, `identifier("what")]`}}, Widened, []string{"command-widened: command post: arguments | run post with what=a"}},
		{"field becomes literal", []edit{{`integer("count", 1, 9)`, `"3"`}}, Narrowed, []string{"command-narrowed: command post: arguments | run post with count=1"}},
		{"field renamed", []edit{{`integer("count", 1, 9)`, `integer("number", 1, 9)`}}, Same, nil},
		{"literal changed", []edit{{`"fixed"]`, `"other"]`}}, Mixed, []string{`command-changed: command post: arguments | run post with "-n" <count: integer from 1 to 9> <id: identifier of at most 16 bytes> "other"`}},
		{"identifier shorter", []edit{{`"id", 16)`, `"id", 8)`}}, Narrowed, []string{"command-narrowed: command post: arguments | run post with id=aaaaaaaaaaaaaaaa"}},
		{"rest added", []edit{{`"fixed"]`, `"fixed", "--", rest("files")]`}}, Mixed, []string{`command-changed: command post: arguments | run post with "-n" <count: integer from 1 to 9> <id: identifier of at most 16 bytes> "fixed" "--" <files: any strings>`}},
		{"executable changed", []edit{{`bin/post"`, `bin/put"`}}, Mixed, []string{"command-changed: command post: executable | run post as /opt/tool/bin/put"}},
		{"pin removed", []edit{{`    sha256     = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"`, ``}}, Widened, []string{"command-widened: command post: sha256 | run post with other bytes"}},
		{"result wider", []edit{{`maximum = 9`, `maximum = 10`}}, Widened, []string{"command-widened: command post: result | run post printing code: 10"}},
		{"result of another member", []edit{{`integer "code"`, `integer "codes"`}}, Mixed, []string{"command-changed: command post: result | run post printing {codes: integer from 0 to 9}"}},
		{"command removed", []edit{{`command "post"`, `command "put"`}}, Mixed, []string{
			"command-removed: command post | run post", "command-added: command put | run put"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := base
			for _, e := range tt.edits {
				if !strings.Contains(text, e.old) {
					t.Fatalf("the base has no %q", e.old)
				}
				text = strings.ReplaceAll(text, e.old, e.new)
			}
			old, new := compile(t, base), compile(t, text)
			got := Sets(old, new, nil)
			var told []string
			for _, c := range got.Policies[0].Changes {
				told = append(told, c.title()+" | "+c.witnessText())
			}
			if got.Verdict() != tt.want || !slices.Equal(told, tt.told) {
				t.Errorf("%s, want %s\n got %q\nwant %q", got.Verdict(), tt.want, told, tt.told)
			}
			checkWitnesses(t, old[0], new[0], got.Policies[0])
			back := Sets(new, old, nil)
			if a, b := mirrored(got.Policies[0]), plainly(back.Policies[0]); len(a) != len(b) {
				t.Errorf("there %q\nback %q", a, b)
			}
		})
	}
}

// compile compiles a configuration that has no findings but warnings.
func compile(t *testing.T, text string) []*ir.Policy {
	t.Helper()
	cfg, diags := lang.Parse(lang.Sources{"p.policy.hcl": []byte(text)}, lang.Options{})
	if diags.HasErrors() {
		t.Fatalf("%v", diags)
	}
	results, diags := compiler.Compile(cfg, compiler.Options{})
	if diags.HasErrors() {
		t.Fatalf("%v", diags)
	}
	var out []*ir.Policy
	for _, r := range results {
		out = append(out, r.Policy)
	}
	return out
}
