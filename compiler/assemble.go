package compiler

import (
	"cmp"
	"slices"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang/diag"
)

// assemble makes the policies, every list in the order that the IR keeps it in.
func assemble(c *compilation) {
	for _, d := range c.drafts {
		d.policy = &ir.Policy{
			Name: d.body.name, Version: d.body.source.Version.Value, Targets: d.body.targets,
		}
		d.ranges = make(map[ir.Origin]diag.Range, len(d.merged))
		for _, s := range d.merged {
			d.ranges[s.origin] = s.at
			for suffix, at := range s.inner {
				d.ranges[s.origin+ir.Origin(suffix)] = at
			}
			put(d.policy, s)
		}
		order(d.policy)
	}
}

// put adds one statement to the policy, its origin filled in.
func put(p *ir.Policy, s *statement) {
	switch v := s.value.(type) {
	case ir.FileRule:
		v.Origin = s.origin
		p.Files = append(p.Files, v)
	case ir.ExecuteRule:
		v.Origin = s.origin
		p.Execute = append(p.Execute, v)
	case ir.Endpoint:
		v.Origin = s.origin
		v.Requests = slices.Clone(v.Requests)
		for i := range v.Requests {
			v.Requests[i].Origin = s.origin + v.Requests[i].Origin
		}
		p.Endpoints = append(p.Endpoints, v)
	case ir.HostRule:
		v.Origin = s.origin
		p.DeniedHosts = append(p.DeniedHosts, v)
	case ir.Variable:
		v.Origin = s.origin
		p.Environment = append(p.Environment, v)
	case ir.Limit:
		v.Origin = s.origin
		p.Limits = append(p.Limits, v)
	case ir.SyscallRule:
		v.Origin = s.origin
		p.Syscalls = append(p.Syscalls, v)
	case ir.Command:
		v.Origin = s.origin
		p.Commands = append(p.Commands, v)
	case ir.Waiver:
		v.Origin = s.origin
		p.Waivers = append(p.Waivers, v)
	case ir.Name:
		v.Origin = s.origin
		list := systemList(&p.System, s.key.kind)
		*list = append(*list, v)
	default:
		putSetting(p, s)
	}
}

func systemList(s *ir.System, k kind) *[]ir.Name {
	switch k {
	case serviceKind:
		return &s.Services
	case sysctlKind:
		return &s.Sysctls
	case ipcKind:
		return &s.IPC
	case iokitKind:
		return &s.IOKit
	}
	diag.Bug("kind %d has no list of names", k)
	return nil
}

func putSetting(p *ir.Policy, s *statement) {
	switch s.key.kind {
	case workspaceKind:
		p.Workspace = ir.WorkspaceKind(s.value.(string))
	case loopbackKind:
		if s.value == "host" {
			p.Loopback = ir.LoopbackRule{Host: true, Origin: s.origin}
		}
	case unixKind:
		p.Unix = ir.UnixRule{Visible: s.value == "visible", Origin: s.origin}
	case devicesKind, shmKind: // stated as file rules
	case limitScopeKind: // stated in the limits it is about
	default:
		diag.Bug("a statement of kind %d holds %T", s.key.kind, s.value)
	}
}

func order(p *ir.Policy) {
	slices.SortFunc(p.Files, func(x, y ir.FileRule) int { return x.Path.Compare(y.Path) })
	slices.SortFunc(p.Execute, func(x, y ir.ExecuteRule) int { return x.Path.Compare(y.Path) })
	slices.SortFunc(p.Endpoints, func(x, y ir.Endpoint) int { return cmp.Compare(x.Name, y.Name) })
	slices.SortFunc(p.DeniedHosts, func(x, y ir.HostRule) int { return cmp.Compare(x.Host.String(), y.Host.String()) })
	slices.SortFunc(p.Environment, func(x, y ir.Variable) int { return cmp.Compare(x.Name, y.Name) })
	slices.SortFunc(p.Limits, func(x, y ir.Limit) int { return cmp.Compare(x.Name, y.Name) })
	slices.SortFunc(p.Syscalls, func(x, y ir.SyscallRule) int { return cmp.Compare(x.Name, y.Name) })
	slices.SortFunc(p.Commands, func(x, y ir.Command) int { return cmp.Compare(x.Name, y.Name) })
	slices.SortFunc(p.Waivers, func(x, y ir.Waiver) int {
		return cmp.Or(cmp.Compare(x.Target, y.Target), cmp.Compare(x.Feature, y.Feature))
	})
	for _, list := range [][]ir.Name{p.System.Services, p.System.Sysctls, p.System.IPC, p.System.IOKit} {
		slices.SortFunc(list, func(x, y ir.Name) int { return cmp.Compare(x.Name, y.Name) })
	}
}
