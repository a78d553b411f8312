package runtime

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/runtime/attribute"
	"github.com/obspc/obspc/runtime/proxy"
	"github.com/obspc/obspc/targets/bwrap"
	"github.com/obspc/obspc/targets/egress"
	"github.com/obspc/obspc/targets/run"
)

// wayOut is what a run with endpoints has besides its sandbox: a proxy that accepts
// what connects to the socket inside, and decides by the verified rules.
type wayOut struct {
	rules *egress.Rules // bound, and their programs named as they are on this machine
	// programs are the files that endpoints list, by what they were when the policy was
	// bound; names are what they are called.
	programs map[attribute.File]ir.Path
	names    map[ir.Path]bool
	proxy    outlet
	trust    []trustFile // what programs inside are to trust; none: what the machine does

	owners *attribute.Sandbox // nil where no endpoint lists programs
	log    egressLog
	stop   context.CancelFunc
	ended  chan struct{} // closed when the proxy serves no more
	fault  error         // why, once it has ended by itself
	wake   int           // eventfd, readable then
}

// outlet serves what connects from inside until ctx ends.
type outlet interface {
	Serve(ctx context.Context, l net.Listener) error
	TrustBundle() []byte
}

// newOutlet makes the proxy. Tests put another in its place.
var newOutlet = func(c proxy.Config) outlet { return proxy.New(c) }

// proxyInside is where programs of the sandbox find the proxy.
var proxyInside = netip.AddrPortFrom(netip.AddrFrom4(proxyAddress.Addr), ProxyPort)

// programs are the bound paths of the programs that endpoints list.
func (r *execution) programs() []ir.Path {
	var out []ir.Path
	rules := r.rules()
	if rules == nil {
		return nil
	}
	for _, e := range rules.Bind(r.binding).Endpoints {
		for _, p := range e.Executables {
			if p.Root() == ir.Host {
				out = append(out, p)
			}
		}
	}
	return out
}

// rules are those of the way out, nil where there is none. What is observed has one
// that leads nowhere, where the policy has none.
func (r *execution) rules() *egress.Rules {
	if r.linux.Egress == nil && r.job.Observe {
		return &egress.Rules{Policy: r.job.Policy, Denied: r.policy.DeniedHosts}
	}
	return r.linux.Egress
}

// bindEgress binds the rules. A program is the file that has its name now: one that
// has several names, by hard links, has one from here on, and one that is missing
// opens nothing, whoever makes it later.
func (r *execution) bindEgress() *Refusal {
	rules := r.rules()
	if rules == nil {
		return nil
	}
	w := &wayOut{
		rules: rules.Bind(r.binding), programs: map[attribute.File]ir.Path{}, names: map[ir.Path]bool{}, wake: -1,
	}
	for i := range w.rules.Endpoints {
		e := &w.rules.Endpoints[i]
		list := slices.Clone(e.Executables)
		for j, p := range list {
			if refusal := r.linkedProgram(e, p, r.survey.nodes[p]); refusal != nil {
				return refusal
			}
			list[j] = w.program(p, r.survey.nodes[p])
			r.noticeScript(e.Name, r.survey.nodes[p])
		}
		e.Executables = list
	}
	w.proxy = newOutlet(proxy.Config{
		Table: egress.NewTable(w.rules), Resolve: resolveHost, Dial: w.dial, Attribute: w.attribute, Sink: w.log.add,
	})
	r.out = w
	var err error
	if w.trust, err = trustFiles(w.proxy.TrustBundle()); err != nil {
		return refuse(Bug, "", "%v", err)
	}
	if _, ok := r.binding.At(ir.Tmp); !ok && w.trust != nil {
		return noTrust(r.job.Policy)
	}
	return nil
}

// linkedProgram refuses a listed program that is a link, unless what it leads to is
// listed as well: a process runs the file and never the link, so the policy means a
// program that nobody can be.
func (r *execution) linkedProgram(e *ir.Endpoint, p ir.Path, n *node) *Refusal {
	if n == nil || !n.exists() || n.real == p || n.real.IsRoot() || slices.ContainsFunc(e.Executables, func(x ir.Path) bool { return x.Covers(n.real) }) {
		return nil
	}
	return refuse(Input, fmt.Sprintf("write %q", n.real), "endpoint %q lists the program %s, which leads to %s", e.Name, p, n.real).about(e.Origin)
}

// noticeScript warns of a listed program that never connects by itself: to the kernel a
// script is an argument of its interpreter.
func (r *execution) noticeScript(endpoint string, n *node) {
	if !r.job.Development || n == nil || !n.exists() || kindOf(n.stat.Mode) != bwrap.File {
		return
	}
	if by, loader := interpreter(n.real.String()); by != "" && !loader {
		r.job.notice(fmt.Sprintf("endpoint %q lists %s, a script: what connects is the program that its first line starts (%s), so list that", endpoint, n.path, printable(by)))
	}
}

// program is the name that decisions about a listed path go by.
func (w *wayOut) program(p ir.Path, n *node) ir.Path {
	if n == nil || !n.exists() || n.kind == bwrap.Missing {
		w.names[p] = true
		return p
	}
	if kindOf(n.stat.Mode) == bwrap.Directory {
		return n.real // whatever lies below it
	}
	w.names[p], w.names[n.real] = true, true
	file := attribute.File{Dev: n.stat.Dev, Ino: n.stat.Ino}
	name, known := w.programs[file]
	if !known {
		name = n.real
		w.programs[file] = name
	}
	return name
}

