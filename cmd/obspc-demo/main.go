// Command obspc-demo runs the main job once, start to end, as a user would: it
// calls obspc and obsrun and nothing of theirs from inside. Its one rule: every
// refusal it shows has a control, the same attempt outside the sandbox, and a
// demo in which one of them goes the wrong way exits 1.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/obspc/obspc/policies"
)

func main() {
	bin := flag.String("bin", "bin", "directory of obspc and obsrun")
	flag.Parse()
	if err := demo(*bin); err != nil {
		fmt.Fprintf(os.Stderr, "demo: %v\n", err)
		os.Exit(1)
	}
}

const batch = "id,amount\n1,10.00\n2,25.50\n"

// stage is the demo's own directory and what lies in it.
type stage struct {
	bin, dir                 string
	batch, secret, workspace string
	vars                     []string
	shell                    string
	server, other            *server // the policy has an endpoint for the first
}

func demo(bin string) (err error) {
	bin, err = filepath.Abs(bin)
	if err != nil {
		return err
	}
	// Not below /tmp: inside the sandbox that is a private, empty directory.
	dir, err := os.MkdirTemp("/var/tmp", "obspc-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := newStage(bin, dir)
	if err != nil {
		return err
	}
	defer s.server.stop()
	defer s.other.stop()
	for _, step := range []func() error{s.release, s.govern, s.probes, s.tamper} {
		if err := step(); err != nil {
			return err
		}
	}
	fmt.Println("\nEvery step went as it must, and nothing is left behind.")
	return nil
}

func newStage(bin, dir string) (*stage, error) {
	s := &stage{
		bin: bin, dir: dir, batch: filepath.Join(dir, "batch.csv"),
		secret: filepath.Join(dir, "secret.txt"), workspace: filepath.Join(dir, "workspace"),
	}
	if err := os.CopyFS(filepath.Join(dir, "policies"), policies.Demo()); err != nil {
		return nil, err
	}
	err := errors.Join(
		os.WriteFile(s.batch, []byte(batch), 0o644),
		os.WriteFile(s.secret, []byte("not for the sandbox\n"), 0o644),
		os.Mkdir(s.workspace, 0o700),
	)
	if err != nil {
		return nil, err
	}
	if s.server, err = newServer(); err != nil {
		return nil, err
	}
	if s.other, err = newServer(); err != nil {
		s.server.stop()
		return nil, err
	}
	return s, s.choosePrograms()
}

// choosePrograms resolves links: an execute list names real files, and
// distributions link their shells and core utilities differently.
func (s *stage) choosePrograms() error {
	var err error
	if s.shell, err = filepath.EvalSymlinks("/bin/sh"); err != nil {
		return err
	}
	var programs []string
	seen := map[string]bool{}
	for _, name := range []string{"cat", "cp", "sha256sum", "wc", "bash"} {
		real, err := filepath.EvalSymlinks(filepath.Join("/usr/bin", name))
		if err != nil {
			return err
		}
		if !seen[real] && real != s.shell {
			programs = append(programs, fmt.Sprintf("%q", real))
		}
		seen[real] = true
	}
	s.vars = []string{
		"--var", "batch=" + s.batch, "--var", "shell=" + s.shell,
		"--var", "programs=[" + strings.Join(programs, ",") + "]", "--var", fmt.Sprintf("port=%d", s.server.port),
	}
	return nil
}

// call runs one of the two programs and shows the line a user would type.
func (s *stage) call(program string, args ...string) (string, int, error) {
	fmt.Printf("\n$ %s %s\n", program, strings.Join(s.shown(args), " "))
	cmd := exec.Command(filepath.Join(s.bin, program), args...)
	cmd.Stderr = os.Stderr
	cmd.Dir = s.workspace
	out, err := cmd.Output()
	os.Stdout.Write(out)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return "", 0, err
	}
	return string(out), cmd.ProcessState.ExitCode(), nil
}

