package browser

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"evergate/internal/mock"
)

// everyPage are the pages of the dashboard: their addresses and headings.
var everyPage = []struct{ path, title string }{
	{"overview", "Overview"},
	{"providers", "Providers"},
	{"models", "Models"},
	{"requests", "Requests"},
	{"incidents", "Incidents"},
	{"playground", "Playground"},
	{"simulate", "Simulate"},
	{"drills", "Drills"},
	{"usage", "(?i)keys & usage"},
	{"config", "Config"},
}

// heaviest is how many bytes a page may be, as sent; slowest how long until something shows. The aim on loopback is a second;
// a machine that does other things gets five.
const (
	heaviest = 300 << 10
	slowest  = 5 * time.Second
)

// lived gives a gateway some life to show: answers, rescues, failures, a breaker that is open, an order.
func lived(t *testing.T, g *gateway, first, second *upstream) {
	t.Helper()
	for range 5 {
		g.ask(t, "fast", "hello")
	}
	g.ask(t, "no-such-model", "hello")
	first.does(mock.Behaviour{Status: http.StatusServiceUnavailable, Message: "maintenance"})
	for range 4 {
		g.ask(t, "fast", "hello")
	}
	second.does(mock.Behaviour{Status: http.StatusTooManyRequests, RetryAfter: "2"})
	g.ask(t, "fast", "hello")
	second.does(mock.Behaviour{})
	if status, body := g.do(t, http.MethodPost, "/admin/v1/providers/beta/breaker", `{"action":"close","reason":"known to be well","for":"1h"}`); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
}

// TestEveryPage walks through the dashboard, in both themes, wide and narrow: it must be readable for everybody, light, quick,
// and quiet.
func TestEveryPage(t *testing.T) {
	t.Parallel()
	g, first, second := twoProviders(t, "")
	lived(t, g, first, second)

	p := open(t, g.url+"/ui/")
	p.when(5*time.Second, isLive)
	links := p.find("navigation", "").all("link", "")
	if len(links) < len(everyPage) {
		t.Errorf("the navigation has %d links: %v", len(links), links)
	}

	pages := append(everyPage[:len(everyPage):len(everyPage)], []struct{ path, title string }{{"providers/alpha", "alpha"}, {"models/fast", "fast"}, {"incidents?view=all", "Incidents"}, {"nowhere", "No such page"}}...)
	if id := g.latest(t, "rescued=true"); id != "" {
		pages = append(pages, struct{ path, title string }{"requests/" + id, ".*"})
	}
	for _, visit := range pages {
		t.Run(strings.ReplaceAll(visit.path, "/", " "), func(t *testing.T) {
			t.Parallel()
			p := blank(t)
			p.theme("light")
			p.goTo(g.url + "/ui/#/" + visit.path)
			p.find("heading", visit.title)
			p.settled()
			if p.received() > heaviest {
				t.Errorf("%d bytes", p.received())
			}
			for _, width := range []int64{1280, 375} {
				p.size(width, 812)
				for _, theme := range []string{"light", "dark"} {
					p.theme(theme)
					p.settled()
					view := fmt.Sprintf("%s %d %s", strings.Split(visit.path, "/")[0], width, theme)
					if strings.Contains(visit.path, "/") {
						view = "one " + view
					}
					p.picture(view)
					switch {
					case theme == "light":
						p.accessible(view)
						p.fits(view)
					case width > 1000:
						p.accessible(view, "color-contrast", "link-in-text-block") // all that a theme can change
					}
				}
			}
			if text := p.text(); strings.Contains(text, "NaN") || strings.Contains(text, "undefined") || strings.Contains(text, "[object") {
				t.Errorf("the page says %.2000s", text)
			}
		})
	}
}

// TestFirstSight opens the dashboard in fresh profiles, with nothing cached: how much comes, and how long until something shows.
func TestFirstSight(t *testing.T) {
	g, first, second := twoProviders(t, "")
	lived(t, g, first, second)
	var paints []time.Duration
	for range 3 {
		p := open(t, g.url+"/ui/")
		p.find("heading", "Overview")
		p.when(5*time.Second, `performance.getEntriesByName('first-contentful-paint').length > 0`)
		paints = append(paints, time.Duration(eval[float64](p, `performance.getEntriesByName('first-contentful-paint')[0].startTime`)*1000)*time.Microsecond)
		p.settled()
		t.Logf("%.1f KB with all it asks for; first paint after %v", float64(p.received())/1024, paints[len(paints)-1].Round(time.Millisecond))
		if p.received() > heaviest {
			t.Errorf("%d bytes", p.received())
		}
	}
	if quickest := slices.Min(paints); quickest > slowest {
		t.Errorf("first paint after %v", quickest)
	}
}

// settled waits until the page has drawn what it asked for: nothing says that it is loading, and nothing changes for a while.
func (p *page) settled() {
	p.t.Helper()
	eval[bool](p, `new Promise(done => {
		let timer = setTimeout(finish, 120), last = setTimeout(finish, 1500);
		const watch = new MutationObserver(() => { clearTimeout(timer); timer = setTimeout(finish, 120); });
		function finish() { if (/Loading…/.test(document.body.innerText) && performance.now() < 10000) { timer = setTimeout(finish, 200); return; } clearTimeout(timer); clearTimeout(last); watch.disconnect(); done(true); }
		watch.observe(document.body, {childList: true, subtree: true});
	})`)
}

// fits minds that nothing lies beyond the right edge, where only what says so may scroll sideways, and that no cell of a
// table is written over its neighbour.
func (p *page) fits(view string) {
	p.t.Helper()
	if wide := eval[[]string](p, `(() => {
		if (document.documentElement.scrollWidth <= innerWidth) return [];
		return [...document.body.querySelectorAll('*')].filter(e => e.getBoundingClientRect().right > innerWidth + 1).slice(0, 5)
			.map(e => e.tagName + '.' + e.className + ' ' + Math.round(e.getBoundingClientRect().right) + ' ' + e.textContent.slice(0, 60));
	})()`); len(wide) > 0 {
		p.t.Errorf("%s scrolls sideways: %q", view, wide)
	}
	if wide := eval[[]string](p, `[...document.querySelectorAll('td, th')].filter(c => c.scrollWidth > c.clientWidth + 1).slice(0, 5).map(c => c.innerText)`); len(wide) > 0 {
		p.t.Errorf("%s: cells that are too narrow for %q", view, wide)
	}
}

// latest waits until a request is in the ledger that a query is for, and gives the id of the latest one.
func (g *gateway) latest(t *testing.T, query string) string {
	t.Helper()
	var id string
	eventually(t, 3*time.Second, func() error {
		list := get[struct{ Requests []struct{ ID string } }](t, g, "/admin/v1/requests?limit=1&"+query).Requests
		if len(list) == 0 {
			return fmt.Errorf("no request is listed for %q", query)
		}
		id = list[0].ID
		return nil
	})
	return id
}
