package vertex

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"testing"

	"evergate/internal/fault"
	"evergate/internal/llm"
	"evergate/internal/provider"
)

func TestPlaces(t *testing.T) {
	t.Parallel()
	const root = "/projects/my-project/locations/europe-west4"
	account, keys := places{"my-project", "europe-west4"}, places{}
	for _, tt := range []struct {
		p              places
		dialect, model string
		stream         bool
		path, query    string
	}{
		{account, generate, "gemini-2.5-flash", false, root + "/publishers/google/models/gemini-2.5-flash:generateContent", ""},
		{account, generate, "gemini-2.5-flash", true, root + "/publishers/google/models/gemini-2.5-flash:streamGenerateContent", "alt=sse"},
		{account, countTokens, "gemini-2.5-flash", false, root + "/publishers/google/models/gemini-2.5-flash:countTokens", ""},
		{account, generate, "endpoints/123", false, root + "/endpoints/123:generateContent", ""},
		{account, embed, "text-embedding-005", false, root + "/publishers/google/models/text-embedding-005:predict", ""},
		{account, messages, "claude-sonnet-4-5@20250929", false, root + "/publishers/anthropic/models/claude-sonnet-4-5@20250929:rawPredict", ""},
		{account, messages, "claude-sonnet-4-5@20250929", true, root + "/publishers/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict", ""},
		{account, claudeTokens, "claude-sonnet-4-5", false, root + "/publishers/anthropic/models/count-tokens:rawPredict", ""},
		{account, chat, "meta/llama-4-maverick-17b-128e-instruct-maas", true, root + "/endpoints/openapi/chat/completions", ""},
		{account, generate, "a/../b?c:d", false, root + "/publishers/google/models/a%2F..%2Fb%3Fc%3Ad:generateContent", ""},
		{account, "responses", "gemini-2.5-flash", false, "", ""},
		{keys, generate, "gemini-2.5-flash", true, "/publishers/google/models/gemini-2.5-flash:streamGenerateContent", "alt=sse"},
		{keys, countTokens, "gemini-2.5-flash", false, "/publishers/google/models/gemini-2.5-flash:countTokens", ""},
	} {
		if path, query := tt.p.place(tt.dialect, tt.model, tt.stream); path != tt.path || query != tt.query {
			t.Errorf("%s %s: %s?%s", tt.dialect, tt.model, path, query)
		}
	}
}

func TestModels(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		model         string
		maker         llm.Vendor
		account, keys []string
	}{
		{"gemini-2.5-pro", llm.Google, []string{generate, countTokens}, []string{generate, countTokens}},
		{"claude-opus-4-1@20250805", llm.Anthropic, []string{messages, claudeTokens}, nil},
		{"gemini-embedding-001", llm.Google, []string{embed}, nil},
		{"text-multilingual-embedding-002", llm.Google, []string{embed}, nil},
		{"meta/llama-3.3-70b-instruct-maas", "", []string{chat}, nil},
		{"endpoints/123", llm.Google, []string{generate, countTokens}, nil},
		{"medlm-large", "", []string{generate, countTokens}, []string{generate, countTokens}},
	} {
		if got := (places{"p", "l"}).speaks(tt.model); !slices.Equal(got, tt.account) {
			t.Errorf("%s speaks %v", tt.model, got)
		}
		if got := (places{}).speaks(tt.model); !slices.Equal(got, tt.keys) {
			t.Errorf("%s speaks %v with an API key", tt.model, got)
		}
		if got := maker(tt.model); got != tt.maker {
			t.Errorf("%s is made by %q", tt.model, got)
		}
	}
	if !omitModel(messages, "claude-x") || omitModel(claudeTokens, "claude-x") || omitModel(chat, "meta/x") || omitModel(generate, "gemini-x") {
		t.Error("the model is named where it must not be, or the other way round")
	}
}

func TestBody(t *testing.T) {
	t.Parallel()
	const version = `{"anthropic_version":"vertex-2023-10-16"`
	for _, tt := range []struct{ dialect, body, want string }{
		{messages, `{"max_tokens":1,"messages":[{"anthropic_version":"no"}]}`, version + `,"max_tokens":1,"messages":[{"anthropic_version":"no"}]}`},
		{messages, " {\n \"a\" : 1 }", " " + version + ",\n \"a\" : 1 }"},
		{messages, `{}`, version + `}`},
		{messages, `{ }`, version + ` }`},
		{messages, `{"a":1,"anthropic_version":"vertex-2099-01-01"}`, `{"a":1,"anthropic_version":"vertex-2099-01-01"}`},
		{messages, `{"a":1,"anthropic\u005fversion":"x"}`, `{"a":1,"anthropic\u005fversion":"x"}`},
		{messages, `[]`, `[]`},
		{messages, `{"a":`, `{"a":`},
		{claudeTokens, `{"model":"m"}`, version + `,"model":"m"}`},
		{countTokens, `{"generateContentRequest":{"contents":[{"parts":[]}]}}`, `{"contents":[{"parts":[]}]}`},
		{countTokens, `{"contents":[],"x":{"generateContentRequest":{}}}`, `{"contents":[],"x":{"generateContentRequest":{}}}`},
		{countTokens, `{"generateContentRequest":null}`, `{"generateContentRequest":null}`},
		{generate, `{"generateContentRequest":{}}`, `{"generateContentRequest":{}}`},
		{chat, `{"model":"m"}`, `{"model":"m"}`},
	} {
		in := []byte(tt.body)
		got := body(in, tt.dialect, "m")
		if string(got) != tt.want {
			t.Errorf("%s %s:\ngot  %s\nwant %s", tt.dialect, tt.body, got, tt.want)
		}
		if string(in) != tt.body {
			t.Errorf("%s: the caller's own bytes were changed", tt.body)
		}
		if json.Valid(in) && !json.Valid(got) {
			t.Errorf("%s is no JSON", got)
		}
	}
}

