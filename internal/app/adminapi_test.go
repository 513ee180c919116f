package app

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evergate/api"
	"evergate/internal/feed"
	"evergate/internal/mock"
	"evergate/internal/testkit/openapi"
)

// operator asks the admin API as the holder of its token, and reads the reply.
func (s *stack) operator(method, path, body string, headers ...string) (*http.Response, string) {
	s.t.Helper()
	res := s.adminOpen(context.Background(), method, path, body, headers...)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res, string(text)
}

func (s *stack) adminOpen(ctx context.Context, method, path, body string, headers ...string) *http.Response {
	s.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, "http://gateway"+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer admin-token")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := s.client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	return res
}

// read asks for a reply of status 200 and decodes it.
func (s *stack) read(path string, into any) {
	s.t.Helper()
	res, text := s.operator(http.MethodGet, path, "")
	if err := json.Unmarshal([]byte(text), into); err != nil || res.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %s %v %s", path, res.Status, err, text)
	}
}

// eventful fails over from a to b, opens a's breaker by hand and reloads, so that there is something of everything.
func eventful(t *testing.T) *stack {
	t.Helper()
	s := newStack(t, twoProviders+oneTry, map[string]mock.Script{"a": do(mock.Behaviour{Status: 500}), "b": answers()})
	for range 6 {
		if a := s.ask("demo", false); a.status != 200 {
			t.Fatal(a.story())
		}
	}
	s.ask("nobody", false)
	s.operate("a", `{"action":"open","reason":"maintenance","for":"10m"}`)
	s.next = parse(t, twoProviders+oneTry)
	if res, text := s.operator(http.MethodPost, "/admin/v1/reload", `{"reason":"new keys"}`); res.StatusCode != 200 {
		t.Fatal(text)
	}
	s.next, s.nextErr = nil, fmt.Errorf("it is broken")
	_ = s.app.Reload()
	time.Sleep(time.Second) // by then it is in the ledger
	return s
}

// All replies of a running gateway are as the document has them, and hold no secret.
func TestAdminRepliesAreAsDocumented(t *testing.T) {
	doc := openapi.Load(t, api.Admin)
	synctest.Test(t, func(t *testing.T) {
		s := eventful(t)
		var last struct{ Requests []struct{ ID string } }
		s.read("/admin/v1/requests?limit=1&route=demo", &last)
		if len(last.Requests) != 1 {
			t.Fatal("no request")
		}
		id := last.Requests[0].ID
		const scenario = `{"duration":"1m","traffic":[{"model":"demo","rate":"1/s"}]}`
		for _, c := range []struct {
			method, path, of, body string // of is the path in the document; empty: the path
			status                 int
		}{
			{"GET", "/healthz", "", "", 200},
			{"GET", "/readyz", "", "", 200},
			{"GET", "/metrics", "", "", 200},
			{"GET", "/admin/v1/health", "", "", 200},
			{"GET", "/admin/v1/config", "", "", 200},
			{"GET", "/admin/v1/models", "", "", 200},
			{"GET", "/admin/v1/overview", "", "", 200},
			{"GET", "/admin/v1/requests", "", "", 200},
			{"GET", "/admin/v1/requests/" + id, "/admin/v1/requests/{id}", "", 200},
			{"GET", "/admin/v1/requests/none", "/admin/v1/requests/{id}", "", 404},
			{"GET", "/admin/v1/timeline", "", "", 200},
			{"GET", "/admin/v1/audit", "", "", 200},
			{"GET", "/admin/v1/usage?group_by=key,route,model,provider&step=minute", "", "", 200},
			{"GET", "/admin/v1/usage?group_by=keys", "", "", 400},
			{"GET", "/admin/v1/usage?format=csv", "", "", 200},
			{"GET", "/admin/v1/faults", "", "", 200},
			{"GET", "/admin/v1/explain/" + id, "/admin/v1/explain/{id}", "", 200},
			{"POST", "/admin/v1/explain", "", `{"model":"demo"}`, 200},
			{"POST", "/admin/v1/explain", "", `{}`, 400},
			{"POST", "/admin/v1/simulate", "", scenario, 200},
			{"POST", "/admin/v1/simulate", "", `{"duration":"1m"}`, 422},
			{"POST", "/admin/v1/simulate", "", strings.Replace(scenario, "1m", "720h", 1), 400},
			{"POST", "/admin/v1/simulate", "", `{"duration":"1s","traffic":[{"model":"demo","clients":1000000}]}`, 400},
			{"POST", "/admin/v1/simulate", "", `{"duration":"1m","traffic":[{"model":"demo","rate":"80000/s"}]}`, 400},
			{"POST", "/admin/v1/providers/b/breaker", "/admin/v1/providers/{provider}/breaker", `{"action":"reset","reason":"x"}`, 200},
			{"POST", "/admin/v1/providers/c/breaker", "/admin/v1/providers/{provider}/breaker", `{}`, 404},
			{"POST", "/admin/v1/reload", "", "", 422},
			{"GET", "/admin/v1/openapi.json", "", "", 200},
		} {
			res, text := s.operator(c.method, c.path, c.body)
			if res.StatusCode != c.status {
				t.Errorf("%s %s: %s %s", c.method, c.path, res.Status, text)
			}
			of, _, _ := strings.Cut(c.path, "?")
			if c.of != "" {
				of = c.of
			}
			doc.Check(t, c.method, of, res.StatusCode, res.Header.Get("Content-Type"), []byte(text))
			for _, secret := range []string{"sk-key-of", "admin-token"} {
				if of != "/admin/v1/openapi.json" && strings.Contains(text, secret) {
					t.Errorf("%s holds a secret: %s", c.path, text)
				}
			}
		}
	})
}

