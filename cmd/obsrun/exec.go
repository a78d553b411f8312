package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/runtime"
	"github.com/obspc/obspc/verify"
	"github.com/obspc/obspc/verify/release"
)

var execFlags = []flag{
	{name: "--release-fd", value: "N"}, {name: "--pins-fd", value: "N"}, {name: "--release", value: "DIR"}, {name: "--pins", value: "FILE"},
	{name: "--build", value: "VERSION"}, {name: "--policy", value: "NAME"}, {name: "--workspace", value: "DIR|fresh"},
	{name: "--config-dir", value: "PATH", many: true}, {name: "--evidence", value: "FILE"}, {name: "--format", value: "text|json"},
	{name: "--bwrap", value: "PATH"}, {name: "--stdin"}, {name: "--tty"},
	{name: "--trace"}, {name: "--trace-format", value: "text|json"},
	{name: "--observe"}, {name: "--observe-format", value: "text|json"},
}

// runDevelopment runs any command under a policy that was compiled just now.
func runDevelopment(c *call) error {
	switch {
	case c.has("--build") && c.get("--build") != release.Version:
		return otherBuild(c.get("--build"))
	case len(c.args) > 0:
		return wrongCall("exec takes its command behind --, not %s", strings.Join(c.args, " "))
	case len(c.rest) == 0:
		return wrongCall("exec wants a command behind --")
	case !c.has("--policy"):
		return wrongCall("exec wants --policy NAME")
	case c.has("--release-fd") != c.has("--pins-fd") || c.has("--release") != c.has("--pins") || c.has("--release-fd") == c.has("--release"):
		return wrongCall("exec wants --release-fd and --pins-fd, or --release and --pins")
	}
	job := runtime.Job{Policy: c.get("--policy"), Argv: c.rest, Development: true, Bwrap: c.get("--bwrap")}
	switch dir := c.get("--workspace"); {
	case dir == "fresh":
		job.Workspace.Fresh = true
	case c.has("--workspace") && dir == "":
		return wrongCall("--workspace wants a directory, or the word fresh")
	default:
		job.Workspace.Dir = dir
	}
	job.Trusted = append(job.Trusted, c.values["--config-dir"]...)
	if c.has("--release") {
		job.Trusted = append(job.Trusted, c.get("--release"), c.get("--pins"))
	}
	for _, name := range []string{"--release", "--pins"} {
		job.Trusted = append(job.Trusted, c.values[name]...)
	}
	if c.has("--stdin") {
		job.Stdin = c.stdin
	}
	for _, report := range []string{"--trace", "--observe"} {
		switch f := c.get(report + "-format"); {
		case f != "" && f != "text" && f != "json":
			return wrongCall("%s-format is text or json, not %q", report, f)
		case f != "" && !c.has(report):
			return wrongCall("%s-format wants %s", report, report)
		}
	}
	job.Trace, job.Observe, job.Places = c.has("--trace"), c.has("--observe"), c.place
	var noTerminal error
	if c.has("--tty") {
		job.Terminal, noTerminal = c.terminal()
	}
	return c.execute(job, func() (verify.Source, []byte, error) {
		if noTerminal != nil {
			return nil, nil, noTerminal
		}
		return c.handedOver()
	})
}

// place is where a statement stands, by the map of the release (ir.map.json), which
// is for people: what it does not tell is not known.
func (c *call) place(o ir.Origin) (file string, line int, ok bool) {
	var m struct {
		Statements map[ir.Origin]struct {
			File string `json:"file"`
			Line int    `json:"line"`
		} `json:"statements"`
	}
	if json.Unmarshal(c.places, &m) != nil {
		return "", 0, false
	}
	at, ok := m.Statements[o]
	return at.File, at.Line, ok && at.Line > 0
}

// terminal is the caller's, for --tty.
func (c *call) terminal() (*runtime.Terminal, error) {
	if c.has("--stdin") {
		return nil, wrongCall("--tty gives the command a terminal as its standard input; leave --stdin out")
	}
	file, ok := c.stdin.(*os.File)
	if !ok {
		return nil, wrongCall("--tty wants a file as standard input")
	}
	return runtime.OpenTerminal(file, os.Getenv("TERM"))
}

// otherBuild refuses to work for an obspc that may mean something else.
func otherBuild(build string) *runtime.Refusal {
	r := wrongCall("obspc %s and obsrun %s are not of one build; install both from one archive", build, release.Version)
	r.Code = runtime.Machine
	return r
}

// readPlaces reads where statements stand, which only makes messages better; nil when
// it cannot be had.
func readPlaces(path string) []byte {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	text, err := readAll(path, file, release.MaxFile)
	if err != nil {
		return nil
	}
	return text
}

// handedOver is the release and the pins that obspc made, or that the call names.
func (c *call) handedOver() (verify.Source, []byte, error) {
	mapName := c.get("--policy") + "/" + release.MapName
	if c.has("--release") {
		c.places = readPlaces(filepath.Join(c.get("--release"), mapName))
		pins, err := readPins(c.get("--pins"))
		return verify.Dir(c.get("--release")), pins, err
	}
	packed, err := readDescriptor("--release-fd", c.get("--release-fd"), maxPacked)
	if err != nil {
		return nil, nil, err
	}
	files, err := release.Unpack(packed)
	if err != nil {
		return nil, nil, wrongCall("the release handed over: %v", err)
	}
	for _, f := range files {
		if f.Name == mapName {
			c.places = f.Data
		}
	}
	pins, err := readDescriptor("--pins-fd", c.get("--pins-fd"), maxPins)
	return verify.Memory(files), pins, err
}

// maxPacked bounds a packed release, in bytes.
const maxPacked = 256 << 20

// readDescriptor reads an inherited descriptor to its end and closes it.
func readDescriptor(flag, number string, most int64) ([]byte, error) {
	fd, err := strconv.ParseUint(number, 10, 31)
	if err != nil || fd < 3 {
		return nil, wrongCall("%s wants the number of an open descriptor above 2, not %q", flag, number)
	}
	file := os.NewFile(uintptr(fd), flag)
	defer file.Close()
	return readAll(flag, file, most)
}
