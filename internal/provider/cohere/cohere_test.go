package cohere

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"

	"evergate/internal/provider"
	"evergate/internal/provider/providertest"
)

func TestFaults(t *testing.T) { providertest.Faults(t, New()) }

func TestPlace(t *testing.T) {
	for dialect, want := range map[string]string{"cohere": "/chat", "cohere_embed": "/embed", "rerank": "/rerank", "chat": ""} {
		if path, query := New().Place(dialect, "m", true); path != want || query != "" {
			t.Errorf("%s: %q %q", dialect, path, query)
		}
	}
}

func TestModels(t *testing.T) {
	ids, next, err := New().Models.Read([]byte(`{"models":[{"name":"command-a-03-2025","endpoints":["generate","chat"]},
		{"name":"embed-v4.0","endpoints":["embed"]},{"name":"rerank-v3.5","endpoints":["rerank"]},{"name":"x"},{"name":"y","endpoints":["classify"]}],"next_page_token":"a&b"}`))
	if err != nil || next != "../v1/models?page_size=1000&page_token=a%26b" || !slices.Equal(ids, []string{"command-a-03-2025", "embed-v4.0", "rerank-v3.5", "x"}) {
		t.Errorf("%q, %q, %v", ids, next, err)
	}
	if _, next, err := New().Models.Read([]byte(`{"models":[]}`)); err != nil || next != "" {
		t.Errorf("%q, %v", next, err)
	}
	for _, body := range []string{`<html>`, `{}`} {
		if _, _, err := New().Models.Read([]byte(body)); err == nil {
			t.Errorf("%s is a list", body)
		}
	}
}

// The list is the first version's, beside whatever the base URL's version is below.
func TestModelsAreAskedOfTheFirstVersion(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RequestURI() != "/proxy/v1/models?page_size=1000" || r.Header.Get("Authorization") != "Bearer k" {
			t.Errorf("%s %v", r.URL, r.Header)
		}
		_, _ = io.WriteString(w, `{"models":[{"name":"c"}]}`)
	}))
	defer s.Close()
	base, _ := url.Parse(s.URL + "/proxy/v2")
	c, err := provider.New(provider.Options{BaseURL: base, Vendor: New(), Credentials: []provider.Credential{{Name: "a", Value: "k"}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if ids, f := c.Models(t.Context()); f != nil || !slices.Equal(ids, []string{"c"}) {
		t.Errorf("%q, %v", ids, f)
	}
}
