package front

import (
	"crypto/tls"
	"sync"
	"sync/atomic"
	"time"
)

// Certificates are those that a listener shows, which may be replaced while it serves. A handshake takes what is in force when it begins; no
// connection ends because of a change. Its methods are safe for concurrent use.
type Certificates struct {
	now atomic.Pointer[Certificate]

	mu    sync.Mutex
	files Files
	doubt doubt
}

// NewCertificates takes what was loaded from files.
func NewCertificates(f Files, c *Certificate) *Certificates {
	out := &Certificates{files: f}
	out.now.Store(c)
	return out
}

// Config is for a server that serves until it ends.
func (c *Certificates) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return c.now.Load().config, nil
		},
	}
}

// Current is the certificate that is shown.
func (c *Certificates) Current() *Certificate { return c.now.Load() }

// Take puts other files in force, which were loaded before.
func (c *Certificates) Take(f Files, loaded *Certificate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.files = f
	if c.now.Load().sum != loaded.sum || c.now.Load().settings() != loaded.settings() {
		c.now.Store(loaded)
	}
}

// settings are what else a handshake depends on.
func (c *Certificate) settings() [2]int {
	return [2]int{int(c.config.ClientAuth), int(c.config.MinVersion)}
}

// Look reads the files again and puts in force what changed. What cannot be used is not taken, and what is in force stays: the error says what is
// wrong, once, at the second look that finds the same content, as of two files that belong together one is there first. Nor is a certificate
// taken that is not in force at that time, while the present one is.
func (c *Certificates) Look(now time.Time) (changed bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	content, err := contentOf(c.files)
	if err != nil {
		return false, c.doubted(sum([]byte(err.Error())), err)
	}
	if content == c.now.Load().sum {
		c.doubt = doubt{}
		return false, nil
	}
	loaded, err := Load(c.files)
	if err == nil && c.now.Load().Valid(now) == nil {
		err = loaded.Valid(now)
	}
	if err != nil {
		return false, c.doubted(content, err)
	}
	c.now.Store(loaded)
	c.doubt = doubt{}
	return true, nil
}

// doubt is a content that was refused at the last look, and how often.
type doubt struct {
	content [32]byte
	looks   int
}

func (c *Certificates) doubted(content [32]byte, err error) error {
	if c.doubt.content != content {
		c.doubt = doubt{content: content}
	}
	if c.doubt.looks++; c.doubt.looks == 2 {
		return err
	}
	return nil
}

func contentOf(f Files) (s [32]byte, err error) {
	var all [3][]byte
	for i, name := range [...]string{f.Cert, f.Key, f.ClientCA} {
		if name == "" {
			continue
		}
		if all[i], err = read([...]string{"cert_file", "key_file", "client_ca_file"}[i], name); err != nil {
			return s, err
		}
	}
	return sum(all[0], all[1], all[2]), nil
}
