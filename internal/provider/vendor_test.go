package provider

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"evergate/internal/attempt"
	"evergate/internal/fault"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// echo answers with what it was asked: the path, a header, the body.
func echo(t *testing.T) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Asked", r.URL.RequestURI())
		w.Header().Set("X-Version", r.Header.Get("X-Up-Version"))
		w.Header().Set("X-Auth", r.Header.Get("Authorization"))
		if r.Header.Get("X-Fail") != "" {
			w.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = w.Write(b)
	}))
	t.Cleanup(s.Close)
	return s
}

func TestVendorShapesTheExchange(t *testing.T) {
	given := []byte(`{"model":"m"}`)
	v := &Vendor{
		Name:   "odd",
		Speaks: func(string) []string { return []string{"odd"} },
		Place: func(dialect, model string, stream bool) (string, string) {
			if dialect != "odd" {
				return "", ""
			}
			if stream {
				return "/" + model + ":stream", "alt=sse"
			}
			return "/" + model, ""
		},
		Header: func(out http.Header, dialect string) { out.Set("X-Up-Version", "1 "+dialect) },
		Body:   func(body []byte, dialect, model string) []byte { return append([]byte(dialect+" "+model+" "), body...) },
		Frame: func(_ http.Header, body io.ReadCloser, stream bool) io.ReadCloser {
			if !stream {
				return body
			}
			return struct {
				io.Reader
				io.Closer
			}{io.MultiReader(strings.NewReader("data: "), body), body}
		},
	}
	s := echo(t)
	c := newClient(t, s.URL+"/base", func(o *Options) { o.Vendor = v }, nil)
	send := func(stream, fail bool) (*http.Response, string) {
		out, released := outgoing(string(given))
		out.Dialect, out.Model, out.Stream = "odd", "m1", stream
		if fail {
			out.Header.Set("X-Fail", "1")
		}
		resp, f := c.Send(t.Context(), out)
		if f != nil {
			t.Fatal(f)
		}
		body := readAll(t, resp)
		eventually(t, "body released", func() bool { return released.Load() == 1 })
		return resp, body
	}
	resp, body := send(false, false)
	if resp.Header.Get("X-Asked") != "/base/m1" || body != `odd m1 {"model":"m"}` || resp.Header.Get("X-Version") != "1 odd" {
		t.Errorf("%v %q", resp.Header, body)
	}
	if resp, body = send(true, false); resp.Header.Get("X-Asked") != "/base/m1:stream?alt=sse" || body != `data: odd m1 {"model":"m"}` {
		t.Errorf("%v %q", resp.Header, body)
	}
	if _, body = send(true, true); strings.HasPrefix(body, "data: ") {
		t.Errorf("an error was framed: %q", body)
	}

	out, released := outgoing("{}")
	if _, f := c.Send(t.Context(), out); f == nil || f.Class != fault.Unable || released.Load() != 1 {
		t.Errorf("a dialect without a place: %v", f)
	}
}

func TestVendorDefaults(t *testing.T) {
	c := newClient(t, "http://up.test", nil, nil)
	if got := c.Speaks("m"); !slices.Equal(got, append([]string{"chat", "completions", "embeddings"}, Asides()...)) {
		t.Errorf("speaks %q", got)
	}
	if q := c.Quirks("m"); c.Maker("m") != "" || c.OmitsModel("chat", "m") || q.MaxTokensField != "" || q.Refuses != nil {
		t.Error("something is known of an unknown model")
	}
	c = newClient(t, "http://up.test", func(o *Options) {
		o.Vendor = Compatible()
		o.Vendor.Maker = func(string) llm.Vendor { return llm.Google }
		o.Vendor.OmitModel = func(dialect, model string) bool { return dialect == "messages" && model == "claude" }
		o.Vendor.Quirks = func(model string) wire.Quirks { return wire.Quirks{MaxTokensField: model} }
	}, nil)
	if c.Maker("m") != llm.Google || !c.OmitsModel("messages", "claude") || c.OmitsModel("chat", "claude") || c.Quirks("x").MaxTokensField != "x" {
		t.Error("the vendor's word does not count")
	}
}

