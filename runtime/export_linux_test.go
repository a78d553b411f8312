package runtime

import (
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/verify"
)

// RemoveTree is removeTree of a path as text.
func RemoveTree(path string) error {
	at, err := ir.NewPath(ir.Host, path)
	if err != nil {
		return err
	}
	return removeTree(at)
}

// Prepared is what bwrap would be started with: the option stream and the seccomp
// program. What the run made on the host is taken away again.
func Prepared(v *verify.Verified, job Job) (stream, seccomp []byte, err error) {
	r := &execution{job: job, verified: v, evidence: NewEvidence(job.Development), outcome: &Outcome{}}
	defer r.cleanUp()
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
