package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// archive writes an initramfs: cpio in the form "newc" (the kernel's
// Documentation/driver-api/early-userspace/buffer-format.rst). Everything in it
// belongs to root.
type archive struct {
	w     io.Writer
	at    int
	inode int
	err   error
}

func (a *archive) put(text []byte) {
	if a.err == nil {
		var n int
		n, a.err = a.w.Write(text)
		a.at += n
	}
}

func (a *archive) pad() { a.put(make([]byte, (4-a.at%4)%4)) }

// add writes one entry. mode has the kernel's bits for kinds.
func (a *archive) add(name string, mode uint32, data []byte) {
	a.inode++
	a.put(fmt.Appendf(nil, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x",
		a.inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name)+1, 0))
	a.put([]byte(name + "\x00"))
	a.pad()
	a.put(data)
	a.pad()
}

const (
	kindDirectory = 0o040000
	kindFile      = 0o100000
	kindLink      = 0o120000
)

func (a *archive) directory(name string, perm uint32) { a.add(name, kindDirectory|perm, nil) }

func (a *archive) file(name string, perm uint32, path string) {
	text, err := os.ReadFile(path)
	if err != nil && a.err == nil {
		a.err = err
	}
	a.add(name, kindFile|perm, text)
}

// tree adds what lies below dir. It has directories, files and links only.
func (a *archive) tree(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		perm := uint32(info.Mode().Perm())
		switch info.Mode().Type() {
		case 0:
			a.file(name, perm, path)
		case fs.ModeDir:
			a.directory(name, perm)
		case fs.ModeSymlink:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			a.add(name, kindLink|0o777, []byte(to))
		default:
			return fmt.Errorf("%s is a %s", path, info.Mode().Type())
		}
		return a.err
	})
}

func (a *archive) close() error {
	a.add("TRAILER!!!", 0, nil)
	return a.err
}
