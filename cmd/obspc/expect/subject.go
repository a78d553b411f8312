package expect

import (
	"fmt"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets"
	"github.com/obspc/obspc/targets/models"
)

// subject is a policy that tests ask, with its artifacts for each target that can
// be asked.
type subject struct {
	policy    *ir.Policy
	artifacts []artifacts
	report    func(Unasked)
	bound     map[ir.Binding][]model
}

// artifacts are one target's, by name within the policy's folder.
type artifacts struct {
	target models.Modelled
	files  map[string][]byte
}

// model is one target's model on one machine.
type model struct {
	target  ir.Target
	answers models.Answerer
}

// subject compiles the policy for each of its targets alone, so that what one
// cannot keep does not hide the answers of the others.
func (r *runner) subject(p *ir.Policy) *subject {
	if s, ok := r.subjects[p.Name]; ok {
		return s
	}
	s := &subject{policy: p, bound: map[ir.Binding][]model{}}
	s.report = func(u Unasked) { r.report.Unasked = append(r.report.Unasked, u) }
	r.subjects[p.Name] = s
	for _, t := range p.Targets {
		i := r.modelOf(t)
		if i < 0 {
			s.unasked(t, "nothing reads its artifacts back in this version")
			continue
		}
		files, why := compiled(p, t)
		if why != "" {
			s.unasked(t, why)
			continue
		}
		s.artifacts = append(s.artifacts, artifacts{r.options.Models[i], files})
	}
	return s
}

func (r *runner) modelOf(t ir.Target) int {
	for i, m := range r.options.Models {
		if m.Target == t {
			return i
		}
	}
	return -1
}

func (s *subject) unasked(t ir.Target, why string) { s.report(Unasked{s.policy.Name, t, why}) }

// compiled are the policy's artifacts for one target, or why it has none.
func compiled(p *ir.Policy, t ir.Target) (files map[string][]byte, why string) {
	all, why := targets.Alone(p, t)
	if why != "" {
		return nil, why
	}
	files = map[string][]byte{}
	for _, a := range all {
		files[a.Name] = a.Data
	}
	return files, ""
}

// models are those of the targets, on a machine with that binding.
func (s *subject) models(b ir.Binding) []model {
	if m, ok := s.bound[b]; ok {
		return m
	}
	var out []model
	for _, a := range s.artifacts {
		alone := *s.policy
		alone.Targets = []ir.Target{a.target.Target}
		answers, err := a.target.Model(&alone, a.files, b)
		if err != nil {
			s.unasked(a.target.Target, fmt.Sprintf("no machine has such a binding: %v", err))
			continue
		}
		out = append(out, model{a.target.Target, answers})
	}
	s.bound[b] = out
	return out
}
