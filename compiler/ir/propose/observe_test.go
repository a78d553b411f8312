package propose_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"pgregory.net/rapid"

	"github.com/obspc/obspc/compiler"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/compiler/ir/propose"
	"github.com/obspc/obspc/lang"
)

// ways is what the policies of these tests let out.
const ways = `
  network {
    deny = ["*.ads.example"]
    endpoint "api" {
      host     = "api.example"
      ports    = [443]
      protocol = "rest"
      allow {
        methods = ["GET"]
        path    = "/repos/**"
      }
      deny {
        path = "/repos/secret"
      }
    }
    endpoint "git" {
      host        = "git.example"
      ports       = [443]
      executables = ["/usr/bin/git"]
      protocol    = "tls"
    }
    endpoint "mirrors" {
      host      = "*.mirror.example"
      ports     = [443]
      addresses = ["10.2.0.0/16"]
      protocol  = "rest"
      allow {
        methods = ["GET"]
      }
    }
    endpoint "near" {
      address  = "10.0.0.7"
      ports    = [80]
      protocol = "rest"
      allow {
        path = "/a"
      }
    }
    endpoint "plain" {
      host     = "plain.example"
      ports    = [443]
      protocol = "tls"
    }
  }
`

const frame = `
policy "p" {
  version = 1
  targets = ["bwrap"]
  filesystem {
    read  = ["/usr"]
    write = [workspace, tmp]
  }
`

// source compiles a policy's text.
func source(text string) (*ir.Policy, error) {
	config, diags := lang.Parse(lang.Sources{"p.policy.hcl": []byte(text)}, lang.Options{})
	if !diags.HasErrors() {
		results, found := compiler.Compile(config, compiler.Options{})
		if diags.Add(found...); !diags.HasErrors() {
			return results[0].Policy, nil
		}
	}
	return nil, fmt.Errorf("%v\n%s", diags, text)
}

// pasted is the text of a policy after an author has merged a network block into its
// own: attributes of an endpoint that is there take the place of its own, blocks go
// into it, and new endpoints beside it.
func pasted(t testing.TB, text, block string) string {
	t.Helper()
	file, diags := hclwrite.ParseConfig([]byte(text), "p", hcl.InitialPos)
	more, failed := hclwrite.ParseConfig([]byte(block), "block", hcl.InitialPos)
	if diags.HasErrors() || failed.HasErrors() {
		t.Fatalf("%v %v\n%s\n%s", diags, failed, text, block)
	}
	policy := file.Body().FirstMatchingBlock("policy", []string{"p"}).Body()
	network := policy.FirstMatchingBlock("network", nil)
	if network == nil {
		network = policy.AppendNewBlock("network", nil)
	}
	from := more.Body().FirstMatchingBlock("network", nil)
	if from == nil {
		return text
	}
	for _, b := range from.Body().Blocks() {
		have := network.Body().FirstMatchingBlock("endpoint", b.Labels())
		if have == nil {
			network.Body().AppendBlock(b)
			continue
		}
		for name, a := range b.Body().Attributes() {
			have.Body().SetAttributeRaw(name, a.Expr().BuildTokens(nil))
		}
		for _, inner := range b.Body().Blocks() {
			have.Body().AppendBlock(inner)
		}
	}
	return string(file.Bytes())
}

// denied is what the proxy tells of a denial.
func denied(t testing.TB, text, dimension string) propose.Asked {
	t.Helper()
	a := propose.Asked{Request: request(t, text), Dimension: dimension, Reason: "as the proxy says", Count: 1}
	if a.Request.HasBy {
		a.Program = a.Request.By.String()
	}
	return a
}

