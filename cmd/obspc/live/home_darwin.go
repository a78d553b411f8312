package live

import (
	"os"
	"os/user"
	"path/filepath"
	"strconv"

	"github.com/obspc/obspc/compiler/ir"
)

// Home is the home directory that the user database gives this user; $HOME is
// never asked.
func Home() (ir.Path, error) {
	u, err := user.LookupId(strconv.Itoa(os.Getuid()))
	if err != nil {
		return ir.Path{}, err
	}
	real, err := filepath.EvalSymlinks(u.HomeDir)
	if err != nil {
		return ir.Path{}, err
	}
	return ir.NewPath(ir.Host, real)
}
