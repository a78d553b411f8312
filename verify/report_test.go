package verify

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/obspc/obspc/verify/release"
)

func TestReportOfAVerifiedRelease(t *testing.T) {
	files := sample(t)
	_, report := Open(Memory(files), trusting(t, files))
	want := "release payments serial 12, SHA256SUMS " + string(digestOf(files)) + `
structure          passed
checksums          passed
pins               passed
serial-and-expiry  passed
artifacts          passed
verified: pins
`
	if got := report.String(); got != want {
		t.Errorf("report:\n%s\nwant:\n%s", got, want)
	}
}

func TestReportOfATamperedRelease(t *testing.T) {
	files := sample(t)
	trust := trusting(t, files)
	at(files, release.SumsName).Data = append(at(files, release.SumsName).Data, "x\n"...)
	_, report := Open(Memory(files), trust)
	for _, want := range []string{
		"checksums          failed\n  SHA256SUMS: malformed: line ",
		"pins               failed\n  SHA256SUMS: untrusted: the pins do not accept this release: wanted SHA-256 " + string(trust.Pins.Sums[0]) + ", found " + report.Digest,
		"artifacts          not reached\n",
		"\nunverified: checksums, pins failed\n",
	} {
		if !strings.Contains(report.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, report)
		}
	}
}

func TestReportJSON(t *testing.T) {
	files := sample(t)
	trust := trusting(t, files)
	at(files, "web/bwrap.json").Data[0]++
	_, report := Open(Dir(written(t, append(files, release.File{Name: "\x1b[31m"}))), trust)
	var got struct {
		Schema   string
		Verified bool
		Product  string
		Serial   int64
		Anchors  []string
		Checks   []struct {
			Check, Outcome string
			Failures       []struct{ File, Reason, Wanted, Found, Message string }
		}
	}
	if err := json.Unmarshal(report.JSON(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Schema != "obspc.verify/v1" || got.Verified || got.Product != "payments" || got.Serial != 12 || got.Anchors == nil || len(got.Checks) != len(pipeline) {
		t.Errorf("json = %+v", got)
	}
	f := got.Checks[1].Failures[0]
	if f.File != "web/bwrap.json" || f.Reason != "tampered" || !strings.HasPrefix(f.Wanted, "SHA-256 ") || len(f.Found) != 64 {
		t.Errorf("failure = %+v", f)
	}
	if name := got.Checks[0].Failures[0].File; name != `"\x1b[31m"` {
		t.Errorf("an odd name is shown as %s", name)
	}
}

func TestExitCodes(t *testing.T) {
	files := sample(t)
	trust := trusting(t, files)
	at(files, release.ManifestName).Data = replaced(at(files, release.ManifestName).Data, `"format":1`, `"format":2`)
	_, report := Open(Memory(files), trust)
	if report.ExitCode() != exitMachine {
		t.Errorf("exit code for another format is %d:\n%s", report.ExitCode(), report)
	}
	if !strings.Contains(report.String(), "wanted format 1, found format 2") {
		t.Errorf("the report does not name both formats:\n%s", report)
	}
	_, report = Open(Memory(sample(t)), Trust{Now: now})
	if report.ExitCode() != exitNo {
		t.Errorf("exit code without an anchor is %d", report.ExitCode())
	}
}

func TestManyFailuresAreCounted(t *testing.T) {
	files := sample(t)
	for i := range 3 * maxFailures {
		files = append(files, release.File{Name: "extra-" + strings.Repeat("x", i%50) + string(rune('a'+i/50))})
	}
	_, report := Open(Memory(files), trusting(t, sample(t)))
	if c := report.Checks[0]; len(c.Failures) != maxFailures || c.More != 2*maxFailures {
		t.Errorf("%d failures and %d more", len(c.Failures), c.More)
	}
}

func TestAnchors(t *testing.T) {
	files := sample(t)
	trust := Trust{Now: now}
	v, report := Open(Memory(files), trust)
	if v != nil || report.Verdict() != nothingAskedFor || len(report.Anchors) != 0 {
		t.Errorf("without an anchor:\n%s", report)
	}
	// A check that does not vouch is no anchor.
	if v, report = Open(Memory(files), trust, stub{name: Golden}); v != nil || !report.Unanchored {
		t.Errorf("with golden files alone:\n%s", report)
	}
	v = wantVerified(t, Memory(files), trust, stub{name: Rules}, stub{name: Golden}, stub{name: Recompilation, vouches: true})
	if got := strings.Join(v.Anchors(), ", "); got != "source, golden, rules" {
		t.Errorf("Anchors = %s", got)
	}
	trust = trusting(t, files)
	v = wantVerified(t, Memory(files), trust, stub{name: Signature, vouches: true}, stub{name: "house"})
	if got := strings.Join(v.Anchors(), ", "); got != "pins, signature, house" {
		t.Errorf("Anchors = %s", got)
	}
	f := wantRefused(t, Memory(files), trust, Rules, "web", Untrusted, stub{name: Rules, failures: []Failure{{File: "web", Reason: Untrusted, Message: "no"}}})
	if f.String() != "web: untrusted: no" {
		t.Errorf("the failure says %q", f)
	}
}

// A product that was given a name is meant to leave this machine: without pins
// that say otherwise it must expire.
func TestExpiryWithoutPins(t *testing.T) {
	source := stub{name: Recompilation, vouches: true}
	in := input(t)
	in.Expires = time.Time{}
	wantRefused(t, Memory(build(t, in)), Trust{Now: now}, SerialAndExpiry, release.ManifestName, Stale, source)
	in.Product, in.Serial = "", 0
	wantVerified(t, Memory(build(t, in)), Trust{Now: now}, source)
}

// stub is a check that a program adds.
type stub struct {
	name     string
	vouches  bool
	failures []Failure
}

func (s stub) Name() string  { return s.name }
func (s stub) Anchors() bool { return s.vouches }
func (s stub) Run(subject *Subject) ([]Failure, []string) {
	if subject.Manifest() == nil || subject.Sums() == nil || subject.IR("web") == nil {
		return []Failure{{Reason: Unreadable, Message: "the subject is empty"}}, nil
	}
	return s.failures, nil
}

func TestOpenNeedsATime(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("Open without a time does not panic")
		}
	}()
	Open(Memory(nil), Trust{})
}

