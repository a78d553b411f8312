package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// host boots machines and compares what they report with the table.
type host struct {
	dir     string
	only    string
	jobs    int
	verbose bool
}

// limit is a boot's hard limit in time, for one that hangs: on a machine with
// nothing else to do they take a minute.
const limit = 30 * time.Minute

func (h host) run(ctx context.Context) error {
	var chosen []*boot
	for i := range boots {
		if h.only == "" || boots[i].name == h.only {
			chosen = append(chosen, &boots[i])
		}
	}
	if len(chosen) == 0 {
		return fmt.Errorf("no boot is named %q", h.only)
	}
	made := map[string]bool{}
	for _, b := range chosen {
		if !made[b.suite] {
			if err := h.initramfs(b.suite); err != nil {
				return err
			}
		}
		made[b.suite] = true
	}
	slots := make(chan struct{}, h.jobs)
	faults := make([]error, len(chosen))
	var all sync.WaitGroup
	for i, b := range chosen {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			faults[i] = h.boot(ctx, b)
		})
	}
	all.Wait()
	return errors.Join(faults...)
}

// initramfs packs a suite's files, obspc and this program into one archive.
func (h host) initramfs(suite string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(h.dir, suite, "initramfs"))
	if err != nil {
		return err
	}
	var text bytes.Buffer
	a := &archive{w: &text}
	err = a.tree(filepath.Join(h.dir, suite, "root"))
	for _, dir := range []string{"opt", "opt/obspc", "home", "home/user"} {
		a.directory(dir, 0o755)
	}
	a.file("init", 0o755, self)
	for _, name := range []string{"obspc", "obsrun", "obspc-demo", "runtime.test"} {
		a.file("opt/obspc/"+name, 0o755, filepath.Join(h.dir, "bin", name))
	}
	a.add("etc/passwd", kindFile|0o644, []byte(passwd))
	a.add("etc/group", kindFile|0o644, []byte(group))
	a.add("etc/hosts", kindFile|0o644, []byte(hosts))
	err = errors.Join(err, a.close())
	if err == nil {
		_, err = file.Write(text.Bytes())
	}
	return errors.Join(err, file.Close())
}

// boot runs one machine to its end.
func (h host) boot(ctx context.Context, b *boot) error {
	// The machine dies with the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := time.Now()
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	dir := filepath.Join(h.dir, b.suite)
	console, reports := filepath.Join(h.dir, b.name+".console"), filepath.Join(h.dir, b.name+".reports")
	line := strings.TrimSpace("console=ttyS0 panic=-1 quiet no_timer_check nosoftlockup " + b.line + " " + bootWord + b.name)
	cmd := exec.CommandContext(ctx, "qemu-system-x86_64", "-M", "pc", "-accel", "tcg", "-cpu", "max", "-m", "1024",
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-serial", "file:"+console, "-serial", "file:"+reports,
		"-kernel", filepath.Join(dir, "vmlinuz"), "-initrd", filepath.Join(dir, "initramfs"), "-append", line)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	said, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		err = errors.Join(err, context.Cause(ctx))
	}
	text, readErr := os.ReadFile(reports)
	log, logErr := os.ReadFile(console)
	err = errors.Join(err, readErr, logErr)
	var got []report
	if err == nil {
		got, err = readReports(text, b.cases)
	}
	if err != nil {
		return fmt.Errorf("%s: %w\n%s\nthe console's end:\n%s", b.name, err, said, log[max(0, len(log)-8000):])
	}
	var faults []error
	for i, t := range b.cases {
		if h.verbose {
			shown, err := json.MarshalIndent(got[i], "", "  ")
			if err != nil {
				return err
			}
			fmt.Printf("%s: %s\n", b.name, shown)
		}
		if err := t.check(systemOf(b.suite), got[i]); err != nil {
			faults = append(faults, fmt.Errorf("%s: %s: %w", b.name, t.name(), err))
		}
	}
	fmt.Printf("kernels: %s: Linux %s, bubblewrap %s, Landlock ABI %d: %d cases, %d failed, %.0f s\n",
		b.name, got[0].Kernel, got[0].Bwrap, got[0].ABI, len(got), len(faults), time.Since(start).Seconds())
	return errors.Join(faults...)
}

// numbers are those that a version begins with.
func numbers(version string) []int {
	var out []int
	for _, word := range strings.Split(version, ".") {
		n, err := strconv.Atoi(word)
		if err != nil {
			break
		}
		out = append(out, n)
	}
	return out
}
