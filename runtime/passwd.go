package runtime

import (
	"bufio"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
)

// passwdFile is the user database (passwd(5)). It is read by hand, so that a
// static program and its tests agree, and so that $HOME is never asked.
const passwdFile = "/etc/passwd"

// Home is what the slot home is bound to for the user uid.
func Home(uid int) (ir.Path, error) {
	path, refusal := homeOf(uid)
	if refusal != nil {
		return ir.Path{}, refusal
	}
	return path, nil
}

// homeOf is the home directory that the user database gives uid.
func homeOf(uid int) (ir.Path, *Refusal) {
	file, err := os.Open(passwdFile)
	if err != nil {
		return ir.Path{}, noUserDatabase(err)
	}
	defer file.Close()
	home, ok := findHome(file, uid)
	if !ok {
		return ir.Path{}, unknownUser(uid)
	}
	path, err := ir.NewPath(ir.Host, home)
	if err != nil {
		return ir.Path{}, oddHome(uid, err)
	}
	return path, nil
}

// findHome reads name:password:uid:gid:comment:directory:shell lines. The first
// entry of a uid counts, as getpwuid(3) has it.
func findHome(r io.Reader, uid int) (string, bool) {
	want := strconv.Itoa(uid)
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		fields := strings.Split(lines.Text(), ":")
		if len(fields) >= 6 && fields[2] == want && !strings.HasPrefix(fields[0], "#") {
			return fields[5], true
		}
	}
	return "", false
}

func noUserDatabase(err error) *Refusal {
	return refuse(Machine, "", "the slot home needs the user database: %v", err)
}

func unknownUser(uid int) *Refusal {
	return refuse(Machine, "run as a user that has an entry, or leave ${home} out of the policy",
		"the slot home needs user %d, who is not in %s", uid, passwdFile)
}

func oddHome(uid int, err error) *Refusal {
	return refuse(Machine, "", "the home directory of user %d in %s: %v", uid, passwdFile, err)
}
