package syscalls

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
)

// sources are where the numbers come from: the kernel's own tables, and the Go
// module that is generated from them.
var sources = map[string]struct{ goarch, kernel string }{
	"x86_64":  {"amd64", "arch/x86/entry/syscalls/syscall_64.tbl"},
	"aarch64": {"arm64", "scripts/syscall.tbl (before Linux 6.11: include/uapi/asm-generic/unistd.h)"},
}

func read(t *testing.T, elements ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(elements...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// numbers is what golang.org/x/sys/unix says of arch, as the files here have it.
func numbers(t *testing.T, module, arch string) []byte {
	source := sources[arch]
	text := read(t, module, "unix", "zsysnum_linux_"+source.goarch+".go")
	var b bytes.Buffer
	fmt.Fprintf(&b, "# System calls of %s, Linux %s: number and name.\n# Source: %s of the kernel.\n", arch, Kernel, source.kernel)
	for _, m := range regexp.MustCompile(`(?m)^\tSYS_(\w+) += (\d+)$`).FindAllStringSubmatch(text, -1) {
		// The first of the numbers that are an architecture's own is a mark, not a call.
		if name := strings.ToLower(m[1]); name != "arch_specific_syscall" {
			fmt.Fprintf(&b, "%s %s\n", m[2], name)
		}
	}
	return b.Bytes()
}

// TestTables holds the tables to golang.org/x/sys/unix, which is generated from the
// kernel's own. OBSPC_UPDATE=1 rewrites them, and fails so that nobody takes such a
// run for a test.
func TestTables(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/sys").Output()
	if err != nil {
		t.Fatalf("go list -m golang.org/x/sys: %v", err)
	}
	module := strings.TrimSpace(string(out))
	if recipe := read(t, module, "unix", "linux", "Dockerfile"); !strings.Contains(recipe, "--branch v"+Kernel+" ") {
		t.Errorf("golang.org/x/sys is generated from another kernel than Linux %s", Kernel)
	}
	for _, arch := range Arches() {
		want, file := numbers(t, module, arch), arch+".txt"
		if os.Getenv("OBSPC_UPDATE") != "" {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
			t.Errorf("%s was rewritten", file)
		}
		if got := read(t, file); got != string(want) {
			t.Errorf("%s is not what golang.org/x/sys says; OBSPC_UPDATE=1 rewrites it", file)
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, tt := range []struct {
		name            string
		x86_64, aarch64 int // -1: it does not have it
	}{
		{"read", 0, 63},
		{"open", 2, -1},
		{"socket", 41, 198},
		{"clone", 56, 220},
		{"newfstatat", 262, 79},
		{"clone3", 435, 435},
		{"open_tree_attr", 467, 467},
		{"rseq_slice_yield", 471, 471},
		{"arch_specific_syscall", -1, -1},
		{"openfile", -1, -1},
		{"", -1, -1},
	} {
		on := 0
		for arch, want := range map[string]int{"x86_64": tt.x86_64, "aarch64": tt.aarch64} {
			n, ok := Number(arch, tt.name)
			if ok != (want >= 0) || ok && int(n) != want {
				t.Errorf("Number(%q, %q) = %d, %v, want %d", arch, tt.name, n, ok, want)
			}
			if !ok {
				continue
			}
			on++
			if got := Name(arch, n); got != tt.name {
				t.Errorf("Name(%q, %d) = %q, want %q", arch, n, got, tt.name)
			}
		}
		if got := len(On(tt.name)); got != on {
			t.Errorf("On(%q) has %d architectures, want %d", tt.name, got, on)
		}
		if got := slices.Contains(Names(), tt.name); got != (on > 0) {
			t.Errorf("Names() has %q: %v", tt.name, got)
		}
	}
}

func TestRefusedAreCalls(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Refused() {
		if len(On(r.Call)) == 0 || seen[r.Call] || r.Why == "" || r.Answer == "" {
			t.Errorf("refusal %v: no call, stated twice, or without a reason", r)
		}
		seen[r.Call] = true
		if got, ok := Refusing(r.Call); !ok || got != r {
			t.Errorf("Refusing(%q) = %v, %v", r.Call, got, ok)
		}
	}
	if _, ok := Refusing("read"); ok {
		t.Error(`Refusing("read") = true`)
	}
}
