package main

import (
	"fmt"
	"strings"
)

// flag is one flag of a verb. Value names what it takes, "" when it takes
// nothing; Many may be given several times.
type flag struct {
	name  string
	value string
	many  bool
}

// parsed is a command line taken apart: flags by name, what is no flag, and what
// stands behind "--". A flag may stand before or after the arguments.
type parsed struct {
	values map[string][]string
	args   []string
	rest   []string
	dashes bool // there was a "--"
	help   bool
}

// get is a flag's value, "" when it was not given.
func (p *parsed) get(name string) string {
	if v := p.values[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// has reports whether the flag was given.
func (p *parsed) has(name string) bool { return len(p.values[name]) > 0 }

// parse takes args apart. What is not known, given twice or without its value is
// an error: a flag is never ignored.
func parse(flags []flag, args []string) (parsed, error) {
	p := parsed{values: map[string][]string{}}
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			p.rest, p.dashes = args[i+1:], true
			return p, nil
		case arg == "--help" || arg == "-h":
			p.help = true
			continue
		case len(arg) < 2 || arg[0] != '-':
			p.args = append(p.args, arg)
			continue
		}
		name, value, inline := strings.Cut(arg, "=")
		f, ok := find(flags, name)
		switch {
		case !ok:
			return p, fmt.Errorf("unknown flag %s", name)
		case f.value == "" && inline:
			return p, fmt.Errorf("%s takes no value", name)
		case f.value != "" && !inline:
			if i++; i >= len(args) {
				return p, fmt.Errorf("%s wants a value: %s %s", name, name, f.value)
			}
			value = args[i]
		}
		if len(p.values[name]) > 0 && !f.many {
			return p, fmt.Errorf("%s is given twice", name)
		}
		p.values[name] = append(p.values[name], value)
	}
	return p, nil
}

func find(flags []flag, name string) (flag, bool) {
	for _, f := range flags {
		if f.name == name {
			return f, true
		}
	}
	return flag{}, false
}
