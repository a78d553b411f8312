package runtime_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Attempts that use much of something. Each has a bound of its own, which is
// small enough for any machine that builds obspc.
func init() {
	for name, attempt := range map[string]func([]string) error{
		"hog": hog, "hogs": hogs, "memory-file": memoryFile, "shared": sharedMemory, "crowd": crowd, "fill-file": fillFile,
		"unlinked": unlinked, "names": manyNames, "open": manyDescriptors, "crash": crash, "shut": shut, "hide": hide, "stay": stay, "map": mapFile,
	} {
		attempts[name] = attempt
	}
}

// holdTime is how long what was used is kept, so that it can be noticed. "stay"
// makes it longer than any machine needs for that.
var holdTime = 250 * time.Millisecond

func hold() { time.Sleep(holdTime) }

func stay(a []string) error {
	holdTime = 20 * time.Second
	return attempts[a[0]](a[1:])
}

// mebibytes is a number of MiB, 512 at most.
func mebibytes(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err == nil && n > 512 {
		err = errors.New("too much for a test")
	}
	return n << 20, err
}

func touchPages(held []byte) {
	for i := 0; i < len(held); i += 4096 {
		held[i] = 1
	}
}

// hog takes memory, MiB.
func hog(a []string) error {
	n, err := mebibytes(a[0])
	if err != nil {
		return err
	}
	held := make([]byte, n)
	touchPages(held)
	hold()
	held[0]++
	return nil
}

// hogs has several processes take memory at a time: number, MiB each.
func hogs(a []string) error {
	n, err := strconv.Atoi(a[0])
	if err != nil || n > 16 {
		return errors.New("1 to 16")
	}
	var all []*exec.Cmd
	for range n {
		words := []string{probeWord, "hog", a[1]}
		if holdTime > time.Second {
			words = []string{probeWord, "stay", "hog", a[1]}
		}
		cmd := exec.Command("/proc/self/exe", words...)
		if err := cmd.Start(); err != nil {
			return err
		}
		all = append(all, cmd)
	}
	for _, cmd := range all {
		err = errors.Join(err, cmd.Wait())
	}
	return err
}

// memoryFile fills a file that has no name and is not mapped, MiB.
func memoryFile(a []string) error {
	n, err := mebibytes(a[0])
	if err != nil {
		return err
	}
	fd, err := unix.MemfdCreate("hog", 0)
	if err != nil {
		return err
	}
	page := make([]byte, 1<<20)
	for range n >> 20 {
		if _, err := unix.Write(fd, page); err != nil {
			return err
		}
	}
	hold()
	return nil
}

// sharedMemory maps memory that a child process shares, MiB, from a file when one
// is named: it is used once, whoever maps it.
func sharedMemory(a []string) error {
	n, err := mebibytes(a[0])
	if err != nil {
		return err
	}
	fd, flags := -1, unix.MAP_SHARED|unix.MAP_ANONYMOUS
	if len(a) > 1 {
		if fd, err = unix.Open(a[1], unix.O_RDWR|unix.O_CREAT, 0o600); err == nil {
			err = unix.Ftruncate(fd, int64(n))
		}
		flags = unix.MAP_SHARED
	}
	if err != nil {
		return err
	}
	held, err := unix.Mmap(fd, 0, n, unix.PROT_READ|unix.PROT_WRITE, flags)
	if err != nil {
		return err
	}
	touchPages(held)
	if len(a) > 1 {
		for range 3 { // the others map the same file
			cmd := exec.Command("/proc/self/exe", probeWord, "map", a[1])
			if err := cmd.Start(); err != nil {
				return err
			}
			defer cmd.Wait()
		}
	}
	hold()
	return nil
}

// mapFile maps a whole file and reads all of it.
func mapFile(a []string) error {
	f, err := os.Open(a[0])
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	held, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	sum := 0
	for i := 0; i < len(held); i += 4096 {
		sum += int(held[i])
	}
	hold()
	fmt.Println(sum)
	return nil
}

// crowd has so many processes at a time.
func crowd(a []string) error {
	n, err := strconv.Atoi(a[0])
	if err != nil || n > 256 {
		return errors.New("1 to 256")
	}
	var all []*os.Process
	for range n {
		p, err := os.StartProcess("/usr/bin/sleep", []string{"sleep", "20"}, &os.ProcAttr{})
		if err != nil {
			return err
		}
		all = append(all, p)
	}
	hold()
	for _, p := range all {
		p.Kill()
		p.Wait()
	}
	return nil
}

// fillFile writes a file, MiB.
func fillFile(a []string) error {
	f, err := os.Create(a[0])
	if err != nil {
		return err
	}
	return fill(f, a[1])
}

// unlinked writes a file that has no name any more, MiB.
func unlinked(a []string) error {
	f, err := os.Create(a[0])
	if err == nil {
		err = os.Remove(a[0])
	}
	if err != nil {
		return err
	}
	return fill(f, a[1])
}

func fill(f *os.File, size string) error {
	n, err := mebibytes(size)
	if err != nil {
		return err
	}
	page := make([]byte, 1<<20)
	for range n >> 20 {
		if _, err := f.Write(page); err != nil {
			return err
		}
	}
	hold()
	return f.Close()
}

// manyNames makes empty files in a directory.
func manyNames(a []string) error {
	n, err := strconv.Atoi(a[1])
	if err != nil || n > 100_000 {
		return errors.New("100,000 at most")
	}
	for i := range n {
		if err := touch(filepath.Join(a[0], strconv.Itoa(i)), os.O_CREATE|os.O_WRONLY); err != nil {
			return err
		}
	}
	hold()
	return nil
}

// manyDescriptors opens the same file over and over.
func manyDescriptors(a []string) error {
	n, err := strconv.Atoi(a[0])
	if err != nil || n > 10_000 {
		return errors.New("10,000 at most")
	}
	for range n {
		if _, err := unix.Open("/dev/null", unix.O_RDONLY, 0); err != nil {
			return err
		}
	}
	return nil
}

// crash ends in a way that dumps core, in the current directory as the control.
func crash([]string) error {
	debug.SetTraceback("crash")
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: ^uint64(0), Max: ^uint64(0)}); err != nil {
		fmt.Println("core limit:", err)
	}
	signalSelf := syscall.Kill(os.Getpid(), syscall.SIGABRT)
	time.Sleep(time.Second)
	return signalSelf
}

// shut makes a directory that its owner cannot list, and fills it.
func shut(a []string) error {
	dir := filepath.Join(a[0], "shut")
	if err := os.Mkdir(dir, 0o300); err != nil {
		return err
	}
	return fillFile([]string{filepath.Join(dir, "file"), a[1]})
}

// hide takes memory where nobody but root sees it, MiB.
func hide(a []string) error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return err
	}
	return memoryFile(a)
}
