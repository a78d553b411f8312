package verify

import (
	"fmt"

	"github.com/obspc/obspc/compiler/canon"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/verify/release"
)

// mapSchema names the format of ir.map.json that is read.
const mapSchema = "obspc.ir.map/v1"

// Place is where a statement of a policy stands in its sources, as the release's
// own ir.map.json says: for people, and no part of any proof. Line and Column count
// from 1.
type Place struct {
	File         string
	Line, Column int
}

func (p Place) String() string { return fmt.Sprintf("%s:%d:%d", display(p.File), p.Line, p.Column) }

// wireMap is the shape of ir.map.json: origins and where they stand.
type wireMap struct {
	Schema     string `json:"schema"`
	Statements map[string]struct {
		File      string `json:"file"`
		Line      int    `json:"line"`
		Column    int    `json:"column"`
		EndLine   int    `json:"endLine"`
		EndColumn int    `json:"endColumn"`
	} `json:"statements"`
}

// stated is where the statement stands that the origin names; nil when the release
// has no map, or one that does not say. Maps are hashed and not kept, so what is
// read a second time has to be what was hashed.
func (o *opening) stated(policy string, origin ir.Origin) *Place {
	name := policy + "/" + release.MapName
	hashed, ok := o.contents[name]
	if !ok || origin == "" || hashed.size > release.MaxFile {
		return nil
	}
	c, fault := o.tree.read(name, hashed.size, true)
	if fault != nil || c.digest != hashed.digest {
		return nil
	}
	var m wireMap
	if err := canon.Unmarshal(c.data, &m); err != nil || m.Schema != mapSchema {
		return nil
	}
	at, ok := m.Statements[string(origin)]
	if !ok {
		return nil
	}
	return &Place{at.File, at.Line, at.Column}
}
