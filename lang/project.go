package lang

import (
	"github.com/obspc/obspc/lang/diag"
)

// ProjectFile is the file in which a repository says how its release is verified.
const ProjectFile = "obspc.hcl"

// Verify is the verify block of a project file: what `obspc verify` asks for when
// it is called without flags. The zero String means that nothing is said. Paths
// are relative to the file.
type Verify struct {
	Release String   // the release directory
	Source  String   // the policies it must be compiled from
	Golden  String   // the directory of committed golden files
	Pins    String   // the pins file
	Keys    []String // public key files: one of them signed
	Rules   []String // house rules: directories, or "std"
	Base    String   // what was in use before, for rules about changes

	Variables []String // values of the policies' variables, as "NAME=VALUE"
}

// ParseProject reads a project file. The findings are as those of Parse.
func ParseProject(name string, text []byte) (*Verify, diag.List) {
	p := &parser{
		config: &Config{Sources: Sources{name: text}, Variables: map[string]string{}},
		files:  []string{name},
		vars:   map[string]*variable{}, locals: map[string]*local{},
		bounds: bounds{left: workLimit}, formIndex: map[Field]int{},
	}
	v := &Verify{}
	for _, step := range []func(*parser){(*parser).scanAll, (*parser).parseAll, v.decode} {
		if step(p); p.diags.HasErrors() {
			break
		}
	}
	return v, p.capped()
}

func (v *Verify) decode(p *parser) {
	for _, body := range p.parsed {
		file := &block{p: p, kind: "project file"}
		file.fill(body)
		b := file.single("verify")
		if b == nil {
			continue
		}
		for name, to := range map[string]*String{
			"release": &v.Release, "source": &v.Source, "golden": &v.Golden, "pins": &v.Pins, "base": &v.Base,
		} {
			*to = b.str(name)
		}
		for name, to := range map[string]*[]String{"keys": &v.Keys, "rules": &v.Rules, "variables": &v.Variables} {
			for _, it := range b.items(name, constant) {
				if s, ok := p.str(it, "an element of "+name); ok {
					*to = append(*to, s)
				}
			}
		}
	}
}
