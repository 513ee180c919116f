package mock_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/mock"
)

func status(n int) mock.Behaviour { return mock.Behaviour{Status: n} }

func TestRulesMatch(t *testing.T) {
	s := mock.Script{
		Defaults: status(299),
		Rules: []mock.Rule{
			{Model: "gpt-4o", Do: status(501)},
			{Model: "gpt-*-mini", Do: status(502)},
			{Path: "/v1/embeddings", Do: status(503)},
			{Path: "completions", Do: status(504)},
			{Path: "/models*", Do: status(505)},
			{Key: "sk-b", Do: status(506)},
			{Stream: mock.Streamed, Model: "s", Do: status(507)},
			{Stream: mock.Plain, Model: "s", Do: status(508)},
			{Model: "s", Do: status(509)}, // never: the two before it take all
		},
	}
	cases := map[string]struct {
		path, body, key string
		want            int
	}{
		"exact model":                {"/v1/chat/completions", chat("gpt-4o", false), "", 501},
		"a longer model":             {"/v1/chat/completions", chat("gpt-4o-x", false), "", 299},
		"model with *":               {"/v1/chat/completions", chat("gpt-4.1-mini", false), "", 502},
		"the first rule decides":     {"/v1/embeddings", `{"model":"gpt-4o","input":"x"}`, "", 501},
		"path":                       {"/v1/embeddings", `{"model":"x","input":"x"}`, "", 503},
		"path without version":       {"/embeddings", `{"model":"x","input":"x"}`, "", 503},
		"path is not a suffix":       {"/v1/chat/completions", chat("x", false), "", 299},
		"path said in short":         {"/v1/completions", `{"model":"x","prompt":"x"}`, "", 504},
		"key":                        {"/v1/chat/completions", chat("x", false), "sk-b", 506},
		"key in part":                {"/v1/chat/completions", chat("x", false), "sk-bb", 299},
		"streamed":                   {"/v1/chat/completions", chat("s", true), "", 507},
		"plain":                      {"/v1/chat/completions", chat("s", false), "", 508},
		"a model's name comes first": {"/v1/chat/completions", chat("mock-401", false), "sk-b", 401},
		"no JSON still meets rules":  {"/v1/chat/completions", `{`, "sk-b", 506},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			run(t, s, func(t *testing.T, b *bench) {
				got, body := b.ask(t, c.path, c.body, "Authorization", "Bearer "+c.key)
				if got != c.want {
					t.Errorf("got %d %s, want %d", got, body, c.want)
				}
			})
		})
	}
}

func TestModelsNeedARuleOfTheirOwn(t *testing.T) {
	get := func(t *testing.T, b *bench) int {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://mock/v1/models", nil)
		got, _, _ := b.whole(t, req)
		return got
	}
	run(t, mock.Script{Rules: []mock.Rule{{Nth: mock.Nth{From: 1, To: 1}, Do: status(503)}}}, func(t *testing.T, b *bench) {
		if got := get(t, b); got != 200 {
			t.Errorf("models: %d", got)
		}
		if got, _ := b.ask(t, "/v1/chat/completions", chat("m", false)); got != 503 {
			t.Errorf("the first chat is not the first for the rule: %d", got)
		}
	})
	run(t, mock.Script{Rules: []mock.Rule{{Path: "*", Do: status(503)}}}, func(t *testing.T, b *bench) {
		if got := get(t, b); got != 503 {
			t.Errorf("models with path *: %d", got)
		}
	})
}

func TestNth(t *testing.T) {
	cases := map[string]struct {
		nth  mock.Nth
		want string // of ten requests, x where the rule held
	}{
		"first":   {mock.Nth{From: 1, To: 1}, "x........."},
		"range":   {mock.Nth{From: 2, To: 4}, ".xxx......"},
		"from on": {mock.Nth{From: 8}, ".......xxx"},
		"every":   {mock.Nth{Every: 3}, "..x..x..x."},
		"all":     {mock.Nth{}, "xxxxxxxxxx"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			run(t, mock.Script{Rules: []mock.Rule{{Model: "m", Nth: c.nth, Do: status(503)}}}, func(t *testing.T, b *bench) {
				if got := pattern(t, b, 10, 0); got != c.want {
					t.Errorf("got %s, want %s", got, c.want)
				}
			})
		})
	}
}

// pattern asks n times, so far apart, and marks with x those that were not served.
func pattern(t *testing.T, b *bench, n int, apart time.Duration) string {
	t.Helper()
	var out strings.Builder
	for range n {
		b.ask(t, "/v1/chat/completions", chat("other", false)) // must not count
		got, _ := b.ask(t, "/v1/chat/completions", chat("m", false))
		if got == 200 {
			out.WriteByte('.')
		} else {
			out.WriteByte('x')
		}
		time.Sleep(apart)
	}
	return out.String()
}

