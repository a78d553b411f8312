package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// thirdParty is the file with the licences of what is linked in.
const thirdParty = "THIRD_PARTY.txt"

// pack adds the archive of a system, and its bills of materials.
func (b *build) pack(files map[string][]byte) error {
	modules, err := b.modules()
	if err != nil {
		return err
	}
	notices, err := b.notices(modules)
	if err != nil {
		return err
	}
	held := map[string][]byte{thirdParty: notices}
	for _, name := range []string{"LICENSE", "README.md", "docs/verify-release.md"} {
		if held[filepath.Base(name)], err = os.ReadFile(filepath.Join(b.src, name)); err != nil {
			return err
		}
	}
	for _, p := range b.programs {
		if held[p], err = os.ReadFile(filepath.Join(b.out, p)); err != nil {
			return err
		}
	}
	name := "obspc_" + b.version + "_" + strings.ReplaceAll(b.system, "/", "_")
	if files[name+".tar.gz"], err = archive(name, held, b.programs, b.time); err != nil {
		return err
	}
	bill := b.bill(name, modules, held)
	if files[name+".spdx.json"], err = bill.spdx(); err != nil {
		return err
	}
	files[name+".cdx.json"], err = bill.cyclonedx()
	return err
}

// archive is a tar of one directory, compressed: names sorted, owned by root, all
// of one time. The programs can be executed.
func archive(dir string, files map[string][]byte, executable []string, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression) // its header has neither name nor time
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(z)
	header := func(name string, mode, size int64, kind byte) error {
		return w.WriteHeader(&tar.Header{Typeflag: kind, Name: name, Mode: mode, Size: size, ModTime: at, Uname: "root", Gname: "root", Format: tar.FormatUSTAR})
	}
	if err := header(dir+"/", 0o755, 0, tar.TypeDir); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		mode := int64(0o644)
		if slices.Contains(executable, name) {
			mode = 0o755
		}
		if err := header(dir+"/"+name, mode, int64(len(files[name])), tar.TypeReg); err != nil {
			return nil, err
		}
		if _, err := w.Write(files[name]); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	err = z.Close()
	return out.Bytes(), err
}
