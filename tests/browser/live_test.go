package browser

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/memory"
	"github.com/chromedp/cdproto/runtime"

	"evergate/internal/mock"
)

// isLive and isNot are how the page says that it hears the gateway, or does not.
const (
	isLive = `/\blive$/i.test(document.querySelector('[role=status][aria-label="Live feed"]')?.innerText.trim())`
	isNot  = `/reconnecting/i.test(document.querySelector('[role=status][aria-label="Live feed"]')?.innerText.trim())`
)

// TestReconnects restarts the gateway under an open page: it says that it hears nothing, comes back by itself, and shows what
// happens then.
func TestReconnects(t *testing.T) {
	g, first, _ := twoProviders(t, "")
	p := open(t, g.url+"/ui/#/providers")
	p.when(5*time.Second, isLive)

	p.forgive(`net::ERR_`)                         // the browser's own words for a server that is gone
	p.forgive(`503.*/admin/v1/events|events.*503`) // and for one that is about to go
	g.stop(t)
	stopped := time.Now()
	t.Logf("reconnecting is said %v after the end of the gateway", p.when(5*time.Second, isNot).Sub(stopped).Round(time.Millisecond))
	p.picture("reconnecting")
	g.start(t)
	started := time.Now()
	t.Logf("live is said %v after the new start", p.when(20*time.Second, isLive).Sub(started).Round(time.Millisecond))

	first.does(mock.Behaviour{Status: http.StatusServiceUnavailable})
	for range 3 {
		g.ask(t, "fast", "hello")
	}
	opened := g.breaker(t, "alpha")
	if opened.State != "open" {
		t.Fatalf("the breaker of alpha: %+v", opened)
	}
	p.when(2*time.Second, shows("alpha", "open"))
}

// shows is a JavaScript condition: the page says that a provider's breaker is in the state.
func shows(provider, state string) string {
	return fmt.Sprintf(`/^circuit breaker\s+\W*%s\b/i.test(document.querySelector('section[aria-label="Circuit breaker of %s"]')?.innerText)`, state, provider)
}

// flood answers the page's feed: an event for each ask, as fast as asked.
type flood struct {
	rate atomic.Int64 // events per second
	sent atomic.Int64
}

func (f *flood) serve(w http.ResponseWriter, r *http.Request) bool {
	if r.URL.Path != "/admin/v1/events" {
		return false
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, "event: hello\ndata: {\"instance\":\"a1\",\"version\":\"dev\"}\n\n")
	control := http.NewResponseController(w)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		for range f.rate.Load() / 100 {
			n := f.sent.Add(1)
			fmt.Fprintf(w, "event: request\nid: %d\ndata: %s\n\n", n, floodRequest(n))
		}
		if control.Flush() != nil {
			return true
		}
		select {
		case <-r.Context().Done():
			return true
		case <-tick.C:
		}
	}
}

// floodRequest is a request that ended; no two are alike.
func floodRequest(n int64) string {
	status, code, provider := 200, "", "alpha"
	switch {
	case n%50 == 0:
		status, code, provider = 503, "all_providers_failed", ""
	case n%7 == 0:
		provider = "beta"
	}
	return fmt.Sprintf(`{"id":"req_%d","row":"%016x","instance":"a1","start":%q,"dialect":"chat","stream":true,"key":"","asked":"fast","route":"fast",`+
		`"provider":%q,"model":"m","status":%d,"code":%q,"duration_ms":%d,"first_content_ms":120,"overhead_ms":0.2,"attempts":2,"rescued":%t,"added_ms":80,"added_cost_usd":0,`+
		`"tokens":{"input":100,"output":%d,"cached_input":0,"cache_write":0,"reasoning":0,"estimated":false},"cost_usd":0.0012,`+
		`"trail":"alpha/m=503, beta/m=200","finish":"stop","drill":"","trace_id":""}`,
		n, n, time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), provider, status, code, 200+n%900, provider == "beta", n%500)
}

// TestFlood sends the page a thousand requests a second, and then many more: it stays quick, and does not grow.
func TestFlood(t *testing.T) {
	g, _, _ := twoProviders(t, "")
	var f flood
	gate := before(t, g, f.serve)
	p := open(t, gate.url+"/ui/#/requests")
	p.when(5*time.Second, isLive)

	f.rate.Store(1000)
	eval[bool](p, `(() => {
		longTasks.length = 0;
		let last = performance.now();
		window.slowest = 0;
		window.beat = setInterval(() => { const now = performance.now(); slowest = Math.max(slowest, now - last); last = now; }, 20);
		return true;
	})()`)
	awaitSent(t, &f, 5000)
	slowest := eval[float64](p, `slowest`)
	tasks := eval[[]float64](p, `longTasks`)
	t.Logf("1,000 events a second: tasks over 50 ms: %v; at most %.0f ms between two beats of 20", tasks, slowest)
	slices.Sort(tasks)
	if n := len(tasks); n > 1 && tasks[n-2] > 500 { // one may be the machine's
		t.Errorf("the page froze for %.0f ms", tasks[n-2])
	}
	newest := f.sent.Load()
	p.when(2*time.Second, fmt.Sprintf(`[...document.querySelectorAll('main a[title^=req_]')].some(a => +a.title.slice(4) >= %d)`, newest))
	p.picture("flood")

	base, nodes := size(p)
	f.rate.Store(4000)
	awaitSent(t, &f, 25000)
	f.rate.Store(0)
	eventually(t, 10*time.Second, func() error { // the page may have to draw the last of them, and lets go of what it drew before after that
		grown, more := size(p)
		t.Logf("20,000 events later: heap %.1f → %.1f MB, nodes %d → %d", base/1e6, grown/1e6, nodes, more)
		if grown > base+1e6 || more > nodes+1000 {
			return fmt.Errorf("an open page grows: heap %.1f → %.1f MB, nodes %d → %d", base/1e6, grown/1e6, nodes, more)
		}
		return nil
	})
	if text := p.text(); strings.Contains(text, "NaN") || strings.Contains(text, "undefined") {
		t.Errorf("the page says %.1000s", text)
	}
}

func awaitSent(t *testing.T, f *flood, n int64) {
	t.Helper()
	eventually(t, 30*time.Second, func() error {
		if sent := f.sent.Load(); sent < n {
			return fmt.Errorf("%d events were taken", sent)
		}
		return nil
	})
}

// size is what the page needs once all waste is gone: bytes of its heap, and nodes of its documents.
func size(p *page) (heap float64, nodes int64) {
	p.t.Helper()
	for range 2 {
		call(p, heapprofiler.CollectGarbage, cdp.Empty{})
	}
	return call(p, runtime.GetHeapUsage, cdp.Empty{}).UsedSize, call(p, memory.GetDOMCounters, cdp.Empty{}).Nodes
}
