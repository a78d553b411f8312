package ir

import (
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/syscalls"
)

// calling is a policy that speaks of the calls: those that begin with "+" are allowed.
func calling(names ...string) *Policy {
	p := &Policy{Name: "p", Version: 1, Targets: []Target{Bwrap}, Unix: UnixRule{Origin: "builtin/unix"}}
	for _, n := range names {
		name, allow := strings.CutPrefix(n, "+")
		p.Syscalls = append(p.Syscalls, SyscallRule{Name: name, Allow: allow, Origin: Origin("p/" + name)})
	}
	return p
}

func TestSyscallsAreDecided(t *testing.T) {
	p := calling("chmod", "mkdir", "+ptrace")
	for _, tt := range []struct {
		name   string
		allow  bool
		reason Reason
		rule   string
	}{
		{"mkdir", false, ByStatement, "deny syscall mkdir"},
		{"mkdirat", true, NotListed, ""},
		{"ptrace", true, ByStatement, "allow syscall ptrace"},
		{"bpf", false, ByList, "deny syscall bpf"},
		{"chmod", false, ByStatement, "deny syscall chmod"},
		{"fchmod", true, InPart, "deny syscall fchmod (with the set-user-ID bit in the mode)"},
	} {
		d, rule := ask(t, p, "syscall", tt.name), ""
		if d.Rule != nil {
			rule = d.Rule.String()
		}
		if d.Allow != tt.allow || d.Reason != tt.reason || rule != tt.rule || d.Depends != 0 {
			t.Errorf("Decide(syscall %s) = %v by %q (%s), want %v by %q (%s)", tt.name, d.Allow, rule, d.Reason, tt.allow, tt.rule, tt.reason)
		}
	}
	if _, err := ParseRequest([]string{"syscall", "mkdr"}); err == nil {
		t.Error("ParseRequest takes a system call that nobody has")
	}
}

// TestEverySyscallIsDecided: of all calls that an architecture has, those on the list
// are refused, whole, and nothing else is, unless the policy says so.
func TestEverySyscallIsDecided(t *testing.T) {
	plain := NewDecider(calling())
	for _, name := range syscalls.Names() {
		r, refused := syscalls.Refusing(name)
		whole := refused && r.Part == syscalls.All
		q := Request{Kind: SyscallRequest, Syscall: name}
		if got := plain.Decide(q).Allow; got == whole {
			t.Errorf("Decide(%s) = %v", q, got)
		}
		for _, word := range []string{"", "+"} {
			p := calling(word + name)
			if err := p.Check(); err == nil && Decide(p, q).Allow != (word == "+") {
				t.Errorf("Decide(%s) of %q = %v", q, word+name, Decide(p, q).Allow)
			}
		}
	}
}

func TestSyscallsAreChecked(t *testing.T) {
	for _, tt := range []struct {
		calls []string
		want  string // part of the error; "" is well formed
	}{
		{[]string{"+bpf", "kill", "mkdir", "mount"}, ""},
		{[]string{"mkdir", "kill"}, "out of order or the same"},
		{[]string{"kill", "+kill"}, "out of order or the same"},
		{[]string{"mkdr"}, `no system call "mkdr"`},
		{[]string{"+mount"}, `may allow the system call "mount"`},
		{[]string{"+chmod"}, `may allow the system call "chmod"`},
		{[]string{"execveat"}, `may deny the system call "execveat"`},
		{[]string{"uprobe"}, `may deny the system call "uprobe"`},
	} {
		err := calling(tt.calls...).Check()
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("Check of %q = %v, want %q", tt.calls, err, tt.want)
		}
	}
	p := calling("+bpf", "kill")
	back, err := ParseJSON(p.JSON())
	if err != nil || len(back.Syscalls) != 2 || back.Syscalls[0] != p.Syscalls[0] || back.Syscalls[1] != p.Syscalls[1] {
		t.Errorf("ParseJSON(JSON()) = %+v, %v", back, err)
	}
	odd := strings.Replace(string(p.JSON()), `"answer":"deny"`, `"answer":"refuse"`, 1)
	if _, err := ParseJSON([]byte(odd)); err == nil || !strings.Contains(err.Error(), "not allow or deny") {
		t.Errorf("ParseJSON of another answer = %v", err)
	}
}
