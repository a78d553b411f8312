package replay_test

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"strings"
	"testing"

	"github.com/obspc/obspc/cmd/obspc/replay"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/runtime"
)

// policy has an endpoint of each kind.
func policy() *ir.Policy {
	rest := func(o ir.Origin, allow bool, path ir.PathPattern, methods ...string) ir.RequestRule {
		return ir.RequestRule{Allow: allow, Path: path, Methods: methods, Origin: o}
	}
	return &ir.Policy{
		Name: "p", Version: 1, Targets: []ir.Target{ir.Bwrap},
		DeniedHosts: []ir.HostRule{{Host: ir.HostPattern{Wildcard: ir.OneLabel, Name: "ads.test"}, Origin: "p/deny"}},
		Endpoints: []ir.Endpoint{
			{Name: "any", Host: ir.HostPattern{Name: "any.test"}, Ports: []uint16{443}, Protocol: ir.TCP, Origin: "p/any"},
			{Name: "inner", Host: ir.HostPattern{Name: "inner.test"}, Ports: []uint16{443}, Addresses: []netip.Prefix{netip.MustParsePrefix("10.2.0.0/16")}, Origin: "p/inner"},
			{Name: "rest", Host: ir.HostPattern{Name: "rest.test"}, Ports: []uint16{443}, Protocol: ir.REST, Origin: "p/rest", Requests: []ir.RequestRule{
				rest("p/rest.allow", true, "/a/**", "GET"), rest("p/rest.deny", false, "/a/secret"),
			}},
			{Name: "ten", Host: ir.HostPattern{Addr: netip.MustParseAddr("10.0.0.7")}, Ports: []uint16{80}, Origin: "p/ten"},
			{Name: "tool", Host: ir.HostPattern{Name: "tool.test"}, Ports: []uint16{443}, Executables: []ir.Path{ir.MustPath("${workspace}/tool")}, Protocol: ir.TLS, Origin: "p/tool"},
			{Name: "web", Host: ir.HostPattern{Name: "web.test"}, Ports: []uint16{443}, Origin: "p/web"},
		},
	}
}

func connect(decision, host, address string, port uint16, dimension string) runtime.EgressEvent {
	return runtime.EgressEvent{Kind: "connect", Decision: decision, Host: host, Address: address, Port: port, Dimension: dimension, Reason: "as it was", Statement: "p/old"}
}

func sent(decision, host string, method, path string) runtime.EgressEvent {
	e := connect(decision, host, "93.184.216.34", 443, "")
	e.Kind, e.Method, e.Path = "request", method, path
	return e
}

func by(e runtime.EgressEvent, program string) runtime.EgressEvent {
	e.Program = program
	return e
}

func evidence(events ...runtime.EgressEvent) *runtime.Evidence {
	return &runtime.Evidence{Schema: runtime.EvidenceSchema, Policy: "p", Binding: map[string]string{"workspace": "/w"}, Egress: &runtime.EgressEvidence{Events: events}}
}

