package policies_test

import (
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/policies"
)

const (
	templatesPage = "../docs/templates.md"
	generated     = "\n<!-- What follows is written by OBSPC_UPDATE=1 go test ./policies from the templates and their comments. -->\n"
)

// TestTemplatesPage: docs/templates.md shows every grant of every template with the
// reason and the cost that its comment gives, and there is no grant without.
func TestTemplatesPage(t *testing.T) {
	have, err := os.ReadFile(templatesPage)
	if err != nil {
		t.Fatal(err)
	}
	byHand, _, ok := strings.Cut(string(have), generated)
	if !ok {
		t.Fatalf("%s lacks the line %q", templatesPage, strings.TrimSpace(generated))
	}
	var b strings.Builder
	for _, name := range policies.Names() {
		if !strings.Contains(byHand, "| [`"+name+"`](../policies/"+name+"/"+path.Base(name)+".md) |") {
			t.Errorf("the table of %s has no row for %s", templatesPage, name)
		}
		b.WriteString(section(t, name))
	}
	want := byHand + generated + b.String()
	if string(have) == want {
		return
	}
	if os.Getenv("OBSPC_UPDATE") == "" {
		t.Fatalf("%s does not say what the templates say; OBSPC_UPDATE=1 go test ./policies writes it", templatesPage)
	}
	if err := os.WriteFile(templatesPage, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Errorf("%s was rewritten", templatesPage)
}

// grant is the statements of one list that stand below one comment.
type grant struct {
	reason
	list       string // "read", "environment", …
	statements []string
}

// reason is a comment of a template: what a grant is for, and what it gives away.
type reason struct {
	line      int
	why, cost string
}

// section is what the page says about a template.
func section(t *testing.T, name string) string {
	t.Helper()
	file, text, _ := policies.Source(name)
	body, _ := library(name)
	var b strings.Builder
	fmt.Fprintf(&b, "\n## %s\n\n%s.", name, body.Description.Value)
	for i, e := range body.Extends {
		fmt.Fprintf(&b, "%s `%s`", map[bool]string{true: " Extends", false: ","}[i == 0], e.Name.Value)
	}
	if len(body.Extends) > 0 {
		b.WriteString(".")
	}
	b.WriteString("\n\n| grants | why | cost |\n|---|---|---|\n")
	for _, g := range grants(t, name, file, reasons(t, file, string(text))) {
		fmt.Fprintf(&b, "| %s %s | %s | %s |\n", g.list, strings.Join(short(g.statements), ", "), g.why, g.cost)
	}
	return b.String()
}

// reasons lists the comments that give one.
func reasons(t *testing.T, file, text string) []reason {
	t.Helper()
	var out []reason
	var comment []string
	n := 0
	for line := range strings.Lines(text + "\n") {
		n++
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "# "); ok {
			comment = append(comment, rest)
			continue
		}
		all := strings.Join(comment, " ")
		comment = nil
		if !strings.Contains(all, "Why:") {
			continue
		}
		why, cost, ok := strings.Cut(strings.TrimPrefix(all, "Why: "), ". Cost: ")
		if !ok || strings.Contains(why, "Why:") {
			t.Errorf("%s:%d: the comment %q is not \"Why: …. Cost: ….\"", file, n, all)
		}
		out = append(out, reason{n, why, strings.TrimSuffix(cost, ".")})
	}
	return out
}

// grants groups the template's own statements by the comment above them.
func grants(t *testing.T, name, file string, reasons []reason) []grant {
	t.Helper()
	out := make([]grant, len(reasons))
	for i, r := range reasons {
		out[i].reason = r
	}
	result := compileResult(t, "policy \"p\" {\n  version = 1\n  extends = [\""+name+"\"]\n}\n")
	for _, s := range statements(result.Policy) {
		own, ok := strings.CutPrefix(string(s.origin), name+"/")
		if !ok {
			continue
		}
		at := result.Ranges[s.origin]
		i := -1
		for j, r := range reasons {
			if at.File == file && r.line <= at.Start.Line {
				i = j
			}
		}
		list := listOf.FindString(own)
		switch {
		case i < 0:
			t.Errorf("%s: no comment says why %s is granted", at, s.text)
		case out[i].list != "" && out[i].list != list:
			t.Errorf("%s: %s of %s has no comment of its own", at, list, name)
		default:
			out[i].list = list
			if !slices.Contains(out[i].statements, s.text) {
				out[i].statements = append(out[i].statements, s.text)
			}
		}
	}
	for i := range out {
		if len(out[i].statements) == 0 {
			t.Errorf("%s:%d: nothing is granted below this comment", file, out[i].line)
		}
		out[i].list = word[out[i].list]
	}
	return out
}

// listOf is the list in an origin, without the template.
var listOf = regexp.MustCompile(`^(filesystem\.[a-z]+|environment|system\.[a-z]+)`)

// word is what the page calls a list.
var word = map[string]string{
	"filesystem.read": "read", "filesystem.write": "write", "filesystem.execute": "execute", "filesystem.deny": "deny",
	"environment": "environment", "system.devices": "devices", "system.shm": "shm",
	"system.services": "services", "system.sysctls": "sysctls",
}

// stated is one statement of a policy for the page.
type stated struct {
	origin ir.Origin
	text   string
}

func statements(p *ir.Policy) []stated {
	var out []stated
	for _, r := range p.Files {
		text := r.Path.String()
		if r.Only {
			text = "only(" + text + ")"
		}
		if r.Backing == ir.DevFS {
			text = "minimal"
		}
		if r.Backing == ir.TmpFS && r.Path.Root() == ir.Host {
			text = fmt.Sprintf("%dMiB", r.Size>>20)
		}
		out = append(out, stated{r.Origin, text})
	}
	for _, r := range p.Execute {
		out = append(out, stated{r.Origin, r.Path.String()})
	}
	for _, v := range p.Environment {
		out = append(out, stated{v.Origin, v.Name + "=" + v.Value.String()})
	}
	for _, list := range [][]ir.Name{p.System.Services, p.System.Sysctls, p.System.IPC, p.System.IOKit} {
		for _, n := range list {
			out = append(out, stated{n.Origin, n.Name})
		}
	}
	return out
}

// short is a list for a reader: names that differ by a number alone are one when
// there are three or more, and a directory of more than six says how many.
func short(list []string) []string {
	if len(list) <= 6 {
		return code(list)
	}
	var out []string
	alike, beside := map[string]int{}, map[string]int{}
	for _, s := range list {
		alike[pattern(s)]++
	}
	for _, s := range list {
		if n := pattern(s); alike[n] > 2 {
			s = n
		}
		if !slices.Contains(out, s) {
			out = append(out, s)
			beside[path.Dir(s)]++
		}
	}
	var shown []string
	for _, s := range out {
		if dir := path.Dir(s); beside[dir] > 6 {
			s = fmt.Sprintf("%s/… (%d)", strings.TrimPrefix(dir, "."), beside[dir])
		}
		if s = strings.TrimPrefix(s, "/… "); !slices.Contains(shown, s) {
			shown = append(shown, s)
		}
	}
	return code(shown)
}

// pattern is a name with N for its numbers; those of processors are none.
func pattern(s string) string {
	return number.ReplaceAllStringFunc(s, func(n string) string {
		if n[0] < '0' || n[0] > '9' {
			return n
		}
		return "N"
	})
}

var number = regexp.MustCompile(`x86.64|aarch64|[0-9]+`)

func code(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = "`" + s + "`"
	}
	return out
}
