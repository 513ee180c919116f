package provider

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"evergate/internal/attempt"
)

// What of the caller's headers goes upstream, as the upstream sees it.
func TestForwardedHeaders(t *testing.T) {
	var got http.Header
	var host string
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got, host = r.Header.Clone(), r.Host }))
	defer s.Close()
	const callerKey = "ck-caller-key-123456"
	caller := http.Header{
		"Authorization": {"Bearer " + callerKey}, "X-Api-Key": {callerKey}, "Api-Key": {callerKey}, "X-Goog-Api-Key": {callerKey},
		"Proxy-Authorization": {"Basic Z3c6cHc="}, "Cookie": {"sid=" + callerKey}, "X-Auth-Token": {callerKey},
		"Ocp-Apim-Subscription-Key": {callerKey}, "Helicone-Auth": {callerKey}, "X-Evergate-Key-Up": {callerKey},
		"X-Evergate-Prefer": {"strict"}, "Openai-Organization": {"org-1"}, "Openai-Project": {"p"},
		"Anthropic-Beta": {"one", "two"}, "Openai-Beta": {"assistants=v2"}, "X-Goog-Api-Client": {"genai"}, "X-Goog-User-Project": {"p"},
		"X-Amz-Date": {"1"}, "X-Amzn-Bedrock-Trace": {"ENABLED"}, "Amz-Sdk-Request": {"attempt=1"},
		"Connection": {"keep-alive, X-Hop", "x-other-hop"}, "X-Hop": {"1"}, "X-Other-Hop": {"1"}, "Keep-Alive": {"5"}, "Te": {"trailers"},
		"Upgrade": {"h2c"}, "Expect": {"100-continue"}, "Accept-Encoding": {"gzip, br"}, "Content-Encoding": {"gzip"},
		"Content-Length": {"999"}, "Content-Type": {"text/plain"}, "Content-Md5": {"x"}, "Transfer-Encoding": {"chunked"}, "Host": {"gateway"},
		"X-Forwarded-For": {"10.0.0.1"}, "Forwarded": {"for=1"}, "X-Real-Ip": {"10.0.0.1"}, "Via": {"1.1 x"}, "Cf-Ray": {"1"},
		"Origin": {"https://app"}, "Referer": {"https://app/x"}, "Sec-Fetch-Mode": {"cors"},
		// These pass.
		"User-Agent": {"OpenAI/Python 2.1"}, "Accept": {"application/json"}, "Idempotency-Key": {"idem-1"},
		"Traceparent": {"00-1-2-01"}, "Tracestate": {"a=b"}, "X-Stainless-Lang": {"python"}, "X-Title": {"mine"},
	}
	before := maps.Clone(caller)
	c := newClient(t, s.URL+"/v1", func(o *Options) {
		o.Headers = map[string]Secret{"x-title": "the operator's", "X-Extra": "1", "host": "virtual.test"}
	}, nil)
	out, _ := outgoing(`{}`)
	out.Header = caller
	resp, f := c.Send(t.Context(), out)
	if f != nil {
		t.Fatal(f)
	}
	readAll(t, resp)

	want := http.Header{
		"User-Agent": {"OpenAI/Python 2.1"}, "Accept": {"application/json"}, "Idempotency-Key": {"idem-1"}, // R59
		"Traceparent": {"00-1-2-01"}, "Tracestate": {"a=b"}, "X-Stainless-Lang": {"python"}, "X-Title": {"the operator's"}, "X-Extra": {"1"},
		"Content-Type": {"application/json"}, "Content-Length": {"2"}, "Authorization": {"Bearer sk-test-operator-0001"},
	}
	for name, values := range got {
		if !slices.Equal(values, want[name]) {
			t.Errorf("upstream got %s: %q, want %q", name, values, want[name])
		}
	}
	for name := range want {
		if got[name] == nil {
			t.Errorf("upstream got no %s", name)
		}
	}
	if host != "virtual.test" {
		t.Errorf("host %q", host)
	}
	if !maps.EqualFunc(before, caller, slices.Equal) {
		t.Error("the caller's headers were changed")
	}
}

// A caller's own value in the very header that the provider's credential uses never passes, even where there is none
// to replace it.
func TestCustomAuthHeader(t *testing.T) {
	c := newClient(t, "http://up.test/v1", func(o *Options) {
		o.AuthHeader, o.AuthPrefix = "api-id", ""
		o.Credentials = []Credential{{Name: "a", Value: "first"}, {Name: "none"}}
	}, nil)
	caller := http.Header{"Api-Id": {"caller"}}
	if got := c.header(&attempt.Outgoing{Dialect: "chat", Header: caller}, 0)["Api-Id"]; !slices.Equal(got, []string{"first"}) {
		t.Errorf("%q", got)
	}
	if got := c.header(&attempt.Outgoing{Dialect: "chat", Header: caller}, 1)["Api-Id"]; got != nil {
		t.Errorf("%q", got)
	}
	if got := c.header(&attempt.Outgoing{}, 7); got["Api-Id"] != nil || got.Get("User-Agent") != "evergate" {
		t.Errorf("%q", got)
	}
}

// What no request could carry is found when the client is made, and the message holds no secret.
func TestBadHeaderOptions(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"credential": func(o *Options) { o.Credentials = []Credential{{Name: "main", Value: "line\nbreak-secret"}} },
		"header":     func(o *Options) { o.Headers = map[string]Secret{"X-A": "b\r\nX-C: break-secret"} },
		"name":       func(o *Options) { o.Headers = map[string]Secret{"X A": "break-secret"} },
		"auth":       func(o *Options) { o.AuthHeader = "X A" },
		"base":       func(o *Options) { o.BaseURL = nil },
		"ca":         func(o *Options) { o.TLS.CAFile = "testdata/none.pem" },
		"no ca":      func(o *Options) { o.TLS.CAFile = "testdata/faults/README.md" },
		"half pair":  func(o *Options) { o.TLS.CertFile = "x" },
		"no pair":    func(o *Options) { o.TLS.CertFile, o.TLS.KeyFile = "x", "y" },
	} {
		o := newClient(t, "http://up.test/v1", nil, nil).options
		change(&o)
		if _, err := New(o, nil); err == nil || strings.Contains(err.Error(), "break-secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
