package bwrap

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
)

func at(t *testing.T, text string) ir.Path {
	t.Helper()
	return ir.MustPath(text)
}

// roundTrip checks that what is printed reads back as the table it was printed
// from, and returns the table.
func roundTrip(t *testing.T, s *Set, b ir.Binding, f Facts) *Table {
	t.Helper()
	want, err := s.Table(b, f)
	if err != nil {
		t.Fatalf("Table() = %v", err)
	}
	n, err := MaskCount(s, b, f)
	if err != nil {
		t.Fatalf("MaskCount() = %v", err)
	}
	fds := FDs{Seccomp: 3, Status: 4}
	for i := range n {
		fds.Masks = append(fds.Masks, 5+i)
	}
	data, err := Materialise(s, b, f, fds)
	if err != nil {
		t.Fatalf("Materialise() = %v", err)
	}
	got, err := ReadStream(data)
	if err != nil {
		t.Fatalf("ReadStream(%q) = %v", data, err)
	}
	if d := want.Diff(got); d != "" {
		t.Errorf("ReadStream(Materialise()) differs: %s\n%s", d, strings.ReplaceAll(string(data), "\x00", " "))
	}
	if lacking := got.Isolation.Lacking(); len(lacking) > 0 {
		t.Errorf("isolation lacks %q", lacking)
	}
	return want
}

func TestTable(t *testing.T) {
	for _, tt := range []struct {
		name       string
		statements []string
		kinds      map[string]Fact
		want       string
	}{
		{"made ancestors", []string{"read /a/b/c"}, nil, "root /, directory /a, proc /proc, directory /a/b, bind /a/b/c"},
		{"an optional path that is missing leaves nothing", []string{"optional read /a/b/c"}, map[string]Fact{"/a/b/c": {}}, "root /, proc /proc"},
		{"reading inside reading", []string{"read /usr", "read /usr/share"}, nil, "root /, proc /proc, bind /usr"},
		{"a deny of nothing granted", []string{"deny /a/b", "read /usr"}, nil, "root /, proc /proc, bind /usr"},
		{"a hole in a read, missing", []string{"read /usr", "deny /usr/x"}, map[string]Fact{"/usr/x": {}}, "root /, proc /proc, bind /usr"},
		{"only a directory", []string{"only read /opt", "read /opt/a"}, nil, "root /, directory /opt, proc /proc, bind /opt/a"},
		{"only a file", []string{"only read /opt"}, map[string]Fact{"/opt": {Kind: File}}, "root /, bind /opt, proc /proc"},
		{"a hole with a window", []string{"write ${workspace}", "deny ${workspace}/s", "read ${workspace}/s/m/pub"}, nil,
			"root /, proc /proc, bind /w rw, hidden-directory /w/s, directory /w/s/m, bind /w/s/m/pub"},
		{"a masked file below a pin", []string{"write ${workspace}", "deny ${workspace}/s/key"}, map[string]Fact{"/w/s/key": {Kind: File}},
			"root /, proc /proc, bind /w rw, bind /w/s rw, hidden-file /w/s/key"},
		{"an unwritable parent keeps a path missing", []string{"write ${workspace}", "deny ${workspace}/s/key"}, map[string]Fact{"/w/s/key": {Sealed: true}},
			"root /, proc /proc, bind /w rw, bind /w/s rw"},
		{"so does a file on the way", []string{"write ${workspace}", "deny ${workspace}/s/key"}, map[string]Fact{"/w/s": {Kind: File}, "/w/s/key": {}},
			"root /, proc /proc, bind /w rw, bind /w/s rw"},
		{"a device is opened by a write", []string{"write /dev/kvm"}, map[string]Fact{"/dev/kvm": {Kind: Device}},
			"root /, directory /dev, proc /proc, device /dev/kvm rw"},
		{"all of the host", []string{"read /", "deny /etc", "write ${workspace}"}, nil, "bind /, hidden-directory /etc, proc /proc, bind /w rw"},
		{"a link of root", []string{"read /bin", "read /usr"}, map[string]Fact{"/bin": {Kind: Link, Target: at(t, "/usr/bin")}, "/usr/bin": {Kind: Directory}},
			"root /, link /bin → /usr/bin, proc /proc, bind /usr"},
		{"a link on the way", []string{"read /var/run/x", "read /run/x"},
			map[string]Fact{"/var/run": {Kind: Link, Target: at(t, "/run")}, "/run/x": {Kind: Socket}},
			"root /, proc /proc, directory /run, directory /var, bind /run/x, link /var/run → /run"},
		{"a link inside what can be read", []string{"read /usr", "read /usr/l"},
			map[string]Fact{"/usr/l": {Kind: Link, Target: at(t, "/usr/m")}, "/usr/m": {Kind: File}}, "root /, proc /proc, bind /usr"},
		{"a dangling link of an optional path", []string{"optional read /l"}, map[string]Fact{"/l": {Kind: Link, Target: at(t, "/gone")}, "/gone": {}},
			"root /, proc /proc"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := compile(t, tt.statements...)
			table := roundTrip(t, s, testBinding, factsFor(s, testBinding, tt.kinds))
			got := strings.Join(strings.Split(strings.TrimSpace(mounts(table)), "\n"), ", ")
			if got != tt.want {
				t.Errorf("Table(%q) = %s, want %s", tt.statements, got, tt.want)
			}
		})
	}
}

