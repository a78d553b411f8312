package ir

import "testing"

// rules builds a policy from level/path pairs.
func rules(level map[string]Level, execute ...string) *Policy {
	p := &Policy{Name: "p", Version: 1, Targets: []Target{Bwrap}}
	for path, l := range level {
		p.Files = append(p.Files, FileRule{Path: MustPath(path), Level: l})
	}
	for _, path := range execute {
		p.Execute = append(p.Execute, ExecuteRule{Path: MustPath(path)})
	}
	return p
}

func ask(t *testing.T, p *Policy, words ...string) Decision {
	t.Helper()
	r, err := ParseRequest(words)
	if err != nil {
		t.Fatalf("ParseRequest(%q) = %v", words, err)
	}
	return Decide(p, r)
}

func TestUnboundAnswersSayWhatTheyDependOn(t *testing.T) {
	p := rules(map[string]Level{"/usr": Read, "${workspace}": Write, "${home}/.ssh": Deny})
	for _, tt := range []struct {
		words []string
		allow bool
		roots []Root
	}{
		{[]string{"read", "/usr/bin/env"}, true, nil},
		{[]string{"write", "${workspace}/a"}, true, nil},
		{[]string{"read", "/data/x"}, false, []Root{Workspace}},
		{[]string{"read", "${home}/.ssh/id"}, false, []Root{Workspace}},
		{[]string{"read", "/etc/shadow"}, false, nil},
		{[]string{"remove", "${workspace}"}, false, nil},
	} {
		got := ask(t, p, tt.words...)
		var want RootSet
		for _, r := range tt.roots {
			want = want.with(r)
		}
		if got.Allow != tt.allow || got.Depends != want {
			t.Errorf("Decide(%q) = %v depends %b, want %v depends %b", tt.words, got.Allow, got.Depends, tt.allow, want)
		}
	}
}

func TestOnlyShowsNamesAndNotNodes(t *testing.T) {
	p := &Policy{Files: []FileRule{{Path: MustPath("/"), Level: Read, Only: true}, {Path: MustPath("/usr"), Level: Read}}}
	for words, want := range map[[2]string]bool{
		{"list", "/"}: true, {"stat", "/"}: true, {"stat", "/usr"}: true, {"stat", "/home"}: false, {"read", "/home"}: false,
	} {
		if got := ask(t, p, words[0], words[1]); got.Allow != want {
			t.Errorf("Decide(%q) = %v, want %v", words, got.Allow, want)
		}
	}
}

func TestAdmit(t *testing.T) {
	p := rules(map[string]Level{"/srv/data": Read, "${home}": Read, "${home}/.ssh": Deny, "${workspace}": Write})
	for _, tt := range []struct {
		name            string
		home, workspace string
		ok              bool
	}{
		{"apart", "/home/u", "/w", true},
		{"workspace in home", "/home/u", "/home/u/src", true},
		{"workspace above home", "/home/u", "/home/u/../u", false},
		{"workspace above a home rule", "/w/u", "/w", false},
		{"workspace in a deny", "/home/u", "/home/u/.ssh/w", false},
		{"workspace is the deny", "/home/u", "/home/u/.ssh", false},
		{"workspace above a host rule", "/home/u", "/srv/d", true},
		{"workspace is a host rule", "/home/u", "/srv/data", false},
		{"the same directory", "/home/u", "/home/u", false},
		{"system", "/home/u", "/usr/local", false},
		{"root", "/home/u", "/", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			home, err := ParsePath(tt.home)
			if err != nil {
				t.Fatal(err)
			}
			w, err := ParsePath(tt.workspace)
			if err != nil {
				return // ".." never gets this far
			}
			err = p.Admit(Binding{}.With(Home, home).With(Workspace, w))
			if (err == nil) != tt.ok {
				t.Errorf("Admit(home=%s, workspace=%s) = %v, want ok %v", home, w, err, tt.ok)
			}
		})
	}
}

func TestDecideDoesNotAllocate(t *testing.T) {
	d := NewDecider(rules(map[string]Level{"/usr": Read, "${workspace}": Write, "${workspace}/a/b": Deny}, "/usr/bin"))
	r, err := ParseRequest([]string{"execute", "/usr/bin/deep/down/env"})
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { d.Decide(r) }); n != 0 {
		t.Errorf("Decide(%s) allocates %v times, want 0", r, n)
	}
}
