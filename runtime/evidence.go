package runtime

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/obspc/obspc/compiler/ir/propose"
	"github.com/obspc/obspc/lang/diag"
)

// EvidenceSchema names the format of an evidence file.
const EvidenceSchema = "obspc.evidence/v1"

// Word is how a run came out.
type Word string

// The outcomes. Exited: the command ended by itself. Signaled: a signal ended it,
// or it ended with 128 and a signal's number, as shells do. Timeout and
// Cancelled: it was killed with everything it had started. Refused: nothing was
// started. LimitReached: it was killed with everything it had started because a
// limit of the policy was reached; LimitLost: because one could not be watched any
// more. SetupFailed: the sandbox could not be made. ExecFailed: the command
// itself could not be started. ProtectionLost: something outside changed
// the sandbox's mounts, and the command was killed. EgressLost: its proxy failed, and
// the command was killed.
const (
	Exited      Word = "exited"
	Signaled    Word = "signaled"
	Timeout     Word = "timeout"
	Cancelled   Word = "cancelled"
	Refused     Word = "refused"
	SetupFailed Word = "setup-failed"
	ExecFailed  Word = "exec-failed"

	ProtectionLost Word = "protection-lost"
	LimitReached   Word = "limit-reached"
	LimitLost      Word = "limit-lost"
	EgressLost     Word = "egress-lost"
)

// Modes of a run: governed commands of a release, or any command under a policy
// that was compiled on the spot.
const (
	Governed    = "governed"
	Development = "development"
)

// Evidence is what happened in one run, for those who were not there. It holds
// digests of arguments and output and never themselves. Members that are not
// known when a run is refused early are absent.
type Evidence struct {
	Schema   string `json:"schema"`
	Mode     string `json:"mode"`
	Outcome  Word   `json:"outcome"`
	ExitCode int    `json:"exit_code"` // of the process: the command's own, 124 to 127, or 137 for a limit
	// EndedBy is the limit that ended the command, by its name in a policy.
	EndedBy string `json:"ended_by,omitempty"`
	// Code is the class of a refusal or failure (1 no, 2 the call, 3 the machine).
	Code   Code   `json:"code,omitempty"`
	Reason string `json:"reason,omitempty"`
	Help   string `json:"help,omitempty"`

	Release    *ReleaseEvidence  `json:"release,omitempty"`
	Policy     string            `json:"policy,omitempty"`
	Version    int64             `json:"policy_version,omitempty"`
	Command    string            `json:"command,omitempty"`
	Artifacts  map[string]string `json:"artifacts,omitempty"` // name → SHA-256
	Executable *FileEvidence     `json:"executable,omitempty"`
	ArgvSHA256 string            `json:"argv_sha256,omitempty"` // of the arguments, each with a NUL behind it
	Arguments  int               `json:"arguments,omitempty"`   // how many, the command's name included

	Host        HostEvidence      `json:"host"`
	Binding     map[string]string `json:"binding,omitempty"`   // slot → path
	Workspace   string            `json:"workspace,omitempty"` // fresh or shared
	CarveOut    string            `json:"carve_out,omitempty"` // configuration kept read-only inside a write
	Facts       []FactEvidence    `json:"facts,omitempty"`
	Stream      *DigestEvidence   `json:"stream,omitempty"` // what bwrap read
	Environment []string          `json:"environment,omitempty"`
	Limits      []LimitEvidence   `json:"limits,omitempty"`
	Landlock    *LandlockEvidence `json:"landlock,omitempty"` // absent: no domain was made
	Egress      *EgressEvidence   `json:"egress,omitempty"`   // absent: there was no way out

	Started    string          `json:"started"` // RFC 3339, UTC
	Finished   string          `json:"finished"`
	DurationMS int64           `json:"duration_ms"`
	Signal     int             `json:"signal,omitempty"`
	Terminal   bool            `json:"tty,omitempty"` // stdout is what it wrote to its terminal, stderr included
	Stdout     *StreamEvidence `json:"stdout,omitempty"`
	Stderr     *StreamEvidence `json:"stderr,omitempty"`
	Result     *ResultEvidence `json:"result,omitempty"`
	Cleanup    CleanupEvidence `json:"cleanup"`
	// Trace is there when it was asked for. It alone holds names that the command
	// thought of.
	Trace *propose.Report `json:"trace,omitempty"`
	// Observed is what the proxy denied and which rules would allow it, where that was
	// asked for.
	Observed *propose.Observed `json:"observed,omitempty"`
}

