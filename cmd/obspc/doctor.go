package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/obspc/obspc/compiler"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/runtime"
	"github.com/obspc/obspc/verify/release"
)

func doctorCommand() *cli.Command {
	return &cli.Command{
		Name:      "doctor",
		Usage:     "can this machine run sandboxes, and these policies: yes (0) or no (3)",
		ArgsUsage: "[PATH]",
		Description: `Asks the obsrun beside this program what the machine has of what every run needs,
sets a sandbox up with the options of a run, and takes it down again. What is
missing is named with its remedy; what cannot be found out counts like missing.

With PATH: how each path of the policies resolves here, as obspc exec would bind
it, what stands there, which links lead to it, and what a run would be refused
for. The sandbox of each policy is set up and taken down; no command is started.

   obspc doctor
   obspc doctor .
   obspc doctor policies/build.policy.hcl --workspace ~/src --format json`,
		Flags: []cli.Flag{
			policyFlag("only the policy `NAME`"),
			&cli.StringFlag{Name: "workspace", Usage: "`DIR` to work in, or the word fresh (default: what the policy says, else the current directory)"},
			&cli.BoolFlag{Name: "templates", Usage: "one line for each rule of embedded templates too (json always has them)"},
			&cli.StringFlag{Name: "bwrap", Usage: "use the bubblewrap at `PATH` (default /usr/bin/bwrap)"},
			varFlag(), formatFlag(),
		},
		Action: doctor,
	}
}

func doctor(c *cli.Context) error {
	if err := noRest(c); err != nil {
		return err
	}
	asJSON, err := wantsJSON(c)
	if err != nil {
		return err
	}
	if c.NArg() > 1 {
		return wrongCall("doctor takes one PATH, not %d", c.NArg())
	}
	args := []string{"doctor", "--build", release.Version, "--format", "json"}
	if path := c.String("bwrap"); path != "" {
		args = append(args, "--bwrap", path)
	}
	e, conf := &runtime.Examination{}, (*configuration)(nil)
	if c.NArg() == 0 {
		if c.String("policy") != "" || c.String("workspace") != "" || c.Bool("templates") || len(c.StringSlice("var")) > 0 {
			return wrongCall("--policy, --workspace, --templates and --var are about policies: give their PATH")
		}
		err = askObsrun(e, args)
	} else {
		conf, err = examinePolicies(c, e, args)
	}
	if err != nil {
		return err
	}
	conf.locate(e)
	if asJSON {
		_, err = c.App.Writer.Write(e.JSON())
	} else {
		err = e.WriteText(c.App.Writer, c.Bool("templates"))
	}
	if err == nil && !e.Can {
		err = &exitError{Code: exitMachine}
	}
	return err
}

// examinePolicies compiles the policies of PATH and has obsrun bind them. conf is
// never nil when there is no error.
func examinePolicies(c *cli.Context, e *runtime.Examination, args []string) (*configuration, error) {
	conf, err := load(c, c.Args().First())
	if err != nil {
		return nil, err
	}
	if conf.diags.HasErrors() {
		return nil, conf.report(c, false)
	}
	if name := c.String("policy"); name != "" {
		chosen, err := conf.choose(name)
		if err != nil {
			return nil, err
		}
		conf.results = []compiler.Result{chosen}
	}
	files, err := conf.development(conf.forLinux(c)...)
	if err != nil {
		return nil, err
	}
	if conf.diags.HasErrors() {
		return nil, conf.report(c, false)
	}
	pins, err := developmentPins(files)
	if err != nil {
		return nil, err
	}
	packed, err := release.Pack(files)
	if err != nil {
		return nil, err
	}
	trusted, err := configFlags(conf.trusted())
	if err != nil {
		return nil, err
	}
	args = append(append(args, "--release-fd", "3", "--pins-fd", "4"), trusted...)
	if dir := c.String("workspace"); dir != "" {
		args = append(args, "--workspace", dir)
	}
	return conf, askObsrun(e, args, packed, pins.Format())
}

// forLinux is the policies that Linux is a target of; the others are named. Without
// any, all are left, and the first is refused as exec refuses it.
func (conf *configuration) forLinux(c *cli.Context) []compiler.Result {
	var out []compiler.Result
	for _, r := range conf.results {
		if r.Policy.HasTarget(ir.Bwrap) {
			out = append(out, r)
		}
	}
	if len(out) == 0 {
		return conf.results
	}
	for _, r := range conf.results {
		if !r.Policy.HasTarget(ir.Bwrap) {
			fmt.Fprintf(c.App.ErrWriter, "obspc: policy %s is not for Linux, so it is left out\n", r.Policy.Name)
		}
	}
	return out
}

// askObsrun calls the obsrun beside this program, with each of inputs on a
// descriptor, from 3 on.
func askObsrun(e *runtime.Examination, args []string, inputs ...[]byte) error {
	runner, err := runnerBeside()
	if err != nil {
		return err
	}
	cmd := exec.Command(runner.path, args...)
	cmd.Stderr = os.Stderr
	for _, data := range inputs {
		read, write, err := os.Pipe()
		if err != nil {
			return &exitError{exitMachine, err}
		}
		defer read.Close()
		cmd.ExtraFiles = append(cmd.ExtraFiles, read)
		go func() {
			defer write.Close()
			write.Write(data) // obsrun says when it lacks something
		}()
	}
	text, err := cmd.Output()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		return &exitError{exitMachine, err}
	}
	if len(text) == 0 && ended != nil {
		return &exitError{Code: ended.ExitCode()}
	}
	if err := json.Unmarshal(text, e); err != nil || e.Schema != runtime.ExaminationSchema {
		return &exitError{exitMachine, fmt.Errorf("%s answered with no %s", runner.path, runtime.ExaminationSchema)}
	}
	return nil
}

// locate says of every rule where it is stated.
func (conf *configuration) locate(e *runtime.Examination) {
	for i := range e.Policies {
		p := &e.Policies[i]
		at := slices.IndexFunc(conf.results, func(r compiler.Result) bool { return r.Policy.Name == p.Policy })
		for j := range p.Paths {
			rule := &p.Paths[j]
			if place, ok := conf.results[at].Ranges[ir.Origin(rule.Statement)]; ok {
				place = conf.place(place)
				rule.File, rule.Line, rule.Column = place.File, place.Start.Line, place.Start.Column
			}
		}
	}
}
