package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"evergate/internal/testkit/servers"
)

// What the model of these tests costs, in billionths of a dollar a token.
const (
	nanoPerInput  = 1000
	nanoPerOutput = 4000
)

// till is an upstream that keeps its own count of what it said that was used: of whole answers, and of streams that it broke off after it had said so.
type till struct {
	*httptest.Server

	mu            sync.Mutex
	n             int
	input, output int64
	answers       int64 // that cost anything
}

func newTill(t *testing.T) *till {
	t.Helper()
	s := &till{}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func (s *till) serve(w http.ResponseWriter, r *http.Request) {
	var body struct{ Stream bool }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		reply(w, http.StatusBadRequest, `{"error":{"message":"no JSON"}}`)
		return
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	s.mu.Lock()
	s.n++
	n := s.n
	s.mu.Unlock()
	time.Sleep(time.Duration(20+n%7*20) * time.Millisecond)
	if name == "shaky" && n%3 == 0 {
		reply(w, http.StatusServiceUnavailable, `{"error":{"message":"busy","type":"server_error"}}`)
		return
	}
	input, output := int64(500+n%400), int64(100+n%300)
	if !body.Stream {
		s.sell(input, output)
		reply(w, http.StatusOK, fmt.Sprintf(
			`{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"word"},"finish_reason":"stop"}],"usage":%s}`,
			usageText(input, output)))
		return
	}
	s.stream(w, name == "shaky" && n%5 == 0, input, output)
}

// stream says with each chunk what was used so far, as some servers do; one that is cut ends without more.
func (s *till) stream(w http.ResponseWriter, cut bool, input, output int64) {
	w.Header().Set("Content-Type", "text/event-stream")
	chunk := func(delta, finish string, used int64) {
		_, _ = fmt.Fprintf(w, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}],\"usage\":%s}\n\n",
			delta, finish, usageText(input, used))
		_ = http.NewResponseController(w).Flush()
	}
	chunk(`{"role":"assistant","content":"word "}`, "null", output/2)
	time.Sleep(5 * time.Millisecond)
	if cut {
		s.sell(input, output/2)
		panic(http.ErrAbortHandler)
	}
	chunk(`{"content":"word"}`, "null", output)
	s.sell(input, output)
	chunk(`{}`, `"stop"`, output)
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

func usageText(input, output int64) string {
	return fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}`, input, output, input+output)
}

func (s *till) sell(input, output int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.input, s.output, s.answers = s.input+input, s.output+output, s.answers+1
}

// sold is what was used in all, and what that costs.
func (s *till) sold() (input, output, answers, nano int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.input, s.output, s.answers, s.input*nanoPerInput + s.output*nanoPerOutput
}

// moneyFleet is three instances that share a store and a key with a budget or limits.
func moneyFleet(t *testing.T, up *till, state, ofKey string) *fleet {
	t.Helper()
	f := &fleet{client: &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 256}}}
	t.Cleanup(f.client.CloseIdleConnections)
	f.config = fmt.Sprintf(`providers:
  shaky: { type: openai-compatible, base_url: "%[1]s/shaky/v1", api_key: a, models: [m] }
  good: { type: openai-compatible, base_url: "%[1]s/good/v1", api_key: b, models: [m] }
models:
  m: { targets: [shaky/m, good/m] }
catalog:
  m: { input_price: 1, output_price: 4 }
