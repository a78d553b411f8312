package runtime_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obspc/obspc/runtime"
)

// wheel is a package of Python with one module.
func wheel(t *testing.T) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range [][2]string{
		{"parcel.py", "said = 'unpacked'\n"},
		{"parcel-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: parcel\nVersion: 1.0\n"},
		{"parcel-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{"parcel-1.0.dist-info/RECORD", "parcel.py,,\nparcel-1.0.dist-info/METADATA,,\nparcel-1.0.dist-info/WHEEL,,\nparcel-1.0.dist-info/RECORD,,\n"},
	} {
		w, err := z.Create(f[0])
		must(t, err)
		_, err = w.Write([]byte(f[1]))
		must(t, err)
	}
	must(t, z.Close())
	return b.Bytes()
}

// tarball is a package of npm with one module.
func tarball(t *testing.T) []byte {
	var b bytes.Buffer
	g := gzip.NewWriter(&b)
	w := tar.NewWriter(g)
	for _, f := range [][2]string{
		{"package/package.json", `{"name":"parcel","version":"1.0.0","main":"index.js"}`},
		{"package/index.js", "module.exports = 'unpacked';\n"},
	} {
		must(t, w.WriteHeader(&tar.Header{Name: f[0], Mode: 0o644, Size: int64(len(f[1]))}))
		_, err := w.Write([]byte(f[1]))
		must(t, err)
	}
	must(t, w.Close())
	must(t, g.Close())
	return b.Bytes()
}

// registries is a server of a repository of git's (over git's own http-backend), of
// packages for pip, and of packages for npm.
func registries(t *testing.T, repositories string) http.Handler {
	parcel, packed := wheel(t), tarball(t)
	sum := sha512.Sum512(packed)
	mux := http.NewServeMux()
	mux.HandleFunc("/simple/parcel/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<!DOCTYPE html><html><body><a href="/files/parcel-1.0-py3-none-any.whl">parcel-1.0-py3-none-any.whl</a></body></html>`)
	})
	mux.HandleFunc("/files/parcel-1.0-py3-none-any.whl", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(parcel) })
	mux.HandleFunc("/npm/parcel", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"name":"parcel","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"parcel","version":"1.0.0","main":"index.js",`+
			`"dist":{"tarball":"http://%s/npm/parcel-1.0.0.tgz","integrity":"sha512-%s"}}}}`, r.Host, base64.StdEncoding.EncodeToString(sum[:]))
	})
	mux.HandleFunc("/npm/parcel-1.0.0.tgz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(packed) })
	mux.Handle("/git/", &cgi.Handler{
		Path: "/usr/lib/git-core/git-http-backend", Root: "/git",
		Env: []string{"GIT_PROJECT_ROOT=" + repositories, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "HOME=" + repositories},
	})
	return mux
}

// TestLiveWork: people's programs do their work with servers through the proxy: clone
// and push, install packages.
func TestLiveWork(t *testing.T) {
	needSandbox(t)
	repositories := labDir(t)
	server := httptest.NewServer(registries(t, repositories))
	t.Cleanup(server.Close)
	port := server.URL[strings.LastIndex(server.URL, ":")+1:]
	t.Cleanup(runtime.UseNames(map[string][]netip.Addr{serviceName: {netip.MustParseAddr("127.0.0.1")}}))
	v := development(t, policy(t, fmt.Sprintf(`
  filesystem {
    write   = [workspace]
    read    = ["/usr/lib", "/usr/share", "/usr/bin", optional("/usr/local/lib"), optional("/etc/alternatives"), optional("/etc/ssl"), optional("/etc/python3"), optional("/etc/python3.11"), optional("/etc/python3.13")]
    execute = ["/usr/bin", "/usr/lib", optional("/usr/share/nodejs")]
  }
  environment {
    AT                           = "http://%s:%s"
    GIT_AUTHOR_NAME              = "a"
    GIT_AUTHOR_EMAIL             = "a@example.com"
    GIT_COMMITTER_NAME           = "a"
    GIT_COMMITTER_EMAIL          = "a@example.com"
    PIP_DISABLE_PIP_VERSION_CHECK = "1"
  }
  network {
    endpoint "service" {
      host      = %q
      ports     = [%s]
      addresses = ["127.0.0.0/8"]
      protocol  = "rest"
      allow {
        methods = ["GET", "HEAD", "POST"]
        path    = "/**"
      }
    }
  }`, serviceName, port, serviceName, port)))
	for _, tt := range []struct {
		name     string
		programs []string
		script   string
		events   []string // some of those in the evidence
	}{
		{"git", []string{"/usr/bin/git", "/usr/lib/git-core/git-http-backend"}, `
git clone -q $AT/git/work.git work 2>&1; cd work; echo text >file; git add file; git commit -qm first; git push -q origin HEAD:refs/heads/main
git clone -q -b main $AT/git/work.git again; cat again/file`,
			[]string{"allowed GET /git/work.git/info/refs", "allowed POST /git/work.git/git-receive-pack", "allowed POST /git/work.git/git-upload-pack"}},
		{"pip", []string{"/usr/bin/pip3", "/usr/bin/python3"}, `
pip3 install -q --no-cache-dir --index-url $AT/simple/ --trusted-host ` + serviceName + ` --target out parcel 2>&1 | grep -v WARNING
PYTHONPATH=out python3 -c 'import parcel; print(parcel.said)'`,
			[]string{"allowed GET /simple/parcel/", "allowed GET /files/parcel-1.0-py3-none-any.whl"}},
		{"npm", []string{"/usr/bin/npm", "/usr/bin/node"}, `
echo '{"name":"x","version":"1.0.0"}' >package.json
npm install --cache=cache --no-audit --no-fund --silent --registry $AT/npm/ parcel; node -e 'console.log(require("parcel"))'`,
			[]string{"allowed GET /npm/parcel", "allowed GET /npm/parcel-1.0.0.tgz"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, p := range tt.programs {
				if _, err := os.Stat(p); err != nil {
					t.Skip("host feature missing: the program " + p)
				}
			}
			if tt.name == "git" {
				bare := filepath.Join(repositories, "work.git")
				if out, err := exec.Command("git", "init", "-q", "--bare", bare).CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				if out, err := exec.Command("git", "-C", bare, "config", "http.receivepack", "true").CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
			}
			r := start(t, context.Background(), v, runtime.Job{
				Argv: []string{"/bin/sh", "-c", tt.script}, Development: true, Workspace: runtime.Workspace{Fresh: true},
			})
			said := strings.TrimSpace(r.stdout)
			if want := map[bool]string{true: "text", false: "unpacked"}[tt.name == "git"]; r.Exit != 0 || !strings.HasSuffix(said, want) {
				t.Errorf("want %q in the end: %s", want, r)
			}
			seen := map[string]bool{}
			if r.Evidence.Egress != nil {
				for _, e := range r.Evidence.Egress.Events {
					seen[fmt.Sprintf("%s %s %s", e.Decision, e.Method, e.Path)] = true
				}
			}
			for _, want := range tt.events {
				if !seen[want] {
					t.Errorf("evidence does not tell of %q: %v", want, seen)
				}
			}
		})
	}
}
