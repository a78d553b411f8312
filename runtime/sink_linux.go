package runtime

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/ir"
)

// sinkDirectory opens the directory that evidence goes to. Where root is the
// caller, so are its commands, and every link may be one of theirs.
func sinkDirectory(dir string) (*os.Root, error) {
	if !filepath.IsAbs(dir) {
		// The kernel's answer, without links; $PWD may hold some.
		here, err := unix.Getwd()
		if err != nil {
			return nil, fmt.Errorf("the current directory has no path: %w", err)
		}
		dir = filepath.Join(here, dir)
	}
	at, err := ir.NewPath(ir.Host, filepath.Clean(dir))
	if err != nil {
		return nil, err
	}
	n, err := lookup(at)
	if err != nil {
		return nil, err
	}
	for _, l := range n.links {
		if !l.system || os.Geteuid() == 0 {
			return nil, linkToSink(l, n.real)
		}
	}
	fd, err := openBelow(unix.AT_FDCWD, n.real.String(), unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", dir, err)
	}
	defer unix.Close(fd)
	return os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", fd))
}

func linkToSink(l link, real ir.Path) error {
	return fmt.Errorf("%s is a link to %s, which a command may have made; name %s", l.at, l.target, real)
}
