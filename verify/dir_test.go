package verify

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/obspc/obspc/verify/release"
)

// TestDirectoryAttacks are attacks on what holds the bytes. All but the first
// list leave every byte as it was released.
func TestDirectoryAttacks(t *testing.T) {
	for _, tt := range []struct {
		name   string
		attack func(dir string) error
		check  string
		file   string
		reason Reason
	}{
		{"artifact is a link to itself elsewhere", func(dir string) error { return moveAndLink(dir, "web/ir.json") }, Structure, "web/ir.json", UnsafeFile},
		{"manifest is a link", func(dir string) error { return moveAndLink(dir, release.ManifestName) }, Structure, release.ManifestName, UnsafeFile},
		{"checksums are a link", func(dir string) error { return moveAndLink(dir, release.SumsName) }, Structure, release.SumsName, UnsafeFile},
		{"folder is a link", func(dir string) error { return moveAndLink(dir, "web") }, Structure, "web", UnsafeFile},
		{"hard link elsewhere", func(dir string) error { return os.Link(dir+"/web/ir.json", dir+"/../second") }, Structure, "web/ir.json", UnsafeFile},
		{"group may write an artifact", func(dir string) error { return os.Chmod(dir+"/web/ir.json", 0o664) }, Structure, "web/ir.json", UnsafeFile},
		{"others may write the manifest", func(dir string) error { return os.Chmod(dir+"/release.json", 0o646) }, Structure, release.ManifestName, UnsafeFile},
		{"group may write a folder", func(dir string) error { return os.Chmod(dir+"/web", 0o775) }, Structure, "web", UnsafeFile},
		{"others may write the release", func(dir string) error { return os.Chmod(dir, 0o777) }, Structure, ".", UnsafeFile},
		{"fifo as the manifest", func(dir string) error { return swapFor(dir, release.ManifestName, mkfifo) }, Structure, release.ManifestName, UnsafeFile},
		{"fifo as an artifact", func(dir string) error { return swapFor(dir, "web/ir.json", mkfifo) }, Structure, "web/ir.json", UnsafeFile},
		{"folder as the manifest", func(dir string) error { return swapFor(dir, release.ManifestName, mkdir) }, Structure, release.ManifestName, UnsafeFile},
		{"folder as an artifact", func(dir string) error { return swapFor(dir, "web/ir.json", mkdir) }, Structure, "web/ir.json", UnsafeFile},
		{"file as a folder", func(dir string) error {
			return swapFor(dir, "web", func(path string) error { return os.WriteFile(path, nil, 0o644) })
		}, Structure, "web", Unlisted},
		{"extra file", func(dir string) error { return os.WriteFile(dir+"/notes.txt", nil, 0o644) }, Structure, "notes.txt", Unlisted},
		{"dot file", func(dir string) error { return os.WriteFile(dir+"/.hidden", nil, 0o644) }, Structure, ".hidden", UnsafeName},
		{"empty folder", func(dir string) error { return os.Mkdir(dir+"/more", 0o755) }, Structure, "more", Unlisted},
		{"nested folder", func(dir string) error { return os.Mkdir(dir+"/web/more", 0o755) }, Structure, "web/more", Unlisted},
		{"name in two parts of Unicode", func(dir string) error { return os.WriteFile(dir+"/e\u0301", nil, 0o644) }, Structure, "e\u0301", UnsafeName},
		{"name with a bidi control", func(dir string) error { return os.WriteFile(dir+"/\u202ex", nil, 0o644) }, Structure, "\u202ex", UnsafeName},
		{"name of another case", func(dir string) error { return os.WriteFile(dir+"/RELEASE.json", nil, 0o644) }, Structure, "RELEASE.json", Unlisted},
		{"checksums of a gigabyte", func(dir string) error { return os.Truncate(dir+"/SHA256SUMS", 1<<30) }, Structure, release.SumsName, Oversize},
		{"manifest of a gigabyte", func(dir string) error { return os.Truncate(dir+"/release.json", 1<<30) }, Structure, release.ManifestName, Oversize},
		{"artifact of a gigabyte", func(dir string) error { return os.Truncate(dir+"/web/run.json", 1<<30) }, Checksums, "web/run.json", Tampered},
		{"map of a gigabyte", func(dir string) error { return os.Truncate(dir+"/web/ir.map.json", 1<<30) }, Checksums, "web/ir.map.json", Tampered},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := sample(t)
			trust, dir := trusting(t, files), written(t, files)
			wantVerified(t, Dir(dir), trust)
			if err := tt.attack(dir); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			f := wantRefused(t, Dir(dir), trust, tt.check, tt.file, tt.reason)
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("refused after %s", took)
			}
			if strings.ContainsAny(f.String(), "\n\u202e\u0301") {
				t.Errorf("the failure is not one plain line: %q", f)
			}
		})
	}
}

// moveAndLink moves a file out of dir and leaves a link to it.
func moveAndLink(dir, name string) error {
	away := filepath.Join(filepath.Dir(dir), "away")
	if err := os.Rename(filepath.Join(dir, name), away); err != nil {
		return err
	}
	return os.Symlink(away, filepath.Join(dir, name))
}

