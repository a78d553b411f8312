package ir

import (
	"strings"
	"testing"
)

func TestParseRequest(t *testing.T) {
	for _, tt := range []struct {
		words string // separated by "|"
		want  string // "": refused
	}{
		{"read|/usr//bin/./env/", "read /usr/bin/env"},
		{"list|/", "list /"},
		{"write|${workspace}/a b", "write ${workspace}/a b"},
		{"stat|${home}", "stat ${home}"},
		{"rename|${tmp}/a|${workspace}/b", "rename ${tmp}/a ${workspace}/b"},
		{"connect|API.Example.com.:443", "connect api.example.com:443"},
		{"connect|10.0.0.1:1", "connect 10.0.0.1:1"},
		{"connect|[2001:DB8::7]:65535", "connect [2001:db8::7]:65535"},
		{"connect|[::ffff:10.0.0.1]:443", "connect 10.0.0.1:443"},
		{"connect|a.test:443|by|/usr/bin/curl", "connect a.test:443 by /usr/bin/curl"},
		{"connect-unix|/run/x.sock", "connect-unix /run/x.sock"},
		{"", ""},
		{"fly|/x", ""},
		{"read", ""},
		{"read|/a|/b", ""},
		{"read|usr", ""},
		{"read|/usr/../etc", ""},
		{"read|/a\x00b", ""},
		{"read|${hom}/x", ""},
		{"read|${workspace}x", ""},
		{"read|${workspace", ""},
		{"rename|/a", ""},
		{"read|/x|by|/bin/sh", ""},
		{"connect|a.test", ""},
		{"connect|a.test:", ""},
		{"connect|a.test:0", ""},
		{"connect|a.test:65536", ""},
		{"connect|a.test:+443", ""},
		{"connect|a.test:0443", ""},
		{"connect|:443", ""},
		{"connect|*.a.test:443", ""},
		{"connect|::1:443", ""},
		{"connect|[::1:443", ""},
		{"connect|[10.0.0.1]:443", ""},
		{"connect|[a.test]:443", ""},
		{"connect|[fe80::1%eth0]:443", ""},
		{"connect|2130706433:443", ""},
		{"connect|a.test:443|by|curl", ""},
	} {
		got, err := ParseRequest(strings.Split(tt.words, "|"))
		text := ""
		if err == nil {
			text = got.String()
		}
		if text != tt.want {
			t.Errorf("ParseRequest(%q) = %q, %v, want %q", tt.words, text, err, tt.want)
		}
	}
	if _, err := ParseRequest(nil); err == nil {
		t.Error("ParseRequest(nil) accepts nothing as a request")
	}
}

// FuzzParseRequest wants what is accepted to be in its one form, and decided.
func FuzzParseRequest(f *testing.F) {
	f.Add("read", "/usr/bin", "", "")
	f.Add("rename", "${workspace}/a", "${home}/b", "")
	f.Add("connect", "api.example.com:443", "by", "/usr/bin/curl")
	f.Add("connect", "[::1]:1", "", "")
	f.Add("link", "${tmp}", "/x", "")
	d := NewDecider(rules(map[string]Level{"/usr": Read, "${workspace}": Write, "${home}/.ssh": Deny}, "/usr/bin"))
	f.Fuzz(func(t *testing.T, kind, first, second, third string) {
		words := []string{kind, first}
		for _, w := range []string{second, third} {
			if w != "" {
				words = append(words, w)
			}
		}
		r, err := ParseRequest(words)
		if err != nil {
			return
		}
		again := []string{string(r.Kind)}
		if r.Kind == ConnectRequest {
			authority, _, _ := strings.Cut(strings.TrimPrefix(r.String(), "connect "), " by ")
			again = append(again, authority)
		} else {
			again = append(again, r.Path.String())
		}
		if r.Kind == RenameRequest || r.Kind == LinkRequest {
			again = append(again, r.To.String())
		}
		if r.HasBy {
			again = append(again, "by", r.By.String())
		}
		q, err := ParseRequest(again)
		if err != nil || q.String() != r.String() {
			t.Errorf("ParseRequest(%q) = %s, and in that form %s, %v", words, r, q, err)
		}
		if a, b := d.Decide(r), d.Decide(q); a != b {
			t.Errorf("Decide(%s) = %v, and in its own form %v", r, a, b)
		}
	})
}
