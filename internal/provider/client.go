package provider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpguts"

	"evergate/internal/attempt"
	"evergate/internal/fault"
	"evergate/internal/http1"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

var _ attempt.Upstream = (*Client)(nil)

// maxTemplates bounds the remembered request templates. Most vendors have a handful of paths; where the path names the
// model, callers can make up any.
const maxTemplates = 256

// Client is one provider, as attempt needs it. It is safe for concurrent use.
type Client struct {
	options Options
	vendor  *Vendor
	// pooled serves every request; fresh never reuses a connection and serves the one repetition of R58.
	pooled, fresh *http.Transport
	upgrade       *http.Transport // serves those that become a WebSocket
	plain         *http1.Client   // in their place where there is neither TLS nor a proxy; else nil
	dialer        *dialer
	// auth holds each credential's header value, ready to be put into a header map; nil sends none.
	auth       [][]string
	authHeader string
	authPrefix string
	fixed      map[string][]string
	host       string
	rules      []rule
	mask       atomic.Pointer[masker] // masking gives it
	tokens     []*Tokens              // of OAuth credentials, by index; nil: there is none
	now        func() time.Time

	templates     sync.Map // path and query to *http.Request, never changed once stored
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
		fixed: map[string][]string{}, vendor: o.Vendor,
	}
	if c.vendor == nil {
		c.vendor = Compatible()
	}
	c.fresh.DisableKeepAlives = true
	c.upgrade = newUpgrade(&o, d)
	c.plain = newPlain(&c.options, d)
	if err := c.setAuth(); err != nil {
		return nil, err
	}
	if err := c.setTokens(dial); err != nil {
		return nil, err
	}
	c.newMasking()
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

// setAuth makes each credential's header value.
func (c *Client) setAuth() error {
	name, prefix := c.options.AuthHeader, c.options.AuthPrefix
	if name == "" {
		name, prefix = c.vendor.AuthHeader, c.vendor.AuthPrefix
	}
	if name == "" {
		name, prefix = "Authorization", "Bearer "
	}
	c.authPrefix = prefix
	if c.authHeader = http.CanonicalHeaderKey(name); !httpguts.ValidHeaderFieldName(name) {
		return fmt.Errorf("auth header %q is not a header name", name)
	}
	for _, cred := range c.options.Credentials {
		var value []string
		if v := cred.Value.Reveal(); v != "" {
			if !httpguts.ValidHeaderFieldValue(prefix + v) {
				return fmt.Errorf("credential %q holds a character that no HTTP header can carry", cred.Name)
			}
			if c.vendor.Authorize == nil {
				value = []string{prefix + v}
			}
		}
		c.auth = append(c.auth, value)
	}
	return nil
}

// Close closes the idle connections. Requests under way go on, and their connections close after them.
func (c *Client) Close() {
	if c.plain != nil {
		c.plain.Close()
	}
	c.pooled.CloseIdleConnections()
	c.fresh.CloseIdleConnections()
}

// CanStreamUsage says whether the provider knows stream_options.include_usage.
func (c *Client) CanStreamUsage() bool { return c.options.StreamUsage }

// Speaks lists the dialects in which a model can be asked (attempt.Upstream).
func (c *Client) Speaks(model string) []string { return c.vendor.Speaks(model) }

// Stores says where the provider keeps things of a kind (files, batches, uploads), as the ingress asks; an empty path: nowhere.
func (c *Client) Stores(kind string) (path, query string) {
	if c.vendor.Stores == nil {
		return "", ""
	}
	return c.vendor.Stores(kind)
}

// Maker is who made a model (attempt.Upstream); empty: nobody whose seals are known.
func (c *Client) Maker(model string) llm.Vendor {
	if c.vendor.Maker == nil {
		return ""
	}
	return c.vendor.Maker(model)
}

// OmitsModel says whether a request's body must not name the model (attempt.Upstream).
func (c *Client) OmitsModel(dialect, model string) bool {
	return c.vendor.OmitModel != nil && c.vendor.OmitModel(dialect, model)
}

// Quirks are what translated requests for a model must keep to (attempt.Upstream).
func (c *Client) Quirks(model string) wire.Quirks {
	if c.vendor.Quirks == nil {
		return wire.Quirks{}
	}
	return c.vendor.Quirks(model)
}

// Send performs one exchange up to the response head (attempt.Upstream). What the upstream provably did not process is
// sent again once, within the same attempt (R58).
func (c *Client) Send(ctx context.Context, r *attempt.Outgoing) (*http.Response, *fault.Fault) {
	x := &exchange{payload: payload{data: r.Body, release: r.Release}, secure: c.options.BaseURL.Scheme == "https"}
	defer x.seal()
	if err := ctx.Err(); err != nil {
		return nil, c.netFault(ctx, err)
	}
	credential, f := c.chosen(r.Credential, r.Key)
	if f != nil {
		return nil, f
	}
	path, query := c.vendor.Place(r.Dialect, r.Model, r.Stream)
	if path == "" {
		return nil, &fault.Fault{Class: fault.Unable, Message: "the provider has no route for " + r.Dialect}
	}
	t, err := c.placed(r, path, query)
	if err != nil { // R9: a name like .. is none of a model, and leads elsewhere
		return nil, &fault.Fault{Class: fault.ModelMissing, Message: "the model's name cannot stand in a path"}
	}
	if c.vendor.Body != nil {
		x.data = c.vendor.Body(r.Body, r.Dialect, r.Model)
	}
	token, f := c.token(ctx, credential)
	if f != nil {
		return nil, f
	}
	resp, f := c.exchange(ctx, r, t, x, credential, token)
	if token != "" && f == nil && resp.StatusCode == http.StatusUnauthorized {
		return c.repeat(ctx, r, t, x, credential, token, resp)
	}
	return resp, f
}

