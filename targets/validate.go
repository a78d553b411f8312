package targets

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"sync"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/run"
	"github.com/obspc/obspc/targets/seccomp"
)

// ValidationError is an artifact that does not mean what its policy means. Where
// a request tells them apart, it is there with both answers, the rule that decided
// for the policy, and what was assumed of the machine; otherwise Detail says what
// differs.
//
// Statement is the rule as a policy states it and Origin names it; both are empty
// when no rule speaks of the request. Without a request, Origin is the rule that the
// artifact does not have, if it is that. Place is where the artifact decides: a line
// of bwrap.args.txt or of a disassembly with its number, or a member of a JSON
// file; "" when no one place does.
type ValidationError struct {
	Policy    string
	Artifact  string // file, or the files that decide together
	Place     string
	Request   *ir.Request
	Allowed   struct{ Policy, Artifact bool }
	Statement string
	Origin    ir.Origin
	Machine   string
	Detail    string
}

func (e *ValidationError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: ", e.Artifact)
	if e.Request == nil {
		b.WriteString(e.Detail)
		if e.Place != "" {
			fmt.Fprintf(&b, " (%s)", e.Place)
		}
		return b.String()
	}
	word := map[bool]string{true: "allows", false: "denies"}
	fmt.Fprintf(&b, "%s: the policy %s it", e.Request, word[e.Allowed.Policy])
	if e.Origin != "" {
		fmt.Fprintf(&b, " by %s (%s)", e.Statement, e.Origin)
	} else {
		b.WriteString(", as no rule speaks of it")
	}
	fmt.Fprintf(&b, "; the artifact %s it", word[e.Allowed.Artifact])
	if e.Place != "" {
		fmt.Fprintf(&b, " at %s", e.Place)
	}
	fmt.Fprintf(&b, " (%s)", e.Machine)
	return b.String()
}

// Validate proves, of the artifacts' own bytes, that they mean what the policy
// means, or less where the target said so (design 5.7: O1 to O8 for Linux, O1 to O5
// for the Seatbelt profile, which no facts of a machine are put into). files are by
// name within the policy's folder; all that Compile makes must be there. The error
// is a *ValidationError or says why a file cannot be read.
func Validate(p *ir.Policy, files map[string][]byte) error {
	_, err := Prove(p, files)
	return err
}

// Prove is Validate, and hands on what the Linux artifacts say, as the proof has
// read them: nil for a policy without that target.
func Prove(p *ir.Policy, files map[string][]byte) (*Linux, error) { return Read(files).Prove(p) }

// Prove is Prove of what was read.
func (r *Reading) Prove(p *ir.Policy) (*Linux, error) {
	read, unread := r.read()
	v := &validator{policy: p, files: r.files, read: read, unread: unread}
	work := []func() error{v.meaning, v.plan, v.egress}
	switch {
	case !p.HasTarget(ir.Bwrap):
		read = nil
	case unread.linux != nil:
		work = append(work, func() error { return unread.linux })
	default:
		work = append(work, v.linux()...)
	}
	if err := cmp.Or(atOnce(work...)...); err != nil {
		return nil, err
	}
	if p.HasTarget(ir.Seatbelt) {
		if err := v.macos(); err != nil {
			return nil, err
		}
	}
	return read, nil
}

func (v *validator) meaning() error {
	return v.same(irFile, v.policy.JSON(), "the policy's canonical form")
}

// plan: what the runtime itself enforces is what the policy states.
func (v *validator) plan() error {
	if v.unread.plan != nil {
		return v.unread.plan
	}
	if !v.read.Plan.Equal(run.Compile(v.policy)) {
		return v.differs(runFile, "it is not what the policy states for the runtime")
	}
	return nil
}

type validator struct {
	policy *ir.Policy
	files  map[string][]byte
	read   *Linux
	unread unread
	grants map[seccomp.Arch]func() seccomp.Summary // what each filter grants, worked out once
	fresh  string                                  // a name that nothing has

	bound   *ir.Policy // the last bound policy, and its binding
	binding ir.Binding
}

func (v *validator) differs(file, format string, args ...any) error {
	return &ValidationError{Policy: v.policy.Name, Artifact: file, Detail: fmt.Sprintf(format, args...)}
}

// lacks reports a rule that an artifact does not have.
func (v *validator) lacks(file string, rule ir.Origin, format string, args ...any) error {
	return &ValidationError{Policy: v.policy.Name, Artifact: file, Origin: rule, Detail: fmt.Sprintf(format, args...)}
}

func (v *validator) differsAt(file, place, format string, args ...any) error {
	return &ValidationError{Policy: v.policy.Name, Artifact: file, Place: place, Detail: fmt.Sprintf(format, args...)}
}

// same holds a file to exactly these bytes.
func (v *validator) same(file string, want []byte, what string) error {
	have, ok := v.files[file]
	switch {
	case !ok:
		return v.differs(file, "it is missing")
	case !bytes.Equal(have, want):
		return v.differsAt(file, firstDifference(file, have, want), "it is not %s", what)
	}
	return nil
}

// firstDifference is the place of the first byte that differs: a line, or in a
// file of one line a column.
func firstDifference(file string, have, want []byte) string {
	i := 0
	for i < min(len(have), len(want)) && have[i] == want[i] {
		i++
	}
	before := have[:i]
	line, column := 1+bytes.Count(before, []byte("\n")), i-bytes.LastIndexByte(before, '\n')
	return fmt.Sprintf("%s:%d:%d", file, line, column)
}

// linux is the proof of the Linux artifacts together. None of the obligations needs
// another, once the artifacts are read.
func (v *validator) linux() []func() error {
	v.summarise()
	work := make([]func() error, len(obligations))
	for i, o := range obligations {
		work[i] = func() error { return o.check(v) }
	}
	return work
}

// summarise makes ready what the filters grant.
func (v *validator) summarise() {
	v.grants = map[seccomp.Arch]func() seccomp.Summary{}
	for _, arch := range seccomp.Arches() {
		v.grants[arch] = sync.OnceValue(func() seccomp.Summary { return seccomp.Grants(v.read.Seccomp[arch], arch) })
	}
}

// sockets reports whether a filter lets sockets connect.
func (v *validator) sockets() bool {
	for _, grants := range v.grants {
		if grants().UnixSockets() {
			return true
		}
	}
	return false
}

func contains(list []string, s string) bool {
	for _, have := range list {
		if have == s {
			return true
		}
	}
	return false
}

func (v *validator) waived(t ir.Target, f ir.Feature) bool {
	for _, w := range v.policy.Waivers {
		if w.Target == t && w.Feature == f {
			return true
		}
	}
	return false
}