func swapFor(dir, name string, make func(path string) error) error {
	path := filepath.Join(dir, name)
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	return make(path)
}

func mkfifo(path string) error { return syscall.Mkfifo(path, 0o644) }
func mkdir(path string) error  { return os.Mkdir(path, 0o755) }

func TestOwnerMatters(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("host feature missing: root, to give files away")
	}
	files := sample(t)
	for _, name := range []string{".", "web", "web/ir.json", release.ManifestName} {
		dir := written(t, files)
		wantVerified(t, Dir(dir), trusting(t, files))
		if err := os.Chown(filepath.Join(dir, name), 65534, 65534); err != nil {
			t.Fatal(err)
		}
		wantRefused(t, Dir(dir), trusting(t, files), Structure, name, UnsafeFile)
	}
}

// A release directory that is replaced, or whose files are, between the listing
// and the reading: either the released bytes are verified or nothing is.
func TestSwapWhileVerifying(t *testing.T) {
	for _, tt := range []struct {
		name   string
		swap   func(dir string) error
		reason Reason // "": accepted, with the released bytes
	}{
		{"the whole directory", func(dir string) error {
			if err := os.Rename(dir, dir+".old"); err != nil {
				return err
			}
			return os.Mkdir(dir, 0o755)
		}, ""},
		{"an artifact by rename", func(dir string) error {
			if err := os.WriteFile(dir+"/../new", []byte("{}"), 0o644); err != nil {
				return err
			}
			return os.Rename(dir+"/../new", dir+"/web/run.json")
		}, Tampered},
		{"an artifact by a link", func(dir string) error { return moveAndLink(dir, "web/run.json") }, UnsafeFile},
		{"a folder by a link", func(dir string) error { return moveAndLink(dir, "web") }, UnsafeFile},
		{"an artifact by a fifo", func(dir string) error { return swapFor(dir, "web/run.json", mkfifo) }, UnsafeFile},
		{"an artifact by nothing", func(dir string) error { return os.Remove(dir + "/web/run.json") }, Missing},
		{"a mode", func(dir string) error { return os.Chmod(dir+"/web/run.json", 0o666) }, UnsafeFile},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := sample(t)
			path, trust := written(t, files), trusting(t, files)
			var failed error
			src := dir{path: path, paused: func() { failed = tt.swap(path) }}
			if tt.reason != "" {
				wantRefused(t, src, trust, Checksums, "web/run.json", tt.reason)
			} else if data, _ := wantVerified(t, src, trust).File("web/run.json"); !bytes.Equal(data, at(files, "web/run.json").Data) {
				t.Errorf("verified bytes are %q", data)
			}
			if failed != nil {
				t.Fatal(failed)
			}
		})
	}
}

// What happens to the directory afterwards changes nothing.
func TestVerifiedHoldsTheBytes(t *testing.T) {
	files := sample(t)
	path := written(t, files)
	v := wantVerified(t, Dir(path), trusting(t, files))
	for _, f := range files {
		overwrite(t, filepath.Join(path, f.Name), []byte("evil"))
	}
	for _, f := range files {
		if strings.HasSuffix(f.Name, release.MapName) {
			continue
		}
		if data, ok := v.File(f.Name); !ok || !bytes.Equal(data, f.Data) {
			t.Errorf("File(%s) = %q, %v", f.Name, data, ok)
		}
	}
}

// The path to the release may lead over links; only inside none is followed.
func TestPathToTheReleaseMayBeALink(t *testing.T) {
	files := sample(t)
	path := written(t, files)
	link := filepath.Join(t.TempDir(), "current")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	wantVerified(t, Dir(link), trusting(t, files))
}

func TestNoRelease(t *testing.T) {
	trust := Trust{Now: now}
	_, report := Open(Dir(filepath.Join(t.TempDir(), "missing")), trust)
	if report.ExitCode() != exitCall || !strings.Contains(report.String(), "no such file") {
		t.Errorf("report of a missing directory, exit code %d:\n%s", report.ExitCode(), report)
	}
	wantRefused(t, Dir(t.TempDir()), trust, Structure, release.ManifestName, Missing)
}

// Both ways of opening refuse the same.
func TestStepwise(t *testing.T) {
	dir := written(t, sample(t))
	if err := os.Symlink("web", dir+"/folder"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("ir.json", dir+"/web/link"); err != nil {
		t.Fatal(err)
	}
	root, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, tt := range []struct {
		name string
		ok   bool
	}{{"web/ir.json", true}, {"release.json", true}, {"folder/ir.json", false}, {"web/link", false}, {"folder", false}, {"release.json/x", false}} {
		for way, open := range map[string]func(int, string, int) (int, error){"openat2": openBeneath, "stepwise": stepwise} {
			fd, err := open(int(root.Fd()), tt.name, 0)
			if err == nil {
				syscall.Close(fd)
			}
			if (err == nil) != tt.ok {
				t.Errorf("%s of %s = %v", way, tt.name, err)
			}
			if err != nil && unopened(tt.name, err).Reason != UnsafeFile {
				t.Errorf("%s of %s is told as %s", way, tt.name, unopened(tt.name, err))
			}
		}
	}
}
