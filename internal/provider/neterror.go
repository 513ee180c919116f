package provider

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/textproto"
	"strings"
	"syscall"

	"evergate/internal/fault"
	"evergate/internal/http1"
	"evergate/internal/reach"
)

// netFault is the fault of an exchange that brought no response (R1, R2). The caller's own end comes first: if ctx is
// done, whatever else went wrong is its consequence.
func (c *Client) netFault(ctx context.Context, err error) *fault.Fault {
	if f := ended(ctx); f != nil {
		return c.ruled(f)
	}
	class, message := classifyNet(err)
	var connect *connectError
	return c.ruled(&fault.Fault{Class: class, Message: message, Unsent: errors.As(err, &connect), Cause: c.masking().cause(err)})
}

// ReadFault classifies an error met while a response body was read (attempt.Upstream). io.EOF too is an error here: it
// is called with one only where the answer was not complete.
func (c *Client) ReadFault(ctx context.Context, err error) *fault.Fault {
	if f := ended(ctx); f != nil {
		return c.ruled(f)
	}
	var known *fault.Fault
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, errCorrupt):
		return c.ruled(&fault.Fault{Class: fault.Invalid, Message: "the answer's content encoding is corrupt", Cause: c.masking().cause(err)})
	}
	class, message := classifyNet(err)
	if class == fault.Reset {
		message = "connection lost during the answer"
	}
	return c.ruled(&fault.Fault{Class: class, Message: message, Cause: c.masking().cause(err)})
}

// ended is the fault of a context that is done, nil if it is not.
func ended(ctx context.Context) *fault.Fault {
	if ctx.Err() == nil {
		return nil
	}
	cause := context.Cause(ctx)
	var f *fault.Fault
	switch {
	case errors.As(cause, &f):
		return f
	case errors.Is(cause, context.DeadlineExceeded):
		return &fault.Fault{Class: fault.Timeout, Message: "timed out", Cause: cause}
	}
	return &fault.Fault{Class: fault.ClientGone, Message: "request cancelled", Cause: cause}
}

// classifyNet gives a network error its class and its public words, which hold no address.
func classifyNet(err error) (fault.Class, string) {
	if starved(err) {
		return fault.Next, "the gateway has no file descriptor, port or memory left for a connection"
	}
	var connect *connectError
	if errors.As(err, &connect) {
		if connect.timeout {
			return fault.Timeout, "connect timed out"
		}
		return fault.Connect, connectWords(connect)
	}
	var op *net.OpError
	if errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect" || op.Op == "socks connect") {
		if op.Timeout() {
			return fault.Timeout, "connect timed out"
		}
		return fault.Connect, connectWords(&connectError{err: err, proxy: op.Op == "socks connect"})
	}
	var timeout interface{ Timeout() bool }
	var protocol textproto.ProtocolError
	var header *http1.HeaderError
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return fault.Timeout, "timed out"
	case errors.Is(err, errSentTwice):
		return fault.Reset, errSentTwice.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), err.Error() == closedIdle:
		return fault.Reset, "connection closed before an answer"
	case errors.As(err, &protocol), notHTTP(err):
		return fault.Invalid, "the upstream did not answer in HTTP"
	case errors.As(err, &header), strings.HasPrefix(err.Error(), "net/http: invalid header"):
		return fault.Rejected, "a request header cannot be sent"
	}
	// ECONNRESET, EPIPE, HTTP/2 stream errors, lost pings and whatever else ends a connection.
	return fault.Reset, "connection reset before an answer"
}

// starved says that this machine, not the upstream, could not make the connection: nobody's fault but ours, so no
// provider's breaker counts it (R18).
func starved(err error) bool {
	for _, no := range [...]syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.EADDRNOTAVAIL, syscall.ENOBUFS, syscall.ENOMEM} {
		if errors.Is(err, no) {
			return true
		}
	}
	return false
}

// notHTTP knows the transport's words for a response head that is not one; they have no types.
func notHTTP(err error) bool {
	s := err.Error()
	return errors.Is(err, http1.ErrHeadTooLarge) || strings.Contains(s, "malformed HTTP") || strings.Contains(s, "malformed MIME header") ||
		strings.Contains(s, "server response headers exceeded") || strings.Contains(s, "bad Content-Length")
}

// connectWords says in public words why a connection was not made.
func connectWords(err *connectError) string {
	var refused *reach.RefusedError
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &refused):
		return "the host's name leads to an address that it must not lead to"
	case errors.As(err, &dns):
		return "DNS lookup failed"
	case errors.As(err, &certificate), errors.As(err, &authority), errors.As(err, &name), errors.As(err, &invalid):
		return "TLS certificate not trusted"
	case err.tls:
		return "TLS handshake failed"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "no route to host"
	case err.proxy:
		return "the proxy refuses the connection"
	}
	return "connection not made"
}
