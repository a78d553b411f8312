package runtime_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/runtime"
)

// TestLiveAttackTable makes every attempt of attackTable three times: inside, in a
// bare bubblewrap that only mounts the machine read-only, and outside, where it has
// to work.
func TestLiveAttackTable(t *testing.T) {
	needSandbox(t)
	inside, bare := tree(t), tree(t)
	plantLater(t, inside)
	must(t, os.RemoveAll(filepath.Join(inside, "work/later")))
	v := development(t, strings.Replace(treePolicy(t, inside), "write = [workspace]", "write = [workspace]\n    execute = [optional(\"${workspace}/privileged\")]", 1))
	target := exec.Command(probePath, probeWord, "sleep", "10m") // what has a PID outside
	must(t, target.Start())
	defer target.Wait()
	defer target.Process.Kill()
	abstract, _ := listen(t, "unix", "@obspc-test-"+strconv.Itoa(os.Getpid()))
	tcp, _ := listen(t, "tcp", "127.0.0.1:0")
	named, _ := listen(t, "unix", filepath.Join(inside, "beside/readable/socket"))
	fill := func(root, attempt string) string {
		return strings.NewReplacer("$PID", strconv.Itoa(target.Process.Pid), "$ABSTRACT", abstract, "$TCP", tcp, "$SOCKET", named,
			" work", " "+root+"/work", " beside", " "+root+"/beside", "$ROOT", root).Replace(attempt)
	}
	var list []attack
	for _, a := range attackTable {
		if a.attempt != "" && (os.Getuid() == 0 || !a.root) {
			list = append(list, a)
		}
	}
	var in []string
	for _, a := range list {
		outside := tree(t)
		plantLater(t, outside)
		control := a.attempt
		if a.control != "" {
			control = a.control
		}
		if got := outsideProbe(t, strings.Fields(fill(outside, control))...); got != "ok" {
			t.Errorf("%s: %s outside is %s: the refusal inside proves nothing", a.what, control, got)
		}
		must(t, os.RemoveAll(filepath.Join(bare, "work")))
		plant(t, bare)
		plantLater(t, bare)
		got := bareProbe(t, filepath.Join(bare, "work"), strings.Fields(fill(bare, a.attempt)))
		if want := a.bareResult(os.Getuid() == 0); got != want {
			t.Errorf("%s: %s in a bare bubblewrap is %s, the table says %s", a.what, a.attempt, got, want)
		}
		in = append(in, fill(inside, a.attempt))
	}
	r := probed(t, v, filepath.Join(inside, "work"), append([]string{"each"}, in...)...)
	got := strings.Fields(r.stdout)
	if len(got) != len(list)+1 {
		t.Fatalf("of %d attempts %d were made: %s", len(list), len(got)-1, r)
	}
	for i, a := range list {
		if got[i] != a.inside {
			t.Errorf("%s: %s inside is %s, want %s", a.what, a.attempt, got[i], a.inside)
		}
	}
}

// plantLater makes what stands inside in place of what is missing and denied, and a
// set-user-ID program.
func plantLater(t *testing.T, root string) {
	t.Helper()
	if os.Getuid() == 0 {
		text, err := os.ReadFile(probePath)
		must(t, err)
		at := filepath.Join(root, "work/privileged")
		must(t, errors.Join(os.WriteFile(at, text, 0o755), os.Chown(at, nobody, nobody), os.Chmod(at, os.ModeSetuid|0o755)))
	}
	for _, made := range []string{"work/later", "work/made/for/it"} {
		write(t, filepath.Join(root, made), "")
	}
}

