package sbpl_test

import (
	"os"
	"testing"

	"github.com/obspc/obspc/targets/seatbelt/sbpl"
)

var agentParams = map[string]string{"WORKSPACE": "/Users/u/w", "HOME": "/Users/u", "PROXY_PORT": "8080"}

func BenchmarkParse(b *testing.B) {
	src, err := os.ReadFile("testdata/profiles/agent.sb")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := sbpl.Parse("agent.sb", src, sbpl.Options{Params: agentParams}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEvaluate(b *testing.B) {
	src, err := os.ReadFile("testdata/profiles/agent.sb")
	if err != nil {
		b.Fatal(err)
	}
	p, err := sbpl.Parse("agent.sb", src, sbpl.Options{Params: agentParams})
	if err != nil {
		b.Fatal(err)
	}
	known := sbpl.Context{"path": {"/Users/u/w/.git/hooks/x"}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Evaluate("file-write-data", known); err != nil {
			b.Fatal(err)
		}
	}
}
