package release

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// A packed release is a POSIX ustar archive (IEEE Std 1003.1, pax, "ustar
// Interchange Format"): sorted names, mode 0644, owner 0, time 0, two zero blocks
// at the end. Any tar lists it; only the one spelling that Pack writes is read.
const block = 512

// maxArchive bounds a packed release in bytes.
const maxArchive = MaxHeld + (MaxFiles+2)*2*block + 2*block

// Pack writes a release as one run of bytes, the same for the same files.
func Pack(files []File) ([]byte, error) {
	sorted := append([]File(nil), files...)
	sortFiles(sorted)
	var b bytes.Buffer
	for _, f := range sorted {
		b.Write(header(f.Name, int64(len(f.Data))))
		b.Write(f.Data)
		b.Write(make([]byte, padding(len(f.Data))))
	}
	b.Write(make([]byte, 2*block))
	if _, err := Unpack(b.Bytes()); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// padding is what is missing to a whole block.
func padding(n int) int { return -n & (block - 1) }

// header is the ustar header of a regular file.
func header(name string, size int64) []byte {
	h := make([]byte, block)
	copy(h[0:100], name)
	copy(h[100:], "0000644\x00")
	copy(h[108:], "0000000\x00")
	copy(h[116:], "0000000\x00")
	copy(h[124:], fmt.Sprintf("%011o\x00", size))
	copy(h[136:], "00000000000\x00")
	copy(h[148:], "        ") // the checksum counts itself as spaces
	h[156] = '0'
	copy(h[257:], "ustar\x0000")
	copy(h[329:], "0000000\x00")
	copy(h[337:], "0000000\x00")
	sum := 0
	for _, c := range h {
		sum += int(c)
	}
	copy(h[148:], fmt.Sprintf("%06o\x00 ", sum))
	return h
}

// Unpack reads what Pack writes and nothing else. The files share no memory with
// data. Whether they are a release is for verify.Open to judge.
func Unpack(data []byte) ([]File, error) {
	if len(data) > maxArchive || len(data)%block != 0 || len(data) < 2*block {
		return nil, fmt.Errorf("packed release: %d bytes are no whole archive of at most %d", len(data), maxArchive)
	}
	var files []File
	names := nameSet{}
	held := int64(0)
	for at := 0; ; {
		if isZero(data[at:min(at+2*block, len(data))]) {
			if at+2*block != len(data) {
				return nil, fmt.Errorf("packed release: want the end at byte %d, found %d bytes", at+2*block, len(data))
			}
			return files, nil
		}
		f, next, err := unpackFile(data, at)
		if err == nil {
			err = names.add(f.Name)
		}
		if err == nil && len(files) > 0 && files[len(files)-1].Name > f.Name {
			err = fmt.Errorf("name %q is out of order", f.Name)
		}
		if held += int64(len(f.Data)); err == nil && (held > MaxHeld || len(files) >= MaxFiles+2) {
			err = fmt.Errorf("more than %d files or %d bytes", MaxFiles+2, MaxHeld)
		}
		if err != nil {
			return nil, fmt.Errorf("packed release: byte %d: %w", at, err)
		}
		files = append(files, f)
		at = next
	}
}

// unpackFile reads the file whose header is at byte at. Instead of interpreting
// the header's fields it takes name and size and compares the rest with the only
// header that Pack would write for them.
func unpackFile(data []byte, at int) (File, int, error) {
	h := data[at : at+block]
	field, _, _ := bytes.Cut(h[:100], []byte{0})
	name := string(field)
	if err := CheckName(name); err != nil {
		return File{}, 0, err
	}
	size, err := strconv.ParseInt(string(h[124:135]), 8, 64)
	if err != nil || size < 0 || size > MaxFile {
		return File{}, 0, fmt.Errorf("size of %q is outside 0 to %d", name, MaxFile)
	}
	if !bytes.Equal(h, header(name, size)) {
		return File{}, 0, fmt.Errorf("header of %q is not the one that obspc writes", name)
	}
	start := at + block
	end := start + int(size) + padding(int(size))
	// Two zero blocks must follow the last file.
	if end+2*block > len(data) {
		return File{}, 0, errors.New("archive is cut short")
	}
	if !isZero(data[start+int(size) : end]) {
		return File{}, 0, fmt.Errorf("bytes follow the end of %q", name)
	}
	return File{name, bytes.Clone(data[start : start+int(size)])}, end, nil
}

func isZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