// How a credential is sent: as the options say, else as the vendor has it, else as a bearer token.
func TestAuthHeader(t *testing.T) {
	for _, tc := range []struct{ name, header, prefix, vendorHeader, vendorPrefix, want, value string }{
		{"nobody says", "", "", "", "", "Authorization", "Bearer k"},
		{"vendor", "", "", "X-Api-Key", "", "X-Api-Key", "k"},
		{"options", "Authorization", "Key ", "X-Api-Key", "", "Authorization", "Key k"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newClient(t, "http://up.test", func(o *Options) {
				o.AuthHeader, o.AuthPrefix, o.Credentials = tc.header, tc.prefix, []Credential{{Name: "a", Value: "k"}}
				o.Vendor = Compatible()
				o.Vendor.AuthHeader, o.Vendor.AuthPrefix = tc.vendorHeader, tc.vendorPrefix
			}, nil)
			h := c.header(&attempt.Outgoing{Header: http.Header{"Authorization": {"Bearer caller"}, "X-Api-Key": {"caller"}}}, 0)
			if h.Get(tc.want) != tc.value || len(h["Authorization"])+len(h["X-Api-Key"]) != 1 {
				t.Errorf("%v", h)
			}
		})
	}
}

// What a vendor's clients say goes to that vendor alone (cases 151, 153), and what a client says of itself not with a
// request that was translated.
func TestForeignHeaders(t *testing.T) {
	caller := http.Header{
		"Anthropic-Beta": {"claude-code-20250219"}, "Anthropic-Version": {"2023-06-01"}, "Openai-Beta": {"responses=v1"},
		"X-Goog-Api-Client": {"genai"}, "X-Goog-User-Project": {"p"}, "X-Amz-Date": {"d"}, "X-Amzn-Trace-Id": {"t"}, "Amz-Sdk-Request": {"1"},
		"X-Stainless-Lang": {"js"}, "User-Agent": {"sdk/1"}, "Accept": {"text/event-stream"}, "Idempotency-Key": {"i"}, "X-Other": {"o"},
	}
	always := []string{"Content-Type", "User-Agent", "X-Other", "idempotency-key"}
	sdk := []string{"Accept", "X-Stainless-Lang"}
	anthropic := []string{"Anthropic-Beta", "Anthropic-Version"}
	for _, tc := range []struct {
		vendor, dialect string
		translated      bool
		want            []string
		agent           string
	}{
		{"anthropic", "messages", false, slices.Concat(always, sdk, anthropic), "sdk/1"},
		{"anthropic", "count_tokens", false, slices.Concat(always, sdk, anthropic), "sdk/1"},
		{"anthropic", "messages", true, slices.Concat(always, anthropic), "evergate"},
		{"vertex", "messages", false, slices.Concat(always, sdk, anthropic), "sdk/1"},
		{"vertex", "gemini", true, always, "evergate"},
		{"bedrock", "converse", true, always, "evergate"},
		{"bedrock", "messages", false, slices.Concat(always, sdk), "sdk/1"},
		{"openai", "responses", false, slices.Concat(always, sdk, []string{"Openai-Beta"}), "sdk/1"},
		{"azure-openai", "chat", true, slices.Concat(always, []string{"Openai-Beta"}), "evergate"},
		{"openai-compatible", "chat", false, slices.Concat(always, sdk), "sdk/1"},
		{"gemini", "gemini", false, slices.Concat(always, sdk), "sdk/1"},
	} {
		t.Run(tc.vendor+" "+tc.dialect, func(t *testing.T) {
			c := newClient(t, "http://up.test", func(o *Options) {
				o.Vendor, o.Credentials = Compatible(), nil
				o.Vendor.Name = tc.vendor
			}, nil)
			h := c.header(&attempt.Outgoing{Dialect: tc.dialect, Translated: tc.translated, Header: caller}, -1)
			var got []string
			for name := range h {
				got = append(got, name)
			}
			slices.Sort(got)
			if slices.Sort(tc.want); !slices.Equal(got, tc.want) || h.Get("User-Agent") != tc.agent {
				t.Errorf("%q as %q, want %q", got, h.Get("User-Agent"), tc.want)
			}
		})
	}
}

// Credentials that are no constant header: written by the vendor for each request, and never echoed to a caller.
func TestAuthorize(t *testing.T) {
	s := echo(t)
	var asked []string
	v := Compatible()
	v.Authorize = func(_ context.Context, r *http.Request, body []byte, c *Credential) error {
		asked = append(asked, c.Name+" "+c.Value.Reveal()+" "+string(body))
		r.Header.Set("Authorization", "Bearer token-of-the-day")
		return nil
	}
	for _, tc := range []struct {
		credentials []Credential
		want        string
	}{
		{[]Credential{{Name: "default", Value: "id"}}, "default id {}"},
		{[]Credential{{Name: "default"}}, "default  {}"},
		{nil, "  {}"},
	} {
		asked = nil
		c := newClient(t, s.URL, func(o *Options) { o.Vendor, o.Credentials = v, tc.credentials }, nil)
		out, _ := outgoing("{}")
		resp, f := c.Send(t.Context(), out)
		if f != nil {
			t.Fatal(f)
		}
		readAll(t, resp)
		if !slices.Equal(asked, []string{tc.want}) {
			t.Errorf("asked %q, want %q", asked, tc.want)
		}
		if resp.Header["X-Auth"] != nil {
			t.Errorf("the token came back: %v", resp.Header)
		}
	}
}

