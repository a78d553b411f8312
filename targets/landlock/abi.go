package landlock

// Kind is the member of the kernel's interface that a right stands in
// (linux/landlock.h). File rights may be granted to any file and, for what lies
// below it, to a directory; Directory rights to directories only.
type Kind uint8

// The kinds. Network, Scope and Logging have no rules of ours.
const (
	File Kind = iota
	Directory
	Network
	Scope
	Logging
)

// Giver is the list of rules that grants a right. Nothing: no rule does, so a
// domain that handles it refuses it everywhere. Unhandled: no domain of ours
// handles it.
type Giver uint8

// The givers.
const (
	Unhandled Giver = iota
	Nothing
	ByExecute
	ByRead
	ByWrite
)

// Right is one thing that a kernel can refuse to a domain. Name is its constant in
// linux/landlock.h without what all of its kind begin with, in lower case. What
// says what is refused, and, when it is Unhandled, Why it is left alone.
type Right struct {
	Name string
	Bit  uint64
	Kind Kind
	By   Giver
	What string
	Why  string
}

// Revision is what one version of the Landlock ABI brought. Linux is the first
// release that has it; Source is where that and the rights are written down.
type Revision struct {
	ABI    int
	Linux  string
	Rights []Right
	Source string
}

// Rights that other code speaks of.
const (
	Execute   uint64 = 1 << 0
	WriteFile uint64 = 1 << 1
	ReadFile  uint64 = 1 << 2
	ReadDir   uint64 = 1 << 3
	Refer     uint64 = 1 << 13
)

const loopback = "rules name ports and no addresses, and programs may listen and connect on the sandbox's own loopback, on any port; the private network namespace has no other way out"

// revisions is Landlock's history. All but Unhandled rights are in every domain of
// a kernel that has them.
var revisions = []Revision{
	{1, "5.13", []Right{
		{"execute", Execute, File, ByExecute, "start a file", ""},
		{"write_file", WriteFile, File, ByWrite, "open for writing", ""},
		{"read_file", ReadFile, File, ByRead, "open for reading", ""},
		{"read_dir", ReadDir, Directory, ByRead, "list a directory", ""},
		{"remove_dir", 1 << 4, Directory, ByWrite, "remove a directory", ""},
		{"remove_file", 1 << 5, Directory, ByWrite, "remove a file", ""},
		{"make_char", 1 << 6, Directory, ByWrite, "make a character device", ""},
		{"make_dir", 1 << 7, Directory, ByWrite, "make a directory", ""},
		{"make_reg", 1 << 8, Directory, ByWrite, "make a file", ""},
		{"make_sock", 1 << 9, Directory, ByWrite, "make a socket", ""},
		{"make_fifo", 1 << 10, Directory, ByWrite, "make a named pipe", ""},
		{"make_block", 1 << 11, Directory, ByWrite, "make a block device", ""},
		{"make_sym", 1 << 12, Directory, ByWrite, "make a symbolic link", ""},
	}, "landlock(7); include/uapi/linux/landlock.h of Linux 5.13"},
	{2, "5.19", []Right{
		{"refer", Refer, Directory, ByWrite, "rename or link into another directory", ""},
	}, "landlock(7); Documentation/userspace-api/landlock.rst, File renaming and linking (ABI < 2)"},
	{3, "6.2", []Right{
		{"truncate", 1 << 14, File, ByWrite, "truncate a file", ""},
	}, "landlock(7); Documentation/userspace-api/landlock.rst, File truncation (ABI < 3)"},
	{4, "6.7", []Right{
		{"bind_tcp", 1 << 0, Network, Unhandled, "bind a TCP port", loopback},
		{"connect_tcp", 1 << 1, Network, Unhandled, "connect to a TCP port", loopback},
	}, "landlock(7); Documentation/userspace-api/landlock.rst, TCP bind and connect (ABI < 4)"},
	{5, "6.10", []Right{
		{"ioctl_dev", 1 << 15, File, ByWrite, "ioctl(2) of a device that was opened inside", ""},
	}, "landlock(7); Documentation/userspace-api/landlock.rst, Device IOCTL (ABI < 5)"},
	{6, "6.12", []Right{
		{"abstract_unix_socket", 1 << 0, Scope, Nothing, "connect to an abstract Unix-domain socket that was made outside", ""},
		{"signal", 1 << 1, Scope, Nothing, "send a signal to a process outside", ""},
	}, "landlock(7); Documentation/userspace-api/landlock.rst, Abstract UNIX socket (ABI < 6), Signal (ABI < 6)"},
	{7, "6.15", []Right{
		{"log_same_exec_off", 1 << 0, Logging, Unhandled, "log refusals before the command is started", "there is one only when obspc has a bug, which the log should show"},
		{"log_new_exec_on", 1 << 1, Logging, Unhandled, "(log refusals of the command)", "a command can be refused as often as it likes, and fill the machine's audit log"},
		{"log_subdomains_off", 1 << 2, Logging, Nothing, "log refusals by domains that the command makes for itself", ""},
	}, "landlock_restrict_self(2); Documentation/userspace-api/landlock.rst, Logging (ABI < 7)"},
}

// Revisions is every ABI that this version knows, the oldest first. Of a kernel
// with a later one, what the last of these has is asked for.
func Revisions() []Revision { return revisions }

// Level is what a domain asks for in addition where the kernel has at least that
// ABI.
type Level struct {
	ABI    int
	Rights []Right
}

// Levels is what domains of these rules ask for, by ABI. The first is the lowest
// with which one is made: below it no rename into another directory would be left.
func (r *Rules) Levels() []Level {
	levels := []Level{{ABI: ABI}}
	for _, rev := range revisions {
		if rev.ABI > ABI {
			levels = append(levels, Level{ABI: rev.ABI})
		}
		last := &levels[len(levels)-1]
		for _, right := range rev.Rights {
			if right.By != Unhandled && (right.By != ByExecute || r.Programs) {
				last.Rights = append(last.Rights, right)
			}
		}
		if len(last.Rights) == 0 {
			levels = levels[:len(levels)-1]
		}
	}
	return levels
}

// Asked is what a domain of these rules asks a kernel of that ABI for, in all;
// nothing where no domain is made.
func (r *Rules) Asked(abi int) Level {
	var all Level
	for _, l := range r.Levels() {
		if l.ABI <= abi {
			all.ABI, all.Rights = l.ABI, append(all.Rights, l.Rights...)
		}
	}
	return all
}

// Bits are those of the level's rights of the kinds.
func (l Level) Bits(kinds ...Kind) uint64 {
	var bits uint64
	for _, r := range l.Rights {
		for _, k := range kinds {
			if r.Kind == k {
				bits |= r.Bit
			}
		}
	}
	return bits
}

// GivenBy are the file rights that rules of that list grant. Writing includes
// reading.
func (l Level) GivenBy(by Giver, kinds ...Kind) uint64 {
	given := Level{}
	for _, r := range l.Rights {
		if r.By == by || by == ByWrite && r.By == ByRead {
			given.Rights = append(given.Rights, r)
		}
	}
	return given.Bits(kinds...)
}

// Names are those of the level's rights of the kinds, in the table's order.
func (l Level) Names(kinds ...Kind) []string {
	var out []string
	for _, r := range l.Rights {
		for _, k := range kinds {
			if r.Kind == k {
				out = append(out, r.Name)
			}
		}
	}
	return out
}