// Whatever comes, JSON stays JSON and loses nothing but the wrapping.
func FuzzBody(f *testing.F) {
	for _, s := range []string{`{"a":1}`, `{}`, ` { "anthropic_version" : "x" } `, `{"generateContentRequest":{"contents":[]}}`, `[`, ``} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		before := bytes.Clone(in)
		for _, dialect := range []string{messages, countTokens} {
			got := body(in, dialect, "m")
			if !bytes.Equal(in, before) {
				t.Fatal("changed in place")
			}
			if json.Valid(in) && !json.Valid(got) {
				t.Errorf("%q became %q", in, got)
			}
		}
	})
}

func TestHeader(t *testing.T) {
	t.Parallel()
	for dialect, want := range map[string]int{messages: 1, claudeTokens: 1, generate: 2} {
		h := http.Header{"Anthropic-Version": {"2023-06-01"}, "Anthropic-Beta": {"x"}}
		if header(h, dialect); len(h) != want || h["Anthropic-Beta"] == nil {
			t.Errorf("%s: %v", dialect, h)
		}
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	v, err := New(Options{APIKeys: true})
	if err != nil {
		t.Fatal(err)
	}
	c, err := provider.New(provider.Options{Name: "vertex", BaseURL: &url.URL{Scheme: "https", Host: "h"}, Vendor: v}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		status        int
		word, message string
		want          fault.Class
	}{
		{429, "RESOURCE_EXHAUSTED", "Resource exhausted. Please try again later.", fault.RateLimited},
		{429, "RESOURCE_EXHAUSTED", "Quota exceeded for aiplatform.googleapis.com/online_prediction_requests_per_base_model with base model: anthropic-claude-sonnet-4-5.", fault.ModelLimited},
		{403, "PERMISSION_DENIED", "Permission 'aiplatform.endpoints.predict' denied on resource '//aiplatform.googleapis.com/projects/p/locations/l/publishers/google/models/m' (or it may not exist).", fault.Auth},
		{403, "PERMISSION_DENIED", "Vertex AI API has not been used in project 1 before or it is disabled.", fault.Auth},
		{400, "FAILED_PRECONDITION", "Project `1` is not allowed to use Publisher Model `projects/p/locations/l/publishers/anthropic/models/m`", fault.ModelLimited},
		{400, "FAILED_PRECONDITION", "Publisher Model `projects/p/locations/l/publishers/anthropic/models/m` is not servable in region us-central1.", fault.ModelMissing},
		{404, "NOT_FOUND", "Publisher Model `projects/p/locations/l/publishers/google/models/m` was not found or your project does not have access to it.", fault.ModelMissing},
		{400, "INVALID_ARGUMENT", "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", fault.ContextLength},
		{400, "INVALID_ARGUMENT", "Request contains an invalid argument.", fault.Rejected},
		{401, "UNAUTHENTICATED", "Request had invalid authentication credentials.", fault.Auth},
		{503, "UNAVAILABLE", "The service is currently unavailable.", fault.Upstream},
	} {
		e, err := json.Marshal(map[string]any{"error": map[string]any{"code": tt.status, "message": tt.message, "status": tt.word}})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Classify(tt.status, http.Header{}, e, "", ""); got.Class != tt.want {
			t.Errorf("%d %q is %v, want %v", tt.status, tt.message, got.Class, tt.want)
		}
	}
}

// authorized gives the headers that a request gets, or its fault.
func authorized(t *testing.T, v *provider.Vendor) (http.Header, *fault.Fault) {
	t.Helper()
	r := &http.Request{Header: http.Header{"Authorization": {"Bearer theirs"}}}
	err := v.Authorize(t.Context(), r, nil, &provider.Credential{})
	var f *fault.Fault
	if err != nil && !errors.As(err, &f) {
		t.Fatalf("%v is no fault", err)
	}
	return r.Header, f
}
