package expect

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/targets/models"
)

// ran is the report about a configuration's tests.
func ran(t *testing.T, policies, tests string, change ...func(*Options)) *Report {
	t.Helper()
	cfg, diags := lang.Parse(lang.Sources{"p.policy.hcl": []byte(policies)}, lang.Options{Tests: lang.Sources{"p.test.hcl": []byte(tests)}})
	results, more := compiler.Compile(cfg, compiler.Options{})
	diags.Add(more...)
	typed, more := compiler.Tests(cfg, results)
	diags.Add(more...)
	if diags.HasErrors() {
		t.Fatalf("the configuration has findings: %v", diags)
	}
	o := Options{
		Models: models.All(), Place: func(r diag.Range) diag.Range { return r },
		Because: func(r ir.Reason) string { return "reason " + string(r) },
	}
	for _, c := range change {
		c(&o)
	}
	return Run(typed, results, func(file string) bool { return file == "p.policy.hcl" }, o)
}

const workspacePolicy = `policy "p" {
  version = 1
  targets = ["bwrap"]
  filesystem {
    write   = [workspace, tmp]
    read    = ["/usr", "${workspace}/.git/hooks"]
    deny    = ["${workspace}/.env", "/usr/secret"]
    execute = ["/usr/bin/env", "${workspace}/tool"]
  }
}
`

// answers is a report in lines: place, request, what policy and targets say.
func answers(r *Report) []string {
	var out []string
	for _, c := range r.Tests {
		for _, o := range c.Outcomes {
			line := fmt.Sprintf("%d %s: %s %s", o.At.Start.Line, o.Request, o.Status, word(o.Allow))
			if o.Rule != nil {
				line += " by " + string(o.Rule.Statement)
			}
			for _, a := range o.Targets {
				line += fmt.Sprintf("; %s %s %s %s", a.Target, a.Status, word(a.Allow), a.Layer)
			}
			out = append(out, line)
		}
	}
	return out
}

