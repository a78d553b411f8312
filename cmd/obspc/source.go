package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/verify"
	"github.com/obspc/obspc/verify/release"
)

// recompilation is the check that sources the caller vouches for give exactly
// this release: the same sources, compiled as release.json says it was, are the
// same bytes. What the variables are, which may be all the authority there is, the
// caller says; which of the policies and targets the release holds, it tells itself.
type recompilation struct {
	path string
	vars map[string]string
	conf *configuration // nil: not compiled
	err  error          // the call is wrong: nothing was compiled
}

func (*recompilation) Name() string  { return verify.Recompilation }
func (*recompilation) Anchors() bool { return true }

// Run compiles path as the release says it was compiled. What is wrong with the
// sources themselves is in conf, for the caller to show.
func (r *recompilation) Run(s *verify.Subject) (failures []verify.Failure, warnings []string) {
	m := s.Manifest()
	conf, sources, err := readSources(r.path)
	var files []release.File
	if err == nil {
		if failures := r.otherVariables(m.Inputs.Variables); len(failures) > 0 {
			return failures, nil
		}
		r.conf = conf
		files, err = r.rebuild(m, sources)
	}
	if err != nil {
		r.err = err
		return []verify.Failure{{Reason: verify.Differs, Message: "the sources cannot be compiled as the release says it was: " + err.Error()}}, nil
	}
	if files == nil {
		return []verify.Failure{{Reason: verify.Differs, Message: fmt.Sprintf("the sources in %s have errors", r.path)}}, nil
	}
	failures = append(differingSources(m.Sources, r.conf.sourceDigests()), differingFiles(s, m, files)...)
	if only := narrowed(m.Inputs); only != "" {
		warnings = append(warnings, "of what the sources give, the release was compiled for "+only)
	}
	switch {
	case m.Compiler == release.Version:
	case len(failures) == 0:
		warnings = append(warnings, fmt.Sprintf("the release was compiled by obspc %s, this is %s; the bytes are the same", m.Compiler, release.Version))
	default:
		failures = slices.Insert(failures, 0, verify.Failure{
			File: release.ManifestName, Reason: verify.OtherCompiler,
			Message: "the release was compiled by another version, so other bytes need not be tampering; recompile with that version",
			Wanted:  "obspc " + m.Compiler, Found: "obspc " + release.Version,
		})
	}
	return failures, warnings
}

// otherVariables says which variables the release was compiled with that the
// caller did not give, and the other way round.
func (r *recompilation) otherVariables(recorded []release.VariableInput) (out []verify.Failure) {
	given := maps.Clone(r.vars)
	differs := func(format string, args ...any) {
		out = append(out, verify.Failure{File: release.ManifestName, Reason: verify.Differs, Message: fmt.Sprintf(format, args...)})
	}
	for _, v := range recorded {
		want, ok := given[v.Name]
		delete(given, v.Name)
		switch {
		case !ok:
			differs("the release was compiled with %s = %.300q, and you did not say what it is; give your value by --var %s=VALUE", v.Name, v.Value, v.Name)
		case want != v.Value:
			differs("the release was compiled with %s = %.300q, and you say %.300q", v.Name, v.Value, want)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		differs("the release was compiled without a value of %s, and you say %.300q", name, given[name])
	}
	return out
}

// narrowed is which policies and targets alone were asked for, "" when all were.
func narrowed(in release.Inputs) string {
	var out []string
	if len(in.Policies) > 0 {
		out = append(out, "policy "+strings.Join(in.Policies, ", "))
	}
	if len(in.Targets) > 0 {
		out = append(out, "target "+strings.Join(in.Targets, ", "))
	}
	return strings.Join(out, "; ")
}

// rebuild makes the release again; nil files when the sources have errors.
func (r *recompilation) rebuild(m *release.Manifest, sources lang.Sources) ([]release.File, error) {
	conf := r.conf
	if !conf.diags.HasErrors() {
		conf.compile(sources, lang.Options{Vars: r.vars})
	}
	if conf.diags.HasErrors() {
		return nil, nil
	}
	if err := conf.narrow(m.Inputs.Policies, m.Inputs.Targets); err != nil {
		return nil, err
	}
	in := release.Input{
		Product: m.Product, Serial: m.Serial, Created: m.Created, Expires: m.Expires, Compiler: m.Compiler,
		Targets: m.Inputs.Targets, Only: m.Inputs.Policies,
	}
	if m.Product == release.LocalProduct {
		in.Product = ""
	}
	files, err := conf.build(in)
	if err != nil || conf.diags.HasErrors() {
		return nil, err
	}
	return files, nil
}

// differingSources says which source files are not those of the release.
func differingSources(recorded []release.Source, here map[string]release.Digest) (out []verify.Failure) {
	here = maps.Clone(here)
	for _, s := range recorded {
		found, ok := here[s.Name]
		delete(here, s.Name)
		switch {
		case !ok:
			out = append(out, verify.Failure{File: s.Name, Reason: verify.Differs, Message: "the release was compiled from this file, and it is not among the sources"})
		case found != s.SHA256:
			out = append(out, verify.Failure{
				File: s.Name, Reason: verify.Differs, Message: "the release was compiled from another text of this source file",
				Wanted: "SHA-256 " + string(s.SHA256), Found: string(found),
			})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(here)) {
		out = append(out, verify.Failure{File: name, Reason: verify.Differs, Message: "this source file was not there when the release was compiled"})
	}
	return out
}

// differingFiles holds what the sources give against what the release has.
func differingFiles(s *verify.Subject, m *release.Manifest, files []release.File) (out []verify.Failure) {
	wanted := map[string]release.Digest{}
	for _, f := range files {
		if f.Name != release.SumsName && f.Name != release.ManifestName {
			wanted[f.Name] = release.Sum(f.Data)
		}
	}
	for _, a := range m.Artifacts {
		want, ok := wanted[a.Name]
		delete(wanted, a.Name)
		got, read := s.Digest(a.Name)
		switch {
		case !ok:
			out = append(out, verify.Failure{File: a.Name, Reason: verify.Differs, Message: "the sources give no such artifact"})
		case !read:
			out = append(out, verify.Failure{File: a.Name, Reason: verify.Differs, Message: "it could not be compared with what the sources give"})
		case got != want:
			out = append(out, verify.Failure{
				File: a.Name, Reason: verify.Differs, Message: "the sources give other bytes", Wanted: "SHA-256 " + string(want), Found: string(got),
			})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		out = append(out, verify.Failure{File: name, Reason: verify.Differs, Message: "the sources give this artifact and the release lacks it"})
	}
	// release.json and SHA256SUMS follow from the rest; if they alone differ, that
	// is said of release.json, whose every member was an input.
	if len(out) > 0 {
		return out
	}
	for _, f := range files {
		if f.Name == release.SumsName && !bytes.Equal(f.Data, s.Sums()) {
			out = append(out, verify.Failure{
				File: release.ManifestName, Reason: verify.Differs, Message: "the sources give the same artifacts and another release.json",
			})
		}
	}
	return out
}

// shown is the error that ends the command when the sources are what is wrong: it
// is exit 2 for every command that reads policies.
func (r *recompilation) shown(show func(*configuration) error) error {
	if r.err == nil && r.conf != nil && r.conf.diags.HasErrors() {
		return show(r.conf)
	}
	return r.err
}
