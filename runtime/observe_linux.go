package runtime

import (
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/compiler/ir/propose"
)

// observe notes what would allow the proxy's denials. It is asked when the run is over,
// and a fault of it changes nothing about the run.
func (r *execution) observe() {
	if !r.job.Observe || r.evidence.Egress == nil {
		return
	}
	place := r.job.Places
	if place == nil {
		place = func(ir.Origin) (string, int, bool) { return "", 0, false }
	}
	s := propose.Setting{Policy: r.policy, Binding: r.withHome(), Keeps: kept}
	report, err := propose.Observe(s, r.evidence.Egress.asked(), place)
	if err != nil {
		r.job.notice("what was observed cannot be told: " + err.Error())
		return
	}
	report.Untold = r.evidence.Egress.Untold
	r.evidence.Observed = report
}
