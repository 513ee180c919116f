package provider

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"evergate/internal/attempt"
	"evergate/internal/fault"
)

// setTokens makes what keeps the access tokens of OAuth credentials (R32).
func (c *Client) setTokens(dial DialFunc) error {
	if !slices.ContainsFunc(c.options.Credentials, func(k Credential) bool { return k.OAuth != nil }) {
		return nil
	}
	client, err := NewHTTPClient(&c.options, dial)
	if err != nil {
		return err
	}
	c.tokens = make([]*Tokens, len(c.options.Credentials))
	for i := range c.options.Credentials {
		if o := c.options.Credentials[i].OAuth; o != nil {
			c.tokens[i] = o.Tokens(client)
		}
	}
	return nil
}

// Inherit takes over the tokens of other clients' credentials that are the same, whatever their names: a refresh token
// that was exchanged for another is good for nothing, and only they know the other. Call it before the client is used.
// The token endpoint is asked by way of this client's network settings from then on.
func (c *Client) Inherit(from ...*Client) {
	for i, own := range c.tokens {
		if own == nil {
			continue
		}
		for _, other := range from {
			if theirs := other.tokensLike(own); theirs != nil {
				theirs.grant.over(own.grant)
				c.tokens[i] = theirs
				break
			}
		}
	}
	c.newMasking()
}

// tokensLike are those of the same credential; nil: the client does not have it.
func (c *Client) tokensLike(t *Tokens) *Tokens {
	for _, own := range c.tokens {
		if own != nil && own.grant.of.same(&t.grant.of) {
			return own
		}
	}
	return nil
}

// TokenView is the refresh breaker of a credential, by name; false: it has none.
func (c *Client) TokenView(credential string, now time.Time) (TokenView, bool) {
	if t := c.tokensOf(c.credential(credential)); t != nil {
		return t.View(now), true
	}
	return TokenView{}, false
}

// tokensOf is what keeps a credential's access token; nil: it is no OAuth credential.
func (c *Client) tokensOf(credential int) *Tokens {
	if credential < 0 || credential >= len(c.tokens) {
		return nil
	}
	return c.tokens[credential]
}

// token is a credential's access token; empty without a fault: it is no OAuth credential. The fault says in how much time
// the token endpoint may be asked again.
func (c *Client) token(ctx context.Context, credential int) (Secret, *fault.Fault) {
	tokens := c.tokensOf(credential)
	if tokens == nil {
		return "", nil
	}
	token, err := tokens.Get(ctx)
	if err == nil {
		return token, nil
	}
	return "", c.tokenless(ctx, tokens, err)
}

// tokenless is the fault of a request that got no token. Whatever ended it, the provider was not asked.
func (c *Client) tokenless(ctx context.Context, tokens *Tokens, err error) *fault.Fault {
	var f *fault.Fault
	switch end := ended(ctx); {
	case end != nil && end.Class == fault.Timeout: // of the attempt, spent on the token endpoint
		f = TokenFault(0, "", end)
		f.TimedOut = true
		return f
	case end != nil:
		f = end
	case !errors.As(err, &f):
		f = TokenFault(0, "", c.masking().cause(err))
	}
	out := *f
	out.Unasked = true
	if now := time.Now(); out.Class == fault.NoToken {
		if v := tokens.View(now); v.RetryAt.After(now) {
			out.Wait = fault.Wait{For: v.RetryAt.Sub(now), Named: true}
		}
	}
	c.hide(&out)
	return &out
}

// renewed gives another token in the place of one that the provider refused; empty without a fault: there is none to
// try.
func (c *Client) renewed(ctx context.Context, credential int, refused Secret) (Secret, *fault.Fault) {
	if !c.tokens[credential].Refused(refused) {
		return "", nil
	}
	token, f := c.token(ctx, credential)
	if token == refused {
		return "", nil
	}
	return token, f
}

// pay writes a credential into a request: an access token as a bearer (RFC 6750), whatever header the provider's keys
// have.
func (c *Client) pay(ctx context.Context, req *http.Request, body []byte, credential int, token Secret) *fault.Fault {
	if token != "" {
		req.Header["Authorization"] = []string{"Bearer " + token.Reveal()}
		return nil
	}
	if c.vendor.Authorize != nil {
		return c.authorize(ctx, req, body, credential)
	}
	return nil
}

// masking is the masker that knows every secret of the provider's, the latest of its tokens among them.
func (c *Client) masking() *masker {
	m := c.mask.Load()
	for i, t := range c.tokens {
		if t != nil && t.grant.given.Load() != m.given[i] {
			return c.newMasking()
		}
	}
	return m
}

// newMasking makes it anew. Of several at a time each knows enough, and the next look corrects which of them is kept.
func (c *Client) newMasking() *masker {
	given := make([]*[]Secret, len(c.tokens))
	secrets := c.options.secrets()
	for i, t := range c.tokens {
		if t == nil {
			continue
		}
		if given[i] = t.grant.given.Load(); given[i] != nil {
			secrets = append(secrets, *given[i]...)
		}
	}
	m := newMasker(secrets)
	m.given = given
	c.mask.Store(m)
	return m
}

// repeat sends a request again whose token the provider refused, once, with a token that was fetched for it (R7, R32).
// Before that the client has heard nothing. Where there is no other token, the refusal stands.
func (c *Client) repeat(ctx context.Context, r *attempt.Outgoing, t *http.Request, x *exchange, credential int, refused Secret, resp *http.Response) (*http.Response, *fault.Fault) {
	token, f := c.renewed(ctx, credential, refused)
	if token == "" && f == nil {
		return resp, nil
	}
	_ = resp.Body.Close() // nothing in it is wanted
	if f != nil {
		return nil, f
	}
	second := x.twin()
	defer second.seal()
	return c.exchange(ctx, r, t, second, credential, token)
}
