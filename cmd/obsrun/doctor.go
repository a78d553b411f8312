package main

import (
	"slices"
	"time"

	"github.com/obspc/obspc/runtime"
	"github.com/obspc/obspc/verify"
	"github.com/obspc/obspc/verify/release"
)

var doctorFlags = []flag{
	{name: "--release", value: "DIR"}, {name: "--pins", value: "FILE"}, {name: "--release-fd", value: "N"}, {name: "--pins-fd", value: "N"},
	{name: "--policy", value: "NAME", many: true}, {name: "--workspace", value: "DIR|fresh"}, {name: "--config-dir", value: "PATH", many: true},
	{name: "--bwrap", value: "PATH"}, {name: "--build", value: "VERSION"}, {name: "--format", value: "text|json"}, {name: "--templates"},
}

const doctorHelp = `Usage: obsrun doctor [--release DIR --pins FILE [--policy NAME]…] [flags]

Says whether this machine can run sandboxes, and of what it lacks what to do. It
sets one up with the options of a run and takes it down again. With a release, how
the paths of its policies resolve here, and whether the sandbox of each can be set
up; no command is started.

  --release DIR       a release directory
  --pins FILE         what is accepted (made by obspc pin, committed by you)
  --policy NAME       only this policy; again for each
  --workspace DIR     the directory of policies with workspace = "shared" (default: the current directory)
  --templates         one line for each rule of embedded templates too (json always has them)
  --bwrap PATH        bubblewrap (default: /usr/bin/bwrap; PATH is never searched)
  --format text|json  (default: text)

Exit codes: 0 it can; 1 the release is not verified; 2 the call is wrong; 3 it cannot.

Examples:
  obsrun doctor
  obsrun doctor --release release --pins obspc.pins --format json
`

// examine is the verb doctor.
func examine(c *call) error {
	if err := c.doctorCall(); err != nil {
		return err
	}
	ctx, stop := interruptible(nil)
	defer stop()
	var v *verify.Verified
	if c.has("--release") || c.has("--release-fd") {
		var err error
		if v, err = c.examined(); err != nil {
			return err
		}
	}
	e := runtime.Examine(ctx, c.get("--bwrap"))
	if v != nil {
		for _, name := range c.policies(v) {
			job := runtime.Job{Policy: name, Bwrap: c.get("--bwrap"), Development: c.has("--release-fd"), Trusted: c.values["--config-dir"]}
			job.Trusted = append(append(job.Trusted, c.values["--release"]...), c.values["--pins"]...)
			if job.Workspace.Fresh = c.get("--workspace") == "fresh"; !job.Workspace.Fresh {
				job.Workspace.Dir = c.get("--workspace")
			}
			e.Policies = append(e.Policies, runtime.ExaminePolicy(ctx, v, job))
		}
		e.Conclude()
	}
	c.exit = e.ExitCode()
	if c.get("--format") == "json" {
		_, err := c.stdout.Write(e.JSON())
		return err
	}
	return e.WriteText(c.stdout, c.has("--templates"))
}

// doctorCall refuses a call that cannot be understood.
func (c *call) doctorCall() error {
	handed := c.has("--release-fd") || c.has("--pins-fd")
	switch f := c.get("--format"); {
	case c.has("--build") && c.get("--build") != release.Version:
		return otherBuild(c.get("--build"))
	case len(c.args) > 0 || c.dashes:
		return wrongCall("doctor takes flags only; how a policy's paths resolve is shown by obspc doctor PATH")
	case f != "" && f != "text" && f != "json":
		return wrongCall("--format is text or json, not %q", f)
	case c.has("--release") != c.has("--pins") || c.has("--release-fd") != c.has("--pins-fd") || c.has("--release") && handed:
		return wrongCall("doctor wants --release DIR and --pins FILE together, or neither")
	case !c.has("--release") && !handed && (c.has("--policy") || c.has("--workspace")):
		return wrongCall("--policy and --workspace belong to a release: name it with --release DIR and --pins FILE")
	case c.has("--workspace") && c.get("--workspace") == "":
		return wrongCall("--workspace wants a directory")
	}
	return nil
}

// examined is the verified release that the call names.
func (c *call) examined() (*verify.Verified, error) {
	src, data, err := c.handedOver()
	if err != nil {
		return nil, err
	}
	pins, err := release.ParsePins(data)
	if err != nil {
		return nil, wrongCall("%v", err)
	}
	v, report := verify.Open(src, verify.Trust{Pins: pins, Now: time.Now(), Only: c.values["--policy"], Development: c.has("--release-fd")})
	if v == nil {
		return nil, c.notVerified(report)
	}
	for _, w := range report.Warnings {
		c.warn(w)
	}
	return v, nil
}

// policies are those that were asked for, else all that are for this system.
func (c *call) policies(v *verify.Verified) []string {
	if c.has("--policy") {
		return c.values["--policy"]
	}
	return slices.DeleteFunc(v.Policies(), func(name string) bool { return v.Linux(name) == nil })
}
