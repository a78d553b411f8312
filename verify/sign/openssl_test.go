package sign

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/obspc/obspc/verify/release"
)

// Another reader comes to the same answer as we do: openssl, about the detached
// signature of either kind of key.
func TestOpensslReadsSignatures(t *testing.T) {
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("host feature missing: openssl")
	}
	for _, kind := range []release.KeyType{release.ECDSAP256, release.Ed25519} {
		s, key := pair(t, kind)
		sums := []byte("the bytes of SHA256SUMS\n")
		text, _, err := s.Sums(sums)
		if err != nil {
			t.Fatal(err)
		}
		signature, err := release.ParseSignature(text)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		for name, data := range map[string][]byte{"sums": sums, "changed": append([]byte("x"), sums...), "sig": signature, "key.pub": key.PEM()} {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		verify := func(file string) ([]byte, error) {
			args := []string{"dgst", "-sha256", "-verify", "key.pub", "-signature", "sig", file}
			if kind == release.Ed25519 {
				args = []string{"pkeyutl", "-verify", "-pubin", "-inkey", "key.pub", "-rawin", "-in", file, "-sigfile", "sig"}
			}
			cmd := exec.Command(openssl, args...)
			cmd.Dir = dir
			return cmd.CombinedOutput()
		}
		if out, err := verify("sums"); err != nil {
			t.Errorf("%s: openssl refuses our signature: %v\n%s", kind, err, out)
		}
		if out, err := verify("changed"); err == nil {
			t.Errorf("%s: openssl takes our signature for a changed file:\n%s", kind, out)
		}
	}
}
