package compiler

import (
	"slices"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang/diag"
)

// applied gives the tmp slot the size that a limit states, and the limits that
// the kernel can keep for a tree of processes the scope that is asked for. What
// bounds nothing is as if unsaid, with a warning.
func applied(c *compilation) {
	for _, d := range c.drafts {
		a := application{c, d}
		a.tmpSize()
		a.workspaceSize()
		a.scope()
	}
}

type application struct {
	*compilation
	draft *draft
}

// index is the index of the statement that speaks of k, negative when none does.
func (a application) index(k key) int {
	return slices.IndexFunc(a.draft.merged, func(s *statement) bool { return s.key == k })
}

// change gives a statement another value. It may be a template's, so others
// keep the one it has.
func (a application) change(at int, value any) {
	changed := *a.draft.merged[at]
	changed.value = value
	a.draft.merged[at] = &changed
}

func limitKey(name ir.LimitName) key { return key{kind: limitKind, name: string(name)} }

func (a application) tmpSize() {
	size := a.index(limitKey(ir.TmpSize))
	if size < 0 {
		return
	}
	tmp := a.index(key{kind: fileKind, path: ir.RootPath(ir.Tmp)})
	if tmp < 0 {
		a.unused(size, "tmp_size bounds nothing: no rule writes tmp", "add write = [tmp], or leave it out")
		return
	}
	rule := a.draft.merged[tmp].value.(ir.FileRule)
	rule.Size = a.draft.merged[size].value.(ir.Limit).Value
	a.change(tmp, rule)
}

func (a application) workspaceSize() {
	size := a.index(limitKey(ir.WorkspaceSize))
	if size < 0 {
		return
	}
	written := slices.ContainsFunc(a.draft.merged, func(s *statement) bool {
		r, ok := s.value.(ir.FileRule)
		return ok && r.Path.Root() == ir.Workspace && r.Level == ir.Write
	})
	if !written {
		a.unused(size, "workspace_size bounds nothing: no rule writes the workspace", "add write = [workspace], or leave it out")
	}
}

func (a application) scope() {
	scope := a.index(key{kind: limitScopeKind})
	if scope < 0 || a.draft.merged[scope].value != string(ir.TreeScope) {
		return
	}
	found := false
	for _, name := range []ir.LimitName{ir.Memory, ir.Processes} {
		if at := a.index(limitKey(name)); at >= 0 {
			l := a.draft.merged[at].value.(ir.Limit)
			l.Scope = ir.TreeScope
			a.change(at, l)
			found = true
		}
	}
	if !found {
		a.unused(scope, "scope says nothing: neither memory nor processes is limited", "add one of them, or leave it out")
	}
}

// unused takes a statement away that is about nothing. While statements are
// missing because of an error, that means nothing.
func (a application) unused(at int, message, help string) {
	if !a.draft.partial {
		a.find(a.draft.body, limitUnused(a.draft.merged[at], message, help))
	}
	a.draft.merged = slices.Delete(a.draft.merged, at, at+1)
}

// limitUnused warns of a limit on something that the policy does not have.
func limitUnused(s *statement, message, help string) diag.Diagnostic {
	return diag.Diagnostic{
		Severity: diag.Warning,
		Code:     "limit-unused",
		At:       s.at,
		Message:  message,
		Help:     help,
	}
}