func TestTableAcrossRoots(t *testing.T) {
	s := compile(t, "write ${home}", "write ${workspace}", "deny ${workspace}/a/k")
	b := ir.Binding{}.With(ir.Home, at(t, "/home/u")).With(ir.Workspace, at(t, "/home/u/src/w"))
	table := roundTrip(t, s, b, factsFor(s, b, nil))
	const want = "root /\nproc /proc\ndirectory /home\nbind /home/u rw\nbind /home/u/src rw\nbind /home/u/src/w rw\nbind /home/u/src/w/a rw\nhidden-directory /home/u/src/w/a/k\n"
	if got := mounts(table); got != want {
		t.Errorf("Table(workspace in home) = %s, want %s", got, want)
	}
	// Only the workspace's deny speaks: its ancestors are held all the same.
	s = compile(t, "write ${home}", "deny ${workspace}/a/k")
	table = roundTrip(t, s, b, factsFor(s, b, nil))
	if got := mounts(table); got != strings.Replace(want, "bind /home/u/src/w rw\n", "bind /home/u/src/w rw\n", 1) {
		t.Errorf("Table(a deny of the workspace in home) = %s, want %s", got, want)
	}
	s = compile(t, "tmp", "write ${workspace}")
	b = ir.Binding{}.With(ir.Tmp, at(t, "/tmp")).With(ir.Workspace, at(t, "/tmp/x/w"))
	table = roundTrip(t, s, b, factsFor(s, b, nil))
	if got, want := mounts(table), "root /\nproc /proc\ntmpfs /tmp rw\ntmpfs /tmp/x rw\nbind /tmp/x/w rw\n"; got != want {
		t.Errorf("Table(workspace in tmp) = %s, want %s", got, want)
	}
	// A binding under which the order of roots is not the order of depth.
	s = compile(t, "read /srv/data", "write ${workspace}")
	var fault *BindingError
	if _, err := s.Table(ir.Binding{}.With(ir.Workspace, at(t, "/srv")), Facts{}); !errors.As(err, &fault) {
		t.Errorf("Table(workspace above a rule of /) = %v, want a *BindingError", err)
	}
	if _, err := s.Table(ir.Binding{}, Facts{}); !errors.As(err, &fault) {
		t.Errorf("Table(nothing bound) = %v, want a *BindingError", err)
	}
}