// direct lists the names of the sandbox's own loopback. One that an endpoint names is
// left to the proxy: there it is the machine's.
func (w *wayOut) direct() []string {
	return slices.DeleteFunc(slices.Clone(run.Loopback), func(name string) bool {
		addr, _ := netip.ParseAddr(name)
		return slices.ContainsFunc(w.rules.Endpoints, func(e ir.Endpoint) bool {
			return e.Host.Addr.IsValid() && e.Host.Addr == addr || !addr.IsValid() && e.Host.Matches(name)
		})
	})
}

// proxyMemory is the most that a run with a proxy has before garbage is collected
// whatever that costs, in bytes: 20 MiB, and 20 KiB for each of as many connections as
// there may be (design 11).
const proxyMemory = 20<<20 + 1024*(20<<10)

// collect has garbage collected as it comes, which a program that ends soon does
// without.
var collect = sync.OnceFunc(func() {
	if debug.SetMemoryLimit(-1) < proxyMemory {
		debug.SetMemoryLimit(proxyMemory)
		debug.SetGCPercent(100)
	}
})

// openWayOut starts the proxy of a sandbox that is set up.
func (r *execution) openWayOut(s *sandbox) *Refusal {
	w := r.out
	if w == nil {
		return nil
	}
	var err error
	if slices.ContainsFunc(w.rules.Endpoints, func(e ir.Endpoint) bool { return len(e.Executables) > 0 }) {
		if w.owners, err = attribute.Open(s.lines.child, proxyInside); err == nil && waitReadable(s.pidfd, 0) {
			err = unix.ESRCH // what was opened by PID 1's number may be another process's
		}
	}
	if err == nil {
		w.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	}
	if err != nil {
		return setupFailed("", "the sandbox's way out cannot be opened: %v", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	w.stop, w.ended = stop, make(chan struct{})
	go r.job.Terminal.guarded(func() {
		defer close(w.ended)
		if err := w.proxy.Serve(ctx, s.listener); ctx.Err() == nil {
			w.fault = err
			unix.Write(w.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0})
		}
	})()
	return nil
}

// closeTime is how long connections that are being made may take to be given up.
const closeTime = 5 * time.Second

// close ends the proxy and every connection, and returns the decisions that it made.
func (w *wayOut) close() *EgressEvidence {
	if w == nil {
		return nil
	}
	if w.stop != nil {
		w.stop()
		select {
		case <-w.ended:
		case <-time.After(closeTime):
			return w.log.evidence() // what is still open ends with this process
		}
	}
	if w.owners != nil {
		w.owners.Close()
	}
	if w.wake >= 0 {
		unix.Close(w.wake)
	}
	return w.log.evidence()
}

// poll is what is readable once the proxy has ended by itself.
func (w *wayOut) poll() unix.PollFd {
	if w == nil {
		return unix.PollFd{Fd: -1}
	}
	return unix.PollFd{Fd: int32(w.wake), Events: unix.POLLIN}
}

// lost says why the proxy has ended.
func (w *wayOut) lost() string {
	<-w.ended
	if w.fault == nil {
		return "the proxy ended"
	}
	return fmt.Sprintf("the proxy ended: %v", w.fault)
}

// attribute says which program a connection is of, for proxy.Config.
func (w *wayOut) attribute(client net.Addr) (who egress.Client, sha256, why string) {
	at, ok := client.(*net.TCPAddr)
	if !ok || w.owners == nil {
		return who, "", "nothing tells programs apart"
	}
	p, err := w.owners.Program(at.AddrPort())
	switch {
	case err != nil:
		return who, "", err.Error()
	case p.Path == "":
		return who, p.SHA256, "the program that asks has no name: " + p.Unnamed
	}
	name, err := ir.NewPath(ir.Host, p.Path)
	if err != nil {
		return who, p.SHA256, "the program that asks has a name that no policy states"
	}
	listed, ok := w.programs[p.File]
	switch {
	case ok:
		name = listed
	case w.names[name]:
		return who, p.SHA256, fmt.Sprintf("%s is not the file that it was when the run began", name)
	}
	return egress.Client{Known: true, Path: name}, p.SHA256, ""
}

// resolveTime bounds how long a name may take, whatever resolv.conf(5) says.
const resolveTime = 10 * time.Second

// maxAddresses bounds how many addresses of a name are judged.
const maxAddresses = 256

// resolver is the machine's: /etc/hosts, then the servers of /etc/resolv.conf, as
// nsswitch.conf(5) orders them, by Go's own code.
var resolver = net.Resolver{PreferGo: true}

// hostsFile is /etc/hosts alone: it asks no server. The resolver does not find names of
// one label there when they end in a dot.
var hostsFile = net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("no server is asked")
}}

// resolveHost is every address of a host, by the machine's resolver. The last dot
// keeps it from looking for longer names (search in resolv.conf(5)), which nobody has
// allowed. Tests put their own names in its place.
var resolveHost = func(ctx context.Context, host string) ([]netip.Addr, error) {
	ctx, cancel := context.WithTimeout(ctx, resolveTime)
	defer cancel()
	if !strings.Contains(host, ".") {
		if list, err := hostsFile.LookupNetIP(ctx, "ip", host); err == nil {
			return list, nil
		}
	}
	list, err := resolver.LookupNetIP(ctx, "ip", host+".")
	if err == nil && len(list) > maxAddresses {
		return nil, errors.New("it has too many addresses")
	}
	return list, err
}

// dial connects from outside, with no other address than this.
func (*wayOut) dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	collect()
	var d net.Dialer
	return d.DialContext(ctx, "tcp", to.String())
}

// egressLost is a run whose proxy failed.
func egressLost(what string) *Refusal {
	r := refuse(Machine, "run it again, and report this if it happens again", "%s; the command was killed", what)
	r.Word = EgressLost
	return r
}