func observe(t testing.TB, p *ir.Policy, list ...propose.Asked) *propose.Observed {
	t.Helper()
	o, err := propose.Observe(propose.Setting{Policy: p, Binding: binding}, list, func(ir.Origin) (string, int, bool) { return "p.policy.hcl", 3, true })
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestObserve: for each denial the narrowest rule, which allows it when it is pasted
// into the policy, and nothing beside it.
func TestObserve(t *testing.T) {
	text := frame + ways + "}\n"
	before, err := source(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		asked, dimension string
		want             string
		still            string // stays denied, comma between
	}{
		{"connect new.example:8443", "host", "endpoint new.example:8443", "connect new.example:443,connect a.new.example:8443"},
		{"connect 93.184.216.34:443", "host", "endpoint 93.184.216.34:443", "connect 93.184.216.35:443"},
		{"connect plain.example:8443", "port", "ports 8443 of plain", "connect plain.example:444"},
		{"connect a.mirror.example:8443", "port", "endpoint a.mirror.example:8443", "connect b.mirror.example:8443"},
		{"connect git.example:443 by /usr/bin/curl", "program", "endpoint git.example:443 by /usr/bin/curl, tls", "connect git.example:443,connect git.example:443 by /usr/bin/wget"},
		{"connect git.example:22 by /usr/bin/git", "port", "ports 22 of git", "connect git.example:22,connect git.example:22 by /usr/bin/curl"},
		{"connect git.example:22 by /usr/bin/ssh", "port", "endpoint git.example:22 by /usr/bin/ssh", "connect git.example:22,connect git.example:443 by /usr/bin/ssh"},
		{"request POST https://api.example/repos/x", "method", "allow POST /repos/x of api", "request PUT https://api.example/repos/x,request POST https://api.example/repos/x/y"},
		{"request GET https://api.example/users/", "path", "allow GET /users/ of api", "request GET https://api.example/users,request HEAD https://api.example/users/"},
		{"request DELETE https://a.mirror.example/x%20y", "method", "endpoint a.mirror.example:443, rest: DELETE /x%20y", "request DELETE https://b.mirror.example/x%20y,request DELETE https://a.mirror.example/x"},
		{"request GET http://10.0.0.7/b", "path", "allow GET /b of near", "request GET http://10.0.0.8/b,request PUT http://10.0.0.7/b,connect 10.0.0.7:81"},
		{"request GET http://new.example/a", "host", "endpoint new.example:80, rest: GET /a", "request GET http://new.example/b,request POST http://new.example/a,request GET http://new.example:81/a"},
	} {
		t.Run(tt.asked, func(t *testing.T) {
			o := observe(t, before, denied(t, tt.asked, tt.dimension))
			d := o.Denied[0]
			var got string
			for _, l := range d.Add {
				if got = l.List + " " + l.Element; l.Endpoint != "" {
					got += " of " + l.Endpoint
				}
			}
			if got != tt.want || len(d.Add) != 1 {
				t.Fatalf("%q, withheld %q, want %q", got, d.Withheld, tt.want)
			}
			if got := string(hclwrite.Format([]byte(o.HCL))); got != o.HCL {
				t.Errorf("hclwrite formats it as\n%s, it is\n%s", got, o.HCL)
			}
			after, err := source(pasted(t, text, o.HCL))
			if err != nil {
				t.Fatal(err)
			}
			if r := request(t, tt.asked); ir.Decide(before, r).Allow || !ir.Decide(after, r).Allow {
				t.Errorf("%s: denied before and allowed after is not so, with\n%s", r, o.HCL)
			}
			for other := range strings.SplitSeq(tt.still, ",") {
				if r := request(t, other); ir.Decide(after, r).Allow {
					t.Errorf("%s is allowed, with\n%s", r, o.HCL)
				}
			}
		})
	}
}

// TestObserveWithheld: what is told and never proposed, each with its reason.
func TestObserveWithheld(t *testing.T) {
	p, err := source(frame + ways + "}\n")
	if err != nil {
		t.Fatal(err)
	}
	at := func(a propose.Asked, addr string) propose.Asked {
		a.Address = netip.MustParseAddr(addr)
		return a
	}
	for _, tt := range []struct {
		asked propose.Asked
		says  string
	}{
		{denied(t, "connect x.ads.example:443", "denied-host"), "deny *.ads.example was put there to refuse it"},
		{denied(t, "request GET http://x.ads.example/a", "denied-host"), "was put there to refuse it"},
		{denied(t, "request GET https://api.example/repos/secret", "path"), "deny any method /repos/secret was put there"},
		{denied(t, "connect 127.0.0.1:80", "host"), "loopback of its own"},
		{denied(t, "connect localhost:80", "host"), "a name of the loopback"},
		{denied(t, "connect 192.168.1.1:80", "host"), "private (192.168.0.0/16"},
		{denied(t, "connect [fd00::1]:80", "host"), "private (fc00::/7"},
		{denied(t, "connect [::ffff:10.0.0.1]:80", "host"), "private (10.0.0.0/8"},
		{denied(t, "connect 169.254.169.254:80", "host"), "a metadata service"},
		{denied(t, "connect metadata.google.internal:80", "host"), "a metadata service (Google Cloud)"},
		{denied(t, "connect 10.0.0.7:81", "port"), "private (10.0.0.0/8"},
		{denied(t, "request PUT http://10.0.0.8/a", "host"), "private (10.0.0.0/8"},
		{denied(t, "connect 224.0.0.1:80", "host"), "which nothing opens"},
		{at(denied(t, "connect plain.example:443", "address"), "10.0.0.1"), "its name led to 10.0.0.1: it is private"},
		{at(denied(t, "connect plain.example:443", "address"), "169.254.169.254"), "a metadata service"},
		{denied(t, "connect plain.example:443", "protocol"), "what it sent is not what the endpoint is for"},
		{denied(t, "request GET http://plain.example:443/a", "protocol"), `endpoint "plain" is for TLS`},
		{denied(t, "connect git.example:443", "program"), "not known that one of these asked"},
		{denied(t, "connect git.example:22", "port"), "which one asked for another port is not known"},
		{denied(t, "request GET https://api.example/a*b", "path"), "its path has a *"},
		{propose.Asked{Dimension: "request", Reason: "no CR LF", Count: 1}, "no request that a policy could allow"},
		{propose.Asked{Dimension: "limit", Count: 1}, "a limit of the proxy"},
		{propose.Asked{Dimension: "credential", Count: 1}, "not come from the sandbox"},
	} {
		o := observe(t, p, tt.asked)
		if d := o.Denied[0]; len(d.Add) > 0 || o.HCL != "" || !strings.Contains(d.Withheld, tt.says) {
			t.Errorf("%s: %+v, want it withheld with %q", tt.asked.Request, d, tt.says)
		}
	}
}

// TestObserveText: what allows least stands first, counts and programs are told, and
// what comes from inside is printable.
func TestObserveText(t *testing.T) {
	text := frame + ways + "}\n"
	p, err := source(text)
	if err != nil {
		t.Fatal(err)
	}
	many := denied(t, "connect new.example:443 by /usr/bin/curl", "host")
	many.Count, many.Program, many.Reason = 3, "/x\x1b[31m", "no endpoint \x07names it"
	o := observe(t, p,
		denied(t, "connect 10.0.0.1:80", "host"), many, denied(t, "connect new.example:8443", "host"), denied(t, "connect plain.example:80", "port"),
		denied(t, "request GET http://rest.example/b", "host"), denied(t, "request PUT http://rest.example/a", "host"), denied(t, "request GET http://rest.example/a", "host"),
		denied(t, "request GET https://api.example/u", "path"), denied(t, "request GET https://api.example/t", "path"))
	o.Untold = 7
	want := `network {
  # endpoint "api" is there already: this goes into it
  endpoint "api" {
    allow {
      methods = ["GET"]
      path    = "/t"
    }

    allow {
      methods = ["GET"]
      path    = "/u"
    }
  }
  endpoint "new-example" {
    host  = "new.example"
    ports = [443, 8443]
  }
  # endpoint "plain" is there already: these are its ports now
  endpoint "plain" {
    ports = [80, 443]
  }
  endpoint "rest-example" {
    host     = "rest.example"
    ports    = [80]
    protocol = "rest"

    allow {
      methods = ["GET", "PUT"]
      path    = "/a"
    }

    allow {
      methods = ["GET"]
      path    = "/b"
    }
  }
}
`
	if o.HCL != want {
		t.Errorf("HCL is\n%s\nwant\n%s", o.HCL, want)
	}
	if got := string(hclwrite.Format([]byte(o.HCL))); got != o.HCL {
		t.Errorf("hclwrite formats it as\n%s", got)
	}
	var order []string
	for _, d := range o.Denied {
		order = append(order, d.Query.Value)
	}
	if want := []string{
		"GET https://api.example/t", "GET https://api.example/u", "GET http://rest.example/a", "GET http://rest.example/b", "PUT http://rest.example/a",
		"plain.example:80", "new.example:443", "new.example:8443", "10.0.0.1:80",
	}; !slices.Equal(order, want) {
		t.Errorf("the order is\n%q, want\n%q", order, want)
	}
	var out strings.Builder
	o.Text(&out, "# ")
	for _, want := range []string{
		"# the proxy of policy p denied 11 connections and requests; of 10 something is proposed\n", "  connect new.example:443, 3 times, by /x?[31m\n    no endpoint ?names it\n    add an endpoint for new.example:443\n",
		"    add GET /t to allow of endpoint \"api\"\n", "    add 80 to ports of endpoint \"plain\"\n", "nothing is proposed: it is private", "# decisions that were too many to tell apart: 7\n", "merge this into policy p:\n  network {\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, &out)
		}
	}
	var back propose.Observed
	if err := json.Unmarshal(o.JSON(), &back); err != nil || back.Schema != propose.ObservedSchema || len(back.Denied) != 9 || back.Denied[0].Rule == nil || back.Denied[0].Rule.Line != 3 {
		t.Errorf("%s, %v", o.JSON(), err)
	}
	if text := string(observe(t, p).JSON()); !strings.Contains(text, `"denied": []`) || strings.Contains(text, "null") {
		t.Errorf("an empty report is %s", text)
	}
}

