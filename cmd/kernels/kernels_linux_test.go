package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestPage: docs/kernels.md has the table that machines are held to. OBSPC_UPDATE=1
// rewrites it, and fails while doing so.
func TestPage(t *testing.T) {
	const file = "../../docs/kernels.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), "| boot |")
	if !found {
		t.Fatalf("%s has no table", file)
	}
	_, after, _ := strings.Cut(rest, "\n\n")
	want := before + page() + "\n" + after
	if string(text) == want {
		return
	}
	t.Errorf("%s is not what the table says; OBSPC_UPDATE=1 go test rewrites it", file)
	if os.Getenv("OBSPC_UPDATE") == "1" {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// TestControls: whatever is refused works for the same caller, under the same kernel
// and with the same bubblewrap, where nothing is taken away.
func TestControls(t *testing.T) {
	for _, b := range boots {
		names := map[string]bool{}
		for _, c := range b.cases {
			if names[c.name()] {
				t.Errorf("%s has two cases %q", b.name, c.name())
			}
			names[c.name()] = true
			control := slices.IndexFunc(bootNamed(b.suite).cases, func(o trial) bool {
				return o.as == c.as && o.in == delegated && len(o.missing) == 0 && o.scopes == kept &&
					o.plain == works && o.strict == works && o.open == works
			})
			if control < 0 {
				t.Errorf("%s, %s: nothing shows that it would work", b.name, c.name())
			}
			if ran := c.plain == works || c.strict == works || c.open == works; ran != (c.scopes != "") {
				t.Errorf("%s, %s: runs %v, but the scopes are %q", b.name, c.name(), ran, c.scopes)
			}
		}
	}
}

// TestReports: a report counts whole, once, and in its place.
func TestReports(t *testing.T) {
	cases := []trial{{as: root, in: delegated}, {as: user, in: delegated}}
	var lines []string
	for i, c := range cases {
		line, err := reportLine(i, len(cases), report{Case: c.name(), Kernel: "6.1.0", Runs: map[string]ran{"plain": {Exit: i}}})
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(line))
	}
	whole := lines[0] + strings.Replace(lines[1], "\n", "\r\n", 1)
	got, err := readReports([]byte(whole), cases)
	if err != nil || len(got) != 2 || got[1].Runs["plain"].Exit != 1 {
		t.Fatalf("readReports(%q) = %+v, %v", whole, got, err)
	}
	for name, text := range map[string]string{
		"nothing":     "",
		"one":         lines[0],
		"the other":   lines[1],
		"swapped":     lines[1] + lines[0],
		"twice":       lines[0] + lines[0],
		"three":       whole + lines[1],
		"half":        whole[:len(whole)-20],
		"no end":      strings.TrimRight(whole, "\r\n"),
		"changed":     strings.Replace(whole, `"exit":1`, `"exit":0`, 1),
		"interrupted": strings.Replace(whole, `"exit":1`, "\n[    4.2] reboot\n"+`"exit":1`, 1),
		"words":       "hello\n" + whole,
	} {
		if got, err := readReports([]byte(text), cases); err == nil {
			t.Errorf("%s: readReports(%q) = %+v, want an error", name, text, got)
		}
	}
}

// TestArchive: every entry stands where the format says.
func TestArchive(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bin/tool"), []byte("#!"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("tool", filepath.Join(dir, "bin/link")); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	a := &archive{w: &text}
	if err := a.tree(dir); err != nil {
		t.Fatal(err)
	}
	if err := a.close(); err != nil {
		t.Fatal(err)
	}
	var have []string
	for rest := text.Bytes(); len(rest) > 0; {
		field := func(i int) int {
			n, err := strconv.ParseInt(string(rest[6+8*i:14+8*i]), 16, 64)
			if err != nil || string(rest[:6]) != "070701" {
				t.Fatalf("a header is %.110q", rest)
			}
			return int(n)
		}
		round := func(n int) int { return (n + 3) / 4 * 4 }
		mode, size, name := field(1), field(6), field(11)
		begin := round(110 + name)
		have = append(have, strconv.FormatInt(int64(mode), 8)+" "+string(rest[110:110+name-1])+" "+string(rest[begin:begin+size]))
		rest = rest[begin+round(size):]
	}
	want := []string{"40755 bin ", "120777 bin/link tool", "100755 bin/tool #!", "0 TRAILER!!! "}
	if !slices.Equal(have, want) {
		t.Errorf("the archive has %q, want %q", have, want)
	}
}

// TestAccepts: a suite that moves may only move on.
func TestAccepts(t *testing.T) {
	for _, tt := range []struct {
		have, want string
		ok         bool
	}{
		{"6.1.0-50-cloud-amd64", "6.1.", true},
		{"6.12.1+deb13", "6.1.", false},
		{"7.2.12+deb14-cloud-amd64", "7.0+", true},
		{"6.18.1", "7.0+", false},
		{"0.13.1", "0.13+", true},
		{"0.12.0", "0.13+", false},
		{"1.0", "0.13+", true},
		{"", "0.13+", false},
	} {
		if got := accepts(tt.have, tt.want); got != tt.ok {
			t.Errorf("accepts(%q, %q) = %v, want %v", tt.have, tt.want, got, tt.ok)
		}
	}
}
