package proof

import (
	"strings"
	"testing"
)

// TestOnePlace: what macOS cannot tell apart is refused, whatever the profile says.
func TestOnePlace(t *testing.T) {
	other := compiled(t, stated(t, "read /usr"))
	for _, tt := range []struct {
		statements []string
		want       string
	}{
		{[]string{"read /opt/Tool", "write /opt/tool"}, "/opt/Tool and /opt/tool differ only by case"},
		{[]string{"read /opt/Tool", "execute /opt/tool/x"}, "/opt/Tool and /opt/tool differ only by case"},
		{[]string{"write /tmp/x", "read /private/tmp/x"}, "are about one place"},
		{[]string{"read /tmp/x", "read /private/tmp/x"}, "stat /private"}, // one place, said twice: it is the profile that is another's
		{[]string{"read /usr"}, ""},
	} {
		err := Check(stated(t, tt.statements...), []byte(other))
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("Check(%q) = %v, want %q", tt.statements, err, tt.want)
		}
	}
}