// TestReplay has a row for each way in which an answer comes about.
func TestReplay(t *testing.T) {
	for _, tt := range []struct {
		name   string
		event  runtime.EgressEvent
		want   string
		failed string
		note   string
	}{
		{"allowed still", connect("allowed", "web.test", "93.184.216.34", 443, ""), "allow", "", ""},
		{"allowed, and not reached then", connect("failed", "web.test", "", 443, ""), "allow", "", "not resolved"},
		{"denied still", connect("denied", "other.test", "", 443, "host"), "deny", "host", ""},
		{"a host that is allowed now", connect("denied", "web.test", "", 443, "host"), "allow", "", "not resolved"},
		{"a host that is denied now", connect("allowed", "x.ads.test", "93.184.216.34", 443, ""), "deny", "denied-host", ""},
		{"another port", connect("allowed", "web.test", "93.184.216.34", 80, ""), "deny", "port", ""},
		{"an address, by itself", connect("allowed", "", "10.0.0.7", 80, ""), "allow", "", ""},
		{"another address", connect("allowed", "", "10.0.0.8", 80, ""), "deny", "host", ""},
		{"a name that led inside, opened", connect("denied", "inner.test", "10.2.0.1", 443, "address"), "allow", "", ""},
		{"a name that led inside, past what is opened", connect("allowed", "inner.test", "10.3.0.1", 443, ""), "deny", "address", ""},
		{"a name that led inside, not opened", connect("allowed", "web.test", "10.2.0.1", 443, ""), "deny", "address", ""},
		{"a name that led to metadata", connect("allowed", "inner.test", "169.254.169.254", 443, ""), "deny", "address", ""},
		{"a mapped address", connect("allowed", "inner.test", "::ffff:10.2.0.1", 443, ""), "allow", "", ""},
		{"other bytes, and any are let through", connect("denied", "any.test", "93.184.216.34", 443, "protocol"), "allow", "", ""},
		{"other bytes, and none are", connect("denied", "web.test", "93.184.216.34", 443, "protocol"), "deny", "protocol", ""},
		{"a request that is allowed", sent("denied", "rest.test", "GET", "/a/b"), "allow", "", ""},
		{"a method that is not", sent("allowed", "rest.test", "POST", "/a/b"), "deny", "method", ""},
		{"a path that is not", sent("allowed", "rest.test", "GET", "/b"), "deny", "path", ""},
		{"a path that is denied", sent("allowed", "rest.test", "GET", "/a/secret"), "deny", "path", ""},
		{"a request where nobody looks now", sent("allowed", "web.test", "PUT", "/x"), "allow", "", ""},
		{"a connection where requests are decided now", connect("allowed", "rest.test", "93.184.216.34", 443, ""), "unknown", "", "which ones this connection was for"},
		{"its program", by(connect("allowed", "tool.test", "93.184.216.34", 443, ""), "/w/tool"), "allow", "", ""},
		{"another program", by(connect("allowed", "tool.test", "93.184.216.34", 443, ""), "/w/other"), "deny", "program", ""},
		{"a program that was not asked for", connect("allowed", "tool.test", "93.184.216.34", 443, ""), "unknown", "program", "which one asked"},
		{"a program that could not be told", connect("denied", "tool.test", "", 443, "program"), "deny", "program", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := replay.Run("e.json", evidence(tt.event), policy())
			if err != nil || f.Recorded != 1 || f.Skipped != 0 {
				t.Fatalf("%+v, %v", f, err)
			}
			old := map[string]string{"denied": "deny"}[tt.event.Decision]
			if old == "" {
				old = "allow"
			}
			if old == tt.want {
				if f.Same != 1 || len(f.Changes) != 0 {
					t.Fatalf("%+v", f)
				}
				return
			}
			c := f.Changes[0]
			if c.New.Decision != tt.want || c.Old.Decision != old || c.New.Dimension != tt.failed || !strings.Contains(c.Note, tt.note) || (f.Unknown == 1) != (tt.want == "unknown") {
				t.Errorf("%+v, want %s, %q, a note with %q", c, tt.want, tt.failed, tt.note)
			}
		})
	}
}

