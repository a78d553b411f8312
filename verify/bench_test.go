package verify

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/obspc/obspc/verify/release"
)

// BenchmarkChecksums reads a release of 128 MiB, half of it held in memory and
// half only hashed, and compares that with hashing the same files by hand.
// ×loop is the median ratio of interleaved pairs.
func BenchmarkChecksums(b *testing.B) {
	in := input(b)
	in.Policies = nil
	for i := range 8 {
		data := bytes.Repeat([]byte{byte(i)}, 8<<20)
		in.Policies = append(in.Policies, release.Policy{Name: fmt.Sprintf("p%d", i), Artifacts: []release.Made{
			{Name: irFile, Kind: "ir", Data: data}, {Name: release.MapName, Kind: release.MapKind, Data: data},
		}})
	}
	files := build(b, in)
	dir := written(b, files)
	b.SetBytes(128 << 20)
	var ratios []float64
	for b.Loop() {
		start := time.Now()
		hashAll(b, dir, files)
		loop := time.Since(start)
		start = time.Now()
		checkAll(b, dir)
		ratios = append(ratios, float64(time.Since(start))/float64(loop))
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "×loop")
}

// BenchmarkChecksumsOfAGigabyte reads a release of 1 GiB and compares that with
// `sha256sum -c` on the same files, in turns. ×sha256sum is the median of the ratios,
// and is to be at most 1.2.
func BenchmarkChecksumsOfAGigabyte(b *testing.B) {
	program, err := exec.LookPath("sha256sum")
	if err != nil {
		b.Skip("host feature missing: sha256sum")
	}
	in := input(b)
	in.Policies = nil
	held, hashed := make([]byte, 2<<20), make([]byte, 14<<20)
	for i := range 64 {
		in.Policies = append(in.Policies, release.Policy{Name: fmt.Sprintf("p%d", i), Artifacts: []release.Made{
			{Name: irFile, Kind: "ir", Data: held}, {Name: release.MapName, Kind: release.MapKind, Data: hashed},
		}})
	}
	dir := written(b, build(b, in))
	b.SetBytes(1 << 30)
	var ratios []float64
	for b.Loop() {
		cmd := exec.Command(program, "-c", "--strict", "--quiet", release.SumsName)
		cmd.Dir = dir
		start := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v: %v\n%s", cmd.Args, err, out)
		}
		theirs := time.Since(start)
		start = time.Now()
		checkAll(b, dir)
		ratios = append(ratios, float64(time.Since(start))/float64(theirs))
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "×sha256sum")
}

func hashAll(b *testing.B, dir string, files []release.File) {
	for _, file := range files {
		f, err := os.Open(filepath.Join(dir, file.Name))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(sha256.New(), f); err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
}

// checkAll runs the checks that read, without the proofs.
func checkAll(b *testing.B, path string) {
	tree, err := Dir(path).open()
	if err != nil {
		b.Fatal(err)
	}
	defer tree.close()
	o := &opening{tree: tree, trust: Trust{Now: now}, report: &Report{}}
	o.stage(Structure, (*opening).structure)
	o.stage(Checksums, (*opening).checksums)
	for _, c := range o.report.Checks {
		if c.Outcome != Passed {
			b.Fatal(o.report)
		}
	}
}

// BenchmarkOpen verifies a release of two small policies from a directory; the
// proof of their artifacts is most of it.
func BenchmarkOpen(b *testing.B) {
	files := sample(b)
	src, trust := Dir(written(b, files)), trusting(b, files)
	for b.Loop() {
		if v, report := Open(src, trust); v == nil {
			b.Fatal(report)
		}
	}
}
