package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// module is a module that is linked into a program.
type module struct {
	path, version string
	sum           string              // of go.sum
	programs      []string            // that it is linked into
	licences      []string            // SPDX identifiers, sorted
	texts         map[string]string   // licences and notices, by file of the module
	dirs          map[string]struct{} // the directories of linked packages
	root          string
}

// standard is how the standard library is called where modules are listed; the
// version is that of Go.
const standard = "std"

// known are licences by words that stand in their text and in no other's that is
// known here, when white space and case are put aside. without are words that make
// it another licence.
var known = []struct {
	id      string
	words   []string
	without string
}{
	{"Apache-2.0", []string{"apache license", "version 2.0, january 2004", "grant of patent license"}, ""},
	{"Apache-2.0", []string{"licensed under the apache license, version 2.0", "unless required by applicable law or agreed to in writing"}, ""}, // its notice alone
	{"BSD-2-Clause", []string{"redistributions of source code must retain the above copyright notice", "redistributions in binary form must reproduce"}, "may be used to endorse or promote products"},
	{"BSD-3-Clause", []string{"redistributions of source code must retain the above copyright notice", "redistributions in binary form must reproduce", "may be used to endorse or promote products"}, "all advertising materials"},
	{"ISC", []string{"permission to use, copy, modify, and", "for any purpose with or without fee is hereby granted, provided that the above copyright notice"}, ""},
	{"MIT", []string{"permission is hereby granted, free of charge, to any person obtaining a copy", "this permission notice shall be included in all copies"}, ""},
	{"MIT-0", []string{"permission is hereby granted, free of charge, to any person obtaining a copy"}, "this permission notice shall be included in all copies"},
	{"MPL-2.0", []string{"mozilla public license", "version 2.0", "covered software is provided under this license"}, ""},
}

// foreign are words of licences that obspc cannot be distributed under.
var foreign = []string{"everyone is permitted to copy and distribute verbatim copies of this license document", "server side public license", "business source license", "commons clause"}

