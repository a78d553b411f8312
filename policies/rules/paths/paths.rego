# What rules need to know of paths.
package obspc.paths

# above is true if p is q or an ancestor of q, by whole components.
above(p, q) if p == q

above(p, q) if startswith(q, concat("", [trim_suffix(p, "/"), "/"]))

# covers is true if the rule r of the policy speaks of the path q.
covers(r, q) if r.path == q

covers(r, q) if {
	not r.only
	above(r.path, q)
}

# levels are those of the rules that cover q, by the length of their paths.
levels(q) := {count(r.path): r.level |
	some r in input.files
	covers(r, q)
}

# level is what the policy says of q: the longest rule that covers it decides, and
# with none it is denied.
level(q) := found[max(object.keys(found))] if {
	found := levels(q)
	count(found) > 0
}

level(q) := "deny" if count(levels(q)) == 0
