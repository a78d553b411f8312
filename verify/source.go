package verify

import (
	"fmt"

	"github.com/obspc/obspc/verify/release"
)

// Source is where a release is read from: Dir or Memory.
type Source interface {
	fmt.Stringer
	open() (tree, error)
}

// tree is an opened source. Everything is looked at through it, and every file is
// read at most once.
type tree interface {
	// list is every entry of the release, in no particular order.
	list() ([]entry, error)
	// read reads a file of at most limit bytes. Without hold it is only hashed.
	read(name string, limit int64, hold bool) (content, *Failure)
	close()
}

// entry is one name below the release directory. fault is set when it may not be
// opened at all.
type entry struct {
	name      string
	directory bool
	fault     *Failure
}

// content is a file as it was read: its bytes if it was held, its digest and size
// in any case.
type content struct {
	data   []byte
	held   bool
	size   int64
	digest release.Digest
}

// maxEntries bounds how many names of a directory are looked at. The rest is
// reported as one fault.
const maxEntries = release.MaxFiles + 256

// Memory is a release that the caller holds, as `obspc exec` makes it. The files
// are copied.
func Memory(files []release.File) Source { return memory(files) }

type memory []release.File

func (m memory) String() string { return "memory" }

func (m memory) open() (tree, error) {
	t := memoryTree{files: m, byName: make(map[string]int, len(m))}
	for i, f := range m {
		if _, ok := t.byName[f.Name]; !ok {
			t.byName[f.Name] = i
		}
	}
	return t, nil
}

type memoryTree struct {
	files  []release.File
	byName map[string]int
}

func (t memoryTree) close() {}

func (t memoryTree) list() ([]entry, error) {
	if len(t.files) > maxEntries {
		return nil, fmt.Errorf("more than %d files", maxEntries)
	}
	var out []entry
	for i, f := range t.files {
		e := entry{name: f.Name}
		if t.byName[f.Name] != i {
			e.fault = &Failure{File: f.Name, Reason: UnsafeFile, Message: "the name is there twice"}
		}
		out = append(out, e)
	}
	return out, nil
}

func (t memoryTree) read(name string, limit int64, hold bool) (content, *Failure) {
	i, ok := t.byName[name]
	if !ok {
		return content{}, &Failure{File: name, Reason: Missing, Message: "there is no such file"}
	}
	data := t.files[i].Data
	if int64(len(data)) > limit {
		return content{}, oversize(name, limit, int64(len(data)))
	}
	if !hold {
		return content{size: int64(len(data)), digest: release.Sum(data)}, nil
	}
	// Copied before it is hashed: what is held is what was hashed, even if the
	// caller changes its slice meanwhile.
	own := append([]byte{}, data...)
	return content{data: own, held: true, size: int64(len(own)), digest: release.Sum(own)}, nil
}

// oversize reports a file beyond its limit; size is what the system said of it,
// which may be only the beginning.
func oversize(name string, limit, size int64) *Failure {
	return &Failure{
		File: name, Reason: Oversize, Message: "the file is too large",
		Wanted: fmt.Sprintf("at most %d bytes", limit), Found: fmt.Sprintf("%d", size),
	}
}
