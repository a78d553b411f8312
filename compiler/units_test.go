package compiler

import (
	"strconv"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/testdata/cases"
)

func TestLimitUnits(t *testing.T) {
	for _, tt := range []struct {
		text string
		want int64
	}{
		{`timeout = "250ms"`, 250}, {`timeout = "5m"`, 300_000}, {`timeout = "1h"`, 3_600_000}, {`timeout = "1h2m3s4ms"`, 3_723_004}, {`timeout = "720h"`, 2_592_000_000},
		{`cpu_time = "1m30s"`, 90}, {`open_files = 16`, 16}, {`memory = "16MiB"`, 16 << 20}, {`processes = 1`, 1},
		{`file_size = "1B"`, 1}, {`file_size = "512KiB"`, 1 << 19}, {`file_size = "64MiB"`, 64 << 20}, {`file_size = "1GiB"`, 1 << 30}, {`file_size = "1024TiB"`, 1 << 50}, {`file_size = "10MB"`, 10_000_000},
	} {
		p := compileOne(t, cases.Policy("limits {\n"+tt.text+"\n}"))
		if len(p.Limits) != 1 || p.Limits[0].Value != tt.want {
			t.Errorf("%s is %v, want %d", tt.text, p.Limits, tt.want)
		}
	}
}

// TestLimitsApplied: what a limit says of the rest of the policy, templates
// included, and of nobody else.
func TestLimitsApplied(t *testing.T) {
	const text = `
template "small" {
  filesystem {
    write = [tmp]
  }
  limits {
    tmp_size  = "8KiB"
    memory    = "64MiB"
    processes = 9
    timeout   = "1s"
  }
}
policy "as-it-is" {
  version = 1
  extends = [template.small]
}
policy "other" {
  version = 1
  extends = [template.small]
  filesystem {
    write = [workspace]
  }
  limits {
    tmp_size       = "16KiB"
    workspace_size = "1MiB"
    scope          = "tree"
  }
}`
	want := map[string]string{
		"as-it-is": "write ${tmp} (tmpfs, 8192 bytes); memory 67108864; processes 9; timeout 1000; tmp_size 8192",
		"other": "write ${tmp} (tmpfs, 16384 bytes); memory 67108864, scope tree; processes 9, scope tree; timeout 1000; " +
			"tmp_size 16384; workspace_size 1048576",
	}
	results, diags := compile(t, text)
	if len(diags) > 0 || len(results) != len(want) {
		t.Fatalf("%d policies compile\n%v", len(results), diags)
	}
	for _, r := range results {
		var got []string
		for _, l := range lines(r.Policy) {
			text, _, _ := strings.Cut(l, " #")
			if !strings.Contains(text, "unix") && !strings.Contains(text, "${workspace}") {
				got = append(got, text)
			}
		}
		if strings.Join(got, "; ") != want[r.Policy.Name] {
			t.Errorf("%s means %s\nwant %s", r.Policy.Name, strings.Join(got, "; "), want[r.Policy.Name])
		}
	}
}

// TestAmount: what ir writes of a limit is what a policy may say, and means the
// same.
func TestAmount(t *testing.T) {
	for name, m := range measures {
		for _, n := range []int64{m.least, m.least + 1, 90, 1000, 5000, 61_001, 3_723_004, 4096, 10_000_000, 64 << 20, 3<<30 + 1, m.most} {
			text := ir.Limit{Name: name, Value: n}.Amount()
			got, ok := m.amount(text)
			if m.units == nil {
				got, ok = n, text == strconv.FormatInt(n, 10)
			}
			if n >= 1 && (!ok || got != n) {
				t.Errorf("%s of %d is written %q, which means %d", name, n, text, got)
			}
		}
	}
	for _, tt := range []struct {
		name ir.LimitName
		n    int64
		want string
	}{{ir.Memory, 64 << 20, "64MiB"}, {ir.Timeout, 90_000, "1m30s"}, {ir.CPUTime, 7, "7s"}, {ir.Processes, 64, "64"}, {ir.TmpSize, 1500, "1500B"}, {ir.FileSize, 10_000_000, "10MB"}} {
		if got := (ir.Limit{Name: tt.name, Value: tt.n}).Amount(); got != tt.want {
			t.Errorf("%s of %d is written %q, want %q", tt.name, tt.n, got, tt.want)
		}
	}
}
