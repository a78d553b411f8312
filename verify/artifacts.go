package verify

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets"
	"github.com/obspc/obspc/targets/egress"
	"github.com/obspc/obspc/verify/release"
)

const irFile = release.IRName

// row is one artifact that a policy may have: its file, what it is, whom it is for
// ("" is every target), and which policies of that target have it (nil: all).
type row struct {
	file   string
	kind   string
	target ir.Target
	has    func(*ir.Policy) bool
	why    string // what has looks for
}

// known is every artifact that a release may hold: for each policy exactly the
// rows of its targets; the map alone may be missing. A file that stands in no row
// has no meaning that could be proven, so it is refused.
var known = []row{
	{irFile, "ir", "", nil, ""},
	{release.MapName, release.MapKind, "", nil, ""},
	{"run.json", "run", "", nil, ""},
	{"egress.json", "egress", "", egress.Wanted, "the policy has endpoints"},
	{"seatbelt.sb", "seatbelt", ir.Seatbelt, nil, ""},
	{"bwrap.json", "bwrap", ir.Bwrap, nil, ""},
	{"bwrap.args.txt", "bwrap-text", ir.Bwrap, nil, ""},
	{"landlock.json", "landlock", ir.Bwrap, nil, ""},
	{"seccomp-x86_64.bpf", "seccomp", ir.Bwrap, nil, ""},
	{"seccomp-x86_64.txt", "seccomp-text", ir.Bwrap, nil, ""},
	{"seccomp-aarch64.bpf", "seccomp", ir.Bwrap, nil, ""},
	{"seccomp-aarch64.txt", "seccomp-text", ir.Bwrap, nil, ""},
	{"seccomp-x86_64-policy.bpf", "seccomp-policy", ir.Bwrap, (*ir.Policy).DeniesSyscalls, "the policy denies system calls"},
	{"seccomp-x86_64-policy.txt", "seccomp-policy-text", ir.Bwrap, (*ir.Policy).DeniesSyscalls, "the policy denies system calls"},
	{"seccomp-aarch64-policy.bpf", "seccomp-policy", ir.Bwrap, (*ir.Policy).DeniesSyscalls, "the policy denies system calls"},
	{"seccomp-aarch64-policy.txt", "seccomp-policy-text", ir.Bwrap, (*ir.Policy).DeniesSyscalls, "the policy denies system calls"},
}

// isHeld reports whether the artifact's bytes are kept: the runtime or the proof
// needs them. The map from the IR to lines of the sources serves people only.
func isHeld(a release.Artifact) bool {
	base, _ := cutPolicy(a.Name, a.Policy())
	return base != release.MapName
}

// cutPolicy is the name of a file within its policy's folder.
func cutPolicy(name, policy string) (string, bool) { return strings.CutPrefix(name, policy+"/") }

// artifacts: every artifact is what its name, kind and target say, none that the
// policy's targets need is missing, and each means what ir.json means.
func (o *opening) artifacts() {
	if o.manifest == nil || o.contents == nil {
		return
	}
	reached := false
	policies := o.manifest.Policies()
	for _, policy := range o.trust.Only {
		if !slices.Contains(policies, policy) {
			o.fail(Failure{File: policy, Reason: Missing, Message: "the release has no such policy"})
		}
	}
	for _, policy := range policies {
		if !o.usable(policy) {
			continue
		}
		o.checkRows(policy)
		reading := targets.Read(o.held(policy)) // at the same time as its meaning
		if p := o.meaning(policy); p != nil && o.complete(policy, p) {
			o.prove(policy, p, reading)
			reached = true
		}
	}
	if reached || o.result.Outcome == Failed {
		o.passUnlessFailed()
	}
}

// checkRows holds each entry of release.json against the table of known artifacts.
func (o *opening) checkRows(policy string) {
	for _, a := range o.manifest.Artifacts {
		if a.Policy() != policy {
			continue
		}
		base, _ := cutPolicy(a.Name, policy)
		i := slices.IndexFunc(known, func(k row) bool { return k.file == base })
		if i < 0 {
			o.fail(Failure{File: a.Name, Reason: Unproven, Message: "this version knows no artifact of that name"})
			continue
		}
		if k := known[i]; a.Kind != k.kind || a.Target != string(k.target) {
			o.fail(Failure{
				File: a.Name, Reason: Unproven, Message: "release.json presents it as something else",
				Wanted: describe(k.kind, string(k.target)), Found: describe(a.Kind, a.Target),
			})
		}
	}
}