func TestConfigIsLeftOutUnlessBound(t *testing.T) {
	s := compile(t, "write ${workspace}", "optional read ${config}")
	if got, want := mounts(roundTrip(t, s, testBinding, factsFor(s, testBinding, nil))), "root /\nproc /proc\nbind /w rw\n"; got != want {
		t.Errorf("Table(config unbound) = %s, want %s", got, want)
	}
	b := testBinding.With(ir.Config, at(t, "/w/.obspc"))
	if got, want := mounts(roundTrip(t, s, b, factsFor(s, b, nil))), "root /\nproc /proc\nbind /w rw\nbind /w/.obspc\n"; got != want {
		t.Errorf("Table(config bound) = %s, want %s", got, want)
	}
}

func TestMissingPathsAreRefusedOrKeptMissing(t *testing.T) {
	s := compile(t, "write ${workspace}", "deny ${workspace}/a/b/key", "read ${workspace}/hooks", "read /opt/x")
	f := factsFor(s, testBinding, map[string]Fact{"/opt/x": {}})
	var missing *MissingError
	if _, err := s.Table(testBinding, f); !errors.As(err, &missing) || missing.Path != at(t, "/opt/x") || missing.Origin != "p/read /opt/x" {
		t.Errorf("Table(/opt/x missing) = %v, want a *MissingError about it", err)
	}
	if _, err := s.Placeholders(testBinding, f); !errors.As(err, &missing) {
		t.Errorf("Placeholders(/opt/x missing) = %v, want a *MissingError: nothing is made for a refused run", err)
	}
	more := compile(t, "write ${workspace}", "read /opt/x", "write ${workspace}/below", "optional read /opt/z", "deny /opt/d", "read /opt/y")
	_, err := more.Placeholders(testBinding, factsFor(more, testBinding, map[string]Fact{"/opt/x": {}, "/opt/y": {}, "/opt/z": {}, "/opt/d": {}, "/w/below": {}}))
	if !errors.As(err, &missing) || len(missing.Others) != 2 || !strings.Contains(err.Error(), "3 paths do not exist") || !strings.Contains(err.Error(), "${workspace}/below (") {
		t.Errorf("Placeholders(three missing) = %v, want all of them in one *MissingError, as the policy has them", err)
	}
	f = factsFor(s, testBinding, map[string]Fact{"/w/a": {}, "/w/a/b": {}, "/w/a/b/key": {}, "/w/hooks": {}})
	got, err := s.Placeholders(testBinding, f)
	want := []Placeholder{{at(t, "/w/a"), true}, {at(t, "/w/a/b"), true}, {at(t, "/w/hooks"), false}, {at(t, "/w/a/b/key"), false}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Placeholders() = %v, %v, want %v", got, err, want)
	}
	if table, err := s.Table(testBinding, f); err == nil {
		t.Errorf("Table() without placeholders = %v, want an error", table)
	}
	for _, p := range got {
		f[p.Path] = p.Fact()
	}
	table := roundTrip(t, s, testBinding, f)
	if e := table.at(at(t, "/w/a/b/key")); e == nil || e.Kind != HiddenFile {
		t.Errorf("entry of the placeholder = %v, want a hidden file", e)
	}
	if more, err := s.Placeholders(testBinding, f); len(more) > 0 || err != nil {
		t.Errorf("Placeholders() once made = %v, %v, want none", more, err)
	}
}

