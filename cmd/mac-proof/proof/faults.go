package proof

import (
	"fmt"
	"regexp"
	"slices"
)

// Verdicts as a record spells them.
const (
	allow     = "allow"
	deny      = "deny"
	undecided = "undecided"
)

var (
	versionForm = regexp.MustCompile(`^\d+(\.\d+){0,2}$`)
	buildForm   = regexp.MustCompile(`^\d+[A-Z]\d+[a-z]?$`)
	commitForm  = regexp.MustCompile(`^[0-9a-f]{7,64}(-dirty)?$`)
	dateForm    = regexp.MustCompile(`^\d{4}-[01]\d-[0-3]\d$`)
	digestForm  = regexp.MustCompile(`^[0-9a-f]{64}$`)
	errnoForm   = regexp.MustCompile(`^E[A-Z0-9]+$`)
)

// Escapes lists the probes that the kernel allowed although the policy, or the model
// of the profile, denies them.
func (p *Proof) Escapes() []Probe {
	var out []Probe
	for _, probe := range p.Probes {
		if probe.Kernel == allow && (probe.Decide == deny || probe.Model == deny) {
			out = append(out, probe)
		}
	}
	return out
}

// Tighter lists the probes that the kernel refused although the model of the profile
// allows them: it denies more than is known of it.
func (p *Proof) Tighter() []Probe {
	var out []Probe
	for _, probe := range p.Probes {
		if probe.Kernel == deny && probe.Model == allow {
			out = append(out, probe)
		}
	}
	return out
}

// Tried counts the probes that the kernel answered.
func (p *Proof) Tried() int {
	n := 0
	for _, probe := range p.Probes {
		if probe.Kernel != "" {
			n++
		}
	}
	return n
}

// Rejected lists the policies whose profile macOS refused.
func (p *Proof) Rejected() []Policy {
	return slices.DeleteFunc(slices.Clone(p.Policies), func(policy Policy) bool { return !policy.Rejected })
}

// Malformed lists what makes the record no record of make mac-proof on a Mac.
func (p *Proof) Malformed() []string {
	var out []string
	fault := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for _, m := range []struct {
		name, value string
		form        *regexp.Regexp
	}{
		{"macOS version", p.MacOS.Version, versionForm}, {"macOS build", p.MacOS.Build, buildForm},
		{"commit", p.Commit, commitForm}, {"date", p.Date, dateForm},
	} {
		if !m.form.MatchString(m.value) {
			fault("%s %q is malformed", m.name, m.value)
		}
	}
	if p.MacOS.Arch != "amd64" && p.MacOS.Arch != "arm64" {
		fault("no Mac has the architecture %q", p.MacOS.Arch)
	}
	if p.Tried() == 0 {
		fault("no probe was tried")
	}
	known := map[string]bool{}
	for i, policy := range p.Policies {
		known[policy.Name] = true
		switch {
		case i > 0 && p.Policies[i-1].Name >= policy.Name:
			fault("policy %q is out of order", policy.Name)
		case !digestForm.MatchString(policy.Profile):
			fault("policy %q has no digest of its profile", policy.Name)
		case (policy.Added == "") == (policy.Why == "") || policy.Rejected && policy.Why == "":
			fault("policy %q was tried, or was not and says why", policy.Name)
		}
	}
	for i, probe := range p.Probes {
		if why := probe.malformed(); why != "" {
			fault("%s: %s: %s", probe.Policy, probe.Request, why)
		}
		if i > 0 && compare(p.Probes[i-1], probe) >= 0 {
			fault("%s: %s is out of order", probe.Policy, probe.Request)
		}
		if !known[probe.Policy] {
			fault("%s: %s: there is no such policy in the record", probe.Policy, probe.Request)
		}
	}
	return out
}

// malformed says what is wrong with the probe's form, "" when nothing is.
func (p Probe) malformed() string {
	tried := p.Kernel != ""
	switch {
	case p.Request == "":
		return "a probe without a request"
	case p.Decide != allow && p.Decide != deny:
		return fmt.Sprintf("the policy says %q", p.Decide)
	case p.Model != allow && p.Model != deny && p.Model != undecided && (p.Model != "" || tried):
		return fmt.Sprintf("the model says %q", p.Model)
	case tried && p.Kernel != allow && p.Kernel != deny:
		return fmt.Sprintf("the kernel says %q", p.Kernel)
	case tried && p.Control != allow:
		return "an answer without its control"
	case tried == (p.Why != ""):
		return "it was tried, or was not and says why"
	case (p.Kernel == deny) != errnoForm.MatchString(p.Errno) || p.Kernel != deny && p.Errno != "":
		return "a refusal has an error, and nothing else has one"
	}
	return ""
}
