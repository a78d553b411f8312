//go:build !linux

package runtime

import "os"

// sinkDirectory opens the directory that evidence goes to.
func sinkDirectory(dir string) (*os.Root, error) { return os.OpenRoot(dir) }
