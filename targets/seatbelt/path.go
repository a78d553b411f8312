package seatbelt

import (
	"strings"

	"github.com/obspc/obspc/compiler/ir"
)

// parameters are the names under which the runtime passes what slots are bound to,
// as in sandbox-exec -D HOME=/Users/u. CONFIG may be left out, the others are given
// when the profile uses them: (subpath (param "HOME")) without one is an error that
// refuses the whole profile. So is the port of the proxy (ProxyParameter).
var parameters = map[ir.Root]string{
	ir.Home: "HOME", ir.Tmp: "TMP", ir.Workspace: "WORKSPACE", ir.Config: "CONFIG",
}

// knownLinks are the links that every macOS has at "/", with the directories they
// lead to (system.sb of macOS 10.15; /home was measured by microsoft/mxc). The kernel hands the sandbox resolved paths:
// a rule that names /etc would match nothing.
var knownLinks = map[string]ir.Path{
	"tmp":  ir.MustPath("/private/tmp"),
	"var":  ir.MustPath("/private/var"),
	"etc":  ir.MustPath("/private/etc"),
	"home": ir.MustPath("/System/Volumes/Data/home"),
}

// resolve is p as the kernel spells it, and the known link on the way, if any.
func resolve(p ir.Path) (resolved, link ir.Path, linked bool) {
	if p.Root() != ir.Host {
		return p, ir.Path{}, false
	}
	first, rest, _ := strings.Cut(p.Rel(), "/")
	to, ok := knownLinks[first]
	if !ok {
		return p, ir.Path{}, false
	}
	return to.Join(rest), ir.RootPath(ir.Host).Join(first), true
}

// expression is p as an SBPL expression.
func expression(p ir.Path) (string, error) {
	if p.Root() == ir.Host {
		return quote(p.String())
	}
	param := `(param "` + parameters[p.Root()] + `")`
	if p.IsRoot() {
		return param, nil
	}
	rest, err := quote("/" + p.Rel())
	if err != nil {
		return "", err
	}
	return "(string-append " + param + " " + rest + ")", nil
}

// area is a set of paths: Path, and unless Only is set everything below it.
type area struct {
	Path ir.Path
	Only bool
}

// covers reports whether every path of b is one of a's.
func (a area) covers(b area) bool {
	if a.Only {
		return b.Only && a.Path == b.Path
	}
	return a.Path.Covers(b.Path)
}
