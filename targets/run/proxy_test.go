package run

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/obspc/obspc/compiler/ir"
)

// TestProxyVariables: each variable in both cases, none that the policy states, and no
// empty one.
func TestProxyVariables(t *testing.T) {
	at := netip.MustParseAddrPort("127.0.0.1:3128")
	const url = "http://127.0.0.1:3128"
	proxies := []string{"http_proxy=" + url, "HTTP_PROXY=" + url, "https_proxy=" + url, "HTTPS_PROXY=" + url, "all_proxy=" + url, "ALL_PROXY=" + url}
	java := "JAVA_TOOL_OPTIONS=-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=3128 -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=3128 -Dhttp.nonProxyHosts="
	direct := "localhost,127.0.0.1,::1"
	for _, tt := range []struct {
		stated string
		direct []string
		store  string
		want   []string
	}{
		{"LANG", Loopback, "", append(slices.Clone(proxies), "no_proxy="+direct, "NO_PROXY="+direct, "NODE_USE_ENV_PROXY=1", java+"localhost|127.0.0.1|[::1]")},
		{"JAVA_TOOL_OPTIONS", Loopback[:1], "/s", append(slices.Clone(proxies), "no_proxy=localhost", "NO_PROXY=localhost", "NODE_USE_ENV_PROXY=1")},
		{"NODE_USE_ENV_PROXY", nil, "/s", append(slices.Clone(proxies), java+" -Djavax.net.ssl.trustStore=/s -Djavax.net.ssl.trustStoreType=PKCS12")},
	} {
		p := &Plan{Variables: []ir.Variable{{Name: tt.stated}}}
		if got := p.ProxyVariables(at, "", tt.direct, tt.store); !slices.Equal(got, tt.want) {
			t.Errorf("with %s stated, ProxyVariables(%v, %q) =\n%q, want\n%q", tt.stated, at, tt.direct, got, tt.want)
		}
	}
	got := (&Plan{}).ProxyVariables(at, "obspc:s3cret-~", nil, "")
	want := append([]string{}, proxies...)
	for i := range want {
		want[i] = strings.Replace(want[i], "http://", "http://obspc:s3cret-~@", 1)
	}
	if want = append(want, "NODE_USE_ENV_PROXY=1", java); !slices.Equal(got, want) {
		t.Errorf("with a credential, ProxyVariables(%v) =\n%q, want\n%q", at, got, want)
	}
}

// TestTrustVariables: one file for every program, but where the policy names another.
func TestTrustVariables(t *testing.T) {
	p := &Plan{Variables: []ir.Variable{{Name: "PIP_CERT"}}}
	got := p.TrustVariables("/x.pem")
	if len(got) != len(trustVariables)-1 || !slices.Contains(got, "SSL_CERT_FILE=/x.pem") || slices.Contains(got, "PIP_CERT=/x.pem") {
		t.Errorf("TrustVariables = %q", got)
	}
}
