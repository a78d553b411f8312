package policies_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// templated lists what people do with each template: a shell script that prints the
// same outside and inside, offline. The policy extends std/shell and the others,
// and lets the workspace be written and started; own is what it states beside.
var templated = []struct {
	name     string
	extends  []string
	programs []string // that must be there
	byRoot   bool     // by root as well, where root runs the tests
	slow     bool     // only where all programs are installed, so that make test stays short
	reads    string   // of the filesystem block, beside
	starts   string   // likewise
	own      string
	script   string
}{
	{name: "shell", byRoot: true, programs: []string{"bash", "awk", "make", "tar", "gzip", "diff", "find", "xargs", "egrep", "which"}, script: `
awk 'BEGIN { print 6 * 7 }'; echo abc | egrep -c b; which which >/dev/null
mkdir d; echo x >d/f; tar czf d.tgz d; gzip -dc d.tgz | tar tf -; find d -type f | xargs cat; diff d/f d/f
printf 'all:\n\t@echo made $(words a b c)\n' >Makefile; make
printf '#!/bin/sh\necho own\n' >own; chmod +x own; ./own
bash -euc 'cat <(echo piped); printf "%(%Y)T\n" 0'`},
	{name: "terminal", extends: []string{"std/terminal"}, programs: []string{"tput", "less"}, script: `
tput -T xterm cup 3 4 | od -c | head -n 1; tput -T linux colors; echo paged | less
export LANG=C.UTF-8 LESSHISTFILE=-; printf '\303\274' | wc -m`},
	{name: "git", byRoot: true, extends: []string{"std/git"}, programs: []string{"git"}, script: identity + `
git init -q -b main r; cd r; echo text >file; git add file; git commit -qm first
git log --oneline; git status --short --branch; git gc -q; git fsck; git count-objects
git checkout -qb side; echo more >>file; git commit -qam second; git checkout -q main; git merge -q side; git log --oneline
git clone -q . ../copy; git -C ../copy submodule status; git -C ../copy log -1 --format=%s`},
	// A package without imports: each run starts with an empty cache, and a program
	// wants the runtime compiled.
	{name: "go", extends: []string{"std/go"}, programs: []string{"go", "gofmt"}, script: goSettings + `
printf 'module hello\n' >go.mod; printf 'package hello\n\nfunc Hello() string { return "hello" }\n' >hello.go
go vet ./...; go build -v .; go version; go list -f '{{.Name}} {{.Dir}}'; gofmt -l .`},
	{name: "go, a program and its tests", slow: true, extends: []string{"std/go"}, programs: []string{"go"}, script: goSettings + `
printf 'module hello\n' >go.mod; printf 'package main\n\nimport "fmt"\n\nfunc main() { fmt.Println("hello") }\n' >main.go
printf 'package main\n\nimport "testing"\n\nfunc TestHello(t *testing.T) {}\n' >main_test.go
mkdir .git; go vet ./...; go build -o hello .; ./hello; go run .; go test ./... | cut -f 1,2`},
	{name: "go with cgo", slow: true, extends: []string{"std/go", "std/cc"}, programs: []string{"go", "gcc", "as", "ld"}, own: `
  environment {
    CGO_ENABLED = "1"
  }
`, script: goSettings + `
export CGO_ENABLED=1
printf 'module hello\n' >go.mod
printf 'package main\n\n// #include <stdlib.h>\nimport "C"\n\nfunc main() { println(int(C.abs(-6))) }\n' >main.go
go build -o hello .; ./hello 2>&1`},
	{name: "node", extends: []string{"std/node"}, programs: []string{"node"}, script: `
cat >t.js <<'EOF'
const os = require("os"), { Worker } = require("worker_threads");
console.log(os.cpus().length, os.availableParallelism(), os.totalmem() > 0, os.userInfo().username, process.version);
new Worker("console.log(new Date(0).toString())", { eval: true });
require("child_process").exec("echo from a shell", (err, out) => console.log(err, out));
EOF
node t.js | sort`},
	{name: "npm", extends: []string{"std/node"}, programs: []string{"npm", "node"}, script: `
export npm_config_update_notifier=false
npm --version
mkdir -p node_modules/tool; printf '#!/usr/bin/env node\nconsole.log("installed")\n' >node_modules/tool/cli.js; chmod +x node_modules/tool/cli.js
mkdir node_modules/.bin; ln -s ../tool/cli.js node_modules/.bin/tool
printf '{"name":"x","version":"1.0.0","scripts":{"test":"tool && node t.js"}}' >package.json
printf 'const { Worker } = require("worker_threads");\nnew Worker("console.log(6 * 7)", { eval: true });\n' >t.js
npm test --silent`},
	{name: "python", extends: []string{"std/python"}, programs: []string{"python3"}, script: `
cat >t.py <<'EOF'
import multiprocessing, sys, sqlite3, ssl, zoneinfo
from concurrent.futures import ProcessPoolExecutor
print(sys.version, multiprocessing.cpu_count())
with ProcessPoolExecutor(2) as pool: print(list(pool.map(abs, [-1])))
EOF
python3 t.py`},
	{name: "tls", extends: []string{"std/tls", "std/python"}, programs: []string{"python3"}, script: `
cat >t.py <<'EOF'
import os, ssl
paths = ssl.get_default_verify_paths()
context = ssl.create_default_context()
print(paths.cafile, paths.capath and len(os.listdir(paths.capath)), context.cert_store_stats())
for private in ["/etc/ssl/private", "/etc/pki/tls/private"]: print(os.path.exists(private + "/obspc-no-key"))
EOF
python3 t.py`},
	{name: "python's environments", extends: []string{"std/python"}, programs: []string{"python3", "pip3"}, script: `
python3 -m venv --without-pip env; env/bin/python -c 'import sys; print(sys.prefix != sys.base_prefix)'
pip3 --version | sed 's/ from.*//'`},
	{name: "cc", extends: []string{"std/cc"}, programs: []string{"cc", "gcc", "as", "ld", "ar", "make", "strip"}, script: `
printf '#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n' >hello.c
printf 'hello: hello.o\n\tcc -o $@ $^\nhello.o: hello.c\n\tcc -O2 -flto -c $^\n' >Makefile
make; ./hello; strip hello; ar rcs l.a hello.o; ar t l.a`},
	{name: "rust", slow: true, extends: []string{"std/rust"}, programs: []string{"cargo", "rustc", "cc"}, script: `
mkdir -p src; printf '[package]\nname = "hello"\nversion = "0.1.0"\nedition = "2021"\nbuild = "build.rs"\n' >Cargo.toml
printf 'fn main() { println!("cargo:rustc-env=WORD=built"); }\n' >build.rs
printf 'fn main() { println!("hello, {}", env!("WORD")); }\n' >src/main.rs
cargo build --offline --quiet; target/debug/hello; rustc --version`},
	{name: "java", slow: true, extends: []string{"std/java"}, programs: []string{"java", "javac", "jar"}, script: `
echo 'public class T { public static void main(String[] a) throws Exception {
  System.out.println(Runtime.getRuntime().availableProcessors() + System.getProperty("java.version") + System.getProperty("user.home"));
  System.out.println(java.util.TimeZone.getDefault().getID() + java.net.InetAddress.getByName("localhost"));
  System.out.println(new String(new ProcessBuilder("/bin/echo", "started").start().getInputStream().readAllBytes()));
  new java.security.SecureRandom().nextInt(); new java.net.ServerSocket(0).close();
} }' >T.java
javac T.java; java T; jar cf t.jar T.class; jar tf t.jar`},
	// No template is for a browser. Its own sandbox wants namespaces, so it is off; that
	// it runs once at a time it finds out by a Unix socket.
	{name: "chromium, without its own sandbox", slow: true, programs: []string{"chromium"},
		reads:  `optional("/etc/chromium.d"), optional("/etc/chromium"), optional("/etc/fonts"), optional("/usr/share/fonts"), optional("/usr/share/fontconfig"), optional("/usr/share/chromium"), optional("/usr/share/icons"), optional("/usr/share/mime")`,
		starts: `"/usr/bin/chromium", "/usr/lib/chromium"`,
		own: `
  network {
    unix = "visible"
  }
`, script: `
echo '<p></p><script>document.querySelector("p").textContent = "six times seven is " + 6 * 7</script>' >t.html
export HOME="$PWD" XDG_CONFIG_HOME="$PWD/config" XDG_CACHE_HOME="$PWD/cache"
chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --dump-dom "file://$PWD/t.html" 2>log || cat log`},
}