// bareProbe is what comes of an attempt with bubblewrap as many a script calls it.
func bareProbe(t *testing.T, work string, words []string) string {
	t.Helper()
	argv := append([]string{"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", work, work, "--chdir", work, "--", probePath, probeWord}, words...)
	text, err := exec.Command(runtime.DefaultBwrap, argv...).CombinedOutput()
	if err != nil && len(text) == 0 {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// TestAttackPage: docs/attacks.md is what the table says, and the tests that it
// names are there.
func TestAttackPage(t *testing.T) {
	const page = "../docs/attacks.md"
	want := attackPage()
	if os.Getenv("OBSPC_UPDATE") != "" {
		must(t, os.WriteFile(page, want, 0o644))
		t.Error("rewritten: read the difference")
	}
	if got, err := os.ReadFile(page); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what the table says (%v); OBSPC_UPDATE=1 go test ./runtime -run TestAttackPage writes it", page, err)
	}
	var sources []byte
	for _, pattern := range []string{"*_test.go", "*/*_test.go", "../*_test.go", "../policies/*_test.go", "../targets/*/*_test.go"} {
		files, err := filepath.Glob(pattern)
		must(t, err)
		for _, f := range files {
			text, err := os.ReadFile(f)
			must(t, err)
			sources = append(sources, text...)
		}
	}
	for _, a := range attackTable {
		for test := range strings.FieldsSeq(a.test) {
			if !bytes.Contains(sources, []byte("func "+strings.TrimSuffix(test, ",")+"(t *testing.T)")) {
				t.Errorf("%s: there is no test %s", a.what, test)
			}
		}
		if (a.attempt == "") == (a.test == "") || a.layer == "" || a.attempt != "" && (a.inside == "" || a.bare == "") {
			t.Errorf("%s: a row has an attempt with its results or a test, and a layer", a.what)
		}
	}
}

func init() {
	attempts["in-namespace"] = inNamespaces
	attempts["bind"] = func(a []string) error { return unix.Mount(a[0], a[1], "", unix.MS_BIND, "") }
	attempts["bound-writable"] = func(a []string) error {
		err := unix.Mount(a[0], a[0], "", unix.MS_BIND, "")
		if err == nil {
			err = unix.Mount("none", a[0], "", unix.MS_REMOUNT|unix.MS_BIND, "")
		}
		return err
	}
	attempts["overlay"] = func(a []string) error {
		dir, err := os.MkdirTemp(a[0], "overlay-")
		if err != nil {
			return err
		}
		for _, name := range []string{"upper", "work", "at"} {
			err = errors.Join(err, os.Mkdir(filepath.Join(dir, name), 0o700))
		}
		return errors.Join(err, unix.Mount("none", dir+"/at", "overlay", 0, fmt.Sprintf("lowerdir=%s,upperdir=%[2]s/upper,workdir=%[2]s/work,userxattr", a[1], dir)))
	}
	attempts["mount-setattr"] = func(a []string) error {
		return unix.MountSetattr(unix.AT_FDCWD, a[0], 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOEXEC})
	}
	attempts["open-tree"] = func(a []string) error {
		fd, err := unix.OpenTree(unix.AT_FDCWD, a[0], unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
		if err == nil {
			err = unix.MoveMount(fd, "", unix.AT_FDCWD, a[1], unix.MOVE_MOUNT_F_EMPTY_PATH)
		}
		return err
	}
	attempts["new-file-system"] = func([]string) error {
		fd, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
		if err == nil {
			err = unix.Close(fd)
		}
		return err
	}
	attempts["chroot"] = func(a []string) error { return unix.Chroot(a[0]) }
	attempts["pivot-root"] = func(a []string) error {
		if err := unix.Mount(a[0], a[0], "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return err
		}
		return errors.Join(unix.Chdir(a[0]), unix.PivotRoot(".", "."))
	}
	attempts["leave-privileged"] = func(a []string) error { return unix.Chmod(a[0], 0o4755) }
	attempts["leave-empty"] = func(a []string) error {
		fd, err := unix.Openat2(unix.AT_FDCWD, a[0], &unix.OpenHow{Flags: unix.O_CREAT | unix.O_EXCL | unix.O_CLOEXEC, Mode: 0o4755})
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		var stat unix.Stat_t
		if err := unix.Fstat(fd, &stat); err != nil {
			return err
		}
		if stat.Mode&unix.S_ISUID == 0 {
			return errors.New("made without the bit")
		}
		return nil
	}
	attempts["signal"] = func(a []string) error {
		pid, err := strconv.Atoi(a[0])
		if err != nil {
			return err
		}
		return unix.Kill(pid, 0)
	}
	attempts["trace"] = func(a []string) error {
		pid, err := strconv.Atoi(a[0])
		if err != nil {
			return err
		}
		return unix.PtraceSeize(pid)
	}
	// read-memory reads one byte of another process.
	attempts["read-memory"] = func(a []string) error {
		pid, err := strconv.Atoi(a[0])
		if err != nil {
			return err
		}
		var to byte
		local := []unix.Iovec{{Base: &to, Len: 1}}
		_, err = unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: 1, Len: 1}}, 0)
		if err == unix.EFAULT { // it was let look, and there is nothing at that address
			return nil
		}
		return err
	}
	// handle opens what a file's handle leads to, past every path.
	attempts["handle"] = func(a []string) error {
		h, _, err := unix.NameToHandleAt(unix.AT_FDCWD, a[0], 0)
		if err != nil {
			return err
		}
		dir, err := unix.Open(filepath.Dir(a[0]), unix.O_RDONLY|unix.O_DIRECTORY, 0)
		if err != nil {
			return err
		}
		fd, err := unix.OpenByHandleAt(dir, h, unix.O_RDONLY)
		if err == nil {
			err = unix.Close(fd)
		}
		return err
	}
	attempts["socket"] = func(a []string) error {
		var n [3]int
		for i := range n {
			var err error
			if n[i], err = strconv.Atoi(a[i]); err != nil {
				return err
			}
		}
		fd, err := unix.Socket(n[0], n[1], n[2])
		if err == nil {
			err = unix.Close(fd)
		}
		return err
	}
	attempts["keyring"] = func([]string) error {
		_, err := unix.AddKey("user", "obspc-test", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)
		return err
	}
	attempts["io-uring"] = func([]string) error {
		var params [120]byte
		fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)), 0)
		if errno != 0 {
			return errno
		}
		return unix.Close(int(fd))
	}
	// start-privileged starts a set-user-ID program and asks who it is.
	attempts["start-privileged"] = func(a []string) error {
		text, err := exec.Command(a[0], probeWord, "other-user").CombinedOutput()
		if word := strings.TrimSpace(string(text)); word != "" && word != "ok" {
			return errors.New(word)
		}
		return err
	}
	attempts["other-user"] = func([]string) error {
		if os.Geteuid() == os.Getuid() {
			return errors.New("the-same")
		}
		return nil
	}
	// memory-execute starts a program that has no path, as a copy of itself.
	attempts["memory-execute"] = func([]string) error {
		fd, err := unix.MemfdCreate("copy", 0)
		if err != nil {
			return err
		}
		text, err := os.ReadFile("/proc/self/exe")
		if err == nil {
			_, err = unix.Write(fd, text)
		}
		if err == nil {
			err = exec.Command(fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd), probeWord, "sleep", "0s").Run()
		}
		return err
	}
}

// inNamespaces makes an attempt as root of a user and mount namespace of its own.
func inNamespaces(a []string) error {
	cmd := exec.Command("/proc/self/exe", append([]string{probeWord}, a...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	text, err := cmd.Output()
	if word := strings.TrimSpace(string(text)); word != "" && word != "ok" {
		return errors.New(word)
	}
	return err
}
