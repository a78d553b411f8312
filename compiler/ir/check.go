package ir

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/obspc/obspc/compiler/canon"
	"github.com/obspc/obspc/compiler/syscalls"
)

// IsName reports whether s may name a policy, template, command or endpoint.
func IsName(s string) bool { return nameForm.matches(s) }

// Check reports every way in which p is no well-formed policy: an invariant that
// later stages rely on. The compiler's output passes by construction, so a
// failure there is a bug; of an ir.json from outside it is the file's fault.
func (p *Policy) Check() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if !IsName(p.Name) {
		fault("policy name %q is malformed", p.Name)
	}
	if p.Version < 1 {
		fault("version %d is below 1", p.Version)
	}
	if len(p.Targets) == 0 || !isSet(p.Targets) {
		fault("targets %q are not a sorted set", p.Targets)
	}
	for _, t := range p.Targets {
		if t != Bwrap && t != Seatbelt {
			fault("target %q is unknown", t)
		}
	}
	if p.Workspace != ByCommand && p.Workspace != FreshWorkspace && p.Workspace != SharedWorkspace {
		fault("workspace %q is unknown", p.Workspace)
	}
	p.checkFiles(fault)
	p.checkEndpoints(fault)
	p.checkRest(fault)
	for _, c := range p.Commands {
		c.check(fault)
	}
	// Numbers and strings that ir.json cannot hold.
	if _, err := canon.Marshal(p.wire()); err != nil {
		fault("%v", err)
	}
	return errors.Join(faults...)
}

func (p *Policy) checkFiles(fault func(string, ...any)) {
	tmpSize, sizesTmp := p.Limit(TmpSize)
	for i, r := range p.Files {
		if i > 0 && p.Files[i-1].Path.Compare(r.Path) >= 0 {
			fault("file rules %s and %s are out of order or the same", p.Files[i-1].Path, r.Path)
		}
		if !plainText(r.Path.rel) {
			fault("path %q holds a control character or is not UTF-8", r.Path)
		}
		sized := r.Backing == TmpFS
		switch {
		case !slices.Contains([]Backing{HostFile, ProcFS, DevFS, TmpFS}, r.Backing):
			fault("%s has the unknown backing %q", r.Path, r.Backing)
		case sized != (r.Size > 0) || r.Size < 0:
			fault("%s: a tmpfs has a size, nothing else has", r.Path)
		case r.Level == Write && r.Path.IsRoot() && r.Path.root == Host:
			fault("write of / is too broad")
		case r.Optional && r.Level == Deny:
			fault("%s: a deny cannot be optional", r.Path)
		case r.Path.root == Tmp && (r.Backing != TmpFS || !r.Path.IsRoot()):
			fault("%s: the tmp slot is a tmpfs and nothing below it is named", r.Path)
		case r.Path.root == Tmp && sizesTmp && r.Size != tmpSize:
			fault("%s: %d bytes are not the limit tmp_size, %d", r.Path, r.Size, tmpSize)
		case r.Path.root == Config && (r.Level != Read || !r.Optional || !r.Path.IsRoot()):
			fault("%s: the config slot is an optional read", r.Path)
		}
	}
	for i, r := range p.Execute {
		if i > 0 && p.Execute[i-1].Path.Compare(r.Path) >= 0 {
			fault("execute rules %s and %s are out of order or the same", p.Execute[i-1].Path, r.Path)
		}
		if !plainText(r.Path.rel) {
			fault("path %q holds a control character or is not UTF-8", r.Path)
		}
	}
}

func plainText(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, unicode.IsControl) < 0
}

func (p *Policy) checkEndpoints(fault func(string, ...any)) {
	for i := range p.Endpoints {
		e := &p.Endpoints[i]
		if err := e.check(); err != nil {
			fault("endpoint %q: %v", e.Name, err)
		}
		if i > 0 && p.Endpoints[i-1].Name >= e.Name {
			fault("endpoints %q and %q are out of order or the same", p.Endpoints[i-1].Name, e.Name)
		}
	}
	for i, r := range p.DeniedHosts {
		if r.Host.Name == "" || r.Host.Addr.IsValid() {
			fault("the denied host %s is no name", r.Host)
		}
		if i > 0 && p.DeniedHosts[i-1].Host.String() >= r.Host.String() {
			fault("denied hosts %s and %s are out of order or the same", p.DeniedHosts[i-1].Host, r.Host)
		}
	}
	for _, pair := range p.Disagreements() {
		fault("endpoints %q and %q can be of one connection and differ in %s", pair.A.Name, pair.B.Name, pair.What)
	}
}

