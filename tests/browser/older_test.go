package browser

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
)

// TestOlderRequests goes on from where the live tail ends by then: what came meanwhile pushed rows out of it, and they are on the next page.
func TestOlderRequests(t *testing.T) {
	t.Parallel()
	g, _, _ := twoProviders(t, "")
	ask := func(n int) {
		for range n {
			g.ask(t, "fast", "hello")
		}
	}
	ask(120)
	g.latest(t, "")
	p := open(t, g.url+"/ui/#/requests")
	p.when(5*time.Second, isLive)
	p.when(5*time.Second, rows+` === 100`)
	ask(29)
	g.ask(t, "the-last-model", "hello")
	p.when(5*time.Second, `document.querySelector('main tbody tr').innerText.includes('the-last-model')`)
	p.find("button", "^Older requests$").click()
	p.when(5*time.Second, rows+` === 150`)
	if n := eval[int](p, `new Set([...document.querySelectorAll('main tbody a')].map(a => a.title)).size`); n != 150 {
		t.Errorf("%d of 150 requests are listed", n)
	}
}

// TestPlaygroundWithKeysMadeHere has a field for a key where the config has none: keys are asked for all the same.
func TestPlaygroundWithKeysMadeHere(t *testing.T) {
	t.Parallel()
	g := serve(t, fmt.Sprintf(`
auth: { mode: keys }
providers:
  alpha: { type: openai-compatible, base_url: "%s/v1", api_key: unused, models: [m] }
`, startUpstream(t).url), adminToken)
	p := open(t, g.url+"/ui/#/playground")
	p.forgive(`\b401\b`)
	p.find("textbox", `(?i)token`).fill(adminToken)
	p.press(kb.Enter)
	p.find("textbox", "^Gateway key")
}

// TestRequestsOfOthers are on the page of each instance of a fleet, and wait while it is paused.
func TestRequestsOfOthers(t *testing.T) {
	t.Parallel()
	state := fmt.Sprintf("\nstate: { url: %q }\n", "sqlite:"+t.TempDir()+"/fleet.db")
	config := fmt.Sprintf(`
providers:
  alpha: { type: openai-compatible, base_url: "%s/v1", api_key: unused, models: [m] }
models: { fast: { targets: [alpha/m] } }
`, startUpstream(t).url) + state
	g, other := serve(t, config, ""), serve(t, config, "")
	p := open(t, g.url+"/ui/#/requests")
	p.when(5*time.Second, isLive)
	other.ask(t, "fast", "hello")
	p.when(20*time.Second, rows+` === 1`)
	p.find("button", "^Pause$").click()
	other.ask(t, "fast", "again")
	other.latest(t, "")
	const looks = `performance.getEntriesByType('resource').filter(e => e.name.includes('/admin/v1/requests')).length`
	p.when(20*time.Second, fmt.Sprintf(looks+" >= %d", eval[int](p, looks)+2)) // the second one began after the request had ended
	if n := eval[int](p, rows); n != 1 {
		t.Errorf("a paused page lists %d requests", n)
	}
	p.find("button", "^Resume$").click()
	p.when(20*time.Second, rows+` === 2`)
}
