// Package policies is the standard library: templates that policies extend by
// name ("std/base"), the standard house rules and the demo policies, embedded in
// obspc. Each is a folder with its text, its page and its probes or tests; adding
// one touches nothing else.
package policies

import (
	"embed"
	"io/fs"
	"path"
	"slices"
	"strings"
)

//go:embed std demo rules
var files embed.FS

// Names lists the embedded templates in order, as policies name them.
func Names() []string {
	paths, err := fs.Glob(files, "std/*/*.policy.hcl")
	if err != nil {
		panic(err) // the pattern stands above
	}
	names := make([]string, 0, len(paths))
	for _, p := range paths {
		names = append(names, path.Dir(p))
	}
	slices.Sort(names)
	return names
}

// Source is the HCL text of the template name ("std/base") and its file's name.
// The file declares one template, named as the folder.
func Source(name string) (file string, text []byte, ok bool) {
	if !strings.HasPrefix(name, "std/") || strings.Count(name, "/") != 1 {
		return "", nil, false
	}
	file = name + "/" + path.Base(name) + ".policy.hcl"
	text, err := files.ReadFile(file)
	return file, text, err == nil
}

// Demo is the demo's configuration.
func Demo() fs.FS { return folder("demo") }

// Rules are the standard house rules, in Rego: a folder each.
func Rules() fs.FS { return folder("rules") }

func folder(name string) fs.FS {
	sub, err := fs.Sub(files, name)
	if err != nil {
		panic(err) // the folder is embedded above
	}
	return sub
}
