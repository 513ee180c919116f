package provider

import (
	"net/http"
	"strings"

	"evergate/internal/attempt"
	"evergate/internal/journal"
)

// jsonType and ourAgent are shared by all requests; the transport does not change header values.
var (
	jsonType = []string{"application/json"}
	ourAgent = []string{"evergate"}
)

// header makes the headers of one upstream request from the caller's. Whatever the caller's client says passes, so
// that new vendor headers need no release of ours, but for:
//
//   - what belongs to the connection (RFC 9110 §7.6.1), with the names that Connection lists, and what describes the
//     body as the caller sent it;
//   - credentials, in every place that clients put one: they are for the gateway, and the account that the request
//     goes to is the gateway's (OpenAI-Organization, OpenAI-Project and ChatGPT-Account-Id name the caller's);
//   - what tells where the caller is or which web page it runs in;
//   - what is for another vendor's API, or speaks of another than the one that this request is for (foreign);
//   - the gateway's own controls.
//
// The provider's configured headers and its credential are set last and win.
func (c *Client) header(r *attempt.Outgoing, credential int) http.Header {
	from := r.Header
	out := make(http.Header, len(from)+len(c.fixed)+3)
	named := from["Connection"]
	for name, values := range from {
		name = http.CanonicalHeaderKey(name)
		if withheld(name) || name == c.authHeader || c.vendor.foreign(name, r) || named != nil && listed(named, name) {
			continue
		}
		out[name] = values
	}
	hideIdempotency(out)
	out["Content-Type"] = jsonType
	if r.ContentType != "" {
		out["Content-Type"] = []string{r.ContentType}
	}
	if _, ok := out["User-Agent"]; !ok {
		out["User-Agent"] = ourAgent
	}
	if c.vendor.Header != nil {
		c.vendor.Header(out, r.Dialect)
	}
	trace(out, r.Trace, r.Span)
	for name, values := range c.fixed {
		out[name] = values
	}
	if credential >= 0 && credential < len(c.auth) && c.auth[credential] != nil {
		out[c.authHeader] = c.auth[credential]
	}
	return out
}

// trace names the attempt's span to the upstream, in the place of the caller's. A tracestate goes with a traceparent that is valid.
func trace(out http.Header, t *journal.Trace, span [8]byte) {
	if t == nil {
		return
	}
	out["Traceparent"] = []string{t.Traceparent(span)}
	if t.Parent == [8]byte{} {
		delete(out, "Tracestate")
	}
}

// hideIdempotency spells the key's header in lower case, which to the upstream is the same (R59). To the transport the
// usual spelling is leave to send a request again as often as it likes, after any failure of a pooled connection;
// R58 allows it once, and only with proof.
func hideIdempotency(h http.Header) {
	for _, name := range [...]string{"Idempotency-Key", "X-Idempotency-Key"} {
		if v, ok := h[name]; ok {
			delete(h, name)
			h[strings.ToLower(name)] = v
		}
	}
}

// foreign says whether a caller's header, by its canonical name, is not for the API that the request is sent to. Vendors
// refuse flags that they do not know, and Anthropic's mean nothing in the other dialects of those who resell its models. What
// Google's and Amazon's clients send is signed, or names their caller's project, so that it never passes. A translated
// request is none of the caller's client any more: whoever answers it must not adapt to that client.
func (v *Vendor) foreign(name string, r *attempt.Outgoing) bool {
	if name == "" {
		return true
	}
	switch name[0] { // the many others take no more than this
	case 'A':
		if strings.HasPrefix(name, "Anthropic-") {
			return v.Name != "anthropic" && (v.Name != "vertex" || r.Dialect != "messages" && r.Dialect != "count_tokens")
		}
		return strings.HasPrefix(name, "Amz-") || r.Translated && name == "Accept"
	case 'O':
		return strings.HasPrefix(name, "Openai-") && v.Name != "openai" && v.Name != "azure-openai"
	case 'U':
		return r.Translated && name == "User-Agent"
	case 'X':
		return strings.HasPrefix(name, "X-Goog-") || strings.HasPrefix(name, "X-Amz") ||
			r.Translated && strings.HasPrefix(name, "X-Stainless-")
	}
	return false
}

// withheld says whether a header, by its canonical name, stays at the gateway.
func withheld(name string) bool {
	switch name {
	case "Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Te", "Trailer", "Transfer-Encoding",
		"Upgrade", "Host", "Expect", "Accept-Encoding", "Digest", "Http2-Settings",
		"Openai-Organization", "Openai-Project", "Chatgpt-Account-Id",
		"Forwarded", "Via", "X-Real-Ip", "True-Client-Ip", "X-Client-Ip", "Cdn-Loop", "Origin", "Referer":
		return true
	case "Idempotency-Key", "X-Idempotency-Key":
		return false
	}
	for _, prefix := range [...]string{"Content-", "X-Evergate-", "X-Forwarded-", "Cf-", "Sec-"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return credentialHeader(name)
}

// credentialHeader says whether a header, by its canonical name, carries a credential.
func credentialHeader(name string) bool {
	// Authorization and Proxy-Authorization, X-Api-Key, Api-Key, X-Goog-Api-Key, Ocp-Apim-Subscription-Key,
	// X-Auth-Token, X-Amz-Security-Token, Helicone-Auth and those that are yet to be thought of.
	for _, suffix := range [...]string{"Key", "Token", "Authorization", "Auth", "Secret", "Password"} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return strings.HasPrefix(name, "Cookie")
}

// listed says whether a Connection header names the header.
func listed(connection []string, name string) bool {
	for _, line := range connection {
		for token := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(token), name) {
				return true
			}
		}
	}
	return false
}
