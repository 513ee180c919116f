package admin

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"evergate/api"
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
