package compiler

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/lang/diag"
)

// shmSize is how system.shm is written; a tmpfs counts whole pages.
var shmSize = measure{byteUnits, 4096, 1 << 40, `"64MiB"`, "4KiB", "1TiB"}

// system states what the system blocks say.
func system(c *compilation) {
	for _, b := range c.bodies {
		s := b.source.System
		c.setting(b, devicesKind, "system.devices", s.Devices)
		if !s.Shm.Range.IsZero() {
			n, fault := shmSize.count("shm", s.Shm, nil)
			if fault != nil {
				c.find(b, *fault)
			} else {
				b.add(key{kind: shmKind}, n, "system.shm", s.Shm.Range)
			}
		}
		c.names(b, serviceKind, "services", s.Services)
		c.names(b, sysctlKind, "sysctls", s.Sysctls)
		c.names(b, ipcKind, "ipc", s.IPC)
		c.names(b, iokitKind, "iokit", s.IOKit)
	}
}

// names states the names of one list; a name stated again says nothing new.
func (c *compilation) names(b *body, k kind, list string, names []lang.String) {
	seen := map[string]bool{}
	for i, n := range names {
		switch {
		case n.Value == "" || strings.IndexFunc(n.Value, unicode.IsControl) >= 0:
			c.find(b, systemName(list, n))
		case strings.ContainsAny(n.Value, "*?"):
			c.find(b, systemWildcard(list, n))
		case !seen[n.Value]:
			seen[n.Value] = true
			b.add(key{kind: k, name: n.Value}, ir.Name{Name: n.Value}, fmt.Sprintf("system.%s[%d]", list, i), n.Range)
		}
	}
}

// systemName reports a name that nothing can have.
func systemName(list string, n lang.String) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "system-name",
		At:      n.Range,
		Message: fmt.Sprintf("system.%s has a name that is empty or has a control character", list),
		Help:    "write the name as the system lists it, or remove it",
	}
}

// systemWildcard reports a pattern where names compare by equality.
func systemWildcard(list string, n lang.String) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "system-wildcard",
		At:      n.Range,
		Message: fmt.Sprintf("system.%s names %q, and its names have no wildcards", list, n.Value),
		Help:    "write each name in full",
	}
}
