package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/obspc/obspc/compiler"
	"github.com/obspc/obspc/compiler/ir"
	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/targets"
	"github.com/obspc/obspc/targets/models"
)

// explainSchema names the JSON form of an answer.
const explainSchema = "obspc.explain/v1"

func explainCommand() *cli.Command {
	return &cli.Command{
		Name:      "explain",
		Usage:     "say what a policy answers to one request, and which statement decides",
		ArgsUsage: "PATH WORD WHAT [TO], or --sbpl FILE or --bwrap FILE WORD WHAT [TO]",
		Description: `WORD is read, list, stat, write, create, remove, rename, link, execute,
connect, request, connect-unix or syscall. WHAT may begin with ${workspace}, ${home} or
${tmp}; --bind gives a slot its path. The exit code is 0 for allow and for deny.

   obspc explain . read /etc/shadow
   obspc explain . write '${workspace}/.git/hooks/pre-commit'
   obspc explain . rename '${workspace}/a' '${workspace}/b'
   obspc explain . --policy payment-batch connect bank.example.com:443 --by /usr/bin/curl
   obspc explain . request POST https://api.example.com/v1/batches
   obspc explain . syscall ptrace
   obspc explain . --why-not connect bank.example.com:80
   obspc explain . --bind home=/home/u read /home/u/.ssh/id_ed25519

Anybody's Seatbelt profile or command line of bwrap is asked with --sbpl or
--bwrap. What is not known there (the host, a variable, a file to import) makes an
answer undecided where it could turn it. --sbpl takes operations of Seatbelt's own
too, and --bwrap without a word shows what the sandbox has.

   obspc explain --sbpl agent.sb write /Users/u/.zshrc
   obspc explain --sbpl agent.sb --release 13.0 mach-lookup com.apple.pasteboard.1
   obspc explain --bwrap sandbox.sh --param HOME=/home/u read /home/u/.ssh/id_ed25519
   obspc explain --bwrap /proc/4242/cmdline

What macOS logged as refused is explained line by line, with what would allow it:

   log show --last 5m --predicate 'sender == "Sandbox"' | obspc explain . --seatbelt-log -`,
		Flags: append([]cli.Flag{
			policyFlag("ask the policy `NAME`; needed when there are several"),
			&cli.StringFlag{Name: "by", Usage: "the `PROGRAM` that asks (connect, request)"},
			&cli.StringSliceFlag{Name: "bind", Usage: "`SLOT=PATH`: workspace, home or tmp; may be repeated"},
			&cli.BoolFlag{Name: "why-not", Usage: "for what is denied, name the statement that comes nearest and what it lacks"},
			varFlag(), formatFlag(),
		}, slices.Concat(artifactFlags(), logFlags())...),
		Action: explain,
	}
}

func explain(c *cli.Context) error {
	if err := noRest(c); err != nil {
		return err
	}
	if c.IsSet("seatbelt-log") {
		return explainLog(c)
	}
	if c.IsSet("process") {
		return wrongCall("--process goes with --seatbelt-log")
	}
	if a, isProfile, err := artifactNamed(c); a != nil || err != nil {
		return explainArtifact(c, a, isProfile, err)
	}
	if c.NArg() < 3 {
		return wrongCall("explain wants PATH, a word and what it is about; see obspc explain --help")
	}
	asJSON, err := wantsJSON(c)
	if err != nil {
		return err
	}
	words := c.Args().Tail()
	if by := c.String("by"); by != "" {
		words = append(words, "by", by)
	}
	request, err := ir.ParseRequest(words)
	if err != nil {
		return wrongPath(err, "'${workspace}/…', '${home}/…' or a path that begins with /")
	}
	binding, err := parseBinding(c.StringSlice("bind"))
	if err != nil {
		return err
	}
	conf, err := load(c, c.Args().First())
	if err != nil {
		return err
	}
	if conf.diags.HasErrors() {
		return conf.report(c, false)
	}
	result, err := conf.choose(c.String("policy"))
	if err != nil {
		return err
	}
	// On Linux the tmp slot is always /tmp (design 4).
	if _, ok := binding.At(ir.Tmp); !ok && slices.Equal(result.Policy.Targets, []ir.Target{ir.Bwrap}) {
		binding = binding.With(ir.Tmp, ir.MustPath("/tmp"))
	}
	bound, err := result.Policy.Bind(binding)
	if err != nil {
		return wrongCall("%w", err)
	}
	request.Path, request.To, request.By = binding.Path(request.Path), binding.Path(request.To), binding.Path(request.By)
	a := conf.answer(result, bound, request)
	conf.addWhy(&a, result, bound, binding, request, c.Bool("why-not"))
	if err := a.addTargets(result.Policy, binding, request); err != nil {
		return wrongCall("%w", err)
	}
	if asJSON {
		return a.writeJSON(c.App.Writer)
	}
	var text strings.Builder
	a.writeText(&text, request)
	_, err = io.WriteString(c.App.Writer, diag.Visible(text.String()))
	return err
}

