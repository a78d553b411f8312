package compiler

import (
	"testing"

	"github.com/obspc/obspc/lang"
)

// TestHosts are patterns that are accepted, and the form they have in the IR.
func TestHosts(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"api.example.com", "api.example.com"},
		{"API.Example.COM.", "api.example.com"},
		{"localhost", "localhost"},
		{"co.uk", "co.uk"}, // a name like any other, without a wildcard
		{"bücher.example", "xn--bcher-kva.example"},
		{"*.example.com", "*.example.com"},
		{"**.Example.com.", "**.example.com"},
		{"*.bücher.example", "*.xn--bcher-kva.example"},
		{"*.example.co.uk", "*.example.co.uk"},
		{"*.github.io", "*.github.io"}, // the private section is for lint
		{"**.s3.amazonaws.com", "**.s3.amazonaws.com"},
		{"**.www.ck", "**.www.ck"}, // an exception to *.ck
		{"1e100.net", "1e100.net"},
		{"r3---sn-abc.example.com", "r3---sn-abc.example.com"},
	} {
		got, fault := host(lang.String{Value: tt.text})
		if fault != nil || got.String() != tt.want {
			t.Errorf("host(%q) = %s, %v, want %s", tt.text, got, fault, tt.want)
		}
	}
}

func TestAddresses(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"10.2.0.7", "10.2.0.7"},
		{"2001:DB8:0::7", "2001:db8::7"},
		{"::ffff:10.2.0.7", "10.2.0.7"},
		{"::1", "::1"},
	} {
		got, fault := address(lang.String{Value: tt.text})
		if fault != nil || got.String() != tt.want {
			t.Errorf("address(%q) = %s, %v, want %s", tt.text, got, fault, tt.want)
		}
	}
	for _, text := range []string{"", "[::1]", "010.0.0.1", "10.0.0", "10.0.0.1.", "10.0.0.1:80", " 10.0.0.1", "fe80::1%1", "10.0.0.0/8", "example.com"} {
		if got, fault := address(lang.String{Value: text}); fault == nil {
			t.Errorf("address(%q) = %s, want address-malformed", text, got)
		}
	}
}
