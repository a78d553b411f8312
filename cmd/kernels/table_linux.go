package main

import (
	"slices"
	"strings"
)

// system is what one Debian suite brings: versions by their beginnings, or with a
// plus the least that there must be, for the suite that still moves.
type system struct {
	suite, kernel, bwrap string
	abi                  int // of Landlock; of the moving suite at least
}

var systems = []system{
	{"bookworm", "6.1.", "0.8.", 2},
	{"trixie", "6.12.", "0.12.", 6},
	{"forky", "7.0+", "0.13+", 7},
}

func (s system) moving() bool { return strings.HasSuffix(s.kernel, "+") }

// boot is one start of a suite's kernel and the cases that are run in it.
type boot struct {
	name, suite string
	line        string // what is added to the kernel's command line
	cases       []trial
}

// trial is one case: somebody in some setting, and what must come of it. Always
// asked are the doctor, and a run of each policy of policiesText.
type trial struct {
	as      caller
	in      setting
	missing []finding // all that the doctor finds missing or limited
	plain   want      // states what may start
	strict  want      // asks for the scope of the tree
	open    want      // lets everything readable start
	scopes  string    // of memory and processes in plain's evidence, if it ran
	demo    bool      // the whole demo passes too
	tests   []string  // live tests of ./runtime that pass too
}

type caller string

const (
	root caller = "root"
	user caller = "user"
)

// setting is what the guest arranges for a case, and takes back.
type setting string

const (
	// delegated: cgroup v2 with controllers, and below it a group of the caller's own.
	delegated setting = "cgroup v2 delegated"
	// undelegated: the caller is in a group that is root's.
	undelegated setting = "cgroup v2, not delegated"
	// noNamespaces: nobody makes user namespaces.
	noNamespaces setting = "user.max_user_namespaces=0"
)

// finding is one of the doctor's that is not ok.
type finding struct{ name, state, says string }

// want is what must come of a run: it works, or it is refused with code 3 and words.
type want struct{ refused string }

var works = want{}

// limitTests are the live tests of limits that a control group keeps or that are
// watched.
var limitTests = []string{"TestLiveScope", "TestLiveCrowd"}

// confinementTests are live tests of what a policy says of files, and of the system
// calls that it and every sandbox refuse, each with its control.
var confinementTests = []string{"TestLiveFiles", "TestLiveSyscalls"}

// What a doctor and a run say where something is missing.
var (
	filterUnseen = finding{"seccomp", "unknown", "the sandbox failed"}
	noLandlock   = []finding{{"landlock", "missing", "not in the lsm= boot parameter"}}
	watched      = []finding{{"limits", "limited", "memory: watched, by the runtime"}}
	exhausted    = []finding{{"user-namespaces", "missing", "Creating new namespace failed"}, filterUnseen, {"sandbox", "missing", "Creating new namespace failed"}}

	needsLandlock = want{"which needs Landlock ABI"}
	needsGroup    = want{"the kernel does not keep limits.memory"}
	needsNumber   = want{"Creating new namespace failed"}
)

const (
	kept   = "memory tree, processes tree"
	halves = "memory watched, processes tree"
	seen   = "memory watched, processes watched"
)

// boots are all of them. Each refusal has its control: the same kernel, bubblewrap
// and caller without the restriction, in the boot named for the suite alone.
var boots = []boot{
	{"bookworm", "bookworm", "", []trial{
		{as: root, in: delegated, scopes: kept, demo: true},
		{as: user, in: delegated, scopes: kept, demo: true, tests: slices.Concat(limitTests, confinementTests)},
	}},
	{"trixie", "trixie", "", []trial{
		{as: root, in: delegated, scopes: kept},
		{as: user, in: delegated, scopes: kept},
		{as: user, in: undelegated, missing: watched, strict: needsGroup, scopes: halves},
		{as: root, in: noNamespaces, missing: exhausted, plain: needsNumber, strict: needsNumber, open: needsNumber},
		{as: user, in: noNamespaces, missing: exhausted, plain: needsNumber, strict: needsNumber, open: needsNumber},
	}},
	{"forky", "forky", "", []trial{
		{as: root, in: delegated, scopes: kept},
		{as: user, in: delegated, scopes: kept, tests: confinementTests},
	}},
	{"bookworm-without-landlock", "bookworm", withoutLandlock, unlocked()},
	{"forky-without-landlock", "forky", withoutLandlock, unlocked()},
	{"bookworm-without-controllers", "bookworm", "cgroup_disable=memory,pids", []trial{
		{as: root, in: delegated, missing: watched, strict: needsGroup, scopes: seen},
		{as: user, in: delegated, missing: watched, strict: needsGroup, scopes: halves},
	}},
}

const withoutLandlock = "lsm=lockdown,yama,apparmor,bpf"

// unlocked are the cases of a kernel without Landlock.
func unlocked() []trial {
	return []trial{
		{as: root, in: delegated, missing: noLandlock, plain: needsLandlock, strict: needsLandlock, scopes: kept},
		{as: user, in: delegated, missing: noLandlock, plain: needsLandlock, strict: needsLandlock, scopes: kept},
	}
}

func (t trial) name() string { return string(t.as) + ", " + string(t.in) }

func bootNamed(name string) *boot {
	i := slices.IndexFunc(boots, func(b boot) bool { return b.name == name })
	if i < 0 {
		return nil
	}
	return &boots[i]
}

func systemOf(suite string) system {
	return systems[slices.IndexFunc(systems, func(s system) bool { return s.suite == suite })]
}

// policiesText is what the cases run under.
const policiesText = `
policy "plain" {
  version   = 1
  extends   = ["std/base", template.limited]
  targets   = ["bwrap"]
  workspace = "fresh"
  filesystem {
    execute = ["/usr/bin/true"]
  }
}
policy "strict" {
  version   = 1
  extends   = ["std/base", template.limited]
  targets   = ["bwrap"]
  workspace = "fresh"
  filesystem {
    execute = ["/usr/bin/true"]
  }
  limits {
    scope = "tree"
  }
}
policy "open" {
  version   = 1
  extends   = ["std/base", template.limited]
  targets   = ["bwrap"]
  workspace = "fresh"
  filesystem {
    execute = ["/"]
  }
}
template "limited" {
  filesystem {
    write = [workspace]
  }
  limits {
    memory    = "256MiB"
    processes = 64
  }
}
`

var policyNames = []string{"plain", "strict", "open"}

// wants is what must come of a run under each policy.
func (t trial) wants() map[string]want {
	return map[string]want{"plain": t.plain, "strict": t.strict, "open": t.open}
}

// accepts says whether a version is the one that the table has.
func accepts(have, want string) bool {
	least, moving := strings.CutSuffix(want, "+")
	if !moving {
		return strings.HasPrefix(have, want)
	}
	return slices.Compare(numbers(have), numbers(least)) >= 0
}
