// Package library reads the embedded templates as the compiler wants them. What
// they say is in package policies.
package library

import (
	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/policies"
)

// Template is the embedded template of that name ("std/base"), parsed; ok is false
// when there is none.
func Template(name string) (body *lang.Body, ok bool) {
	file, text, ok := policies.Source(name)
	if !ok {
		return nil, false
	}
	config, diags := lang.Parse(lang.Sources{file: text}, lang.Options{Library: true})
	if diags.HasErrors() || len(config.Templates) != 1 {
		diag.Bug("embedded template %s does not parse: %v", name, diags)
	}
	return config.Templates[0], true
}