auth: { keys: [{ name: ci, value: sk-money-0123456789, %[3]s }] }
admin: { token: adm-0123456789abcdef }
resilience: { retry: { max_retries: 0 }, cooldown: { failures: 0 }, circuit_breaker: { failure_threshold: 0 } }
state: { url: %[2]q, sync_interval: 100ms }
`, up.URL, state, ofKey)
	for range 3 {
		f.join(t)
	}
	return f
}

// paid is one request as its client saw it.
type paid struct {
	began, ended time.Time
	status       int
	wait         time.Duration
}

func (f *fleet) pay(g *gateway, streamed bool) (paid, error) {
	body := fmt.Sprintf(`{"model":"m","stream":%t,"max_tokens":250,"messages":[{"role":"user","content":%q}]}`, streamed, strings.Repeat("word ", 500))
	req, err := http.NewRequest(http.MethodPost, g.url+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return paid{}, err
	}
	req.Header.Set("Authorization", "Bearer sk-money-0123456789")
	req.Header.Set("Content-Type", "application/json")
	p := paid{began: time.Now()}
	resp, err := f.client.Do(req)
	if err != nil {
		return p, err
	}
	defer func() { _ = resp.Body.Close() }()
	_, err = io.Copy(io.Discard, bufio.NewReader(resp.Body))
	p.ended, p.status = time.Now(), resp.StatusCode
	ms, _ := strconv.Atoi(resp.Header.Get("Retry-After-Ms"))
	p.wait = time.Duration(ms) * time.Millisecond
	return p, err
}

// admin reads a reply of the admin API.
func (f *fleet) admin(t *testing.T, g *gateway, path string, into any) {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, g.url+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer adm-0123456789abcdef")
	resp, err := f.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s, %v: %s", path, resp.Status, err, text)
	}
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(into); err != nil {
		t.Fatalf("GET %s: %v: %s", path, err, text)
	}
}

// TestMoney: 200 clients spend a budget of one dollar at three instances, with failovers and streams that break off. No more is spent than the dollar and
// what was in flight when it was used up; the ledger, the budget and the provider have the same count, to the token and the billionth; and an instance
// that is started anew lets nobody in.
func TestMoney(t *testing.T) {
	sideBySide(t)
	t.Run("redis", func(t *testing.T) {
		s := redisState(t, servers.StartRedis)
		money(t, s.url(s.addr))
	})
	if os.Getenv("EVERGATE_FLEET") == "full" {
		t.Run("postgres", func(t *testing.T) {
			s, _ := postgresState(t)
			money(t, s.url(s.addr))
		})
	}
}

func money(t *testing.T, state string) {
	t.Helper()
	const budget = int64(1e9)
	up := newTill(t)
	f := moneyFleet(t, up, state, "budget: { usd: 1, per: month }")
	f.knowAll(t)
	var mu sync.Mutex
	var clients sync.WaitGroup
	over := time.Time{} // when the first was told that the budget is used up
	late := 0           // requests that began well after that, and were let in
	longest := time.Duration(0)
	for i := range 200 {
		clients.Go(func() {
			for n := 0; ; n++ {
				p, err := f.pay(f.all[(i+n)%len(f.all)], (i+n)%2 == 0)
				mu.Lock()
				if p.status == http.StatusPaymentRequired && over.IsZero() {
					over = p.ended
				}
				if p.status == http.StatusOK && !over.IsZero() && p.began.Sub(over) > 2*time.Second {
					late++
				}
				longest = max(longest, p.ended.Sub(p.began))
				mu.Unlock()
				switch {
				case err != nil && p.status == 0:
					t.Errorf("a request failed: %v", err)
					return
				case p.status == http.StatusPaymentRequired:
					return
				case p.status == http.StatusTooManyRequests: // requests in flight hold the rest
					time.Sleep(p.wait)
				case p.status != http.StatusOK:
					t.Errorf("a request was answered %d", p.status)
					return
				}
			}
		})
	}
	clients.Wait()
	input, output, answers, nano := up.sold()
	inFlight := int64(200) * (900*nanoPerInput + 400*nanoPerOutput)
	t.Logf("%d answers, %d and %d tokens, $%.9f; the longest request took %v", answers, input, output, float64(nano)/1e9, longest)
	if nano < budget || nano > budget+inFlight {
		t.Errorf("%d billionths were spent of %d, with at most %d in flight", nano, budget, inFlight)
	}
	if late > 0 {
		t.Errorf("%d requests were let in two seconds and more after the budget was used up", late)
	}
	f.accounts(t, input, output, nano)
	g := f.all[0]
	g.kill()
	f.again(t, g, nil, evergate)
	if p, err := f.pay(g, false); err != nil || p.status != http.StatusPaymentRequired {
		t.Errorf("an instance that was started anew answers %d, %v", p.status, err)
	}
}

// accounts holds the ledger, its attempts and the budget against the provider's own count.
func (f *fleet) accounts(t *testing.T, input, output, nano int64) {
	t.Helper()
	type sums struct {
		Requests int64
		Input    int64       `json:"input_tokens"`
		Output   int64       `json:"output_tokens"`
		Cost     json.Number `json:"cost_usd"`
	}
	want := sums{Input: input, Output: output}
	eventually(t, 10*time.Second, func() error {
		var usage struct {
			Total sums
			Rows  []sums
		}
		f.admin(t, f.all[1], "/admin/v1/usage?group_by=provider", &usage)
		var rows sums
		cost := int64(0)
		for _, r := range usage.Rows {
			rows.Input, rows.Output = rows.Input+r.Input, rows.Output+r.Output
			cost += nanoOf(t, r.Cost)
		}
		if got := usage.Total; got.Input != want.Input || got.Output != want.Output || nanoOf(t, got.Cost) != nano || rows.Input != input || rows.Output != output || cost != nano {
			return fmt.Errorf("the ledger has %+v and attempts of %+v and %d, the provider %+v and %d", got, rows, cost, want, nano)
		}
		return nil
	})
	eventually(t, 5*time.Second, func() error {
		for _, g := range f.all {
			var limits struct {
				Scopes []struct {
					Scope, Name string
					Budgets     []struct {
						Spent json.Number `json:"spent_usd"`
						Held  json.Number `json:"held_usd"`
					}
				}
			}
			f.admin(t, g, "/admin/v1/limits", &limits)
			if len(limits.Scopes) != 1 || len(limits.Scopes[0].Budgets) != 1 {
				return fmt.Errorf("GET /admin/v1/limits gives %+v", limits)
			}
			if b := limits.Scopes[0].Budgets[0]; nanoOf(t, b.Spent) != nano || nanoOf(t, b.Held) != 0 {
				return fmt.Errorf("%s counts %s spent and %s held, the provider %d", g.url, b.Spent, b.Held, nano)
			}
		}
		return nil
	})
}

// nanoOf reads dollars without a loss.
func nanoOf(t *testing.T, n json.Number) int64 {
	t.Helper()
	whole, part, _ := strings.Cut(n.String(), ".")
	if len(part) > 9 {
		t.Fatalf("%s has more than billionths", n)
	}
	v, err := strconv.ParseInt(whole+part+strings.Repeat("0", 9-len(part)), 10, 64)
	if err != nil {
		t.Fatalf("%q is no amount: %v", n, err)
	}
	return v
}

// knowAll waits until all instances know of each other.
func (f *fleet) knowAll(t *testing.T) {
	t.Helper()
	for _, g := range f.all {
		eventually(t, 30*time.Second, func() error {
			var h fleetView
			f.admin(t, g, "/admin/v1/health", &h)
			if !h.State.Reached || len(h.Instances) < len(f.all) {
				return fmt.Errorf("%s knows %d instances", g.url, len(h.Instances))
			}
			return nil
		})
	}
}

// TestLimitsOutliveStore: the store dies under a limit of requests, and does not come back. Traffic goes on, and no more is let in within a minute than
// the limit and what each instance may let in on its own.
func TestLimitsOutliveStore(t *testing.T) {
	sideBySide(t)
	const limit, lease = 300, 6
	up := newTill(t)
	r := servers.StartRedis(t)
	f := moneyFleet(t, up, "redis://"+r.Addr()+"/0", "limits: { requests_per_minute: 300 }")
	f.knowAll(t)
	in := 0
	send := func(clients, each int) (refused int) {
		var all sync.WaitGroup
		var mu sync.Mutex
		for i := range clients {
			all.Go(func() {
				for range each {
					p, err := f.pay(f.all[i%len(f.all)], false)
					mu.Lock()
					switch {
					case err != nil:
						t.Error(err)
					case p.status == http.StatusTooManyRequests:
						refused++
					default:
						in++
					}
					mu.Unlock()
				}
			})
		}
		all.Wait()
		return refused
	}
	if refused := send(15, 2); refused != 0 {
		t.Fatalf("%d of 30 were refused", refused)
	}
	time.Sleep(1200 * time.Millisecond) // all have heard of them
	r.Kill()
	if refused := send(15, 2); refused != 0 {
		t.Errorf("%d of 30 were refused when the store had died", refused)
	}
	if refused := send(45, 10); refused == 0 {
		t.Error("nobody was refused")
	}
	t.Logf("%d of %d were let in", in, limit)
	if in > limit+3*lease || in < limit*95/100 {
		t.Errorf("%d were let in of %d", in, limit)
	}
}
