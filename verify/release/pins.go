package release

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// PinsName is the customary name of a pins file.
const PinsName = "obspc.pins"

// pinsFormat is the generation of pins files that this version reads, as the file
// states it.
const (
	pinsGeneration = 1
	pinsFormat     = "1"
)

// Pins say which releases of one product a consumer accepts. They are committed
// in the consumer's repository, apart from any release, and reviewed like code.
type Pins struct {
	Product   string
	Serial    int64    // lowest serial accepted
	NoExpiry  bool     // releases that never expire are accepted
	Keys      []Key    // one of them must have signed the release; empty: nobody need
	Sums      []Digest // digests of a SHA256SUMS: whole releases; with Keys they may be absent
	Artifacts Sums     // digests of single artifacts, by POLICY/FILE
	Revoked   []Digest // digests of a SHA256SUMS, an artifact or a key that is never accepted again

	// Windows say when keys are trusted, by their IDs; a key without one always is.
	Windows map[Digest]Window

	// comments are the comment lines that stand before a directive, by the text
	// that identifies it; those at the end of the file by "".
	comments map[string][]string
}

// Pinned reports whether the whole release with that digest of SHA256SUMS is
// accepted.
func (p *Pins) Pinned(sums Digest) bool { return slices.Contains(p.Sums, sums) }

// ByKey reports whether a release is accepted for its signature alone: keys are
// listed, and no digest is.
func (p *Pins) ByKey() bool { return len(p.Keys) > 0 && len(p.Sums) == 0 && len(p.Artifacts) == 0 }

// IsRevoked reports whether d is never accepted again.
func (p *Pins) IsRevoked(d Digest) bool { return slices.Contains(p.Revoked, d) }

// Window is when a key is trusted: from its beginning on, and until before its end.
// A zero time is no bound. It is held against the time of the verification: when
// something was signed only the signer knows, and whoever stole a key would lie.
type Window struct{ From, Until time.Time }

// Holds reports whether the key is trusted at that time.
func (w Window) Holds(at time.Time) bool {
	return !at.Before(w.From) && (w.Until.IsZero() || at.Before(w.Until))
}

// String is the window as a pins file states it, "" for none.
func (w Window) String() string {
	var words []string
	if !w.From.IsZero() {
		words = append(words, "from", formatTime(w.From))
	}
	if !w.Until.IsZero() {
		words = append(words, "until", formatTime(w.Until))
	}
	return strings.Join(words, " ")
}

// Trusts reports whether a key may vouch at that time as far as the pins say: it is
// not revoked, and its window holds. Nil pins say nothing.
func (p *Pins) Trusts(k Key, at time.Time) bool {
	return p == nil || !p.IsRevoked(k.ID()) && p.Windows[k.ID()].Holds(at)
}

// Format is the pins file: one directive a line in a fixed order, lists sorted,
// each line with the comments it was read with.
func (p *Pins) Format() []byte {
	var b bytes.Buffer
	line := func(key, text string) {
		if notes := p.comments[key]; len(notes) > 0 {
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			for _, c := range notes {
				b.WriteString(c + "\n")
			}
		}
		if text != "" {
			b.WriteString(text + "\n")
		}
	}
	expiry := "required"
	if p.NoExpiry {
		expiry = "none"
	}
	line("format", "format "+pinsFormat)
	line("product", "product "+p.Product)
	line("serial", "serial "+strconv.FormatInt(p.Serial, 10))
	line("expiry", "expiry "+expiry)
	for _, list := range [][]string{p.keyLines(), p.sumsLines(), p.artifactLines(), p.revokedLines()} {
		slices.Sort(list)
		for _, text := range list {
			line(text, text)
		}
	}
	line("", "")
	return b.Bytes()
}

func (p *Pins) keyLines() (out []string) {
	for _, k := range p.Keys {
		out = append(out, strings.TrimSuffix(fmt.Sprintf("key %s %s %s", k.Type, k.Base64(), p.Windows[k.ID()]), " "))
	}
	return out
}

func (p *Pins) sumsLines() (out []string) {
	for _, d := range p.Sums {
		out = append(out, "sha256sums "+string(d))
	}
	return out
}

func (p *Pins) artifactLines() (out []string) {
	for _, e := range p.Artifacts {
		out = append(out, fmt.Sprintf("artifact %s %s", e.Name, e.Digest))
	}
	return out
}

func (p *Pins) revokedLines() (out []string) {
	for _, d := range p.Revoked {
		out = append(out, "revoked "+string(d))
	}
	return out
}

