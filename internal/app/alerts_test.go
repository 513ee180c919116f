package app

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/admin"
	"evergate/internal/alert"
	"evergate/internal/config"
	"evergate/internal/mock"
	"evergate/internal/replica"
	"evergate/internal/store/memory"
)

// pager is somebody who is told.
type pager struct {
	mu     sync.Mutex
	alerts []alert.Alert
	status int // 0: 200
}

func (p *pager) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var a alert.Alert
	_ = json.NewDecoder(r.Body).Decode(&a)
	p.mu.Lock()
	p.alerts = append(p.alerts, a)
	status := p.status
	p.mu.Unlock()
	if status != 0 {
		w.WriteHeader(status)
	}
}

// told is what it heard, in a few words each.
func (p *pager) told() (out []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.alerts {
		out = append(out, strings.TrimSpace(string(a.Event)+" "+string(a.Status)+" "+a.Provider+a.Route+" "+a.RequestID))
	}
	return out
}

const alerting = fleetConfig + "alerts: [{ name: ops, url: 'http://pager/T0/s3cret', secret: shh }]\n"

// paged is a gateway that tells a pager.
func paged(t *testing.T, at *memory.Store, p *pager, a string) *stack {
	t.Helper()
	return newStackWith(t, parse(t, alerting), map[string]mock.Script{"a": scripted(t, a), "b": {Models: []string{"m2"}}}, slog.New(slog.DiscardHandler), func(s *stack) {
		s.net.Serve(t, "pager:80", p)
		if at != nil {
			s.open = func(context.Context, config.State) (replica.Store, error) { return at.Peer(), nil }
		}
	})
}

// From a provider that breaks to the people who hear of it: the breaker, with the request that opened it, an outage of a model, and
// their ends.
func TestPeopleAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pager{}
		s := paged(t, nil, p, broken)
		for range 3 {
			s.post(context.Background(), "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi"}]}`, "X-Request-Id", "the-cause")
		}
		time.Sleep(time.Second)
		if got := p.told(); !slices.Equal(got, []string{"breaker_opened firing a the-cause", "all_blocked firing m the-cause"}) {
			t.Errorf("told %q", got)
		}
		s.mocks["a"].SetScript(mock.Script{Name: "a", Models: []string{"m"}})
		time.Sleep(30 * time.Second)
		for range 10 {
			s.post(context.Background(), "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi"}]}`, "X-Request-Id", "well")
			time.Sleep(10 * time.Second)
		}
		if got := p.told()[2:]; !slices.Equal(got, []string{"breaker_closed resolved a well", "all_blocked resolved m"}) {
			t.Errorf("then told %q", got)
		}
	})
}

// Of a fleet one tells.
func TestOneGatewayOfAFleetTells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at, p := memory.New(time.Now), &pager{}
		one, _, _ := paged(t, at, p, broken), paged(t, at, p, well), paged(t, at, p, well)
		time.Sleep(10 * time.Second)
		for range 2 {
			one.ask("demo", false)
		}
		time.Sleep(time.Minute)
		one.mocks["a"].SetScript(mock.Script{Name: "a", Models: []string{"m"}})
		one.ask("demo", false)
		time.Sleep(5 * time.Minute)
		got := p.told()
		if len(got) != 2 || !strings.HasPrefix(got[0], "breaker_opened firing a req_") || !strings.HasPrefix(got[1], "breaker_closed resolved a") {
			t.Errorf("told %q", got)
		}
	})
}

// The admin API tests a receiver and shows what became of alerts; the URL is shown nowhere, neither in the log nor in the metrics.
func TestAlertsOfTheAdminAPI(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		p := &pager{status: http.StatusForbidden}
		s := newStackWith(t, parse(t, alerting), map[string]mock.Script{"a": scripted(t, broken), "b": {Models: []string{"m2"}}}, slog.New(slog.NewTextHandler(&log, nil)), func(s *stack) { s.net.Serve(t, "pager:80", p) })
		call := func(method, path, body string) (int, string) {
			req, _ := http.NewRequestWithContext(t.Context(), method, "http://gateway"+path, strings.NewReader(body))
			req.Header.Set("Authorization", "Bearer admin-token")
			req.Header.Set("Content-Type", "application/json")
			res, err := s.client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			text, _ := io.ReadAll(res.Body)
			return res.StatusCode, string(text)
		}
		var said string
		test := func(body string, want int, words string) {
			t.Helper()
			status, text := call("POST", "/admin/v1/alerts/test", body)
			if said += text; status != want || !strings.Contains(text, words) {
				t.Errorf("%s: %d %s", body, status, text)
			}
		}
		test(`{"receiver":"ops"}`, 200, `"delivered":false,"status":403,"message":"it answers with status 403"`)
		test(`{"receiver":"opps"}`, 404, `did you mean \"ops\"?`)
		test(`{}`, 400, `receiver`)
		test(`{"receiver":"ops","x":1}`, 400, `receiver`)
		test(`x`, 400, `receiver`)
		time.Sleep(5 * time.Minute) // its connection is closed by now
		s.net.Refuse("pager")
		test(`{"receiver":"ops"}`, 200, `"delivered":false,"status":0,"message":"it refuses connections"`)
		for range 2 {
			s.ask("demo", false)
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		_, text := call("GET", "/admin/v1/alerts", "")
		var reply struct{ Receivers []admin.AlertReceiver }
		if err := json.Unmarshal([]byte(text), &reply); err != nil || len(reply.Receivers) != 1 {
			t.Fatalf("%s", text)
		}
		if r := reply.Receivers[0]; r.Name != "ops" || !r.Signed || r.Failed != 1 || r.Message != "it refuses connections" || len(r.On) != len(alert.Events()) {
			t.Errorf("%+v", r)
		}
		_, metrics := call("GET", "/metrics", "")
		if !strings.Contains(metrics, `evergate_alerts_total{receiver="ops",result="failed"} 1`) {
			t.Error("the metrics do not count it")
		}
		if !strings.Contains(log.String(), "alert not delivered") {
			t.Error("the log does not say so")
		}
		for what, text := range map[string]string{"replies": said + text, "metrics": metrics, "log": log.String()} {
			for _, secret := range []string{"s3cret", "shh", "pager"} {
				if strings.Contains(text, secret) {
					t.Errorf("%q is in the %s", secret, what)
				}
			}
		}
	})
}

// A reload changes who is told.
func TestReloadOfAlerts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pager{}
		s := paged(t, nil, p, broken)
		s.next = parse(t, fleetConfig)
		if err := s.app.Reload(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			s.ask("demo", false)
		}
		time.Sleep(time.Second)
		if got := p.told(); len(got) != 0 {
			t.Errorf("told %q", got)
		}
		s.next = parse(t, alerting)
		if err := s.app.Reload(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if got := p.told(); len(got) != 1 || !strings.HasPrefix(got[0], "breaker_opened firing a req_") { // which was open before somebody listened
			t.Errorf("told %q", got)
		}
		s.mocks["a"].SetScript(mock.Script{Name: "a", Models: []string{"m"}})
		time.Sleep(time.Minute)
		s.ask("demo", false)
		time.Sleep(time.Second)
		if got := p.told(); len(got) != 2 || !strings.HasPrefix(got[1], "breaker_closed resolved a") {
			t.Errorf("told %q", got)
		}
	})
}
