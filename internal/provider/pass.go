package provider

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"

	"evergate/internal/attempt"
	"evergate/internal/fault"
)

var _ attempt.RawUpstream = (*Client)(nil)

// SignsBody says whether a request can only be sent with its body at hand (attempt.RawUpstream).
func (c *Client) SignsBody() bool { return c.vendor.SignsBody }

// Pass performs one exchange of a request that a client made for this provider (attempt.RawUpstream). Nothing in it is
// written anew but the credential. Where the body is held, R58 holds as for any other request.
func (c *Client) Pass(ctx context.Context, r *attempt.Raw) (*http.Response, *fault.Fault) {
	x := &exchange{payload: payload{data: r.Body, release: r.Release}, secure: c.options.BaseURL.Scheme == "https"}
	defer x.seal()
	if err := ctx.Err(); err != nil {
		return nil, c.netFault(ctx, err)
	}
	credential, f := c.chosen(r.Credential, r.Key)
	if f != nil {
		return nil, f
	}
	token, f := c.token(ctx, credential)
	if f != nil {
		return nil, f
	}
	resp, f := c.pass(ctx, r, x, credential, token)
	if token == "" || f != nil || resp.StatusCode != http.StatusUnauthorized {
		return resp, f
	}
	if r.Upload != nil { // it cannot be sent again: the next request has another token
		c.tokens[credential].Refused(token)
		return resp, nil
	}
	another, f := c.renewed(ctx, credential, token)
	if another == "" && f == nil {
		return resp, nil
	}
	_ = resp.Body.Close() // nothing in it is wanted
	if f != nil {
		return nil, f
	}
	second := x.twin()
	defer second.seal()
	return c.pass(ctx, r, second, credential, another)
}

// pass sends the request with one credential.
func (c *Client) pass(ctx context.Context, r *attempt.Raw, x *exchange, credential int, token Secret) (*http.Response, *fault.Fault) {
	u, err := rawPlace(c.options.BaseURL, c.vendor.Sides, r.Path, r.Query)
	if err != nil {
		return nil, &fault.Fault{Class: fault.Unable, Unasked: true, Message: "the path leaves the provider's base URL"}
	}
	req := &http.Request{
		Method: r.Method, URL: u, Host: c.host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: c.rawHeader(r, credential),
	}
	if req.Host == "" {
		req.Host = u.Host
	}
	if r.Key != "" {
		c.payCallers(req, r.Key)
		token = Secret(r.Key)
	} else if f := c.pay(ctx, req, x.data, credential, token); f != nil {
		return nil, f
	}
	resp, err := c.rawTrip(ctx, req, r, x)
	if err != nil {
		if x.cutHead(err) {
			err = fmt.Errorf("%w: %w", io.ErrUnexpectedEOF, err)
		}
		return nil, c.netFault(ctx, err)
	}
	if f := switched(resp, r.Upgrade); f != nil {
		return nil, c.Refine(f)
	}
	c.masking().header(resp.Header, bearer(req, c.vendor, token))
	c.localize(resp.Header, u)
	if resp.StatusCode >= http.StatusBadRequest { // it is read, for its words
		if f := decode(resp); f != nil {
			return nil, c.Refine(f)
		}
		if r.Key != "" {
			hideKey(resp, r.Key)
		}
	}
	return resp, nil
}

// switched says what is wrong with a reply that changes the protocol where nobody asked for it, or that does not give
// the connection; and with one whose status is none, which net/http would refuse to write.
func switched(resp *http.Response, asked bool) *fault.Fault {
	switch {
	case resp.StatusCode < 100 || resp.StatusCode > 999:
		_ = resp.Body.Close() // nothing is read from it
		return &fault.Fault{Class: fault.Invalid, Message: "the upstream's status is none of HTTP's"}
	case resp.StatusCode != http.StatusSwitchingProtocols:
		return nil
	}
	if _, ok := resp.Body.(io.ReadWriteCloser); ok && asked && strings.EqualFold(resp.Header.Get("Upgrade"), "websocket") {
		return nil
	}
	_ = resp.Body.Close() // as above
	return &fault.Fault{Class: fault.Invalid, Status: resp.StatusCode, Message: "the upstream changed to a protocol that nobody asked for"}
}

