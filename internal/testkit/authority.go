package testkit

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority signs certificates for a test.
type Authority struct {
	File string // its own certificate, in PEM
	Pool *x509.CertPool

	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	made int64
}

// Issued is a certificate and its key, in memory and as files.
type Issued struct {
	CertFile, KeyFile string
	TLS               tls.Certificate
}

// NewAuthority makes one that lives as long as the test. Its time is that of the bubble, if there is one.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{Pool: x509.NewCertPool(), dir: t.TempDir()}
	a.key = newKey(t)
	a.cert = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "an authority of a test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(10 * 365 * 24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, a.cert, a.cert, &a.key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.Pool.AddCert(a.cert)
	a.File = filepath.Join(a.dir, "authority.pem")
	writePEM(t, a.File, "CERTIFICATE", der)
	return a
}

// Issue signs for names, of which each may be a host, an address or a URI, for servers and clients alike; it begins an hour ago and ends after life.
func (a *Authority) Issue(t testing.TB, life time.Duration, names ...string) Issued {
	t.Helper()
	a.made++
	key := newKey(t)
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(1 + a.made), Subject: pkix.Name{CommonName: names[0]}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(life),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, name := range names {
		u, err := url.Parse(name)
		switch ip := net.ParseIP(name); {
		case ip != nil:
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		case err == nil && u.Scheme != "":
			leaf.URIs = append(leaf.URIs, u)
		default:
			leaf.DNSNames = append(leaf.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(a.dir, leaf.SerialNumber.String())
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	out := Issued{CertFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key")}
	writePEM(t, out.CertFile, "CERTIFICATE", der)
	writePEM(t, out.KeyFile, "PRIVATE KEY", pkcs8)
	if out.TLS, err = tls.LoadX509KeyPair(out.CertFile, out.KeyFile); err != nil {
		t.Fatal(err)
	}
	return out
}

// Replace puts another certificate's files in the place of this one's.
func (i Issued) Replace(t testing.TB, by Issued) {
	t.Helper()
	for from, to := range map[string]string{by.CertFile: i.CertFile, by.KeyFile: i.KeyFile} {
		b, err := os.ReadFile(from) //nolint:gosec // the test's own
		if err == nil {
			err = os.WriteFile(to, b, 0o600) //nolint:gosec // as above
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func writePEM(t testing.TB, file, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}
