package compiler

import (
	"fmt"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang"
	"github.com/obspc/obspc/lang/diag"
)

// proxyVariables are set by the runtime alone: a program that found another proxy
// in one would be refused every connection (curl(1), "ENVIRONMENT").
var proxyVariables = []string{"http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy"}

// environment states the variables of the environment blocks.
func environment(c *compilation) {
	for _, b := range c.bodies {
		for _, v := range b.source.Environment {
			if isProxyVariable(v.Name.Value) {
				c.find(b, environmentProxyVariable(v))
				continue
			}
			b.add(key{kind: variableKind, name: v.Name.Value}, ir.Variable{Name: v.Name.Value, Value: value(v.Value)},
				"environment."+v.Name.Value, v.Name.Range)
		}
	}
}

func isProxyVariable(name string) bool {
	for _, p := range proxyVariables {
		if strings.EqualFold(name, p) {
			return true
		}
	}
	return false
}

// environmentProxyVariable reports a variable that belongs to the runtime.
func environmentProxyVariable(v lang.Variable) diag.Diagnostic {
	return diag.Diagnostic{
		Code:    "environment-proxy-variable",
		At:      v.Name.Range,
		Message: fmt.Sprintf("the variable %s is set by the runtime, which owns the only way out", v.Name.Value),
		Help:    "remove it; allow hosts by endpoint blocks in network",
	}
}
