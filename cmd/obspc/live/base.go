package live

import (
	"slices"

	"github.com/obspc/obspc/compiler"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/policies"
	"github.com/obspc/obspc/policies/library"
)

// loaders are the places from which macOS's loader makes a process: itself, its
// shared cache, the libraries, Rosetta. std/base says why each is needed.
var loaders = []ir.Path{
	ir.MustPath("/usr/lib"), ir.MustPath("/System"), ir.MustPath("/Library/Apple"), ir.MustPath("/private/var/db/dyld"),
}

func isLoaders(p ir.Path) bool {
	return p == ir.RootPath(ir.Host) || slices.ContainsFunc(loaders, func(dir ir.Path) bool { return dir.Covers(p) })
}

// standardBase is what std/base reads of the host, the loaders it starts, and the
// names of the system it reaches.
func standardBase() Addition {
	text := []byte("policy \"base\" {\n  version = 1\n  targets = [\"seatbelt\"]\n  extends = [\"std/base\"]\n}\n")
	config, diags := lang.Parse(lang.Sources{"base.policy.hcl": text}, lang.Options{})
	results, more := compiler.Compile(config, compiler.Options{Library: library.Template, LibraryNames: policies.Names()})
	if diags.Add(more...); diags.HasErrors() || len(results) != 1 {
		diag.Bug("std/base does not compile: %v", diags)
	}
	p := results[0].Policy
	a := Addition{Name: "std/base", System: p.System}
	for _, r := range p.Files {
		if r.Backing == ir.HostFile && r.Level == ir.Read {
			a.Files = append(a.Files, r)
		}
	}
	a.Execute = slices.DeleteFunc(slices.Clone(p.Execute), func(r ir.ExecuteRule) bool { return r.Path.Base() != "dyld" })
	return a
}