// goSettings are those of std/go that change what is printed.
const goSettings = `
export GOTOOLCHAIN=local GOFLAGS=-buildvcs=false CGO_ENABLED=0`

// identity is who commits, at a fixed time, so that commits are the same.
const identity = `
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.com GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.com
export GIT_AUTHOR_DATE='2026-01-01T00:00:00Z' GIT_COMMITTER_DATE='2026-01-01T00:00:00Z'`

// TestLiveTemplates holds programs to the same words inside as outside, under a
// policy that extends their template.
func TestLiveTemplates(t *testing.T) {
	l := newLab(t)
	for _, tt := range templated {
		t.Run(tt.name, func(t *testing.T) {
			if tt.slow && os.Getenv(programsVariable) == "" {
				t.Skip("runs elsewhere: make programs does, it takes long")
			}
			sh := realPaths(t, append([]string{"sh"}, tt.programs...)...)[0]
			filesystem := fmt.Sprintf("write = [workspace]\n    read = [%s]\n    execute = [%s]", tt.reads, strings.TrimPrefix(tt.starts+", workspace", ", "))
			policy := l.policy(t, templatePolicy(append([]string{"std/shell"}, tt.extends...), filesystem, tt.own))
			command := []string{sh, "-euc", "exec 2>&1\n" + tt.script, tt.name}
			callers := users()
			if !tt.byRoot {
				callers = callers[len(callers)-1:]
			}
			for _, who := range callers {
				want, stderr, code := l.run(t, who, command)
				if code != 0 || want == "" {
					t.Fatalf("%s: the control: exit %d, %s%s", userName(who), code, want, stderr)
				}
				got, stderr, code := l.run(t, who, l.under(policy, command...))
				if code != 0 || got != want {
					t.Errorf("%s: inside: exit %d, %s, want %s\n%s", userName(who), code, got, want, stderr)
				}
			}
		})
	}
}