func (p *Policy) checkRest(fault func(string, ...any)) {
	for i, v := range p.Environment {
		if !variableForm.matches(v.Name) || strings.HasPrefix(v.Name, "LD_") || strings.HasPrefix(v.Name, "DYLD_") {
			fault("environment name %q is refused", v.Name)
		}
		if i > 0 && p.Environment[i-1].Name >= v.Name {
			fault("environment %q and %q are out of order or the same", p.Environment[i-1].Name, v.Name)
		}
		checkValue(fault, "environment "+v.Name, v.Value, func(string) bool { return false })
	}
	for i, l := range p.Limits {
		if !slices.Contains(Features(), Feature("limits."+string(l.Name))) || l.Value < 1 {
			fault("limit %s = %d is unknown or below 1", l.Name, l.Value)
		}
		if l.Scope != "" && (l.Scope != TreeScope || l.Name != Memory && l.Name != Processes) {
			fault("limit %s cannot ask for the scope %q", l.Name, l.Scope)
		}
		if i > 0 && p.Limits[i-1].Name >= l.Name {
			fault("limits %q and %q are out of order or the same", p.Limits[i-1].Name, l.Name)
		}
	}
	p.checkSyscalls(fault)
	for _, list := range [][]Name{p.System.Services, p.System.Sysctls, p.System.IPC, p.System.IOKit} {
		for i, n := range list {
			if n.Name == "" || !plainText(n.Name) || i > 0 && list[i-1].Name >= n.Name {
				fault("system name %q is empty, malformed, out of order or stated twice", n.Name)
			}
		}
	}
	for i, w := range p.Waivers {
		if w.Target != Bwrap && w.Target != Seatbelt || !slices.Contains(Features(), w.Feature) || strings.TrimSpace(w.Reason) == "" {
			fault("waiver of %q for %q is unknown or without a reason", w.Feature, w.Target)
		}
		if i > 0 && string(p.Waivers[i-1].Target)+" "+string(p.Waivers[i-1].Feature) >= string(w.Target)+" "+string(w.Feature) {
			fault("waivers are out of order or stated twice at %q", w.Feature)
		}
	}
	for i, c := range p.Commands {
		if i > 0 && p.Commands[i-1].Name >= c.Name {
			fault("commands %q and %q are out of order or the same", p.Commands[i-1].Name, c.Name)
		}
	}
}

// checkSyscalls holds the rules about system calls to what targets can keep: known
// calls, nothing denied that the command is started by, nothing allowed that keeps
// another promise.
func (p *Policy) checkSyscalls(fault func(string, ...any)) {
	for i, r := range p.Syscalls {
		use, used := syscalls.UseOf(r.Name)
		_, refused := syscalls.Refusing(r.Name)
		switch {
		case len(syscalls.On(r.Name)) == 0:
			fault("there is no system call %q", r.Name)
		case i > 0 && p.Syscalls[i-1].Name >= r.Name:
			fault("system calls %q and %q are out of order or the same", p.Syscalls[i-1].Name, r.Name)
		case r.Allow && refused && !syscalls.MayAllow(r.Name):
			fault("no policy may allow the system call %q", r.Name)
		case !r.Allow && (used && use.Always || syscalls.Unfiltered(r.Name)):
			fault("no policy may deny the system call %q", r.Name)
		}
	}
}

