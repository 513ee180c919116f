package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"evergate/internal/ledger"
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
	show := func(of *tail) string {
		out.Reset()
		if err := k.show(t.Context(), &out, of, false); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	of := &tail{}
	text := show(of)
	if !strings.HasPrefix(text, "BEGAN") || strings.Index(text, "model-01") > strings.Index(text, "model-02") {
		t.Errorf("%s", text)
	}
	if text = show(of); text != "" {
		t.Errorf("%q", text)
	}
	rows = append(rows, "03")
	if text = show(of); strings.Contains(text, "BEGAN") || strings.Count(text, "model-") != 1 {
		t.Errorf("%q", text)
	}
	rows = []string{"01", "02", "025", "03", "04"} // another instance wrote late
	if text = show(of); strings.Count(text, "model-") != 2 || strings.Index(text, "model-025") > strings.Index(text, "model-04") {
		t.Errorf("%q", text)
	}
	want := []string{"/admin/v1/requests?failed=true&limit=5&route=smart", "/admin/v1/requests?failed=true&limit=500&route=smart"}
	if asked[0] != want[0] || asked[1] != want[1] {
		t.Errorf("%q", asked)
	}
	k.JSON = true
	rows = append(rows, "05")
	if text = show(of); !strings.HasPrefix(text, `{"row":"05"`) || strings.Count(text, "\n") != 1 {
		t.Errorf("%q", text)
	}
	k.Watch = false
	if text = show(&tail{}); !strings.HasPrefix(text, `{"requests":[`) {
		t.Errorf("%q", text)
	}
	rows, k.JSON, of = nil, false, &tail{}
	show(of)
	if text = show(of); text != "" {
		t.Errorf("the heads are written again: %q", text)
	}
}

func TestRequestsOfSomethingElse(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>\x1b[2J")) }))
	defer s.Close()
	if err := (&requestsCmd{URL: s.URL}).show(t.Context(), &bytes.Buffer{}, &tail{}, false); err == nil || !strings.Contains(err.Error(), "is it an Evergate gateway?") {
		t.Errorf("%v", err)
	}
}

// What comes late is new for a while, what is older than the first page is not, and nothing is remembered for ever.
func TestTail(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(seconds float64) string {
		return string(ledger.RowsFrom(start.Add(time.Duration(seconds * float64(time.Second)))))
	}
	of := &tail{}
	of.first([]string{at(3), at(1)}, at(1))
	for _, c := range []struct {
		row  string
		want bool
	}{{at(3), false}, {at(2), true}, {at(2), false}, {at(0.5), false}, {at(4), true}} {
		if got := of.take(c.row); got != c.want {
			t.Errorf("%s is new: %v", c.row, got)
		}
	}
	if !of.take(at(100)) || !of.from().Equal(start.Add(85*time.Second)) || len(of.seen) != 1 || of.take(at(84)) || !of.take(at(86)) {
		t.Errorf("%+v", of)
	}
}

// Where the first look found nothing in as many rows as a page looks at, what is older is not new at the second.
func TestTailOfAFilterThatLetsNothingIn(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	cursor := string(ledger.RowsFrom(start))
	old, fresh := string(ledger.RowsFrom(start.Add(-time.Hour))), string(ledger.RowsFrom(start.Add(time.Hour)))
	looks := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch looks++; {
		case looks == 1:
			fmt.Fprintf(w, `{"requests":[],"next":%q,"dropped":0}`, cursor)
		case r.URL.Query().Get("cursor") == "":
			fmt.Fprintf(w, `{"requests":[{"row":%q,"asked":"fresh"}],"next":%q,"dropped":0}`, fresh, cursor)
		default:
			fmt.Fprintf(w, `{"requests":[{"row":%q,"asked":"old"}],"next":"","dropped":0}`, old)
		}
	}))
	defer s.Close()
	k, of := &requestsCmd{URL: s.URL, Limit: "20", Failed: true, Watch: true}, &tail{}
	var out bytes.Buffer
	for range 2 {
		if err := k.show(t.Context(), &out, of, false); err != nil {
			t.Fatal(err)
		}
	}
	if text := out.String(); !strings.Contains(text, "fresh") || strings.Contains(text, "old") {
		t.Errorf("%s", text)
	}
}

// A page that does not come takes nothing away of those before it.
func TestTailOfAPageThatFails(t *testing.T) {
	looks := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch looks++; {
		case looks == 1:
			fmt.Fprint(w, `{"requests":[],"next":"","dropped":0}`)
		case r.URL.Query().Get("cursor") == "":
			fmt.Fprint(w, `{"requests":[{"row":"02","asked":"fresh"}],"next":"02","dropped":0}`)
		default:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer s.Close()
	k, of := &requestsCmd{URL: s.URL, Limit: "20", Watch: true}, &tail{}
	var out bytes.Buffer
	if err := k.show(t.Context(), &out, of, false); err != nil {
		t.Fatal(err)
	}
	if err := k.show(t.Context(), &out, of, false); err == nil || !strings.Contains(out.String(), "fresh") {
		t.Errorf("%v\n%s", err, out.String())
	}
}
