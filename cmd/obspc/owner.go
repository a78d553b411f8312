package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/obspc/obspc/lang"
)

// foreign is why somebody else could have made or could change the policies in dir, ""
// when nobody could: the directory, the one that it lies in and each policy file belong
// to the caller or root, and no other user may write them. Links are looked at
// themselves, and what they lead to. Pins are held to the same in every directory up to
// "/" (verify.ReadTrusted); the caller has chosen to stand in this one.
func foreign(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", cleanPathError(err)
	}
	paths := []string{dir}
	for _, e := range entries {
		if lang.IsPolicyFile(e.Name()) {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	for _, path := range paths {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return "", cleanPathError(err)
		}
		for _, at := range []string{path, real, filepath.Dir(real)} {
			info, err := os.Lstat(at)
			if err != nil {
				return "", cleanPathError(err)
			}
			// In a sticky directory others add names and replace none (chmod(2): S_ISVTX):
			// enough where one name is looked up, too little where all of them are read.
			sticky := info.Mode()&fs.ModeSticky != 0 && at != real && info.IsDir()
			if why := changeable(info, sticky); why != "" {
				return shellWord(at) + " " + why, nil
			}
		}
	}
	return "", nil
}

// changeable is which other user than the caller and root owns or may write a file or
// directory, "" when none.
func changeable(info fs.FileInfo, sticky bool) string {
	stat := info.Sys().(*syscall.Stat_t)
	switch mode := info.Mode(); {
	case stat.Uid != 0 && int(stat.Uid) != os.Geteuid():
		return fmt.Sprintf("belongs to user %d", stat.Uid)
	case mode.Type() == fs.ModeSymlink || sticky:
		return "" // a link has no mode of its own
	case mode&0o002 != 0:
		return "may be written by every user (chmod o-w)"
	// The group of the owner's own number is the owner's alone on systems where files are
	// made for the group to write (umask 002).
	case mode&0o020 != 0 && stat.Gid != stat.Uid:
		return fmt.Sprintf("may be written by group %d (chmod g-w)", stat.Gid)
	}
	return ""
}

// ofUser is " of user N" for a path whose owner can be told.
func ofUser(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" of user %d", info.Sys().(*syscall.Stat_t).Uid)
}

// ofOthers refuses policies that were found and not named, and that another user could
// have put there or could change.
func ofOthers(dir, why string, err error) error {
	if err != nil {
		return wrongCall("the policies of %s were found and not named, and nobody knows whose they are: %w; name them: obspc exec %[1]s -- …", dir, err)
	}
	return wrongCall("the policies of %s were found and not named, and %s; unnamed, only those are taken that nobody but you (user %d) and root can change, for they decide what the command may do; if these are meant, name them: obspc exec %[1]s -- …",
		dir, why, os.Geteuid())
}
