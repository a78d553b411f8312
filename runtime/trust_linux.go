package runtime

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"

	"golang.org/x/sys/unix"
	"software.sslmate.com/src/go-pkcs12"
)

// Where the proxy ends TLS, programs of the sandbox are to trust its authority. They
// find it in the sandbox's own temporary files, so nothing is mounted for it: what a
// command does to these files concerns that command alone, which could as well ask for
// no certificate.
const (
	trustBundle = "/tmp/.obspc-ca.pem" // certificates in PEM
	trustStore  = "/tmp/.obspc-ca.p12" // the same for Java, which reads key stores alone
)

// trustFile is a file that the first process makes.
type trustFile struct {
	Path string `json:"path"`
	Data []byte `json:"data"`
}

// trustFiles are those for a bundle of certificates; none for none.
func trustFiles(bundle []byte) ([]trustFile, error) {
	if len(bundle) == 0 {
		return nil, nil
	}
	var entries []pkcs12.TrustStoreEntry
	for rest := bundle; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		// What Go does not read, the proxy would not trust either.
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil {
			entries = append(entries, pkcs12.TrustStoreEntry{Cert: cert, FriendlyName: fmt.Sprintf("obspc-%d", len(entries))})
		}
	}
	// Without a password, and so without the time that one costs: it would be no secret.
	store, err := pkcs12.Passwordless.EncodeTrustStoreEntries(entries, "")
	if err != nil {
		return nil, fmt.Errorf("make a key store of the proxy's certificates: %w", err)
	}
	return []trustFile{{trustBundle, bundle}, {trustStore, store}}, nil
}

// write makes the file, in the first process.
func (f trustFile) write() error {
	fd, err := unix.Open(f.Path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o444)
	for rest := f.Data; err == nil && len(rest) > 0; {
		var n int
		n, err = unix.Write(fd, rest)
		rest = rest[max(n, 0):]
	}
	if err == nil {
		err = unix.Close(fd)
	}
	if err != nil {
		return fmt.Errorf("write the proxy's certificates to %s: %w", f.Path, err)
	}
	return nil
}

func noTrust(policy string) *Refusal {
	return refuse(Input, `say write = [tmp] in its filesystem block, or extends = ["std/base"], which has it`,
		"policy %q decides requests inside TLS, and has no temporary files, where programs find the certificates for that", policy)
}
