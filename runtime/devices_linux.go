package runtime

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/bwrap"
)

// ownDevices lists the nodes of the minimal /dev that belong to the caller: root's
// run could change their mode, owner and times for the whole machine, though it
// has no capability left, because bwrap shows the host's own nodes.
func ownDevices(p *ir.Policy, t *bwrap.Table) []string {
	minimal := map[ir.Path]bool{}
	for _, r := range p.Files {
		if r.Backing == ir.DevFS {
			minimal[r.Path] = true
		}
	}
	var out []string
	for _, m := range t.Mounts() {
		var stat unix.Stat_t
		if m.Kind == bwrap.DeviceNode && minimal[m.Path] && unix.Stat(m.Path.String(), &stat) == nil && int(stat.Uid) == os.Geteuid() {
			out = append(out, m.Path.String())
		}
	}
	return out
}

// fixDevices makes the nodes read-only for what this thread starts. Reading and
// writing a device goes on through a read-only mount; changing its node does not
// (open(2), EROFS). bwrap has no option for it: its read-only binds cannot be
// opened as devices. The thread gets a mount namespace of its own for this and
// keeps it, so it must not serve anything else afterwards.
func fixDevices(paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("a mount namespace for %s and others: %w", paths[0], err)
	}
	// Nothing of what follows may reach the namespace we came from.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	for _, p := range paths {
		if err := fixDevice(p); err != nil {
			return fmt.Errorf("make %s read-only: %w", p, err)
		}
	}
	return nil
}

func fixDevice(path string) error {
	if err := unix.Mount(path, path, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err != nil {
		return err
	}
	// Flags that the mount has already stay; in a user namespace they are locked.
	const kept = unix.ST_NOSUID | unix.ST_NOEXEC | unix.ST_NODEV
	flags := uintptr(fs.Flags) & kept
	return unix.Mount("", path, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY|flags, "")
}

func devicesNotFixed(err error) *Refusal {
	return refuse(Machine, "run as an ordinary user, or as root with CAP_SYS_ADMIN",
		"as root the command could change device nodes of the machine, and that cannot be prevented: %v", err)
}
