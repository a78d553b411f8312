package runtime

import (
	"slices"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/bwrap"
)

// record notes every node of the host that the sandbox will show or hide by its
// path: what bwrap mounts, the ancestors it mounts on themselves included, what it
// covers, and the directories it covers something in. bwrap looks all of them up
// again, by name, and somebody who may write a directory on the way can exchange
// names meanwhile. So the first process compares what it sees with this record
// (checkNodes), and unchanged does so outside; a run in which they differ starts
// no command.
func (r *execution) record() *Refusal {
	mounts := r.table.Mounts()
	var host []ir.Path // what is mounted from the host
	for _, m := range mounts {
		switch m.Kind {
		case bwrap.HostNode, bwrap.DeviceNode:
			if !m.Path.IsRoot() {
				r.compared = append(r.compared, m.Path)
			}
			host = append(host, m.Path)
		case bwrap.HiddenDirectory, bwrap.HiddenFile:
			r.covered = append(r.covered, m.Path)
			above, _ := m.Path.Parent()
			if !above.IsRoot() && slices.ContainsFunc(host, func(at ir.Path) bool { return at.Covers(above) }) {
				r.compared = append(r.compared, above)
			}
		}
	}
	slices.SortFunc(r.compared, ir.Path.Compare)
	r.compared = slices.Compact(r.compared)
	for _, at := range slices.Concat(r.compared, r.covered) {
		n, refusal := r.survey.node(at)
		if refusal != nil {
			return refusal
		}
		if len(n.links) > 0 || !n.exists() {
			return exchanged(at)
		}
	}
	r.evidence.Facts = r.survey.evidence()
	return nil
}

// unchanged holds what is covered to be what was recorded: inside, nothing of it
// can be seen any more.
func (r *execution) unchanged() *Refusal {
	for _, at := range r.covered {
		have, err := lookup(at)
		want := r.survey.nodes[at]
		if err != nil || len(have.links) > 0 || have.stat.Dev != want.stat.Dev || have.stat.Ino != want.stat.Ino {
			return exchanged(at)
		}
	}
	return nil
}

// exchanged is a path that another process works on.
func exchanged(at ir.Path) *Refusal {
	return refuse(No, "keep other runs and programs out of it until the command has started", "%s was replaced while the sandbox was made", at)
}
