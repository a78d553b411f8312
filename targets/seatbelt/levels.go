package seatbelt

// readOperations is what reading is: contents and names, attributes, and mapping,
// which is no execution. All are leaves. Allow and deny are always written on the
// same leaves: a rule for a leaf beats any rule for its parent, in any order.
var readOperations = []string{
	"file-read-data", "file-read-metadata", "file-read-xattr", "file-test-existence", "file-map-executable",
}

// writeOperations is what writing is, the names below a directory included.
// Setting the setuid bits, making device nodes, mounting, ioctls and issuing
// extensions are not. link(2) and clonefile(2) have operations of their own; which
// of the two names the kernel asks about is not documented, so both names need it.
var writeOperations = []string{
	"file-write-data", "file-write-create", "file-write-unlink", "file-write-mode", "file-write-owner",
	"file-write-flags", "file-write-times", "file-write-xattr", "file-write-acl", "file-write-finderinfo",
	"file-link", "file-clone",
}

var dataOperations = append(append([]string{}, readOperations...), writeOperations...)

// nameOperations make and take away a name. rename(2) asks for unlink on the one
// and create on the other.
var nameOperations = []string{"file-write-create", "file-write-unlink"}

// seenOperations are enough to see that a file is there and what it is.
var seenOperations = []string{"file-read-metadata", "file-test-existence"}

// executeOperations start a program, or the interpreter its first line names.
var executeOperations = []string{"process-exec*", "process-exec-interpreter"}

// socketOperations reach a Unix socket by its path.
var socketOperations = []string{"network-outbound"}
