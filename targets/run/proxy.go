package run

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
)

// Loopback lists the names of a sandbox's own loopback, which programs reach without
// the proxy.
var Loopback = []string{"localhost", "127.0.0.1", "::1"}

// ProxyVariables is what the runtime adds where the policy has endpoints, as
// NAME=value: the proxy's address as programs look for it, and direct, the hosts that
// are reached without it. Of those that have a use beside the proxy (the last two),
// the policy's own come first; the others no policy states.
//
// credential is what the proxy demands of every client, as on macOS, where everybody on
// the machine reaches its port: USER:SECRET, in letters, digits and - . _ ~ alone, which
// stand in a URL as they are (RFC 3986, section 2.3); "" for none. Java's properties have
// no place for it. store, "" for none, is a key store that Java is to trust instead of
// its own (PKCS #12, no password).
//
// Programs that take the variables of curl(1), in lower or upper case: curl, git, wget,
// apt, pip, npm, cargo, Go's and Python's own clients. Node.js asks NODE_USE_ENV_PROXY
// whether it does (22.21, 24.5 and later). Java reads properties alone, and says on
// standard error where it found them.
func (p *Plan) ProxyVariables(proxy netip.AddrPort, credential string, direct []string, store string) []string {
	var out []string
	url := "http://" + proxy.String()
	if credential != "" {
		url = "http://" + credential + "@" + proxy.String()
	}
	add := func(name, value string) {
		if value != "" && !p.states(name) {
			out = append(out, name+"="+value)
		}
	}
	for _, name := range []string{"http_proxy", "https_proxy", "all_proxy"} {
		add(name, url)
		add(strings.ToUpper(name), url)
	}
	add("no_proxy", strings.Join(direct, ","))
	add("NO_PROXY", strings.Join(direct, ","))
	add("NODE_USE_ENV_PROXY", "1")
	add("JAVA_TOOL_OPTIONS", javaOptions(proxy, direct, store))
	return out
}

// javaOptions are the properties of Java's own clients (java.net, "Networking
// Properties"). Their list of hosts is of patterns joined by "|", addresses of IPv6 in
// brackets.
func javaOptions(proxy netip.AddrPort, direct []string, store string) string {
	var options, hosts []string
	for _, scheme := range []string{"http", "https"} {
		options = append(options, "-D"+scheme+".proxyHost="+proxy.Addr().String(), "-D"+scheme+".proxyPort="+strconv.Itoa(int(proxy.Port())))
	}
	for _, host := range direct {
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		hosts = append(hosts, host)
	}
	options = append(options, "-Dhttp.nonProxyHosts="+strings.Join(hosts, "|"))
	if store != "" {
		options = append(options, "-Djavax.net.ssl.trustStore="+store, "-Djavax.net.ssl.trustStoreType=PKCS12")
	}
	return strings.Join(options, " ")
}

// trustVariables name a file of certificates, each for some programs: OpenSSL and Go;
// Node.js; Python's requests; pip; curl; git; cargo; npm. Java wants a key store
// (ProxyVariables).
var trustVariables = []string{
	"SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "PIP_CERT", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO",
	"CARGO_HTTP_CAINFO", "NPM_CONFIG_CAFILE",
}

// TrustVariables is what the runtime adds, as NAME=value, where the proxy ends TLS to
// decide requests: the file at bundle has the authority that it signs with, and the
// machine's. The policy's own come first.
func (p *Plan) TrustVariables(bundle string) []string {
	var out []string
	for _, name := range trustVariables {
		if !p.states(name) {
			out = append(out, name+"="+bundle)
		}
	}
	return out
}

// states reports whether the policy states a variable itself.
func (p *Plan) states(name string) bool {
	return slices.ContainsFunc(p.Variables, func(v ir.Variable) bool { return v.Name == name })
}
