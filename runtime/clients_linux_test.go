package runtime_test

import (
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/obspc/obspc/runtime"
	"github.com/obspc/obspc/runtime/proxy"
)

// clients are programs as people have them, which are told nothing of the proxy but by
// the environment that every run with endpoints has. $HTTP and $HTTPS are a server's
// URLs. Reached: the server answers what the program cannot use, and that it was
// asked is enough.
var clients = []struct {
	name, needs, script string
	reached             bool
}{
	{"curl", "/usr/bin/curl", `curl -sSf $HTTP && curl -sSfk $HTTPS`, false},
	{"wget", "/usr/bin/wget", `wget -qO- $HTTP && wget --no-check-certificate -qO- $HTTPS`, false},
	{"python", "/usr/bin/python3", `python3 -c '
import ssl, sys, urllib.request
for url in sys.argv[1:]:
    print(urllib.request.urlopen(url, context=ssl._create_unverified_context() if url[4] == "s" else None).read().decode())' $HTTP $HTTPS`, false},
	{"node", "/usr/bin/node", `NODE_TLS_REJECT_UNAUTHORIZED=0 node -e '
const old = process.versions.node.split(".").map(Number); if (old[0] < 22 || old[0] == 22 && old[1] < 21) { console.log("too old"); process.exit() }
(async () => { for (const url of process.argv.slice(1)) console.log(await (await fetch(url)).text()) })()' $HTTP $HTTPS`, false},
	{"java", "/usr/bin/java", `cat >Get.java <<'end'
import java.net.*; import java.nio.charset.*; import java.security.cert.*; import javax.net.ssl.*;
public class Get {
	public static void main(String[] urls) throws Exception {
		var all = new X509ExtendedTrustManager() {
			public void checkClientTrusted(X509Certificate[] c, String a) {}
			public void checkServerTrusted(X509Certificate[] c, String a) {}
			public void checkClientTrusted(X509Certificate[] c, String a, Socket s) {}
			public void checkServerTrusted(X509Certificate[] c, String a, Socket s) {}
			public void checkClientTrusted(X509Certificate[] c, String a, SSLEngine e) {}
			public void checkServerTrusted(X509Certificate[] c, String a, SSLEngine e) {}
			public X509Certificate[] getAcceptedIssuers() { return new X509Certificate[0]; }
		};
		var context = SSLContext.getInstance("TLS");
		context.init(null, new TrustManager[] {all}, null);
		HttpsURLConnection.setDefaultSSLSocketFactory(context.getSocketFactory());
		for (String url : urls) System.out.println(new String(new URL(url).openConnection().getInputStream().readAllBytes(), StandardCharsets.UTF_8));
	}
}
end
java Get.java $HTTP $HTTPS`, false},
	{"git", "/usr/bin/git", `git ls-remote $HTTP/repository; git -c http.sslVerify=false ls-remote $HTTPS/repository`, true},
	{"npm", "/usr/bin/npm", `npm --cache=cache --fetch-retries=0 ping --registry $HTTP/; npm --cache=cache --fetch-retries=0 --strict-ssl=false ping --registry $HTTPS/`, true},
	{"go", "/usr/local/go/bin/go", `cat >go.mod <<'end'
module m
end
GOCACHE=$PWD/cache GOPATH=$PWD/path GONOSUMDB='*' GOTOOLCHAIN=local GOPROXY=$HTTP /usr/local/go/bin/go get example.org/x@v1.0.0`, true},
}

// TestLiveClients: programs get out by what the environment tells them, and what they
// reach is in the evidence.
func TestLiveClients(t *testing.T) {
	needSandbox(t)
	s := newService(t)
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "hello %s", r.Host) }))
	t.Cleanup(secure.Close)
	at, err := url.Parse(secure.URL)
	must(t, err)
	var more []string
	for _, dir := range []string{"/etc/alternatives", "/etc/ssl", "/etc/pki", "/etc/java*", "/etc/python*", "/usr/local/go"} {
		found, _ := filepath.Glob(dir)
		for _, f := range found {
			more = append(more, fmt.Sprintf("%q", f))
		}
	}
	v := development(t, policy(t, fmt.Sprintf(`
  filesystem {
    write   = [workspace]
    read    = ["/usr/lib", "/usr/share", "/usr/include", "/usr/bin", %s]
    execute = ["/usr/bin", "/usr/lib", optional("/usr/share/nodejs"), %s]
  }
  environment {
    HTTP  = "http://%s"
    HTTPS = "https://%s:%s"
  }
  network {
    endpoint "service" {
      host      = %q
      ports     = [%d, %s]
      addresses = ["127.0.0.0/8"]
    }
  }`, strings.Join(more, ", "), strings.Join(more, ", "), s.at(), serviceName, at.Port(), serviceName, s.port, at.Port())))
	secret, _ := strconv.Atoi(at.Port())
	for _, tt := range clients {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := os.Stat(tt.needs); err != nil {
				t.Skip("host feature missing: the program " + tt.needs)
			}
			r := start(t, context.Background(), v, runtime.Job{
				Argv: []string{"/bin/sh", "-c", tt.script}, Development: true, Workspace: runtime.Workspace{Fresh: true},
			})
			if strings.HasPrefix(r.stdout, "too old") {
				t.Skip("host feature missing: the program node, of a version that can be told of a proxy")
			}
			reached := map[uint16]bool{}
			if r.Evidence.Egress != nil {
				for _, e := range r.Evidence.Egress.Events {
					if e.Decision == "allowed" && e.Host == serviceName {
						reached[e.Port] = true
					}
				}
			}
			if !reached[uint16(s.port)] || !reached[uint16(secret)] && strings.Contains(tt.script, "$HTTPS") {
				t.Errorf("it did not reach the server: %s", r)
			}
			if tt.reached {
				return
			}
			if want := "hello " + s.at(); r.Exit != 0 || !strings.Contains(r.stdout, want) || !strings.Contains(r.stdout, fmt.Sprintf("hello %s:%d", serviceName, secret)) {
				t.Errorf("want %q of both servers: %s", want, r)
			}
		})
	}
}

