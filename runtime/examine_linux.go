package runtime

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	goruntime "runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/runtime/cgroup"
	"github.com/obspc/obspc/targets/landlock"
	"github.com/obspc/obspc/verify/release"
)

// checks are all of them, in the order in which they are reported.
var checks = []struct {
	name string
	do   func(*examination) (State, string, string)
	why  string
}{
	{theKernel, (*examination).kernel, "the system calls that every run makes"},
	{theCaller, (*examination).caller, "obsrun runs as its caller and as nobody else"},
	{theTool, (*examination).bubblewrap, "one that only root can change, not setuid, not too old"},
	{userNamespaces, (*examination).namespaces, "bubblewrap makes them without privileges"},
	{seccompFilter, (*examination).seccomp, "the list of dangerous calls is a filter"},
	{theLandlock, (*examination).landlock, "what may start is kept by Landlock"},
	{theHome, (*examination).home, "the slot home is what the user database says"},
	{theLimits, (*examination).limits, "what keeps limits on all processes of a run together"},
	{theSandbox, (*examination).sandbox, "all of it together, with the options of a run"},
}

// examination is what the checks share.
type examination struct {
	bwrap   string
	tool    *tool
	noTool  *Refusal
	abi     int
	noABI   error
	refusal *Refusal // of the trial; nil when it came to its end
	tried   bool
}

// Examine asks whether this machine can run sandboxes, with the bubblewrap at path
// ("": the default one). It sets one up and takes it down again.
func Examine(ctx context.Context, path string) *Examination {
	x := &examination{bwrap: path}
	x.abi, x.noABI = landlockVersion()
	if x.tool, x.noTool = findTool(path); x.noTool == nil {
		x.refusal, x.tried = trial(ctx, path, x.abi >= landlock.ABI), true
	}
	e := &Examination{Schema: ExaminationSchema, Obsrun: release.Version, System: goruntime.GOOS, Arch: goruntime.GOARCH}
	for _, c := range checks {
		f := Finding{Name: c.name}
		f.State, f.Found, f.Help = c.do(x)
		e.Findings = append(e.Findings, f)
	}
	e.Conclude()
	return e
}

// calls are the system calls that a run makes and older kernels lack, each made as
// a run makes it.
var calls = []struct {
	name, since string
	try         func() error
}{
	{"openat2", "5.6", func() error { _, err := lookup(ir.Path{}); return err }},
	{"close_range", "5.11", func() error { return unix.CloseRange(math.MaxInt32, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC) }},
	{"pidfd_open", "5.3", func() error { return closed(unix.PidfdOpen(os.Getpid(), 0)) }},
	{"memfd_create", "3.17", func() error { return closed(sealed("doctor", nil)) }},
}

func closed(fd int, err error) error {
	if err == nil {
		err = unix.Close(fd)
	}
	return err
}

func (x *examination) kernel() (State, string, string) {
	var h HostEvidence
	describeHost(&h)
	found := "Linux " + h.Kernel + ", " + goruntime.GOARCH
	for _, c := range calls {
		if err := c.try(); err != nil {
			return Missing, fmt.Sprintf("%s: %s: %v", found, c.name, err),
				"use Linux " + c.since + " or later; in a container its seccomp profile has to admit " + c.name
		}
	}
	return OK, found, ""
}

func (x *examination) caller() (State, string, string) {
	if refusal := sameUser(); refusal != nil {
		return Missing, refusal.Message, refusal.Help
	}
	if uid := os.Getuid(); uid != 0 {
		return OK, fmt.Sprintf("user %d", uid), ""
	}
	return OK, "user 0: runs need CAP_SYS_ADMIN, to make device nodes read-only first", ""
}

func (x *examination) bubblewrap() (State, string, string) {
	if x.noTool != nil {
		return Missing, x.noTool.Message, x.noTool.Help
	}
	if state, found, help := x.blamed(theTool); state == Missing {
		return state, found, help
	}
	version := x.tool.version
	if version == "" {
		version = "of a version that it does not say"
	}
	return OK, fmt.Sprintf("%s %s, only root can change it, not setuid", x.tool.path, version), ""
}

// blamed is how the trial came out for one check. Unknown: it failed for another
// reason, or was not made.
func (x *examination) blamed(check string) (State, string, string) {
	switch {
	case !x.tried:
		return Unknown, "not tried without bubblewrap", "see bubblewrap"
	case x.refusal == nil:
		return OK, "", ""
	case x.refusal.check == check:
		return Missing, x.refusal.Message, x.refusal.Help
	}
	return Unknown, "not seen: the sandbox failed", "see sandbox"
}

