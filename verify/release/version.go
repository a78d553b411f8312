package release

// Version is the version of this build of obspc, the same for both programs; the
// linker sets it. Two programs work together only if theirs are equal.
var Version = "0.1.0-dev"
