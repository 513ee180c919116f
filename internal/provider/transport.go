package provider

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"evergate/internal/http1"
	"evergate/internal/reach"
)

// DialFunc makes a connection, as net.Dialer.DialContext does.
type DialFunc func(ctx context.Context, network, address string) (net.Conn, error)

const (
	maxIdlePerHost  = 1024             // a burst's connections are worth keeping: a new one costs two round trips
	idleTimeout     = 90 * time.Second // longer than clients pause, shorter than most servers' patience
	maxResponseHead = 256 << 10        // bytes
	// Bytes, and they count for every open stream. A request's head and a small body fit into one write; larger bodies
	// go past the buffer.
	readBuffer       = 2 << 10
	writeBuffer      = 1 << 10
	http2PingAfter   = 15 * time.Second // of silence on an HTTP/2 connection with requests on it
	http2PingTimeout = 10 * time.Second // without an answer to the ping: the connection is dead
	http2WriteStall  = 30 * time.Second // without a byte written
)

// newTransport makes a transport. It follows no redirects, keeps no cookies and decodes nothing: those are a client's
// doings, not a transport's.
func newTransport(o *Options, d *dialer) *http.Transport {
	proxy := http.ProxyFromEnvironment
	if o.Proxy != nil {
		proxy = http.ProxyURL(o.Proxy)
	}
	return &http.Transport{
		Proxy:               proxy,
		DialContext:         d.plain,
		DialTLSContext:      d.secure,
		TLSClientConfig:     d.config.Clone(), // for TLS inside of a proxy's tunnel, which the transport does itself
		TLSHandshakeTimeout: o.ConnectTimeout,
		ForceAttemptHTTP2:   true,
		OnProxyConnectResponse: func(_ context.Context, _ *url.URL, _ *http.Request, answer *http.Response) error {
			if answer.StatusCode == http.StatusOK {
				return nil
			}
			return &connectError{proxy: true, err: fmt.Errorf("the proxy answers with status %d", answer.StatusCode)}
		},
		// Asking for gzip would make the upstream spend time and delay events; what comes compressed all the same is
		// decoded by this package.
		DisableCompression:     true,
		MaxIdleConnsPerHost:    maxIdlePerHost,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxResponseHead,
		WriteBufferSize:        writeBuffer,
		ReadBufferSize:         readBuffer,
		HTTP2: &http.HTTP2Config{
			SendPingTimeout: http2PingAfter, PingTimeout: http2PingTimeout, WriteByteTimeout: http2WriteStall,
		},
	}
}

// newPlain makes the client for an upstream without TLS and without a proxy before it; nil for all others, for host
// names that net/http spells in another way on the wire, and on systems that cannot say whether an idle connection has ended.
func newPlain(o *Options, d *dialer) *http1.Client {
	if !canPoll || o.BaseURL.Scheme != "http" || o.Proxy != nil || strings.ContainsFunc(o.BaseURL.Host, func(r rune) bool { return r == '%' || r >= 0x80 }) {
		return nil
	}
	if through, err := http.ProxyFromEnvironment(&http.Request{URL: o.BaseURL}); through != nil || err != nil {
		return nil
	}
	address := o.BaseURL.Host
	if o.BaseURL.Port() == "" {
		address = net.JoinHostPort(o.BaseURL.Hostname(), "80")
	}
	return http1.New(http1.Options{
		Dial: func(ctx context.Context) (http1.Conn, error) {
			c, err := d.dialPlain(ctx, "tcp", address)
			if err != nil {
				return nil, err
			}
			return c, nil
		},
		MaxIdle: maxIdlePerHost, IdleTimeout: idleTimeout, MaxHead: maxResponseHead, ReadBuffer: readBuffer,
	})
}

// tlsConfig reads the files. The system's roots stay trusted beside a CA file: the file adds one's own authority.
func tlsConfig(files TLS) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	if files.CAFile != "" {
		pem, err := os.ReadFile(files.CAFile)
		if err != nil {
			return nil, fmt.Errorf("tls.ca_file: %w", err)
		}
		roots, err := x509.SystemCertPool()
		if err != nil {
			roots = x509.NewCertPool()
		}
		if !roots.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("tls.ca_file: no certificate in %s", files.CAFile)
		}
		config.RootCAs = roots
	}
	if (files.CertFile == "") != (files.KeyFile == "") {
		return nil, errors.New("tls.cert_file and tls.key_file go together")
	}
	if files.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(files.CertFile, files.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("tls.cert_file, tls.key_file: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// dialer makes connections within one time limit, TLS included, and says in its errors which of the two failed.
type dialer struct {
	dial    DialFunc
	timeout time.Duration // 0 = none
	config  *tls.Config
	proxies []string // hosts
}

// connectError is a connection that was not made. Nothing was sent on it.
type connectError struct {
	tls     bool
	proxy   bool // it is the proxy that made none
	timeout bool
	err     error
}

func (e *connectError) Error() string { return e.err.Error() }
func (e *connectError) Unwrap() error { return e.err }

func newDialer(o *Options, dial DialFunc) (*dialer, error) {
	config, err := tlsConfig(o.TLS)
	if err != nil {
		return nil, err
	}
	proxies := reach.EnvironmentProxies()
	if o.Proxy != nil {
		proxies = []string{strings.ToLower(o.Proxy.Hostname())}
	}
	if dial == nil {
		dial = DialFunc(reach.With(&net.Dialer{KeepAlive: 15 * time.Second}, reach.Options{Private: o.Private, Trusted: proxies}))
	}
	return &dialer{dial: dial, timeout: o.ConnectTimeout, config: config, proxies: proxies}, nil
}

func (d *dialer) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if d.timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, d.timeout)
}

func (d *dialer) plain(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := d.dialPlain(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (d *dialer) dialPlain(ctx context.Context, network, address string) (*conn, error) {
	ctx, cancel := d.limit(ctx)
	defer cancel()
	return d.open(ctx, network, address)
}

func (d *dialer) open(ctx context.Context, network, address string) (*conn, error) {
	raw, err := d.dial(ctx, network, address)
	if err != nil {
		return nil, &connectError{err: err, timeout: isTimeout(ctx, err)}
	}
	return newConn(raw), nil
}

func (d *dialer) secure(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := d.limit(ctx)
	defer cancel()
	c, err := d.open(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c.tls = true
	config := d.config.Clone()
	if config.ServerName, _, err = net.SplitHostPort(address); err != nil {
		config.ServerName = address
	}
	if slices.Contains(d.proxies, strings.ToLower(config.ServerName)) { // which is asked for a tunnel in HTTP/1.1, and is not who the certificate is for
		config.NextProtos, config.Certificates = nil, nil
	}
	secured := tls.Client(c, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = c.Close()
		return nil, &connectError{err: err, tls: true, timeout: isTimeout(ctx, err)}
	}
	c.http2.Store(secured.ConnectionState().NegotiatedProtocol == "h2")
	return secured, nil
}

// isTimeout says whether err is a time limit that ran out, ctx's or the system's own.
func isTimeout(ctx context.Context, err error) bool {
	var t interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.As(err, &t) && t.Timeout() || errors.Is(ctx.Err(), context.DeadlineExceeded)
}
