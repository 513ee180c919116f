package e2e

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"
)

// scale shortens the fifteenth fault, which lasts for a minute and a half: all of its times, and the breaker's.
const scale = 5

// scaled is a time of the referee's as it is here.
func scaled(d time.Duration) time.Duration { return d / scale }

// The fifteenth fault: the primary is down for so long, and a caller asks so often.
var (
	outageLasts = scaled(60 * time.Second)
	outageEvery = scaled(4 * time.Second)
	outageBack  = scaled(30 * time.Second) // after its end the primary must answer within this
)

// outage is a primary that is down at first, and a caller who does not stop asking.
type outage struct {
	client *strictClient
	begin  time.Time
	at     []time.Time
	got    []*got
	seen   []asked // by the primary
}

// startOutages has an outage for each client dialect, all at the same time.
func startOutages(t *testing.T, all *sync.WaitGroup) []*outage {
	t.Helper()
	var out []*outage
	for i := range strictClients {
		o := &outage{client: &strictClients[i]}
		fallback := startMock(t, fmt.Sprintf("defaults: { latency: 10ms, text: %q }\n", words60))
		primary := startMock(t, fmt.Sprintf("defaults: { latency: 10ms, text: %q }\nrules: [{ schedule: \"down %v, up\", do: { status: 503 } }]\n", words60, outageLasts))
		o.begin = time.Now()
		g := serve(t, fmt.Sprintf(`
providers:
  p: { type: openai, base_url: %q, api_key: unused, models: [alpha] }
  f: { type: anthropic, base_url: %q, api_key: unused, models: [beta] }
models: { v: { targets: [p/alpha, f/beta] } }
resilience: { retry: { max_retries: 2 }, circuit_breaker: { timeout: %v } }
`, primary+"/v1", fallback, scaled(30*time.Second)), "")
		all.Go(func() { o.run(t.Context(), g.url, primary) })
		out = append(out, o)
	}
	return out
}

func (o *outage) run(ctx context.Context, base, primary string) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	next := o.begin
	for i := 0; next.Before(o.begin.Add(outageLasts + outageBack + 3*outageEvery)); i++ {
		time.Sleep(time.Until(next))
		next = next.Add(outageEvery)
		o.at = append(o.at, time.Now())
		o.got = append(o.got, o.client.ask(ctx, base, "v", i%2 == 0))
	}
	for _, a := range seenBy(ctx, primary) {
		if a.Model == "alpha" {
			o.seen = append(o.seen, a)
		}
	}
}

// judge: every request is answered, the primary was left alone but for the failures that opened its breaker and few probes, and it is
// back soon.
func (o *outage) judge(t *testing.T) {
	t.Helper()
	end := o.begin.Add(outageLasts)
	back := time.Time{}
	for i, g := range o.got {
		if g.breach != "" || g.err != nil || g.status != 200 || g.text != words60 || g.in <= 0 || g.out <= 0 {
			t.Errorf("row 15, %s: request %d at %.1fs: expected an answer, seen %v", o.client.name, i, o.at[i].Sub(o.begin).Seconds(), g)
		}
		if g.model == "alpha" && back.IsZero() {
			back = o.at[i]
		}
	}
	// Five failures open the breaker: the first request's two, then one of each. After that, one probe for each 30 s of the outage.
	during := 0
	for _, a := range o.seen {
		if a.Status == 503 {
			during++
		}
	}
	if during < 5 || during > 7 {
		t.Errorf("row 15, %s: expected the primary to be asked 5 times and once or twice more while it is down, seen %d", o.client.name, during)
	}
	if back.IsZero() || back.Sub(end) > outageBack {
		t.Errorf("row 15, %s: expected the primary back within %v of its recovery, seen %v", o.client.name, outageBack, back.Sub(end))
	}
}
