package proxy

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"sync"
	"time"

	"github.com/obspc/obspc/lang/diag"
	"github.com/obspc/obspc/targets/egress"
)

// certificates is an authority of one run, and the certificates it has given out. Its
// key, and theirs, which is one key, exist only in the memory of this process.
type certificates struct {
	key     *ecdsa.PrivateKey
	cert    *x509.Certificate
	leafKey *ecdsa.PrivateKey

	mu     sync.Mutex
	leaves map[egress.Peer]*tls.Certificate // without ports
}

// How long certificates hold. A run that lasts longer than its authority can make no
// more requests inside TLS; a certificate is made anew when it is about to end. They
// begin before now, for clocks that are set while a run lasts.
const (
	authorityTime = 30 * 24 * time.Hour
	leafTime      = 24 * time.Hour
	slack         = 5 * time.Minute
	maxLeaves     = 1024
)

func newCertificates(now time.Time) *certificates {
	c := &certificates{key: newKey(), leafKey: newKey(), leaves: map[egress.Peer]*tls.Certificate{}}
	template := &x509.Certificate{
		SerialNumber:          serial(),
		Subject:               pkix.Name{CommonName: "obspc, for one run of a sandbox"},
		NotBefore:             now.Add(-slack),
		NotAfter:              now.Add(authorityTime),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &c.key.PublicKey, c.key)
	if err != nil {
		diag.Bug("the certificate of a run's authority: %v", err)
	}
	if c.cert, err = x509.ParseCertificate(der); err != nil {
		diag.Bug("the certificate of a run's authority: %v", err)
	}
	return c
}

func newKey() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		diag.Bug("a key of P-256: %v", err)
	}
	return key
}

func serial() *big.Int {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails
	b[0] &= 0x7f        // RFC 5280, section 4.1.2.2: positive
	return new(big.Int).SetBytes(b)
}

// leaf is a certificate for the peer's name or address.
func (c *certificates) leaf(peer egress.Peer, now time.Time) (*tls.Certificate, error) {
	peer.Port = 0
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.leaves[peer]; known != nil && now.Before(known.Leaf.NotAfter.Add(-leafTime/8)) {
		return known, nil
	}
	template := &x509.Certificate{
		SerialNumber: serial(),
		NotBefore:    now.Add(-slack),
		NotAfter:     now.Add(leafTime),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if peer.Host != "" {
		template.DNSNames = []string{peer.Host}
		if len(peer.Host) <= 64 { // RFC 5280, appendix A.1, ub-common-name
			template.Subject.CommonName = peer.Host
		}
	} else {
		template.IPAddresses = []net.IP{peer.Addr.AsSlice()}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, c.cert, &c.leafKey.PublicKey, c.key)
	if err != nil {
		return nil, fmt.Errorf("a certificate for %s: %w", peer, err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("a certificate for %s: %w", peer, err)
	}
	if len(c.leaves) >= maxLeaves {
		clear(c.leaves)
	}
	made := &tls.Certificate{Certificate: [][]byte{der, c.cert.Raw}, PrivateKey: c.leafKey, Leaf: parsed}
	c.leaves[peer] = made
	return made, nil
}

// systemRoots are where systems keep the authorities they trust, in PEM: Debian and
// its kin, Fedora and its kin, openSUSE, Alpine and macOS.
var systemRoots = []string{
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem",
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	"/etc/ssl/cert.pem",
}

// TrustBundle is, in PEM, the authority of this run and those that the system trusts,
// for the sandbox's trust variables. It is nil unless the policy decides requests
// inside TLS: then no client has to trust anybody it did not trust before.
func (p *Proxy) TrustBundle() []byte {
	if p.ca == nil {
		return nil
	}
	out := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.ca.cert.Raw})
	for _, file := range systemRoots {
		if data, err := os.ReadFile(file); err == nil && bytes.Contains(data, []byte("-----BEGIN CERTIFICATE-----")) {
			return append(out, data...)
		}
	}
	return out
}
