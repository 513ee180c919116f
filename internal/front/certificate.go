package front

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
)

// Files say how a listener speaks TLS.
type Files struct {
	Cert, Key string
	ClientCA  string // empty: clients show no certificate
	Optional  bool   // clients may show none
	Min       uint16 // version of TLS
}

// FileError is what is wrong with one of the files. Its words hold nothing of a key.
type FileError struct {
	Key string // of the configuration: cert_file, key_file, client_ca_file
	Err error
}

func (e *FileError) Error() string { return e.Err.Error() }
func (e *FileError) Unwrap() error { return e.Err }

// ErrNotInForce says of a certificate that its time is over or has not begun.
var ErrNotInForce = errors.New("the certificate is not in force")

// Certificate is what was made of the files: it never changes.
type Certificate struct {
	config *tls.Config
	leaf   *x509.Certificate
	sum    [sha256.Size]byte // of the files' content
}

// Names are who the certificate is for, and End when its time is over.
func (c *Certificate) Names() []string { return names(c.leaf) }

// End is when the certificate's time is over.
func (c *Certificate) End() time.Time { return c.leaf.NotAfter }

// Valid says at a time whether the certificate is in force; the error is an ErrNotInForce.
func (c *Certificate) Valid(now time.Time) error {
	switch {
	case now.After(c.leaf.NotAfter):
		return &FileError{"cert_file", fmt.Errorf("%w: it ended on %s", ErrNotInForce, c.leaf.NotAfter.UTC().Format(time.RFC3339))}
	case now.Before(c.leaf.NotBefore):
		return &FileError{"cert_file", fmt.Errorf("%w: it begins on %s", ErrNotInForce, c.leaf.NotBefore.UTC().Format(time.RFC3339))}
	}
	return nil
}

// Load reads the files. The error is a *FileError.
func Load(f Files) (*Certificate, error) {
	cert, err := read("cert_file", f.Cert)
	if err != nil {
		return nil, err
	}
	key, err := read("key_file", f.Key)
	if err != nil {
		return nil, err
	}
	var clients []byte
	if f.ClientCA != "" {
		if clients, err = read("client_ca_file", f.ClientCA); err != nil {
			return nil, err
		}
	}
	out := &Certificate{sum: sum(cert, key, clients)}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, pairError(cert, key, err)
	}
	if out.leaf = pair.Leaf; out.leaf == nil {
		if out.leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
			return nil, &FileError{"cert_file", errors.New("has no certificate that can be read")}
		}
	}
	out.config = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: f.Min, NextProtos: []string{"h2", "http/1.1"}}
	if f.ClientCA == "" {
		return out, nil
	}
	out.config.ClientCAs = x509.NewCertPool()
	if !out.config.ClientCAs.AppendCertsFromPEM(clients) {
		return nil, &FileError{"client_ca_file", fmt.Errorf("there is no certificate in %s", f.ClientCA)}
	}
	out.config.ClientAuth = tls.RequireAndVerifyClientCert
	if f.Optional {
		out.config.ClientAuth = tls.VerifyClientCertIfGiven
	}
	return out, nil
}

// maxFile bounds what is read of a file: no bundle of authorities is nearly as large.
const maxFile = 8 << 20

func read(key, name string) ([]byte, error) {
	b, err := ReadFile(name)
	if err != nil {
		var path *fs.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		return nil, &FileError{key, fmt.Errorf("%s cannot be read: %w", name, err)}
	}
	return b, nil
}

// ReadFile reads a file of at most 8 MiB, if it is one: a pipe would be waited for.
func ReadFile(name string) ([]byte, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case info.Size() > maxFile:
		return nil, errors.New("it is too large")
	}
	return os.ReadFile(name) //nolint:gosec // the operator names it
}

// pairError says which of the two files is wrong. The standard library has words for it, but no types.
func pairError(cert, key []byte, err error) error {
	switch {
	case strings.Contains(err.Error(), "does not match"):
		return &FileError{"key_file", errors.New("the private key does not belong to the certificate in cert_file")}
	case !pem(cert, "CERTIFICATE") || !strings.Contains(err.Error(), "key"):
		return &FileError{"cert_file", errors.New("there is no certificate in it that can be read; it must be in PEM, the listener's own first")}
	case bytes.Contains(key, []byte("ENCRYPTED")):
		return &FileError{"key_file", errors.New("the private key is under a passphrase; store it without one, readable for the gateway alone")}
	}
	return &FileError{"key_file", errors.New("there is no private key in it that can be read; it must be in PEM")}
}

func pem(b []byte, what string) bool { return bytes.Contains(b, []byte("-----BEGIN "+what+"-----")) }

// sum tells contents apart.
func sum(files ...[]byte) (s [sha256.Size]byte) {
	h := sha256.New()
	for _, f := range files {
		_, _ = fmt.Fprintf(h, "%d ", len(f)) // a hash never fails
		_, _ = h.Write(f)
	}
	h.Sum(s[:0])
	return s
}
