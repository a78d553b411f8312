package proof

import (
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/targets/seatbelt/operations"
)

// TestTables: what the tables name are operations of supported releases, each in one
// table, and those of a request word are in every release.
func TestTables(t *testing.T) {
	in := map[string]string{}
	note := func(table, name string) {
		if o, ok := operations.Named(name); !ok {
			t.Errorf("%s of %s is no operation", name, table)
		} else if first := in[name]; first != "" && first != table {
			t.Errorf("%s stands in %s and %s", name, first, table)
		} else if table == "words" {
			for _, r := range operations.Supported() {
				if !o.In(r) {
					t.Errorf("%s lacks %s", r, name)
				}
			}
		}
		in[name] = table
	}
	asked := map[ir.RequestKind]bool{ir.RenameRequest: true, ir.LinkRequest: true, ir.ConnectRequest: true}
	for _, row := range words {
		asked[row.word] = true
		for _, name := range row.operations {
			note("words", name)
		}
	}
	for _, kind := range ir.RequestKinds() {
		if !asked[kind] {
			t.Errorf("no operation is asked about for %s", kind)
		}
	}
	for _, row := range open {
		note("open", row.name)
	}
	for _, row := range own {
		for _, name := range row.operations {
			note("own", name)
		}
	}
	for _, row := range named {
		for _, name := range row.operations {
			note("named", name)
		}
	}
}
