package main

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/obspc/obspc/lang"
)

// configDir is where a project keeps its policies.
const configDir = ".obspc"

// execPath is PATH, or the configuration found in the current directory. What is found
// and not named has to be the only one in sight: a command that may write below a
// project plants one there, for the next run that is started there.
func execPath(c *cli.Context) (string, error) {
	if path := c.Args().First(); path != "" {
		return path, nil
	}
	var here []string
	for _, dir := range []string{configDir, "."} {
		holds, err := holdsPolicies(dir)
		if err != nil {
			return "", wrongCall("%w; say where the policies are: obspc exec PATH -- …", cleanPathError(err))
		}
		if holds {
			here = append(here, dir)
		}
	}
	above, err := policiesAbove()
	switch {
	case len(here) == 0:
		return "", noneHere(above)
	case len(here) > 1:
		return "", wrongCall("there are *%s files both here and in %s; say which: obspc exec %[2]s -- …", lang.Suffix, configDir)
	case err != nil:
		return "", wrongCall("the policies of %s were found and not named, and nobody knows what is above: %w; name them: obspc exec %[1]s -- …", here[0], err)
	case len(above) > 0:
		return "", alsoAbove(here[0], above)
	}
	if why, err := foreign(here[0]); err != nil || why != "" {
		return "", ofOthers(here[0], why, err)
	}
	return here[0], nil
}

// policiesAbove are the places above the current directory that exec would take
// policies from, were it called there, the nearest first. A way that led here through a
// link is gone up as well as the real one: a command can plant links too.
func policiesAbove() ([]string, error) {
	named, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(named)
	if err != nil {
		return nil, cleanPathError(err)
	}
	var found []string
	for _, start := range []string{named, real} {
		for dir := start; dir != filepath.Dir(dir); {
			dir = filepath.Dir(dir)
			places, err := placesIn(dir)
			if err != nil {
				return nil, err
			}
			found = append(found, places...)
		}
	}
	slices.SortFunc(found, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(found), nil
}

// placesIn are the places of policies in a directory above. A .obspc counts whatever is
// in it, and one that cannot be looked for is an error: passed over, it would be the very
// one that confines the commands of this project. A directory that can be gone through
// and not listed, as /home is on some machines, is no error: exec would find no policy
// file in it either, were it called there, and .obspc is looked for by its name.
func placesIn(dir string) ([]string, error) {
	var found []string
	config := filepath.Join(dir, configDir)
	if _, err := os.Lstat(config); err == nil {
		found = append(found, config)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, cleanPathError(err)
	}
	holds, err := holdsPolicies(dir)
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return nil, cleanPathError(err)
	}
	if holds {
		found = append(found, dir)
	}
	return found, nil
}

// holdsPolicies reports whether a name in the directory is that of a policy file. A
// directory that is missing holds none.
func holdsPolicies(dir string) (bool, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return lang.IsPolicyFile(e.Name()) }), err
}

// alsoAbove refuses policies that were found and not named, with others above.
func alsoAbove(here string, above []string) error {
	at := here
	if full, err := filepath.Abs(here); err == nil {
		at = full
	}
	return wrongCall("policies were found in %s, and there are others above, in %s; a command that may write here could have planted them, so name those that are meant: obspc exec %s -- … or obspc exec %s -- …",
		shellWord(at), shellWords(above, " and "), here, shellWord(above[0]))
}

// noneHere says that there are no policies here, and where there are some.
func noneHere(above []string) error {
	const none = "there is no *" + lang.Suffix + " here and none in " + configDir
	switch len(above) {
	case 0:
		return wrongCall(none + "; give a PATH")
	case 1:
		workspace := above[0]
		if filepath.Base(workspace) == configDir {
			workspace = filepath.Dir(workspace)
		}
		return wrongCall(none+"; there is one above%s, where a command that may write there could have planted it: if it is meant, obspc exec %s --workspace %s -- …",
			ofUser(above[0]), shellWord(above[0]), shellWord(workspace))
	}
	// The nearest may be planted: none of them is proposed before the others.
	return wrongCall(none+"; there are several above (%s): give the PATH of the one that is meant", shellWords(above, ", "))
}

// shellWords are paths that somebody else may have named, as a shell takes them.
func shellWords(paths []string, between string) string {
	var words []string
	for _, p := range paths {
		words = append(words, shellWord(p))
	}
	return strings.Join(words, between)
}
