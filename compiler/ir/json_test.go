package ir

import (
	"bytes"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// everything is a policy that uses every member of ir.json.
func everything() *Policy {
	return &Policy{
		Name: "payment-batch", Version: 3, Targets: []Target{Bwrap, Seatbelt}, Workspace: FreshWorkspace,
		Files: []FileRule{
			{Path: MustPath("/"), Level: Read, Only: true, Origin: "std/base/filesystem.read[0]"},
			{Path: MustPath("/proc"), Level: Read, Backing: ProcFS, Origin: "builtin/proc"},
			{Path: MustPath("/dev/null"), Level: Write, Only: true, Backing: DevFS, Origin: "std/base/system.devices"},
			{Path: MustPath("/dev/shm"), Level: Write, Backing: TmpFS, Size: 1 << 20, Origin: "std/base/system.shm"},
			{Path: MustPath("/opt/ü \"x\\"), Level: Read, Optional: true, Origin: "p/filesystem.read[0]"},
			{Path: MustPath("${home}/.ssh"), Level: Deny, Origin: "p/filesystem.deny[0]"},
			{Path: MustPath("${tmp}"), Level: Write, Backing: TmpFS, Size: 256 << 20, Origin: "p/filesystem.write[0]"},
			{Path: MustPath("${workspace}"), Level: Write, Origin: "p/filesystem.write[1]"},
			{Path: MustPath("${config}"), Level: Read, Optional: true, Origin: "builtin/config"},
		},
		Execute: []ExecuteRule{
			{Path: MustPath("/usr/bin/curl"), Only: true, Origin: "p/filesystem.execute[0]"},
			{Path: MustPath("${workspace}/bin"), Optional: true, Origin: "p/filesystem.execute[1]"},
		},
		Unix: UnixRule{true, "p/network.unix"},
		Endpoints: []Endpoint{
			{Name: "any", Host: HostPattern{ManyLabels, "example.com", netip.Addr{}}, Ports: []uint16{80, 443}, Origin: "p/network.endpoint.any"},
			{Name: "bank", Host: HostPattern{Name: "xn--bcher-kva.example"}, Ports: []uint16{443}, Executables: []Path{MustPath("/usr/bin/curl")}, Origin: "p/network.endpoint.bank"},
			{Name: "db", Host: HostPattern{Addr: netip.MustParseAddr("2001:db8::7")}, Ports: []uint16{5432}, Origin: "p/network.endpoint.db"},
			{Name: "one", Host: HostPattern{OneLabel, "example.com", netip.Addr{}}, Ports: []uint16{1, 65535}, Origin: "p/network.endpoint.one"},
		},
		Environment: []Variable{
			{"EMPTY", nil, "p/environment.EMPTY"},
			{"HOME", Value{SlotRef(Workspace), Literal("/h")}, "p/environment.HOME"},
		},
		Limits: []Limit{{Memory, 1 << 20, TreeScope, "p/limits.memory"}, {OpenFiles, 256, "", "p/limits.open_files"}, {Timeout, 30000, "", "p/limits.timeout"}},
		System: System{
			Services: []Name{{"com.apple.logd", "p/system.services[0]"}}, Sysctls: []Name{{"hw.ncpu", "p/system.sysctls[0]"}},
			IPC: []Name{{"apple.shm.x", "p/system.ipc[0]"}}, IOKit: []Name{{"IOSurfaceRootUserClient", "p/system.iokit[0]"}},
		},
		Commands: []Command{{
			Name: "post", Executable: MustPath("/usr/bin/curl"), SHA256: strings.Repeat("0a", 32), Rest: "more",
			Arguments: []Value{{Literal("-q")}, {Literal("id="), FieldRef("batch_id"), Literal("@"), FieldRef("n")}, {SlotRef(Home)}, nil, {Literal("--")}},
			Fields:    []Field{{Name: "batch_id", Form: IdentifierForm, MaxBytes: 128}, {Name: "more", Form: RestForm}, {Name: "n", Form: IntegerForm, Min: -1, Max: 9}},
			Result: &Result{"batch", []ResultField{
				{Name: "id", Kind: IdentifierResult, MaxBytes: 9}, {Name: "ok", Kind: BooleanResult},
				{Name: "state", Kind: EnumResult, Values: []string{"a", "b"}}, {Name: "status", Kind: IntegerResult, Min: 100, Max: 599},
			}},
			Origin: "p/command.post",
		}},
		Waivers: []Waiver{{Seatbelt, FeatureEndpointProgram, "nothing on macOS runs it", "p/waive.seatbelt[0]"}},
	}
}

func TestJSONRoundTrip(t *testing.T) {
	p := everything()
	slices.SortFunc(p.Files, func(x, y FileRule) int { return x.Path.Compare(y.Path) })
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	q, err := ParseJSON(p.JSON())
	if err != nil || !reflect.DeepEqual(p, q) {
		t.Errorf("ParseJSON(%s) =\n%#v, %v, want\n%#v", p.JSON(), q, err, p)
	}
	if p.Text() != q.Text() {
		t.Errorf("the text form differs after a round trip:\n%s\n%s", p.Text(), q.Text())
	}
}

func TestGeneratedPoliciesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := filePolicy(slotRoots...).Draw(t, "policy")
		q, err := ParseJSON(p.JSON())
		if err != nil || !bytes.Equal(p.JSON(), q.JSON()) || p.Text() != q.Text() {
			t.Fatalf("ParseJSON(%s) = %v", p.JSON(), err)
		}
	})
}

