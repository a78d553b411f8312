package rego

import (
	"slices"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
)

// builtins are those that rules may call: functions of their arguments alone.
// What reads a clock, the network, the environment, chance or the host's files is
// not here, nor is what OPA adds in a later version: the list says what is there,
// not what is missing.
var builtins = []string{
	"abs", "and", "array.concat", "array.flatten", "array.reverse", "array.slice", "assign", "base64.decode", "base64.encode", "bits.and",
	"bits.lsh", "bits.negate", "bits.or", "bits.rsh", "bits.xor", "ceil", "concat", "contains", "count", "crypto.sha256",
	"div", "endswith", "eq", "equal", "floor", "format_int", "glob.match", "glob.quote_meta", "graph.reachable", "graph.reachable_paths",
	"gt", "gte", "hex.decode", "hex.encode", "indexof", "indexof_n", "internal.member_2", "internal.member_3", "internal.print",
	"internal.template_string", "internal.test_case", "intersection", "is_array", "is_boolean", "is_null", "is_number", "is_object",
	"is_set", "is_string", "json.filter", "json.is_valid", "json.marshal", "json.remove", "json.unmarshal", "lower", "lt", "lte", "max",
	"min", "minus", "mul", "neq", "net.cidr_contains", "net.cidr_contains_matches", "net.cidr_intersects", "net.cidr_is_valid",
	"net.cidr_merge", "numbers.range", "numbers.range_step", "object.filter", "object.get", "object.keys", "object.remove",
	"object.subset", "object.union", "object.union_n", "or", "plus", "print", "product", "regex.find_all_string_submatch_n",
	"regex.find_n", "regex.is_valid", "regex.match", "regex.replace", "regex.split", "rego.metadata.chain", "rego.metadata.rule", "rem",
	"replace", "round", "semver.compare", "semver.is_valid", "sort", "split", "sprintf", "startswith", "strings.any_prefix_match",
	"strings.any_suffix_match", "strings.count", "strings.render_template", "strings.replace_n", "strings.reverse", "substring", "sum",
	"time.add_date", "time.parse_duration_ns", "time.parse_rfc3339_ns", "to_number", "trim", "trim_left", "trim_prefix", "trim_right",
	"trim_space", "trim_suffix", "type_name", "union", "units.parse", "units.parse_bytes", "upper", "walk",
}

// capabilities are OPA's of this version, less every builtin that is not listed,
// plus obspc's own.
var capabilities = sync.OnceValue(func() *ast.Capabilities {
	c := ast.CapabilitiesForThisVersion()
	c.Builtins = slices.DeleteFunc(slices.Clone(c.Builtins), func(b *ast.Builtin) bool { return !slices.Contains(builtins, b.Name) })
	c.Builtins = append(c.Builtins, &ast.Builtin{Name: changeName, Decl: changeType})
	c.AllowNet = []string{} // not nil: nil would allow any host
	return c
})