// TestReplayRequests: a connection is as before where the run decided requests at that
// place, and what was no question to the policy is counted apart.
func TestReplayRequests(t *testing.T) {
	post := sent("allowed", "rest.test", "POST", "/a/b")
	f, err := replay.Run("e.json", evidence(
		connect("allowed", "rest.test", "93.184.216.34", 443, ""), sent("allowed", "rest.test", "GET", "/a/b"), post, post,
		connect("denied", "", "", 0, "limit"), runtime.EgressEvent{Kind: "request", Decision: "denied", Dimension: "request"},
	), policy())
	if err != nil || f.Recorded != 6 || f.Skipped != 2 || f.Same != 2 || f.Changed != 2 || len(f.Changes) != 1 || f.Changes[0].Count != 2 {
		t.Fatalf("%+v, %v", f, err)
	}
	r := &replay.Report{Files: []*replay.File{f}, Place: func(policy string, o ir.Origin) (string, int, bool) { return "p.policy.hcl", 7, o == "p/rest" }}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	want := "e.json: policy p: 2 of 6 recorded decisions as before, 2 changed, 0 unknown, 2 not the policy's\n" +
		"  allow → deny: request POST https://rest.test/a/b at 93.184.216.34, 2 times\n" +
		"    then as it was\n    now  the endpoint for rest.test:443 allows this path to other methods (p/rest), at p.policy.hcl:7\n"
	if text.String() != want {
		t.Errorf("%s\nwant\n%s", &text, want)
	}
	var out bytes.Buffer
	if err := r.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	var back struct {
		Schema  string
		Changed bool
		Files   []struct {
			Changes []struct {
				Query    map[string]string
				Count    int
				Old, New struct {
					Decision, Statement, Dimension, File string
					Line                                 int
				}
			}
		}
	}
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || back.Schema != replay.Schema || !back.Changed {
		t.Fatalf("%s, %v", &out, err)
	}
	if c := back.Files[0].Changes[0]; c.Query["kind"] != "request" || c.Query["value"] != "POST https://rest.test/a/b" || c.New.Dimension != "method" || c.New.Line != 7 || c.Old.Statement != "p/old" {
		t.Errorf("%+v", c)
	}
}

// TestReplayRefuses: what is no evidence of the policy is told apart. The twin is read.
func TestReplayRefuses(t *testing.T) {
	for _, tt := range []struct {
		says   string
		change func(*runtime.Evidence)
	}{
		{"", func(*runtime.Evidence) {}},
		{`of policy "q", not of "p"`, func(e *runtime.Evidence) { e.Policy = "q" }},
		{`"attic", which is no slot`, func(e *runtime.Evidence) { e.Binding = map[string]string{"attic": "/w"} }},
		{"no absolute path", func(e *runtime.Evidence) { e.Binding = map[string]string{"workspace": "w"} }},
		{"decision 1 is malformed", func(e *runtime.Evidence) { e.Egress.Events[0].Host = "WEB.test" }},
	} {
		e := evidence(connect("allowed", "web.test", "", 443, ""))
		tt.change(e)
		_, err := replay.Run("e.json", e, policy())
		if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%v, want %q", err, tt.says)
		}
	}
	if f, err := replay.Run("e.json", &runtime.Evidence{Policy: "p"}, policy()); err != nil || f.Recorded != 0 {
		t.Errorf("a run without a way out: %+v, %v", f, err)
	}
}

// FuzzReplay: evidence comes from outside. Whatever it is, it is an error or a report,
// whose counts add up, and whose requests can be asked again.
func FuzzReplay(f *testing.F) {
	f.Add(evidence(connect("allowed", "web.test", "93.184.216.34", 443, ""), sent("denied", "rest.test", "GET", "/a")).JSON())
	f.Add(evidence(by(connect("denied", "", "::ffff:10.0.0.7", 80, "program"), "/w/tool")).JSON())
	f.Add([]byte(`{"schema":"obspc.evidence/v1","policy":"p","binding":{"workspace":"/"},"egress":{"events":[{"kind":"request","decision":"denied","dimension":"limit"}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := runtime.ParseEvidence(data)
		if err != nil {
			return
		}
		file, err := replay.Run("e.json", e, policy())
		if err != nil {
			return
		}
		if file.Recorded != file.Same+file.Changed+file.Unknown+file.Skipped {
			t.Errorf("%+v", file)
		}
		for _, c := range file.Changes {
			q := c.Request
			q.HasBy = false
			if q.Kind == ir.URLRequest && !ir.IsMethod(q.Method) {
				continue
			}
			again, err := ir.ParseRequest(strings.Fields(q.String()))
			if err != nil || again.String() != q.String() {
				t.Errorf("%s is asked again as %s, %v", q, again, err)
			}
		}
		r := &replay.Report{Files: []*replay.File{file}, Place: func(string, ir.Origin) (string, int, bool) { return "", 0, false }}
		if err := r.WriteText(new(bytes.Buffer)); err != nil {
			t.Error(err)
		}
		if err := r.WriteJSON(new(bytes.Buffer)); err != nil {
			t.Error(err)
		}
	})
}