// ReleaseEvidence names the release that the policy came from and what vouched
// for it.
type ReleaseEvidence struct {
	Product string   `json:"product"`
	Serial  int64    `json:"serial"`
	SHA256  string   `json:"sha256"` // of SHA256SUMS
	Anchors []string `json:"anchors"`
}

// FileEvidence is one file outside the release that decided something.
type FileEvidence struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256,omitempty"`
	// Unhashed is why there is no digest of a file that there could be one of.
	Unhashed string `json:"unhashed,omitempty"`
	Version  string `json:"version,omitempty"`
	Device   uint64 `json:"device,omitempty"`
	Inode    uint64 `json:"inode,omitempty"`
}

// HostEvidence is the machine and the programs that ran.
type HostEvidence struct {
	System   string        `json:"system"`
	Arch     string        `json:"arch"`
	Kernel   string        `json:"kernel,omitempty"`
	Landlock int           `json:"landlock_abi"`
	User     int           `json:"user"`
	Obsrun   string        `json:"obsrun"`
	Bwrap    *FileEvidence `json:"bwrap,omitempty"`
}

// LandlockEvidence is what the command's domain asked of the kernel: the level of
// landlock.json that was taken, the ABI that the policy needs (absent: none, all of
// it is a second layer), and the names of what is handled.
type LandlockEvidence struct {
	ABI     int      `json:"abi"`
	Needed  int      `json:"needed,omitempty"`
	Files   []string `json:"files"`
	Scopes  []string `json:"scopes,omitempty"`
	Logging []string `json:"logging,omitempty"`
}

// FactEvidence is what stood at a path when the policy was bound. Device and inode
// are those of the node that the path led to, through links.
type FactEvidence struct {
	Path   string `json:"path"`
	Kind   string `json:"kind"`
	Target string `json:"target,omitempty"` // of a link
	Device uint64 `json:"device,omitempty"`
	Inode  uint64 `json:"inode,omitempty"`
}

// DigestEvidence is a digest and a length in bytes.
type DigestEvidence struct {
	SHA256 string `json:"sha256"`
	Bytes  int    `json:"bytes"`
}

// LimitEvidence is one limit, how far it reached in this run (ir.Scope) and what
// kept it: "cgroup", "rlimit", "mount" or "runtime". Reached is true when the run
// is known to have come up against it; open files leave no trace.
type LimitEvidence struct {
	Name    string `json:"name"`
	Value   int64  `json:"value"`
	Scope   string `json:"scope"`
	By      string `json:"by"`
	Reached bool   `json:"reached,omitempty"`
}

// StreamEvidence is one output of the command: what it wrote, and how much of
// that was passed on. Fault is why the rest of what its limit allows was not.
type StreamEvidence struct {
	Bytes     int64  `json:"bytes"`
	Passed    int64  `json:"passed"`
	Truncated bool   `json:"truncated"` // it was longer than its limit
	SHA256    string `json:"sha256"`    // of all bytes, those discarded included
	Fault     string `json:"fault,omitempty"`
}

// ResultEvidence is the typed result, or why what was printed is none.
type ResultEvidence struct {
	Name   string          `json:"name"`
	Fields json.RawMessage `json:"fields,omitempty"`
	Fault  string          `json:"fault,omitempty"`
}

// CleanupEvidence is what the run made on the host and took away again.
type CleanupEvidence struct {
	TreeDead         bool     `json:"tree_dead"` // no process of the sandbox is left
	WorkspaceRemoved bool     `json:"workspace_removed,omitempty"`
	Placeholders     []string `json:"placeholders,omitempty"` // made
	Left             []string `json:"left,omitempty"`         // made, and still there: not ours any more, or see Faults
	Astray           []string `json:"astray,omitempty"`       // mount points made in what a replaced path led to, and removed
	Earlier          []string `json:"earlier,omitempty"`      // runs that were cut off, and what was removed for them
	Faults           []string `json:"faults,omitempty"`
}

// JSON is the evidence as it is written: one indented object and a newline.
func (e *Evidence) JSON() []byte {
	text, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		diag.Bug("evidence holds what JSON cannot: %v", err)
	}
	return append(text, '\n')
}

// refusedBy notes why there is no result.
func (e *Evidence) refusedBy(r *Refusal) {
	e.Outcome, e.ExitCode, e.Code, e.Reason, e.Help = r.Word, r.Exit, r.Code, r.Message, r.Help
}

// stamp notes when the run began or ended.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func hexSHA256(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// argvDigest is the digest of arguments: each with a NUL behind it.
func argvDigest(argv []string) string {
	h := sha256.New()
	for _, a := range argv {
		h.Write([]byte(a))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))
}