func describe(kind, target string) string {
	if target == "" {
		return "kind " + kind
	}
	return fmt.Sprintf("kind %s for %s", kind, target)
}

// meaning reads a policy's ir.json; nil when that failed or its bytes did not pass
// before.
func (o *opening) meaning(policy string) *ir.Policy {
	name := policy + "/" + irFile
	a, listed := o.manifest.Artifact(name)
	if !listed {
		o.fail(Failure{File: name, Reason: Missing, Message: "release.json does not name it, so the policy's artifacts have no meaning to be held against"})
		return nil
	}
	c, ok := o.contents[name]
	if !ok {
		return nil
	}
	if got := release.IRDigest(c.data); got != a.IR {
		o.fail(Failure{
			File: name, Reason: Tampered, Message: "it is not the meaning that the policy's artifacts were made from",
			Wanted: "IR digest " + string(a.IR), Found: string(got),
		})
		return nil
	}
	p, err := ir.ParseJSON(c.data)
	if err != nil {
		o.fail(Failure{File: name, Reason: Malformed, Message: err.Error()})
		return nil
	}
	if p.Name != policy {
		o.fail(Failure{File: name, Reason: Unproven, Message: "it is another policy", Wanted: "policy " + policy, Found: "policy " + p.Name})
		return nil
	}
	return p
}

// complete reports whether every artifact that p's targets need is listed and
// passed before, and whether nothing is there for a target that p does not have.
func (o *opening) complete(policy string, p *ir.Policy) bool {
	all := true
	for _, k := range known {
		name := policy + "/" + k.file
		_, listed := o.manifest.Artifact(name)
		targeted := k.target == "" || p.HasTarget(k.target)
		needed := targeted && (k.has == nil || k.has(p))
		switch {
		case k.file == release.MapName:
		case needed && !listed && k.has != nil:
			o.fail(Failure{File: name, Reason: Missing, Message: k.why + ", which needs it"})
			all = false
		case needed && !listed:
			o.fail(Failure{File: name, Reason: Missing, Message: fmt.Sprintf("the policy's targets (%s) need it", joined(p.Targets))})
			all = false
		case targeted && !needed && listed:
			o.fail(Failure{File: name, Reason: Unproven, Message: "the policy denies no system call"})
			all = false
		case !needed && listed:
			o.fail(Failure{File: name, Reason: Unproven, Message: fmt.Sprintf("the policy is not compiled for %s", k.target)})
			all = false
		case needed:
			_, passed := o.contents[name]
			all = all && passed
		}
	}
	return all
}

func joined(targets []ir.Target) string {
	words := make([]string, len(targets))
	for i, t := range targets {
		words[i] = string(t)
	}
	return strings.Join(words, ", ")
}

// held is a policy's artifacts that passed before.
func (o *opening) held(policy string) map[string][]byte {
	files := map[string][]byte{}
	for _, k := range known {
		if c, ok := o.contents[policy+"/"+k.file]; ok && c.held {
			files[k.file] = c.data
		}
	}
	return files
}

// prove holds a policy's artifacts against its meaning.
func (o *opening) prove(policy string, p *ir.Policy, reading *targets.Reading) {
	linux, err := reading.Prove(p)
	if err != nil {
		o.fail(o.unproven(policy, err))
		return
	}
	if o.proven == nil {
		o.proven = map[string]*proven{}
	}
	o.proven[policy] = &proven{policy: p, linux: linux}
}

// unproven tells what the proof of a policy's artifacts failed on, and where the
// statement concerned stands in the sources.
func (o *opening) unproven(policy string, err error) Failure {
	f := Failure{File: policy, Reason: Unproven, Message: err.Error()}
	var e *targets.ValidationError
	if errors.As(err, &e) {
		file, _, _ := strings.Cut(e.Artifact, " ")
		f.File, f.Stated = policy+"/"+file, o.stated(policy, e.Origin)
		return f
	}
	// An artifact that is not read begins its error with its name.
	file, fault, _ := strings.Cut(f.Message, ": ")
	if slices.ContainsFunc(known, func(k row) bool { return k.file == file }) {
		f.File, f.Message = policy+"/"+file, fault
	}
	return f
}