// settings are what an administrator limits user namespaces by. Not every kernel
// has each.
var settings = []string{
	"user/max_user_namespaces",
	"kernel/unprivileged_userns_clone",             // Debian's
	"kernel/apparmor_restrict_unprivileged_userns", // Ubuntu's, since 23.10
}

func (x *examination) namespaces() (State, string, string) {
	var have []string
	for _, name := range settings {
		if text, err := os.ReadFile("/proc/sys/" + name); err == nil {
			have = append(have, strings.ReplaceAll(name, "/", ".")+"="+strings.TrimSpace(string(text)))
		}
	}
	state, found, help := x.blamed(userNamespaces)
	if state == OK {
		found = "bubblewrap makes them"
	}
	return state, found + " (" + list(have) + ")", help
}

func (x *examination) seccomp() (State, string, string) {
	if _, ok := arches[goruntime.GOARCH]; !ok {
		refusal := noProgram()
		return Missing, refusal.Message, refusal.Help
	}
	state, found, help := x.blamed(seccompFilter)
	if state != OK {
		return state, found, help
	}
	found = "a filter was loaded"
	if mode, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0); err == nil && mode == 2 {
		found += ", under that of a container around"
	}
	return OK, found, ""
}

func (x *examination) landlock() (State, string, string) {
	if x.abi >= landlock.ABI {
		return OK, fmt.Sprintf("ABI %d, of which %d is needed; %s", x.abi, landlock.ABI, givenBy(x.abi)), ""
	}
	var h HostEvidence
	describeHost(&h)
	refusal := noLandlock(x.abi, h.Kernel)
	found := fmt.Sprintf("ABI %d, and %d is needed", x.abi, landlock.ABI)
	switch {
	case errors.Is(x.noABI, unix.ENOSYS):
		found = "the kernel has none"
	case errors.Is(x.noABI, unix.EOPNOTSUPP):
		found = "it is not in the lsm= boot parameter"
	case x.noABI != nil:
		found = fmt.Sprintf("it cannot be asked for: %v", x.noABI)
	}
	return Missing, found + "; only policies that let everything readable start would run", refusal.Help
}

// givenBy says what domains have on a kernel of that ABI, and what they lack.
func givenBy(abi int) string {
	have, lack := []string{"files as mounted"}, []string(nil)
	for _, l := range (&landlock.Rules{Programs: true}).Levels()[1:] {
		names := strings.Join(l.Names(landlock.File, landlock.Directory, landlock.Scope, landlock.Logging), ", ")
		if l.ABI <= abi {
			have = append(have, names)
			continue
		}
		lack = append(lack, fmt.Sprintf("%s (ABI %d, Linux %s)", names, l.ABI, linuxOf(l.ABI)))
	}
	text := "below the mounts, every command has " + strings.Join(have, ", ")
	if lack != nil {
		text += "; not " + strings.Join(lack, ", ")
	}
	return text
}

// linuxOf is the first release of Linux with that ABI.
func linuxOf(abi int) string {
	for _, rev := range landlock.Revisions() {
		if rev.ABI == abi {
			return rev.Linux
		}
	}
	return ""
}

func (x *examination) home() (State, string, string) {
	home, refusal := homeOf(os.Getuid())
	if refusal == nil {
		refusal = checkDirectory(ir.Home, home)
	}
	if refusal != nil {
		return Limited, refusal.Message + "; policies that name ${home} are refused", refusal.Help
	}
	return OK, home.String(), ""
}

// limits says what would keep a run's memory and processes, by the code that a run
// finds that out with.
func (x *examination) limits() (State, string, string) {
	b := bounds{memory: 1 << 30, processes: 1 << 10}
	b.choose()
	defer b.close()
	var parts []string
	state := OK
	for _, name := range []ir.LimitName{ir.Memory, ir.Processes} {
		scope, by := b.keeps(name)
		parts = append(parts, fmt.Sprintf("%s: %s, by the %s", name, scope, by))
		if scope != ir.TreeScope {
			state = Limited
		}
	}
	found := strings.Join(parts, "; ")
	var lacking *cgroup.LackingError
	if state == OK || !errors.As(b.lacking, &lacking) {
		return state, found, ""
	}
	return state, fmt.Sprintf("%s; policies that ask for the kernel (scope = %q) are refused: %s", found, ir.TreeScope, lacking.Why), lacking.Help
}

func (x *examination) sandbox() (State, string, string) {
	switch state, found, help := x.blamed(theSandbox); {
	case state == OK:
		return OK, "one was set up with the options of a run, and taken down again", ""
	case !x.tried:
		return state, found, help
	}
	return Missing, x.refusal.Message, x.refusal.Help
}