// TestEveryTemplateIsTried: a new template brings a live case with it.
func TestEveryTemplateIsTried(t *testing.T) {
	tried := map[string]bool{
		"std/base": true, "std/shell": true, // in every case
		"std/git-worktree": true, // TestLiveWorktree
		"std/homebrew":     true, // macOS has it, and no sandbox was ever started there
	}
	for _, tt := range templated {
		for _, name := range tt.extends {
			tried[name] = true
		}
	}
	for name := range parsed() {
		if !tried[name] {
			t.Errorf("no live case extends %s", name)
		}
	}
}

// templatePolicy is a policy for Linux that extends the templates.
func templatePolicy(extends []string, filesystem, own string) string {
	return `policy "p" {
  version = 1
  extends = ["` + strings.Join(extends, `", "`) + `"]
  targets = ["bwrap"]
  filesystem {
    ` + filesystem + `
  }` + own + `
}
`
}

// policy writes a policy's text where no sandbox can.
func (l *lab) policy(t *testing.T, text string) (file string) {
	t.Helper()
	file = filepath.Join(l.dir, "p.policy.hcl")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// under is the command line that runs command under the one policy of file.
func (l *lab) under(file string, command ...string) []string {
	return append([]string{filepath.Join(l.bin, "obspc"), "exec", file, "--"}, command...)
}
