package release

import (
	"fmt"
	"strings"
)

// maxComponents is how deep a release goes: POLICY/FILE.
const maxComponents = 2

// reservedNames are file names that Windows gives to devices, whatever their
// extension ("Naming Files, Paths, and Namespaces", Win32 documentation).
var reservedNames = map[string]bool{
	"con": true, "prn": true, "aux": true, "nul": true,
	"com1": true, "com2": true, "com3": true, "com4": true, "com5": true, "com6": true, "com7": true, "com8": true, "com9": true,
	"lpt1": true, "lpt2": true, "lpt3": true, "lpt4": true, "lpt5": true, "lpt6": true, "lpt7": true, "lpt8": true, "lpt9": true,
}

// NameError says why a name may not stand in a release.
type NameError struct {
	Name   string
	Reason string
}

func (e *NameError) Error() string { return fmt.Sprintf("unsafe name %+q: %s", e.Name, e.Reason) }

// CheckName accepts the names that mean one file on every system: one or two
// components of [A-Za-z0-9._-] that begin with a letter or a digit and do not end
// in a dot. That leaves no "..", no absolute path, no drive, no option, no
// escape, no look-alike. The error is a *NameError.
func CheckName(name string) error {
	bad := func(reason string) error { return &NameError{name, reason} }
	switch {
	case name == "":
		return bad("it is empty")
	case len(name) > MaxName:
		return &NameError{name[:32] + "…", fmt.Sprintf("it has %d bytes, at most %d are read", len(name), MaxName)}
	case strings.HasPrefix(name, "/"):
		return bad("it is absolute")
	}
	components := strings.Split(name, "/")
	if len(components) > maxComponents {
		return bad(fmt.Sprintf("it is nested deeper than %d", maxComponents))
	}
	for _, c := range components {
		if reason := faultOf(c); reason != "" {
			return bad(reason)
		}
	}
	return nil
}

func faultOf(component string) string {
	switch component {
	case "":
		return "a component is empty"
	case ".", "..":
		return "it holds " + component
	}
	for i := range len(component) {
		if !isNameByte(component[i]) {
			return fmt.Sprintf("the byte %#02x is outside [A-Za-z0-9._-]", component[i])
		}
	}
	if component[0] == '.' || component[0] == '-' || component[0] == '_' {
		return "a component begins with " + component[:1]
	}
	if strings.HasSuffix(component, ".") {
		return "a component ends in a dot"
	}
	stem, _, _ := strings.Cut(component, ".")
	if reservedNames[strings.ToLower(stem)] {
		return stem + " is a device on Windows"
	}
	return ""
}

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-'
}

// fold is a name as a file system that ignores case sees it. Names are ASCII, so
// lower case is the whole of it.
func fold(name string) string { return strings.ToLower(name) }

// nameSet refuses a name twice, names that differ by case alone, and a name that
// is a directory of another.
type nameSet map[string]string // folded name, or folded directory with "/" → name

func (s nameSet) add(name string) error {
	folded := fold(name)
	if have, ok := s[folded]; ok {
		if have == name {
			return fmt.Errorf("duplicate name %q", name)
		}
		return &NameError{name, fmt.Sprintf("it differs from %q by case alone", have)}
	}
	if have, ok := s[folded+"/"]; ok {
		return &NameError{name, fmt.Sprintf("it is a directory of %q", have)}
	}
	if i := strings.IndexByte(name, '/'); i >= 0 {
		if have, ok := s[folded[:i]]; ok {
			return &NameError{name, fmt.Sprintf("%q is a file", have)}
		}
		if have, ok := s[folded[:i+1]]; ok && have[:i+1] != name[:i+1] {
			return &NameError{name, fmt.Sprintf("its directory differs from that of %q by case alone", have)}
		}
		s[folded[:i+1]] = name
	}
	s[folded] = name
	return nil
}

// maxProduct bounds a product's name, which also names its state file.
const maxProduct = 63

// CheckProduct accepts a product's name: lower-case letters, digits and ". _ -"
// inside, at most 63 bytes.
func CheckProduct(name string) error {
	reason := faultOf(name)
	switch {
	case name == "":
		return fmt.Errorf("product has no name")
	case len(name) > maxProduct:
		reason = fmt.Sprintf("it has %d bytes", len(name))
	case name != strings.ToLower(name):
		reason = "it is not in lower case"
	case reason == "":
		return nil
	}
	return fmt.Errorf("product %+q: %s; a name has a-z, 0-9 and . _ -, begins with a letter or digit, and has at most %d bytes", cut(name), reason, maxProduct)
}

// cut is the beginning of a name that may be of any length.
func cut(name string) string {
	if len(name) <= MaxName {
		return name
	}
	return name[:32] + "…"
}
