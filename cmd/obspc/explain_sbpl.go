package main

import (
	"fmt"
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

// decideProfile joins the replies.
func (out *artifactAnswer) decideProfile(replies []model.Reply) {
	said := map[sbpl.Decision][]string{}
	for _, r := range replies {
		said[r.Decision] = append(said[r.Decision], r.Operation)
		out.Steps = append(out.Steps, stepOf(r))
	}
	allowed, denied, open := said[sbpl.Allow], said[sbpl.Deny], said[sbpl.Undecided]
	decides := func(d sbpl.Decision) model.Reply {
		return replies[slices.IndexFunc(replies, func(r model.Reply) bool { return r.Decision == d })]
	}
	switch apart := model.Apart(ir.RequestKind(out.Query.Kind)); {
	case len(replies) == 0:
		out.Decision, out.Reason = "undecided", "this release has no operation for it"
	case len(denied) > 0 && apart && len(allowed) > 0:
		out.Decision, out.Rule = "partly", ruleAtProfile(decides(sbpl.Deny).Rule)
		out.Reason = fmt.Sprintf("%s allowed, and %s denied", are(allowed), are(denied))
		if len(open) > 0 {
			out.Reason += "; " + dependsOn(open)
			out.Unknown = unknownOf(replies)
		}
	case len(denied) > 0 && (!apart || len(open) == 0):
		r := decides(sbpl.Deny)
		out.Decision, out.Reason, out.Rule = r.Decision.String(), r.Operation+" is denied", ruleAtProfile(r.Rule)
	case len(open) > 0:
		out.Decision, out.Reason, out.Unknown = sbpl.Undecided.String(), dependsOn(open), unknownOf(replies)
	case len(replies) == 1:
		out.Decision, out.Reason, out.Rule = "allow", allowed[0]+" is allowed", ruleAtProfile(replies[0].Rule)
	default:
		out.Decision, out.Reason = "allow", "every operation that macOS asks about is allowed"
	}
}

// are names operations before what is said of them.
func are(operations []string) string {
	if len(operations) == 1 {
		return operations[0] + " is"
	}
	return strings.Join(operations, ", ") + " are"
}

func dependsOn(operations []string) string {
	if len(operations) == 1 {
		return operations[0] + " depends on what is not known"
	}
	return strings.Join(operations, ", ") + " depend on what is not known"
}

// unknownOf is what the open operations depend on.
func unknownOf(replies []model.Reply) []string {
	var out []string
	for _, r := range replies {
		for _, u := range r.Answer.Unknown {
			if r.Decision == sbpl.Undecided && !slices.Contains(out, u) {
				out = append(out, u)
			}
		}
	}
	return out
}

// stepOf is one operation and its answer.
func stepOf(r model.Reply) artifactStep {
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
	return step
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
