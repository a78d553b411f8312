package diag

import (
	"bytes"
	"encoding/json"
)

// Schema names the form of JSON's output.
const Schema = "obspc.diagnostics/v1"

// JSON is the list for programs, sorted, with the facts that Render shows and
// all findings however many: an object with schema and diagnostics, indented,
// ending in a newline. A finding without a place has no file; one about a whole
// file has no start and end.
func JSON(l List) []byte {
	out := struct {
		Schema      string        `json:"schema"`
		Diagnostics []jsonFinding `json:"diagnostics"`
	}{Schema, []jsonFinding{}}
	for _, d := range l.Sorted() {
		out.Diagnostics = append(out.Diagnostics, findingJSON(d))
	}
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(out); err != nil {
		Bug("findings have no JSON: %v", err)
	}
	return buf.Bytes()
}

type jsonFinding struct {
	Severity string `json:"severity"`
	Code     string `json:"code"`
	Message  string `json:"message"`
	Help     string `json:"help,omitempty"`
	jsonPlace
	Related []jsonRelated `json:"related,omitempty"`
}

type jsonRelated struct {
	Message string `json:"message"`
	jsonPlace
}

type jsonPlace struct {
	File  string   `json:"file,omitempty"`
	Start *jsonPos `json:"start,omitempty"`
	End   *jsonPos `json:"end,omitempty"`
}

type jsonPos struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	Byte   int `json:"byte"`
}

func findingJSON(d Diagnostic) jsonFinding {
	out := jsonFinding{
		Severity: d.Severity.String(), Code: d.Code, Message: d.Message, Help: d.Help, jsonPlace: placeJSON(d.At),
	}
	for _, r := range d.Related {
		out.Related = append(out.Related, jsonRelated{r.Message, placeJSON(r.At)})
	}
	return out
}

func placeJSON(r Range) jsonPlace {
	p := jsonPlace{File: r.File}
	if r.Start.Line > 0 {
		start, end := jsonPos(r.Start), jsonPos(r.End)
		p.Start, p.End = &start, &end
	}
	return p
}
