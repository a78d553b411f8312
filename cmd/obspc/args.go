package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// restKey is where the words behind "--" wait for the command.
const restKey = "rest"

// restOf is what stood behind "--", and whether there was one.
func restOf(c *cli.Context) []string {
	rest, _ := c.App.Metadata[restKey].([]string)
	return rest
}

// flagsFirst moves flags before arguments, because cli stops at the first
// argument and silently ignores every flag behind it, and takes the words behind
// "--" away, because cli drops that word and forgets where it stood.
func flagsFirst(app *cli.App, args []string) (ordered, rest []string, err error) {
	words := args[min(1, len(args)):]
	for i, w := range words {
		if w == "--" {
			words, rest = words[:i], words[i+1:]
			break
		}
	}
	if len(words) == 0 {
		return args[:min(1, len(args))], rest, nil
	}
	if words[0] == "--version" || words[0] == "-v" {
		words = append([]string{"version"}, words[1:]...)
	}
	command := app.Command(words[0])
	if command == nil {
		return append(args[:1:1], words...), rest, nil
	}
	var flags, arguments []string
	for i := 1; i < len(words); i++ {
		w := words[i]
		if !strings.HasPrefix(w, "-") || w == "-" {
			arguments = append(arguments, w)
			continue
		}
		flags = append(flags, w)
		if err := knownFlag(command, w); err != nil {
			return nil, nil, err
		}
		if takesValue(command, w) {
			if i+1 == len(words) {
				return nil, nil, wrongCall("flag %s needs a value", w)
			}
			i++
			flags = append(flags, words[i])
		}
	}
	ordered = append(args[:1:1], words[0])
	ordered = append(ordered, flags...)
	if len(arguments) > 0 {
		ordered = append(append(ordered, "--"), arguments...)
	}
	return ordered, rest, nil
}

// knownFlag refuses a flag that the command does not have.
func knownFlag(command *cli.Command, word string) error {
	name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
	names := []string{"help", "h"}
	for _, f := range command.Flags {
		names = append(names, f.Names()...)
	}
	if slices.Contains(names, name) {
		return nil
	}
	err := wrongCall("%s has no flag %s; %s", command.Name, word, suggestion(name, names, "obspc "+command.Name+" --help lists them"))
	if command.Name == "exec" {
		return refusedAs125(err)
	}
	return err
}

// takesValue reports whether the flag word is followed by its value. An unknown
// flag takes none; cli refuses it.
func takesValue(command *cli.Command, word string) bool {
	name := strings.TrimLeft(word, "-")
	if strings.Contains(name, "=") {
		return false
	}
	for _, f := range command.Flags {
		for _, n := range f.Names() {
			if n != name {
				continue
			}
			_, isBool := f.(*cli.BoolFlag)
			return !isBool
		}
	}
	return false
}

// noRest refuses words behind "--" for commands that start nothing.
func noRest(c *cli.Context) error {
	if rest := restOf(c); len(rest) > 0 {
		return wrongCall("%s takes nothing behind --", c.Command.Name)
	}
	return nil
}

// oneArgument is the command's single argument.
func oneArgument(c *cli.Context, what string) (string, error) {
	if err := noRest(c); err != nil {
		return "", err
	}
	switch c.NArg() {
	case 1:
		return c.Args().First(), nil
	case 0:
		return "", wrongCall("%s wants %s; see obspc %s --help", c.Command.Name, what, c.Command.Name)
	}
	return "", wrongCall("%s wants one %s, not %d arguments", c.Command.Name, what, c.NArg())
}
