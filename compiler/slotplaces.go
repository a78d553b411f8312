package compiler

import (
	"fmt"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang/diag"
)

// slotPlaces reports a deny of everything beside a slot, which lies inside no deny
// (design 5.1): there would be no place for it but inside a grant, and on Linux none
// at all for tmp.
func slotPlaces(c *compilation) {
	for _, d := range c.drafts {
		if d.partial {
			continue
		}
		var everything *statement
		first := map[ir.Root]*statement{}
		for _, s := range placesInReadingOrder(d) {
			root := s.key.path.Root()
			if r, ok := s.value.(ir.FileRule); ok && r.Level == ir.Deny && root == ir.Host && r.Path.IsRoot() {
				everything = s
			}
			if first[root] == nil {
				first[root] = s
			}
		}
		for _, slot := range ir.Slots() {
			if everything != nil && first[slot] != nil && slot != ir.Config {
				c.find(d.body, slotNowhere(everything, slot, first[slot]))
				break
			}
		}
	}
}

// slotNowhere reports a deny of everything beside a rule about a slot.
func slotNowhere(deny *statement, slot ir.Root, s *statement) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "slot-nowhere",
		At:      deny.at,
		Message: fmt.Sprintf("the deny of / leaves no place for ${%s}: a slot lies inside no deny", slot),
		Help:    "leave it out: what no rule names is denied",
		Related: []diag.Related{{At: s.at, Message: fmt.Sprintf("${%s} is named here", slot)}},
	}
}
