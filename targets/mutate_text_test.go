package targets

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/bwrap"
)

func itoa(n int) string { return strconv.Itoa(n) }

// twins are options and values that a small slip turns into each other.
var twins = map[string][]string{
	"--ro-bind": {"--bind", "--dev-bind"}, "--bind": {"--ro-bind", "--dev-bind"}, "--dev-bind": {"--bind"}, "--dir": {"--tmpfs"}, "--tmpfs": {"--dir"},
	"0111": {"0755", "0000"}, "0755": {"0111"}, "0000": {"0644"}, "1777": {"0777"}, "ALL": {"CAP_CHOWN"}, "--unshare-net": {"--share-net"},
	"--remount-ro": {"--tmpfs"},
}

// lists are the changes of one element of a list of texts.
func lists(elements []string, twin func(string) []string) map[string]map[string][]string {
	out := map[string]map[string][]string{}
	add := func(mutator string, i int, with ...string) {
		if out[mutator] == nil {
			out[mutator] = map[string][]string{}
		}
		out[mutator][itoa(i)+" "+elements[i]+" "+strings.Join(with, " ")] = slices.Concat(elements[:i], with, elements[i+1:])
	}
	for i, e := range elements {
		add("drop", i)
		add("duplicate", i, e, e)
		for _, t := range twin(e) {
			add("a twin for it", i, t)
		}
		if i+1 < len(elements) && elements[i+1] != e {
			swapped := slices.Clone(elements)
			swapped[i], swapped[i+1] = elements[i+1], e
			add("swap with the next", i, "swapped")
			out["swap with the next"][itoa(i)+" "+e+" swapped"] = swapped
		}
		if strings.HasPrefix(e, "/") {
			add("one component longer", i, strings.TrimSuffix(e, "/")+"/x")
			add("one component shorter", i, "/"+strings.TrimPrefix(e[:strings.LastIndexByte(e, '/')], "/"))
		}
	}
	return out
}

// streamMutants changes the options that bwrap would get: what is read back is
// never the table that was meant (O6).
func (b *board) streamMutants(t *testing.T, p *ir.Policy, sample string, files map[string][]byte) {
	model, err := LinuxModel(p, files, ir.Binding{})
	if err != nil {
		t.Fatal(err)
	}
	fds := bwrap.FDs{Seccomp: 3, Status: 4}
	for i := range model.table.Masks() {
		fds.Masks = append(fds.Masks, 5+i)
	}
	stream, err := model.table.Stream(fds)
	if err != nil {
		t.Fatal(err)
	}
	elements := strings.Split(strings.TrimSuffix(string(stream), "\x00"), "\x00")
	changes := lists(elements, func(e string) []string { return twins[e] })
	changes["add a foreign mount"] = map[string][]string{}
	for i, e := range elements {
		changes["add a foreign mount"][itoa(i)+" "+e] = slices.Insert(slices.Clone(elements), i, "--ro-bind", "/foreign", "/foreign")
	}
	for mutator, mutants := range changes {
		for what, mutant := range mutants {
			if slices.Equal(mutant, elements) {
				continue
			}
			read, err := bwrap.ReadStream([]byte(strings.Join(mutant, "\x00") + "\x00"))
			refused := err != nil || model.table.Diff(read) != "" || len(read.Isolation.Lacking()) > 0
			b.judge("options: "+mutator, sample, what, refused)
		}
	}
}

// lineMutants changes the text that people read, bwrap.args.txt, line by line.
func (b *board) lineMutants(p *ir.Policy, sample string, files map[string][]byte) {
	twin := func(line string) []string {
		var out []string
		for from, list := range twins {
			for _, to := range list {
				if strings.Contains(line, from+" ") || strings.Contains(line, from+"\n") {
					out = append(out, strings.ReplaceAll(line, from, to))
				}
			}
		}
		return out
	}
	for mutator, mutants := range lists(strings.SplitAfter(string(files[argsFile]), "\n"), twin) {
		for what, mutant := range mutants {
			text := strings.Join(mutant, "")
			if text == string(files[argsFile]) {
				continue
			}
			changed := maps.Clone(files)
			changed[argsFile] = []byte(text)
			b.judge(argsFile+": "+mutator, sample, what, Validate(p, changed) != nil)
		}
	}
}
