package seatbelt

import (
	"strconv"

	"github.com/obspc/obspc/compiler/ir"
)

// ProxyParameter is the name under which the runtime passes the port of the proxy,
// which the profile of a policy with endpoints asks for: without it the whole profile
// is refused.
const ProxyParameter = "PROXY"

// Arguments are what sandbox-exec(1) takes before "--" and the command: the profile as
// a string, and a parameter for each slot that b binds and for the proxy's port, a
// number so that no text of another form ever stands in an address of the profile. 0
// stands for no proxy.
func Arguments(profile string, b ir.Binding, proxy uint16) []string {
	out := []string{"-p", profile}
	for _, slot := range ir.Slots() {
		if at, ok := b.At(slot); ok {
			out = append(out, "-D", parameters[slot]+"="+at.String())
		}
	}
	if proxy != 0 {
		out = append(out, "-D", ProxyParameter+"="+strconv.Itoa(int(proxy)))
	}
	return out
}
