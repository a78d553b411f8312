package targets

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/bwrap"
)

// memberMutants changes every member of the JSON artifacts. A changed ir.json is
// another policy, which the other artifacts must then not be the artifacts of.
func (b *board) memberMutants(t *testing.T, p *ir.Policy, sample string, files map[string][]byte) {
	for _, name := range []string{irFile, runFile, bwrapFile, landlockFile} {
		var document any
		decoder := json.NewDecoder(bytes.NewReader(files[name]))
		decoder.UseNumber()
		if err := decoder.Decode(&document); err != nil {
			t.Fatal(err)
		}
		e := editor{root: document}
		e.visit(document, "", func(with any) { e.root = with })
		for _, m := range e.out {
			if bytes.Equal(m.data, files[name]) {
				continue
			}
			changed := maps.Clone(files)
			changed[name] = m.data
			b.judge(name+": "+m.mutator, sample, m.what, refusedFrom(p, changed, name))
		}
	}
}

// refusedFrom validates as verify does, which reads the policy from ir.json.
func refusedFrom(p *ir.Policy, files map[string][]byte, changed string) bool {
	switch changed {
	case irFile:
		other, err := ir.ParseJSON(files[irFile])
		if err != nil {
			return true
		}
		p = other
	case bwrapFile:
		if set, err := bwrap.Parse(files[bwrapFile]); err == nil {
			files[argsFile] = set.Text()
		}
	}
	return Validate(p, files) != nil
}

// editor makes every one-place change of a JSON document.
type editor struct {
	root any
	out  []edited
}

type edited struct {
	mutator, what string
	data          []byte
}

// emit notes the document as it stands.
func (e *editor) emit(mutator, what string) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(e.root); err != nil {
		panic(err)
	}
	e.out = append(e.out, edited{mutator, what, bytes.TrimSuffix(out.Bytes(), []byte("\n"))})
}

// visit changes v and what is in it; put places another value where v stands.
func (e *editor) visit(v any, at string, put func(any)) {
	try := func(mutator, what string, with any) {
		put(with)
		e.emit(mutator, at+what)
		put(v)
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			less, more := maps.Clone(v), maps.Clone(v)
			delete(less, name)
			more[name+"2"] = v[name]
			try("drop a member", "/"+name, less)
			try("add a member", "/"+name+"2", more)
			e.visit(v[name], at+"/"+name, func(with any) { v[name] = with })
		}
		for _, flag := range []string{"only", "optional"} {
			if _, path := v["path"]; path && v[flag] == nil {
				more := maps.Clone(v)
				more[flag] = true
				try("only and optional", "/"+flag, more)
			}
		}
	case []any:
		for i := range v {
			what := "/" + itoa(i)
			try("drop an element", what, slices.Delete(slices.Clone(v), i, i+1))
			try("duplicate an element", what, slices.Insert(slices.Clone(v), i, v[i]))
			if i+1 < len(v) {
				swapped := slices.Clone(v)
				swapped[i], swapped[i+1] = v[i+1], v[i]
				try("swap neighbours", what, swapped)
			}
			if foreign := renamed(v[i]); foreign != nil {
				try("add a foreign element", what, slices.Insert(slices.Clone(v), i+1, foreign))
			}
			e.visit(v[i], at+what, func(with any) { v[i] = with })
		}
	case string:
		for mutator, with := range slips(v) {
			for _, w := range with {
				try(mutator, fmt.Sprintf(" = %q", w), w)
			}
		}
	case json.Number:
		n, err := v.Int64()
		if err != nil {
			panic(err)
		}
		try("a number more", "", n+1)
		try("a number less", "", n-1)
	case bool:
		try("a boolean", "", !v)
	}
}

// renamed is an element that a foreign grant would be: a copy about another path
// or of another name.
func renamed(v any) any {
	element, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	for _, key := range []string{"path", "name"} {
		if text, ok := element[key].(string); ok {
			out := maps.Clone(element)
			out[key] = text + "x"
			return out
		}
	}
	return nil
}

// opposites are words of which each means the opposite of another.
var opposites = map[string][]string{
	"deny": {"read", "write"}, "read": {"write", "deny"}, "write": {"read", "deny"}, "none": {"visible"}, "visible": {"none"},
	"bind": {"mask", "link-or-bind"}, "mask": {"bind", "link-or-bind"}, "link-or-bind": {"bind", "mask"}, "bwrap": {"seatbelt"}, "seatbelt": {"bwrap"},
}

// slips are what a string may become by a slip, by mutator.
func slips(v string) map[string][]string {
	out := map[string][]string{"a string": {v + "x", ""}}
	if with := opposites[v]; with != nil {
		out["allow to deny, read to write, and back"] = with
	}
	if strings.HasPrefix(v, "/") || strings.HasPrefix(v, "${") {
		out["one component longer"] = []string{v + "/x"}
		if i := strings.LastIndexByte(v, '/'); i >= 0 {
			out["one component shorter"] = []string{v[:max(i, 1)]}
		}
	}
	return out
}
