package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// What is asked for reaches the gateway; with --watch each request is printed once, the oldest first.
func TestRequests(t *testing.T) {
	var asked []string
	rows := []string{"01", "02"}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RequestURI())
		var list []string
		for i := len(rows) - 1; i >= 0; i-- {
			list = append(list, fmt.Sprintf(`{"row":%q,"asked":"model-%s","status":200,"start":"2026-03-01T12:00:00.000Z"}`, rows[i], rows[i]))
		}
		fmt.Fprintf(w, `{"requests":[%s],"next":"","dropped":0}`, strings.Join(list, ","))
	}))
	defer s.Close()
	k := &requestsCmd{URL: s.URL, Limit: "5", Model: "smart", Failed: true, Watch: true}
	var out bytes.Buffer
	show := func(after string) (string, string) {
		out.Reset()
		last, err := k.show(t.Context(), &out, after, false)
		if err != nil {
			t.Fatal(err)
		}
		return last, out.String()
	}
	last, text := show("")
	if last != "02" || !strings.HasPrefix(text, "BEGAN") || strings.Index(text, "model-01") > strings.Index(text, "model-02") {
		t.Errorf("%s %s", last, text)
	}
	if last, text = show(last); last != "02" || text != "" {
		t.Errorf("%s %q", last, text)
	}
	rows = append(rows, "03")
	if last, text = show(last); last != "03" || strings.Contains(text, "BEGAN") || strings.Count(text, "model-") != 1 {
		t.Errorf("%s %q", last, text)
	}
	want := []string{"/admin/v1/requests?failed=true&limit=5&route=smart", "/admin/v1/requests?failed=true&limit=500&route=smart"}
	if asked[0] != want[0] || asked[1] != want[1] {
		t.Errorf("%q", asked)
	}
	k.JSON = true
	if _, text = show("02"); !strings.HasPrefix(text, `{"row":"03"`) || strings.Count(text, "\n") != 1 {
		t.Errorf("%q", text)
	}
	k.Watch = false
	if _, text = show(""); !strings.HasPrefix(text, `{"requests":[`) {
		t.Errorf("%q", text)
	}
	rows, k.JSON = nil, false
	if last, _ = show(""); last == "" {
		t.Error("the next look would write the heads again")
	}
}

func TestRequestsOfSomethingElse(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>\x1b[2J")) }))
	defer s.Close()
	if _, err := (&requestsCmd{URL: s.URL}).show(t.Context(), &bytes.Buffer{}, "", false); err == nil || !strings.Contains(err.Error(), "is it an Evergate gateway?") {
		t.Errorf("%v", err)
	}
}