// hosts, and what is asked of them, for the property.
var (
	hosts  = []string{"a.test", "b.a.test", "c.b.a.test", "d.test", "10.0.0.1", "9.9.9.9"}
	paths  = []string{"/", "/x", "/x/y", "/x/", "/*", "/z%20"}
	tools  = []string{"", "/usr/bin/one", "/usr/bin/two"}
	speaks = []string{"", "tls", "http", "tcp", "rest"}
)

// drawWays is a network block.
func drawWays(t *rapid.T) string {
	var b strings.Builder
	b.WriteString("  network {\n")
	if rapid.IntRange(0, 3).Draw(t, "deny") == 0 {
		b.WriteString("    deny = [\"b.a.test\"]\n")
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "endpoints") {
		host := rapid.SampledFrom([]string{"a.test", "b.a.test", "*.a.test", "**.a.test", "d.test"}).Draw(t, fmt.Sprint("host", i))
		fmt.Fprintf(&b, "    endpoint \"e%d\" {\n      host = %q\n      ports = %s\n", i, host, rapid.SampledFrom([]string{"[80]", "[443]", "[80, 443]"}).Draw(t, fmt.Sprint("ports", i)))
		if tool := rapid.SampledFrom(tools).Draw(t, fmt.Sprint("tool", i)); tool != "" {
			fmt.Fprintf(&b, "      executables = [%q]\n", tool)
		}
		switch protocol := rapid.SampledFrom(speaks).Draw(t, fmt.Sprint("protocol", i)); protocol {
		case "":
		case "rest":
			fmt.Fprintf(&b, "      protocol = \"rest\"\n      allow {\n        methods = [\"GET\"]\n        path = %q\n      }\n", rapid.SampledFrom([]string{"/x", "/x/**", "/*/y"}).Draw(t, fmt.Sprint("path", i)))
			if rapid.Bool().Draw(t, fmt.Sprint("denies", i)) {
				b.WriteString("      deny {\n        path = \"/x/y\"\n      }\n")
			}
		default:
			fmt.Fprintf(&b, "      protocol = %q\n", protocol)
		}
		b.WriteString("    }\n")
	}
	return b.String() + "  }\n"
}

