package obspc_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/obspc/obspc/lang/diag"
)

// block is one fenced block of a page.
type block struct {
	file, language, text string
}

var fence = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")

// blocks lists the fenced blocks of every page of the repository.
func blocks(t *testing.T, language string) []block {
	t.Helper()
	var out []block
	for _, pattern := range []string{"*.md", "docs/*.md", "policies/*/*/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range fence.FindAllStringSubmatch(string(text), -1) {
				if m[1] == language {
					out = append(out, block{file, m[1], m[2]})
				}
			}
		}
	}
	return out
}

// TestPolicyBlocks: every hcl block of a page is as hclwrite formats it, and a
// block with a policy means something. The design's example needs a template
// that comes with a later version, which is the one finding it may have.
func TestPolicyBlocks(t *testing.T) {
	list := blocks(t, "hcl")
	if len(list) < 5 {
		t.Fatalf("found %d hcl blocks in the pages, want at least 5", len(list))
	}
	for _, b := range list {
		if got := string(hclwrite.Format([]byte(b.text))); got != b.text {
			t.Errorf("%s: hclwrite formats this block otherwise:\n%s", b.file, got)
		}
		if !strings.Contains(b.text, "\npolicy \"") && !strings.HasPrefix(b.text, "policy \"") {
			continue
		}
		_, diags := compileText(t, b.file, []byte(b.text))
		for _, d := range diags {
			later := strings.Contains(d.Message, "std/tls") || d.Code == "feature-absent"
			if d.Severity == diag.Error && !later {
				t.Errorf("%s: %s", b.file, d)
			}
		}
	}
}

var architectureRow = regexp.MustCompile("(?m)^\\| `([a-z/-]+)` \\|.*\\|([^|]*) \\|$")

// TestArchitecture: the page has a row for every package, and the files it sends
// readers to are there.
func TestArchitecture(t *testing.T) {
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for _, m := range architectureRow.FindAllStringSubmatch(string(text), -1) {
		rows[m[1]] = true
		for _, file := range regexp.MustCompile("`([a-z_]+\\.go)`").FindAllStringSubmatch(m[2], -1) {
			if _, err := os.Stat(filepath.Join(m[1], file[1])); err != nil {
				t.Errorf("ARCHITECTURE.md, row %s: %v", m[1], err)
			}
		}
	}
	for pkg := range imports(t) {
		covered := false
		for dir := pkg; dir != "."; dir = filepath.Dir(dir) {
			covered = covered || rows[dir]
		}
		if !covered {
			t.Errorf("ARCHITECTURE.md has no row for %s", pkg)
		}
	}
}

// TestReadme runs the README's one policy and one run as written, as this user
// and, for root, as an unprivileged one: each line of the run says what must
// come of it.
func TestReadme(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("host feature missing: Linux")
	}
	bin := programs(t)
	t.Run("as this user", func(t *testing.T) { followReadme(t, bin, os.Getuid()) })
	if os.Getuid() == 0 {
		t.Run("unprivileged", func(t *testing.T) { followReadme(t, bin, nobody) })
	}
}

func followReadme(t *testing.T, bin string, uid int) {
	project, err := os.MkdirTemp("/var/tmp", "obspc-readme-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(project) })
	if err := os.Mkdir(filepath.Join(project, ".obspc"), 0o755); err != nil {
		t.Fatal(err)
	}
	policy := blocks(t, "hcl")[0]
	if policy.file != "README.md" {
		t.Fatalf("the first hcl block is in %s, want README.md", policy.file)
	}
	if err := os.WriteFile(filepath.Join(project, ".obspc", "build.policy.hcl"), []byte(policy.text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := chownTree(project, uid); err != nil {
		t.Fatal(err)
	}
	counted := map[string]int{}
	for _, b := range blocks(t, "sh") {
		if b.file != "README.md" || !strings.Contains(b.text, "obspc exec") {
			continue
		}
		for line := range strings.Lines(b.text) {
			command, comment, _ := strings.Cut(strings.TrimSpace(line), "#")
			want, _, _ := strings.Cut(strings.TrimSpace(comment), " ")
			want = strings.Trim(want, ",:")
			counted[want]++
			out, err := inProject(project, bin, uid, command)
			if (err != nil) != (want == "refused") {
				t.Errorf("README: %s: %v, want %q\n%s", command, err, want, out)
			}
		}
	}
	if counted["works"] < 1 || counted["refused"] < 3 {
		t.Errorf("the README's run shows %v, want what works and what is refused", counted)
	}
}

func inProject(dir, bin string, uid int, command string) (string, error) {
	cmd := exec.Command("/bin/sh", "-c", command)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + bin + ":/usr/bin:/bin", "HOME=" + dir}
	if uid != os.Getuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

var (
	testNamed  = regexp.MustCompile("`(Test[A-Za-z0-9]+)(/[a-z0-9]+)?`")
	testDefine = regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9]+)\(`)
	attackRow  = regexp.MustCompile(`(?m)^\| ([A-Za-z0-9-]+) \|.*$`)
)

// advisories are those that docs/verification.md has to answer.
var advisories = []string{
	"CVE-2022-36056", "CVE-2026-22703", "CVE-2024-53267", "GHSA-9vcr-p3rj-q5q6", "CVE-2026-39395", "CVE-2026-31830", "GHSA-cq38-jh5f-37mq",
	"CVE-2022-29173", "CVE-2025-2888",
}

// TestDocsOfAttacks: every attack of the page names tests, each of them exists, and
// what TestAttacks tries stands on the page.
func TestDocsOfAttacks(t *testing.T) {
	text, err := os.ReadFile("docs/verification.md")
	if err != nil {
		t.Fatal(err)
	}
	defined, tried := testNames(t), map[string]bool{}
	for _, at := range attacks() {
		tried[at.row] = true
	}
	rows := map[string]bool{}
	for _, m := range attackRow.FindAllStringSubmatch(string(text), -1) {
		if m[1] == "row" || m[1] == "advisory" {
			continue
		}
		rows[m[1]] = true
		named := testNamed.FindAllStringSubmatch(m[0], -1)
		if len(named) == 0 {
			t.Errorf("row %s names no test", m[1])
		}
		own := false
		for _, n := range named {
			if !defined[n[1]] {
				t.Errorf("row %s names %s, which is no test", m[1], n[1])
			}
			if n[2] != "" && !tried[n[2][1:]] {
				t.Errorf("row %s names %s, and TestAttacks has no such row", m[1], n[0])
			}
			own = own || n[2] == "/"+m[1]
		}
		if tried[m[1]] && !own {
			t.Errorf("row %s does not name TestAttacks/%s", m[1], m[1])
		}
	}
	wanted := append(slices.Sorted(maps.Keys(tried)), advisories...)
	for n := 1; n <= 24; n++ {
		wanted = append(wanted, strconv.Itoa(n))
	}
	for _, row := range wanted {
		if !rows[row] {
			t.Errorf("docs/verification.md has no row %s", row)
		}
	}
}

// testNames are all test functions of the repository.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, m := range testDefine.FindAllStringSubmatch(string(source), -1) {
			out[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
