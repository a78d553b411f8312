// Command sandbox-exec stands in for macOS's where there is none: it takes the same
// arguments, ends with the same codes, and answers attempts as the evaluator of
// profiles does. It proves nothing about macOS; it tests who calls it. Under another
// name it misbehaves as the name says: leaky, shut, nested, deaf.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/seatbelt/model"
	"github.com/obspc/obspc/targets/seatbelt/sbpl"
)

func main() {
	profile, params, command := arguments(os.Args[1:])
	parsed, err := sbpl.Parse("<input string>", []byte(profile), sbpl.Options{Params: params})
	if err != nil {
		end(65, "sandbox-exec: %v", err)
	}
	name := filepath.Base(os.Args[0])
	if name == "nested" {
		end(71, "sandbox-exec: sandbox_apply: Operation not permitted")
	}
	m := model.New(parsed)
	if !allows(m, ir.ExecuteRequest, command[0]) {
		end(71, "sandbox-exec: execvp() of '%s' failed: Operation not permitted", command[0])
	}
	if !allows(m, ir.ListRequest, "/") || !allows(m, ir.ReadRequest, "/usr/lib/dyld") {
		// What dyld does to a program that it cannot load.
		syscall.Kill(os.Getpid(), syscall.SIGABRT)
		time.Sleep(time.Minute)
	}
	if q, is := attempted(command); is && name != "leaky" {
		allow, ok := m.Decide(q)
		refusal := unix.EPERM
		if name == "deaf" {
			refusal = unix.EIO
		}
		if !allow || !ok || name == "shut" {
			fmt.Println(int(refusal))
			return
		}
	}
	end(71, "sandbox-exec: execvp() of '%s' failed: %v", command[0], syscall.Exec(command[0], command, os.Environ()))
}

func arguments(args []string) (profile string, params map[string]string, command []string) {
	params = map[string]string{}
	for len(args) > 1 && args[0] != "--" {
		switch args[0] {
		case "-p":
			profile = args[1]
		case "-D":
			key, value, ok := strings.Cut(args[1], "=")
			if !ok {
				end(64, "usage: sandbox-exec -p PROFILE -D KEY=VALUE -- COMMAND")
			}
			params[key] = value
		default:
			end(64, "usage: sandbox-exec -p PROFILE -D KEY=VALUE -- COMMAND")
		}
		args = args[2:]
	}
	if len(args) < 2 || profile == "" {
		end(64, "usage: sandbox-exec -p PROFILE -D KEY=VALUE -- COMMAND")
	}
	return profile, params, args[1:]
}

// attempted is the request that the command attempts; none for a bare start.
func attempted(command []string) (ir.Request, bool) {
	if len(command) < 4 || command[1] != "live-attempt" {
		return ir.Request{}, false
	}
	words := append([]string(nil), command[2:]...)
	if words[0] == "check" {
		words[0] = string(ir.ExecuteRequest)
	}
	q, err := ir.ParseRequest(words)
	return q, err == nil
}

func allows(m *model.Model, word ir.RequestKind, path string) bool {
	p, err := ir.ParsePath(path)
	if err != nil {
		return false
	}
	allow, ok := m.Decide(ir.Request{Kind: word, Path: p})
	return allow && ok
}

func end(code int, format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	os.Exit(code)
}
