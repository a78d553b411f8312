package obspc_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/obspc/obspc/verify/release"
	"github.com/obspc/obspc/verify/sign"
)

// victim is a signed release and what its consumer committed: what every attack
// begins with.
type victim struct {
	bin, dir string
	signer   *sign.Signer
	pins     *release.Pins
	stand    string // stands in for bubblewrap and notes that it was called
}

const attacked = `policy "p" {
  version = 1
  extends = ["std/base"]

  filesystem {
    write   = [workspace]
    execute = ["/usr/bin/touch"]
  }

  command "mark" {
    executable = "/usr/bin/touch"
    arguments  = ["marked"]
  }
}
`

const attackPassword = "correct horse"

// newVictim makes the release as a user would. What it makes lies where root alone
// may write, if root runs the test: obsrun takes no other bubblewrap.
func newVictim(t *testing.T) *victim {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "obspc-attacks-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	v := &victim{bin: programs(t), dir: dir, stand: filepath.Join(dir, "stand-in")}
	v.write(t, "p.policy.hcl", attacked)
	v.write(t, "stand-in", "#!/bin/sh\n: >"+v.stand+".called\nexit 1\n")
	if err := os.Chmod(v.stand, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"compile", "p.policy.hcl", "-o", "release", "--product", "acme", "--serial", "7", "--created", "2026-01-01T00:00:00Z", "--expires", "2099-01-01T00:00:00Z"},
		{"keygen", "key"},
		{"sign", "release", "--key", "key.key"},
		{"pin", "release", "--key", "key.pub"},
		{"verify", "release", "--key", "key.pub", "--state", "state"},
	} {
		if out := v.obspc(dir, args...); out.code != 0 {
			t.Fatalf("obspc %v: %s", args, out)
		}
	}
	private, err := os.ReadFile(filepath.Join(dir, "key.key"))
	if err != nil {
		t.Fatal(err)
	}
	if v.signer, err = sign.Load(private, func() ([]byte, error) { return []byte(attackPassword), nil }); err != nil {
		t.Fatal(err)
	}
	pins, err := os.ReadFile(filepath.Join(dir, release.PinsName))
	if err != nil {
		t.Fatal(err)
	}
	if v.pins, err = release.ParsePins(pins); err != nil {
		t.Fatal(err)
	}
	return v
}

func (v *victim) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(v.dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// answer is what became of one call of a program.
type answer struct {
	stdout, stderr string
	code           int
}

func (a answer) String() string {
	return fmt.Sprintf("exit %d\nstdout: %.2000s\nstderr: %.2000s", a.code, a.stdout, a.stderr)
}

func (v *victim) obspc(dir string, args ...string) answer  { return v.call(dir, "obspc", args...) }
func (v *victim) obsrun(dir string, args ...string) answer { return v.call(dir, "obsrun", args...) }

func (v *victim) call(dir, program string, args ...string) answer {
	cmd := exec.Command(filepath.Join(v.bin, program), args...)
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
	cmd.Env = []string{"HOME=" + v.dir, "OBSPC_PASSWORD=" + attackPassword, "PATH=/usr/bin:/bin"}
	if err := cmd.Run(); cmd.ProcessState == nil {
		return answer{stderr: err.Error(), code: -1}
	}
	return answer{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// attempt is one attack on a copy of the release and of what its consumer has.
type attempt struct {
	*victim
	t       *testing.T
	dir     string   // holds release, obspc.pins, key.pub, state
	release string   // the release directory
	verify  []string // the call of obspc verify
}

func (v *victim) attempt(t *testing.T) *attempt {
	t.Helper()
	dir, err := os.MkdirTemp(v.dir, "attempt-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for _, name := range []string{release.PinsName, "key.pub"} {
		copyFile(t, filepath.Join(v.dir, name), filepath.Join(dir, name))
	}
	if err := os.CopyFS(filepath.Join(dir, "release"), os.DirFS(filepath.Join(v.dir, "release"))); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "state"), os.DirFS(filepath.Join(v.dir, "state"))); err != nil {
		t.Fatal(err)
	}
	return &attempt{v, t, dir, filepath.Join(dir, "release"), []string{"verify", "release", "--pins", release.PinsName, "--state", "state"}}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (a *attempt) must(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatal(err)
	}
}

func (a *attempt) path(name string) string { return filepath.Join(a.release, name) }

func (a *attempt) read(name string) []byte {
	a.t.Helper()
	data, err := os.ReadFile(a.path(name))
	a.must(err)
	return data
}

func (a *attempt) put(name string, data []byte) {
	a.t.Helper()
	a.must(os.WriteFile(a.path(name), data, 0o644))
}

// replace changes the first old in a file of the release.
func (a *attempt) replace(name, old, new string) {
	a.t.Helper()
	before := string(a.read(name))
	if !strings.Contains(before, old) {
		a.t.Fatalf("%s holds no %q", name, old)
	}
	a.put(name, []byte(strings.Replace(before, old, new, 1)))
}

// sign signs SHA256SUMS as it is with the consumer's trusted key: the attacker is
// who may release. Statements go, for they speak of another release.
func (a *attempt) sign() {
	a.t.Helper()
	detached, bundle, err := a.signer.Sums(a.read(release.SumsName))
	a.must(err)
	a.put(release.SignatureName, detached)
	a.put(release.BundleName, bundle)
	for _, name := range []string{sign.ProvenanceName, sign.ResultName} {
		a.must(os.RemoveAll(a.path(name)))
	}
}

// resum makes SHA256SUMS agree with the files that release.json and it name.
func (a *attempt) resum() {
	a.t.Helper()
	sums, err := release.ParseSums(a.read(release.SumsName))
	a.must(err)
	for i, e := range sums {
		sums[i].Digest = release.Sum(a.read(e.Name))
	}
	a.put(release.SumsName, sums.Format())
}

// seal makes release.json, changed by edit, and SHA256SUMS agree with the bytes
// that are there, and signs them.
func (a *attempt) seal(edit func(*release.Manifest)) {
	a.t.Helper()
	m, err := release.ParseManifest(a.read(release.ManifestName))
	a.must(err)
	for i := range m.Artifacts {
		data := a.read(m.Artifacts[i].Name)
		m.Artifacts[i].Size, m.Artifacts[i].SHA256 = int64(len(data)), release.Sum(data)
	}
	edit(m)
	text, err := m.JSON()
	a.must(err)
	a.put(release.ManifestName, text)
	a.resum()
	a.sign()
}

// state is everything that obspc verify remembers.
func (a *attempt) state() string {
	a.t.Helper()
	var out []string
	entries, err := os.ReadDir(filepath.Join(a.dir, "state"))
	a.must(err)
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(a.dir, "state", e.Name()))
		a.must(err)
		out = append(out, e.Name()+" "+string(data))
	}
	return strings.Join(out, "\n")
}