// javaGet is a program of Java's own client, and how it is started.
const javaGet = `cat >Get.java <<'end'
import java.net.*; import java.nio.charset.*;
public class Get {
	public static void main(String[] urls) throws Exception {
		var c = (HttpURLConnection) new URL(urls[0]).openConnection();
		var in = c.getResponseCode() < 400 ? c.getInputStream() : c.getErrorStream();
		System.out.println(new String(in.readAllBytes(), StandardCharsets.UTF_8));
	}
}
end
java Get.java `

// TestLiveRequests: where an endpoint decides requests, programs trust the proxy's
// authority by what the environment tells them, inside TLS as well, and each request is
// in the evidence.
func TestLiveRequests(t *testing.T) {
	needSandbox(t)
	newService(t)
	answers := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "%s %s", r.Method, r.URL.Path) })
	secure, open := httptest.NewUnstartedServer(answers), httptest.NewServer(answers)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // a denied request ends a connection that said nothing
	secure.StartTLS()
	t.Cleanup(secure.Close)
	t.Cleanup(open.Close)
	trusted := x509.NewCertPool()
	trusted.AddCert(secure.Certificate()) // it is for example.com
	defer runtime.UseNames(map[string][]netip.Addr{"example.com": {netip.MustParseAddr("127.0.0.1")}})()
	defer runtime.UseOutlet(func(c proxy.Config) runtime.Outlet { c.Roots = trusted; return proxy.New(c) })()
	port := func(s *httptest.Server) string { return s.URL[strings.LastIndex(s.URL, ":")+1:] }
	v := development(t, policy(t, fmt.Sprintf(`
  filesystem {
    write   = [workspace]
    read    = ["/usr/lib", "/usr/share", "/usr/bin", optional("/etc/ssl"), optional("/etc/alternatives"), optional("/etc/java-17-openjdk"), optional("/etc/java-21-openjdk")]
    execute = ["/usr/bin", "/usr/lib"]
  }
  network {
    endpoint "api" {
      host      = "example.com"
      ports     = [%s, %s]
      addresses = ["127.0.0.0/8"]
      protocol  = "rest"
      allow {
        methods = ["GET"]
        path    = "/repos/**"
      }
      deny {
        methods = ["GET"]
        path    = "/repos/secret/**"
      }
    }
  }`, port(secure), port(open))))
	for _, client := range []struct{ needs, get, post string }{
		{probePath, probePath + " " + probeWord + " get ", ""},
		{"/usr/bin/curl", "curl -sS ", "curl -sS -d x "},
		{"/usr/bin/wget", "wget -qO- --content-on-error ", "wget -qO- --content-on-error --post-data=x "},
		{"/usr/bin/python3", `python3 -c 'import requests, sys; print(requests.get(sys.argv[1]).text)' `, ""},
		{"/usr/bin/java", javaGet, ""},
		{"/usr/bin/python3", `python3 -c '
import sys, urllib.error, urllib.request
try: print(urllib.request.urlopen(sys.argv[1]).read().decode())
except urllib.error.HTTPError as e: print(e.read().decode())' `, ""},
	} {
		if _, err := os.Stat(client.needs); err != nil {
			t.Logf("without %s", client.needs)
			continue
		}
		for _, server := range []*httptest.Server{secure, open} {
			scheme, _, _ := strings.Cut(server.URL, ":")
			at := scheme + "://example.com:" + port(server)
			for _, tt := range []struct{ command, target, says, event string }{
				{client.get, "/repos/x?token=hidden", "GET /repos/x", "allowed GET /repos/x"},
				{client.get, "/repos/secret/x", "denies this request", "denied GET /repos/secret/x"},
				{client.get, "/repos/x/%2e%2e/secret/x", "denies this request", "denied GET /repos/secret/x"},
				{client.get, "/admin", "no such request", "denied GET /admin"},
				{client.post, "/repos/x", "to other methods", "denied POST /repos/x"},
			} {
				if wget := strings.HasPrefix(tt.command, "wget"); tt.command == "" || wget && (server == secure || strings.Contains(tt.target, "%2e")) {
					continue // wget trusts what GnuTLS was built with alone, and makes another path of dots
				}
				if client.get == javaGet && (server == open || tt.target != "/repos/x?token=hidden" && tt.target != "/admin") {
					continue // a JVM takes a while
				}
				r := start(t, context.Background(), v, runtime.Job{
					Argv: []string{"/bin/sh", "-c", tt.command + "'" + at + tt.target + "'"}, Development: true, Workspace: runtime.Workspace{Fresh: true},
				})
				if strings.Contains(r.stderr, "No module named 'requests'") {
					t.Log("without Python's requests")
					break
				}
				var requests []string
				if r.Evidence.Egress != nil {
					for _, e := range r.Evidence.Egress.Events {
						if e.Kind == proxy.Request {
							requests = append(requests, fmt.Sprintf("%s %s %s", e.Decision, e.Method, e.Path))
						}
					}
				}
				if !strings.Contains(r.stdout, tt.says) || len(requests) != 1 || requests[0] != tt.event || strings.Contains(string(r.Evidence.JSON()), "hidden") {
					t.Errorf("%s%s%s: want %q and %q, got %q; %s", tt.command, at, tt.target, tt.says, tt.event, requests, r)
				}
			}
		}
	}
}
