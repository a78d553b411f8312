package proof

import (
	"fmt"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/seatbelt/fragment"
)

// distinct refuses two rules of the policy that say different things of one place,
// which it names once through a link of macOS and once without.
func (c *check) distinct() error {
	files, execute := map[ir.Path]ir.FileRule{}, map[ir.Path]ir.ExecuteRule{}
	for _, r := range c.policy.Files {
		if first, ok := files[r.Path]; ok && (first.Level != r.Level || first.Only != r.Only) {
			return &Fault{Detail: fmt.Sprintf("%s (%s) and %s (%s) are about one place", &first, first.Origin, &r, r.Origin)}
		}
		files[r.Path] = r
	}
	for _, r := range c.policy.Execute {
		if first, ok := execute[r.Path]; ok && first.Only != r.Only {
			return &Fault{Detail: fmt.Sprintf("%s (%s) and %s (%s) are about one place", &first, first.Origin, &r, r.Origin)}
		}
		execute[r.Path] = r
	}
	return nil
}

// spellings refuses two names in one directory that differ only by the case of ASCII
// letters: most volumes of macOS find one file under both, so no rule can tell them
// apart.
func (c *check) spellings() error {
	seen := map[ir.Path]ir.Path{} // in small letters → as it was spelt first
	for _, p := range c.paths {
		for q := range p.Upward() {
			small, err := ir.NewPath(q.Root(), "/"+fragment.Small(q.Rel()))
			if err != nil {
				return err
			}
			first, ok := seen[small]
			if ok && first == q {
				break // and so is all above
			}
			if ok && !isLink(q) && !isLink(first) {
				return &Fault{Detail: fmt.Sprintf("%s and %s differ only by case", first, q)}
			}
			seen[small] = q
		}
	}
	return nil
}
