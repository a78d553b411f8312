package conform

import (
	"strings"

	"pgregory.net/rapid"
)

// drawn is one policy and the tree that it is put to.
type drawn struct {
	statements []string
	at         layout
	trusted    string // a directory below the top that obspc's own configuration lies in, "" for none
	shift      int    // which pairs are renamed and linked
}

// pattern is a sort of paths of a branch that rules name, and the ways in which they
// are stated: those that mostly let a run start, the frequent ones more than once.
type pattern struct{ places, hows []string }

var (
	directories = pattern{
		[]string{"", "", "a", "a", "a/b", "a/b", "a/b/c", "a/b/e", "b", "b", "b/a", "c"},
		[]string{"read", "read", "read", "write", "write", "write", "write", "deny", "deny", "optional read", "optional write", "only read"},
	}
	leaves = pattern{
		[]string{"f", "a/f", "a/b/f", "a/b/c/f", "b/f", "a/x", "b/x", "a/s", "b/s", "b/p"},
		[]string{"read", "read", "write", "write", "deny", "deny", "optional read", "only read"},
	}
	absent = pattern{
		[]string{"gone", "a/gone", "c/gone", "gone/deep/er"},
		[]string{"deny", "deny", "deny", "optional read", "optional write", "read"},
	}
	links = pattern{
		[]string{"a/l", linkToDirectory, overLink},
		[]string{"read", "read", "write", "deny", "only read"},
	}
	programs = pattern{
		[]string{"", "", "a", "b", "a/x", "a/x", "b/x", "f", "a/b"},
		[]string{"execute", "execute", "only execute", "optional execute"},
	}
)

// patterns has a row for each rule drawn, the frequent sorts more than once.
var patterns = []pattern{
	directories, directories, directories, directories, directories, directories, leaves, leaves, leaves, leaves, absent, absent, absent,
	directories, directories, directories, directories, directories, leaves, leaves, leaves, absent, absent, links,
}

// policies draws policies over a tree at top; home tells whether its slot can be
// put somewhere. victim is what every policy lets run.
func policies(top, victim string, home bool) *rapid.Generator[drawn] {
	return rapid.Custom(func(t *rapid.T) drawn {
		d := drawn{at: layout{"home", "work"}}
		roots := []string{"${workspace}", "${workspace}", "${workspace}", top + "/data", top + "/data", top + "/else"}
		if home {
			roots = append(roots, "${home}", "${home}")
			d.at.home = rapid.SampledFrom([]string{"home", "data/b/h"}).Draw(t, "home")
		}
		d.at.work = rapid.SampledFrom([]string{"work", "work", d.at.home + "/a/w", "data/a/w"}).Draw(t, "work")
		d.trusted = rapid.SampledFrom([]string{"", "", "", "work/c", "work/a/b", "data/b", "home/a", "work"}).Draw(t, "trusted")
		d.shift = rapid.IntRange(0, 50).Draw(t, "shift")

		stated := map[string]bool{}
		state := func(how, path string) {
			if key := path; !stated[key] {
				stated[key] = true
				d.statements = append(d.statements, how+" "+path)
			}
		}
		if rapid.IntRange(0, 3).Draw(t, "base") > 0 {
			state(rapid.SampledFrom([]string{"write", "write", "read"}).Draw(t, "workspace"), "${workspace}")
			state(rapid.SampledFrom([]string{"write", "read", "read"}).Draw(t, "data"), top+"/data")
		}
		for range rapid.IntRange(0, 9).Draw(t, "files") {
			state(rule(t, roots, rapid.SampledFrom(patterns).Draw(t, "pattern")))
		}
		for _, wide := range []string{"only read /", "read /", "read " + top, "only read " + top, "read /usr", "read /bin"} {
			if rapid.IntRange(0, 9).Draw(t, wide) == 9 {
				how, path, _ := strings.Cut(wide, " /")
				state(how, "/"+path)
			}
		}
		state("only read", victim)
		d.statements = append(d.statements, execution(t, roots, victim)...)
		for _, extra := range []string{"devices", "shm", "tmp", "visible"} {
			if rapid.Bool().Draw(t, extra) {
				d.statements = append(d.statements, extra)
			}
		}
		return d
	})
}

func rule(t *rapid.T, roots []string, s pattern) (how, path string) {
	how = rapid.SampledFrom(s.hows).Draw(t, "how")
	path = rapid.SampledFrom(roots).Draw(t, "root")
	if place := rapid.SampledFrom(s.places).Draw(t, "place"); place != "" {
		path += "/" + place
	}
	return how, path
}

// execution is the execute rules: some, or one for everything.
func execution(t *rapid.T, roots []string, victim string) []string {
	if rapid.IntRange(0, 7).Draw(t, "everything starts") == 7 {
		return []string{"execute /"}
	}
	out := []string{"only execute " + victim}
	stated := map[string]bool{}
	for range rapid.IntRange(0, 4).Draw(t, "programs") {
		how, path := rule(t, roots, programs)
		if !stated[path] {
			stated[path] = true
			out = append(out, how+" "+path)
		}
	}
	return out
}