func TestSchedule(t *testing.T) {
	const s = time.Second
	up, down := func(d time.Duration) mock.Phase { return mock.Phase{For: d} }, func(d time.Duration) mock.Phase { return mock.Phase{Down: true, For: d} }
	cases := map[string]struct {
		schedule mock.Schedule
		want     string // one request each second from the start
	}{
		"flapping":          {mock.Schedule{up(3 * s), down(2 * s)}, "...xx...xx...xx"},
		"down first":        {mock.Schedule{down(1 * s), up(1 * s)}, "x.x.x.x.x.x.x.x"},
		"one outage":        {mock.Schedule{up(3 * s), down(2 * s), up(0)}, "...xx.........."},
		"down for ever":     {mock.Schedule{up(4 * s), down(0)}, "....xxxxxxxxxxx"},
		"always down":       {mock.Schedule{down(0)}, "xxxxxxxxxxxxxxx"},
		"never":             {mock.Schedule{up(5 * s)}, "..............."},
		"parts of a second": {mock.Schedule{up(2500 * time.Millisecond), down(s)}, "...x..x...x..x."},
		"none":              {nil, "xxxxxxxxxxxxxxx"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			run(t, mock.Script{Rules: []mock.Rule{{Model: "m", Schedule: c.schedule, Do: status(503)}}}, func(t *testing.T, b *bench) {
				if got := pattern(t, b, len(c.want), time.Second); got != c.want {
					t.Errorf("got %s, want %s", got, c.want)
				}
			})
		})
	}
}

func TestScheduleTurnsOnTheTick(t *testing.T) {
	s := mock.Schedule{{For: 2 * time.Second}, {Down: true, For: time.Second}}
	for at, want := range map[time.Duration]bool{
		0: false, 2*time.Second - 1: false, 2 * time.Second: true, 3*time.Second - 1: true, 3 * time.Second: false, 5 * time.Second: true,
	} {
		if got := s.Down(at); got != want {
			t.Errorf("down at %v: %v", at, got)
		}
	}
}

// nth counts the requests that its schedule let through.
func TestNthCountsWithinTheSchedule(t *testing.T) {
	s := mock.Script{Rules: []mock.Rule{{
		Model: "m", Schedule: mock.Schedule{{For: 3 * time.Second}, {Down: true}}, Nth: mock.Nth{From: 1, To: 2}, Do: status(503),
	}}}
	run(t, s, func(t *testing.T, b *bench) {
		if got, want := pattern(t, b, 8, time.Second), "...xx..."; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

func TestProbability(t *testing.T) {
	const n = 60
	ask := func(seed uint64, p float64) (out string) {
		s := mock.Script{Seed: seed, Rules: []mock.Rule{{Model: "m", Probability: p, Do: status(503)}}}
		run(t, s, func(t *testing.T, b *bench) { out = pattern(t, b, n, 0) })
		return out
	}
	a, again, other := ask(1, 0.3), ask(1, 0.3), ask(2, 0.3)
	if a != again {
		t.Error("the same seed gave two runs")
	}
	if a == other {
		t.Error("another seed gave the same run")
	}
	if got := ask(1, 1); strings.Contains(got, ".") {
		t.Error("probability 1 is not always")
	}
}

func TestSetScript(t *testing.T) {
	outage := mock.Script{Rules: []mock.Rule{{Nth: mock.Nth{From: 1, To: 1}, Do: status(503)}}}
	run(t, outage, func(t *testing.T, b *bench) {
		var got []int
		ask := func() {
			s, _ := b.ask(t, "/v1/chat/completions", chat("m", false))
			got = append(got, s)
		}
		ask()
		ask()
		b.SetScript(outage) // its counts start again
		ask()
		b.SetScript(mock.Script{})
		ask()
		if want := []int{503, 200, 503, 200}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func TestKeys(t *testing.T) {
	run(t, mock.Script{Keys: []string{"sk-1", "sk-2"}, Rules: []mock.Rule{{Do: status(503)}}}, func(t *testing.T, b *bench) {
		for _, c := range []struct {
			header, value string
			want          int
		}{
			{"Authorization", "Bearer sk-1", 503},
			{"x-api-key", "sk-2", 503},
			{"api-key", "sk-2", 503},
			{"Authorization", "Bearer sk-3", 401},
			{"X-None", "", 401},
		} {
			if got, body := b.ask(t, "/v1/chat/completions", chat("m", false), c.header, c.value); got != c.want {
				t.Errorf("%s %s: %d %s", c.header, c.value, got, body)
			}
		}
	})
}

// Many clients at once: every request is answered and counted once, and nth holds for just as many.
func TestConcurrentUse(t *testing.T) {
	const n = 200
	s := mock.Script{Defaults: mock.Behaviour{Latency: time.Second}, Rules: []mock.Rule{{Nth: mock.Nth{Every: 4}, Do: status(503)}}}
	run(t, s, func(t *testing.T, b *bench) {
		var mu sync.Mutex
		got := map[int]int{}
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				st, _ := b.ask(t, "/v1/chat/completions", chat(fmt.Sprint("m", i), i%2 == 0))
				mu.Lock()
				defer mu.Unlock()
				got[st]++
			})
		}
		wg.Wait()
		if got[503] != n/4 || got[200] != n-n/4 {
			t.Errorf("got %v", got)
		}
		synctest.Wait()
		c := b.Counts()
		if c.Requests != n || c.InFlight != 0 || c.Cancelled != 0 || c.Peak < n-n/4 {
			t.Errorf("counts %+v", c)
		}
	})
}
