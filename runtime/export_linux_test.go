package runtime

import (
	"time"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/verify"
)

// Hurry shortens the times that a run which was broken off takes to end.
func Hurry(grace, reap time.Duration) (undo func()) {
	before := [...]time.Duration{graceTime, reapTime}
	graceTime, reapTime = grace, reap
	return func() { graceTime, reapTime = before[0], before[1] }
}

// RemoveMade is removeMade.
func RemoveMade(dir int, name string, since time.Time) error { return removeMade(dir, name, since) }

// ErrInterrupted is errInterrupted.
var ErrInterrupted = errInterrupted

// RemoveTree is removeTree of a path as text.
func RemoveTree(path string, stop func() bool) error {
	at, err := ir.NewPath(ir.Host, path)
	if err != nil {
		return err
	}
	return removeTree(at, stop)
}

// Prepared is what bwrap would be started with: the option stream and the seccomp
// program. What the run made on the host is taken away again.
func Prepared(v *verify.Verified, job Job) (stream, seccomp []byte, err error) {
	r := &execution{job: job, verified: v, evidence: NewEvidence(job.Development), outcome: &Outcome{}}
	defer r.cleanUp(func() bool { return false })
	for _, step := range steps {
		if refusal := step.do(r); refusal != nil {
			return nil, nil, refusal
		}
	}
	return r.launch.stream, r.launch.seccomp, nil
}

// Descriptors that a prepared stream refers to.
const (
	ArgsFD    = argsFD
	StatusFD  = statusFD
	SeccompFD = seccompFD
)