// shown is the line as a shell takes it, with the demo's own directory shortened
// and the variables left out.
func (s *stage) shown(args []string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		if args[i] == "--var" {
			i++
			continue
		}
		word := strings.ReplaceAll(args[i], s.dir, "$DEMO")
		if strings.ContainsAny(word, " \"'") {
			word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		out = append(out, word)
	}
	return out
}

// must is call for steps that have to succeed.
func (s *stage) must(program string, args ...string) (string, error) {
	out, code, err := s.call(program, args...)
	if err == nil && code != 0 {
		err = fmt.Errorf("%s %s: exit %d, want 0", program, args[0], code)
	}
	return out, err
}

func (s *stage) path(name string) string { return filepath.Join(s.dir, name) }

// release compiles, pins and verifies the demo policies.
func (s *stage) release() error {
	fmt.Printf("DEMO=%s\n", s.dir)
	if _, err := s.must("obspc", append([]string{"validate", s.path("policies")}, s.vars...)...); err != nil {
		return err
	}
	compile := append([]string{
		"compile", s.path("policies"), "-o", s.path("release"),
		"--product", "obspc-demo", "--serial", "1", "--expires", "2099-01-01T00:00:00Z",
	}, s.vars...)
	if _, err := s.must("obspc", compile...); err != nil {
		return err
	}
	if _, err := s.must("obspc", "pin", s.path("release"), "--pins", s.path("obspc.pins")); err != nil {
		return err
	}
	_, err := s.must("obspc", "verify", s.path("release"), "--pins", s.path("obspc.pins"))
	return err
}

// govern runs the governed command and compares its typed result with the truth.
func (s *stage) govern() error {
	out, err := s.must("obsrun", "run", "batch/digest-batch", "--release", s.path("release"), "--pins", s.path("obspc.pins"),
		"--arg", "batch_id=2026-11", "--evidence", s.path("evidence.json"))
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(batch))
	if want := hex.EncodeToString(sum[:]); !strings.Contains(out, want) || !strings.Contains(out, fmt.Sprintf(`"bytes":%d`, len(batch))) {
		return fmt.Errorf("digest-batch printed %q, want %d bytes and %s", out, len(batch), want)
	}
	evidence, err := os.ReadFile(s.path("evidence.json"))
	if err != nil {
		return err
	}
	text, err := shortened(evidence)
	if err != nil {
		return err
	}
	fmt.Printf("\nThe evidence of that run, its facts about the host counted instead of listed:\n%s\n", text)
	return nil
}

// shortened folds the facts about the host, most of them about optional paths of
// other systems, into their number.
func shortened(evidence []byte) ([]byte, error) {
	var all map[string]any
	if err := json.Unmarshal(evidence, &all); err != nil {
		return nil, fmt.Errorf("evidence: %w", err)
	}
	facts, _ := all["facts"].([]any)
	all["facts"] = fmt.Sprintf("(%d paths with kind, device and inode)", len(facts))
	return json.MarshalIndent(all, "", "  ")
}

// tamper changes one byte of one artifact; nobody may take the release then.
func (s *stage) tamper() error {
	file := s.path("release/batch/bwrap.json")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	changed := strings.Replace(string(text), `"/usr/libexec"`, `"/root"`, 1)
	if changed == string(text) {
		return fmt.Errorf("%s holds nothing to tamper with", file)
	}
	if err := os.WriteFile(file, []byte(changed), fs.FileMode(0o644)); err != nil {
		return err
	}
	fmt.Println("\nNow one artifact is changed behind everybody's back, to show /root as well:")
	_, code, err := s.call("obspc", "verify", s.path("release"), "--pins", s.path("obspc.pins"))
	if err != nil || code != 1 {
		return fmt.Errorf("verify of a tampered release: exit %d, %w, want 1", code, err)
	}
	out, code, err := s.call("obsrun", "run", "batch/digest-batch", "--release", s.path("release"), "--pins", s.path("obspc.pins"), "--arg", "batch_id=2026-11")
	if err != nil || code != 125 || out != "" {
		return fmt.Errorf("obsrun of a tampered release: exit %d, output %q, %w, want 125 and nothing", code, out, err)
	}
	return nil
}
