package syscalls

import "slices"

// loosened are the refusals that a policy may take off by name. Each stands between
// a sandbox and defects of the kernel, or answers a question that harms nobody. The
// others keep a promise that a policy makes elsewhere, whatever it allows here:
// namespaces, mounts and handles show files that no rule grants; sockets and
// io_uring, what unix and endpoints refuse; keyrings are the caller's; modes and
// terminals reach past the end of the run; the rest needs a capability, which no
// sandbox has.
var loosened = []string{
	"ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "bpf", "perf_event_open", "userfaultfd", "modify_ldt",
	"clock_adjtime", "adjtimex", "quotactl", "quotactl_fd",
}

// MayAllow reports whether a policy may allow the call although it is refused.
func MayAllow(name string) bool { return slices.Contains(loosened, name) }

// intoProcesses are those of them that reach into another process. Of a sandbox's
// PID 1, which ends it when obsrun dies, Landlock alone keeps them then (landlock(7),
// ptrace restrictions).
var intoProcesses = []string{"ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd"}

// IntoProcesses reports whether the call reaches into another process, so that a
// policy that allows it needs a Landlock domain.
func IntoProcesses(name string) bool { return slices.Contains(intoProcesses, name) }