func drawAsked(t *rapid.T, i int) string {
	host := rapid.SampledFrom(hosts).Draw(t, fmt.Sprint("asked", i))
	port := rapid.SampledFrom([]string{"80", "443", "8443"}).Draw(t, fmt.Sprint("port", i))
	text := "connect " + host + ":" + port
	if rapid.Bool().Draw(t, fmt.Sprint("request", i)) {
		text = fmt.Sprintf("request %s %s://%s:%s%s", rapid.SampledFrom([]string{"GET", "POST"}).Draw(t, fmt.Sprint("method", i)),
			rapid.SampledFrom([]string{"http", "https"}).Draw(t, fmt.Sprint("scheme", i)), host, port, rapid.SampledFrom(paths).Draw(t, fmt.Sprint("at", i)))
	}
	if tool := rapid.SampledFrom(tools).Draw(t, fmt.Sprint("by", i)); tool != "" {
		text += " by " + tool
	}
	return text
}

// TestObservedCompiles: what is proposed, pasted into the policy's own text, compiles
// and allows what it was proposed for, alone and together; what is denied on purpose
// stays so; and private addresses are in no proposal.
func TestObservedCompiles(t *testing.T) {
	alone, together := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		text := frame + drawWays(rt) + "}\n"
		p, err := source(text)
		if err != nil {
			return // endpoints that disagree
		}
		var list []propose.Asked
		for i := range rapid.IntRange(1, 6).Draw(rt, "asks") {
			if a := denied(t, drawAsked(rt, i), "host"); !ir.Decide(p, a.Request).Allow {
				list = append(list, a)
			}
		}
		try := func(list []propose.Asked, count *int) {
			o := observe(t, p, list...)
			if strings.Contains(o.HCL, "10.0.0.1") {
				rt.Fatalf("a private address is proposed:\n%s", o.HCL)
			}
			after, err := source(pasted(t, text, o.HCL))
			if err != nil {
				rt.Fatalf("%v\nwith\n%s", err, o.HCL)
			}
			for _, d := range o.Denied {
				r := request(t, d.Query.Kind+" "+d.Query.Value+by(d.Program))
				if allowed := ir.Decide(after, r).Allow; len(d.Add) > 0 && !allowed {
					rt.Fatalf("%s is denied, with\n%s\nin\n%s", r, o.HCL, text)
				} else if allowed && strings.Contains(d.Withheld, "was put there") {
					rt.Fatalf("%s is allowed, with\n%s\nin\n%s", r, o.HCL, text)
				}
				*count += len(d.Add)
			}
		}
		for _, a := range list {
			try([]propose.Asked{a}, &alone)
			narrow(t, rt, p, a)
		}
		try(list, &together)
	})
	if alone < 50 || together < 50 {
		t.Errorf("%d proposals were tried alone and %d together, want 50", alone, together)
	}
}