func TestAuthorizeFails(t *testing.T) {
	known := TokenFault(503, "", errors.New("down"))
	for _, tc := range []struct {
		name  string
		err   error
		rules []Rule
		class fault.Class
	}{
		{"unknown", errors.New("no key in sk-test-operator-0001"), nil, fault.Auth},
		{"known", known, nil, fault.NoToken},
		{"rule", errors.New("no key"), []Rule{{Message: "no access", As: "quota"}}, fault.Quota},
		{"no rule makes it the provider's (R32)", known, []Rule{{As: "failure"}}, fault.NoToken},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newClient(t, "http://up.test", func(o *Options) {
				o.Classify, o.Vendor = tc.rules, Compatible()
				o.Vendor.Authorize = func(context.Context, *http.Request, []byte, *Credential) error { return tc.err }
			}, nil)
			out, released := outgoing("{}")
			_, f := c.Send(t.Context(), out)
			if f == nil || f.Class != tc.class || f.Message == "" || f.Class.BreakerFailure() {
				t.Errorf("%v, want %v", f, tc.class)
			}
			if strings.Contains(f.Error(), "sk-test-operator-0001") {
				t.Errorf("it tells the key: %v", f)
			}
			if released.Load() != 1 {
				t.Errorf("released %d times", released.Load())
			}
		})
	}
	// R13: the caller's own end comes first.
	ctx, cancel := context.WithCancel(t.Context())
	c := newClient(t, "http://up.test", func(o *Options) {
		o.Vendor = Compatible()
		o.Vendor.Authorize = func(ctx context.Context, _ *http.Request, _ []byte, _ *Credential) error {
			cancel()
			<-ctx.Done()
			return known
		}
	}, nil)
	out, _ := outgoing("{}")
	if _, f := c.Send(ctx, out); f.Class != fault.ClientGone {
		t.Errorf("%v", f)
	}
}

// A vendor's own table stands before the common one, and it may find an error's code where others have none.
func TestVendorFaults(t *testing.T) {
	v := Compatible()
	v.Faults = []Entry{{From: 400, To: 499, InBody: true, Codes: []string{"oddexception"}, Class: fault.ModelLimited}}
	v.Code = func(h http.Header, _ []byte) string { return h.Get("X-Error-Type") }
	c := newClient(t, "http://up.test", func(o *Options) { o.Vendor = v }, nil)
	h := http.Header{"X-Error-Type": {"OddException"}}
	if f := c.Classify(429, h, []byte(`{"message":"no"}`), "", ""); f.Class != fault.ModelLimited || f.Code != "OddException" || f.Message != "no" {
		t.Errorf("%v %q", f, f.Code)
	}
	if f := c.Classify(429, h, []byte(`{"message":"no"}`), "said", ""); f.Class != fault.ModelLimited || f.Code != "said" {
		t.Errorf("%v %q", f, f.Code)
	}
	if f := c.Refine(&fault.Fault{Class: fault.Invalid, Code: "oddException"}); f.Class != fault.ModelLimited {
		t.Errorf("in a stream: %v", f)
	}
	if f := c.Classify(429, http.Header{}, nil, "", ""); f.Class != fault.RateLimited {
		t.Errorf("%v", f)
	}
}

// R10: the user's rules come before the repair.
func TestRulesBeforeSeal(t *testing.T) {
	body := []byte(`{"error":{"message":"Corrupted thought signature."}}`)
	if f := newClient(t, "http://up.test", nil, nil).Classify(400, http.Header{}, body, "", ""); !f.Seal || f.Class != fault.Rejected {
		t.Errorf("%v, seal %v", f, f.Seal)
	}
	if f := newClient(t, "http://up.test", rules(Rule{Status: 400, As: "next"}), nil).Classify(400, http.Header{}, body, "", ""); f.Seal || f.Class != fault.Next {
		t.Errorf("%v, seal %v", f, f.Seal)
	}
}
