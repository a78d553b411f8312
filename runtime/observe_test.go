package runtime

import "testing"

// TestEventRequest: an event is asked of policies in the words of requests; one that
// asks nothing, or is not canonical, is told apart.
func TestEventRequest(t *testing.T) {
	for _, tt := range []struct {
		event EgressEvent
		want  string // "": an error
	}{
		{EgressEvent{Kind: "connect", Host: "a.test", Port: 443}, "connect a.test:443"},
		{EgressEvent{Kind: "connect", Host: "a.test", Address: "10.0.0.1", Port: 443}, "connect a.test:443"},
		{EgressEvent{Kind: "connect", Address: "10.0.0.1", Port: 22, Program: "/usr/bin/ssh"}, "connect 10.0.0.1:22 by /usr/bin/ssh"},
		{EgressEvent{Kind: "connect", Address: "::ffff:10.0.0.1", Port: 22}, "connect 10.0.0.1:22"},
		{EgressEvent{Kind: "request", Host: "a.test", Port: 443, Method: "GET", Path: "/x%20y"}, "request GET https://a.test/x%20y"},
		{EgressEvent{Kind: "request", Host: "a.test", Port: 80, Method: "GET", Path: "/"}, "request GET http://a.test/"},
		{EgressEvent{Kind: "request", Host: "a.test", Port: 80}, "connect a.test:80"},
		{EgressEvent{Kind: "request", Method: "GET"}, ""},
		{EgressEvent{Kind: "connect", Host: "A.test", Port: 443}, ""},
		{EgressEvent{Kind: "connect", Host: "a.test"}, ""},
		{EgressEvent{Kind: "connect", Address: "nowhere", Port: 1}, ""},
		{EgressEvent{Kind: "connect", Host: "a.test", Port: 1, Program: "../x"}, ""},
		{EgressEvent{Kind: "request", Host: "a.test", Port: 80, Method: "GET", Path: "/a/../b"}, ""},
		{EgressEvent{Kind: "request", Host: "a.test", Port: 80, Method: "GET", Path: "/a?b"}, ""},
		{EgressEvent{Kind: "request", Host: "a.test", Port: 80, Method: "G T", Path: "/"}, ""},
		{EgressEvent{Kind: "request", Host: "a.test", Port: 80, Method: "m-search", Path: "/"}, "request m-search http://a.test/"},
		{EgressEvent{Kind: "sing", Host: "a.test", Port: 80}, ""},
	} {
		r, err := tt.event.Request()
		if got := r.String(); err == nil && got != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("%+v asks %q, %v, want %q", tt.event, got, err, tt.want)
		}
	}
}

// TestAsked: denials are counted, and what was allowed is none.
func TestAsked(t *testing.T) {
	denied := EgressEvent{Kind: "connect", Decision: "denied", Host: "a.test", Port: 443, Dimension: "host", Reason: "no"}
	allowed, address := denied, denied
	allowed.Decision = "allowed"
	address.Address, address.Dimension = "10.0.0.1", "address"
	list := (&EgressEvidence{Events: []EgressEvent{denied, allowed, denied, address, {Kind: "connect", Decision: "denied", Dimension: "limit"}}}).asked()
	if len(list) != 3 || list[0].Count != 2 || list[1].Address.String() != "10.0.0.1" || list[2].Request.Kind != "" {
		t.Errorf("%+v", list)
	}
}