func (p *Pins) clone() *Pins {
	q := *p
	q.Keys, q.Sums, q.Artifacts, q.Revoked = slices.Clone(p.Keys), slices.Clone(p.Sums), slices.Clone(p.Artifacts), slices.Clone(p.Revoked)
	q.Windows, q.comments = maps.Clone(p.Windows), maps.Clone(p.comments)
	return &q
}

// ParsePins reads a pins file: lines of words with one space between them, "#"
// comments on lines of their own, blank lines. Every directive but the lists
// stands exactly once. The error is SyntaxErrors.
func ParsePins(data []byte) (*Pins, error) {
	r := &pinsReader{lineReader: lineReader{file: PinsName}, seen: map[string]int{}, names: nameSet{}}
	r.pins.comments = map[string][]string{}
	if first := beginning(data); !isDirective(first) {
		return nil, SyntaxErrors{noPins(first)}
	}
	lines := r.lines(data, MaxPins, 4*MaxFiles)
	if r.errs != nil {
		return nil, r.errs
	}
	for i, line := range lines {
		if message := r.line(i+1, line); message != "" {
			r.fault(i+1, message)
		}
	}
	r.comment("")
	for _, key := range []string{"format", "product", "serial", "expiry"} {
		if r.seen[key] == 0 {
			r.fault(len(lines)+1, key+" is missing")
		}
	}
	if r.errs != nil {
		return nil, r.errs
	}
	p := r.pins
	slices.SortFunc(p.Keys, func(a, b Key) int {
		return strings.Compare(string(a.Type)+a.DER, string(b.Type)+b.DER)
	})
	slices.Sort(p.Sums)
	slices.SortFunc(p.Artifacts, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	slices.Sort(p.Revoked)
	return &p, nil
}

// beginning is the first line that is neither blank nor a comment.
func beginning(data []byte) string {
	for line := range bytes.Lines(data) {
		if len(bytes.TrimSpace(line)) > 0 && line[0] != '#' {
			return string(bytes.TrimRight(line, "\n"))
		}
	}
	return ""
}

// isDirective reports whether a line has a word of pins files at its beginning,
// whatever else is wrong with it.
func isDirective(line string) bool {
	word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
	_, ok := directives[word]
	return ok
}

// noPins reports a file of another kind: one fault, not one for each line of it.
func noPins(first string) *SyntaxError {
	const most = 24
	shown := "is empty"
	switch {
	case len(first) > most:
		shown = fmt.Sprintf("begins with %+q…", first[:most])
	case first != "":
		shown = fmt.Sprintf("begins with %+q", first)
	}
	return &SyntaxError{File: PinsName, Message: "this is no pins file: it " + shown + "; obspc pin writes one"}
}

type pinsReader struct {
	lineReader
	pins    Pins
	seen    map[string]int // directive's key → line
	names   nameSet
	pending []string // comments not yet given to a directive
}

// comment gives the pending comment lines to the directive with that key.
func (r *pinsReader) comment(key string) {
	if len(r.pending) > 0 {
		r.pins.comments[key], r.pending = r.pending, nil
	}
}

// line reads one line and returns what is wrong with it.
func (r *pinsReader) line(n int, line string) string {
	switch {
	case line == "":
		return ""
	case !utf8.ValidString(line):
		return "line is not valid UTF-8"
	case strings.ContainsFunc(line, func(c rune) bool { return !unicode.IsPrint(c) }):
		// A bidirectional control could make a reviewer read another line.
		return "line holds a character that does not print"
	case line[0] == '#':
		r.pending = append(r.pending, line)
		return ""
	}
	words := strings.Split(line, " ")
	if slices.Contains(words, "") {
		return "want one space between words and none around them"
	}
	directive, ok := directives[words[0]]
	if !ok {
		return fmt.Sprintf("unknown word %q; known are format, product, serial, expiry, key, sha256sums, artifact, revoked", words[0])
	}
	if len(words) != 1+directive.words && !(directive.more && len(words) > 1+directive.words) {
		return fmt.Sprintf("want %q", directive.form)
	}
	key := words[0]
	if directive.list {
		key = line
	}
	if at := r.seen[key]; at > 0 {
		return fmt.Sprintf("%s is stated a second time; first in line %d", words[0], at)
	}
	if len(r.seen) == 0 && key != "format" {
		r.seen[key] = n
		return `the first statement must be "format ` + pinsFormat + `"`
	}
	r.seen[key] = n
	r.comment(key)
	return directive.read(r, words[1:])
}

// directives are the statements of a pins file.
var directives map[string]directive

type directive struct {
	form  string
	words int
	more  bool // further words may follow
	list  bool
	read  func(r *pinsReader, words []string) string
}

func init() {
	directives = map[string]directive{
		"format":     {"format " + pinsFormat, 1, false, false, readFormat},
		"product":    {"product NAME", 1, false, false, readProduct},
		"serial":     {"serial NUMBER", 1, false, false, readSerial},
		"expiry":     {"expiry required|none", 1, false, false, readExpiry},
		"key":        {"key TYPE BASE64 [from TIME] [until TIME]", 2, true, true, readKey},
		"sha256sums": {"sha256sums SHA256", 1, false, true, readSums},
		"artifact":   {"artifact POLICY/FILE SHA256", 2, false, true, readArtifact},
		"revoked":    {"revoked SHA256", 1, false, true, readRevoked},
	}
}

func readFormat(_ *pinsReader, w []string) string {
	if w[0] == pinsFormat {
		return ""
	}
	if n, err := strconv.Atoi(w[0]); err == nil && n > pinsGeneration {
		return fmt.Sprintf("format %s was written by a newer obspc; this version reads format %s", w[0], pinsFormat)
	}
	return fmt.Sprintf("format %s, this version reads format %s", w[0], pinsFormat)
}

func readProduct(r *pinsReader, w []string) string {
	r.pins.Product = w[0]
	return message(CheckProduct(w[0]))
}

func readSerial(r *pinsReader, w []string) string {
	n, err := strconv.ParseInt(w[0], 10, 64)
	if err != nil || n < 0 || n > MaxSerial || strconv.FormatInt(n, 10) != w[0] {
		return fmt.Sprintf("serial %q is no whole number from 0 to %d", w[0], int64(MaxSerial))
	}
	r.pins.Serial = n
	return ""
}

func readExpiry(r *pinsReader, w []string) string {
	if w[0] != "required" && w[0] != "none" {
		return fmt.Sprintf("expiry is %q, want required or none", w[0])
	}
	r.pins.NoExpiry = w[0] == "none"
	return ""
}

func readKey(r *pinsReader, w []string) string {
	if t := KeyType(w[0]); t != ECDSAP256 && t != Ed25519 {
		return fmt.Sprintf("key type is %q, want %s or %s", w[0], ECDSAP256, Ed25519)
	}
	k, err := parseKey(w[0], w[1])
	if err != nil {
		return err.Error()
	}
	window, fault := readWindow(w[2:])
	switch {
	case fault != "":
		return fault
	case slices.Contains(r.pins.Keys, k):
		return "the key is stated a second time"
	case window != Window{}:
		if r.pins.Windows == nil {
			r.pins.Windows = map[Digest]Window{}
		}
		r.pins.Windows[k.ID()] = window
	}
	r.pins.Keys = append(r.pins.Keys, k)
	if at := r.seen["revoked "+string(k.ID())]; at > 0 {
		return fmt.Sprintf("key is revoked in line %d", at)
	}
	return ""
}

// readWindow reads "from TIME until TIME", either of which may be missing.
func readWindow(words []string) (w Window, fault string) {
	for _, bound := range []struct {
		word string
		to   *time.Time
	}{{"from", &w.From}, {"until", &w.Until}} {
		if len(words) < 2 || words[0] != bound.word {
			continue
		}
		at, err := ParseTime(words[1])
		if err != nil {
			return w, err.Error()
		}
		*bound.to, words = at, words[2:]
	}
	switch {
	case len(words) > 0:
		return w, fmt.Sprintf("want %q", directives["key"].form)
	case !w.Until.IsZero() && !w.Until.After(w.From):
		return w, "the key's window is empty: it ends before it begins"
	}
	return w, ""
}

func readSums(r *pinsReader, w []string) string {
	d, err := ParseDigest(w[0])
	r.pins.Sums = append(r.pins.Sums, d)
	if at := r.seen["revoked "+w[0]]; at > 0 {
		return fmt.Sprintf("digest is revoked in line %d", at)
	}
	return message(err)
}

func readArtifact(r *pinsReader, w []string) string {
	if err := CheckName(w[0]); err != nil {
		return err.Error()
	}
	if !strings.Contains(w[0], "/") {
		return fmt.Sprintf("artifact %q lies in no policy's folder", w[0])
	}
	if err := r.names.add(w[0]); err != nil {
		return err.Error()
	}
	d, err := ParseDigest(w[1])
	r.pins.Artifacts = append(r.pins.Artifacts, Entry{w[0], d})
	return message(err)
}

func readRevoked(r *pinsReader, w []string) string {
	d, err := ParseDigest(w[0])
	r.pins.Revoked = append(r.pins.Revoked, d)
	if at := r.seen["sha256sums "+w[0]]; at > 0 {
		return fmt.Sprintf("digest is pinned in line %d", at)
	}
	if slices.ContainsFunc(r.pins.Keys, func(k Key) bool { return k.ID() == d }) {
		return "the key of that digest is pinned above"
	}
	return message(err)
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
