package ir

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParsePath(t *testing.T) {
	long := strings.Repeat("x", 255)
	for _, tt := range []struct {
		name, text string
		want       string // "": refused
		err        error
	}{
		{"root", "/", "/", nil},
		{"only slashes", "///", "/", nil},
		{"double slash", "/usr//bin/", "/usr/bin", nil},
		{"dots", "/./usr/./bin/.", "/usr/bin", nil},
		{"three dots are a name", "/...", "/...", nil},
		{"dot files", "/.a/..b", "/.a/..b", nil},
		{"space, quotes, backslash", `/a b"c\d`, `/a b"c\d`, nil},
		{"UTF-8", "/ü/é", "/ü/é", nil},
		{"no-break space", "/a\u00a0b", "/a\u00a0b", nil},
		{"slot", "${home}", "${home}", nil},
		{"slot with a slash", "${home}/", "${home}", nil},
		{"below a slot", "${workspace}//a/./b/", "${workspace}/a/b", nil},
		{"a dollar sign is a name", "/$x/${y}", "/$x/${y}", nil},
		{"longest name", "/" + long, "/" + long, nil},
		{"empty", "", "", ErrNotAbsolute},
		{"relative", "usr", "", ErrNotAbsolute},
		{"dot-dot inside", "/usr/../etc", "", ErrDotDot},
		{"dot-dot below a slot", "${home}/..", "", ErrDotDot},
		{"NUL", "/usr\x00/bin", "", ErrControlCharacter},
		{"newline", "/a\nb", "", ErrControlCharacter},
		{"DEL", "/a\x7f", "", ErrControlCharacter},
		{"C1", "/a\u0085", "", ErrControlCharacter},
		{"not UTF-8", "/a\xff", "", ErrNotUTF8},
		{"a surrogate", "/a\xed\xa0\x80", "", ErrNotUTF8},
		{"name too long", "/" + long + "x", "", ErrPathTooLong},
		{"path too long", strings.Repeat("/"+long, 16), "", ErrPathTooLong},
		{"unknown slot", "${hom}/x", "", nil},
		{"slot glued", "${home}x", "", nil},
		{"slot not closed", "${home", "", ErrNotAbsolute},
		{"the root as a slot", "${/}", "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParsePath(tt.text)
			if tt.want == "" {
				if err == nil || tt.err != nil && !errors.Is(err, tt.err) {
					t.Errorf("ParsePath(%q) = %s, %v, want %v", tt.text, got, err, tt.err)
				}
				return
			}
			if err != nil || got.String() != tt.want {
				t.Errorf("ParsePath(%q) = %s, %v, want %s", tt.text, got, err, tt.want)
			}
		})
	}
}

func TestPathRelations(t *testing.T) {
	for _, tt := range []struct {
		p, q          string
		covers, above bool
	}{
		{"/a/b", "/a/b", true, false},
		{"/a/b", "/a/b/c", true, true},
		{"/a/b", "/a/bc", false, false},
		{"/a/b", "/a", false, false},
		{"/", "/a", true, true},
		{"/", "${home}", false, false},
		{"${home}", "${home}/x", true, true},
		{"${home}", "${workspace}", false, false},
	} {
		p, q := MustPath(tt.p), MustPath(tt.q)
		if p.Covers(q) != tt.covers || p.Above(q) != tt.above {
			t.Errorf("%s covers %s: %v, above: %v, want %v, %v", p, q, p.Covers(q), p.Above(q), tt.covers, tt.above)
		}
	}
}

// TestPathLaws holds the methods to each other.
func TestPathLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, q := path(slotRoots...).Draw(t, "p"), path(slotRoots...).Draw(t, "q")
		again, err := ParsePath(p.String())
		if err != nil || again != p {
			t.Fatalf("ParsePath(%s) = %s, %v", p, again, err)
		}
		up := slices.Collect(p.Upward())
		if len(up) != p.Depth()+1 || up[0] != p || !up[len(up)-1].IsRoot() {
			t.Fatalf("%s goes up by %v", p, up)
		}
		if got := slices.Contains(slices.Collect(q.Upward()), p); got != p.Covers(q) {
			t.Fatalf("%s covers %s: %v, and is on its way up: %v", p, q, p.Covers(q), got)
		}
		if parent, ok := p.Parent(); ok && (parent.Join(p.Base()) != p || parent.Compare(p) >= 0) {
			t.Fatalf("%s in %s is %s", p.Base(), parent, p)
		}
		if c := p.Compare(q); c != -q.Compare(p) && (c > 0) == (q.Compare(p) > 0) || (c == 0) != (p == q) {
			t.Fatalf("%s compares to %s as %d", p, q, c)
		}
	})
}

func FuzzParsePath(f *testing.F) {
	for _, s := range []string{"/", "/usr//bin/.", "${home}/x", "${workspace}", "/a\x00", "${}", "/../", "//..//"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePath(text)
		if err != nil {
			return
		}
		if again, err := ParsePath(p.String()); err != nil || again != p {
			t.Errorf("ParsePath(%q) = %s, and of that %s, %v", text, p, again, err)
		}
		for part := range strings.SplitSeq(p.Rel(), "/") {
			if part == "" && p.Rel() != "" || part == "." || part == ".." || len(part) > 255 {
				t.Errorf("ParsePath(%q) = %s has the component %q", text, p, part)
			}
		}
	})
}

// TestPlainPaths: what is taken as it stands is what cleaning would make of it.
func TestPlainPaths(t *testing.T) {
	var texts []string
	last := []string{""}
	for range 5 {
		var longer []string
		for _, text := range last {
			for _, next := range []string{"/", ".", "a", "b c", "\n", "\x7f", "é", "\xff"} {
				longer = append(longer, text+next)
			}
		}
		texts, last = append(texts, longer...), longer
	}
	name, long := strings.Repeat("x", maxComponent), strings.Repeat("/xy", maxPath/3)
	texts = append(texts, name, name+"x", "a/"+name, "a/"+name+"x", long[1:], long[1:]+"/a", long[1:]+"z", long[1:]+"zz")
	taken := 0
	for _, text := range texts {
		if !plain(text) {
			continue
		}
		taken++
		want, err := clean(Workspace, "/"+text)
		if got, _ := NewPath(Workspace, "/"+text); err != nil || got != want {
			t.Fatalf("NewPath(%q) = %v, cleaned it is %v, %v", text, got, want, err)
		}
	}
	if taken < 50 {
		t.Errorf("%d paths are plain, want more to compare", taken)
	}
}

func TestPathIsItsText(t *testing.T) {
	for _, p := range []string{"/", "/usr/bin", "${home}", "${workspace}/a"} {
		for _, text := range []string{"", "/", "usr/bin", "/usr/bin", "/usr/bin/", "/usr/bib", "xusr/bin", "${home}", "/home", "${workspace}/a", "/a"} {
			if got := MustPath(p).Is(text); got != (text == p) {
				t.Errorf("%s is %q: %v", p, text, got)
			}
		}
	}
}
