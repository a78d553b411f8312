// Package violations reads what macOS logs when a Seatbelt profile refuses
// something, and turns it into requests of design 5. Its one rule: a line that it
// does not know is counted and not guessed.
//
// The form of the lines is that of Apple's "Discovering and diagnosing App Sandbox
// violations" and of log(1); it was never read on a Mac by this code. Names of
// operations are leaves (or classes, with a star) and paths are resolved, so /tmp, /var and /etc appear below
// /private; policies name them without.
package violations

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
)

// Violation is one refusal, or several alike that macOS reports as one.
type Violation struct {
	Process   string // its name, without directory
	PID       int    // 0 in a report of duplicates
	Operation string // a leaf, such as "file-read-data", or a class, such as "process-exec*"
	Target    string // what it was about; "" for an operation that is about nothing
	Count     int
	// System: the system's own policy refused, which no profile can change.
	System bool
	// Policy is whose profile refused, and Statement which statement of it, as the
	// profiles of obspc tag what they deny; "" without a tag, and Statement where nothing
	// allows it.
	Policy, Statement string
}

// line is the message of one violation: who, perhaps that the system's policy
// refused, the decision with an error number (which lines before macOS 10.10 lack),
// the operation and what it was about.
var line = regexp.MustCompile(`Sandbox: ([^(]+)\((\d+)\) (System Policy: )?deny(?:\(\d+\))? ([a-z][a-z0-9*-]*)(?: (.*))?$`)

// duplicates is the message for violations that were alike.
var duplicates = regexp.MustCompile(`Sandbox: (\d+) duplicate reports? for (\S+) (System Policy: )?deny(?:\(\d+\))? ([a-z][a-z0-9*-]*)(?: (.*))?$`)

// tag is what a profile of obspc adds to the message, a line of its own.
var tag = regexp.MustCompile(`^obspc ([a-z][a-z0-9-]*)(?: (\S+))?$`)

// maxLine bounds one line, in bytes; a path has at most 1024 (PATH_MAX of macOS).
const maxLine = 64 << 10

// Parse reads the output of log(1) in any of its styles: whatever stands before the
// message is passed over, and in style ndjson the message is a member. Unknown
// counts the lines that speak of a refusal and are of no known form.
func Parse(text []byte) (list []Violation, unknown int) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, maxLine)
	var last *Violation // of the line before
	for lines.Scan() {
		message := lines.Text()
		if strings.HasPrefix(message, "{") {
			var event struct {
				Message string `json:"eventMessage"`
			}
			if json.Unmarshal(lines.Bytes(), &event) == nil {
				message = event.Message
			}
		}
		if last != nil {
			last.tagged(message)
		}
		last = nil
		// What a rule adds (with message) follows in a line of its own.
		message, added, _ := strings.Cut(message, "\n")
		if v, ok := parse(message); ok {
			v.tagged(added)
			list = append(list, v)
			last = &list[len(list)-1]
		} else if strings.Contains(message, "Sandbox: ") && strings.Contains(message, "deny") {
			unknown++
		}
	}
	if lines.Err() != nil {
		unknown++
	}
	return list, unknown
}

// tagged notes what a line says of the profile that refused, if it is a tag.
func (v *Violation) tagged(line string) {
	if m := tag.FindStringSubmatch(line); m != nil {
		v.Policy, v.Statement = m[1], m[2]
	}
}

func parse(message string) (Violation, bool) {
	if m := duplicates.FindStringSubmatch(message); m != nil {
		n, err := strconv.Atoi(m[1])
		return Violation{Process: m[2], Count: n, System: m[3] != "", Operation: m[4], Target: m[5]}, err == nil && n > 0
	}
	m := line.FindStringSubmatch(message)
	if m == nil {
		return Violation{}, false
	}
	pid, err := strconv.Atoi(m[2])
	return Violation{Process: m[1], PID: pid, Count: 1, System: m[3] != "", Operation: m[4], Target: m[5]}, err == nil
}

// words are the request words of operations about files. (sandbox-exec's profiles
// name them; a rename is logged as an unlink and a create.) One that ends in a star is
// the class itself, which macOS logs for what it does not tell apart: a start of a
// program is "process-exec*".
var words = map[string]ir.RequestKind{
	"file-read-data": ir.ReadRequest, "file-map-executable": ir.ReadRequest,
	"file-read-metadata": ir.StatRequest, "file-read-xattr": ir.StatRequest, "file-test-existence": ir.StatRequest,
	"file-write-data": ir.WriteRequest, "file-write-mode": ir.WriteRequest, "file-write-owner": ir.WriteRequest,
	"file-write-times": ir.WriteRequest, "file-write-flags": ir.WriteRequest, "file-write-xattr": ir.WriteRequest,
	"file-write-acl": ir.WriteRequest, "file-write-setugid": ir.WriteRequest,
	"file-write-create": ir.CreateRequest, "file-mknod": ir.CreateRequest, "file-link": ir.CreateRequest, "network-bind": ir.CreateRequest,
	"file-write-unlink": ir.RemoveRequest,
	"process-exec":      ir.ExecuteRequest, "process-exec-interpreter": ir.ExecuteRequest,
	"process-exec*": ir.ExecuteRequest, "file-read*": ir.ReadRequest, "file-write*": ir.WriteRequest,
	"network-outbound": ir.ConnectUnixRequest,
}

// Request is what was refused, false when no request word is about it.
func (v Violation) Request() (ir.Request, bool) {
	kind, ok := words[v.Operation]
	if !ok {
		return ir.Request{}, false
	}
	if v.Operation == "network-outbound" && !strings.HasPrefix(v.Target, "/") {
		return connection(v.Target)
	}
	at, err := ir.NewPath(ir.Host, v.Target)
	if err != nil {
		return ir.Request{}, false
	}
	return ir.Request{Kind: kind, Path: Plain(at)}, true
}

// connection reads HOST:PORT; a port of "*" is none.
func connection(target string) (ir.Request, bool) {
	peer, err := netip.ParseAddrPort(target)
	if err == nil {
		return ir.Request{Kind: ir.ConnectRequest, Addr: peer.Addr().WithZone("").Unmap(), Port: peer.Port()}, peer.Port() > 0
	}
	r, err := ir.ParseRequest([]string{string(ir.ConnectRequest), target})
	return r, err == nil
}

// hidden is where macOS keeps /tmp, /var and /etc.
var hidden = ir.MustPath("/private")

// Plain is a path as policies name it: /private/var/x is /var/x.
func Plain(at ir.Path) ir.Path {
	for _, name := range []string{"tmp", "var", "etc"} {
		if at.Root() == ir.Host && hidden.Join(name).Covers(at) {
			return ir.RootPath(ir.Host).Join(strings.TrimPrefix(at.Rel(), "private/"))
		}
	}
	return at
}