func hold(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestEveryWordIsAsked(t *testing.T) {
	r := ran(t, workspacePolicy, `test "t" {
  allow {
    read = ["/usr/bin/env"]
    list = [workspace]
    stat = ["/usr"]
    write = ["${workspace}/a"]
    create = ["${workspace}/b"]
    remove = ["${workspace}/c"]
    rename = [["${workspace}/a", "${workspace}/d"]]
    link = [["${workspace}/a", "${workspace}/d"]]
    execute = ["/usr/bin/env"]
  }
  deny {
    read = ["/usr/secret/x"]
    execute = ["/usr/bin/id"]
    create = ["${workspace}/.git"]
    connect = ["a.test:443"]
    connect-unix = ["/usr/socket"]
    write = ["${workspace}/.env"]
  }
}
`)
	if r.Failed() {
		t.Errorf("the report fails")
	}
	hold(t, answers(r),
		"3 read /usr/bin/env: pass allow by p/filesystem.read[0]; bwrap pass allow mount",
		"4 list ${workspace}: pass allow by p/filesystem.write[0]; bwrap pass allow mount",
		"5 stat /usr: pass allow by p/filesystem.read[0]; bwrap pass allow mount",
		"6 write ${workspace}/a: pass allow by p/filesystem.write[0]; bwrap pass allow mount",
		"7 create ${workspace}/b: pass allow by p/filesystem.write[0]; bwrap pass allow mount",
		"8 remove ${workspace}/c: pass allow by p/filesystem.write[0]; bwrap pass allow mount",
		"9 rename ${workspace}/a ${workspace}/d: pass allow by p/filesystem.write[0]; bwrap pass allow mount",
		"10 link ${workspace}/a ${workspace}/d: pass allow by p/filesystem.write[0]; bwrap pass allow mount",
		"11 execute /usr/bin/env: pass allow by p/filesystem.execute[0]; bwrap pass allow Landlock",
		"14 read /usr/secret/x: pass deny by p/filesystem.deny[1]; bwrap pass deny mount",
		"15 execute /usr/bin/id: pass deny by p/filesystem.read[0]; bwrap pass deny Landlock",
		"16 create ${workspace}/.git: pass deny by p/filesystem.write[0]; bwrap pass deny mount",
		"17 connect a.test:443: pass deny; bwrap pass deny network namespace",
		"18 connect-unix /usr/socket: pass deny by builtin/unix; bwrap pass deny seccomp",
		"19 write ${workspace}/.env: pass deny by p/filesystem.deny[0]; bwrap pass deny mount",
	)
}

// TestEveryWordFails turns each expectation round.
func TestEveryWordFails(t *testing.T) {
	r := ran(t, workspacePolicy, `test "t" {
  deny {
    read = ["/usr/bin/env"]
    rename = [["${workspace}/a", "${workspace}/d"]]
    execute = ["/usr/bin/env"]
  }
  allow {
    read = ["/usr/secret/x"]
    connect = ["a.test:443"]
  }
}
`)
	if s := r.Sum(); s.FailedTests != 1 || s.Failed != 5 || s.Expectations != 5 {
		t.Errorf("the sum is %+v, want 5 of 5 expectations failed", s)
	}
}

func TestBoundSlots(t *testing.T) {
	tests := `test "t" {
  bind {
    workspace = "/srv/w"
  }
  allow {
    write = ["/srv/w/a", "${workspace}/b"]
  }
  deny {
    write = ["/srv/w/.env", "/srv/v", "${workspace}/.git/hooks/x"]
  }
}
`
	hold(t, answers(ran(t, workspacePolicy, tests)),
		"6 write /srv/w/a: pass allow by p/filesystem.write[0]; bwrap pass allow mount",
		"6 write ${workspace}/b: pass allow by p/filesystem.write[0]; bwrap pass allow mount",
		"9 write /srv/w/.env: pass deny by p/filesystem.deny[0]; bwrap pass deny mount",
		"9 write /srv/v: pass deny; bwrap pass deny mount",
		"9 write ${workspace}/.git/hooks/x: pass deny by p/filesystem.read[1]; bwrap pass deny mount",
	)
	r := ran(t, workspacePolicy, strings.Replace(tests, "/srv/w\"", "/srv/u\"", 1))
	if s := r.Sum(); s.Failed != 1 {
		t.Errorf("with the workspace elsewhere %d expectations fail, want 1", s.Failed)
	}
}

// TestTargetsThatDiffer: on Linux ${tmp} is /tmp, which the policy alone leaves
// open; a rename out of a mount of its own fails there.
func TestTargetsThatDiffer(t *testing.T) {
	r := ran(t, workspacePolicy, "test \"t\" {\ndeny {\nwrite = [\"/tmp/x\"]\n}\n}\n")
	hold(t, answers(r), "3 write /tmp/x: fail deny; bwrap fail allow mount")
	if o := r.Tests[0].Outcomes[0]; !slices.Equal(o.Depends, []string{"tmp", "workspace"}) || !strings.Contains(o.Targets[0].Why, "/tmp") {
		t.Errorf("it depends on %v, and says %q", o.Depends, o.Targets[0].Why)
	}
	inside := strings.Replace(workspacePolicy, "[workspace, tmp]", `[workspace, tmp, "${workspace}/out"]`, 1)
	tests := "test \"t\" {\nallow {\nrename = [[\"${workspace}/a\", \"${workspace}/out/a\"]]\n}\n}\n"
	r = ran(t, inside, tests)
	hold(t, answers(r), "3 rename ${workspace}/a ${workspace}/out/a: fail allow by p/filesystem.write[2]; bwrap fail deny mount")
	if why := r.Tests[0].Outcomes[0].Targets[0].Why; !strings.Contains(why, "waive") {
		t.Errorf("the difference says %q, want what to write", why)
	}
	waived := strings.TrimSuffix(inside, "}\n") + "  waive \"bwrap\" {\n    features = [\"filesystem.held-directory\"]\n    reason   = \"nobody moves results\"\n  }\n}\n"
	r = ran(t, waived, tests)
	hold(t, answers(r), "3 rename ${workspace}/a ${workspace}/out/a: pass allow by p/filesystem.write[2]; bwrap waived deny mount")
	if r.Failed() || r.Sum().Waived != 1 {
		t.Errorf("a waived difference fails, or is not counted: %+v", r.Sum())
	}
}

// TestWaiversAcceptOneThing asks that a waiver of something else accepts nothing,
// and that no waiver accepts a target that allows more.
func TestWaiversAcceptOneThing(t *testing.T) {
	const loopback = "policy \"p\" {\nversion = 1\ntargets = [\"bwrap\"]\nnetwork {\nloopback = \"host\"\n}\nwaive \"bwrap\" {\nfeatures = [\"network.loopback-host\"]\nreason = \"not there\"\n}\n}\n"
	r := ran(t, loopback, "test \"t\" {\nallow {\nconnect = [\"localhost:443\"]\n}\n}\n")
	hold(t, answers(r), "3 connect localhost:443: pass allow by p/network.loopback; bwrap waived deny network namespace")
	open := func(p *ir.Policy, files map[string][]byte, b ir.Binding) (models.Answerer, error) {
		return constant(true), nil
	}
	r = ran(t, loopback, "test \"t\" {\ndeny {\nconnect = [\"b.test:443\"]\n}\n}\n", func(o *Options) { o.Models = []models.Modelled{{Target: ir.Bwrap, Model: open}} })
	hold(t, answers(r), "3 connect b.test:443: fail deny; bwrap fail allow everything")
	closed := func(p *ir.Policy, files map[string][]byte, b ir.Binding) (models.Answerer, error) {
		return constant(false), nil
	}
	read := strings.Replace(loopback, "network {", "filesystem {\nread = [\"/x\"]\n}\nnetwork {", 1)
	r = ran(t, read, "test \"t\" {\nallow {\nread = [\"/x\"]\n}\n}\n", func(o *Options) { o.Models = []models.Modelled{{Target: ir.Bwrap, Model: closed}} })
	hold(t, answers(r), "3 read /x: fail allow by p/filesystem.read[0]; bwrap fail deny everything")
}

// constant is a model that has one answer.
type constant bool

func (c constant) Decide(ir.Request) (bool, string) { return bool(c), "everything" }

// TestWhatIsNotAskedIsSaid: a target without a model, and one that cannot keep the
// policy, are named once.
func TestWhatIsNotAskedIsSaid(t *testing.T) {
	tests := "test \"t\" {\ndeny {\nread = [\"/x\"]\nwrite = [\"/x\"]\n}\n}\n"
	linuxOnly := func(o *Options) {
		o.Models = slices.DeleteFunc(slices.Clone(o.Models), func(m models.Modelled) bool { return m.Target != ir.Bwrap })
	}
	r := ran(t, strings.Replace(workspacePolicy, `["bwrap"]`, `["bwrap", "seatbelt"]`, 1), tests, linuxOnly)
	if len(r.Unasked) != 1 || r.Unasked[0].Target != ir.Seatbelt || len(r.Tests[0].Outcomes[0].Targets) != 1 {
		t.Errorf("not asked: %+v, want seatbelt once", r.Unasked)
	}
	r = ran(t, "policy \"p\" {\nversion = 1\ntargets = [\"bwrap\"]\nnetwork {\nloopback = \"host\"\n}\n}\n", tests)
	if len(r.Unasked) != 1 || !strings.Contains(r.Unasked[0].Why, "a network of its own") || r.Failed() {
		t.Errorf("not asked: %+v, want bwrap and why", r.Unasked)
	}
}

func TestCoverage(t *testing.T) {
	policies := workspacePolicy + "policy \"q\" {\n  version = 1\n  filesystem {\n    read = [\"/q\"]\n  }\n}\n"
	r := ran(t, policies, "test \"t\" {\npolicy = \"p\"\ndeny {\nwrite = [\"${workspace}/.git/hooks/x\"]\nremove = [\"${workspace}/.git\"]\nexecute = [\"/usr/secret/x\"]\n}\n}\n")
	var got []string
	for _, c := range r.Coverage {
		got = append(got, fmt.Sprintf("%s: %d tests, %d of %d", c.Policy, c.Tests, c.Touched(), len(c.Statements)))
		for _, s := range c.Statements {
			got = append(got, fmt.Sprintf("%d %s: %d, %d", s.At.Start.Line, s.Text, s.Decides, s.Covers))
		}
	}
	hold(t, got,
		"p: 1 tests, 4 of 8",
		"5 write ${workspace}: 1, 1",
		"5 write ${tmp}: 0, 0",
		"6 read /usr: 0, 1",
		"6 read ${workspace}/.git/hooks: 1, 1",
		"7 deny ${workspace}/.env: 0, 0",
		"7 deny /usr/secret: 1, 0",
		"8 execute /usr/bin/env: 0, 0",
		"8 execute ${workspace}/tool: 0, 0",
		"q: 0 tests, 0 of 1",
		"14 read /q: 0, 0",
	)
}

func TestLiveCounts(t *testing.T) {
	tests := "test \"t\" {\ndeny {\nread = [\"/x\", \"/y\"]\nwrite = [\"/z\"]\n}\n}\n"
	live := []Live{{Passed, "refused with ENOENT"}, {Failed, "the kernel allowed it"}, {Skipped, "no such file"}}
	r := ran(t, workspacePolicy, tests, func(o *Options) {
		o.Live = func(compiler.Test, compiler.Expectation) Live {
			l := live[0]
			live = live[1:]
			return l
		}
	})
	if s := r.Sum(); s.Tried != 2 || s.LiveFailed != 1 || s.Untried != 1 || s.Failed != 1 || !r.Failed() {
		t.Errorf("the sum is %+v", s)
	}
}
