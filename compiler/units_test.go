package compiler

import (
	"testing"

	"github.com/obspc/obspc/testdata/cases"
)

func TestLimitUnits(t *testing.T) {
	for _, tt := range []struct {
		text string
		want int64
	}{
		{`timeout = "250ms"`, 250}, {`timeout = "5m"`, 300_000}, {`timeout = "1h"`, 3_600_000}, {`timeout = "1h2m3s4ms"`, 3_723_004}, {`timeout = "720h"`, 2_592_000_000},
		{`cpu_time = "1m30s"`, 90}, {`open_files = 16`, 16},
		{`file_size = "1B"`, 1}, {`file_size = "512KiB"`, 1 << 19}, {`file_size = "64MiB"`, 64 << 20}, {`file_size = "1GiB"`, 1 << 30}, {`file_size = "1024TiB"`, 1 << 50}, {`file_size = "10MB"`, 10_000_000},
	} {
		p := compileOne(t, cases.Policy("limits {\n"+tt.text+"\n}"))
		if len(p.Limits) != 1 || p.Limits[0].Value != tt.want {
			t.Errorf("%s is %v, want %d", tt.text, p.Limits, tt.want)
		}
	}
}