// narrow holds that what is proposed for one denial allows nothing for other hosts and
// ports, but for a request on the other ports of an endpoint that it goes into; where it
// is a rule about requests, no other request; where it names programs,
// no other program.
func narrow(t testing.TB, rt *rapid.T, p *ir.Policy, a propose.Asked) {
	found, err := propose.For(propose.Setting{Policy: p, Binding: binding}, []propose.Access{{Request: a.Request, Count: 1}})
	if err != nil || len(found) != 1 {
		rt.Fatalf("%d findings, %v", len(found), err)
	}
	if len(found[0].Add) == 0 {
		return
	}
	e, asked := found[0].Add[0].Endpoint, a.Request
	shared := map[uint16]bool{} // ports of the endpoint that the proposal goes into
	for _, have := range p.Endpoints {
		for _, port := range have.Ports {
			shared[port] = shared[port] || have.Name == e.Name
		}
	}
	before, after := ir.NewDecider(p), ir.NewDecider(propose.With(p, found[0].Add))
	for _, q := range universe(t) {
		if before.Decide(q).Allow || !after.Decide(q).Allow {
			continue
		}
		switch {
		case q.Host != asked.Host || q.Addr != asked.Addr || q.Port != asked.Port && !(q.Kind == ir.URLRequest && shared[q.Port]),
			len(e.Requests) > 0 && q.Kind == ir.URLRequest && (q.Method != asked.Method || q.Target != asked.Target),
			len(e.Executables) > 0 && q.By != asked.By:
			rt.Fatalf("for %s, %s is allowed as well, by\n%s", asked, q, propose.HCL(found[0].Add))
		}
	}
}

var everything []ir.Request

// universe is all that drawAsked can draw.
func universe(t testing.TB) []ir.Request {
	if everything != nil {
		return everything
	}
	for _, host := range hosts {
		for _, port := range []string{":80", ":443", ":8443"} {
			texts := []string{"connect " + host + port}
			for _, method := range []string{"GET", "POST"} {
				for _, scheme := range []string{"http://", "https://"} {
					for _, path := range paths {
						texts = append(texts, "request "+method+" "+scheme+host+port+path)
					}
				}
			}
			for _, text := range texts {
				for _, tool := range tools {
					everything = append(everything, request(t, text+by(tool)))
				}
			}
		}
	}
	return everything
}

func by(program string) string {
	if program == "" {
		return ""
	}
	return " by " + program
}
