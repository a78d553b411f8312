package runtime

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"time"
)

// sandboxExecTime bounds one start of it.
const sandboxExecTime = 10 * time.Second

// examineSandboxExec asks whether profiles can be applied here: by applying one
// that allows everything to a program that does nothing. What it answers to that is
// not from a Mac of ours: anything but the two known answers is unknown.
func examineSandboxExec(ctx context.Context, path, program string) Finding {
	f := Finding{Name: "sandbox-exec"}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.State, f.Found, f.Help = Missing, "there is no "+path, "it is part of macOS; restore the system's files"
		return f
	case err != nil:
		f.State, f.Found, f.Help = Unknown, err.Error(), "let it be looked at"
		return f
	case !info.Mode().IsRegular() || info.Mode().Perm()&0o022 != 0 || info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0:
		f.State, f.Found, f.Help = Missing, path+" is "+info.Mode().String(), "it is part of macOS; restore the system's files"
		return f
	}
	ctx, stop := context.WithTimeout(ctx, sandboxExecTime)
	defer stop()
	cmd := exec.CommandContext(ctx, path, "-p", "(version 1)(allow default)", program)
	cmd.Env = []string{}
	said, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		f.State, f.Found = OK, path+" applies profiles"
	case strings.Contains(string(said), "sandbox_apply: Operation not permitted"):
		f.State, f.Found, f.Help = Missing, "this process is in a sandbox itself, and macOS does not nest them", "start it outside of the sandbox"
	default:
		f.State, f.Found, f.Help = Unknown, path+" answered: "+printable(string(said))+" ("+err.Error()+")", "please report this answer"
	}
	return f
}
