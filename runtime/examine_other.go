//go:build !linux

package runtime

import (
	"context"
	"runtime"

	"github.com/obspc/obspc/verify"
	"github.com/obspc/obspc/verify/release"
)

// Examine says that this version starts no sandbox here, and on macOS whether
// profiles can be applied, as obspc test --live does.
func Examine(ctx context.Context, _ string) *Examination {
	e := &Examination{Schema: ExaminationSchema, Obsrun: release.Version, System: runtime.GOOS, Arch: runtime.GOARCH}
	r := notHere()
	e.Findings = []Finding{{"system", Missing, r.Message, r.Help}}
	if runtime.GOOS == "darwin" {
		e.Findings = append(e.Findings, examineSandboxExec(ctx, "/usr/bin/sandbox-exec", "/usr/bin/true"))
	}
	e.Conclude()
	return e
}

// ExaminePolicy refuses as Start does.
func ExaminePolicy(_ context.Context, _ *verify.Verified, job Job) PolicyExamination {
	return PolicyExamination{Policy: job.Policy, Refusal: notHere().text()}
}
