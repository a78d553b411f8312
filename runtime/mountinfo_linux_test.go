package runtime

import "testing"

func TestMountinfo(t *testing.T) {
	const text = "22 1 0:21 / / ro,nosuid,relatime - tmpfs tmpfs rw\n" +
		"23 22 254:1 /home/u/a\\040b /a\\040b rw,relatime shared:7 master:1 - ext4 /dev/vda1 rw\n" +
		"25 24 0:30 / /x\\134y ro - tmpfs tmpfs rw\n" +
		"24 22 0:31 / /x\\134y rw - tmpfs tmpfs rw\n"
	all, err := parseMountinfo(text)
	if err != nil || len(all) != 4 {
		t.Fatalf("parseMountinfo = %v, %v", all, err)
	}
	top := topMounts(all)
	for at, readOnly := range map[string]bool{"/": true, "/a b": false, `/x\y`: true} {
		if m, ok := top[at]; !ok || m.readOnly != readOnly {
			t.Errorf("topMounts[%q] = %+v, %v, want read-only %v", at, m, ok, readOnly)
		}
	}
	for _, bad := range []string{"x", "1 2 3 4 5 6", "a 1 0:1 / / ro - t t rw\n"} {
		if got, err := parseMountinfo(bad); err == nil {
			t.Errorf("parseMountinfo(%q) = %v, want an error", bad, got)
		}
	}
}
