package runtime

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/obspc/obspc/compiler/ir"
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
	if out.Truncated {
		e.reached(ir.Stdout)
	}
	if err.Truncated {
		e.reached(ir.Stderr)
	}
}

// Undelivered says of each output that could not be passed on how much of it was, and
// why no more.
func (e *Evidence) Undelivered() []string {
	var out []string
	for _, s := range []struct {
		name string
		of   *StreamEvidence
	}{{"output", e.Stdout}, {"error output", e.Stderr}} {
		if s.of != nil && s.of.Fault != "" {
			out = append(out, fmt.Sprintf("%s could not be passed on, %d of %d bytes were: %s", s.name, s.of.Passed, s.of.Bytes, s.of.Fault))
		}
	}
	return out
}

// full notes a memory file system that is full; not every policy states its size.
func (e *Evidence) full(name ir.LimitName, size int64) {
	l := LimitEvidence{Name: string(name), Value: size, Scope: string(ir.RunScope), By: byMount}
	if !slices.ContainsFunc(e.Limits, func(have LimitEvidence) bool { return have.Name == l.Name }) {
		e.Limits = append(e.Limits, l)
	}
	e.reached(name)
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

// What keeps limits, as evidence names it.
const (
	byRuntime = "runtime"
	byRlimit  = "rlimit"
	byCgroup  = "cgroup"
	byMount   = "mount"
)

// Amount is the limit's value as a policy writes it, without quotes.
func (l LimitEvidence) Amount() string {
	return ir.Limit{Name: ir.LimitName(l.Name), Value: l.Value}.Amount()
}

// Attribute is where a policy states the limit.
func (l LimitEvidence) Attribute() string { return attributeOf(ir.LimitName(l.Name)) }

// shmLimit names the size of /dev/shm.
const shmLimit ir.LimitName = "shm"

// attributeOf is where a policy states a limit.
func attributeOf(name ir.LimitName) string {
	if name == shmLimit {
		return "system.shm"
	}
	return "limits." + string(name)
}

// reached notes that the run came up against a limit.
func (e *Evidence) reached(name ir.LimitName) {
	for i := range e.Limits {
		if e.Limits[i].Name == string(name) {
			e.Limits[i].Reached = true
		}
	}
}
