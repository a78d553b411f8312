package targets

import (
	"github.com/obspc/obspc/compiler/ir"
)

// Answerer is what one target's artifacts make of one machine: it answers a
// request and names the layer that decides it.
type Answerer interface {
	Decide(r ir.Request) (allow bool, layer string)
}

// Modelled is a target whose artifacts can be read back and asked. Model reads
// the policy's artifacts, by name within its folder, for a machine with that
// binding; slots that it leaves open lie apart from everything the policy names.
type Modelled struct {
	Target ir.Target
	Model  func(p *ir.Policy, files map[string][]byte, b ir.Binding) (Answerer, error)
}

// Models lists the targets that can be asked. A target that is missing here has
// artifacts that nothing reads back yet; who asks the others must say so.
func Models() []Modelled {
	return []Modelled{
		{ir.Bwrap, func(p *ir.Policy, files map[string][]byte, b ir.Binding) (Answerer, error) {
			return LinuxModel(p, files, b)
		}},
	}
}
