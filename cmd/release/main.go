// Command release makes obspc's own releases: both programs for every system,
// built twice in different folders, in archives with the licences of what is
// linked into them; bills of materials made from the programs themselves;
// SHA256SUMS and a signature over it. Its one rule: what it writes is a function of
// a commit, a Go version and a key. It is for the repository and is no part of
// obspc.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/obspc/obspc/verify/release"
	"github.com/obspc/obspc/verify/sign"
)

// systems are those that a release is for.
var systems = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"}

// programs are the commands of an archive.
var programs = []string{"obspc", "obsrun"}

// options are what one call makes.
type options struct {
	out      string
	root     string // the repository
	systems  []string
	programs []string
	twice    bool
	signer   *sign.Signer // nil: unsigned
}

func main() {
	o := options{root: ".", programs: programs}
	flag.StringVar(&o.out, "o", "dist", "write the release into `DIR`")
	flag.BoolVar(&o.twice, "twice", false, "build a second time, in another folder and with an empty cache, and compare")
	only := flag.String("systems", strings.Join(systems, ","), "only for these `SYSTEMS`")
	key := flag.String("key", "", "sign with this private `FILE`; its password is OBSPC_PASSWORD. With -check: the public one")
	check := flag.String("check", "", "make nothing: check the release in `DIR`")
	flag.Parse()
	if flag.NArg() > 0 {
		fail(fmt.Errorf("release takes no arguments; there is %q", flag.Args()))
	}
	if *check != "" {
		if err := checkRelease(*check, *key); err != nil {
			fail(err)
		}
		fmt.Println(*check + ": every file is as signed")
		return
	}
	o.systems = strings.Split(*only, ",")
	var err error
	if o.signer, err = signer(*key, os.Getenv("RELEASE_UNSIGNED") == "1"); err != nil {
		fail(err)
	}
	if err := o.make(); err != nil {
		fail(err)
	}
	if o.signer == nil {
		fmt.Fprintf(os.Stderr, "release: UNSIGNED: %s has no signature and is not to be published\n", o.out)
	}
}

func fail(err error) {
	fmt.Fprintf(os.Stderr, "release: %v\n", err)
	os.Exit(1)
}

// signer reads the private key. Without one a release is made only when that was
// asked for by name.
func signer(file string, unsigned bool) (*sign.Signer, error) {
	if file == "" {
		if !unsigned {
			return nil, errors.New("UNSIGNED: there is no key; give one (-key, RELEASE_KEY of make), or set RELEASE_UNSIGNED=1 for a release that is not to be published")
		}
		return nil, nil
	}
	private, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	s, err := sign.Load(private, func() ([]byte, error) {
		password, ok := os.LookupEnv("OBSPC_PASSWORD")
		if !ok {
			return nil, errors.New("OBSPC_PASSWORD is not set")
		}
		return []byte(password), nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return s, nil
}

// make writes the release: whole, or not at all.
func (o *options) make() error {
	if err := ours(o.out); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "obspc-release-")
	if err != nil {
		return err
	}
	defer removeAll(work)
	c, err := readCommit(o.root)
	if err != nil {
		return err
	}
	files := map[string][]byte{}
	src := filepath.Join(work, "src")
	if err := c.export(src); err != nil {
		return err
	}
	for _, system := range o.systems {
		b := &build{commit: c, system: system, programs: o.programs, src: src, out: filepath.Join(work, "out", system)}
		fmt.Fprintf(os.Stderr, "release: %s\n", system)
		if err := b.run(); err != nil {
			return err
		}
		if o.twice {
			if err := b.again(filepath.Join(work, "another", "folder")); err != nil {
				return err
			}
		}
		if err := b.pack(files); err != nil {
			return fmt.Errorf("%s: %w", system, err)
		}
	}
	if err := o.seal(files); err != nil {
		return err
	}
	return write(o.out, files)
}

// seal adds SHA256SUMS and its signature.
func (o *options) seal(files map[string][]byte) error {
	var sums release.Sums
	for name, data := range files {
		sums = append(sums, release.Entry{Digest: release.Sum(data), Name: name})
	}
	slices.SortFunc(sums, func(a, b release.Entry) int { return strings.Compare(a.Name, b.Name) })
	text := sums.Format()
	files[release.SumsName] = text
	if o.signer == nil {
		return nil
	}
	var err error
	files[release.SignatureName], files[release.BundleName], err = o.signer.Sums(text)
	return err
}

// ours refuses to replace a directory that no earlier call has made.
func ours(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) == 0 {
		return nil
	}
	if _, err := os.Stat(filepath.Join(dir, release.SumsName)); err != nil {
		return fmt.Errorf("%s is there and is no release; it is not replaced", dir)
	}
	return nil
}

func write(dir string, files map[string][]byte) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(filepath.Dir(dir), ".release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(fresh, name), data, 0o644); err != nil {
			return err
		}
	}
	if err := os.Chmod(fresh, 0o755); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.Rename(fresh, dir)
}

// removeAll removes what Go's module cache may have made read-only.
func removeAll(dir string) {
	filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			os.Chmod(path, 0o755)
		}
		return nil
	})
	os.RemoveAll(dir)
}

// checkRelease holds a release to its checksums, and these to the key if there is
// one. A file that is not listed is one too many.
func checkRelease(dir, key string) error {
	text, err := os.ReadFile(filepath.Join(dir, release.SumsName))
	if err != nil {
		return err
	}
	if key != "" {
		if err := checkSignature(dir, key, text); err != nil {
			return err
		}
	}
	sums, err := release.ParseSums(text)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var faults []error
	for _, e := range entries {
		if _, ok := sums.Of(e.Name()); !ok && !slices.Contains([]string{release.SumsName, release.SignatureName, release.BundleName}, e.Name()) {
			faults = append(faults, fmt.Errorf("%s is not in %s", e.Name(), release.SumsName))
		}
	}
	for _, e := range sums {
		data, err := os.ReadFile(filepath.Join(dir, e.Name))
		switch {
		case err != nil:
			faults = append(faults, err)
		case release.Sum(data) != e.Digest:
			faults = append(faults, fmt.Errorf("%s: wanted SHA-256 %s, found %s", e.Name, e.Digest, release.Sum(data)))
		}
	}
	return errors.Join(faults...)
}

func checkSignature(dir, key string, sums []byte) error {
	public, err := os.ReadFile(key)
	if err != nil {
		return err
	}
	k, err := release.ParseKey(public)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, release.SignatureName))
	if err != nil {
		return err
	}
	signature, err := release.ParseSignature(bytes.Clone(text))
	if err != nil {
		return fmt.Errorf("%s: %w", release.SignatureName, err)
	}
	if !k.Verifies(sums, signature) {
		return fmt.Errorf("%s is no signature over %s by %s", release.SignatureName, release.SumsName, k.ID())
	}
	return nil
}
