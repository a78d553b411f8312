package lang

// inventory is what may stand in a block. Attributes and blocks are enforced by
// this version; later are words of the language that it refuses as not-yet.
// Anything else is unknown.
type inventory struct {
	named      bool // one label follows the block's type
	free       bool // attributes have names of the user's own
	attributes []string
	blocks     []string
	later      []string
}

// requestWords are what tests ask about: one path each (docs/design.md,
// section 5); connect asks about HOST:PORT, rename and link about two paths,
// syscall about a call by its name, request about a method and a URL.
var requestWords = []string{"read", "list", "stat", "write", "create", "remove", "rename", "link", "execute", "connect", "connect-unix", "syscall", "request"}

// inventories is the whole language, by the type of block; "file" is a policy
// file, "test file" one of tests.
var inventories = map[string]inventory{
	"file":     {blocks: []string{"variable", "locals", "policy", "template"}},
	"variable": {named: true, attributes: []string{"type", "default", "description"}},
	"locals":   {free: true},
	"policy": {named: true,
		attributes: []string{"version", "description", "extends", "targets", "workspace"},
		blocks:     []string{"filesystem", "network", "environment", "limits", "syscalls", "system", "command", "waive"}},
	"template": {named: true,
		attributes: []string{"description", "extends", "workspace"},
		blocks:     []string{"filesystem", "network", "environment", "limits", "syscalls", "system", "command", "waive"}},
	"filesystem": {attributes: []string{"read", "write", "deny", "execute"}},
	"network": {
		attributes: []string{"unix", "loopback", "deny"},
		blocks:     []string{"endpoint"}},
	"endpoint": {named: true,
		attributes: []string{"host", "address", "ports", "executables", "addresses", "protocol"},
		blocks:     []string{"allow", "deny"},
		later:      []string{"for_each"}},
	"endpoint allow": {attributes: []string{"methods", "path"}},
	"endpoint deny":  {attributes: []string{"methods", "path"}},
	"environment":    {free: true},
	"limits": {
		attributes: []string{"timeout", "memory", "processes", "open_files", "file_size", "cpu_time", "tmp_size", "workspace_size",
			"stdout", "stderr", "scope"}},
	"syscalls": {attributes: []string{"deny", "allow"}},
	"system": {
		attributes: []string{"devices", "shm", "services", "sysctls", "ipc", "iokit"},
		later:      []string{"proc"}},
	"command": {named: true,
		attributes: []string{"executable", "sha256", "arguments"},
		blocks:     []string{"result"},
		later:      []string{"stdin", "input", "output", "for_each"}},
	"result":     {named: true, blocks: []string{"integer", "identifier", "boolean", "enum"}},
	"integer":    {named: true, attributes: []string{"minimum", "maximum"}},
	"identifier": {named: true, attributes: []string{"max_bytes"}},
	"boolean":    {named: true},
	"enum":       {named: true, attributes: []string{"values"}},
	"waive":      {named: true, attributes: []string{"features", "reason"}},

	"project file": {blocks: []string{"verify"}},
	"verify":       {attributes: []string{"release", "source", "golden", "pins", "keys", "rules", "base", "variables"}},

	"test file": {blocks: []string{"test"}},
	"test":      {named: true, attributes: []string{"policy"}, blocks: []string{"bind", "allow", "deny"}},
	"bind":      {attributes: slotNames},
	"allow":     {attributes: append([]string{"by"}, requestWords...)},
	"deny":      {attributes: append([]string{"by"}, requestWords...)},
}