// wrongPath is the error of a request or a path that cannot be read, with what to write
// instead.
func wrongPath(err error, paths string) error {
	switch {
	case errors.Is(err, ir.ErrNotAbsolute):
		return wrongCall("%w; write %s", err, paths)
	case errors.Is(err, ir.ErrDotDot):
		return wrongCall("%w; write the path that it leads to, without it", err)
	}
	return wrongCall("%w", err)
}

func parseBinding(words []string) (ir.Binding, error) {
	var b ir.Binding
	for _, w := range words {
		name, at, _ := strings.Cut(w, "=")
		slot, ok := ir.RootNamed(name)
		if !ok || slot == ir.Config {
			return b, wrongCall("--bind %q wants workspace=PATH, home=PATH or tmp=PATH", w)
		}
		p, err := ir.ParsePath(at)
		if err == nil && p.Root() != ir.Host {
			err = fmt.Errorf("path %q %w", at, ir.ErrNotAbsolute)
		}
		if err != nil {
			return b, wrongPath(fmt.Errorf("--bind %s: %w", name, err), "a path that begins with /")
		}
		b = b.With(slot, p)
	}
	return b, nil
}

// answer is what explain says, in the shape of its JSON form.
type answer struct {
	Schema   string                  `json:"schema"`
	Policy   string                  `json:"policy"`
	Query    query                   `json:"query"`
	Decision string                  `json:"decision"`
	Reason   string                  `json:"reason"`
	Rule     *ruleAt                 `json:"rule"`
	Depends  []string                `json:"depends,omitempty"`
	Chain    []*ruleAt               `json:"chain,omitempty"`
	Nearest  *nearest                `json:"nearest,omitempty"`
	Change   string                  `json:"change"`
	Targets  map[string]targetAnswer `json:"targets"`
}

type query struct {
	Kind  string `json:"kind"`
	Value string `json:"value"`
	By    string `json:"by,omitempty"`
}

type ruleAt struct {
	File      string `json:"file"`
	Line      int    `json:"line"`
	Column    int    `json:"column"`
	Text      string `json:"text"`
	Statement string `json:"statement"`
	Template  string `json:"template,omitempty"`
}

type targetAnswer struct {
	Decision string `json:"decision"`
	Layer    string `json:"layer"`
	Note     string `json:"note,omitempty"`
}

func word(allow bool) string {
	if allow {
		return "allow"
	}
	return "deny"
}

// answer decides the request.
func (conf *configuration) answer(r compiler.Result, bound *ir.Policy, q ir.Request) answer {
	d := ir.Decide(bound, q)
	a := answer{
		Schema: explainSchema, Policy: bound.Name, Query: query{Kind: string(q.Kind), Value: q.Value()},
		Decision: word(d.Allow), Reason: reasons[d.Reason], Targets: map[string]targetAnswer{},
	}
	if q.HasBy {
		a.Query.By = q.By.String()
	}
	for _, slot := range ir.Slots() {
		if d.Depends.Has(slot) {
			a.Depends = append(a.Depends, slot.String())
		}
	}
	if d.Rule != nil {
		a.Rule = conf.rule(r, d.Rule)
	}
	return a
}

// addTargets asks the model of each target that the policy is compiled for. One that
// cannot keep the policy says so: nothing of it is compiled, and nothing runs.
func (a *answer) addTargets(p *ir.Policy, b ir.Binding, q ir.Request) error {
	for _, m := range models.All() {
		if !p.HasTarget(m.Target) {
			continue
		}
		artifacts, why := targets.Alone(p, m.Target)
		if why != "" {
			a.Targets[string(m.Target)] = targetAnswer{Decision: cannotKeep, Note: kept(m.Target, why)}
			continue
		}
		if !models.Asked(m.Target, q.Kind) {
			continue
		}
		files := map[string][]byte{}
		for _, f := range artifacts {
			files[f.Name] = f.Data
		}
		alone := *p
		alone.Targets = []ir.Target{m.Target}
		model, err := m.Model(&alone, files, b)
		if err != nil {
			return err
		}
		allow, layer := model.Decide(q)
		a.Targets[string(m.Target)] = targetAnswer{word(allow), layer, a.difference(m.Target, allow, q)}
	}
	return nil
}

