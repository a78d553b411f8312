package runtime_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/runtime"
)

// TestLiveLandlockByABI: what a run asks of kernels of each ABI stands in its
// evidence, and the command runs; one that lacks what the policy needs is exit 3
// naming the ABI and the kernel, and starts nothing. A policy that needs none runs
// there without a domain.
func TestLiveLandlockByABI(t *testing.T) {
	needSandbox(t)
	root := tree(t)
	work := filepath.Join(root, "work")
	write(t, filepath.Join(work, "src/file"), "")
	limited := treePolicy(t, root)
	all := strings.ReplaceAll(limited, fmt.Sprintf("execute = [%q]", probePath), `execute = ["/"]`)
	if all == limited {
		t.Fatalf("the policy has no execute of the probe: %s", limited)
	}
	for abi := range 10 {
		for needed, text := range map[int]string{2: limited, 0: all} {
			undo := runtime.WithLandlock(abi, nil)
			r := probed(t, development(t, text), work, "rename", filepath.Join(work, "src/file"), filepath.Join(work, "src/moved"))
			undo()
			if r.Exit == 0 {
				must(t, unix.Rename(filepath.Join(work, "src/moved"), filepath.Join(work, "src/file")))
			}
			refusal, e := r.refusal(), r.Evidence.Landlock
			switch {
			case abi < needed:
				words := []string{"Landlock ABI 2", "Linux " + r.Evidence.Host.Kernel}
				if refusal == nil || refusal.Code != runtime.Machine || r.Exit != runtime.ExitRefused || !contain(refusal.Message, words) {
					t.Errorf("ABI %d of %d needed: want a refusal with %q; %s", abi, needed, words, r)
				}
			case r.Exit != 0:
				t.Errorf("ABI %d of %d needed: %s", abi, needed, r)
			case abi < 2:
				if e != nil {
					t.Errorf("ABI %d: evidence of a domain: %+v", abi, e)
				}
			default:
				want := runtime.LandlockEvidence{ABI: []int{2, 3, 3, 5, 6, 7, 7, 7}[abi-2], Needed: needed}
				if e == nil || e.ABI != want.ABI || e.Needed != needed || slices.Contains(e.Files, "execute") != (needed > 0) ||
					slices.Contains(e.Files, "truncate") != (abi >= 3) || slices.Contains(e.Files, "ioctl_dev") != (abi >= 5) ||
					len(e.Scopes) != map[bool]int{true: 2}[abi >= 6] || len(e.Logging) != map[bool]int{true: 1}[abi >= 7] {
					t.Errorf("ABI %d of %d needed: evidence is %+v, want %+v and so on", abi, needed, e, want)
				}
			}
		}
	}
}

func contain(text string, words []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
}

// TestExamineLandlock: doctor says what domains have with this kernel's ABI, what
// they lack, and why there is none.
func TestExamineLandlock(t *testing.T) {
	for _, tt := range []struct {
		abi   int
		why   error
		state runtime.State
		found []string
	}{
		{9, nil, runtime.OK, []string{"ABI 9", "files as mounted, truncate, ioctl_dev, abstract_unix_socket, signal, log_subdomains_off"}},
		{7, nil, runtime.OK, []string{"ABI 7", "log_subdomains_off"}},
		{4, nil, runtime.OK, []string{"ABI 4", "files as mounted, truncate; not ioctl_dev (ABI 5, Linux 6.10), abstract_unix_socket, signal (ABI 6, Linux 6.12), log_subdomains_off (ABI 7, Linux 6.15)"}},
		{2, nil, runtime.OK, []string{"ABI 2", "files as mounted; not truncate (ABI 3, Linux 6.2)"}},
		{1, nil, runtime.Missing, []string{"ABI 1, and 2 is needed"}},
		{0, unix.ENOSYS, runtime.Missing, []string{"the kernel has none"}},
		{0, unix.EOPNOTSUPP, runtime.Missing, []string{"lsm= boot parameter"}},
	} {
		undo := runtime.WithLandlock(tt.abi, tt.why)
		f := states(runtime.Examine(context.Background(), "/no/such/bwrap"))["landlock"]
		undo()
		if f.State != tt.state || !contain(f.Found, tt.found) || (f.State == runtime.Missing) != (f.Help != "") {
			t.Errorf("ABI %d (%v): %+v, want %v with %q", tt.abi, tt.why, f, tt.state, tt.found)
		}
	}
}
