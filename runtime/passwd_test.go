package runtime

import (
	"strings"
	"testing"
)

func TestFindHome(t *testing.T) {
	const passwd = "root:x:0:0:root:/root:/bin/sh\n#old:x:7:7::/old:/bin/sh\nlp:x:7:7:lp:/var/spool/lpd:/sbin/nologin\ntwin:x:7:7::/twin:\nshort:x:8\n+nis\n"
	for _, tt := range []struct {
		uid  int
		home string
		ok   bool
	}{{0, "/root", true}, {7, "/var/spool/lpd", true}, {8, "", false}, {70, "", false}} {
		if home, ok := findHome(strings.NewReader(passwd), tt.uid); home != tt.home || ok != tt.ok {
			t.Errorf("findHome(%d) = %q, %v, want %q, %v", tt.uid, home, ok, tt.home, tt.ok)
		}
	}
}
