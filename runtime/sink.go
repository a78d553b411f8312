package runtime

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
)

// Sink is where evidence goes. It is opened before a run, so that a directory
// that cannot be written refuses the run and not its result.
type Sink struct {
	dir  *os.Root
	name string
}

// OpenSink prepares to write evidence to path. What is there stays until Write. A
// link on the way that not only root could have made is refused: an earlier run
// may have put it there, and evidence replaces what it finds.
func OpenSink(path string) (*Sink, error) {
	name := filepath.Base(path)
	if path == "" || name == "." || name == ".." || os.IsPathSeparator(path[len(path)-1]) {
		return nil, fmt.Errorf("evidence %q: names no file", path)
	}
	dir, err := sinkDirectory(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("evidence %s: %w", path, err)
	}
	s := &Sink{dir, name}
	if info, err := dir.Lstat(name); err == nil && !info.Mode().IsRegular() {
		dir.Close()
		return nil, fmt.Errorf("evidence %s: there is something that is no regular file", path)
	}
	// The file itself is made afterwards: the command may be able to write here.
	probe, err := s.create()
	if err != nil {
		dir.Close()
		return nil, fmt.Errorf("evidence %s: %w", path, err)
	}
	name = probe.Name()
	probe.Close()
	dir.Remove(filepath.Base(name))
	return s, nil
}

func (s *Sink) create() (*os.File, error) {
	return s.dir.OpenFile("."+s.name+"."+rand.Text(), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
}

// Write puts the evidence at its path, all of it or nothing. A Sink is written
// once, when nothing of the sandbox runs any more.
func (s *Sink) Write(e *Evidence) error {
	defer s.dir.Close()
	file, err := s.create()
	if err != nil {
		return fmt.Errorf("evidence %s: %w", s.name, err)
	}
	temporary := filepath.Base(file.Name())
	_, err = file.Write(e.JSON())
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = s.dir.Rename(temporary, s.name)
	}
	if err != nil {
		s.dir.Remove(temporary)
		return fmt.Errorf("evidence %s: %w", s.name, err)
	}
	return nil
}
