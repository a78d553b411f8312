package release

import (
	"archive/tar"
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
)

func packed(t testing.TB) []byte {
	t.Helper()
	data, err := Pack(build(t, sampleInput()))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestPackRoundTrip(t *testing.T) {
	files := build(t, sampleInput())
	shuffled := slices.Clone(files)
	slices.Reverse(shuffled)
	data, err := Pack(shuffled)
	if err != nil || !bytes.Equal(data, packed(t)) {
		t.Fatalf("Pack of the same files in another order differs, %v", err)
	}
	got, err := Unpack(data)
	if err != nil || len(got) != len(files) {
		t.Fatalf("Unpack = %d files, %v", len(got), err)
	}
	for i := range files {
		if got[i].Name != files[i].Name || !bytes.Equal(got[i].Data, files[i].Data) {
			t.Errorf("Unpack gives %s, want %s", got[i].Name, files[i].Name)
		}
	}
	got[0].Data[0]++
	if !bytes.Equal(data, packed(t)) {
		t.Error("the files share memory with the archive")
	}
}

// The packed form is the standard's: an independent reader finds the same files.
func TestPackIsTar(t *testing.T) {
	r := tar.NewReader(bytes.NewReader(packed(t)))
	for _, f := range build(t, sampleInput()) {
		h, err := r.Next()
		if err != nil || h.Name != f.Name || h.Format&tar.FormatUSTAR == 0 || h.Mode != 0o644 {
			t.Fatalf("next = %+v, %v, want %s", h, err, f.Name)
		}
		if data, err := io.ReadAll(r); err != nil || !bytes.Equal(data, f.Data) {
			t.Errorf("%s = %q, %v", f.Name, data, err)
		}
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("after the last file: %v", err)
	}
}

func TestUnpackRefuses(t *testing.T) {
	good := packed(t)
	for _, tt := range []struct {
		name string
		data func() []byte
		want string
	}{
		{"empty", func() []byte { return nil }, "no whole archive"},
		{"part of a block", func() []byte { return good[:len(good)-1] }, "no whole archive"},
		{"one end block", func() []byte { return good[:len(good)-512] }, ""},
		{"bytes after the end", func() []byte { return append(slices.Clone(good), make([]byte, 512)...) }, "want the end"},
		{"cut short", func() []byte { return good[:1024] }, "cut short"},
		{"a file twice", func() []byte { return append(slices.Clone(good[:len(good)-1024]), good...) }, "duplicate"},
		{"out of order", func() []byte { return slices.Concat(header("b", 0), header("a", 0), make([]byte, 1024)) }, "out of order"},
		{"unsafe name", func() []byte { return slices.Concat(header("../a", 0), make([]byte, 1024)) }, "unsafe name"},
		{"link", func() []byte { h := header("a", 0); h[156] = '2'; return slices.Concat(h, make([]byte, 1024)) }, "header"},
		{"mode", func() []byte { h := header("a", 0); h[103] = '7'; return slices.Concat(h, make([]byte, 1024)) }, "header"},
		{"prefix", func() []byte { h := header("a", 0); h[345] = 'x'; return slices.Concat(h, make([]byte, 1024)) }, "header"},
		{"text after the name", func() []byte { h := header("a", 0); h[2] = 'x'; return slices.Concat(h, make([]byte, 1024)) }, "header"},
		{"huge", func() []byte { return slices.Concat(header("a", MaxFile+1), make([]byte, 1024)) }, "size"},
		{"size that lies", func() []byte { return slices.Concat(header("a", 5000), make([]byte, 1024)) }, "cut short"},
		{"bytes after a file", func() []byte {
			return slices.Concat(header("a", 1), []byte("xy"), make([]byte, 510), make([]byte, 1024))
		}, "bytes follow"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if files, err := Unpack(tt.data()); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Unpack = %d files, %v, want an error with %q", len(files), err, tt.want)
			}
		})
	}
	if _, err := Unpack(good); err != nil {
		t.Errorf("the twin is refused: %v", err)
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add(packed(f))
	f.Add(slices.Concat(header("a/b", 1), []byte("x"), make([]byte, 511), make([]byte, 1024)))
	f.Fuzz(func(t *testing.T, data []byte) {
		files, err := Unpack(data)
		if err != nil {
			return
		}
		if again, err := Pack(files); err != nil || !bytes.Equal(again, data) {
			t.Errorf("Unpack accepts %d bytes that Pack does not write, %v", len(data), err)
		}
	})
}