var (
	licenceFile = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying)([._-].*)?$`)
	noticeFile  = regexp.MustCompile(`(?i)^(notice|patents)([._-].*)?$`)
	space       = regexp.MustCompile(`[\s/*#>]+`)
)

// identify names the licences of a text.
func identify(text string) ([]string, error) {
	plain := space.ReplaceAllString(strings.ToLower(text), " ")
	for _, words := range foreign {
		if strings.Contains(plain, words) {
			return nil, fmt.Errorf("it may not be distributed with obspc: %q", words)
		}
	}
	var ids []string
	for _, l := range known {
		holds := func(words string) bool { return strings.Contains(plain, words) }
		if !slices.ContainsFunc(l.words, func(w string) bool { return !holds(w) }) && (l.without == "" || !holds(l.without)) && !slices.Contains(ids, l.id) {
			ids = append(ids, l.id)
		}
	}
	if len(ids) == 0 {
		return nil, errors.New("it is no licence that is known here; read it, and add it to the table if obspc may be distributed with it")
	}
	return ids, nil
}

// modules are those that the programs themselves name, the standard library first,
// each with its licences.
func (b *build) modules() ([]*module, error) {
	byPath := map[string]*module{}
	for _, p := range b.programs {
		info := b.infos[p]
		add := func(path, version, sum string) {
			m := byPath[path]
			if m == nil {
				m = &module{path: path, version: version, sum: sum, texts: map[string]string{}, dirs: map[string]struct{}{}}
				byPath[path] = m
			}
			m.programs = append(m.programs, p)
		}
		add(standard, strings.TrimPrefix(info.GoVersion, "go"), "")
		for _, d := range info.Deps {
			if d.Replace != nil {
				return nil, fmt.Errorf("%s is replaced by %s: releases are made of what go.mod names", d.Path, d.Replace.Path)
			}
			add(d.Path, d.Version, d.Sum)
		}
	}
	if err := b.find(byPath); err != nil {
		return nil, err
	}
	out := []*module{byPath[standard]}
	var faults []error
	for _, path := range slices.Sorted(maps.Keys(byPath)) {
		m := byPath[path]
		faults = append(faults, m.read())
		if path != standard {
			out = append(out, m)
		}
	}
	return out, errors.Join(faults...)
}

// find says where the packages of each module lie, and holds what go list says to
// what the programs say.
func (b *build) find(modules map[string]*module) error {
	args := []string{"list", "-deps", "-json=Dir,ImportPath,Standard,Module"}
	for _, p := range b.programs {
		args = append(args, "./cmd/"+p)
	}
	text, err := output(b.fixed(exec.Command("go", args...), ""))
	if err != nil {
		return err
	}
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var p struct {
			Dir, ImportPath string
			Standard        bool
			Module          *struct {
				Path, Version, Dir string
				Main               bool
			}
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		if p.Standard || p.Module == nil || p.Module.Main {
			continue
		}
		m := modules[p.Module.Path]
		if m == nil || m.version != p.Module.Version {
			return fmt.Errorf("%s %s is imported, and the programs do not name it", p.Module.Path, p.Module.Version)
		}
		m.root, m.dirs[p.Dir] = p.Module.Dir, struct{}{}
	}
	root, err := output(b.fixed(exec.Command("go", "env", "GOROOT"), ""))
	if err != nil {
		return err
	}
	modules[standard].root = strings.TrimSpace(string(root))
	for _, m := range modules {
		if m.root == "" {
			return fmt.Errorf("the programs name %s, and nothing of it is imported", m.path)
		}
	}
	return nil
}

// read collects the texts of a module: those of its root, and those beside linked
// packages and on the way there.
func (m *module) read() error {
	dirs := map[string]bool{m.root: true}
	for dir := range m.dirs {
		for ; len(dir) > len(m.root); dir = filepath.Dir(dir) {
			dirs[dir] = true
		}
	}
	ids := map[string]bool{}
	var faults []error
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			licence := licenceFile.MatchString(e.Name())
			if _, other := elsewhere[m.path+"/"+e.Name()]; other || !e.Type().IsRegular() || strings.HasSuffix(e.Name(), ".go") || !licence && !noticeFile.MatchString(e.Name()) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				return err
			}
			name, err := filepath.Rel(m.root, filepath.Join(dir, e.Name()))
			if err != nil {
				return err
			}
			m.texts[filepath.ToSlash(name)] = string(text)
			if !licence {
				continue
			}
			found, err := identify(string(text))
			if err != nil {
				faults = append(faults, fmt.Errorf("%s %s: %s: %w", m.path, m.version, name, err))
			}
			for _, id := range found {
				ids[id] = true
			}
		}
	}
	if len(ids) == 0 && len(faults) == 0 {
		return fmt.Errorf("%s %s has no licence in %s", m.path, m.version, m.root)
	}
	m.licences = slices.Sorted(maps.Keys(ids))
	return errors.Join(faults...)
}

// elsewhere are files in the root of a module that are named like a licence and are
// about what is not linked, with what that is.
var elsewhere = map[string]string{
	"github.com/opencontainers/go-digest/LICENSE.docs": "its documentation",
}

// expression is the licences as an SPDX expression.
func (m *module) expression() string { return strings.Join(m.licences, " AND ") }

// notices is THIRD_PARTY.txt.
func (b *build) notices(modules []*module) ([]byte, error) {
	var out bytes.Buffer
	fmt.Fprintf(&out, "What is linked into %s of this archive, and its licences. The source of each module is served\nby https://proxy.golang.org under its name and version.\n", strings.Join(b.programs, " and "))
	for _, m := range modules {
		fmt.Fprintf(&out, "\n%s\n%s %s\nlicence: %s\nlinked into: %s\n", strings.Repeat("=", 100), m.path, m.version, m.expression(), strings.Join(m.programs, ", "))
		for _, name := range slices.Sorted(maps.Keys(m.texts)) {
			fmt.Fprintf(&out, "\n%s %s\n\n%s\n", strings.Repeat("-", 20), name, strings.TrimRight(strings.ReplaceAll(m.texts[name], "\r\n", "\n"), "\n"))
		}
	}
	return out.Bytes(), nil
}
