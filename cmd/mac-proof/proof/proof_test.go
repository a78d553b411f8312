package proof

import (
	"bytes"
	"strings"
	"testing"
)

func sample() *Proof {
	return &Proof{
		Schema: Schema, MacOS: Machine{"15.5", "24F74", "arm64"}, Commit: "0123abc", Date: "2027-01-31",
		Policies: []Policy{{Name: "a", Profile: strings.Repeat("0", 64), Added: "program"}},
		Probes: []Probe{
			{Policy: "a", Request: "list /", Decide: "allow", Model: "allow", Control: "allow", Kernel: "allow"},
			{Policy: "a", Request: "read /x", Decide: "deny", Model: "deny", Control: "ENOENT", Why: "it fails outside as well"},
			{Policy: "a", Request: "write /<y>", Decide: "deny", Model: "deny", Control: "allow", Kernel: "deny", Errno: "EPERM"},
		},
	}
}

// TestRoundTrip: a record has one text, and only that is read.
func TestRoundTrip(t *testing.T) {
	p := sample()
	p.Probes[0], p.Probes[2] = p.Probes[2], p.Probes[0]
	p.Sort()
	text, err := p.Marshal()
	if err != nil || !strings.Contains(string(text), "write /<y>") || strings.Count(string(text), "\n") != 14 {
		t.Fatalf("Marshal() = %v\n%s", err, text)
	}
	again, err := Parse(text)
	if err != nil || len(again.Malformed()) > 0 || len(again.Probes) != 3 {
		t.Fatalf("Parse(Marshal()) = %+v, %v, %q", again, err, again.Malformed())
	}
	for _, other := range [][]byte{
		bytes.Replace(text, []byte("\n"), nil, 1),
		bytes.Replace(text, []byte(`"kernel"`), []byte(`"core"`), 1),
		bytes.Replace(text, []byte(Schema), []byte("obspc.mac-proof/v2"), 1),
		append(text, '\n'),
		nil,
	} {
		if _, err := Parse(other); err == nil {
			t.Errorf("Parse reads another text:\n%s", other)
		}
	}
}

// TestFaults: what a record must not say is found, each alone.
func TestFaults(t *testing.T) {
	for what, change := range map[string]func(*Proof){
		`macOS version "?" is malformed`:                                  func(p *Proof) { p.MacOS.Version = "?" },
		`macOS build "" is malformed`:                                     func(p *Proof) { p.MacOS.Build = "" },
		`no Mac has the architecture "riscv64"`:                           func(p *Proof) { p.MacOS.Arch = "riscv64" },
		`commit "main" is malformed`:                                      func(p *Proof) { p.Commit = "main" },
		`date "today" is malformed`:                                       func(p *Proof) { p.Date = "today" },
		`policy "a" has no digest of its profile`:                         func(p *Proof) { p.Policies[0].Profile = "" },
		`policy "a" was tried, or was not and says why`:                   func(p *Proof) { p.Policies[0].Added = "" },
		`policy "a" is out of order`:                                      func(p *Proof) { p.Policies = append(p.Policies, p.Policies[0]) },
		"a: list / is out of order":                                       func(p *Proof) { p.Probes[0], p.Probes[1] = p.Probes[1], p.Probes[0] },
		"a: read /x: it was tried, or was not and says why":               func(p *Proof) { p.Probes[1].Why = "" },
		"a: list /: an answer without its control":                        func(p *Proof) { p.Probes[0].Control = "" },
		`a: list /: the policy says ""`:                                   func(p *Proof) { p.Probes[0].Decide = "" },
		`a: list /: the model says "yes"`:                                 func(p *Proof) { p.Probes[0].Model = "yes" },
		`a: list /: the kernel says "yes"`:                                func(p *Proof) { p.Probes[0].Kernel = "yes" },
		"a: write /<y>: a refusal has an error, and nothing else has one": func(p *Proof) { p.Probes[2].Errno = "" },
		"b: list /: there is no such policy in the record": func(p *Proof) {
			p.Probes = append(p.Probes, Probe{"b", "list /", "allow", "allow", "allow", "allow", "", ""})
		},
		"no probe was tried": func(p *Proof) { p.Probes = p.Probes[1:2] },
	} {
		p := sample()
		change(p)
		if got := strings.Join(p.Malformed(), "; "); !strings.Contains(got, what) {
			t.Errorf("Malformed() = %q, want %q", got, what)
		}
	}
}

// TestEscapes: only what the kernel allowed can be one.
func TestEscapes(t *testing.T) {
	p := sample()
	if len(p.Escapes())+len(p.Tighter())+len(p.Rejected()) > 0 || p.Tried() != 2 {
		t.Errorf("a record without faults has escapes %v, tighter %v, rejected %v, %d tried", p.Escapes(), p.Tighter(), p.Rejected(), p.Tried())
	}
	p.Probes[0].Model = "deny"
	p.Probes[2].Model = "allow"
	p.Policies[0].Rejected = true
	if len(p.Escapes()) != 1 || len(p.Tighter()) != 1 || len(p.Rejected()) != 1 {
		t.Errorf("escapes %v, tighter %v, rejected %v, want one of each", p.Escapes(), p.Tighter(), p.Rejected())
	}
	p.Probes[0].Model, p.Probes[0].Decide = "undecided", "deny"
	if len(p.Escapes()) != 1 {
		t.Error("what the kernel allows and the policy denies is no escape")
	}
}
