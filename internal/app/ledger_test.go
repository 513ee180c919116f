package app

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/ledger"
	"evergate/internal/mock"
)

// priced is twoProviders with what their models cost: a's dollar and two, b's three and five, for a million tokens.
const priced = twoProviders + `
resilience: {retry: {max_retries: 0}}
catalog:
  a/m: {input_price: 1, output_price: 2}
  b/m2: {input_price: 3, output_price: 5}
`

// kept gives the rows of the ledger, the newest first.
func (s *stack) kept(q ledger.RequestQuery) []ledger.Request {
	s.t.Helper()
	if err := s.app.book.Flush(context.Background()); err != nil {
		s.t.Fatal(err)
	}
	page, err := s.app.book.Store().Requests(context.Background(), q)
	if err != nil {
		s.t.Fatal(err)
	}
	return page.Requests
}

func (s *stack) summed(q ledger.UsageQuery) []ledger.UsageRow {
	s.t.Helper()
	if err := s.app.book.Flush(context.Background()); err != nil {
		s.t.Fatal(err)
	}
	rows, err := s.app.book.Store().Usage(context.Background(), q)
	if err != nil {
		s.t.Fatal(err)
	}
	return rows
}

// bill is what each attempt of a row used and cost, in one line.
func bill(r *ledger.Request) string {
	var out []string
	for i := range r.Trail {
		s := &r.Trail[i]
		word := fmt.Sprintf("%s %d+%d", s.Provider, s.Usage.Input, s.Usage.Output)
		switch {
		case s.Skipped:
			word = s.Provider + " skipped"
		case !s.Usage.Known:
			word = s.Provider + " nothing"
		case s.Estimated:
			word = s.Provider + " about"
		}
		if !s.Cost.Known {
			word += " unpriced"
		} else if s.Cost.Nano == 0 {
			word += " free"
		}
		out = append(out, word)
	}
	return strings.Join(out, ", ")
}

// What each attempt used, and what it costs: what the upstream said; else an estimate, of what was sent and received; nothing where it was not asked, or refused.
func TestEachAttemptHasItsCost(t *testing.T) {
	answer := mock.Behaviour{Latency: 10 * time.Millisecond, ChunkDelay: time.Millisecond, Chunks: 10}
	for _, c := range []struct {
		name   string
		stream bool
		a      mock.Script
		config string
		want   string
	}{
		{name: "a plain answer", a: do(answer), want: "a %d+%d"},
		{name: "a stream", stream: true, a: do(answer), want: "a %d+%d"},
		{name: "a refusal costs nothing", a: do(mock.Behaviour{Status: 503}), want: "a nothing free, b %d+%d"},
		{name: "a reset before an answer is estimated", a: do(mock.Behaviour{Reset: mock.After(0)}), want: "a about, b %d+%d"},
		{name: "a stream that breaks is estimated", stream: true, a: do(mock.Behaviour{ChunkDelay: time.Millisecond, Chunks: 10, Reset: mock.After(5)}), want: "a about"},
		{name: "a stream that ends in an error event is estimated", stream: true, a: do(mock.Behaviour{ChunkDelay: time.Millisecond, Chunks: 10, Error: mock.After(5), Code: "503"}), want: "a about"},
		{name: "no price", a: do(answer), config: "\n  a/m: {tools: true}\n", want: "a %d+%d unpriced"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				text := priced
				if c.config != "" {
					text = strings.Replace(text, "\n  a/m: {input_price: 1, output_price: 2}\n", c.config, 1)
				}
				s := newStack(t, text, map[string]mock.Script{"a": c.a, "b": do(answer)})
				s.ask("demo", c.stream)
				rows := s.kept(ledger.RequestQuery{})
				if len(rows) != 1 {
					t.Fatalf("%d rows", len(rows))
				}
				r := &rows[0]
				want := c.want
				if strings.Contains(want, "%d") {
					want = fmt.Sprintf(want, r.Usage.Input, r.Usage.Output)
				}
				if got := bill(r); got != want {
					t.Errorf("%s, want %s", got, want)
				}
				sum, known := int64(0), true
				for i := range r.Trail {
					u, cost := &r.Trail[i].Usage, r.Trail[i].Cost
					price := map[string][2]int64{"a": {1, 2}, "b": {3, 5}}[r.Trail[i].Provider]
					if want := (u.Input*price[0] + u.Output*price[1]) * 1000; cost.Known && cost.Nano != want {
						t.Errorf("attempt %d cost %d, want %d", i, cost.Nano, want)
					}
					sum, known = sum+cost.Nano, known && cost.Known
					if u.Known && (u.Input <= 0 || u.Input > 1000 || u.Output < 0 || u.Output > 1000) {
						t.Errorf("attempt %d used %+v", i, *u)
					}
				}
				if r.Cost.Nano != sum || r.Cost.Known != known {
					t.Errorf("the request cost %+v, its attempts %d", r.Cost, sum)
				}
				if r.Trail[len(r.Trail)-1].Estimated != r.Estimated {
					t.Errorf("estimated: %v", r.Estimated)
				}
				total := ledger.Sums{}
				for _, row := range s.summed(ledger.UsageQuery{ByProvider: true, ByModel: true}) {
					total.Add(&row.Sums)
				}
				if total.Requests != 1 || total.Attempts != int64(len(r.Trail)) || total.CostNano != sum {
					t.Errorf("summed %+v", total)
				}
				if want := one(!known); total.Unpriced != want {
					t.Errorf("%d attempts unpriced, want %d", total.Unpriced, want)
				}
			})
		})
	}
}

