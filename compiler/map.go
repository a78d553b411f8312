package compiler

import (
	"strings"

	"github.com/obspc/obspc/compiler/canon"
	"github.com/obspc/obspc/lang/diag"
)

// MapSchema names the format of ir.map.json.
const MapSchema = "obspc.ir.map/v1"

// place of a statement in a file, counted as diag.Pos counts.
type mapRange struct {
	File      string `json:"file"`
	Line      int    `json:"line"`
	Column    int    `json:"column"`
	EndLine   int    `json:"endLine"`
	EndColumn int    `json:"endColumn"`
}

// MapJSON is ir.map.json: where the statements stand that origins name. It is for
// people and outside every digest of meaning.
func (r Result) MapJSON() []byte {
	m := struct {
		Schema     string              `json:"schema"`
		Statements map[string]mapRange `json:"statements"`
	}{MapSchema, make(map[string]mapRange, len(r.Ranges))}
	for origin, at := range r.Ranges {
		m.Statements[string(origin)] = mapRange{
			File: strings.ToValidUTF8(at.File, "\uFFFD"),
			Line: at.Start.Line, Column: at.Start.Column, EndLine: at.End.Line, EndColumn: at.End.Column,
		}
	}
	data, err := canon.Marshal(m)
	if err != nil {
		diag.Bug("ir.map.json of %s: %v", r.Policy.Name, err)
	}
	return data
}