// Whatever a caller does with what a Verified hands out, it stays as it is.
func TestVerifiedDoesNotChange(t *testing.T) {
	files := sample(t)
	v := wantVerified(t, Memory(files), trusting(t, files))
	for i := range files {
		for j := range files[i].Data {
			files[i].Data[j] = 'x'
		}
	}
	want := sample(t)
	data, _ := v.File("web/ir.json")
	data[0]++
	v.Manifest().Artifacts[0].Name = "evil"
	v.Policies()[0] = "evil"
	v.Anchors()[0] = "evil"
	v.IR("web").Files[0].Path = v.IR("web").Files[1].Path
	if again, _ := v.File("web/ir.json"); string(again) != string(at(want, "web/ir.json").Data) {
		t.Error("File hands out its own bytes")
	}
	if v.Manifest().Artifacts[0].Name == "evil" || v.Policies()[0] == "evil" || v.Anchors()[0] == "evil" {
		t.Error("a list is shared")
	}
	if string(v.IR("web").JSON()) != string(at(want, "web/ir.json").Data) {
		t.Error("IR hands out its own policy")
	}
	if v.Digest() != string(digestOf(want)) || v.IR("none") != nil {
		t.Errorf("Digest = %s, IR(none) = %v", v.Digest(), v.IR("none"))
	}
}

// Text from a file never steers a terminal, and a failure stays on one line.
func TestFailureIsPlain(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"a\nb\n", "a; b"},
		{"\x1b[31mred", `\x1b[31mred`},
		{"\u202egpj", `\u202egpj`},
		{"a\xffb", `a\ufffdb`},
		{"größe …", "größe …"},
	} {
		if got := plain(tt.in); got != tt.want {
			t.Errorf("plain(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

// Inspect tells what a release is, expired or not, and never makes a Verified.
func TestInspect(t *testing.T) {
	in := input(t)
	in.Expires = time.Time{}
	files := build(t, in)
	m, report := Inspect(Memory(files))
	if m == nil || m.Serial != 12 || report.Digest != string(digestOf(files)) || report.Verified() || report.ExitCode() != exitNo {
		t.Errorf("Inspect = %+v\n%s", m, report)
	}
	at(files, "web/bwrap.json").Data[0]++
	if m, report = Inspect(Memory(files)); m != nil || report.Checks[1].Outcome != Failed {
		t.Errorf("Inspect of a changed release = %+v\n%s", m, report)
	}
}