func one(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}

// Anthropic says what a prompt has at the beginning of a stream, and what the answer has at its end: of one that breaks off the answer is estimated.
func TestUsageSaidTooEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text := strings.Replace(priced, `a: {type: openai, base_url: "http://a/v1"`, `a: {type: anthropic, base_url: "http://a"`, 1)
		s := newStack(t, text, map[string]mock.Script{"a": do(mock.Behaviour{ChunkDelay: time.Millisecond, Chunks: 10, Reset: mock.After(6)}), "b": answers()})
		s.post(t.Context(), "/v1/messages", `{"model":"demo","stream":true,"max_tokens":100,"messages":[{"role":"user","content":"hi"}]}`)
		r := s.kept(ledger.RequestQuery{})[0]
		u := &r.Trail[0].Usage
		if !r.Trail[0].Estimated || u.Input == 0 || u.Output < 2 || u.Output > 100 || r.Cost.Nano != (u.Input+2*u.Output)*1000 {
			t.Errorf("%s: %+v", bill(&r), *u)
		}
	})
}

// A provider that is not there was not asked: nothing was used.
func TestNobodyThereCostsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, priced, map[string]mock.Script{"b": answers()})
		s.ask("demo", false)
		if r := s.kept(ledger.RequestQuery{})[0]; !strings.HasPrefix(bill(&r), "a nothing free, b ") {
			t.Errorf("%s", bill(&r))
		}
	})
}

// Money is in the metrics, whoever spent it; what a client left is estimated.
func TestCostIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, priced, map[string]mock.Script{"a": {Defaults: steady()}, "b": answers()})
		ctx, cancel := context.WithTimeout(t.Context(), 205*time.Millisecond) // in the content
		defer cancel()
		s.post(ctx, "/v1/chat/completions", `{"model":"demo","stream":true,"messages":[{"role":"user","content":"hi"}]}`)
		synctest.Wait()
		r := s.kept(ledger.RequestQuery{})[0]
		if r.Status != statusGone || !r.Estimated || r.Usage.Input == 0 || r.Usage.Output == 0 || r.Cost.Nano == 0 || r.Account.Failed || r.Account.OK {
			t.Errorf("%d %+v %+v %+v", r.Status, r.Usage, r.Cost, r.Account)
		}
		want := fmt.Sprintf(`evergate_cost_usd_total{model="m",provider="a"} %v`, float64(r.Cost.Nano)/1e9)
		if got := s.scrape(); !strings.Contains(got, want) {
			t.Errorf("no %q in the metrics", want)
		}
	})
}

// scrape gives the metrics.
func (s *stack) scrape() string {
	s.t.Helper()
	return s.adminText(http.MethodGet, "/metrics", "")
}

// Mirrors and probes spend money, and are rows of their own kind; requests they are not.
func TestAsidesAreInTheLedger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text := strings.Replace(priced, "targets: [a/m, b/m2]", "targets: [a/m], mirror: {target: b/m2, share: 1}", 1)
		s := newStack(t, text, map[string]mock.Script{"a": answers(), "b": answers()})
		s.ask("demo", false)
		time.Sleep(time.Minute)
		if rows := s.kept(ledger.RequestQuery{}); len(rows) != 1 || rows[0].Provider != "a" {
			t.Errorf("%d requests", len(rows))
		}
		rows := s.kept(ledger.RequestQuery{Kind: ledger.KindMirror})
		if len(rows) != 1 || rows[0].Provider != "b" || rows[0].Cost.Nano == 0 || rows[0].Route != "demo" {
			t.Fatalf("mirrors: %+v", rows)
		}
		for _, u := range s.summed(ledger.UsageQuery{ByProvider: true}) {
			if want := (map[string][3]int64{"a": {1, 1, 0}, "b": {0, 0, 1}})[u.Provider]; [3]int64{u.Requests, u.Attempts, u.Asides} != want || u.CostNano == 0 {
				t.Errorf("%s: %+v", u.Provider, u.Sums)
			}
		}
	})
	synctest.Test(t, func(t *testing.T) {
		text := strings.Replace(priced, "models: [m]}", "models: [m], probe: completion}", 1)
		s := downed(t, text)
		s.mocks["a"].SetScript(answers())
		time.Sleep(10 * time.Minute)
		rows := s.kept(ledger.RequestQuery{Kind: ledger.KindProbe})
		if len(rows) == 0 || rows[0].Provider != "a" || rows[0].Model != "m" || rows[0].Cost.Nano == 0 || !rows[0].Cost.Known {
			t.Errorf("probes: %+v", rows)
		}
		page, err := s.app.book.Store().Timeline(t.Context(), ledger.TimelineQuery{Kinds: []string{ledger.EntryGuard, ledger.EntryProbe}})
		if err != nil || len(page.Entries) < 3 {
			t.Errorf("%d entries, %v", len(page.Entries), err)
		}
	})
}
