package ir

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Root is where a path starts. Roots are ordered (design 5.1): of two roots with
// rules that cover a path, the later one decides.
type Root uint8

// The roots. Host is "/"; the others are slots, known only on the machine.
// Config is where obspc's own configuration lies, when that is inside a write.
const (
	Host Root = iota
	Home
	Tmp
	Workspace
	Config

	numRoots = int(Config) + 1
)

var rootNames = [numRoots]string{"/", "home", "tmp", "workspace", "config"}

// String is "/" or the slot's name.
func (r Root) String() string { return rootNames[r] }

// RootNamed is the slot of that name.
func RootNamed(name string) (Root, bool) {
	for i, n := range rootNames {
		if n == name && i > 0 {
			return Root(i), true
		}
	}
	return Host, false
}

// Slots lists the slot roots in order.
func Slots() []Root { return []Root{Home, Tmp, Workspace, Config} }

// Path is an absolute path, or one that starts in a slot. It is clean: no ".",
// "..", empty or doubled component, no trailing slash, valid UTF-8 without
// control characters. The zero Path is "/". Paths compare with ==.
type Path struct {
	root Root
	rel  string // components joined by "/", no leading slash; "" is the root itself
}

// Faults of a path as text; NewPath and ParsePath wrap one of them.
var (
	ErrNotAbsolute      = errors.New("is not absolute")
	ErrDotDot           = errors.New(`has a ".." component`)
	ErrControlCharacter = errors.New("has a control character")
	ErrNotUTF8          = errors.New("is not valid UTF-8")
	ErrPathTooLong      = errors.New("is too long")
)

// Longest path and component Linux takes (PATH_MAX, NAME_MAX in limits.h); both
// also bound macOS.
const (
	maxPath      = 4095
	maxComponent = 255
)

// NewPath cleans rest and puts it below root. For Host, rest must begin with
// "/"; below a slot a leading slash is allowed and means nothing.
func NewPath(root Root, rest string) (Path, error) {
	if root == Host && !strings.HasPrefix(rest, "/") {
		return Path{}, fmt.Errorf("path %q %w", rest, ErrNotAbsolute)
	}
	if rel, ok := strings.CutPrefix(rest, "/"); ok && plain(rel) {
		return Path{root, rel}, nil
	}
	return clean(root, rest)
}

// clean is NewPath for what is not plain.
func clean(root Root, rest string) (Path, error) {
	if !utf8.ValidString(rest) {
		return Path{}, fmt.Errorf("path %q %w", rest, ErrNotUTF8)
	}
	if strings.IndexFunc(rest, unicode.IsControl) >= 0 {
		return Path{}, fmt.Errorf("path %q %w", rest, ErrControlCharacter)
	}
	var parts []string
	for part := range strings.SplitSeq(rest, "/") {
		switch {
		case part == "" || part == ".":
		case part == "..":
			return Path{}, fmt.Errorf("path %q %w", rest, ErrDotDot)
		case len(part) > maxComponent:
			return Path{}, fmt.Errorf("path %q %w (a name holds %d bytes)", rest, ErrPathTooLong, maxComponent)
		default:
			parts = append(parts, part)
		}
	}
	rel := strings.Join(parts, "/")
	if len(rel) >= maxPath {
		return Path{}, fmt.Errorf("path of %d bytes %w (a path holds %d)", len(rel), ErrPathTooLong, maxPath)
	}
	return Path{root, rel}, nil
}

// plain reports whether rel needs no cleaning and breaks no rule: most paths do not,
// and a run reads thousands. Components of printable ASCII, none of which begins with
// a dot; what else is fine is not plain.
func plain(rel string) bool {
	if rel == "" || len(rel) >= maxPath {
		return false
	}
	length := 0
	for i := range len(rel) {
		switch c := rel[i]; {
		case c == '/' || c == '.':
			if length == 0 {
				return false
			}
			if c == '/' {
				length = 0
				continue
			}
		case c < ' ' || c > '~':
			return false
		}
		if length++; length > maxComponent {
			return false
		}
	}
	return length > 0
}

