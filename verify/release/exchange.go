package release

import (
	"fmt"
	"os"
)

// exchange makes made stand at dir and leaves what stood there at made, in one
// step where the file system can do that.
func exchange(made, dir string) error {
	if swap(made, dir) == nil {
		return nil
	}
	return moveAside(made, dir)
}

// moveAside is exchange in steps: dir is missing for an instant, and what stood
// there is put back when the second step fails.
func moveAside(made, dir string) error {
	aside := made + ".old"
	if err := os.Rename(dir, aside); err != nil {
		return err
	}
	if err := os.Rename(made, dir); err != nil {
		if back := os.Rename(aside, dir); back != nil {
			return fmt.Errorf("%w; what stood at %s is now at %s: %v", err, dir, aside, back)
		}
		return err
	}
	return os.Rename(aside, made)
}
