package seatbelt

import (
	"github.com/obspc/obspc/compiler/ir"
)

// sockets writes unix = "visible": a Unix socket whose path is readable may be
// connected to, which is network-outbound on that path. Nothing may listen at one, and
// no address of a network is reached, whatever a path rule might be taken to match.
func (w *printer) sockets(v *view) {
	if !v.unix.Visible {
		return
	}
	w.section("Unix sockets")
	w.add(rule{Allow: true, Operations: []string{"system-socket"}, Filters: []string{ownSocket}, Origin: v.unix.Origin})
	for _, r := range v.files {
		a, when := area{r.Path, r.Only}, condition(r.Path.Root())
		have, ok := v.around(r.Path)
		switch {
		case r.Level == ir.Deny:
			w.add(rule{false, socketOperations, append(w.filters(a), w.twin(a)...), when, r.Origin})
		case !ok || have == ir.Deny:
			w.add(rule{true, socketOperations, w.filters(a), when, r.Origin})
		}
	}
	w.add(rule{Operations: socketOperations, Filters: []string{`(remote ip "*:*")`}, Origin: v.unix.Origin})
}

// systemLists are the lists of names of a policy: what a name is matched with, and
// what it allows.
var systemLists = []struct {
	title      string
	names      func(ir.System) []ir.Name
	filter     string
	operations []string
}{
	{"services of launchd", func(s ir.System) []ir.Name { return s.Services }, "global-name", []string{"mach-lookup"}},
	{"sysctls", func(s ir.System) []ir.Name { return s.Sysctls }, "sysctl-name", []string{"sysctl-read"}},
	{"POSIX semaphores and shared memory", func(s ir.System) []ir.Name { return s.IPC }, "ipc-posix-name", []string{
		"ipc-posix-sem-create", "ipc-posix-sem-open", "ipc-posix-sem-post", "ipc-posix-sem-unlink", "ipc-posix-sem-wait",
		"ipc-posix-shm-read-data", "ipc-posix-shm-write-create", "ipc-posix-shm-write-data", "ipc-posix-shm-write-unlink",
	}},
	// One operation until 10.15, another since.
	{"IOKit user clients", func(s ir.System) []ir.Name { return s.IOKit }, "iokit-registry-entry-class", []string{
		"iokit-open", "iokit-open-user-client",
	}},
}

func (w *printer) system(v *view) {
	for _, list := range systemLists {
		names := list.names(v.system)
		if len(names) == 0 {
			continue
		}
		w.section(list.title)
		if list.filter == "global-name" {
			// A name is looked up through the bootstrap port; without names nobody needs it.
			w.add(rule{Allow: true, Operations: []string{"mach-bootstrap"}})
		}
		for _, n := range names {
			w.add(rule{
				Allow: true, Operations: list.operations, Origin: n.Origin,
				Filters: []string{"(" + list.filter + " " + w.quoted(n.Name) + ")"},
			})
		}
	}
}
