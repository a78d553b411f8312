package targets

import (
	"slices"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/testdata/cases"
)

// TestDecisionCases asks the policy and the Linux artifacts' model every request
// of testdata/cases/decisions.tsv; endpoints have no artifact yet.
func TestDecisionCases(t *testing.T) {
	rows, err := cases.Rows("decisions.tsv", 4)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, c := range rows {
		if strings.HasPrefix(c[1], "endpoint") {
			continue
		}
		t.Run(c[0], func(t *testing.T) {
			p := caseStatements(t, c[1])
			r := caseRequest(c[2])
			want := c[3] == "allow"
			model, err := LinuxModel(p, compileFiles(t, p), ir.Binding{})
			if err != nil {
				t.Fatal(err)
			}
			if got := ir.Decide(p, r); got.Allow != want {
				t.Errorf("Decide(%s) under %s = %v, want %s", r, c[1], got.Allow, c[3])
			}
			if got, layer := model.Decide(r); got != want {
				t.Errorf("the model of %s decides %s as %v by %s, want %s", c[1], r, got, layer, c[3])
			}
		})
		asked++
	}
	if asked < 30 {
		t.Errorf("%d cases were asked, want at least 30", asked)
	}
}

// caseStatements reads "write=[W] deny=[W/s]"; what follows in parentheses is a
// fact of the tree.
func caseStatements(t *testing.T, text string) *ir.Policy {
	t.Helper()
	p := policy(t)
	text, _, _ = strings.Cut(text, " (")
	for strings.Contains(text, "=[") {
		word, rest, _ := strings.Cut(text, "=[")
		list, rest, _ := strings.Cut(rest, "]")
		word, text = strings.TrimSpace(word), rest
		for item := range strings.SplitSeq(list, ", ") {
			if strings.HasPrefix(item, `"`) {
				item = strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(item[1 : len(item)-1])
			}
			o := ir.Origin("p/filesystem." + word)
			if word == "execute" {
				p.Execute = append(p.Execute, ir.ExecuteRule{Path: casePath(item), Origin: o})
				continue
			}
			level := map[string]ir.Level{"deny": ir.Deny, "read": ir.Read, "write": ir.Write}[word]
			p.Files = append(p.Files, ir.FileRule{Path: casePath(item), Level: level, Origin: o})
		}
	}
	slices.SortFunc(p.Files, func(a, b ir.FileRule) int { return a.Path.Compare(b.Path) })
	slices.SortFunc(p.Execute, func(a, b ir.ExecuteRule) int { return a.Path.Compare(b.Path) })
	return p
}

// casePath reads a path whose slots stand as W and H.
func casePath(text string) ir.Path {
	for short, slot := range map[string]string{"W": "${workspace}", "H": "${home}"} {
		if text == short || strings.HasPrefix(text, short+"/") {
			text = slot + text[1:]
			break
		}
	}
	return ir.MustPath(text)
}

func caseRequest(text string) ir.Request {
	word, rest, _ := strings.Cut(text, " ")
	r := ir.Request{Kind: ir.RequestKind(word)}
	if r.Kind == ir.RenameRequest || r.Kind == ir.LinkRequest {
		from, to, _ := strings.Cut(rest, " ")
		r.Path, r.To = casePath(from), casePath(to)
		return r
	}
	r.Path = casePath(rest)
	return r
}