// ParsePath reads the text form of a path ("/usr", "${workspace}/a") and cleans
// it.
func ParsePath(text string) (Path, error) {
	name, rest, ok := strings.Cut(strings.TrimPrefix(text, "${"), "}")
	if !ok || !strings.HasPrefix(text, "${") {
		return NewPath(Host, text)
	}
	root, ok := RootNamed(name)
	if !ok {
		if near, ok := RootNamed(strings.ToLower(name)); ok {
			return Path{}, fmt.Errorf("path %q starts in %q, which is no slot; did you mean ${%s}?", text, name, near)
		}
		return Path{}, fmt.Errorf("path %q starts in %q, which is no slot; those are ${workspace}, ${home} and ${tmp}", text, name)
	}
	if rest != "" && rest[0] != '/' {
		return Path{}, fmt.Errorf(`path %q wants a "/" after "${%s}"`, text, name)
	}
	return NewPath(root, rest)
}

// MustPath is ParsePath for paths that stand in the source.
func MustPath(text string) Path {
	p, err := ParsePath(text)
	if err != nil {
		panic(err)
	}
	return p
}

// RootPath is the root itself.
func RootPath(r Root) Path { return Path{root: r} }

// Root is where p starts.
func (p Path) Root() Root { return p.root }

// Rel is p below its root, without a leading slash; "" for the root itself.
func (p Path) Rel() string { return p.rel }

// String is the text form: "/usr/bin", "${workspace}", "${home}/.ssh".
func (p Path) String() string {
	switch {
	case p.root == Host:
		return "/" + p.rel
	case p.rel == "":
		return "${" + p.root.String() + "}"
	}
	return "${" + p.root.String() + "}/" + p.rel
}

// Is reports whether text is p's text form.
func (p Path) Is(text string) bool {
	if p.root == Host {
		return len(text) == 1+len(p.rel) && text[0] == '/' && text[1:] == p.rel
	}
	return text == p.String()
}

// MarshalText is the text form.
func (p Path) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads the text form.
func (p *Path) UnmarshalText(text []byte) error {
	q, err := ParsePath(string(text))
	*p = q
	return err
}

// IsRoot reports whether p is its root itself.
func (p Path) IsRoot() bool { return p.rel == "" }

// Base is the last component, "" for a root.
func (p Path) Base() string { return p.rel[strings.LastIndexByte(p.rel, '/')+1:] }

// Depth is the number of components below the root.
func (p Path) Depth() int {
	if p.rel == "" {
		return 0
	}
	return strings.Count(p.rel, "/") + 1
}

// Parent is the directory of p within its root; false for the root itself.
func (p Path) Parent() (Path, bool) {
	if p.rel == "" {
		return Path{}, false
	}
	return Path{p.root, p.rel[:max(strings.LastIndexByte(p.rel, '/'), 0)]}, true
}

// Join is p with rel, already clean, below it.
func (p Path) Join(rel string) Path {
	switch {
	case rel == "":
		return p
	case p.rel == "":
		return Path{p.root, rel}
	}
	return Path{p.root, p.rel + "/" + rel}
}

// Covers reports whether q is p or lies below it, by whole components, in the
// same root.
func (p Path) Covers(q Path) bool {
	if p.root != q.root || !strings.HasPrefix(q.rel, p.rel) {
		return false
	}
	return p.rel == "" || len(q.rel) == len(p.rel) || q.rel[len(p.rel)] == '/'
}

// Above reports whether p is a strict ancestor of q in the same root.
func (p Path) Above(q Path) bool { return p != q && p.Covers(q) }

// Upward yields p and then each ancestor up to its root.
func (p Path) Upward() iter.Seq[Path] {
	return func(yield func(Path) bool) {
		for ok := true; ok; p, ok = p.Parent() {
			if !yield(p) {
				return
			}
		}
	}
}

// Compare orders paths by root, then depth, then bytes: parents before children,
// as mounts are made.
func (p Path) Compare(q Path) int {
	if p.root != q.root {
		return int(p.root) - int(q.root)
	}
	if d := p.Depth() - q.Depth(); d != 0 {
		return d
	}
	return strings.Compare(p.rel, q.rel)
}
