package provider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpguts"

	"evergate/internal/attempt"
	"evergate/internal/fault"
)

var _ attempt.Upstream = (*Client)(nil)

// maxTemplates bounds the remembered request templates; dialects use a handful of paths, passthrough may use any.
const maxTemplates = 64

// Client is one OpenAI-compatible provider, as attempt needs it. It is safe for concurrent use.
type Client struct {
	options Options
	// pooled serves every request; fresh never reuses a connection and serves the one repetition of R58.
	pooled, fresh *http.Transport
	dialer        *dialer
	// auth holds each credential's header value, ready to be put into a header map; nil sends none.
	auth       [][]string
	authHeader string
	fixed      map[string][]string
	host       string
	rules      []rule
	mask       *masker
	now        func() time.Time

	templates     sync.Map // path to *http.Request, never changed once stored
	templateCount atomic.Int32
}

// New makes the client of one provider. Connections are made by dial, or by a net.Dialer where it is nil; the
// connect timeout of the options holds either way. It opens no connection and reads the TLS files, so its errors are
// about configuration: unreadable files, a classify rule that is no regular expression, a value no header can carry.
// No error holds a credential.
func New(o Options, dial DialFunc) (*Client, error) {
	if o.BaseURL == nil || o.BaseURL.Host == "" {
		return nil, errors.New("base URL without a host")
	}
	d, err := newDialer(&o, dial)
	if err != nil {
		return nil, err
	}
	rules, err := compileRules(o.Name, o.Classify)
	if err != nil {
		return nil, err
	}
	c := &Client{
		options: o, dialer: d, pooled: newTransport(&o, d), fresh: newTransport(&o, d), rules: rules, now: time.Now,
		mask: newMasker(o.Credentials), fixed: map[string][]string{},
	}
	c.fresh.DisableKeepAlives = true
	if c.authHeader = http.CanonicalHeaderKey(o.AuthHeader); c.authHeader == "" {
		c.authHeader = "Authorization"
	}
	if !httpguts.ValidHeaderFieldName(c.authHeader) {
		return nil, fmt.Errorf("auth header %q is not a header name", o.AuthHeader)
	}
	for _, cred := range o.Credentials {
		var value []string
		if v := cred.Value.Reveal(); v != "" {
			if !httpguts.ValidHeaderFieldValue(o.AuthPrefix + v) {
				return nil, fmt.Errorf("credential %q holds a character that no HTTP header can carry", cred.Name)
			}
			value = []string{o.AuthPrefix + v}
		}
		c.auth = append(c.auth, value)
	}
	for name, secret := range o.Headers {
		v := secret.Reveal()
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(v) {
			return nil, fmt.Errorf("header %q is not a valid HTTP header", name)
		}
		if name = http.CanonicalHeaderKey(name); name == "Host" {
			c.host = v
			continue
		}
		c.fixed[name] = []string{v}
	}
	return c, nil
}

// Close closes the idle connections. Requests under way go on, and their connections close after them.
func (c *Client) Close() {
	c.pooled.CloseIdleConnections()
	c.fresh.CloseIdleConnections()
}

// CanStreamUsage says whether the provider knows stream_options.include_usage.
func (c *Client) CanStreamUsage() bool { return c.options.StreamUsage }

// Send performs one exchange up to the response head (attempt.Upstream). What the upstream provably did not process is
// sent again once, within the same attempt (R58).
func (c *Client) Send(ctx context.Context, r *attempt.Outgoing) (*http.Response, *fault.Fault) {
	x := &exchange{payload: payload{data: r.Body, release: r.Release}, secure: c.options.BaseURL.Scheme == "https"}
	defer x.seal()
	if err := ctx.Err(); err != nil {
		return nil, c.netFault(ctx, err)
	}
	credential := c.credential(r.Credential)
	if credential < 0 && len(c.auth) > 0 { // chosen from a newer configuration's list
		return nil, &fault.Fault{Class: fault.Next, Message: "the credential is not configured any more"}
	}
	req := c.template(http.MethodPost, r.Path).WithContext(x.traced(ctx))
	req.Header = c.header(r.Header, credential)
	x.carry(req)
	resp, err := c.pooled.RoundTrip(req)
	if err != nil && ctx.Err() == nil && x.untaken(err) {
		second := *req
		if second.GetBody = nil; len(r.Body) > 0 { // and never a third time
			second.Body = x.open()
		}
		resp, err = c.fresh.RoundTrip(&second)
	}
	if err != nil {
		if !x.secure {
			x.failed()
		}
		if x.cutHead(err) {
			err = fmt.Errorf("%w: %w", io.ErrUnexpectedEOF, err)
		}
		return nil, c.netFault(ctx, err)
	}
	c.mask.header(resp.Header)
	if f := decode(resp); f != nil {
		return nil, c.Refine(f)
	}
	return resp, nil
}

// credential is the index of a credential, -1 if there is none of that name.
func (c *Client) credential(name string) int {
	for i := range c.options.Credentials {
		if c.options.Credentials[i].Name == name {
			return i
		}
	}
	return -1
}

// template is the unchanging part of a request to path. Parsing a URL for every request would cost more than all of
// the header work.
func (c *Client) template(method, path string) *http.Request {
	key := path
	if method != http.MethodPost {
		key = method + " " + path
	}
	if t, ok := c.templates.Load(key); ok {
		return t.(*http.Request)
	}
	t := &http.Request{
		Method: method, URL: below(c.options.BaseURL, path), Host: c.host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if t.Host == "" {
		t.Host = t.URL.Host
	}
	if c.templateCount.Load() < maxTemplates {
		if _, loaded := c.templates.LoadOrStore(key, t); !loaded {
			c.templateCount.Add(1)
		}
	}
	return t
}

// below appends path, which begins with a slash, to the base's path and leaves the base's query alone.
func below(base *url.URL, path string) *url.URL {
	u := *base
	u.Path += path
	if u.RawPath != "" {
		u.RawPath += path
	}
	u.User = nil
	return &u
}
