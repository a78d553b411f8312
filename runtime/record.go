package runtime

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/run"
	"github.com/obspc/obspc/verify"
	"github.com/obspc/obspc/verify/release"
)

// NewEvidence is the evidence of a run of which nothing is known yet but the
// machine.
func NewEvidence(development bool) *Evidence {
	e := &Evidence{Schema: EvidenceSchema, Mode: Governed, Started: stamp(time.Now())}
	if development {
		e.Mode = Development
	}
	e.Host = HostEvidence{System: runtime.GOOS, Arch: runtime.GOARCH, User: os.Getuid(), Obsrun: release.Version}
	describeHost(&e.Host)
	e.Cleanup.TreeDead = true // nothing has been started
	return e
}

// Refused is the evidence of a run that was refused before there was a verified
// release.
func (e *Evidence) Refused(r *Refusal) {
	e.refusedBy(r)
	e.Finished = stamp(time.Now())
}

func (e *Evidence) timed(began time.Time) {
	now := time.Now()
	e.Started, e.Finished = stamp(began), stamp(now)
	e.DurationMS = now.Sub(began).Milliseconds()
}

func (e *Evidence) release(v *verify.Verified) {
	m := v.Manifest()
	e.Release = &ReleaseEvidence{Product: m.Product, Serial: m.Serial, SHA256: v.Digest(), Anchors: v.Anchors()}
}

// artifacts notes the digest of each artifact of the policy.
func (e *Evidence) artifacts(v *verify.Verified, policy string) {
	e.Artifacts = map[string]string{}
	for _, a := range v.Manifest().Artifacts {
		if a.Policy() == policy {
			e.Artifacts[a.Name] = string(a.SHA256)
		}
	}
}

func (e *Evidence) bound(b ir.Binding, kind ir.WorkspaceKind) {
	for _, slot := range ir.Slots() {
		if at, ok := b.At(slot); ok {
			if e.Binding == nil {
				e.Binding = map[string]string{}
			}
			e.Binding[slot.String()] = at.String()
			if slot == ir.Workspace {
				e.Workspace = string(kind)
			}
		}
	}
}

// streams notes what the command wrote: two outputs, or one terminal.
func (e *Evidence) streams(stdout, stderr *stream, terminal bool) {
	out, err := stdout.evidence(), stderr.evidence()
	if e.Stdout, e.Terminal = &out, terminal; !terminal {
		e.Stderr = &err
	}
}

// environment notes the names of variables; values are the policy's and the
// machine's.
func (e *Evidence) environment(env []string) {
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		e.Environment = append(e.Environment, name)
	}
	slices.Sort(e.Environment)
}

// scopes tells how far each limit reaches.
var scopes = map[ir.LimitName]string{
	ir.Timeout: "run", ir.Stdout: "run", ir.Stderr: "run",
	ir.OpenFiles: "process", ir.FileSize: "process", ir.CPUTime: "process",
}

func (e *Evidence) limits(plan *run.Plan) {
	for _, l := range plan.Limits {
		e.Limits = append(e.Limits, LimitEvidence{string(l.Name), l.Value, scopes[l.Name]})
	}
}
