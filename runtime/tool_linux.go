package runtime

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/bwrap"
)

// DefaultBwrap is the bubblewrap that is used unless another is named. PATH is
// never searched.
const DefaultBwrap = "/usr/bin/bwrap"

// Oldest version with every option that the argument set uses: --disable-userns
// came last (bubblewrap 0.8.0 release notes).
const oldestMajor, oldestMinor = 0, 8

// maxTool bounds what is read of the executable; bubblewrap has some 100 KB, and what
// stands in for it in tests is a Go program.
const maxTool = 64 << 20

// tool is the bubblewrap that runs, and what evidence says of it.
type tool struct {
	path     ir.Path
	version  string
	digest   string
	identity identity
}

// findTool checks the bubblewrap at path ("": the default one): a regular file of
// root, which nobody else can replace, and not setuid.
func findTool(path string) (*tool, *Refusal) {
	if path == "" {
		path = DefaultBwrap
	}
	at, err := ir.NewPath(ir.Host, path)
	if err != nil {
		return nil, oddTool(err)
	}
	n, err := lookup(at)
	if err != nil {
		return nil, refuse(Machine, "", "%v", err)
	}
	switch {
	case !n.exists() && n.barred == nil:
		return nil, noTool(path)
	case !n.exists():
		return nil, barredTool(path, n.barred.at)
	}
	for _, l := range n.links {
		if !l.system {
			return nil, foreignTool(path, "the link "+l.at.String()+" is not root's alone")
		}
	}
	if why := replaceable(n.real); why != "" {
		return nil, foreignTool(path, why)
	}
	return readTool(n)
}

// replaceable says how somebody but root could put another file at p; "" when
// nobody could.
func replaceable(p ir.Path) string {
	for above, ok := p.Parent(); ok; above, ok = above.Parent() {
		var stat unix.Stat_t
		if err := unix.Lstat(above.String(), &stat); err != nil {
			return err.Error()
		}
		if stat.Uid != 0 {
			return fmt.Sprintf("its directory %s belongs to user %d, not to root", above, stat.Uid)
		}
		if stat.Mode&(unix.S_IWGRP|unix.S_IWOTH) != 0 && stat.Mode&unix.S_ISVTX == 0 {
			return fmt.Sprintf("others may write to its directory %s", above)
		}
	}
	return ""
}

func readTool(n *node) (*tool, *Refusal) {
	path := n.path.String()
	switch {
	case kindOf(n.stat.Mode) != bwrap.File:
		return nil, foreignTool(path, "it is no regular file")
	case n.stat.Mode&(unix.S_ISUID|unix.S_ISGID) != 0:
		return nil, setuidTool(path)
	case n.stat.Uid != 0:
		return nil, foreignTool(path, fmt.Sprintf("it belongs to user %d, not to root", n.stat.Uid))
	case n.stat.Mode&(unix.S_IWGRP|unix.S_IWOTH) != 0:
		return nil, foreignTool(path, "others may write to it")
	case n.stat.Mode&0o111 == 0:
		return nil, foreignTool(path, "it is not executable")
	}
	if n.stat.Size > maxTool {
		return nil, foreignTool(path, "it is too large for a bubblewrap")
	}
	text, err := os.ReadFile(n.real.String())
	if err != nil {
		return nil, refuse(Machine, "", "%v", err)
	}
	t := &tool{path: n.real, version: toolVersion(text), identity: identityOf(&n.stat)}
	sum := sha256.Sum256(text)
	t.digest = hex.EncodeToString(sum[:])
	if t.version != "" && tooOld(t.version) {
		return nil, oldTool(path, t.version)
	}
	return t, nil
}

// versionText is what `bwrap --version` prints; it stands in the executable.
var versionText = []byte("bubblewrap ")

// toolVersion is the version that an executable carries, read and not run: a
// start of it would cost a quarter of a whole sandbox. "" when it says none; what
// it cannot do then shows when it is run.
func toolVersion(text []byte) string {
	for {
		at := bytes.Index(text, versionText)
		if at < 0 {
			return ""
		}
		text = text[at+len(versionText):]
		digits := text[:min(len(text), 32)]
		end := bytes.IndexFunc(digits, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
		if end > 0 && digits[0] != '.' && bytes.IndexByte(digits[:end], '.') > 0 {
			return string(digits[:end])
		}
	}
}

// tooOld reports whether a version lacks options that the argument set uses.
func tooOld(version string) bool {
	parts := strings.SplitN(version, ".", 3)
	major, _ := strconv.Atoi(parts[0])
	minor, _ := strconv.Atoi(parts[1])
	return major < oldestMajor || major == oldestMajor && minor < oldestMinor
}

func noTool(path string) *Refusal {
	return refuse(Machine, installBwrap, "bubblewrap is missing: there is no %s", path)
}

func barredTool(path string, at ir.Path) *Refusal {
	return refuse(Machine, installBwrap, "bubblewrap is missing: %s may not be searched on the way to %s", at, path)
}

func oddTool(err error) *Refusal {
	return refuse(Input, "name an absolute path, as in --bwrap "+DefaultBwrap, "--bwrap: %v", err)
}

func foreignTool(path, why string) *Refusal {
	return refuse(Machine, "use one that only root can change", "%s is not used as bubblewrap: %s", path, why)
}

func setuidTool(path string) *Refusal {
	return refuse(Machine, "take the bit away (chmod u-s) and let user namespaces do its work, or name another with --bwrap PATH",
		"%s is setuid: such a bubblewrap runs as root and lacks --disable-userns", path)
}

func oldTool(path, version string) *Refusal {
	return refuse(Machine, installBwrap, "%s is bubblewrap %s, too old", path, version)
}
