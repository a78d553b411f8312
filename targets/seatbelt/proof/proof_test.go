package proof

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
)

func TestCorpus(t *testing.T) {
	cases, err := filepath.Glob("../../../testdata/corpus/*/seatbelt.sb")
	if err != nil || len(cases) < 12 {
		t.Fatalf("%d profiles in the corpus, %v", len(cases), err)
	}
	for _, file := range cases {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(filepath.Dir(file), "ir.json"))
			if err != nil {
				t.Fatal(err)
			}
			p, err := ir.ParseJSON(data)
			if err != nil {
				t.Fatal(err)
			}
			profile, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := Check(p, profile); err != nil {
				t.Error(err)
			}
		})
	}
}
