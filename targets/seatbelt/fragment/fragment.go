// Package fragment reads the Seatbelt profiles that obspc writes, and no others: a
// small fixed grammar, each form of which has one meaning, stated here. Whatever
// else stands in a profile is an error with its place, so it is never held to mean
// something. What a rule decides is in decide.go; whether that is what a policy
// means is for package proof.
//
// It shares with the package that writes profiles the table of operations and
// nothing else. Package sbpl, which reads anybody's profile, is the other reader:
// neither knows the other, and tests hold them to each other.
package fragment

import (
	"fmt"
	"sync"

	"github.com/obspc/obspc/compiler/ir"
)

// Profile is a profile of the fragment. Under (version 1) and (deny default), which
// every one begins with, it is its rules in their order. Starts is what the name
// obspc-execute stands for, areas of which one must match; nil without it. Tag is
// the message of (deny default).
//
// It is safe for concurrent use, and must not be copied.
type Profile struct {
	Tag    string
	Starts []Filter
	Rules  []*Rule

	once   [2]sync.Once // without CONFIG, and with it
	byName [2]map[string][]*Rule
}

// Rule decides about some operations. Without filters it is what remains when no
// filtered rule of the operation matches; with some, it matches what any of them
// does. IfConfig: it stands only where the parameter CONFIG is given. Tag is what is
// added to the record of what it denies; it decides nothing.
type Rule struct {
	Allow      bool
	Operations []string
	Filters    []Filter
	IfConfig   bool
	Tag        string
	Line       int // from 1
}

// Kind says what a filter looks at.
type Kind uint8

// The filters. Node is one path; Tree a path and everything below it; Ancestors the
// directories strictly above a path, "/" among them. Remote is any address of a
// network; Proxy the port PROXY of 127.0.0.1, over TCP; Loopback every port of 127.0.0.1
// and ::1, over TCP. The others compare one property of the request with a word; Own is
// the end of a socket that the process itself has.
const (
	Node Kind = 1 + iota
	Tree
	Ancestors
	Remote
	Proxy
	Loopback
	Own
	Target
	SocketDomain
	MacPolicy
	GlobalName
	SysctlName
	PosixName
	UserClient
)

// Stream ends the word of a SocketDomain that asks for a socket of TCP besides.
const Stream = " SOCK_STREAM"

// Filter matches requests. Path is what the kinds up to Ancestors look at, Word what
// those from Own on do. Caseless: it matches every spelling of its paths that
// differs in the case of ASCII letters; only denials are. Starts: what matches must
// also be in the profile's Starts; only rules that allow are so.
type Filter struct {
	Kind     Kind
	Path     ir.Path
	Caseless bool
	Word     string
	Starts   bool
}

// Error is what is outside the fragment, and where: line and column count from 1.
type Error struct {
	Line, Column int
	Message      string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%d:%d: outside the fragment: %s", e.Line, e.Column, e.Message)
}
