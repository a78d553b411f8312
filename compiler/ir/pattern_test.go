package ir

import (
	"errors"
	"regexp"
	"strings"
	"testing"
)

// TestPathPatterns is the one table of what patterns match.
func TestPathPatterns(t *testing.T) {
	for _, tt := range []struct {
		pattern string
		yes, no []string
	}{
		{"/", []string{"/"}, []string{"/a", "/a/"}},
		{"/repos", []string{"/repos"}, []string{"/", "/repos/", "/repos/a", "/Repos", "/reposx"}},
		{"/repos/", []string{"/repos/"}, []string{"/repos", "/repos/a"}},
		{"/repos/*", []string{"/repos/a", "/repos/"}, []string{"/repos", "/repos/a/b", "/repos/a/"}},
		{"/repos/**", []string{"/repos", "/repos/", "/repos/a", "/repos/a/b", "/repos/a/b/"}, []string{"/", "/reposx", "/x/repos/a"}},
		{"/**", []string{"/", "/a", "/a/b/c", "/a/"}, nil},
		{"/*", []string{"/", "/a"}, []string{"/a/b", "/a/"}},
		{"/repos/*/pulls/*/reviews", []string{"/repos/a/pulls/1/reviews"}, []string{"/repos/a/b/pulls/1/reviews", "/repos/a/pulls/1/reviews/"}},
		{"/repos/**/reviews", []string{"/repos/reviews", "/repos/a/b/pulls/1/reviews", "/repos/reviews/reviews"}, []string{"/repos/a/reviews/x", "/reviews"}},
		{"/**/a/**/b", []string{"/a/b", "/x/a/y/z/b", "/a/a/b/b"}, []string{"/b/a", "/a", "/a/b/c"}},
		{"/v1/user-*", []string{"/v1/user-", "/v1/user-7", "/v1/user-a-b"}, []string{"/v1/user", "/v1/user-7/x"}},
		{"/v1/*-user-*.json", []string{"/v1/a-user-b.json", "/v1/-user-.json", "/v1/a-user-b-user-c.json"}, []string{"/v1/user.json", "/v1/a-user-b.jso"}},
		{"/a/**/", []string{"/a/", "/a/b/"}, []string{"/a", "/a/b"}},
		{"/caf%C3%A9", []string{"/caf%C3%A9"}, []string{"/caf%c3%a9", "/café"}},
	} {
		p, err := ParsePathPattern(tt.pattern)
		if err != nil {
			t.Errorf("ParsePathPattern(%q): %v", tt.pattern, err)
			continue
		}
		for _, path := range tt.yes {
			if !p.Matches(path) {
				t.Errorf("%s does not match %s", p, path)
			}
		}
		for _, path := range tt.no {
			if p.Matches(path) {
				t.Errorf("%s matches %s", p, path)
			}
		}
	}
}

func TestPathPatternRefused(t *testing.T) {
	for pattern, says := range map[string]string{
		"": "slash", "repos": "slash", "/a**": "by itself", "/**b": "by itself", "/***": "by itself", "/**/**": "one **",
		"/a?b": "query", "/a//b": `"/a/b"`, "/a/./b": `"/a/b"`, "/a/../b": `"/b"`, "/../b": "above", "/%7Ea": `"/~a"`, "/caf%c3%a9": `"/caf%C3%A9"`,
		"/café": "outside ASCII", "/a b": "control", "/a%2Fb": "slash", "/a;b": "parameter", "/a#b": "fragment", "/[ab]": `"/%5Bab%5D"`,
		"/" + strings.Repeat("a", MaxPatternBytes): "longer",
	} {
		if p, err := ParsePathPattern(pattern); !errors.Is(err, ErrPattern) || !strings.Contains(err.Error(), says) {
			t.Errorf("ParsePathPattern(%q) = %q, %v; want an error that says %q", pattern, p, err, says)
		}
	}
}

// FuzzPathPattern holds the matcher to a regular expression of the same meaning.
func FuzzPathPattern(f *testing.F) {
	f.Add("/repos/*/**/x*y", "/repos/a/b/xzy")
	f.Add("/**/a/**/b", "/a/a/b")
	f.Fuzz(func(t *testing.T, pattern, target string) {
		p, err := ParsePathPattern(pattern)
		if err != nil {
			return
		}
		path, _, err := CanonicalTarget(target)
		if err != nil {
			return
		}
		if got, want := p.Matches(path), asRegexp(p).MatchString(path); got != want {
			t.Errorf("%s matches %s: %t, want %t", p, path, got, want)
		}
	})
}

