package release

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestParseManifestRefuses(t *testing.T) {
	good := string(fileNamed(t, build(t, sampleInput()), ManifestName))
	for _, tt := range []struct {
		name string
		old  string
		new  string
		want string
	}{
		{"dot-dot", `"name":"web/run.json"`, `"name":"../run.json"`, "unsafe name"},
		{"absolute", `"name":"web/run.json"`, `"name":"/web/run.json"`, "unsafe name"},
		{"backslash", `"name":"web/run.json"`, `"name":"web\\run.json"`, "unsafe name"},
		{"no folder", `"name":"web/run.json"`, `"name":"web-run.json"`, "no policy's folder"},
		{"duplicate", `"name":"web/run.json"`, `"name":"web/ir.json"`, "duplicate"},
		{"case collision", `"name":"web/run.json"`, `"name":"web/IR.json"`, "case alone"},
		{"itself", `"name":"web/run.json"`, `"name":"release.json/x"`, "is a file"},
		{"duplicate member", `"serial":12`, `"serial":12,"serial":12`, "canonical"},
		{"other case", `"serial":12`, `"Serial":12`, "canonical"},
		{"unknown member", `"serial":12`, `"serial":12,"zzz":1`, "canonical"},
		{"space", `"serial":12`, `"serial": 12`, "canonical"},
		{"float", `"serial":12`, `"serial":12.0`, "canonical"},
		{"negative serial", `"serial":12`, `"serial":-1`, "serial"},
		{"serial of local", `"serial":12`, `"serial":0`, "serials start at 1"},
		{"upper-case digest", `"sha256":"e3b0`, `"sha256":"E3B0`, "upper case"},
		{"negative size", `"size":0`, `"size":-1`, "size"},
		{"huge size", `"size":0`, `"size":9007199254740991`, "size"},
		{"other ir", `"ir":"` + string(IRDigest([]byte(`{"policy":"web"}`))) + `","kind":"run"`, `"ir":"` + hexA + `","kind":"run"`, "another ir.json"},
		{"odd kind", `"kind":"run"`, `"kind":"a b"`, "kind"},
		{"odd target", `"target":"bwrap"`, `"target":"../x"`, "target"},
		{"schema", `"obspc.release/v1"`, `"obspc.release/v2"`, "obspc.release/v1"},
		{"time with offset", `"created":"2026-01-02T03:04:05Z"`, `"created":"2026-01-02T03:04:05+00:00"`, "created"},
		{"fraction", `"created":"2026-01-02T03:04:05Z"`, `"created":"2026-01-02T03:04:05.5Z"`, "created"},
		{"expires first", `"expires":"2027`, `"expires":"2025`, "not after"},
		{"sources out of order", `"name":"b.policy.hcl"`, `"name":"ö.policy.hcl"`, "out of order"},
		{"control in a source", `"name":"b.policy.hcl"`, `"name":"\u001b.policy.hcl"`, "control"},
		{"trailing data", `"serial":12,`, `"serial":12,` + "\n", "canonical"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bad := strings.Replace(good, tt.old, tt.new, 1)
			if bad == good {
				t.Fatalf("%q is not in the manifest", tt.old)
			}
			if _, err := ParseManifest([]byte(bad)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("ParseManifest with %s = %v, want an error with %q", tt.new, err, tt.want)
			}
		})
	}
	if _, err := ParseManifest([]byte(good)); err != nil {
		t.Errorf("the twin is refused: %v", err)
	}
}

func TestParseManifestNamesBothFormats(t *testing.T) {
	good := string(fileNamed(t, build(t, sampleInput()), ManifestName))
	bad := strings.Replace(good, fmt.Sprintf(`"format":%d`, Format), fmt.Sprintf(`"format":%d,"more":[]`, Format+1), 1)
	var e *FormatError
	if _, err := ParseManifest([]byte(bad)); !errors.As(err, &e) || e.Found != Format+1 || !strings.Contains(e.Error(), "made by a newer obspc") {
		t.Errorf("ParseManifest of format 2 = %v, want a FormatError", err)
	}
	for _, none := range []string{"0", "-1"} {
		bad := strings.Replace(good, fmt.Sprintf(`"format":%d`, Format), `"format":`+none, 1)
		if _, err := ParseManifest([]byte(bad)); err == nil || errors.As(err, &e) || !strings.Contains(err.Error(), "is none") {
			t.Errorf("ParseManifest of format %s = %v, want that it is none", none, err)
		}
	}
}

func TestParseTime(t *testing.T) {
	if at, err := ParseTime("2026-01-31T12:00:00Z"); err != nil || formatTime(at) != "2026-01-31T12:00:00Z" {
		t.Errorf("ParseTime = %v, %v", at, err)
	}
	for _, bad := range []string{"", "2026-01-31", "2026-01-31T12:00:00", "2026-01-31T12:00:00.0Z", "2026-02-30T12:00:00Z", "0001-01-01T00:00:00Z", "2026-1-31T12:00:00Z"} {
		if at, err := ParseTime(bad); err == nil {
			t.Errorf("ParseTime(%q) = %v, want an error", bad, at)
		}
	}
}

func FuzzParseManifest(f *testing.F) {
	good := fileNamed(f, build(f, sampleInput()), ManifestName)
	f.Add(good)
	f.Add(bytes.Replace(good, []byte(`"format":1`), []byte(`"format":2`), 1))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ParseManifest(data)
		if err != nil {
			return
		}
		if again, err := m.JSON(); err != nil || !bytes.Equal(again, data) {
			t.Errorf("ParseManifest(%q) accepts what JSON writes as %q, %v", data, again, err)
		}
	})
}
