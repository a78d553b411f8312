package propose

import (
	"errors"

	"github.com/obspc/obspc/compiler/ir"
)

// Turn is the one line of a filesystem block that turns the answer to a request, tried
// on the policy; the error says why none does. What is wise to grant, and whether the
// targets keep it, is not asked.
func Turn(p *ir.Policy, b ir.Binding, r ir.Request, list string) (Addition, error) {
	t := &proposer{Setting: Setting{Policy: p, Binding: b}}
	if why := Stated(b, r.Path).Unstatable(); why != "" {
		return Addition{}, errors.New(why)
	}
	if Stated(b, r.Path).Root() == ir.Tmp && list != "read" && list != "write" {
		return Addition{}, errors.New("the tmp slot is written as a whole or not at all: take it out of write")
	}
	a := t.stated(want{List: list, Path: r.Path})
	with := With(p, []Addition{a})
	if err := Compiles(with); err != nil {
		return Addition{}, err
	}
	before, err := p.Bind(b)
	if err != nil {
		return Addition{}, err
	}
	after, err := with.Bind(b)
	if err != nil {
		return Addition{}, err
	}
	if ir.Decide(before, r).Allow == ir.Decide(after, r).Allow {
		return Addition{}, errors.New("other statements decide as well")
	}
	return a, nil
}
