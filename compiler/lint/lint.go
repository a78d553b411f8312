// Package lint says of a policy that compiles what is probably wider than it looks: a
// compiled policy and where its statements stand to warnings. Its one rule: it judges
// what the policy means, and never refuses it.
package lint

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"

	"github.com/obspc/obspc/compiler/addresses"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/compiler/syscalls"
	"github.com/obspc/obspc/lang/diag"
)

// Policy looks at one policy. at is where each statement stands.
func Policy(p *ir.Policy, at func(ir.Origin) diag.Range) diag.List {
	l := &linter{policy: p, at: at}
	for _, check := range checks {
		check.run(l)
	}
	return l.list.Sorted()
}

// checks is every check: what it looks for and why that matters.
var checks = []struct {
	run func(*linter)
	why string
}{
	{(*linter).programs, "execute limits which programs start, and these run any code that can be read"},
	{(*linter).reads, "keys and other projects lie beside what is needed"},
	{(*linter).sockets, "whoever connects to a service has what the service may do"},
	{(*linter).calls, "a call that is denied alone leaves another that does the same"},
	{(*linter).hosts, "names below a private suffix belong to anybody"},
}

type linter struct {
	policy *ir.Policy
	means  *ir.Decider // made when it is asked first
	at     func(ir.Origin) diag.Range
	list   diag.List
}

func (l *linter) decider() *ir.Decider {
	if l.means == nil {
		l.means = ir.NewDecider(l.policy)
	}
	return l.means
}

// statement is an origin less the element of its list.
func statement(o ir.Origin) string {
	s, _, _ := strings.Cut(string(o), "[")
	return s
}

// programs names the loaders and interpreters that each execute list admits.
func (l *linter) programs() {
	for _, kind := range []struct {
		names []string
		found func(*linter, *ir.ExecuteRule, []string) diag.Diagnostic
	}{{loaders, loaderAdmitted}, {interpreters, interpreterAdmitted}} {
		first, admitted := map[string]*ir.ExecuteRule{}, map[string][]string{}
		var order []string
		for i := range l.policy.Execute {
			r := &l.policy.Execute[i]
			s := statement(r.Origin)
			for _, name := range kind.names {
				if !r.Covers(ir.MustPath(name)) {
					continue
				}
				if first[s] == nil {
					first[s], order = r, append(order, s)
				}
				if !slices.Contains(admitted[s], name) {
					admitted[s] = append(admitted[s], name)
				}
			}
		}
		for _, s := range order {
			l.list.Add(kind.found(l, first[s], admitted[s]))
		}
	}
}

// reads looks for reads of what nobody needs as a whole.
func (l *linter) reads() {
	for i := range l.policy.Files {
		r := &l.policy.Files[i]
		if r.Level == ir.Deny || r.Only || r.Backing != ir.HostFile || !slices.Contains(wide, r.Path.String()) {
			continue
		}
		if holes := l.holes(r.Path); !holes {
			l.list.Add(wideRule(l, r))
		}
	}
}

// holes reports whether something below p is denied.
func (l *linter) holes(p ir.Path) bool {
	return slices.ContainsFunc(l.policy.Files, func(r ir.FileRule) bool { return r.Level == ir.Deny && p.Above(r.Path) })
}

// sockets looks for sockets of services that can be connected to.
func (l *linter) sockets() {
	if !l.policy.Unix.Visible {
		return
	}
	var seen []string
	for _, s := range services {
		if l.decider().Decide(ir.Request{Kind: ir.ConnectUnixRequest, Path: ir.MustPath(s)}).Allow {
			seen = append(seen, s)
		}
	}
	if len(seen) > 0 {
		l.list.Add(serviceReachable(l, seen))
	}
}

// hosts looks for wildcards over the private section of the public suffix list.
func (l *linter) hosts() {
	for i := range l.policy.Endpoints {
		e := &l.policy.Endpoints[i]
		l.addresses(e)
		if e.Host.Wildcard == ir.Exact || e.Host.Name == "" {
			continue
		}
		if suffix, icann := publicsuffix.PublicSuffix(e.Host.Name); suffix == e.Host.Name && !icann {
			l.list.Add(privateSuffix(l, e))
		}
	}
}

// addresses looks for what opens everything, and for metadata services: whoever reaches
// one may have the credentials of the machine.
func (l *linter) addresses(e *ir.Endpoint) {
	opened := e.Addresses
	if e.Host.Addr.IsValid() {
		opened = []netip.Prefix{netip.PrefixFrom(e.Host.Addr, e.Host.Addr.BitLen())}
	}
	for _, r := range opened {
		special, _ := addresses.Special(r.Addr())
		switch {
		case r.Bits() == 0:
			l.list.Add(everyAddress(l, e, r))
		case r.IsSingleIP() && special.Metadata:
			l.list.Add(metadataOpened(l, e, r.Addr()))
		}
	}
}