// checkValue holds a value to its normal form, and its fields to those known.
func checkValue(fault func(string, ...any), where string, v Value, known func(string) bool) {
	for i, part := range v {
		switch part := part.(type) {
		case Literal:
			if part == "" || strings.IndexByte(string(part), 0) >= 0 || !utf8.ValidString(string(part)) {
				fault("%s: a literal is empty, holds NUL or is not UTF-8", where)
			}
			if i > 0 {
				if _, ok := v[i-1].(Literal); ok {
					fault("%s: two literals in a row", where)
				}
			}
		case FieldRef:
			if !known(string(part)) {
				fault("%s: field %q is not declared here", where, string(part))
			}
		case SlotRef:
			if Root(part) == Config || Root(part) == Host {
				fault("%s: slot %s cannot stand in a value", where, Root(part))
			}
		}
	}
}

func (c Command) check(fault func(string, ...any)) {
	where := "command " + c.Name
	if !IsName(c.Name) {
		fault("command name %q is malformed", c.Name)
	}
	if c.SHA256 != "" && !digestForm.matches(c.SHA256) {
		fault("%s: sha256 %q is not 64 lower-case hex digits", where, c.SHA256)
	}
	used := map[string]bool{c.Rest: true}
	known := func(name string) bool {
		f, ok := c.Field(name)
		used[name] = true
		return ok && f.Form != RestForm
	}
	for _, a := range c.Arguments {
		checkValue(fault, where, a, known)
	}
	if f, ok := c.Field(c.Rest); c.Rest != "" && (!ok || f.Form != RestForm) {
		fault("%s: rest %q is no rest field", where, c.Rest)
	}
	if n := len(c.Arguments); c.Rest != "" && (n == 0 || c.Arguments[n-1].String() != "--") {
		fault("%s: rest does not follow a literal --", where)
	}
	for i, f := range c.Fields {
		if i > 0 && c.Fields[i-1].Name >= f.Name || !used[f.Name] || !fieldForm.matches(f.Name) {
			fault("%s: field %q is malformed, unused, out of order or stated twice", where, f.Name)
		}
		if !f.wellFormed() {
			fault("%s: field %q has an unknown form, or bounds that its form has not", where, f.Name)
		}
	}
	if c.Result == nil {
		return
	}
	for i, f := range c.Result.Fields {
		if i > 0 && c.Result.Fields[i-1].Name >= f.Name || !fieldForm.matches(f.Name) {
			fault("%s: result field %q is malformed, out of order or stated twice", where, f.Name)
		}
		if !f.wellFormed() {
			fault("%s: result field %q has an unknown kind, or bounds that its kind has not", where, f.Name)
		}
	}
}

// maxIdentifier bounds the bytes of an identifier, whatever a policy says.
const maxIdentifier = 4096

// wellFormed reports whether the field has the bounds of its form, none empty,
// and no others.
func (f Field) wellFormed() bool {
	switch f.Form {
	case IdentifierForm:
		return f.MaxBytes >= 1 && f.MaxBytes <= maxIdentifier && f.Min == 0 && f.Max == 0
	case IntegerForm:
		return f.Min <= f.Max && f.MaxBytes == 0
	case RestForm:
		return f.MaxBytes == 0 && f.Min == 0 && f.Max == 0
	}
	return false
}

// wellFormed reports whether the field has the bounds of its kind, none empty,
// and no others.
func (f ResultField) wellFormed() bool {
	plain := ResultField{Name: f.Name, Kind: f.Kind}
	switch f.Kind {
	case IntegerResult:
		plain.Min, plain.Max = f.Min, f.Max
		return f.Min <= f.Max && reflect.DeepEqual(f, plain)
	case IdentifierResult:
		plain.MaxBytes = f.MaxBytes
		return f.MaxBytes >= 1 && f.MaxBytes <= maxIdentifier && reflect.DeepEqual(f, plain)
	case EnumResult:
		plain.Values = f.Values
		return len(f.Values) > 0 && isSet(f.Values) && reflect.DeepEqual(f, plain)
	}
	return f.Kind == BooleanResult && reflect.DeepEqual(f, plain)
}

// isSet reports whether the list is sorted and holds nothing twice.
func isSet[T cmp.Ordered](list []T) bool {
	return slices.IsSorted(list) && len(slices.Compact(slices.Clone(list))) == len(list)
}