// What the admin API tells is what happened.
func TestAdminTellsWhatHappened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := eventful(t)
		var page struct {
			Requests []struct {
				ID, Route, Provider, Trail, Code string
				Attempts, Status                 int
				Rescued                          bool
			}
		}
		s.read("/admin/v1/requests", &page)
		if len(page.Requests) != 7 {
			t.Fatalf("%d requests: %+v", len(page.Requests), page)
		}
		if r := page.Requests[0]; r.Status != 404 || r.Code != "model_not_found" {
			t.Errorf("%+v", r)
		}
		if r := page.Requests[6]; r.Trail != "a/m=500, b/m2=200" || !r.Rescued || r.Attempts != 2 || r.Provider != "b" || r.Route != "demo" {
			t.Errorf("%+v", r)
		}

		type entry struct {
			Kind, Provider, Guard, From, To, Trip, Reason, By string
			RequestID                                         string `json:"request_id"`
		}
		var timeline, audit struct{ Entries []entry }
		s.read("/admin/v1/timeline?kinds=guard&provider=a", &timeline)
		opened := timeline.Entries[len(timeline.Entries)-1]
		if opened.Guard != "circuit_breaker" || opened.To != "open" || opened.Trip != "failures" || opened.RequestID != page.Requests[2].ID {
			t.Errorf("%+v, requests %+v", opened, page.Requests)
		}
		s.read("/admin/v1/audit", &audit)
		var said []string
		for _, e := range audit.Entries {
			by, _, _ := strings.Cut(e.By, " at ")
			said = append(said, strings.Join([]string{e.Kind, e.Guard, e.Provider + e.From, e.To, e.Reason, by}, "|"))
		}
		want := []string{
			"change|reload|test.yaml|it is broken||signal",
			"change|reload|test.yaml|ok|new keys|holder of the admin token",
			"order|open|a||maintenance|holder of the admin token",
		}
		if strings.Join(said, "\n") != strings.Join(want, "\n") {
			t.Errorf("%q", said)
		}

		var usage struct {
			Rows  []struct{ Provider string }
			Total struct{ Requests, Attempts, Rescued, Failovers int }
		}
		s.read("/admin/v1/usage?group_by=provider", &usage)
		if usage.Total.Requests != 7 || usage.Total.Attempts != 11 || usage.Total.Failovers != 5 {
			t.Errorf("%+v", usage)
		}
		var overview struct {
			Window struct{ Requests, Attempts int }
			Series []struct{ Requests int }
		}
		s.read("/admin/v1/overview?window=1h", &overview)
		sum := 0
		for _, p := range overview.Series {
			sum += p.Requests
		}
		if overview.Window.Requests != 7 || sum != 7 || overview.Window.Attempts != usage.Total.Attempts {
			t.Errorf("%+v", overview.Window)
		}
		var models struct {
			Models []struct {
				Name, Summary string
				Order         []struct{ Provider string }
			}
		}
		s.read("/admin/v1/models", &models)
		if len(models.Models) != 1 || models.Models[0].Order[0].Provider != "b" {
			t.Errorf("%+v", models)
		}
		var config struct {
			YAML      string
			DataPlane string `json:"data_plane"`
		}
		s.read("/admin/v1/config", &config)
		if !strings.Contains(config.YAML, `api_key: "***"`) {
			t.Errorf("%+v", config)
		}
	})
}