// calls looks for denied calls that have kin which are not denied: on each architecture,
// of what it has.
func (l *linter) calls() {
	var told [][]string
	for i := range l.policy.Syscalls {
		rule := &l.policy.Syscalls[i]
		kin := syscalls.Kin(rule.Name)
		same := func(group []string) bool { return group[0] == kin[0] }
		if rule.Allow || kin == nil || slices.ContainsFunc(told, same) {
			continue
		}
		told = append(told, kin)
		var left []string
		for _, name := range kin {
			if l.decider().Decide(ir.Request{Kind: ir.SyscallRequest, Syscall: name}).Allow {
				left = append(left, name)
			}
		}
		if len(left) > 0 {
			l.list.Add(callLeaves(l, rule, left))
		}
	}
}

func warning(code string, at diag.Range, message, help string) diag.Diagnostic {
	return diag.Diagnostic{Severity: diag.Warning, Code: code, At: at, Message: message, Help: help}
}

// some is the first names of a list, and how many more there are.
func some(names []string) string {
	const shown = 4
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}

// loaderAdmitted reports loaders that may be started by themselves.
func loaderAdmitted(l *linter, r *ir.ExecuteRule, names []string) diag.Diagnostic {
	return warning("execute-loader", l.at(r.Origin), fmt.Sprintf("%s of policy %s admits the loader, which runs any file that can be read: %s", statement(r.Origin), l.policy.Name, some(names)),
		"dynamic programs need it; execute limits which programs start, and only read, write and endpoints are boundaries")
}

// interpreterAdmitted reports programs that run what they read.
func interpreterAdmitted(l *linter, r *ir.ExecuteRule, names []string) diag.Diagnostic {
	return warning("execute-interpreter", l.at(r.Origin), fmt.Sprintf("%s of policy %s admits interpreters, which run any text that can be read: %s", statement(r.Origin), l.policy.Name, some(names)),
		"list the programs that are needed instead of their directory, or count on read, write and endpoints alone")
}

// wideRule reports a read of everything of its kind.
func wideRule(l *linter, r *ir.FileRule) diag.Diagnostic {
	return warning("wide-"+r.Level.String(), l.at(r.Origin), fmt.Sprintf("policy %s may %s all of %s, and nothing below it is denied", l.policy.Name, r.Level, r.Path),
		"state the directories that are needed, or deny what holds keys: .ssh, .aws, .gnupg, .netrc")
}

// serviceReachable reports sockets that give away what the sandbox keeps.
func serviceReachable(l *linter, seen []string) diag.Diagnostic {
	return warning("service-reachable", l.at(l.policy.Unix.Origin), fmt.Sprintf("with unix = \"visible\" policy %s can connect to %s", l.policy.Name, some(seen)),
		"deny the directories of sockets that are not needed")
}

// callLeaves reports a denial that takes nothing away.
func callLeaves(l *linter, r *ir.SyscallRule, left []string) diag.Diagnostic {
	return warning("syscall-kin", l.at(r.Origin), fmt.Sprintf("policy %s denies %s, and what it does can be done by %s", l.policy.Name, r.Name, some(left)),
		"deny all of them that can be denied, or none")
}

// everyAddress reports a name that may lead anywhere.
func everyAddress(l *linter, e *ir.Endpoint, r netip.Prefix) diag.Diagnostic {
	return warning("addresses-everything", l.at(e.Origin), fmt.Sprintf("with %s whoever answers for %s can have it lead to every machine of this network, and to this one", r, e.Host),
		"write the ranges that the name leads to")
}

// metadataOpened reports a way to a metadata service.
func metadataOpened(l *linter, e *ir.Endpoint, addr netip.Addr) diag.Diagnostic {
	return warning("metadata-opened", l.at(e.Origin), fmt.Sprintf("%s is a metadata service, which gives out the credentials of the machine to whoever asks", addr),
		"remove it; hand the command what it needs instead")
}

// privateSuffix reports a wildcard over names of anybody's.
func privateSuffix(l *linter, e *ir.Endpoint) diag.Diagnostic {
	return warning("wildcard-private-suffix", l.at(e.Origin), fmt.Sprintf("anybody can have a name that %s stands for", e.Host),
		"write the names that are meant; "+e.Host.Name+" is in the private section of the public suffix list")
}