func TestLinksAreRefusedWhereTheyCouldBePlanted(t *testing.T) {
	link := func(to string) Fact { return Fact{Kind: Link, Target: ir.MustPath(to)} }
	dir := Fact{Kind: Directory}
	for _, tt := range []struct {
		name       string
		statements []string
		kinds      map[string]Fact
		link       string
	}{
		{"under a deny", []string{"read /usr", "deny /usr/x"}, map[string]Fact{"/usr/x": link("/usr/y"), "/usr/y": dir}, "/usr/x"},
		{"on the way to a deny", []string{"read /usr", "deny /usr/l/x"}, map[string]Fact{"/usr/l": link("/usr/m"), "/usr/m/x": dir}, "/usr/l"},
		{"a deny of nothing granted", []string{"read /usr", "deny /bin/x"}, map[string]Fact{"/bin": link("/usr/bin"), "/usr/bin/x": dir}, "/bin"},
		{"under a write", []string{"write /d"}, map[string]Fact{"/d": link("/e"), "/e": dir}, "/d"},
		{"a carve-out", []string{"write ${workspace}", "read ${workspace}/r"}, map[string]Fact{"/w/r": link("/w/s"), "/w/s": dir}, "/w/r"},
		{"a window below a write", []string{"write ${workspace}", "deny ${workspace}/h", "read ${workspace}/h/r"},
			map[string]Fact{"/w/h/r": link("/w/s"), "/w/s": dir}, "/w/h/r"},
		{"an execute name", []string{"write ${workspace}", "execute ${workspace}/x"}, map[string]Fact{"/w/x": link("/w/y"), "/w/y": {Kind: File}}, "/w/x"},
		{"to what nothing grants", []string{"read /l"}, map[string]Fact{"/l": link("/secret"), "/secret": dir}, "/l"},
		{"to a hole", []string{"read /l", "read /usr", "deny /usr/x"}, map[string]Fact{"/l": link("/usr/x"), "/usr/x": dir}, "/l"},
		{"over a link that is not shown", []string{"read /l", "read /data"},
			map[string]Fact{"/l": link("/m"), "/m": link("/data"), "/data": dir}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := compile(t, tt.statements...)
			var fault *LinkError
			_, err := s.Table(testBinding, factsFor(s, testBinding, tt.kinds))
			if !errors.As(err, &fault) || tt.link != "" && fault.Link != ir.MustPath(tt.link) {
				t.Errorf("Table(%q) = %v, want a *LinkError about %s", tt.statements, err, tt.link)
			}
		})
	}
}

func TestKindsThatAMountCannotKeep(t *testing.T) {
	for _, tt := range []struct {
		statements []string
		kinds      map[string]Fact
	}{
		{[]string{"read /dev/kvm"}, map[string]Fact{"/dev/kvm": {Kind: Device}}},
		{[]string{"only write /opt/x"}, nil},
		{[]string{"write /opt", "only deny /opt/x"}, nil},
	} {
		s := compile(t, tt.statements...)
		var fault *NodeError
		if _, err := s.Table(testBinding, factsFor(s, testBinding, tt.kinds)); !errors.As(err, &fault) || fault.Origin == "" {
			t.Errorf("Table(%q) = %v, want a *NodeError", tt.statements, err)
		}
	}
}

// TestAnOptionalRuleOnTheWay: an optional rule whose path is missing is as if
// unsaid, and a missing protected name below it is kept missing over a directory
// that is made for it.
func TestAnOptionalRuleOnTheWay(t *testing.T) {
	for _, statement := range []string{"optional write ${workspace}/gone", "optional execute ${workspace}/gone", "optional read ${workspace}/gone"} {
		s := compile(t, "write ${workspace}", statement, "deny ${workspace}/gone/deep/er")
		f := factsFor(s, testBinding, map[string]Fact{"/w/gone": {}, "/w/gone/deep": {}, "/w/gone/deep/er": {}})
		got, err := s.Placeholders(testBinding, f)
		want := []Placeholder{{ir.MustPath("/w/gone"), true}, {ir.MustPath("/w/gone/deep"), true}, {ir.MustPath("/w/gone/deep/er"), false}}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("Placeholders() with %q = %v, %v, want %v", statement, got, err, want)
			continue
		}
		for _, w := range got {
			f[w.Path] = w.Fact()
		}
		table, err := s.Table(testBinding, f)
		if err != nil {
			t.Errorf("Table() with %q = %v", statement, err)
			continue
		}
		if got := mounts(table); !strings.HasSuffix(got, "bind /w rw\nbind /w/gone rw\nbind /w/gone/deep rw\nhidden-file /w/gone/deep/er\n") {
			t.Errorf("Table() with %q has\n%s", statement, got)
		}
	}
}
