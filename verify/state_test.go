package verify

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/obspc/obspc/verify/release"
)

// serial is a release with that serial and a trust that pins it from serial 1 on.
func serial(t testing.TB, n int64, stateDir string) (Source, Trust) {
	t.Helper()
	in := input(t)
	in.Serial = n
	files := build(t, in)
	trust := trusting(t, files)
	trust.Pins.Serial, trust.StateDir = 1, stateDir
	return Memory(files), trust
}

func TestStateRemembersTheHighestSerial(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	src, trust := serial(t, 12, state)
	wantVerified(t, src, trust)
	wantVerified(t, src, trust) // the same release again
	path := filepath.Join(state, "payments.json")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("state file: %v, %v", info, err)
	}
	src, trust = serial(t, 13, state)
	wantVerified(t, src, trust)
	before, _ := os.ReadFile(path)
	src, trust = serial(t, 12, state)
	f := wantRefused(t, src, trust, SerialAndExpiry, release.ManifestName, Stale)
	if f.Wanted != "serial 13 or higher" || f.Found != "12" {
		t.Errorf("the failure says %q", f)
	}
	if after, _ := os.ReadFile(path); string(after) != string(before) {
		t.Errorf("a refused release changed the state to %s", after)
	}
	entries, _ := os.ReadDir(state)
	if len(entries) != 1 {
		t.Errorf("the state directory holds %v", entries)
	}
}

func TestSameSerialOtherDigest(t *testing.T) {
	state := t.TempDir()
	src, trust := serial(t, 12, state)
	wantVerified(t, src, trust)
	in := input(t)
	in.Compiler += "-other"
	files := build(t, in)
	trust = trusting(t, files)
	wantVerified(t, Memory(files), trust) // without state it is a release like any other
	trust.StateDir = state
	wantRefused(t, Memory(files), trust, SerialAndExpiry, release.ManifestName, Stale)
}

// Nothing is written before everything passed, and without a state directory
// nothing is written at all.
func TestStateIsWrittenLast(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	src, trust := serial(t, 12, state)
	trust.Pins.Sums = nil
	wantRefused(t, src, trust, Pins, release.SumsName, Untrusted)
	trust.Pins = nil
	if v, report := Open(src, trust); v != nil || !report.Unanchored {
		t.Errorf("report:\n%s", report)
	}
	if _, err := os.Stat(state); !os.IsNotExist(err) {
		t.Errorf("the state directory exists: %v", err)
	}
}

func TestStateThatIsNotTrusted(t *testing.T) {
	const good = `{"digest":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","product":"payments","schema":"obspc.state/v1","serial":3}`
	for _, tt := range []struct {
		name   string
		make   func(path string) error
		reason Reason // "": accepted
	}{
		{"an older serial", func(path string) error { return os.WriteFile(path, []byte(good), 0o600) }, ""},
		{"nothing in it", func(path string) error { return os.WriteFile(path, nil, 0o600) }, Malformed},
		{"a space", func(path string) error { return os.WriteFile(path, []byte(good+" "), 0o600) }, Malformed},
		{"of another product", func(path string) error {
			return os.WriteFile(path, []byte(strings.Replace(good, "payments", "web", 1)), 0o600)
		}, Malformed},
		{"others may write", func(path string) error {
			if err := os.WriteFile(path, []byte(good), 0o600); err != nil {
				return err
			}
			return os.Chmod(path, 0o606)
		}, UnsafeFile},
		{"a link", func(path string) error { return os.Symlink("/dev/null", path) }, UnsafeFile},
		{"a folder", func(path string) error { return os.Mkdir(path, 0o700) }, UnsafeFile},
		{"large", func(path string) error { return os.WriteFile(path, make([]byte, maxState+1), 0o600) }, UnsafeFile},
	} {
		t.Run(tt.name, func(t *testing.T) {
			src, trust := serial(t, 12, t.TempDir())
			if err := tt.make(filepath.Join(trust.StateDir, "payments.json")); err != nil {
				t.Fatal(err)
			}
			if tt.reason == "" {
				wantVerified(t, src, trust)
			} else {
				wantRefused(t, src, trust, SerialAndExpiry, "", tt.reason)
			}
		})
	}
}

// Development trust is for what was compiled on the spot, and leaves no trace.
func TestDevelopment(t *testing.T) {
	in := input(t)
	in.Product, in.Serial = "", 0
	in.Created, in.Expires = time.Time{}, time.Time{}
	files := build(t, in)
	trust := trusting(t, files)
	trust.Development, trust.StateDir = true, filepath.Join(t.TempDir(), "state")
	v := wantVerified(t, Memory(files), trust)
	if got := strings.Join(v.Anchors(), " "); got != "development" {
		t.Errorf("Anchors = %s, want development", got)
	}
	if _, err := os.Stat(trust.StateDir); !os.IsNotExist(err) {
		t.Errorf("the state directory exists: %v", err)
	}
	named := sample(t)
	trust = trusting(t, named)
	wantVerified(t, Memory(named), trust)
	trust.Development = true
	wantRefused(t, Memory(named), trust, Pins, release.ManifestName, Untrusted)
}

// Calls at the same time end with the highest serial, whoever writes last.
func TestStateUnderConcurrency(t *testing.T) {
	state := t.TempDir()
	const calls = 6
	var wait sync.WaitGroup
	for n := range calls {
		src, trust := serial(t, int64(n+1), state)
		wait.Go(func() { Open(src, trust) })
	}
	wait.Wait()
	s, fault := readState(state, "payments")
	if fault != nil || s == nil || s.Serial != calls {
		t.Errorf("state = %+v, %v, want serial %d", s, fault, calls)
	}
}
