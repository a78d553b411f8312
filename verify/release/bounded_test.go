package release

import (
	"encoding/base64"
	"runtime"
	"strings"
	"testing"
	"time"
)

// mostMemory is what reading one file may allocate in all, in bytes: more than what
// it holds at any time.
const mostMemory = 64 << 20

// allocated is how many bytes f allocates, what it frees again included.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Hostile files are refused at once, and whatever they hold costs little. Those that
// are no larger than a reader's limit are the worst.
func TestReadersAreBounded(t *testing.T) {
	line := hexA + "  a\n"
	fill := func(head, unit, tail string, size int) []byte {
		return []byte(head + strings.Repeat(unit, (size-len(head)-len(tail))/len(unit)) + tail)
	}
	const manifestHead = `{"artifacts":[],"compiler":"x","format":1,"inputs":{"targets":[""`
	const pinsHead = "format 1\nproduct p\nserial 1\nexpiry none\n"
	parseSums := func(data []byte) func() error { return func() error { _, err := ParseSums(data); return err } }
	parseManifest := func(data []byte) func() error { return func() error { _, err := ParseManifest(data); return err } }
	parsePins := func(data []byte) func() error { return func() error { _, err := ParsePins(data); return err } }
	parseKey := func(data []byte) func() error { return func() error { _, err := ParseKey(data); return err } }
	parseSignature := func(data []byte) func() error { return func() error { _, err := ParseSignature(data); return err } }
	unpack := func(data []byte) func() error { return func() error { _, err := Unpack(data); return err } }
	for _, tt := range []struct {
		name string
		read func() error
	}{
		{"sums: a million lines", parseSums(fill("", line, "", 1_000_000*len(line)))},
		{"sums: a long line", parseSums(fill(hexA+"  ", "a", "\n", MaxSums))},
		{"sums: empty lines", parseSums([]byte(strings.Repeat("\n", MaxSums)))},
		{"sums: duplicates", parseSums(fill("", line, "", MaxFiles*len(line)))},
		{"sums: 64 MiB in a line", parseSums(make([]byte, 64<<20))},
		{"manifest: deep", parseManifest([]byte(strings.Repeat("[", 10_000)))},
		{"manifest: deep in a member", parseManifest(fill(`{"format":1,"x":`, "[", "", MaxManifest))},
		{"manifest: many objects", parseManifest(fill(`{"artifacts":[`, "{},", "{}]}", MaxManifest))},
		{"manifest: many strings", parseManifest(fill(manifestHead, `,""`, "]}}", MaxManifest))},
		{"manifest: many numbers", parseManifest(fill(`{"artifacts":[0`, ",0", "]}", MaxManifest))},
		{"manifest: many members", parseManifest(fill(`{"a":0`, `,"b":0`, "}", MaxManifest))},
		{"manifest: a long string", parseManifest(fill(`{"compiler":"`, `\u0000`, `"}`, MaxManifest))},
		{"manifest: too large", parseManifest(make([]byte, MaxManifest+1))},
		{"pins: too large", parsePins(make([]byte, MaxPins+1))},
		{"pins: comments", parsePins(fill("format 1\n", "#\n", "", 8*MaxFiles))},
		{"pins: keys", parsePins(fill(pinsHead, "key ecdsa-p256 "+testKey+"\n", "", MaxPins))},
		{"pins: a long line", parsePins(fill("format ", "1", "\n", MaxPins))},
		{"pins: unknown words", parsePins(fill(pinsHead, "x\n", "", 8*MaxFiles))},
		{"key: too large", parseKey(make([]byte, MaxKeyFile+1))},
		{"key: headers", parseKey(fill("-----BEGIN PUBLIC KEY-----\n", "a: b\n", "\n-----END PUBLIC KEY-----\n", MaxKeyFile))},
		{"key: a long block", parseKey(fill("-----BEGIN PUBLIC KEY-----\n", "AAAA", "\n-----END PUBLIC KEY-----\n", MaxKeyFile))},
		{"key: many blocks", parseKey(fill("", "-----BEGIN X-----\n", "", MaxKeyFile))},
		{"signature: a megabyte", parseSignature(fill("", "AAAA", "", MaxSignature))},
		{"signature: 64 MiB", parseSignature(make([]byte, 64<<20))},
		{"signature: odd", parseSignature([]byte(base64.RawStdEncoding.EncodeToString(make([]byte, 70))))},
		{"archive: nothing in it", unpack(make([]byte, 1<<20))},
		{"archive: claims much", unpack(append(header("a", MaxFile), make([]byte, 2*block)...))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			start := time.Now()
			var err error
			most := allocated(func() { err = tt.read() })
			took := time.Since(start)
			if err == nil || len(err.Error()) > 8<<10 {
				t.Errorf("= %.100v, want a short error", err)
			}
			if took > 5*time.Second || most > mostMemory {
				t.Errorf("refused after %v with %d bytes allocated, want at most %d", took, most, mostMemory)
			}
		})
	}
}
