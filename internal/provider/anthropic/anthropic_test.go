package anthropic

import (
	"net/http"
	"os"
	"slices"
	"testing"

	"evergate/internal/llm"
	"evergate/internal/provider/providertest"
)

func TestFaults(t *testing.T) { providertest.Faults(t, New()) }

// The fixture is a page of the recorded list; see testdata/README.md.
func TestModels(t *testing.T) {
	body, err := os.ReadFile("testdata/models.json")
	if err != nil {
		t.Fatal(err)
	}
	ids, next, err := New().Models.Read(body)
	if err != nil || next != "" || len(ids) < 5 || !slices.Contains(ids, "claude-haiku-4-5-20251001") {
		t.Errorf("%q, %q, %v", ids, next, err)
	}
	ids, next, err = New().Models.Read([]byte(`{"data":[{"id":"claude-a"}],"has_more":true,"first_id":"claude-a","last_id":"claude a&b"}`))
	if err != nil || next != "/models?limit=1000&after_id=claude+a%26b" || !slices.Equal(ids, []string{"claude-a"}) {
		t.Errorf("%q, %q, %v", ids, next, err)
	}
	for _, body := range []string{`<html>`, `{}`, `{"error":{}}`} {
		if _, _, err := New().Models.Read([]byte(body)); err == nil {
			t.Errorf("%s is a list", body)
		}
	}
}

func TestPlaceAndHeader(t *testing.T) {
	v := New()
	for _, dialect := range v.Speaks("m") {
		if path, query := v.Place(dialect, "../x", true); query != "" || path != map[string]string{"messages": "/messages", "count_tokens": "/messages/count_tokens"}[dialect] {
			t.Errorf("%s: %q", dialect, path)
		}
	}
	if path, _ := v.Place("chat", "m", false); path != "" {
		t.Errorf("chat: %q", path)
	}
	h := http.Header{}
	if v.Header(h, "messages"); h.Get("Anthropic-Version") != "2023-06-01" {
		t.Errorf("%v", h)
	}
	h = http.Header{"Anthropic-Version": {"2027-01-01"}}
	if v.Header(h, "messages"); !slices.Equal(h["Anthropic-Version"], []string{"2027-01-01"}) {
		t.Errorf("the caller's version was lost: %v", h)
	}
	if v.Maker("claude") != llm.Anthropic || v.AuthHeader != "X-Api-Key" || v.AuthPrefix != "" {
		t.Error("maker or key header")
	}
}