// runs calls obsrun, and says whether bubblewrap was called.
func (a *attempt) runs() (answer, bool) {
	os.Remove(a.stand + ".called")
	out := a.obsrun(a.dir, "run", "p/mark", "--release", "release", "--pins", release.PinsName, "--bwrap", a.stand)
	_, err := os.Stat(a.stand + ".called")
	return out, err == nil
}

// attack is one row of docs/verification.md, tried. What refuses it is named by
// the file and the reason, as the programs' lines begin; code is the exit code of
// obspc verify, 1 unless stated.
type attack struct {
	row, name string
	do        func(*attempt)
	file      string
	reason    string
	code      int
	// obspc alone is asked: obsrun has no such flag, or does not look there.
	obspc bool
}

func (at attack) says() string {
	switch {
	case at.file == "":
		return at.reason
	case at.reason == "":
		return at.file
	}
	return at.file + ": " + at.reason
}

// TestAttacks: the release untouched is verified and run; attacked, each refusal
// exits non-zero, says in one line on standard error which file and why, starts no
// child and changes no state file.
func TestAttacks(t *testing.T) {
	v := newVictim(t)
	untouched(t, v)
	for _, at := range attacks() {
		t.Run(at.row+"/"+strings.ReplaceAll(at.name, " ", "-"), func(t *testing.T) { try(t, v, at) })
	}
}

// untouched is the twin of every attack: the same copy, by the same calls.
func untouched(t *testing.T, v *victim) {
	a := v.attempt(t)
	before := a.state()
	a.house("deny contains \"no\" if input.policy == \"p\"", "naming p 2026-01-31 soon")
	for _, more := range [][]string{
		{"--pins", release.PinsName}, {"--key", "key.pub"}, {"--pins", release.PinsName, "--key", "key.pub"},
		{"--pins", release.PinsName, "--rules", "house", "--at", "2026-01-31T00:00:00Z"},
	} {
		if out := a.obspc(a.dir, append([]string{"verify", "release", "--state", "state"}, more...)...); out.code != 0 || out.stderr != "" {
			t.Fatalf("obspc verify %v refuses the release untouched: %s", more, out)
		}
	}
	if after := a.state(); after != before || !strings.Contains(after, `"serial":7`) {
		t.Errorf("the state is %q, and was %q", after, before)
	}
	if os.Geteuid() != 0 {
		return
	}
	if out, called := a.runs(); !called {
		t.Fatalf("obsrun does not run the release untouched: %s", out)
	}
}

// house makes a set of house rules.
func (a *attempt) house(rules, exemptions string) {
	a.t.Helper()
	dir := filepath.Join(a.dir, "house")
	a.must(os.Mkdir(dir, 0o755))
	a.must(os.WriteFile(filepath.Join(dir, "house.rego"), []byte("package house.naming\n\n"+rules+"\n"), 0o644))
	if exemptions != "" {
		a.must(os.WriteFile(filepath.Join(dir, "exemptions.txt"), []byte(exemptions+"\n"), 0o644))
	}
}

