package main

import (
	"archive/tar"
	"bytes"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// commit is what a release is made of.
type commit struct {
	root    string
	id      string
	version string
	time    time.Time
}

func readCommit(root string) (*commit, error) {
	c := &commit{root: root}
	var seconds string
	for _, ask := range []struct {
		to   *string
		args []string
	}{
		{&c.id, []string{"rev-parse", "HEAD"}},
		{&c.version, []string{"describe", "--tags", "--always"}},
		{&seconds, []string{"log", "-1", "--format=%ct"}},
	} {
		out, err := output(exec.Command("git", append([]string{"-C", root}, ask.args...)...))
		if err != nil {
			return nil, err
		}
		*ask.to = strings.TrimSpace(string(out))
	}
	at, err := strconv.ParseInt(seconds, 10, 64)
	c.time = time.Unix(at, 0).UTC()
	return c, err
}

// output is the standard output of a command; an error has what it said.
func output(cmd *exec.Cmd) ([]byte, error) {
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, said.Bytes())
	}
	return out.Bytes(), nil
}

// export writes the files of the commit into dir: what is not committed is in no
// release.
func (c *commit) export(dir string) error {
	text, err := output(exec.Command("git", "-C", c.root, "-c", "tar.umask=0022", "archive", "--format=tar", c.id))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for r := tar.NewReader(bytes.NewReader(text)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch h.Typeflag {
		case tar.TypeXGlobalHeader:
			continue
		case tar.TypeDir:
			err = root.MkdirAll(strings.TrimSuffix(h.Name, "/"), 0o755)
		case tar.TypeReg:
			var data []byte
			if data, err = io.ReadAll(r); err == nil {
				err = root.WriteFile(h.Name, data, h.FileInfo().Mode().Perm())
			}
		case tar.TypeSymlink:
			err = root.Symlink(h.Linkname, h.Name)
		default:
			err = fmt.Errorf("%s is neither a file nor a directory", h.Name)
		}
		if err != nil {
			return err
		}
	}
}

// build is the programs for one system.
type build struct {
	*commit
	system   string
	programs []string
	src, out string

	infos map[string]*buildinfo.BuildInfo // by program, once it is built
}

// fixed is the environment that what is built depends on; the rest of it is where
// Go finds modules and keeps its caches.
func (b *build) fixed(cmd *exec.Cmd, cache string) *exec.Cmd {
	system, arch, _ := strings.Cut(b.system, "/")
	cmd.Dir = b.src
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0", "GOAMD64=v1", "GOARM64=v8.0",
		"GOFLAGS=-mod=readonly", "GOWORK=off", "GOEXPERIMENT=", "GOFIPS140=off", "GODEBUG=")
	if cache != "" {
		cmd.Env = append(cmd.Env, "GOCACHE="+cache)
	}
	return cmd
}

// compile builds the programs from src into out.
func (b *build) compile(cache string) error {
	args := []string{"build", "-trimpath", "-buildvcs=false",
		"-ldflags=-s -w -buildid= -X github.com/obspc/obspc/verify/release.Version=" + b.version, "-o", b.out + string(filepath.Separator)}
	if err := os.MkdirAll(b.out, 0o755); err != nil {
		return err
	}
	for _, p := range b.programs {
		args = append(args, "./cmd/"+p)
	}
	_, err := output(b.fixed(exec.Command("go", args...), cache))
	return err
}

// run builds, and reads what the programs say of themselves.
func (b *build) run() error {
	if err := b.compile(""); err != nil {
		return err
	}
	b.infos = map[string]*buildinfo.BuildInfo{}
	for _, p := range b.programs {
		info, err := buildinfo.ReadFile(filepath.Join(b.out, p))
		if err != nil {
			return err
		}
		b.infos[p] = info
	}
	return nil
}

// again builds in another folder, with nothing that was compiled before, and
// compares.
func (b *build) again(folder string) error {
	defer removeAll(folder)
	second := &build{commit: b.commit, system: b.system, programs: b.programs, src: filepath.Join(folder, "src"), out: filepath.Join(folder, "out")}
	if err := second.export(second.src); err != nil {
		return err
	}
	if err := second.compile(filepath.Join(folder, "cache")); err != nil {
		return err
	}
	for _, p := range b.programs {
		one, err := os.ReadFile(filepath.Join(b.out, p))
		if err != nil {
			return err
		}
		two, err := os.ReadFile(filepath.Join(second.out, p))
		if err != nil {
			return err
		}
		if !bytes.Equal(one, two) {
			return fmt.Errorf("%s: two builds of %s differ", b.system, p)
		}
	}
	return nil
}
