// Package verify decides whether a release may be used. Open reads each file of
// it once, checks those bytes, and returns them as a Verified, which nothing else
// makes and which is all that the runtime takes. Its one rule: what was not
// checked is not in a Verified, and what nobody vouched for is not verified. How
// the files are spelt is in verify/release; what an artifact must mean, in
// targets. Signatures, recompilation, house rules and golden files are Check
// values that a program adds.
package verify

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/targets"
	"github.com/obspc/obspc/verify/release"
)

// The names of the checks, as reports show them.
const (
	Structure       = "structure"
	Checksums       = "checksums"
	Pins            = "pins"
	Signature       = "signature"
	SerialAndExpiry = "serial-and-expiry"
	Recompilation   = "source"
	Artifacts       = "artifacts"
	Rules           = "rules"
	Golden          = "golden"
)

// pipeline is every check in the order in which it runs and is reported. A row
// without a function is filled by a Check that the caller adds, or was not asked
// for. Signature has both: a key's is checked here, a bundle's by a Check, and
// each that is asked for must pass.
var pipeline = []struct {
	name string
	run  func(*opening)
	why  string
}{
	{Structure, (*opening).structure, "exactly the files that release.json names, all of them plain"},
	{Checksums, (*opening).checksums, "the bytes are those that SHA256SUMS and release.json state"},
	{Pins, (*opening).pins, "the consumer accepts these bytes"},
	{Signature, (*opening).signature, "who released them"},
	{SerialAndExpiry, (*opening).serialAndExpiry, "no rollback, no freeze"},
	{Recompilation, nil, "the sources give these bytes"},
	{Artifacts, (*opening).artifacts, "each artifact means what its policy means"},
	{Rules, nil, "the house allows it"},
	{Golden, nil, "reviewers have seen it"},
}

// opening is one call of Open on its way through the pipeline.
type opening struct {
	tree     tree
	trust    Trust
	inspects bool // trust is not asked about
	extra    []Check
	report   *Report
	result   *Result // of the check that runs

	entries      map[string]entry
	manifest     *release.Manifest // nil: release.json could not be read
	manifestData []byte
	sumsData     []byte
	sums         release.Sums
	attachments  map[string][]byte
	contents     map[string]content // artifacts whose bytes passed structure and checksums
	proven       map[string]*proven // by policy
	byKey        bool               // a key's signature was asked for
	partial      map[string]bool    // policies whose artifacts are pinned, when the release as a whole is not
}

// Open checks the release in src under trust, and by the extra checks. The
// *Verified is nil unless every check passed and at least one of them vouches for
// the release; the *Report tells all failures in any case. A zero trust.Now and
// two checks of one name are bugs of the caller.
func Open(src Source, trust Trust, extra ...Check) (*Verified, *Report) {
	if trust.Now.IsZero() {
		diag.Bug("verify.Open: Trust.Now is not set")
	}
	o := &opening{trust: trust, extra: extra, report: &Report{Source: src.String()}}
	if !o.run(src) {
		return nil, o.report
	}
	return o.verdict()
}

// Inspect checks what needs no trust: structure, checksums and artifacts. It is for
// programs that decide about trust, as `obspc pin` does. The manifest is nil unless
// those checks passed; nothing that the runtime takes comes from here.
func Inspect(src Source) (*release.Manifest, *Report) {
	o := &opening{inspects: true, report: &Report{Source: src.String()}}
	if !o.run(src) || !o.sound() {
		return nil, o.report
	}
	o.report.Unanchored = true
	return o.manifest, o.report
}

// run takes src through the pipeline; false when src cannot be opened.
func (o *opening) run(src Source) bool {
	tree, err := src.open()
	if err != nil {
		o.notOpened(err)
		return false
	}
	defer tree.close()
	o.tree = tree
	for _, stage := range pipeline {
		o.stage(stage.name, stage.run)
	}
	for _, c := range o.extra {
		if !slices.ContainsFunc(o.report.Checks, func(r Result) bool { return r.Check == c.Name() }) {
			o.stage(c.Name(), nil)
		}
	}
	return true
}

