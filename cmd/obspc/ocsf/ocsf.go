// Package ocsf writes what evidence tells of a run's way out as events of the Open
// Cybersecurity Schema Framework, one JSON object a line: connections as Network
// Activity (class 4001), requests that the proxy saw as HTTP Activity (4002).
//
// Its one rule: an event says what evidence says and nothing else. No header, query,
// body or credential is in evidence, so none is here; what evidence does not know (how
// a server answered, the sandbox's own address) is left out, not guessed.
//
// The version is 1.4.0, the first in which HTTP Activity may have a request without its
// response (ocsf-schema, pull request 1274). What is required of an event, with the
// source of each attribute, is schema.json, which every line is held to.
package ocsf

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/runtime"
	"github.com/obspc/obspc/runtime/proxy"
)

// Version of the schema.
const Version = "1.4.0"

// Classes, in the category 4, Network Activity.
const (
	categoryNetwork = 4
	networkActivity = 4001
	httpActivity    = 4002
)

type (
	event struct {
		ActivityID    int       `json:"activity_id"`
		ActivityName  string    `json:"activity_name"`
		CategoryUID   int       `json:"category_uid"`
		CategoryName  string    `json:"category_name"`
		ClassUID      int       `json:"class_uid"`
		ClassName     string    `json:"class_name"`
		TypeUID       int       `json:"type_uid"`
		Time          int64     `json:"time"` // milliseconds since 1970
		SeverityID    int       `json:"severity_id"`
		Severity      string    `json:"severity"`
		StatusID      int       `json:"status_id"`
		Status        string    `json:"status"`
		StatusCode    string    `json:"status_code,omitempty"`
		StatusDetail  string    `json:"status_detail,omitempty"`
		ActionID      int       `json:"action_id"`
		Action        string    `json:"action"`
		DispositionID int       `json:"disposition_id"`
		Disposition   string    `json:"disposition"`
		Metadata      metadata  `json:"metadata"`
		Policy        *named    `json:"policy,omitempty"`
		Rule          *named    `json:"firewall_rule,omitempty"`
		Actor         *actor    `json:"actor,omitempty"`
		Source        endpoint  `json:"src_endpoint"`
		Destination   *endpoint `json:"dst_endpoint,omitempty"`
		Connection    struct {
			DirectionID int    `json:"direction_id"`
			Direction   string `json:"direction"`
			ProtocolNum int    `json:"protocol_num"`
			Protocol    string `json:"protocol_name"`
		} `json:"connection_info"`
		Traffic *traffic     `json:"traffic,omitempty"`
		Request *httpRequest `json:"http_request,omitempty"`
	}
	metadata struct {
		Version     string   `json:"version"`
		Profiles    []string `json:"profiles"`
		Product     product  `json:"product"`
		LogName     string   `json:"log_name"`
		Correlation string   `json:"correlation_uid"` // SHA-256 of the evidence
		Sequence    int      `json:"sequence"`
	}
	product struct {
		Name    string `json:"name"`
		Vendor  string `json:"vendor_name"`
		Version string `json:"version,omitempty"`
	}
	named struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	}
	actor struct { // no process: of that a number would be required, which evidence has not
		Application string `json:"app_name"`
		Identity    string `json:"app_uid,omitempty"`
	}
	endpoint struct {
		Name     string `json:"name,omitempty"`
		Hostname string `json:"hostname,omitempty"`
		IP       string `json:"ip,omitempty"`
		Port     uint16 `json:"port,omitempty"`
	}
	traffic struct {
		Bytes int64 `json:"bytes"`
		In    int64 `json:"bytes_in"`
		Out   int64 `json:"bytes_out"`
	}
	httpRequest struct {
		Method string `json:"http_method,omitempty"`
		URL    *url   `json:"url,omitempty"`
	}
	url struct {
		Hostname string `json:"hostname,omitempty"`
		Port     uint16 `json:"port"`
		Path     string `json:"path"`
	}
)

// decision is what a decision of the proxy becomes. Activity is that of a connection.
type decision struct {
	activityID    int
	activity      string
	severityID    int
	severity      string
	statusID      int
	status        string
	actionID      int
	action        string
	dispositionID int
	disposition   string
}

// decisions: an event is told when a connection is over, with what went over it, so one
// that was allowed is a report of its traffic.
var decisions = map[string]decision{
	proxy.Allowed: {6, "Traffic", 1, "Informational", 1, "Success", 1, "Allowed", 1, "Allowed"},
	proxy.Failed:  {4, "Fail", 1, "Informational", 2, "Failure", 1, "Allowed", 1, "Allowed"},
	proxy.Denied:  {5, "Refuse", 2, "Low", 2, "Failure", 2, "Denied", 2, "Blocked"},
}