// cannotKeep is the decision of a target for which the policy does not compile.
const cannotKeep = "cannot keep this policy"

// kept is why a target cannot keep the policy, without saying again that it cannot.
func kept(t ir.Target, why string) string {
	if rest, ok := strings.CutPrefix(why, string(t)+" cannot keep "); ok {
		return rest
	}
	return why
}

// difference says why a target answers otherwise than the policy.
func (a *answer) difference(t ir.Target, allow bool, q ir.Request) string {
	switch {
	case word(allow) == a.Decision:
		return ""
	case t == ir.Bwrap && (q.Kind == ir.RenameRequest || q.Kind == ir.LinkRequest):
		return "tighter: a held directory lies between the two names and is a mount of its own, so this fails with EXDEV"
	case t == ir.Bwrap && len(a.Depends) > 0:
		return "on an ordinary Linux machine, where ${tmp} is /tmp"
	}
	return "tighter: see obspc matrix"
}

// reasons are the words for why a request was decided as it was.
var reasons = map[ir.Reason]string{
	ir.ByDefault:     "no statement covers it, and what nothing covers is denied",
	ir.ByLevel:       "this is the longest statement that covers it",
	ir.ByHeld:        "the name is held: a statement names it or something below it, so it cannot be made, moved or removed",
	ir.ByExecute:     "it can be read, and this statement lets it start",
	ir.NotExecutable: "it can be read, but no execute statement covers it",
	ir.NoSockets:     `Unix-domain sockets are unix = "none"`,
	ir.Seen:          "its directory can be read, or something below it can",
	ir.EndpointMatch: "this endpoint names host, port and program",
	ir.NoEndpoint:    "no endpoint names this host, port and program",
	ir.HostDenied:    "the policy denies this host, whatever endpoints say",
	ir.HostLoopback:  "the policy shares the machine's loopback",
	ir.ByRequest:     "this block names such requests, and one that denies wins",
	ir.NoRequest:     "the endpoint decides requests, and no allow block of it names this one",
	ir.OtherProtocol: "the endpoint for this host and port is for something else than such requests",
	ir.ByStatement:   "this statement names the call",
	ir.ByList:        "it is one of the calls that no sandbox may make",
	ir.InPart:        "some calls of that name no sandbox may make; the others are carried out",
	ir.NotListed:     "no statement denies it, and what none denies may be called",
}

func (a answer) writeJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(a)
}

// lie is the verb for so many slots.
func lie(n int) string {
	if n == 1 {
		return "lies"
	}
	return "lie"
}

func (a answer) writeText(w io.Writer, q ir.Request) {
	fmt.Fprintf(w, "%s: %s\n", a.Decision, q)
	fmt.Fprintf(w, "  because %s\n", a.Reason)
	if a.Rule != nil {
		fmt.Fprintf(w, "  rule    %s\n  at      %s\n", a.Rule.Text, a.Rule.place())
	}
	if len(a.Depends) > 0 {
		fmt.Fprintf(w, "  depends on where %s %s; this answer holds while the path is outside: give --bind %s=PATH\n",
			strings.Join(a.Depends, " and "), lie(len(a.Depends)), strings.Join(a.Depends, "=PATH --bind "))
	}
	if a.Decision == "allow" && q.Kind.Changes() && q.Path.Root() == ir.Workspace && strings.HasPrefix(q.Path.Rel()+"/", ".obspc/") {
		fmt.Fprintln(w, "  but in a run the directory that holds the policy is read-only, wherever it lies")
	}
	for _, t := range []ir.Target{ir.Bwrap, ir.Seatbelt} {
		ta, ok := a.Targets[string(t)]
		switch {
		case !ok:
		case ta.Decision == cannotKeep:
			fmt.Fprintf(w, "  %-8s %s: %s\n", t, ta.Decision, ta.Note)
		default:
			fmt.Fprintf(w, "  %-8s %s, by %s\n", t, ta.Decision, ta.Layer)
			if ta.Note != "" {
				fmt.Fprintf(w, "           %s\n", ta.Note)
			}
		}
	}
	a.writeWhy(w)
}
