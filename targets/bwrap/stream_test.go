package bwrap

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
)

// sampleStream is a stream with every option in it, and its table.
func sampleStream(t testing.TB) ([]byte, *Table) {
	t.Helper()
	s := compile(t, "only read /", "read /usr", "read /bin", "devices", "shm", "tmp", "write ${workspace}", "deny ${workspace}/s", "read ${workspace}/s/m/pub",
		"deny ${workspace}/a/key", "write /dev/kvm", "only read /opt")
	f := factsFor(s, testBinding, map[string]Fact{
		"/bin": {Kind: Link, Target: ir.MustPath("/usr/bin")}, "/usr/bin": {Kind: Directory}, "/dev/kvm": {Kind: Device}, "/w/a/key": {Kind: File},
	})
	table, err := s.Table(testBinding, f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := table.Stream(FDs{Masks: []int{5}, Seccomp: 3, Status: 4})
	if err != nil {
		t.Fatal(err)
	}
	return data, table
}

func join(elements []string) []byte { return []byte(strings.Join(elements, "\x00") + "\x00") }

// TestEveryChangedStreamIsSeen changes one element at a time: what is read back is
// never the table that was meant.
func TestEveryChangedStreamIsSeen(t *testing.T) {
	data, want := sampleStream(t)
	elements := strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
	for option := range arity {
		if !slices.Contains(elements, option) {
			t.Errorf("the sample lacks %s", option)
		}
	}
	tried := 0
	check := func(what string, changed []string) {
		if slices.Equal(changed, elements) {
			return
		}
		tried++
		got, err := ReadStream(join(changed))
		if err == nil && want.Equal(got) && len(got.Isolation.Lacking()) == 0 {
			t.Errorf("%s: read back as if nothing had changed", what)
		}
		if err != nil && !errors.Is(err, ErrFragment) {
			t.Errorf("%s: %v wraps no ErrFragment", what, err)
		}
	}
	replace := func(i int, with ...string) []string {
		return slices.Concat(elements[:i], with, elements[i+1:])
	}
	twins := map[string]string{
		"--ro-bind": "--bind", "--bind": "--ro-bind", "--dev-bind": "--bind", "--dir": "--tmpfs", "--tmpfs": "--dir", "0111": "0755", "0000": "0644",
		"1777": "0777", "0755": "0111", "ALL": "CAP_CHOWN", "--chmod": "--perms", "--proc": "--dev", "--dev": "--proc", "--unshare-net": "--share-net",
	}
	for i, e := range elements {
		check("drop "+e, replace(i))
		check("double "+e, replace(i, e, e))
		check("a foreign bind before "+e, replace(i, "--ro-bind", "/foreign", "/foreign", e))
		check("a remount before "+e, replace(i, "--remount-ro", "/w", e))
		check("an end of options before "+e, replace(i, "--", e))
		if twin, ok := twins[e]; ok {
			check(e+" to "+twin, replace(i, twin))
		}
		// Options without arguments mean the same in any order.
		flags := func(e string) bool { n, ok := arity[e]; return ok && n == 0 }
		if i+1 < len(elements) && !(flags(e) && flags(elements[i+1])) {
			swapped := slices.Clone(elements)
			swapped[i], swapped[i+1] = swapped[i+1], swapped[i]
			check("swap "+e+" and "+elements[i+1], swapped)
		}
		if strings.HasPrefix(e, "/") {
			check(e+" longer", replace(i, strings.TrimSuffix(e, "/")+"/x"))
			check(e+" shorter", replace(i, "/"+strings.TrimPrefix(e[:strings.LastIndexByte(e, '/')], "/")))
			check(e+" not clean", replace(i, e+"/../x"))
			check(e+" relative", replace(i, e[1:]))
		}
	}
	for _, broken := range []string{"", "--proc", "--proc\x00/proc", "\x00", "--bind\x00/a\x00"} {
		if _, err := ReadStream([]byte(broken)); !errors.Is(err, ErrFragment) {
			t.Errorf("ReadStream(%q) = %v, want ErrFragment", broken, err)
		}
	}
	t.Logf("%d changed streams, all seen", tried)
}

// TestDescriptorsAreCounted: a number too few or too many is refused.
func TestDescriptorsAreCounted(t *testing.T) {
	_, table := sampleStream(t)
	for _, fds := range []FDs{
		{Seccomp: 3, Status: 4}, {Masks: []int{5, 6}, Seccomp: 3, Status: 4}, {Masks: []int{5}, Status: 4}, {Masks: []int{5}, Seccomp: 3}, {Masks: []int{5}, Seccomp: 1, Status: 4},
	} {
		if _, err := table.Stream(fds); err == nil {
			t.Errorf("Stream(%+v) = nil error", fds)
		}
	}
}

func FuzzReadStream(f *testing.F) {
	data, _ := sampleStream(f)
	f.Add(data)
	f.Add([]byte("--proc\x00/proc\x00"))
	f.Add([]byte("--perms\x000111\x00--size\x004096\x00--tmpfs\x00/a\x00--remount-ro\x00/a\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := ReadStream(data)
		if err != nil {
			return
		}
		// What is accepted has one entry for each path, parents before children.
		seen := map[ir.Path]bool{}
		for _, e := range table.Entries {
			if parent, ok := e.Path.Parent(); seen[e.Path] || ok && !seen[parent] && table.mounted(parent) == nil {
				t.Errorf("ReadStream(%q): entry %s comes twice or before its parent", data, e.Path)
			}
			seen[e.Path] = true
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add(compile(f, "write ${workspace}", "deny ${workspace}/s", "read ${workspace}/s/m/pub", "devices", "shm", "tmp", "only read /").JSON())
	f.Add([]byte(`{"namespaces":[],"operations":[],"policy":"p","schema":"obspc.bwrap/v1"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse(data)
		if err == nil && string(s.JSON()) != string(data) {
			t.Errorf("Parse(%q) accepted what JSON writes as %q", data, s.JSON())
		}
	})
}
