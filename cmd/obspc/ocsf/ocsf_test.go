package ocsf_test

import (
	_ "embed"
	"encoding/json"
	"strings"
	"testing"

	"github.com/xeipuuv/gojsonschema"

	"github.com/obspc/obspc/cmd/obspc/ocsf"
	"github.com/obspc/obspc/runtime"
)

//go:embed schema.json
var schemaText string

var digest = strings.Repeat("0a", 32)

func run(events ...runtime.EgressEvent) *runtime.Evidence {
	return &runtime.Evidence{Policy: "p", Version: 3, Host: runtime.HostEvidence{Obsrun: "1.2.3"}, Egress: &runtime.EgressEvidence{Events: events}}
}

func event(kind, decision string, change func(*runtime.EgressEvent)) runtime.EgressEvent {
	e := runtime.EgressEvent{
		Time: "2026-01-02T03:04:05.678Z", Kind: kind, Decision: decision, Host: "api.test", Address: "93.184.216.34", Port: 443, Sent: 10, Received: 20,
		Statement: "p/network.endpoint.api", Reason: "as it is",
	}
	if kind == "request" {
		e.Method, e.Path = "GET", "/a%20b"
	}
	if change != nil {
		change(&e)
	}
	return e
}

// TestLines: each kind of decision is a line that the schema takes, of the class and
// with the values that it is to have.
func TestLines(t *testing.T) {
	schema, err := gojsonschema.NewSchema(gojsonschema.NewStringLoader(schemaText))
	if err != nil {
		t.Fatal(err)
	}
	program := func(e *runtime.EgressEvent) {
		e.Program, e.ProgramSHA256 = "/usr/bin/curl", strings.Repeat("1b", 32)
	}
	for _, tt := range []struct {
		name  string
		event runtime.EgressEvent
		want  string // class, activity, type, status, action, disposition, severity
		holds string
	}{
		{"a connection", event("connect", "allowed", nil), "4001 6 400106 1 1 1 1", `"dst_endpoint":{"hostname":"api.test","ip":"93.184.216.34","port":443}`},
		{"its traffic", event("connect", "allowed", nil), "4001 6 400106 1 1 1 1", `"traffic":{"bytes":30,"bytes_in":20,"bytes_out":10}`},
		{"its time", event("connect", "allowed", nil), "4001 6 400106 1 1 1 1", `"time":1767323045678`},
		{"a program", event("connect", "allowed", program), "4001 6 400106 1 1 1 1", `"actor":{"app_name":"/usr/bin/curl","app_uid":"sha256:1b1b`},
		{"a failure", event("connect", "failed", nil), "4001 4 400104 2 1 1 1", `"status_detail":"as it is"`},
		{"a denial", event("connect", "denied", func(e *runtime.EgressEvent) { e.Address, e.Dimension = "", "host" }), "4001 5 400105 2 2 2 2", `"status_code":"host"`},
		{"an address", event("connect", "denied", func(e *runtime.EgressEvent) { e.Host = "" }), "4001 5 400105 2 2 2 2", `"dst_endpoint":{"ip":"93.184.216.34","port":443}`},
		{"a request", event("request", "allowed", nil), "4002 3 400203 1 1 1 1", `"http_request":{"http_method":"GET","url":{"hostname":"api.test","port":443,"path":"/a%20b"}}`},
		{"a denied request", event("request", "denied", func(e *runtime.EgressEvent) { e.Method = "DELETE" }), "4002 2 400202 2 2 2 2", `"firewall_rule":{"name":"p/network.endpoint.api"}`},
		{"a method that the class has not", event("request", "allowed", func(e *runtime.EgressEvent) { e.Method = "PATCH" }), "4002 99 400299 1 1 1 1", `"activity_name":"PATCH"`},
		{"no request at all", event("request", "denied", func(e *runtime.EgressEvent) {
			*e = runtime.EgressEvent{Time: e.Time, Kind: e.Kind, Decision: e.Decision, Dimension: "request"}
		}), "4001 5 400105 2 2 2 2", `"src_endpoint":{"name":"sandbox"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text, err := ocsf.Lines(run(tt.event, tt.event), digest)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
			if len(lines) != 2 {
				t.Fatalf("%d lines of two events", len(lines))
			}
			for _, line := range lines {
				result, err := schema.Validate(gojsonschema.NewStringLoader(line))
				if err != nil || !result.Valid() {
					t.Fatalf("%v %v\n%s", err, result.Errors(), line)
				}
			}
			var e struct {
				Class    json.Number `json:"class_uid"`
				Activity json.Number `json:"activity_id"`
				Type     json.Number `json:"type_uid"`
				Status   json.Number `json:"status_id"`
				Action   json.Number `json:"action_id"`
				Disposed json.Number `json:"disposition_id"`
				Severity json.Number `json:"severity_id"`
			}
			if err := json.Unmarshal([]byte(lines[0]), &e); err != nil {
				t.Fatal(err)
			}
			got := strings.Join([]string{e.Class.String(), e.Activity.String(), e.Type.String(), e.Status.String(), e.Action.String(), e.Disposed.String(), e.Severity.String()}, " ")
			if got != tt.want || !strings.Contains(lines[0], tt.holds) {
				t.Errorf("%s, want %s and %s\n%s", got, tt.want, tt.holds, lines[0])
			}
		})
	}
}

// TestSchemaRefuses: the schema that lines are held to refuses an event with something
// required missing, with a query or a header, and each has a twin that it takes.
func TestSchemaRefuses(t *testing.T) {
	schema, err := gojsonschema.NewSchema(gojsonschema.NewStringLoader(schemaText))
	if err != nil {
		t.Fatal(err)
	}
	text, err := ocsf.Lines(run(event("request", "allowed", nil)), digest)
	if err != nil {
		t.Fatal(err)
	}
	line := strings.TrimSpace(string(text))
	for _, change := range [][2]string{
		{"", ""},
		{`"time":`, `"when":`}, {`"type_uid":400203`, `"type_uid":400103`}, {`"class_uid":4002`, `"class_uid":4001`}, {`"version":"1.4.0"`, `"version":"1.1.0"`},
		{`"path":"/a%20b"`, `"path":"/a%20b?token=1"`}, {`"http_method":"GET"`, `"http_headers":[{"name":"Authorization","value":"x"}]`},
		{`"http_request":`, `"http_response":`}, {`"severity_id":1`, `"severity_id":7`}, {`"direction_id":2`, `"direction_id":9`}, {`"vendor_name":`, `"vendor":`},
	} {
		changed := strings.Replace(line, change[0], change[1], 1)
		result, err := schema.Validate(gojsonschema.NewStringLoader(changed))
		if err != nil {
			t.Fatal(err)
		}
		if result.Valid() != (change[0] == "") || changed == line && change[0] != "" {
			t.Errorf("%q to %q: valid is %t", change[0], change[1], result.Valid())
		}
	}
}

// TestLinesRefuse: evidence that was not written by a run is an error, not an event.
func TestLinesRefuse(t *testing.T) {
	for _, tt := range []struct {
		says   string
		change func(*runtime.EgressEvent)
	}{
		{"", nil},
		{"no decision", func(e *runtime.EgressEvent) { e.Decision = "perhaps" }},
		{"no time", func(e *runtime.EgressEvent) { e.Time = "yesterday" }},
		{"no canonical path", func(e *runtime.EgressEvent) { e.Path = "/a?token=1" }},
		{"no canonical host", func(e *runtime.EgressEvent) { e.Host = "user@api.test" }},
		{"no kind", func(e *runtime.EgressEvent) { e.Kind = "dance" }},
	} {
		_, err := ocsf.Lines(run(event("request", "allowed", tt.change)), digest)
		if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%v, want %q", err, tt.says)
		}
	}
	if text, err := ocsf.Lines(&runtime.Evidence{}, digest); err != nil || len(text) > 0 {
		t.Errorf("a run without a way out: %q, %v", text, err)
	}
}