func asRegexp(p PathPattern) *regexp.Regexp {
	var b strings.Builder
	for segment := range strings.SplitSeq(string(p[1:]), "/") {
		if segment == "**" {
			b.WriteString("(/[^/]*)*")
			continue
		}
		b.WriteString("/" + strings.ReplaceAll(regexp.QuoteMeta(segment), `\*`, "[^/]*"))
	}
	return regexp.MustCompile("^(?:" + b.String() + ")$")
}

// TestCanonicalTarget is the table of request targets (RFC 3986, sections 3.3 and
// 6.2.2; the tricks of paths that servers read in two ways).
func TestCanonicalTarget(t *testing.T) {
	for _, tt := range []struct{ target, path, query string }{
		{"/", "/", ""},
		{"/a/b", "/a/b", ""},
		{"/a/./b", "/a/b", ""},
		{"/a/../b", "/b", ""},
		{"/public/%2e%2e/secret", "/secret", ""},
		{"/public/%2E./secret", "/secret", ""},
		{"//public//../secret", "/secret", ""},
		{"//", "/", ""},
		{"/a/", "/a/", ""},
		{"/a/.", "/a/", ""},
		{"/a/b/..", "/a/", ""},
		{"/a/..", "/", ""},
		{"/a?q=1&r=%2F", "/a", "?q=1&r=%2F"},
		{"/a?q=/../x;y", "/a", "?q=/../x;y"},
		{"/files/hello%20world.txt", "/files/hello%20world.txt", ""},
		{"/users/%40alice", "/users/@alice", ""},
		{"/users/caf%c3%a9", "/users/caf%C3%A9", ""},
		{"/%7euser", "/~user", ""},
		{"/a/100%25/b", "/a/100%25/b", ""},
		{"/a/100%25of/b", "/a/100%25of/b", ""},
		{"/a%3Bb", "/a%3Bb", ""},
		{"/a[b]|c", "/a%5Bb%5D%7Cc", ""},
		{"/fetch/http://example.test", "/fetch/http:/example.test", ""},
		{"/...", "/...", ""},
	} {
		path, query, err := CanonicalTarget(tt.target)
		if err != nil || path != tt.path || query != tt.query {
			t.Errorf("CanonicalTarget(%q) = %q, %q, %v; want %q, %q", tt.target, path, query, err, tt.path, tt.query)
			continue
		}
		if again, _, err := CanonicalTarget(path); err != nil || again != path {
			t.Errorf("CanonicalTarget(%q) = %q, %v: it is not stable", path, again, err)
		}
	}
	for target, want := range map[string]error{
		"": ErrTargetForm, "a": ErrTargetForm, "*": ErrTargetForm, "http://x/": ErrTargetForm, "?q": ErrTargetForm,
		"/..": ErrTargetAbove, "/a/../..": ErrTargetAbove, "/%2e%2e/a": ErrTargetAbove,
		"/a/%2f/b": ErrTargetSlash, "/a/%2Fb": ErrTargetSlash, `/a\b`: ErrTargetSlash, "/a%5cb": ErrTargetSlash, "/public/..%2fsecret": ErrTargetSlash,
		"/a/%252e%252e/b": ErrTargetTwice, "/a/%252F/b": ErrTargetTwice, "/a/%2573": ErrTargetTwice,
		"/a;x/b": ErrTargetParameter, "/public/..;/secret": ErrTargetParameter, "/a;": ErrTargetParameter,
		"/a%00b": ErrTargetControl, "/a%0Ab": ErrTargetControl, "/a%0d": ErrTargetControl, "/a%7Fb": ErrTargetControl, "/a\nb": ErrTargetControl,
		"/a b": ErrTargetControl, "/a?b c": ErrTargetControl, "/a?b\x00": ErrTargetControl,
		"/a#b": ErrTargetFragment, "/a?b#c": ErrTargetFragment,
		"/café": ErrTargetASCII, "/%": ErrTargetEscape, "/%4": ErrTargetEscape, "/%zz": ErrTargetEscape,
		"/" + strings.Repeat("a", MaxTargetBytes): ErrTargetLong,
	} {
		if path, _, err := CanonicalTarget(target); !errors.Is(err, want) {
			t.Errorf("CanonicalTarget(%q) = %q, %v; want %v", target, path, err, want)
		}
	}
}

func FuzzCanonicalTarget(f *testing.F) {
	f.Add("/a/../b%2e?x")
	f.Fuzz(func(t *testing.T, target string) {
		path, _, err := CanonicalTarget(target)
		if err != nil {
			return
		}
		if again, query, err := CanonicalTarget(path); err != nil || again != path || query != "" {
			t.Errorf("%q gives %q, which gives %q, %q, %v", target, path, again, query, err)
		}
	})
}