// events reads the live feed; what gives the names of the events since it was asked last.
type events struct {
	res   *http.Response
	leave context.CancelFunc
	mu    sync.Mutex
	names []string
	data  string // of the last one
	ended time.Time
}

func (s *stack) events(headers ...string) *events {
	ctx, leave := context.WithCancel(context.Background())
	e := &events{res: s.adminOpen(ctx, http.MethodGet, "/admin/v1/events?kinds=request,guard,order", "", headers...), leave: leave}
	go func() {
		defer e.res.Body.Close()
		lines := bufio.NewScanner(e.res.Body)
		for lines.Scan() {
			e.mu.Lock()
			if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				e.names = append(e.names, name)
			} else if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				e.data = data
			}
			e.mu.Unlock()
		}
		e.mu.Lock()
		e.ended = time.Now()
		e.mu.Unlock()
	}()
	s.t.Cleanup(leave)
	return e
}

func (e *events) what() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := strings.Join(e.names, " ")
	e.names = nil
	return out
}

// end is when the stream ended; zero: it has not.
func (e *events) end() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ended
}

// A live request and a transition show at once; a stop waits for nobody who watches, and a new token has them come back.
func TestLiveEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, twoProviders+oneTry, map[string]mock.Script{"a": do(mock.Behaviour{Status: 500}), "b": answers()})
		e := s.events()
		time.Sleep(100 * time.Millisecond)
		if got := e.what(); got != "hello" {
			t.Fatal(got)
		}
		for range 5 {
			s.ask("demo", true)
		}
		time.Sleep(100 * time.Millisecond)
		if got := e.what(); got != "request request request request guard request" {
			t.Error(got)
		}
		time.Sleep(time.Second)
		var list struct{ Requests []json.RawMessage }
		s.read("/admin/v1/requests?limit=1", &list)
		e.mu.Lock()
		if string(list.Requests[0]) != e.data {
			t.Errorf("the event is not the row of the list:\n%s\n%s", e.data, list.Requests[0])
		}
		e.mu.Unlock()
		s.operate("a", `{"action":"reset","reason":"x"}`)
		time.Sleep(100 * time.Millisecond)
		if got := e.what(); got != "guard order" && got != "order guard" {
			t.Error(got)
		}
		time.Sleep(time.Hour)
		if got := e.what(); got != "" || !e.end().IsZero() {
			t.Errorf("%q, ended %v", got, e.end())
		}

		s.next = parse(t, strings.Replace(twoProviders, "admin-token", "another-token", 1)+oneTry)
		if err := s.app.Reload(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
		if e.end().IsZero() {
			t.Error("who has an old token still watches")
		}
		again := s.events("Authorization", "Bearer another-token")
		time.Sleep(100 * time.Millisecond)
		if got := again.what(); got != "hello" {
			t.Fatalf("%s %q", again.res.Status, got)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		began := time.Now()
		if err := s.app.Stop(ctx); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if at := again.end(); at.IsZero() || at.Sub(began) > 10*time.Millisecond {
			t.Errorf("it ended %v after the stop began", at.Sub(began))
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("the stop took %v", took)
		}
	})
}

// Who does not read what is sent is let go after a while, and makes room for others; no request waits for it.
func TestAWatcherThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, twoProviders+oneTry, map[string]mock.Script{"a": answers(), "b": answers()})
		for range feed.MaxReaders {
			conn, err := s.net.DialContext(t.Context(), "tcp", "gateway:80")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close() })
			if _, err := io.WriteString(conn, "GET /admin/v1/events HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer admin-token\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		if res, text := s.operator(http.MethodGet, "/admin/v1/events", ""); res.StatusCode != 503 || !strings.Contains(text, "too_many_readers") {
			t.Fatalf("%s %s", res.Status, text)
		}
		for range 150 { // more than a connection holds
			if a := s.ask("demo", false); a.story() != "200 a stop @150ms" {
				t.Fatal(a.story())
			}
		}
		time.Sleep(time.Minute)
		e := s.events()
		if e.res.StatusCode != 200 {
			t.Error(e.res.Status)
		}
	})
}