// rawTrip sends a request on the connection that is right for it. A body that can be sent once alone goes out on a new one: a
// pooled connection may turn out to be dead when the body is on its way.
func (c *Client) rawTrip(ctx context.Context, req *http.Request, r *attempt.Raw, x *exchange) (*http.Response, error) {
	req = req.WithContext(x.traced(ctx))
	switch {
	case r.Upgrade:
		return c.upgrade.RoundTrip(req)
	case r.Upload != nil:
		req.Body, req.ContentLength = io.NopCloser(r.Upload), r.Upload.Length
		resp, err := c.fresh.RoundTrip(req)
		return resp, err
	}
	return c.transported(ctx, req, x)
}

// newUpgrade makes the transport for connections that change their protocol, which HTTP/2 has no way for.
func newUpgrade(o *Options, d *dialer) *http.Transport {
	only := *d
	only.config = d.config.Clone()
	only.config.NextProtos = []string{"http/1.1"}
	t := newTransport(o, &only)
	t.ForceAttemptHTTP2, t.DisableKeepAlives = false, true
	t.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	return t
}

// rawHeader makes the headers of a request that goes out as it is: header's rules, but that it is the body of the caller's
// client, which describes it, and that this client speaks to the vendor itself, whose own headers all pass but for those
// that are signed or name an account.
func (c *Client) rawHeader(r *attempt.Raw, credential int) http.Header {
	out := make(http.Header, len(r.Header)+len(c.fixed)+4)
	named := r.Header["Connection"]
	for name, values := range r.Header {
		name = http.CanonicalHeaderKey(name)
		if rawWithheld(name) || name == c.authHeader || named != nil && listed(named, name) {
			continue
		}
		out[name] = values
	}
	hideIdempotency(out)
	if _, ok := out["User-Agent"]; !ok {
		out["User-Agent"] = ourAgent
	}
	if c.vendor.Header != nil {
		c.vendor.Header(out, "")
	}
	trace(out, r.Trace, r.Span)
	for name, values := range c.fixed {
		out[name] = values
	}
	if credential >= 0 && credential < len(c.auth) && c.auth[credential] != nil {
		out[c.authHeader] = c.auth[credential]
	}
	if r.Upgrade {
		upgradeHeader(out, r.Header)
	}
	return out
}

// rawWithheld says whether a header, by its canonical name, stays at the gateway.
func rawWithheld(name string) bool {
	switch {
	case name == "" || name == "Content-Length":
		return true
	case strings.HasPrefix(name, "Content-"), name == "Digest", strings.HasPrefix(name, "X-Amzn-Bedrock-"), strings.HasPrefix(name, "X-Goog-Upload-"):
		return credentialHeader(name)
	case strings.HasPrefix(name, "X-Amz"), strings.HasPrefix(name, "Amz-"), strings.HasPrefix(name, "X-Goog-"):
		return true
	}
	return withheld(name)
}

// keyProtocol begins the subprotocol in which browsers send a key to OpenAI's realtime API, having no header for it.
const keyProtocol = "openai-insecure-api-key."

// upgradeHeader asks for a WebSocket in the words of the client, whose handshake it is. Of its subprotocols those that
// are a credential are left out, and those that name the caller's account.
func upgradeHeader(out, from http.Header) {
	out["Connection"], out["Upgrade"] = []string{"Upgrade"}, []string{"websocket"}
	for _, name := range [...]string{"Sec-Websocket-Key", "Sec-Websocket-Version", "Sec-Websocket-Extensions"} {
		if v := from[name]; len(v) > 0 {
			out[name] = v
		}
	}
	var protocols []string
	for _, line := range from["Sec-Websocket-Protocol"] {
		for p := range strings.SplitSeq(line, ",") {
			p = strings.TrimSpace(p)
			if p != "" && !strings.HasPrefix(p, keyProtocol) && !strings.HasPrefix(p, "openai-organization.") && !strings.HasPrefix(p, "openai-project.") {
				protocols = append(protocols, p)
			}
		}
	}
	if len(protocols) > 0 {
		out["Sec-Websocket-Protocol"] = []string{strings.Join(protocols, ", ")}
	}
}
