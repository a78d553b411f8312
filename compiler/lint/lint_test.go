package lint_test

import (
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/compiler/lint"
	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/testdata/cases"
)

// TestPolicy is, for each finding, a body that has it and a twin with the fault mended
// that has none.
func TestPolicy(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ code, faulty, mended string }{
		{"execute-loader", `filesystem {
  read    = ["/lib64"]
  execute = ["/lib64/ld-linux-x86-64.so.2"]
}`, `filesystem {
  read    = ["/lib64"]
  execute = ["/lib64/tool"]
}`},
		{"execute-interpreter", `filesystem {
  read    = ["/usr/bin"]
  execute = ["/usr/bin"]
}`, `filesystem {
  read    = ["/usr/bin"]
  execute = ["/usr/bin/git"]
}`},
		{"wide-read", `filesystem { read = [home] }`, `filesystem {
  read = [home]
  deny = ["${home}/.ssh"]
}`},
		{"wide-read", `filesystem { read = ["/"] }`, `filesystem { read = [only("/")] }`},
		{"wide-write", `filesystem { write = ["/srv"] }`, `filesystem { write = ["/srv/site"] }`},
		{"service-reachable", `filesystem { read = ["/run/docker.sock"] }
network { unix = "visible" }`, `filesystem { read = ["/run/user/1000/agent.sock"] }
network { unix = "visible" }`},
		{"syscall-kin", `syscalls {
  deny = ["mkdir"]
}`, `syscalls {
  deny = ["mkdir", "mkdirat"]
}`},
		{"syscall-kin", `syscalls {
  deny = ["fork", "vfork"]
}`, `syscalls {
  deny = ["fork", "vfork", "clone"]
}`},
		{"addresses-everything", `network {
  endpoint "inner" {
    host      = "inner.example.com"
    ports     = [443]
    addresses = ["0.0.0.0/0"]
  }
}`, `network {
  endpoint "inner" {
    host      = "inner.example.com"
    ports     = [443]
    addresses = ["10.2.0.0/16"]
  }
}`},
		{"metadata-opened", `network {
  endpoint "metadata" {
    address = "169.254.169.254"
    ports   = [80]
  }
}`, `network {
  endpoint "metadata" {
    address = "169.254.1.1"
    ports   = [80]
  }
}`},
		{"wildcard-private-suffix", `network {
  endpoint "pages" {
    host  = "*.github.io"
    ports = [443]
  }
}`, `network {
  endpoint "pages" {
    host  = "*.pages.example.com"
    ports = [443]
  }
}`},
	} {
		if got := codes(t, tt.faulty); got != tt.code {
			t.Errorf("%s\nhas %q, want %s", tt.faulty, got, tt.code)
		}
		if got := codes(t, tt.mended); got != "" {
			t.Errorf("%s\nhas %q, want nothing", tt.mended, got)
		}
	}
}

func codes(t *testing.T, body string) string {
	t.Helper()
	text := "policy \"p\" {\n  version = 1\n  targets = [\"bwrap\"]\n" + body + "\n}\n"
	config, list := lang.Parse(lang.Sources{"p.policy.hcl": []byte(text)}, lang.Options{})
	results, more := compiler.Compile(config, compiler.Options{})
	if list.Add(more...); list.HasErrors() || len(results) != 1 {
		t.Fatalf("%s\n%v", text, list)
	}
	findings := lint.Policy(results[0].Policy, func(o ir.Origin) diag.Range { return results[0].Ranges[o] })
	for _, d := range findings {
		if d.Severity != diag.Warning || d.At.Start.Line < 4 || d.Help == "" || strings.HasSuffix(d.Message, ".") {
			t.Errorf("%+v", d)
		}
	}
	return cases.Codes(findings)
}
