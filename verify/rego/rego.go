// Package rego holds policies to house rules: Rego over ir.json, written by
// whoever answers for the machines. It is the only importer of OPA. Its one rule:
// a rule that cannot be asked is an error, never a pass. So a member that the IR
// does not have, a builtin that fails, an element that is no finding, a rule that
// nothing calls, and an evaluation that runs out of time or memory each refuse.
package rego

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	oparego "github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/compiler/ir/diff"
	"github.com/obspc/obspc/targets"
	"github.com/obspc/obspc/verify/release"
)

// Kind is the name of the rule that a finding is an element of.
type Kind string

// Deny and Violation refuse a policy; they mean the same, as readers know one
// word or the other. Warn is shown and refuses nothing.
const (
	Deny      Kind = "deny"
	Violation Kind = "violation"
	Warn      Kind = "warn"
)

var kinds = []Kind{Deny, Violation, Warn}

// Finding is one element of a deny, violation or warn rule, about one policy. Code
// is in kebab case; where a rule gives none it is the last part of its package.
// Origin is the statement it is about, "" for the policy as a whole.
type Finding struct {
	Kind    Kind
	Policy  string
	Code    string
	Message string
	Origin  ir.Origin
	// Exempt is why it refuses nothing; nil when no exemption is about it.
	Exempt *Exemption
}

// Refuses reports whether the policy may not be used because of it.
func (f Finding) Refuses() bool { return f.Kind != Warn && f.Exempt == nil }

// Rules are house rules, ready to be asked. They do not change and may be asked by
// several goroutines at once.
type Rules struct {
	digest     release.Digest
	modules    map[string]*ast.Module // by file, tests left out
	tests      map[string]*ast.Module
	asked      []asked
	query      oparego.PreparedEvalQuery
	exemptions []Exemption
}

// asked is one rule of the query: its findings are elements of it.
type asked struct {
	kind Kind
	pkg  string // "house.network"
}

// code is what a finding of the rule is called when it does not say.
func (a asked) code() string {
	return strings.ReplaceAll(a.pkg[strings.LastIndexByte(a.pkg, '.')+1:], "_", "-")
}

// Digest is the SHA-256 over names and contents of all rules and exemptions, tests
// left out: what a statement about a release says it was held to.
func (r *Rules) Digest() release.Digest { return r.digest }

// Count is the number of rules that are asked.
func (r *Rules) Count() int { return len(r.asked) }

// Limits of one evaluation: one policy against all rules.
const (
	maxTime   = 10 * time.Second
	maxMemory = 512 << 20 // bytes of the heap beyond what was there before
)

// Evaluate asks every rule about p. base is the policy of that name that was in
// use before, or nil; rules see what changed through obspc.change. The findings
// are sorted by statement, code and message. The error says which rule could not
// be asked, and then nothing is known of p.
func (r *Rules) Evaluate(ctx context.Context, p, base *ir.Policy) ([]Finding, error) {
	data := p.JSON()
	input, err := ast.ValueFromReader(strings.NewReader(string(data)))
	if err != nil {
		return nil, fmt.Errorf("ir.json of %s: %w", p.Name, err)
	}
	ctx, stop := limited(ctx)
	defer stop()
	ctx = context.WithValue(ctx, changeKey{}, changeOf(p, base))
	results, err := r.query.Eval(ctx, oparego.EvalParsedInput(input))
	if err != nil {
		return nil, evaluationFault(ctx, p.Name, err)
	}
	if len(results) != 1 || len(results[0].Expressions) != 1 {
		return nil, fmt.Errorf("policy %s: the rules gave no answer", p.Name)
	}
	sets, ok := results[0].Expressions[0].Value.([]any)
	if !ok || len(sets) != len(r.asked) {
		return nil, fmt.Errorf("policy %s: the rules gave %d answers to %d questions", p.Name, len(sets), len(r.asked))
	}
	locate := locator{input}
	var out []Finding
	for i, set := range sets {
		elements, ok := set.([]any)
		if !ok {
			return nil, fmt.Errorf("policy %s: data.%s.%s is no set", p.Name, r.asked[i].pkg, r.asked[i].kind)
		}
		for _, element := range elements {
			f, err := finding(r.asked[i], element, locate)
			if err != nil {
				return nil, fmt.Errorf("policy %s: data.%s.%s: %w", p.Name, r.asked[i].pkg, r.asked[i].kind, err)
			}
			f.Policy = p.Name
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b Finding) int {
		return strings.Compare(string(a.Origin)+"\x00"+a.Code+"\x00"+a.Message, string(b.Origin)+"\x00"+b.Code+"\x00"+b.Message)
	})
	return out, nil
}

// finding reads one element: a message, or an object with message and, if it
// likes, code and path. path leads into ir.json, as in ["files", 3].
func finding(a asked, element any, locate locator) (Finding, error) {
	f := Finding{Kind: a.kind, Code: a.code()}
	switch e := element.(type) {
	case string:
		f.Message = e
	case map[string]any:
		for key, value := range e {
			var err error
			switch key {
			case "message":
				f.Message, err = text(value)
			case "code":
				f.Code, err = text(value)
			case "path":
				f.Origin, err = locate.origin(value)
			default:
				err = errors.New("a finding has message, code and path, and nothing else")
			}
			if err != nil {
				return f, fmt.Errorf("%s: %w", key, err)
			}
		}
	default:
		return f, fmt.Errorf("an element is %T; write a message, or an object with message, code and path", element)
	}
	if f.Message == "" {
		return f, errors.New("a finding has no message")
	}
	if !codeForm.MatchString(f.Code) {
		return f, fmt.Errorf("the code %q is not in kebab case", f.Code)
	}
	return f, nil
}

func text(value any) (string, error) {
	s, ok := value.(string)
	if !ok || s == "" {
		return "", fmt.Errorf("%v is no text", value)
	}
	return s, nil
}

// changeKey is under what an evaluation finds its Change.
type changeKey struct{}

// change is what obspc.change answers.
type change struct {
	Verdict string `json:"verdict"` // same, narrowed, widened or mixed
	Version int64  `json:"version"` // of the policy that was in use before
}

func changeOf(p, base *ir.Policy) *change {
	if base == nil {
		return nil
	}
	return &change{diff.Policies(base, p, targets.Keeps).Verdict().String(), base.Version}
}

// evaluationFault says why there is no answer.
func evaluationFault(ctx context.Context, policy string, err error) error {
	if topdown.IsCancel(err) || ctx.Err() != nil {
		cause := context.Cause(ctx)
		if errors.Is(cause, context.DeadlineExceeded) {
			cause = fmt.Errorf("they took more than %s", maxTime)
		}
		return fmt.Errorf("policy %s: the rules were stopped: %w", policy, cause)
	}
	var fault *topdown.Error
	if errors.As(err, &fault) && fault.Location != nil {
		return Errors{{fault.Location.File, fault.Location.Row, fault.Location.Col, fault.Code, fmt.Sprintf("policy %s: %s", policy, fault.Message)}}
	}
	return fmt.Errorf("policy %s: %w", policy, err)
}

// DigestOf is one digest for several sets of rules in their order: that of the set
// itself if there is one, "" if there is none.
func DigestOf(sets []*Rules) release.Digest {
	switch len(sets) {
	case 0:
		return ""
	case 1:
		return sets[0].digest
	}
	var all strings.Builder
	for _, set := range sets {
		all.WriteString(string(set.digest) + "\n")
	}
	return release.Sum([]byte(all.String()))
}