// notOpened ends the report of a source that cannot be looked at.
func (o *opening) notOpened(err error) {
	f := Failure{Reason: Unreadable, Message: "the release cannot be opened: " + err.Error()}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		f.Reason, o.report.absent = Missing, true
	}
	o.report.Checks = []Result{{Check: Structure, Outcome: Failed, Failures: []Failure{f}}}
}

// stage runs one row of the pipeline and files its result.
func (o *opening) stage(name string, run func(*opening)) {
	o.report.Checks = append(o.report.Checks, Result{Check: name})
	o.result = &o.report.Checks[len(o.report.Checks)-1]
	o.result.Outcome = NotAskedFor
	if run != nil {
		o.result.Outcome = NotReached
		run(o)
	}
	o.runExtra(name)
}

// runExtra runs the caller's check of that name, if there is one. It may share its
// row with a check made here: the row passes when both do.
func (o *opening) runExtra(name string) {
	var asked []Check
	for _, c := range o.extra {
		if c.Name() == name {
			asked = append(asked, c)
		}
	}
	switch {
	case len(asked) == 0:
		return
	case len(asked) > 1 || slices.Contains(ours, name):
		diag.Bug("verify.Open: two checks are named %s", name)
	case o.manifest == nil || o.sumsData == nil:
		if o.result.Outcome != Failed {
			o.result.Outcome = NotReached
		}
		return
	}
	if c, ok := asked[0].(Conditional); ok && !c.Applies(&Subject{o}) {
		return
	}
	failures, warnings := asked[0].Run(&Subject{o})
	o.report.Warnings = append(o.report.Warnings, warnings...)
	for _, f := range failures {
		o.result.fail(f)
	}
	o.passUnlessFailed()
}

// ours are the checks that no caller adds to.
var ours = []string{Structure, Checksums, Pins, SerialAndExpiry, Artifacts}

func (o *opening) fail(f Failure) { o.result.fail(f) }

func (o *opening) warn(text string) { o.report.Warnings = append(o.report.Warnings, text) }

func (o *opening) passUnlessFailed() {
	if o.result.Outcome != Failed {
		o.result.Outcome = Passed
	}
}

// sound reports whether every check that was asked for passed.
func (o *opening) sound() bool {
	return !slices.ContainsFunc(o.report.Checks, func(r Result) bool { return r.Outcome != Passed && r.Outcome != NotAskedFor })
}

// verdict names the anchors, remembers the serial and makes the Verified.
func (o *opening) verdict() (*Verified, *Report) {
	if !o.sound() {
		return nil, o.report
	}
	anchors := o.anchors()
	if len(anchors) == 0 {
		o.report.Unanchored = true
		return nil, o.report
	}
	if f := o.remember(); f != nil {
		for i := range o.report.Checks {
			if o.report.Checks[i].Check == SerialAndExpiry {
				o.report.Checks[i].fail(*f)
			}
		}
		return nil, o.report
	}
	o.report.Anchors = anchors
	return o.verified(), o.report
}

// anchors are the checks that were asked for and passed, those that vouch first;
// nil when none vouches.
func (o *opening) anchors() []string {
	var vouching, others []string
	for _, r := range o.report.Checks {
		switch {
		case r.Check == Pins && r.Outcome == Passed:
			vouching = append(vouching, o.pinsAnchor())
		case r.Check == Signature && r.Outcome == Passed && o.byKey:
			vouching = append(vouching, Signature)
			continue
		}
		i := slices.IndexFunc(o.extra, func(c Check) bool { return c.Name() == r.Check })
		switch {
		case i < 0 || r.Outcome != Passed:
		case o.extra[i].Anchors():
			vouching = append(vouching, r.Check)
		default:
			others = append(others, r.Check)
		}
	}
	if len(vouching) == 0 {
		return nil
	}
	slices.Sort(others)
	return append(vouching, others...)
}

func (o *opening) verified() *Verified {
	v := &Verified{
		manifest: o.manifest, digest: o.report.Digest, anchors: slices.Clone(o.report.Anchors), proven: map[string]*proven{},
		files: map[string][]byte{release.ManifestName: o.manifestData, release.SumsName: o.sumsData},
	}
	for _, policy := range o.manifest.Policies() {
		if o.usable(policy) {
			v.policies = append(v.policies, policy)
			v.proven[policy] = o.proven[policy]
		}
	}
	for _, a := range o.manifest.Artifacts {
		if c := o.contents[a.Name]; c.held && slices.Contains(v.policies, a.Policy()) {
			v.files[a.Name] = c.data
		}
	}
	return v
}

