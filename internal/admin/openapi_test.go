package admin

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"evergate/api"
	"evergate/internal/front"
	"evergate/internal/testkit/openapi"
)

// Every route that is served is in the document, and back; each parameter of the document is known to its route.
func TestTheDocumentHasWhatIsServed(t *testing.T) {
	t.Parallel()
	doc := openapi.Load(t, api.Admin)
	doc.Sound(t)
	s := kept(t)
	s.Feed.Stop() // so that it answers
	h, _ := New(s, Options{}).(*handler)
	var served, documented []string
	for _, o := range h.operations(false) {
		served = append(served, o.method+" "+o.pattern)
	}
	for _, o := range doc.Operations() {
		documented = append(documented, o.Method+" "+o.Path)
		for _, name := range o.Query {
			w := ask(h, o.Method, strings.NewReplacer("{", "", "}", "").Replace(o.Path)+"?"+name+"=")
			if w.Code == http.StatusBadRequest && strings.Contains(w.Body.String(), "there is no parameter") {
				t.Errorf("%s %s: %s", o.Method, o.Path, w.Body)
			}
		}
	}
	slices.Sort(served)
	slices.Sort(documented)
	equal(t, "operations", documented, served)
}

func TestTheDocumentIsServedAsJSON(t *testing.T) {
	t.Parallel()
	w := ask(New(sources(), Options{}), "GET", "/admin/v1/openapi.json")
	var doc struct {
		OpenAPI string         `json:"openapi"`
		Paths   map[string]any `json:"paths"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil || doc.OpenAPI != "3.1.0" || doc.Paths["/admin/v1/health"] == nil {
		t.Errorf("%v %.200s", err, w.Body)
	}
}

// Who tries tokens is held off at every route that wants one, and the document says so.
func TestTheDocumentSaysWhoIsHeldOff(t *testing.T) {
	t.Parallel()
	doc := openapi.Load(t, api.Admin)
	var said struct{ Paths map[string]map[string]any }
	if err := yaml.Unmarshal(api.Admin, &said); err != nil {
		t.Fatal(err)
	}
	guesses := front.NewGuesses()
	guesses.Limit(1)
	h := New(kept(t), Options{Token: "s3cret", Guesses: guesses})
	elsewhere := from("203.0.113.9:4711")
	for range 3 {
		ask(h, "GET", "/admin/v1/health", elsewhere, header("Authorization", "Bearer guess"))
	}
	for _, o := range doc.Operations() {
		w := ask(h, o.Method, strings.NewReplacer("{", "", "}", "").Replace(o.Path), elsewhere, header("Authorization", "Bearer s3cret"))
		if w.Code < 400 && (o.Path == "/healthz" || o.Path == "/readyz") {
			continue
		}
		if w.Code != http.StatusTooManyRequests || code(t, w) != "too_many_invalid_keys" || w.Header().Get("Retry-After") == "" {
			t.Errorf("%s %s: %d %s", o.Method, o.Path, w.Code, w.Body)
		}
		operation, _ := said.Paths[o.Path][strings.ToLower(o.Method)].(map[string]any)
		if responses, _ := operation["responses"].(map[string]any); responses["429"] == nil {
			t.Errorf("%s %s: the document has no 429", o.Method, o.Path)
		}
		doc.Check(t, o.Method, o.Path, w.Code, w.Header().Get("Content-Type"), w.Body.Bytes())
	}
}
