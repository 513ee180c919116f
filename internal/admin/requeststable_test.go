package admin

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// What `evergate requests` prints of the reply.
func TestRenderRequests(t *testing.T) {
	t.Parallel()
	ok, failed, cut := newRequestOf(t, "a\x1b[2J"), newRequestOf(t, "b"), newRequestOf(t, "c")
	failed.Provider, failed.Model, failed.Status, failed.Code, failed.Rescued, failed.FirstContent, failed.Cost, failed.Trail = "", "", 503, "all_providers_failed", false, nil, nil, ""
	cut.Code = "stream_cut"
	for name, render := range map[string]func(*strings.Builder) error{
		"requests.txt": func(w *strings.Builder) error {
			return RenderRequests(w, []Listed{ok, failed, cut}, time.UTC, false, false)
		},
		"requests_more.txt": func(w *strings.Builder) error {
			return RenderRequests(w, []Listed{ok}, time.FixedZone("CET", 3600), true, true)
		},
	} {
		var w strings.Builder
		if err := render(&w); err != nil {
			t.Fatal(err)
		}
		golden(t, name, w.String())
	}
}

// newRequestOf is a request as a client of the API reads it.
func newRequestOf(t *testing.T, asked string) (l Listed) {
	t.Helper()
	r := ended(noon, "req_1")
	r.Asked = asked
	if err := json.Unmarshal(encode(newRequest(&r)), &l); err != nil {
		t.Fatal(err)
	}
	return l
}