// exchange sends a request as its template t says; token is that of an OAuth credential, empty for all others.
func (c *Client) exchange(ctx context.Context, r *attempt.Outgoing, t *http.Request, x *exchange, credential int, token Secret) (*http.Response, *fault.Fault) {
	req := new(http.Request)
	*req = *t
	req.Header = c.header(r, credential)
	if r.Key != "" {
		c.payCallers(req, r.Key)
		token = Secret(r.Key)
	} else if f := c.pay(ctx, req, x.data, credential, token); f != nil {
		return nil, f
	}
	resp, err := c.roundTrip(ctx, req, x)
	if err != nil {
		if x.cutHead(err) {
			err = fmt.Errorf("%w: %w", io.ErrUnexpectedEOF, err)
		}
		f := c.netFault(ctx, err)
		if x.unsent() && !f.Unsent { // it was called off while it was still dialling: that costs nothing
			said := *f
			said.Unsent = true
			f = &said
		}
		return nil, f
	}
	if f := switched(resp, false); f != nil { // its body would be the connection, which no deadline ends
		return nil, c.Refine(f)
	}
	c.masking().header(resp.Header, bearer(req, c.vendor, token))
	if f := decode(resp); f != nil {
		return nil, c.Refine(f)
	}
	if r.Key != "" && resp.StatusCode >= http.StatusMultipleChoices { // its words are read
		hideKey(resp, r.Key)
	}
	if c.vendor.Frame != nil && resp.StatusCode >= 200 && resp.StatusCode <= 299 {
		resp.Body = c.vendor.Frame(resp.Header, resp.Body, r.Stream)
	}
	return resp, nil
}

// roundTrip sends a request, and once more what was provably not taken.
func (c *Client) roundTrip(ctx context.Context, req *http.Request, x *exchange) (*http.Response, error) {
	if c.plain != nil {
		out := http1.Request{HTTP: req, Body: x.data, Watcher: x}
		resp, err := c.plain.RoundTrip(ctx, &out)
		if err != nil && ctx.Err() == nil && x.untaken(err) {
			out.Fresh = true
			resp, err = c.plain.RoundTrip(ctx, &out)
		}
		return resp, err
	}
	return c.transported(ctx, req.WithContext(x.traced(ctx)), x)
}

// transported is roundTrip by net/http's transport, which x has to be listening to.
func (c *Client) transported(ctx context.Context, req *http.Request, x *exchange) (*http.Response, error) {
	x.carry(req)
	resp, err := c.pooled.RoundTrip(req)
	if err != nil && ctx.Err() == nil && x.untaken(err) {
		second := *req
		if second.GetBody = nil; len(x.data) > 0 { // and never a third time
			second.Body = x.open()
		}
		resp, err = c.fresh.RoundTrip(&second)
	}
	if err != nil && !x.secure { // HTTP/2 may still read
		x.Written()
	}
	return resp, err
}

// bearer is the token of a request: that of an OAuth credential, or what a vendor's Authorize wrote into it.
func bearer(req *http.Request, v *Vendor, token Secret) string {
	if token != "" || v.Authorize == nil {
		return token.Reveal()
	}
	word, _ := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
	return word
}

// authorize has the vendor write the credential into a request.
func (c *Client) authorize(ctx context.Context, req *http.Request, body []byte, credential int) *fault.Fault {
	key := &Credential{}
	if credential >= 0 {
		key = &c.options.Credentials[credential]
	}
	err := c.vendor.Authorize(ctx, req, body, key)
	if err == nil {
		return nil
	}
	if f := ended(ctx); f != nil {
		return c.ruled(f)
	}
	var f *fault.Fault
	if !errors.As(err, &f) {
		f = &fault.Fault{Class: fault.Auth, Message: "the credential gave no access", Cause: c.masking().cause(err)}
	}
	return c.ruled(f)
}

// chosen is the index of the credential that a request goes out with, -1 with a caller's key or where there are none.
// One that is gone was chosen from the list of another configuration; nobody is asked then.
func (c *Client) chosen(name, callersKey string) (int, *fault.Fault) {
	if callersKey != "" {
		return -1, nil
	}
	i := c.credential(name)
	if i < 0 && len(c.auth) > 0 {
		return -1, &fault.Fault{Class: fault.Next, Unasked: true, Message: "the credential is not configured any more"}
	}
	return i, nil
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