// TestParseJSONRefuses changes the text of a policy at one place.
func TestParseJSONRefuses(t *testing.T) {
	p := everything()
	slices.SortFunc(p.Files, func(x, y FileRule) int { return x.Path.Compare(y.Path) })
	good := string(p.JSON())
	for _, tt := range []struct{ name, old, new string }{
		{"another schema", `obspc.ir/v1`, `obspc.ir/v2`},
		{"an unknown member", `"only":true`, `"many":true`},
		{"an unknown level", `"level":"deny"`, `"level":"none"`},
		{"an unknown backing", `"backing":"dev"`, `"backing":"dax"`},
		{"a size without tmpfs", `"backing":"tmpfs",`, ``},
		{"a tmpfs without size", `,"size":1048576`, ``},
		{"a false member", `"level":"deny"`, `"level":"deny","only":false`},
		{"an optional deny", `"level":"deny","origin":"p/filesystem.deny[0]"`, `"level":"deny","optional":true,"origin":"p/filesystem.deny[0]"`},
		{"a write of /", `"level":"read","only":true,"origin":"std/base/filesystem.read[0]"`, `"level":"write","origin":"std/base/filesystem.read[0]"`},
		{"a path that is not clean", `"path":"/proc"`, `"path":"/proc/"`},
		{"a relative path", `"path":"/proc"`, `"path":"proc"`},
		{"an unknown slot", `${home}/.ssh`, `${hom}/.ssh`},
		{"below tmp", `"path":"${tmp}"`, `"path":"${tmp}/x"`},
		{"a written config", `"path":"${config}"`, `"path":"${config}/x"`},
		{"rules out of order", `"path":"/proc"`, `"path":"/zzz/zzz/zzz"`},
		{"a rule twice", `"path":"/dev/shm"`, `"path":"/dev/null"`},
		{"a policy name", `"policy":"payment-batch"`, `"policy":"../p"`},
		{"version zero", `"version":3`, `"version":0`},
		{"a float", `"version":3`, `"version":3.5`},
		{"targets unsorted", `["bwrap","seatbelt"]`, `["seatbelt","bwrap"]`},
		{"targets twice", `["bwrap","seatbelt"]`, `["bwrap","bwrap"]`},
		{"no target", `["bwrap","seatbelt"]`, `[]`},
		{"an unknown target", `["bwrap","seatbelt"]`, `["bwrap","seccomp"]`},
		{"an unknown workspace", `"workspace":"fresh"`, `"workspace":"stale"`},
		{"an unknown word for unix", `"sockets":"visible"`, `"sockets":"some"`},
		{"a host in capitals", `xn--bcher-kva.example`, `XN--bcher-kva.example`},
		{"a host with a dot", `xn--bcher-kva.example`, `xn--bcher-kva.example.`},
		{"a host that is an address", `xn--bcher-kva.example`, `10.0.0.1`},
		{"a wildcard inside", `**.example.com`, `a.**.example.com`},
		{"host and address", `"address":"2001:db8::7"`, `"address":"2001:db8::7","host":"a.test"`},
		{"neither", `"address":"2001:db8::7",`, ``},
		{"an address in another form", `2001:db8::7`, `2001:0db8::7`},
		{"an address with a zone", `2001:db8::7`, `fe80::7%eth0`},
		{"a mapped address", `2001:db8::7`, `::ffff:10.0.0.1`},
		{"ports unsorted", `[80,443]`, `[443,80]`},
		{"ports twice", `[80,443]`, `[80,80]`},
		{"port zero", `[80,443]`, `[0,443]`},
		{"port 65536", `[1,65535]`, `[1,65536]`},
		{"no port", `[80,443]`, `[]`},
		{"endpoints out of order", `"name":"any"`, `"name":"zzz"`},
		{"a loader variable", `"name":"HOME"`, `"name":"LD_PRELOAD"`},
		{"an odd variable", `"name":"HOME"`, `"name":"HO-ME"`},
		{"two literals in a row", `{"literal":"/h"}`, `{"literal":"/"},{"literal":"h"}`},
		{"an empty part", `{"literal":"/h"}`, `{}`},
		{"two kinds in a part", `{"slot":"workspace"}`, `{"literal":"x","slot":"workspace"}`},
		{"a field in the environment", `{"literal":"/h"}`, `{"field":"h"}`},
		{"NUL in a value", `"literal":"/h"`, `"literal":"\u0000"`},
		{"config in a value", `{"slot":"workspace"}`, `{"slot":"config"}`},
		{"an unknown limit", `"name":"timeout"`, `"name":"tomorrow"`},
		{"limit zero", `"value":256`, `"value":0`},
		{"a service twice", `"name":"hw.ncpu"`, `"name":""`},
		{"a digest in capitals", `0a0a`, `0A0a`},
		{"a field nobody uses", `{"field":"n"}`, `{"field":"batch_id"}`},
		{"a field nobody declares", `{"field":"n"}`, `{"field":"m"}`},
		{"rest of nothing", `"rest":"more"`, `"rest":"less"`},
		{"rest without separator", `[{"literal":"--"}]`, `[{"literal":"-x"}]`},
		{"an empty range", `"max":9`, `"max":-2`},
		{"an identifier without length", `"maxBytes":128,`, ``},
		{"an unknown form", `"form":"integer"`, `"form":"decimal"`},
		{"an unknown kind of result", `"kind":"boolean"`, `"kind":"bool"`},
		{"results out of order", `"name":"ok"`, `"name":"zz"`},
		{"an unknown feature", `network.endpoint-executables`, `network.endpoint-programs`},
		{"a waiver for nobody", `"target":"seatbelt"`, `"target":"seccomp"`},
		{"a waiver without reason", `nothing on macOS runs it`, ` `},
		{"white space", `{"commands"`, `{ "commands"`},
		{"trailing data", `"workspace":"fresh"}`, `"workspace":"fresh"}{}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bad := strings.Replace(good, tt.old, tt.new, 1)
			if bad == good {
				t.Fatalf("%q does not occur in\n%s", tt.old, good)
			}
			if q, err := ParseJSON([]byte(bad)); err == nil {
				t.Errorf("ParseJSON accepts %q for %q:\n%s", tt.new, tt.old, q.Text())
			}
		})
	}
	if _, err := ParseJSON([]byte(good)); err != nil {
		t.Errorf("and unchanged it is refused: %v", err)
	}
}

// FuzzParseJSON wants what is accepted to be exactly what JSON writes, and every
// answer about it to come without a panic.
func FuzzParseJSON(f *testing.F) {
	p := everything()
	slices.SortFunc(p.Files, func(x, y FileRule) int { return x.Path.Compare(y.Path) })
	f.Add(p.JSON())
	f.Add(rules(map[string]Level{"/usr": Read}).JSON())
	f.Add([]byte(`{"policy":"p","schema":"obspc.ir/v1","targets":["bwrap"],"unix":{"origin":"","sockets":"none"},"version":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ParseJSON(data)
		if err != nil {
			return
		}
		if again := p.JSON(); !bytes.Equal(again, data) {
			t.Errorf("ParseJSON accepts %s, and JSON writes %s", data, again)
		}
		_, _ = p.Text(), p.Uses()
		d := NewDecider(p)
		for _, r := range p.Files {
			for _, kind := range FileRequests() {
				d.Decide(Request{Kind: kind, Path: r.Path})
			}
		}
	})
}