var oneLine = regexp.MustCompile(`^obspc: [^\n]+\n$`)

func try(t *testing.T, v *victim, at attack) {
	a := v.attempt(t)
	before := a.state()
	at.do(a)
	want := max(at.code, 1)
	out := a.obspc(a.dir, a.verify...)
	if out.code != want || !oneLine.MatchString(out.stderr) || !strings.Contains(out.stderr, at.says()) {
		t.Errorf("obspc verify, want exit %d and one line with %q: %s", want, at.says(), out)
	}
	if after := a.state(); after != before {
		t.Errorf("a refused release changed the state from %q to %q", before, after)
	}
	// Only root can make a program that obsrun takes for bubblewrap.
	if at.obspc || os.Geteuid() != 0 {
		return
	}
	out, called := a.runs()
	said := slices.ContainsFunc(strings.Split(out.stderr, "\n"), func(line string) bool { return strings.Contains(line, at.says()) })
	if called || out.code != 125 || !said || out.stdout != "" {
		t.Errorf("obsrun run, want exit 125 and a line with %q; a child was started: %v; %s", at.says(), called, out)
	}
}

// TestOutputThatIsFull: who cannot be told yes is not told 0, and the state is a
// whole one.
func TestOutputThatIsFull(t *testing.T) {
	v := newVictim(t)
	a := v.attempt(t)
	before := a.state()
	a.seal(next)
	for _, args := range [][]string{a.verify, append(slices.Clone(a.verify), "--format", "json")} {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Skip("host feature missing: /dev/full")
		}
		cmd := exec.Command(filepath.Join(v.bin, "obspc"), args...)
		cmd.Dir, cmd.Stdout, cmd.Env = a.dir, full, []string{"HOME=" + v.dir}
		err = cmd.Run()
		full.Close()
		if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 3 {
			t.Errorf("obspc %v with a full standard output: %v, want exit 3", args, err)
		}
	}
	if after := a.state(); after != before && !strings.HasSuffix(after, `"serial":8}`) {
		t.Errorf("the state is %q, and was %q", after, before)
	}
	if out := a.obspc(a.dir, a.verify...); out.code != 0 {
		t.Errorf("told where it can be: %s", out)
	}
}

// TestEnvironmentOfTheCaller: neither PATH nor a variable of the caller's decides
// which bubblewrap runs, or reaches it.
func TestEnvironmentOfTheCaller(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("host feature missing: root, for a bubblewrap that nobody else could change")
	}
	v := newVictim(t)
	a := v.attempt(t)
	fake := filepath.Join(v.dir, "fake")
	if err := os.Mkdir(fake, 0o755); err != nil {
		t.Fatal(err)
	}
	v.write(t, "fake/bwrap", "#!/bin/sh\n: >"+v.dir+"/fake.called\n")
	v.write(t, "stand-in", "#!/bin/sh\n/usr/bin/env >"+v.stand+".called\nexit 1\n")
	for _, name := range []string{"fake/bwrap", "stand-in"} {
		if err := os.Chmod(filepath.Join(v.dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	environment := []string{"PATH=" + fake + ":/usr/bin:/bin", "BWRAP=" + fake + "/bwrap", "LD_PRELOAD=/nowhere/evil.so", "LD_LIBRARY_PATH=" + fake, "HOME=" + v.dir}
	// The control: what looks bubblewrap up by PATH finds the fake one.
	control := exec.Command("/bin/sh", "-c", "bwrap")
	control.Env = environment[:1]
	if err := control.Run(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(v.dir, "fake.called")); err != nil {
		t.Fatalf("the fake bubblewrap in PATH was not called: %v", err)
	}
	for _, bwrap := range []string{v.stand, ""} {
		args := []string{"run", "p/mark", "--release", "release", "--pins", release.PinsName}
		if bwrap != "" {
			args = append(args, "--bwrap", bwrap)
		}
		cmd := exec.Command(filepath.Join(v.bin, "obsrun"), args...)
		cmd.Dir, cmd.Env = a.dir, environment
		out, _ := cmd.CombinedOutput()
		if _, err := os.Stat(filepath.Join(v.dir, "fake.called")); err == nil {
			t.Errorf("obsrun %v called the bubblewrap in PATH: %s", args, out)
		}
	}
	seen, err := os.ReadFile(v.stand + ".called")
	if err != nil {
		t.Fatalf("the bubblewrap that was named was not called: %v", err)
	}
	for _, word := range []string{"LD_PRELOAD", "LD_LIBRARY_PATH", "BWRAP", fake, v.dir + "\n"} {
		if strings.Contains(string(seen), word) {
			t.Errorf("bubblewrap got %s:\n%s", word, seen)
		}
	}
}
