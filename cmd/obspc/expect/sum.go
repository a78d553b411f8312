package expect

// Sum counts a report.
type Sum struct {
	Tests, FailedTests         int
	Expectations, Failed       int
	Waived                     int // answers of targets
	Tried, LiveFailed, Untried int // against the kernel
}

// Sum counts tests, expectations and answers.
func (r *Report) Sum() Sum {
	var s Sum
	for _, c := range r.Tests {
		s.Tests++
		if c.Failed() {
			s.FailedTests++
		}
		for _, o := range c.Outcomes {
			s.outcome(o)
		}
	}
	return s
}

func (s *Sum) outcome(o Outcome) {
	s.Expectations++
	if o.Failed() {
		s.Failed++
	}
	for _, a := range o.Targets {
		if a.Status == Waived {
			s.Waived++
		}
	}
	switch {
	case o.Live == nil:
	case o.Live.Status == Skipped:
		s.Untried++
	default:
		s.Tried++
		if o.Live.Status == Failed {
			s.LiveFailed++
		}
	}
}
