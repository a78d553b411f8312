package runtime

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// process is what the kernel says of one process of a sandbox, in bytes.
type process struct {
	pid      string // inside
	threads  int64
	ended    bool  // it has no memory any more
	resident int64 // pages that are not files', shared ones too, and those swapped out
	tables   int64
}

// status reads /proc/PID/status (proc_pid_status(5)).
func (t *treeWatch) status(pid string) (process, error) {
	text, err := t.file(pid, "status")
	if err != nil {
		return process{}, err
	}
	p := process{pid: pid, ended: true}
	eachNumber(text, func(name string, n int64) {
		switch name {
		case "VmSize":
			p.ended = false
		case "Threads":
			p.threads = n
		case "RssAnon", "RssShmem", "VmSwap":
			p.resident += n << 10
		case "VmPTE":
			p.tables += n << 10
		}
	})
	if p.threads == 0 {
		return p, fmt.Errorf("the status of process %s counts no threads", pid)
	}
	return p, nil
}

// exact is what a process has of its own, shared pages by its part in them
// (proc_pid_smaps(5)). What is mapped of files that are counted by themselves is
// left out.
func (t *treeWatch) exact(p process, counted map[inode]int64) (int64, error) {
	text, err := t.file(p.pid, "smaps_rollup")
	if err != nil || len(text) == 0 {
		return 0, err
	}
	var own, shared int64
	eachNumber(text, func(name string, n int64) {
		switch name {
		case "Pss_Anon", "SwapPss":
			own += n << 10
		case "Pss_Shmem":
			shared += n << 10
		}
	})
	if shared == 0 {
		return own, nil
	}
	maps, err := t.file(p.pid, "smaps")
	if err != nil {
		return own + shared, err
	}
	twice, err := t.mapped(maps, counted)
	return own + max(shared-twice, 0), err
}

// mapped is how much of the mappings is of files that are counted by themselves:
// those of the sandbox's memory file systems, and counted.
func (t *treeWatch) mapped(smaps []byte, counted map[inode]int64) (int64, error) {
	own := map[uint64]bool{}
	for _, m := range t.memories {
		own[m.dev] = true
	}
	var total int64
	twice := false
	for line := range bytes.Lines(smaps) {
		if at, ok := mappingOf(string(line)); ok {
			_, is := counted[at]
			twice = is || own[at.dev]
			continue
		}
		if after, ok := bytes.CutPrefix(line, []byte("Pss:")); ok && twice {
			n, err := number(string(after))
			if err != nil {
				return 0, err
			}
			total += n << 10
		}
	}
	return total, nil
}

// mappingOf is the file of a mapping, if line begins one:
// "7f00-7f10 rw-s 00000000 00:01 2054  /memfd:x (deleted)".
func mappingOf(line string) (inode, bool) {
	fields := strings.Fields(line)
	if len(fields) < 5 || !strings.Contains(fields[0], "-") {
		return inode{}, false
	}
	major, minor, ok := strings.Cut(fields[3], ":")
	high, err1 := strconv.ParseUint(major, 16, 32)
	low, err2 := strconv.ParseUint(minor, 16, 32)
	ino, err3 := strconv.ParseUint(fields[4], 10, 64)
	if !ok || err1 != nil || err2 != nil || err3 != nil {
		return inode{}, false
	}
	return inode{unix.Mkdev(uint32(high), uint32(low)), ino}, true
}

// eachNumber calls each for the lines "Name:   number kB" of text. Lines of other
// shapes are passed over, and a name's first word is all of it.
func eachNumber(text []byte, each func(name string, n int64)) {
	for line := range bytes.Lines(text) {
		name, rest, ok := strings.Cut(string(line), ":")
		if !ok {
			continue
		}
		fields := strings.Fields(rest)
		if len(fields) == 0 {
			continue
		}
		if n, err := strconv.ParseInt(fields[0], 10, 64); err == nil {
			each(name, n)
		}
	}
}

func number(text string) (int64, error) {
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return 0, fmt.Errorf("%q is no number", text)
	}
	return strconv.ParseInt(fields[0], 10, 64)
}
