package runtime

import (
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/compiler/ir/propose"
	"github.com/obspc/obspc/targets/bwrap"
)

// machineHas asks this machine about a request, outside the sandbox.
func machineHas(r ir.Request) propose.Machine {
	var m propose.Machine
	if r.Kind == ir.ConnectRequest {
		return m
	}
	n, err := lookup(r.Path)
	if err != nil {
		m.Missing = true
		return m
	}
	m.Directory = n.exists() && kindOf(n.stat.Mode) == bwrap.Directory
	if len(n.links) > 0 && n.real != r.Path {
		m.Real = n.real
	}
	entry := func(at ir.Path) {
		above, _ := at.Parent()
		d, err := lookup(above)
		m.Missing = m.Missing || err != nil || !d.exists() || kindOf(d.stat.Mode) != bwrap.Directory
		m.Refused = m.Refused || err == nil && d.exists() && !permits(d, unix.S_IWOTH|unix.S_IXOTH)
	}
	node := func(rights uint32) {
		m.Missing = m.Missing || !n.exists()
		m.Refused = m.Refused || n.exists() && !permits(n, rights)
	}
	switch r.Kind {
	case ir.StatRequest:
		node(0)
	case ir.ReadRequest, ir.ListRequest, ir.ConnectUnixRequest:
		node(unix.S_IROTH)
	case ir.WriteRequest:
		node(unix.S_IWOTH)
	case ir.ExecuteRequest:
		node(unix.S_IXOTH)
	case ir.CreateRequest:
		m.There = n.kind != bwrap.Missing
		entry(r.Path)
	case ir.RemoveRequest:
		node(0)
		entry(r.Path)
	case ir.RenameRequest:
		node(0)
		entry(r.Path)
		entry(r.To)
	case ir.LinkRequest:
		node(0)
		entry(r.To)
	}
	return m
}

// permits reports whether the caller, without capabilities as in the sandbox, has
// rights (the bits for others) to a node, and its file system lets it be written
// where that is asked. An access control list is taken for permission.
func permits(n *node, rights uint32) bool {
	if rights == 0 {
		return true
	}
	fd, err := openBelow(unix.AT_FDCWD, n.real.String(), pathOnly, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var system unix.Statfs_t
	if rights&unix.S_IWOTH != 0 && unix.Fstatfs(fd, &system) == nil && system.Flags&unix.ST_RDONLY != 0 {
		return false
	}
	have := n.stat.Mode
	switch groups, err := os.Getgroups(); {
	case int(n.stat.Uid) == os.Geteuid():
		have >>= 6
	case err != nil || int(n.stat.Gid) == os.Getegid() || slices.Contains(groups, int(n.stat.Gid)):
		have >>= 3
	default:
		if acl, err := unix.Getxattr(fmt.Sprintf("/proc/self/fd/%d", fd), "system.posix_acl_access", nil); err == nil && acl > 0 {
			return true
		}
	}
	return have&rights == rights
}
