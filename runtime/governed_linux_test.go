package runtime_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/obspc/obspc/runtime"
)

// governedPolicy has commands that run the probe; pin is a digest line or "".
func governedPolicy(pin string) string {
	return fmt.Sprintf(`
policy "p" {
  version = 1
  extends = ["std/base"]
  targets = ["bwrap"]
  filesystem {
    read    = [%[1]q]
    write   = [workspace]
    execute = [%[1]q]
  }
  command "print" {
    executable = %[1]q
    arguments  = [%[2]q, "print", "{\"id\":\"${identifier("id")}\",\"n\":", "${integer("n", -5, 5)}", "}"]
    result "line" {
      identifier "id" {
        max_bytes = 8
      }
      integer "n" {
        minimum = 0
        maximum = 5
      }
    }
  }
  command "pinned" {
    executable = %[1]q
    %[3]s
    arguments = [%[2]q, "print", "pinned", "--", rest("words")]
  }
}`, probePath, probeWord, pin)
}

func command(t testing.TB, name, pin string, fields map[string][]string) ran {
	t.Helper()
	return start(t, context.Background(), governed(t, governedPolicy(pin)), runtime.Job{Command: name, Fields: fields})
}

func TestLiveResult(t *testing.T) {
	needSandbox(t)
	r := command(t, "print", "", map[string][]string{"id": {"abc"}, "n": {"4"}})
	if want := `{"id":"abc","n":4}`; r.Exit != 0 || string(r.Result) != want || string(r.Evidence.Result.Fields) != want || r.stdout != "" {
		t.Errorf("want the result %s and nothing passed on; %s", want, r)
	}
	if r.Evidence.Mode != runtime.Governed || r.Evidence.Workspace != "fresh" || !r.Evidence.Cleanup.WorkspaceRemoved {
		t.Errorf("a governed command works in a fresh workspace; %s", r)
	}
	r = command(t, "print", "", map[string][]string{"id": {"abc"}, "n": {"-1"}})
	if refusal := r.refusal(); refusal == nil || r.Exit != runtime.ExitRefused || r.Result != nil || r.Evidence.Result.Fault == "" || r.Evidence.Outcome != runtime.Exited {
		t.Errorf("output that is no result: %s", r)
	}
}

func TestLiveFields(t *testing.T) {
	needSandbox(t)
	for _, tt := range []struct {
		name   string
		fields map[string][]string
		says   string
	}{
		{"missing", map[string][]string{"id": {"a"}}, "n has no value"},
		{"malformed", map[string][]string{"id": {"-x"}, "n": {"1"}}, "id wants an identifier"},
		{"twice", map[string][]string{"id": {"a", "b"}, "n": {"1"}}, "id has 2 values"},
		{"unknown", map[string][]string{"id": {"a"}, "n": {"1"}, "z": {"1"}}, `no field "z"`},
		{"out of range", map[string][]string{"id": {"a"}, "n": {"6"}}, "n wants a whole number"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			refusedWith(t, command(t, "print", "", tt.fields), runtime.Input, tt.says)
		})
	}
	refusedWith(t, command(t, "nothing", "", nil), runtime.Input, `no command "nothing"`, "pinned", "print")
}

// TestLivePin: the executable is the pinned one, or it is not started.
func TestLivePin(t *testing.T) {
	needSandbox(t)
	text, err := os.ReadFile(probePath)
	must(t, err)
	sum := sha256.Sum256(text)
	right := hex.EncodeToString(sum[:])
	r := command(t, "pinned", fmt.Sprintf("sha256 = %q", right), map[string][]string{"words": {"a b", "-c"}})
	if r.Exit != 0 || !strings.Contains(r.stdout, "pinned -- a b -c") || r.Evidence.Executable.SHA256 != right {
		t.Errorf("the pinned executable: %s", r)
	}
	wrong := strings.Repeat("0", 64)
	refusedWith(t, command(t, "pinned", fmt.Sprintf("sha256 = %q", wrong), nil), runtime.No, wrong, right)
}
