package model_test

import (
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/seatbelt/model"
	"github.com/obspc/obspc/targets/seatbelt/operations"
	"github.com/obspc/obspc/targets/seatbelt/sbpl"
)

// others is a profile that obspc did not write.
const others = `(version 1)
(deny default)
(allow file-read* (subpath "/usr"))
(allow file-read-metadata (vnode-type DIRECTORY))
(allow file-write* (subpath "/private/tmp"))
(deny file-write-mode (subpath "/private/tmp/fixed"))
(allow process-exec (subpath "/usr/bin"))
(allow network-outbound (remote tcp "localhost:8080"))
(allow system-socket (socket-domain AF_INET))`

// TestOtherProfiles asks the words of policies of a profile by someone else.
func TestOtherProfiles(t *testing.T) {
	m, err := model.Read("o.sb", []byte(others), ir.Binding{}, operations.Ventura)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		request   []string
		allow, ok bool
	}{
		{[]string{"read", "/usr/lib/x"}, true, true},
		{[]string{"list", "/usr/lib"}, true, true},
		{[]string{"stat", "/usr/lib"}, true, true},
		{[]string{"stat", "/opt"}, false, false},
		{[]string{"write", "/tmp/x"}, true, true},
		{[]string{"write", "/tmp/fixed/x"}, false, true},
		{[]string{"create", "/tmp/fixed/x"}, true, true},
		{[]string{"rename", "/tmp/a", "/tmp/b"}, true, true},
		{[]string{"rename", "/tmp/a", "/usr/b"}, false, true},
		{[]string{"link", "/usr/a", "/tmp/b"}, true, true}, // version 1 allows file-link
		{[]string{"execute", "/usr/bin/env"}, true, true},
		{[]string{"execute", "/usr/sbin/x"}, false, true},
		{[]string{"connect", "localhost:8080"}, true, true},
		{[]string{"connect", "127.0.0.1:8080"}, true, true},
		{[]string{"connect", "[::1]:8080"}, false, true}, // no AF_INET6 socket
		{[]string{"connect", "example.com:8080"}, false, true},
		{[]string{"connect-unix", "/var/run/x"}, false, true},
		{[]string{"read", "${home}/x"}, false, false},
	} {
		r, err := ir.ParseRequest(tt.request)
		if err != nil {
			t.Fatal(err)
		}
		if allow, ok := m.Decide(r); allow != tt.allow || ok != tt.ok {
			t.Errorf("Decide(%s) = %v, %v; want %v, %v\n%s", r, allow, ok, tt.allow, tt.ok, m.Explain(r))
		}
	}
}

func TestExplain(t *testing.T) {
	p, err := sbpl.Parse("o.sb", []byte(others), sbpl.Options{Release: operations.Ventura})
	if err != nil {
		t.Fatal(err)
	}
	m := model.New(p)
	for _, tt := range []struct {
		request []string
		want    string
	}{
		{[]string{"list", "/usr"}, `allow
  file-read-data /usr: allow
    by (allow file-read* (subpath "/usr")) at o.sb:3:2
    asked: file-read-data → file-read*
`},
		{[]string{"stat", "/opt"}, `undecided
  file-read-metadata /opt: undecided
    it depends on: vnode-type
    perhaps (allow file-read-metadata (vnode-type DIRECTORY)) at o.sb:4:2
    perhaps (deny default) at o.sb:2:2
    asked: file-read-metadata → file-read* → file* → default
`},
		{[]string{"link", "/usr/a", "/tmp/b"}, `allow
  file-link /usr/a: allow
    by no rule: version 1 allows it
    asked: file-link
  file-link /private/tmp/b: allow
    by no rule: version 1 allows it
    asked: file-link
  file-write-create /private/tmp/b: allow
    by (allow file-write* (subpath "/private/tmp")) at o.sb:5:2
    asked: file-write-create → file-write*
`},
		{[]string{"read", "${home}/x"}, "undecided\n  read ${home}/x: home is not bound\n"},
	} {
		r, err := ir.ParseRequest(tt.request)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Explain(r); got != tt.want {
			t.Errorf("Explain(%s)\n got %s\nwant %s", r, got, tt.want)
		}
	}
}
