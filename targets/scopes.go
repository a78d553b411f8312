package targets

import "github.com/obspc/obspc/compiler/ir"

// scopes lists for each limit the scopes that satisfy a policy on Linux, the
// strongest first. A limit on address space (RLIMIT_AS, RLIMIT_DATA) satisfies no
// limit on memory: a Go program maps 64 MiB before it does anything.
var scopes = map[ir.LimitName][]ir.Scope{
	ir.Timeout:       {ir.RunScope},
	ir.Memory:        {ir.TreeScope, ir.WatchedScope},
	ir.Processes:     {ir.TreeScope, ir.WatchedScope},
	ir.CPUTime:       {ir.ProcessScope},
	ir.OpenFiles:     {ir.ProcessScope},
	ir.FileSize:      {ir.ProcessScope},
	ir.TmpSize:       {ir.RunScope},
	ir.WorkspaceSize: {ir.WatchedScope},
	ir.Stdout:        {ir.RunScope},
	ir.Stderr:        {ir.RunScope},
}

// Scopes lists the scopes that satisfy the limit l on t, the strongest first:
// where a machine offers none of them, the run is refused. A limit that the list
// lacks is satisfied by nothing.
func Scopes(t ir.Target, l ir.Limit) []ir.Scope {
	switch {
	case l.Scope != "":
		return []ir.Scope{l.Scope}
	case t == ir.Seatbelt && l.Name == ir.TmpSize:
		return []ir.Scope{ir.WatchedScope} // a directory, not a file system
	}
	return scopes[l.Name]
}
