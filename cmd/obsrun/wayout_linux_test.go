package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obspc/obspc/verify/release"
)

// toServer is the network block of a policy whose one endpoint is a server of this
// machine; more stands in the endpoint. It wants the port.
const toServer = `  network {
    endpoint "machine" {
      host      = "localhost"
      ports     = [%d]
      addresses = ["127.0.0.0/8", "::1/128"]
%s
    }
  }
`

// mayConnect is a policy that lets obsrun be started from the workspace. It wants more
// templates, more programs, and the network block.
const mayConnect = `
policy "p" {
  version = 1
  extends = ["std/base"%s]
  targets = ["bwrap"]
  filesystem {
    write   = [workspace]
    execute = ["${workspace}/obsrun"%s]
  }
  environment {
    OBSPC_TEST_AS_OBSRUN = "1"
  }
%s}`

// connector is a workspace with obsrun in it, for programs that know no proxy.
type connector struct{ work, obsrun string }

func newConnector(t *testing.T) connector {
	t.Helper()
	work, err := os.MkdirTemp("/var/tmp", "obspc-test-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(work) })
	tool, err := os.ReadFile("/proc/self/exe")
	must(t, err)
	c := connector{work, filepath.Join(work, "obsrun")}
	must(t, os.WriteFile(c.obsrun, tool, 0o755))
	return c
}

// exec runs a command under the policy of that text, as obspc exec has it run.
func (c connector) exec(t *testing.T, policy, stdin string, flags []string, argv ...string) (stdout, stderr string, code int) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "development")
	files := filesOf(t, policy, release.Input{})
	must(t, release.Write(dir, files))
	must(t, os.WriteFile(dir+".pins", pins(files, release.LocalProduct).Format(), 0o644))
	words := append([]string{"exec", "--policy", "p", "--workspace", c.work, "--release", dir, "--pins", dir + ".pins"}, flags...)
	cmd := exec.Command(os.Args[0], append(append(words, "--"), argv...)...)
	var out, complaints strings.Builder
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), "OBSPC_TEST_AS_OBSRUN=1"), &out, &complaints
	if stdin != "" {
		cmd.Stdin = strings.NewReader(stdin)
	}
	cmd.Run()
	return out.String(), complaints.String(), cmd.ProcessState.ExitCode()
}
