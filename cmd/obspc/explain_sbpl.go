package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/seatbelt/model"
	"github.com/obspc/obspc/targets/seatbelt/sbpl"
)

// neverOnMac is what every answer about a profile says.
const neverOnMac = "by a model of Seatbelt that was never run on a Mac"

// explainProfile answers a request, or an operation of Seatbelt's own, by a profile.
func (a *artifact) explainProfile(c *cli.Context, words []string, asJSON bool) error {
	profile, err := sbpl.Parse(a.name, a.text, a.sbpl)
	if err != nil {
		if list := sbpl.Lint(a.name, a.text, a.sbpl); list.HasErrors() {
			return a.refused(c, list, asJSON)
		}
		return wrongCall("%w", err)
	}
	if len(words) < 2 {
		return wrongCall("explain --sbpl wants a word and what it is about; see obspc explain --help")
	}
	out := artifactAnswer{
		Schema: artifactSchema, Artifact: a.name, Kind: "seatbelt", Release: profile.Release.String(),
		Query: query{Kind: words[0], Value: strings.Join(words[1:], " ")}, Note: neverOnMac,
	}
	replies, err := a.replies(profile, words, &out)
	if err != nil {
		return err
	}
	out.decideProfile(replies)
	return out.write(c.App.Writer, asJSON)
}

// replies asks the profile: one of the words of policies, or an operation by its name.
func (a *artifact) replies(profile *sbpl.Profile, words []string, out *artifactAnswer) ([]model.Reply, error) {
	if slices.Contains(ir.RequestKinds(), ir.RequestKind(words[0])) {
		r, err := a.request(words)
		if err != nil {
			return nil, err
		}
		out.Query = queryOf(r)
		replies, err := model.New(profile).Replies(r)
		if err != nil {
			return nil, wrongCall("%w; give --bind SLOT=PATH", err)
		}
		return replies, nil
	}
	if !profile.HasOperation(words[0]) {
		names := profile.Operations()
		for _, k := range ir.RequestKinds() {
			names = append(names, string(k))
		}
		return nil, wrongCall("%q is no request, and no operation of macOS %s; %s", words[0], profile.Release, suggestion(words[0], names, "see obspc explain --help"))
	}
	known, err := operationContext(words[0], words[1:])
	if err != nil {
		return nil, err
	}
	answer, err := profile.Evaluate(words[0], known)
	if err != nil {
		return nil, wrongCall("%w", err)
	}
	return []model.Reply{{Question: model.Question{Operation: words[0], Known: known}, Answer: answer}}, nil
}

// subjects is what a bare word means to a family of operations.
var subjects = []struct{ family, filter string }{
	{"mach-", "global-name"}, {"sysctl", "sysctl-name"}, {"ipc-posix", "ipc-posix-name"}, {"iokit-open", "iokit-user-client-class"},
	{"user-preference", "preference-domain"}, {"nvram", "nvram-variable"}, {"authorization-right", "right-name"}, {"appleevent", "appleevent-destination"},
	{"signal", "target"}, {"system-socket", "socket-domain"}, {"network", "remote"}, {"distributed-notification", "notification-name"},
}

// operationContext reads what is known of an operation: a path, a name that its family
// is about, or FILTER=VALUE. Nothing is known of what is not said, but that a process
// of sandbox-exec holds no extension.
func operationContext(operation string, words []string) (sbpl.Context, error) {
	known := sbpl.Context{"extension": {}}
	for _, w := range words {
		name, value, given := strings.Cut(w, "=")
		switch {
		case strings.HasPrefix(w, "/"):
			name, value = "path", sbpl.Canonical(w)
		case given && name != "":
		default:
			i := slices.IndexFunc(subjects, func(s struct{ family, filter string }) bool { return strings.HasPrefix(operation, s.family) })
			if i < 0 {
				return nil, wrongCall("what is %q to %s? write a path, or FILTER=VALUE", w, operation)
			}
			name, value = subjects[i].filter, w
			if name == "remote" && !strings.Contains(w, " ") {
				value = "tcp " + w
			}
		}
		known[name] = append(known[name], value)
	}
	return known, nil
}

// decideProfile joins the replies: one refusal refuses, whatever else is open.
func (out *artifactAnswer) decideProfile(replies []model.Reply) {
	decides := 0
	rank := func(d sbpl.Decision) int {
		return map[sbpl.Decision]int{sbpl.Allow: 0, sbpl.Undecided: 1, sbpl.Deny: 2}[d]
	}
	for i, r := range replies {
		if rank(r.Decision) > rank(replies[decides].Decision) {
			decides = i
		}
		step := artifactStep{Operation: r.Operation, Decision: r.Decision.String(), Rule: ruleAtProfile(r.Rule), Asked: r.Path, Unknown: r.Answer.Unknown}
		if r.Rule == nil && r.Decision != sbpl.Undecided {
			step.Reason = "by no rule: " + r.BuiltIn
		}
		if r.Decision == sbpl.Undecided {
			step.Reason = "it depends on " + strings.Join(r.Answer.Unknown, ", ")
		}
		for _, rule := range r.Candidates {
			step.Perhaps = append(step.Perhaps, rule.Describe())
		}
		out.Steps = append(out.Steps, step)
	}
	if len(replies) == 0 {
		out.Decision, out.Reason = "undecided", "this release has no operation for it"
		return
	}
	r := replies[decides]
	out.Decision, out.Rule = r.Decision.String(), ruleAtProfile(r.Rule)
	switch {
	case r.Decision == sbpl.Undecided:
		out.Reason, out.Unknown = r.Operation+" depends on what is not known", r.Answer.Unknown
	case r.Decision == sbpl.Deny:
		out.Reason = r.Operation + " is denied"
	case len(replies) == 1:
		out.Reason = r.Operation + " is allowed"
	default:
		out.Reason = "every operation that macOS asks about is allowed"
		out.Rule = nil
	}
}

func ruleAtProfile(r *sbpl.Rule) *artifactRule {
	switch {
	case r == nil:
		return nil
	case r.Standard:
		return &artifactRule{Text: r.Describe()}
	}
	return &artifactRule{r.At.File, r.At.Line, r.At.Column, r.String()}
}