// usable reports whether policy may be in the Verified: pinned, and wanted.
func (o *opening) usable(policy string) bool {
	pinned := o.partial == nil || o.partial[policy]
	return pinned && (len(o.trust.Only) == 0 || slices.Contains(o.trust.Only, policy))
}

// Verified is a release whose bytes passed. It holds those bytes and never looks
// at its source again. Open is its only constructor. It does not change: every
// method hands out a copy.
type Verified struct {
	manifest *release.Manifest
	digest   string
	anchors  []string
	policies []string
	files    map[string][]byte
	proven   map[string]*proven
}

// proven is what the proof of a policy has read. It is given away once, to the
// first who asks: reading it again would cost a run a tenth of its time.
type proven struct {
	mu     sync.Mutex
	policy *ir.Policy
	linux  *targets.Linux
}

func (p *proven) takePolicy() *ir.Policy {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.policy
	p.policy = nil
	return out
}

func (p *proven) takeLinux() *targets.Linux {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.linux
	p.linux = nil
	return out
}

// Manifest is release.json.
func (v *Verified) Manifest() *release.Manifest { return cloneManifest(v.manifest) }

// Policies are the names of the policies that may be used, sorted. With pins of
// single artifacts and with Trust.Only they are fewer than the manifest's.
func (v *Verified) Policies() []string { return slices.Clone(v.policies) }

// Digest is the SHA-256 of SHA256SUMS in lower-case hexadecimal: the name of this
// release among all.
func (v *Verified) Digest() string { return v.digest }

// Anchors are the checks that the caller asked for and that passed: "pins".
func (v *Verified) Anchors() []string { return slices.Clone(v.anchors) }

// File is the bytes of a file by its name in the release. Files that are only
// hashed (ir.map.json) and those of policies that may not be used are not there.
func (v *Verified) File(name string) ([]byte, bool) {
	data, ok := v.files[name]
	return bytes.Clone(data), ok
}

// IR is the meaning of a policy, nil when it is none of Policies. Each call gives
// another copy, read from the verified bytes.
func (v *Verified) IR(policy string) *ir.Policy {
	data, ok := v.files[policy+"/"+irFile]
	if !ok {
		return nil
	}
	if p := v.proven[policy].takePolicy(); p != nil {
		return p
	}
	p, err := ir.ParseJSON(data)
	if err != nil {
		diag.Bug("a verified %s/%s is not read a second time: %v", policy, irFile, err)
	}
	return p
}

// Linux is what a policy's Linux artifacts say, nil when it is none of Policies or
// is not compiled for Linux. Each call gives another copy, read from the verified
// bytes.
func (v *Verified) Linux(policy string) *targets.Linux {
	// The artifacts are there exactly if the policy is compiled for Linux: that was
	// checked, and asking the IR again would cost a run a twentieth of its time.
	if _, ok := v.files[policy+"/bwrap.json"]; !ok {
		return nil
	}
	if linux := v.proven[policy].takeLinux(); linux != nil {
		return linux
	}
	files := map[string][]byte{}
	for name, data := range v.files {
		if base, ok := strings.CutPrefix(name, policy+"/"); ok {
			files[base] = bytes.Clone(data)
		}
	}
	linux, err := targets.ReadLinux(files)
	if err != nil {
		diag.Bug("verified artifacts of %s are not read a second time: %v", policy, err)
	}
	return linux
}

func cloneManifest(m *release.Manifest) *release.Manifest {
	if m == nil {
		return nil
	}
	c := *m
	c.Inputs.Targets, c.Inputs.Policies = slices.Clone(m.Inputs.Targets), slices.Clone(m.Inputs.Policies)
	c.Inputs.Variables, c.Sources, c.Artifacts = slices.Clone(m.Inputs.Variables), slices.Clone(m.Sources), slices.Clone(m.Artifacts)
	return &c
}
