package verify

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/obspc/obspc/verify/release"
)

// watched is a source that notes which files are read.
type watched struct {
	Source
	names *[]string
}

func (w watched) open() (tree, error) {
	t, err := w.Source.open()
	return watchedTree{t, w.names}, err
}

type watchedTree struct {
	tree
	names *[]string
}

func (t watchedTree) read(name string, limit int64, hold bool) (content, *Failure) {
	*t.names = append(*t.names, name)
	return t.tree.read(name, limit, hold)
}

// A release with an unsafe name in either list has no artifact opened under any
// name that it gives.
func TestNothingIsOpenedUnderAnUnsafeName(t *testing.T) {
	reads := func(files []release.File) []string {
		var names []string
		Open(watched{Memory(files), &names}, Trust{Now: now})
		slices.Sort(names)
		return names
	}
	files := sample(t)
	if got := reads(files); len(got) < len(files) {
		t.Fatalf("of a good release %q are read", got)
	}
	for _, name := range []string{"../x", "/etc/passwd", "a//b", "./a", "a/../b", "", "a/", `C:\\x`, `a\\b`} {
		bad := sample(t)
		f := at(bad, release.ManifestName)
		f.Data = replaced(f.Data, `"name":"web/run.json"`, `"name":"`+name+`"`)
		if got := reads(resum(bad)); !slices.Equal(got, []string{release.SumsName, release.ManifestName}) {
			t.Errorf("with %q in release.json these are read: %q", name, got)
		}
	}
	bad := sample(t)
	f := at(bad, release.SumsName)
	f.Data = append(f.Data, string(release.Sum(nil))+"  ../x\n"...)
	if got := reads(bad); !slices.Equal(got, []string{release.SumsName, release.ManifestName}) {
		t.Errorf("with ../x in SHA256SUMS these are read: %q", got)
	}
}

// What is trusted is a plain file that nobody else can change.
func TestReadTrusted(t *testing.T) {
	const text = "what is trusted"
	for _, tt := range []struct {
		name   string
		make   func(path string) error
		reason Reason // "": read
		absent bool
	}{
		{"plain", func(string) error { return nil }, "", false},
		{"read-only", func(path string) error { return os.Chmod(path, 0o400) }, "", false},
		{"link to a plain one", func(path string) error { return moveAndLink(filepath.Dir(path), filepath.Base(path)) }, "", false},
		{"group may write", func(path string) error { return os.Chmod(path, 0o664) }, UnsafeFile, false},
		{"others may write", func(path string) error { return os.Chmod(path, 0o646) }, UnsafeFile, false},
		{"second name", func(path string) error { return os.Link(path, path+".2") }, UnsafeFile, false},
		{"folder", func(path string) error { return swapFor(filepath.Dir(path), filepath.Base(path), mkdir) }, UnsafeFile, false},
		{"fifo", func(path string) error { return swapFor(filepath.Dir(path), filepath.Base(path), mkfifo) }, UnsafeFile, false},
		{"link to a device", func(path string) error {
			return swapFor(filepath.Dir(path), filepath.Base(path), func(path string) error { return os.Symlink("/dev/zero", path) })
		}, UnsafeFile, false},
		{"large", func(path string) error { return os.Truncate(path, 1<<30) }, Oversize, false},
		{"directory that others may write", func(path string) error { return os.Chmod(filepath.Dir(path), 0o777) }, UnsafeFile, false},
		{"directory that the group may write", func(path string) error { return os.Chmod(filepath.Dir(path), 0o775) }, UnsafeFile, false},
		{"sticky directory that others may write", func(path string) error { return os.Chmod(filepath.Dir(path), 0o777|os.ModeSticky) }, "", false},
		{"directory above that others may write", func(path string) error { return os.Chmod(filepath.Dir(filepath.Dir(path)), 0o777) }, UnsafeFile, false},
		{"missing", os.Remove, Missing, true},
		{"another user's", func(path string) error {
			if os.Geteuid() != 0 {
				return os.Chmod(path, 0o646) // a file cannot be given away here
			}
			return os.Chown(path, 65534, 65534)
		}, UnsafeFile, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "folder", "trusted")
			if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			overwrite(t, path, []byte(text))
			if err := tt.make(path); err != nil {
				t.Fatal(err)
			}
			data, fault, absent := ReadTrusted(path, 1024)
			if tt.reason == "" {
				if fault != nil || string(data) != text {
					t.Errorf("ReadTrusted = %q, %v", data, fault)
				}
				return
			}
			if fault == nil || fault.Reason != tt.reason || data != nil || absent != tt.absent {
				t.Errorf("ReadTrusted = %q, %v, absent %v; want %s", data, fault, absent, tt.reason)
			}
		})
	}
}

// A report on what is trusted tells that fault and nothing else, and is a no.
func TestRefused(t *testing.T) {
	r := Refused(Dir("release"), Pins, Failure{File: "obspc.pins", Reason: UnsafeFile, Message: "others may write to it"})
	if r.Verified() || r.ExitCode() != exitNo || len(r.Failures()) != 1 || r.Verdict() != "unverified: pins failed; first: obspc.pins: unsafe-file: others may write to it" {
		t.Errorf("Refused = exit %d, %s", r.ExitCode(), r)
	}
}

// mostMemory is what looking at a hostile release may allocate in all, in bytes.
const mostMemory = 64 << 20

// A directory full of what should not be there is refused at once and costs little,
// however large its files are: no more is read than release.json states.
func TestOpenIsBounded(t *testing.T) {
	for name, attack := range map[string]func(dir string) error{
		"checksums of a gigabyte": func(dir string) error { return os.Truncate(dir+"/"+release.SumsName, 1<<30) },
		"manifest of a gigabyte":  func(dir string) error { return os.Truncate(dir+"/"+release.ManifestName, 1<<30) },
		"artifact of a gigabyte":  func(dir string) error { return os.Truncate(dir+"/web/run.json", 1<<30) },
		"map of a gigabyte":       func(dir string) error { return os.Truncate(dir+"/web/"+release.MapName, 1<<30) },
		"signature of a gigabyte": func(dir string) error {
			return errors.Join(os.WriteFile(dir+"/"+release.SignatureName, nil, 0o644), os.Truncate(dir+"/"+release.SignatureName, 1<<30))
		},
		"ten thousand files": func(dir string) error {
			var errs []error
			for i := range 10_000 {
				errs = append(errs, os.WriteFile(fmt.Sprintf("%s/web/%d.json", dir, i), nil, 0o644))
			}
			return errors.Join(errs...)
		},
		"a thousand statements": func(dir string) error {
			var errs []error
			for i := range 1000 {
				path := fmt.Sprintf("%s/%d.intoto.jsonl", dir, i)
				errs = append(errs, os.WriteFile(path, nil, 0o644), os.Truncate(path, release.MaxSignature))
			}
			return errors.Join(errs...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			files := sample(t)
			dir, trust := written(t, files), trusting(t, files)
			if err := attack(dir); err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			v, report := Open(Dir(dir), trust)
			runtime.ReadMemStats(&after)
			if strings.Contains(name, "thousand") && !strings.Contains(report.String(), "oversize") && !strings.Contains(report.String(), "more than") {
				t.Errorf("that there are too many is not told:\n%s", report.Verdict())
			}
			if most := after.TotalAlloc - before.TotalAlloc; v != nil || most > mostMemory {
				t.Errorf("accepted: %v, with %d bytes allocated, want at most %d:\n%s", v != nil, most, mostMemory, report.Verdict())
			}
		})
	}
}
