package main

import (
	"github.com/obspc/obspc/verify"
	"github.com/obspc/obspc/verify/release"
)

// goldenCheck is the check that reviewers have seen what a release holds: its
// artifacts are the committed golden files.
type goldenCheck struct {
	dir    string
	source string        // "" when nobody said where the sources are
	report *goldenReport // nil until it ran
}

func (*goldenCheck) Name() string { return verify.Golden }

// Anchors is false: whoever can change the release may have changed the files of
// a working tree as well. They vouch for nobody.
func (*goldenCheck) Anchors() bool { return false }

func (g *goldenCheck) Run(s *verify.Subject) (failures []verify.Failure, warnings []string) {
	fresh := map[string][]byte{}
	for _, a := range s.Manifest().Artifacts {
		if !isGolden(a.Name) {
			continue
		}
		data, ok := s.File(a.Name)
		if !ok {
			return []verify.Failure{{File: a.Name, Reason: verify.Differs, Message: "it could not be compared with its golden file"}}, nil
		}
		fresh[a.Name] = data
	}
	report, err := compareGolden(g.dir, fresh)
	if err != nil {
		return []verify.Failure{{Reason: verify.Unreadable, Message: "the golden files cannot be read: " + err.Error()}}, nil
	}
	source := g.source
	if source == "" {
		source = "PATH"
	}
	report.Update = updateCommand(source, g.dir)
	g.report = report
	messages := map[string]string{
		goldenMissing: "it has no golden file; no reviewer has seen it",
		goldenStale:   "a golden file is committed and the release has no such artifact",
		goldenChanged: "it is not the golden file that reviewers have seen",
	}
	for _, state := range report.States {
		f := verify.Failure{File: state.Name, Reason: verify.Differs, Message: messages[state.State]}
		if state.State == goldenChanged {
			committed, err := readSmall(g.dir+"/"+state.Name, release.MaxFile)
			if err == nil {
				f.Wanted, f.Found = "SHA-256 "+string(release.Sum(committed)), string(release.Sum(fresh[state.Name]))
			}
		}
		failures = append(failures, f)
	}
	return failures, nil
}
