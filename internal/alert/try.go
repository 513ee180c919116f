package alert

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"evergate/internal/reach"
)

// maxReply is how much of a receiver's answer is read, so that its connection can be used again.
const maxReply = 64 << 10

// outcome is what a try came to.
type outcome struct {
	delivered bool
	status    int
	why       string        // nothing in it is from the receiver, or from its URL
	again     bool          // it may work later
	wait      time.Duration // that the receiver named
}

// try sends an alert once.
func (p *post) try(ctx context.Context, a *Alert) outcome {
	ctx, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	r := p.receiver.Load()
	body := a.body(r.Format)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL, bytes.NewReader(body))
	if err != nil {
		return outcome{why: "its URL cannot be used"}
	}
	now := time.Now()
	h := req.Header
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", "evergate")
	h.Set("Evergate-Event", string(a.Event))
	if r.Secret != "" {
		h.Set(SignatureHeader, Sign(r.Secret, now, body))
	}
	if u := req.URL.User; u != nil {
		password, _ := u.Password()
		req.SetBasicAuth(u.Username(), password)
	}
	resp, err := p.w.o.Client.RoundTrip(req)
	if err != nil {
		p.w.hangUp() // a connection that died silently would be used for every try
		return outcome{why: words(ctx, err), again: true}
	}
	defer resp.Body.Close()               //nolint:errcheck // nothing is left to be lost
	if resp.StatusCode >= http.StatusOK { // else it has the connection for a body, which ends with nothing
		_, _ = io.CopyN(io.Discard, resp.Body, maxReply)
	}
	o := outcome{status: resp.StatusCode, why: "it answers with status " + strconv.Itoa(resp.StatusCode)}
	switch {
	case resp.StatusCode < 200:
	case resp.StatusCode < 300:
		return outcome{delivered: true, status: resp.StatusCode}
	case resp.StatusCode < 400:
		o.why += ", and redirects are not followed"
	case resp.StatusCode >= 500, resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode == http.StatusRequestTimeout:
		o.again, o.wait = true, retryAfter(resp.Header.Get("Retry-After"), now)
	}
	return o
}

// retryAfter reads seconds or a date; 0: neither.
func retryAfter(s string, now time.Time) time.Duration {
	if n, err := strconv.Atoi(s); err == nil && n > 0 {
		return min(time.Duration(min(n, 1<<20))*time.Second, giveUp)
	}
	if at, err := http.ParseTime(s); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// words says what an error is without what it says: it may have the receiver's URL in it, or its host.
func words(ctx context.Context, err error) string {
	var (
		dns       *net.DNSError
		refused   *reach.RefusedError
		untrusted x509.UnknownAuthorityError
		name      x509.HostnameError
		invalid   x509.CertificateInvalidError
		record    tls.RecordHeaderError
		slow      net.Error
	)
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return "the gateway stopped before it answered"
	case errors.Is(ctx.Err(), context.DeadlineExceeded), errors.As(err, &slow) && slow.Timeout():
		return "it did not answer within " + tryTime.String()
	case errors.As(err, &refused):
		return "its host's name leads to an address that it must not lead to without private: true"
	case errors.As(err, &dns):
		return "its host is not found"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "it refuses connections"
	case errors.As(err, &untrusted), errors.As(err, &name), errors.As(err, &invalid):
		return "its certificate is not valid"
	case errors.As(err, &record):
		return "it does not speak TLS"
	}
	return "the connection to it broke"
}
