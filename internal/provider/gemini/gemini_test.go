package gemini

import (
	"os"
	"slices"
	"strings"
	"testing"

	"evergate/internal/provider/providertest"
)

func TestFaults(t *testing.T) { providertest.Faults(t, New()) }

func TestPlace(t *testing.T) {
	for _, tc := range []struct {
		dialect, model string
		stream         bool
		path, query    string
	}{
		{"gemini", "gemini-2.5-flash", false, "/models/gemini-2.5-flash:generateContent", ""},
		{"gemini", "gemini-2.5-flash", true, "/models/gemini-2.5-flash:streamGenerateContent", "alt=sse"},
		{"gemini", "models/gemini-2.5-flash", false, "/models/gemini-2.5-flash:generateContent", ""},
		{"gemini", "tunedModels/mine-1", false, "/tunedModels/mine-1:generateContent", ""},
		{"gemini_count_tokens", "g", true, "/models/g:countTokens", ""},
		{"gemini_embed", "g", false, "/models/g:embedContent", ""},
		{"gemini_batch_embed", "g", false, "/models/g:batchEmbedContents", ""},
		{"gemini", "a/b?c#d", false, "/models/a%2Fb%3Fc%23d:generateContent", ""},
		{"gemini", "x/../../admin", false, "/models/x%2F..%2F..%2Fadmin:generateContent", ""}, // which the client refuses
		{"chat", "g", false, "", ""},
	} {
		if path, query := New().Place(tc.dialect, tc.model, tc.stream); path != tc.path || query != tc.query {
			t.Errorf("%s %s: %q %q, want %q %q", tc.dialect, tc.model, path, query, tc.path, tc.query)
		}
	}
	for _, dialect := range New().Speaks("g") {
		if path, _ := New().Place(dialect, "g", false); path == "" {
			t.Errorf("%s is spoken, but has no place", dialect)
		}
	}
}

// The fixture is the recorded list; see testdata/README.md.
func TestModels(t *testing.T) {
	body, err := os.ReadFile("testdata/models.json")
	if err != nil {
		t.Fatal(err)
	}
	ids, next, err := New().Models.Read(body)
	if err != nil || !slices.Contains(ids, "gemini-2.5-flash") || slices.ContainsFunc(ids, func(s string) bool { return strings.HasPrefix(s, "models/") || strings.HasPrefix(s, "imagen") }) {
		t.Errorf("%q, %q, %v", ids, next, err)
	}
	ids, next, err = New().Models.Read([]byte(`{"models":[{"name":"models/a","supportedGenerationMethods":["generateContent"]},
		{"name":"models/b","supportedGenerationMethods":["embedContent"]},{"name":"models/c","supportedGenerationMethods":["predict"]},
		{"name":"tunedModels/d"}],"nextPageToken":"a&b"}`))
	if err != nil || next != "/models?pageSize=1000&pageToken=a%26b" || !slices.Equal(ids, []string{"a", "b", "tunedModels/d"}) {
		t.Errorf("%q, %q, %v", ids, next, err)
	}
	for _, body := range []string{`<html>`, `{}`, `{"error":{}}`} {
		if _, _, err := New().Models.Read([]byte(body)); err == nil {
			t.Errorf("%s is a list", body)
		}
	}
}
