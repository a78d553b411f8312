package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// New makes a group that keeps the limits, which name at least one. The error is a
// *LackingError when the machine lets no such group be made here.
//
// Where: below the own group, if this process is alone there and may divide it;
// else below the nearest group above whose children have the controllers; else
// below the nearest that lets them have them.
func New(l Limits) (*Group, error) {
	h, err := current()
	if err != nil {
		return nil, lacking(l, err.Error(), bootV2)
	}
	dirs := h.dirs()
	if ok, err := has(filepath.Join(dirs[len(dirs)-1], "cgroup.controllers"), l.controllers()); !ok {
		if err != nil {
			return nil, lacking(l, err.Error(), bootV2)
		}
		return nil, lacking(l, "the cgroup v2 hierarchy at "+h.mount+" has no such controllers: cgroup v1 has them, or the kernel was started without", bootV2)
	}
	if g, err := alone(dirs[0], l); err == nil {
		return g, nil
	}
	var nearest error
	for _, enable := range []bool{false, true} {
		for _, dir := range dirs {
			g, err := below(dir, l, enable)
			if err == nil {
				return g, nil
			}
			nearest = errors.Join(nearest, err)
		}
	}
	return nil, lacking(l, firstLine(nearest), delegate())
}

// below makes a group below dir, whose children get the controllers first when
// enable says so.
func below(dir string, l Limits, enable bool) (*Group, error) {
	// Moving a process asks for this right on the nearest group around both places.
	if err := unix.Access(filepath.Join(dir, "cgroup.procs"), unix.W_OK); err != nil {
		return nil, fmt.Errorf("%s is not this user's to divide: %w", dir, err)
	}
	control := filepath.Join(dir, "cgroup.subtree_control")
	enabled, err := has(control, l.controllers())
	switch {
	case err != nil:
		return nil, err
	case enabled:
	case !enable:
		return nil, fmt.Errorf("%s lends its children no %s", dir, strings.Join(l.controllers(), " and no "))
	default:
		if err := put(control, "+"+strings.Join(l.controllers(), " +")); err != nil {
			return nil, fmt.Errorf("%s cannot lend its children controllers: %w", dir, err)
		}
	}
	return makeIn(dir, l)
}

// aside is a group below its own, in which this process waits while its own has
// others below it: a group with controllers for its children has no processes
// itself.
type aside struct {
	own     string
	dir     *os.File
	enabled []string // controllers that the own group did not lend before
}

// errNotAlone is a group with other processes in it, which are not ours to move.
var errNotAlone = errors.New("other processes are in the same cgroup")

// alone makes a group below this process's own one, if it is the only process
// there, and may divide it: what was delegated for this run alone (systemd-run
// --scope -p Delegate=yes), whose own limits then hold for the group as well.
func alone(own string, l Limits) (*Group, error) {
	in, err := words(filepath.Join(own, "cgroup.procs"))
	if err != nil {
		return nil, err
	}
	if len(in) != 1 || in[0] != strconv.Itoa(os.Getpid()) {
		return nil, errNotAlone
	}
	dir, err := lockedDirectory(own)
	if err != nil {
		return nil, err
	}
	a := &aside{own: own, dir: dir}
	lent, err := words(filepath.Join(own, "cgroup.subtree_control"))
	if err == nil {
		err = put(filepath.Join(dir.Name(), "cgroup.procs"), "0") // the writer
	}
	if err != nil {
		dir.Close()
		return nil, errors.Join(err, remove(dir.Name()))
	}
	for _, c := range l.controllers() {
		if !slices.Contains(lent, c) {
			a.enabled = append(a.enabled, c)
		}
	}
	g, err := below(own, l, true)
	if err != nil {
		return nil, errors.Join(err, a.back())
	}
	g.aside = a
	return g, nil
}

// back leaves the group in which this process waited, and everything as it was.
func (a *aside) back() error {
	var err error
	if len(a.enabled) > 0 {
		err = put(filepath.Join(a.own, "cgroup.subtree_control"), "-"+strings.Join(a.enabled, " -"))
	}
	if err == nil {
		err = put(filepath.Join(a.own, "cgroup.procs"), "0")
	}
	if err == nil {
		err = remove(a.dir.Name())
	}
	return errors.Join(err, a.dir.Close())
}

// bootV2 is the remedy where the controllers are not in the v2 hierarchy.
const bootV2 = "start the machine with cgroup v2 alone (systemd.unified_cgroup_hierarchy=1, and without cgroup_disable, on the kernel's command line)"

// delegate is the remedy where no group is this user's.
func delegate() string {
	if os.Getuid() == 0 {
		return "run it through systemd-run --scope -p Delegate=yes"
	}
	return "run it through systemd-run --user --scope -p Delegate=yes"
}

func lacking(l Limits, why, help string) *LackingError {
	return &LackingError{Controllers: l.controllers(), Why: why, Help: help}
}

func firstLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}
