package release

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Write puts files into the directory dir, all of them or none: they are written
// and synced in a temporary directory beside dir, which then takes dir's place in
// one step. The parent of dir must exist. An existing dir is replaced when it is
// empty or holds a release and nothing else; whatever else is there is refused and
// left alone. Files get mode 0644, directories 0755, whatever the umask.
func Write(dir string, files []File) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	replaces, err := replaceable(dir)
	if err != nil {
		return err
	}
	parent, base := filepath.Split(dir)
	if base == "" {
		return fmt.Errorf("%s cannot be a release directory", dir)
	}
	temporary, err := os.MkdirTemp(parent, "."+base+".new-*")
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s cannot be made: the directory %s does not exist", dir, filepath.Clean(parent))
	}
	if err != nil {
		return fmt.Errorf("%s cannot be made: %w", dir, err)
	}
	defer os.RemoveAll(temporary) // after an exchange: what was there before
	if err := fill(temporary, files); err != nil {
		return err
	}
	if replaces {
		err = exchange(temporary, dir)
	} else {
		err = os.Rename(temporary, dir)
	}
	if err != nil {
		return err
	}
	if err := syncDir(parent); err != nil {
		return err
	}
	if replaces {
		if err := os.RemoveAll(temporary); err != nil {
			return fmt.Errorf("%s is written; what it replaced could not be removed: %w", dir, err)
		}
	}
	return nil
}

// fill writes the files below dir and makes them durable.
func fill(dir string, files []File) error {
	var made []string
	for _, f := range files {
		if err := CheckName(f.Name); err != nil {
			return err
		}
		if policy, _, ok := strings.Cut(f.Name, "/"); ok && !slices.Contains(made, policy) {
			if err := os.Mkdir(filepath.Join(dir, policy), 0o755); err != nil {
				return err
			}
			made = append(made, policy)
		}
		if err := writeFile(filepath.Join(dir, filepath.FromSlash(f.Name)), f.Data); err != nil {
			return err
		}
	}
	for _, policy := range append(made, ".") {
		at := filepath.Join(dir, policy)
		// MkdirTemp makes 0700, and a umask may have taken more.
		if err := os.Chmod(at, 0o755); err != nil {
			return err
		}
		if err := syncDir(at); err != nil {
			return err
		}
	}
	return nil
}

func writeFile(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	err = d.Sync()
	return errors.Join(err, d.Close())
}

// replaceable reports whether there is something at dir that Write may replace.
func replaceable(dir string) (bool, error) {
	refuse := func(format string, args ...any) (bool, error) {
		return false, fmt.Errorf("%s is not replaced: "+format, append([]any{dir}, args...)...)
	}
	info, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !info.IsDir():
		return refuse("it is no directory")
	}
	there, err := namesBelow(dir)
	if err != nil {
		return refuse("%v", err)
	}
	if len(there) == 0 {
		return true, nil
	}
	data, err := readBounded(filepath.Join(dir, ManifestName), MaxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return refuse("it is not empty and holds no %s", ManifestName)
	}
	if err != nil {
		return refuse("%v", err)
	}
	m, err := ParseManifest(data)
	if err != nil {
		return refuse("%v", err)
	}
	policies := m.Policies()
	for _, name := range there {
		_, ok := m.Artifact(name)
		ok = ok || name == ManifestName || name == SumsName || IsAttachment(name)
		if folder, isFolder := strings.CutSuffix(name, "/"); !ok && !(isFolder && slices.Contains(policies, folder)) {
			return refuse("%q belongs to no release", name)
		}
	}
	return true, nil
}

// namesBelow lists what lies below dir, with "/" between components and after a
// directory.
func namesBelow(dir string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if len(out) > 2*MaxFiles {
			return fmt.Errorf("it holds more than %d files", 2*MaxFiles)
		}
		if path == dir {
			return nil
		}
		rel, err := filepath.Rel(dir, path)
		name := filepath.ToSlash(rel)
		if d.IsDir() {
			name += "/"
		}
		out = append(out, name)
		return err
	})
	return out, err
}

// readBounded reads a regular file of at most limit bytes.
func readBounded(path string, limit int64) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > limit {
		return nil, fmt.Errorf("%s is no regular file of at most %d bytes", filepath.Base(path), limit)
	}
	return os.ReadFile(path)
}
