package verify

import (
	"bytes"
	"testing"

	"github.com/obspc/obspc/verify/release"
)

// TestMeaningAttacks are artifacts that somebody with the right to release
// changed: every list agrees with the bytes, the pins accept them, and only the
// proof stands in the way.
func TestMeaningAttacks(t *testing.T) {
	swap := func(file, old, new string) func([]release.File) {
		return func(files []release.File) {
			f := at(files, file)
			f.Data = replaced(f.Data, old, new)
		}
	}
	whole := func(file string, edit func([]byte) []byte) func([]release.File) {
		return func(files []release.File) {
			f := at(files, file)
			f.Data = edit(f.Data)
		}
	}
	const set, text, rules, filter = "web/bwrap.json", "web/bwrap.args.txt", "web/landlock.json", "web/seccomp-x86_64.bpf"
	for _, tt := range []struct {
		name   string
		attack func([]release.File)
	}{
		{"foreign mount", swap(set, `{"do":"bind"`, `{"do":"bind","level":"read","origin":"web/filesystem.read[0]","path":"/etc"},{"do":"bind"`)},
		{"read becomes write", swap(set, `{"do":"link-or-bind","origin"`, `{"do":"bind","level":"write","origin"`)},
		{"operation of no name", swap(set, `"do":"proc"`, `"do":"args"`)},
		{"option where a path belongs", swap(set, `"path":"/usr"`, `"path":"--args"`)},
		{"end of options where a path belongs", swap(set, `"path":"/usr"`, `"path":"--"`)},
		{"shared network", swap(set, `"net",`, ``)},
		{"no namespaces", swap(set, `["user","pid","ipc","uts","net","cgroup-try"]`, `[]`)},
		{"dropped operation", swap(set, `{"do":"proc","origin":"builtin/proc","path":"/proc"},`, ``)},
		{"another policy's set", func(files []release.File) { at(files, set).Data = at(files, "batch/bwrap.json").Data }},
		{"unknown member", swap(set, `"policy":"web"`, `"policy":"web","setenv":"LD_PRELOAD"`)},
		{"profile in place of the set", func(files []release.File) { at(files, set).Data = at(files, "web/seatbelt.sb").Data }},
		{"set in place of the profile", func(files []release.File) { at(files, "web/seatbelt.sb").Data = at(files, set).Data }},
		{"stream in place of the set", whole(set, func([]byte) []byte { return []byte("--share-net\x00--\x00") })},
		{"many operations", whole(set, func(data []byte) []byte {
			one := []byte(`{"do":"proc","origin":"builtin/proc","path":"/proc"},`)
			return bytes.Replace(data, one, bytes.Repeat(one, 9001), 1)
		})},
		{"rendering that hides a mount", swap(text, "--bind ${workspace} ${workspace} ", "--bind ${workspace} ${workspace}  ")},
		{"rendering with the end of options", swap(text, "--new-session\n", "--\n")},
		{"rendering with nested options", swap(text, "--new-session\n", "--args 3\n")},
		{"execute wider", swap(rules, `"path":"/usr"`, `"path":"/"`)},
		{"execute not handled", swap(rules, `"execute","write_file"`, `"write_file"`)},
		{"Landlock not needed", swap(rules, `"needs":2`, `"needs":0`)},
		{"truncation not handled", swap(rules, `{"abi":3,"files":["truncate"]},`, ``)},
		{"scopes not asked for", swap(rules, `,{"abi":6,"scopes":["abstract_unix_socket","signal"]}`, ``)},
		{"a foreign read for Landlock", swap(rules, `"read":[{`, `"read":[{"origin":"p/x","path":"/"},{`)},
		{"filter cut short", whole(filter, func(data []byte) []byte { return data[:len(data)-1] })},
		{"empty filter", whole(filter, func([]byte) []byte { return nil })},
		{"filter that allows everything", whole(filter, func([]byte) []byte {
			return []byte{6, 0, 0, 0, 0, 0, 0xff, 0x7f} // BPF_RET|BPF_K, SECCOMP_RET_ALLOW
		})},
		{"filter of the other architecture", func(files []release.File) {
			at(files, filter).Data = at(files, "web/seccomp-aarch64.bpf").Data
		}},
		{"disassembly of another filter", whole("web/seccomp-x86_64.txt", func(data []byte) []byte { return append(data, '\n') })},
		{"sockets visible at run time", swap("web/run.json", `"sockets":"none"`, `"sockets":"visible"`)},
		{"profile with a foreign grant", whole("web/seatbelt.sb", func(data []byte) []byte { return append(data, "(allow default)\n"...) })},
	} {
		t.Run(tt.name, func(t *testing.T) {
			good := forge(t, sample(t), nil)
			wantVerified(t, Memory(good), trusting(t, good))
			files := sample(t)
			tt.attack(files)
			files = forge(t, files, nil)
			v, report := Open(Memory(files), trusting(t, files))
			if v != nil {
				t.Fatalf("accepted:\n%s", report)
			}
			for _, f := range report.Failures() {
				if f.Reason != Unproven {
					t.Errorf("refused for another reason: %s", f)
				}
			}
		})
	}
}

// Linux reads what was verified, and a fresh copy each time.
func TestVerifiedLinux(t *testing.T) {
	in := input(t)
	mac := policy("mac")
	mac.Targets = mac.Targets[1:]
	in.Policies = append(in.Policies, compiled(t, mac))
	files := build(t, in)
	v := wantVerified(t, Memory(files), trusting(t, files))
	linux := v.Linux("web")
	if linux == nil || !bytes.Equal(linux.Set.JSON(), at(files, "web/bwrap.json").Data) {
		t.Fatalf("Linux(web) = %+v", linux)
	}
	linux.Set.Operations = nil
	if again := v.Linux("web"); !bytes.Equal(again.Set.JSON(), at(files, "web/bwrap.json").Data) {
		t.Error("Linux hands out its own set")
	}
	if v.Linux("mac") != nil || v.Linux("none") != nil {
		t.Error("Linux answers for a policy that is not compiled for Linux")
	}
}
