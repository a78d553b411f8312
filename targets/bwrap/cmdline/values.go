package cmdline

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/obspc/obspc/lang/diag"
)

// namespaceNames are the namespaces that bwrap makes, beside that of mounts.
var namespaceNames = []string{"user", "pid", "net", "ipc", "uts", "cgroup"}

// checkArguments refuses what bwrap refuses.
func (c *Command) checkArguments(u use) {
	for i, k := range u.args {
		want := c.want(u.option.args[i], k)
		if want != "" {
			c.findings.Add(wrongArgument(u, k, want))
		}
	}
}

// want is what bwrap wants instead of a word; "" when it takes it.
func (c *Command) want(k kind, w Word) string {
	if w.Unknown {
		return ""
	}
	switch k {
	case descriptor:
		// FD stands for a descriptor in lists that people read, as in the manual.
		if _, ok := decimal(w.Text); !ok && (c.stream || w.Text != "FD") {
			return "a descriptor, in decimal"
		}
	case number:
		if _, ok := decimal(w.Text); !ok {
			return "an id, in decimal"
		}
	case octal:
		if _, ok := permissions(w.Text); !ok {
			return "an octal number of at most 07777"
		}
	case amount:
		if n, err := strconv.ParseUint(w.Text, 0, 64); err != nil || n == 0 || n > maxTmpfs || w.Text[0] < '0' || w.Text[0] > '9' || strings.ContainsAny(w.Text, "_bBoO") {
			return "a number of bytes above 0"
		}
	case capability:
		_, ok := decimal(w.Text)
		if !ok && !strings.EqualFold(w.Text, "ALL") && !slices.Contains(capabilityNames, strings.ToUpper(w.Text)) {
			return "a capability, as CAP_SYS_ADMIN, or ALL"
		}
	}
	return ""
}

// decimal reads a number as strtol(3) does: blanks and a plus sign may precede it.
func decimal(text string) (int, bool) {
	text = strings.TrimPrefix(strings.TrimLeft(text, " \t\n\v\f\r"), "+")
	n, err := strconv.ParseUint(text, 10, 31)
	return int(n), err == nil
}

// permissions reads a mode as strtoul(3) does.
func permissions(text string) (uint32, bool) {
	text = strings.TrimPrefix(strings.TrimLeft(text, " \t\n\v\f\r"), "+")
	n, err := strconv.ParseUint(text, 8, 64)
	return uint32(n), err == nil && n <= 0o7777
}

// wrongArgument reports an argument that bwrap does not take.
func wrongArgument(u use, w Word, want string) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Error, Code: "wrong-argument", At: w.At,
		Message: fmt.Sprintf("%s wants %s, not %q", u.name, want, w.Text),
		Help:    "bwrap ends with an error here, and starts nothing",
	}
}
