package landlock

import (
	"slices"
	"strings"
	"testing"
)

// TestRevisionsAreATable: ABIs without gaps, names and bits of one kind that differ,
// a reason for what is left alone and for nothing else.
func TestRevisionsAreATable(t *testing.T) {
	type bit struct {
		member string
		bit    uint64
	}
	bits, names := map[bit]bool{}, map[string]bool{}
	member := map[Kind]string{File: "files", Directory: "files", Network: "network", Scope: "scopes", Logging: "logging"}
	for i, rev := range Revisions() {
		if rev.ABI != i+1 || rev.Linux == "" || !strings.Contains(rev.Source, "landlock") || len(rev.Rights) == 0 {
			t.Errorf("revision %d is %+v", i+1, rev)
		}
		for _, r := range rev.Rights {
			at := bit{member[r.Kind], r.Bit}
			if bits[at] || names[r.Name] || r.Bit == 0 || r.Bit&(r.Bit-1) != 0 || r.What == "" {
				t.Errorf("right %+v of ABI %d", r, rev.ABI)
			}
			if (r.By == Unhandled) != (r.Why != "") {
				t.Errorf("%s is handled, with a reason why not, or the other way round", r.Name)
			}
			if r.By >= ByExecute && r.Kind > Directory {
				t.Errorf("%s is granted by a rule about files", r.Name)
			}
			bits[at], names[r.Name] = true, true
		}
	}
	if n := len(Revisions()); n != 7 {
		t.Errorf("there are %d revisions, want 7", n)
	}
}

// TestAsked: what is asked for under each ABI, and that a later one than the last
// known changes nothing.
func TestAsked(t *testing.T) {
	files := strings.Fields("write_file read_file read_dir remove_dir remove_file make_char make_dir make_reg make_sock make_fifo make_block make_sym refer")
	all := []Kind{File, Directory, Network, Scope, Logging}
	more := map[int][]string{3: {"truncate"}, 5: {"ioctl_dev"}, 6: {"abstract_unix_socket", "signal"}, 7: {"log_subdomains_off"}}
	for _, programs := range []bool{false, true} {
		r := &Rules{Programs: programs}
		var want []string
		for abi := range 10 {
			if abi == ABI {
				want = files
				if programs {
					want = append([]string{"execute"}, files...)
				}
			}
			want = slices.Concat(want, more[abi])
			if got := r.Asked(abi).Names(all...); !slices.Equal(got, want) {
				t.Errorf("programs limited: %v, ABI %d: asked for %q, want %q", programs, abi, got, want)
			}
		}
	}
}