// methods are those that the class has an activity for; the others are Other.
var methods = map[string]struct {
	id   int
	name string
}{
	"CONNECT": {1, "Connect"}, "DELETE": {2, "Delete"}, "GET": {3, "Get"}, "HEAD": {4, "Head"},
	"OPTIONS": {5, "Options"}, "POST": {6, "Post"}, "PUT": {7, "Put"}, "TRACE": {8, "Trace"},
}

const other = 99

// Lines are the decisions of a run, in their order. Digest is the SHA-256 of the
// evidence, which the events are told to belong to. The error is about a decision that
// is malformed.
func Lines(e *runtime.Evidence, digest string) ([]byte, error) {
	var b bytes.Buffer
	if e.Egress == nil {
		return nil, nil
	}
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for i := range e.Egress.Events {
		line, err := of(e, &e.Egress.Events[i])
		if err != nil {
			return nil, fmt.Errorf("decision %d: %w", i+1, err)
		}
		line.Metadata = metadata{
			Version: Version, Profiles: []string{"security_control"}, LogName: runtime.EvidenceSchema, Correlation: digest, Sequence: i + 1,
			Product: product{Name: "obspc", Vendor: "obspc", Version: e.Host.Obsrun},
		}
		if line.Actor != nil {
			line.Metadata.Profiles = []string{"host", "security_control"}
		}
		if err := enc.Encode(line); err != nil {
			diag.Bug("an event holds what JSON cannot: %v", err)
		}
	}
	return b.Bytes(), nil
}

// of is one decision as an event.
func of(e *runtime.Evidence, d *runtime.EgressEvent) (*event, error) {
	is, ok := decisions[d.Decision]
	if !ok {
		return nil, fmt.Errorf("%q is no decision", d.Decision)
	}
	at, err := time.Parse(time.RFC3339, d.Time)
	if err != nil {
		return nil, fmt.Errorf("%q is no time", d.Time)
	}
	out := &event{
		ActivityID: is.activityID, ActivityName: is.activity, CategoryUID: categoryNetwork, CategoryName: "Network Activity",
		ClassUID: networkActivity, ClassName: "Network Activity", Time: at.UnixMilli(), SeverityID: is.severityID, Severity: is.severity,
		StatusID: is.statusID, Status: is.status, StatusCode: d.Dimension, StatusDetail: d.Reason,
		ActionID: is.actionID, Action: is.action, DispositionID: is.dispositionID, Disposition: is.disposition,
		Source: endpoint{Name: "sandbox"},
	}
	c := &out.Connection
	c.DirectionID, c.Direction, c.ProtocolNum, c.Protocol = 2, "Outbound", 6, "tcp" // IANA protocol numbers
	if e.Policy != "" {
		out.Policy = &named{Name: e.Policy, Version: fmt.Sprint(e.Version)}
	}
	if d.Statement != "" {
		out.Rule = &named{Name: d.Statement}
	}
	if d.Decision != proxy.Denied {
		out.Traffic = &traffic{Bytes: d.Sent + d.Received, In: d.Received, Out: d.Sent}
	}
	// What was no request names nothing that could be told.
	asked, err := d.Request()
	if err == nil {
		out.target(d, asked)
	} else if d.Decision != proxy.Denied {
		return nil, err
	}
	out.TypeUID = out.ClassUID*100 + out.ActivityID
	return out, nil
}

// target tells who asked for what.
func (out *event) target(d *runtime.EgressEvent, r ir.Request) {
	out.Destination = &endpoint{Hostname: r.Host, IP: d.Address, Port: r.Port}
	if r.HasBy {
		out.Actor = &actor{Application: r.By.String()}
		if d.ProgramSHA256 != "" {
			out.Actor.Identity = "sha256:" + d.ProgramSHA256
		}
	}
	if r.Kind != ir.URLRequest {
		return
	}
	out.ClassUID, out.ClassName = httpActivity, "HTTP Activity"
	out.ActivityID, out.ActivityName = other, r.Method
	out.Request = &httpRequest{URL: &url{Hostname: r.Host, Port: r.Port, Path: r.Target}}
	if m, ok := methods[r.Method]; ok {
		out.ActivityID, out.ActivityName, out.Request.Method = m.id, m.name, r.Method
	}
	if r.Addr.IsValid() {
		out.Request.URL.Hostname = r.Addr.String()
	}
}
