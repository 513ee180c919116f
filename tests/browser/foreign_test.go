package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	cdppage "github.com/chromedp/cdproto/page"
)

// rebound is the host name of a stranger, who points it at this machine (DNS rebinding).
const rebound = "rebound.example"

// order is what the strangers try to have carried out.
const order = `{"action":"open","reason":"not by the operator"}`

// TestForeignPages has a page of another origin try everything by which a page can reach another server, against a gateway
// that no token guards: it reads nothing and changes nothing.
func TestForeignPages(t *testing.T) {
	t.Parallel()
	g, _, _ := twoProviders(t, "")
	stranger := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html><title>A stranger</title><p>Nothing to see here.")
	}))
	t.Cleanup(stranger.Close)

	gate := before(t, g, nil)
	p := open(t, stranger.URL)
	p.forgive(`.`) // the browser complains of each attempt, as it should
	at := quoted(gate.url)
	for name, attempt := range map[string]string{
		"reading":                 `fetch(at + '/admin/v1/health').then(r => r.text())`,
		"reading, credentials":    `fetch(at + '/admin/v1/health', {credentials: 'include'}).then(r => r.text())`,
		"reading config":          `fetch(at + '/admin/v1/config').then(r => r.text())`,
		"reading a request":       `fetch(at + '/admin/v1/requests').then(r => r.text())`,
		"events":                  `new Promise((ok, no) => { const s = new EventSource(at + '/admin/v1/events'); s.onopen = () => ok('open'); s.onerror = () => { s.close(); no('error'); }; })`,
		"order as text":           `fetch(at + '/admin/v1/providers/alpha/breaker', {method: 'POST', body: order}).then(r => r.text())`,
		"order as JSON":           `fetch(at + '/admin/v1/providers/alpha/breaker', {method: 'POST', body: order, headers: {'Content-Type': 'application/json'}}).then(r => r.text())`,
		"order with a made token": `fetch(at + '/admin/v1/providers/alpha/breaker', {method: 'POST', body: order, headers: {'Authorization': 'Bearer x'}}).then(r => r.text())`,
		"order by XHR":            `new Promise((ok, no) => { const x = new XMLHttpRequest(); x.open('POST', at + '/admin/v1/providers/alpha/breaker'); x.onload = () => ok(x.responseText); x.onerror = () => no('error'); x.send(order); })`,
		"a drill":                 `fetch(at + '/admin/v1/faults', {method: 'POST', body: '{}', headers: {'Content-Type': 'application/json'}}).then(r => r.text())`,
		"ending drills":           `fetch(at + '/admin/v1/faults/x', {method: 'DELETE'}).then(r => r.text())`,
		"a reload":                `fetch(at + '/admin/v1/reload', {method: 'POST'}).then(r => r.text())`,
		"a completion":            `fetch(at + '/v1/chat/completions', {method: 'POST', body: '{"model":"fast","messages":[{"role":"user","content":"at your cost"}]}'}).then(r => r.text())`,
	} {
		if got := eval[string](p, fmt.Sprintf(`(async () => { const at = %s, order = %s; return await %s; })().then(text => text || 'an empty text', e => '')`, at, quoted(order), attempt)); got != "" {
			t.Errorf("%s: a foreign page reads %.200q", name, got)
		}
	}
	// What needs no permission to be sent, and cannot be read: it must not be carried out.
	eval[bool](p, fmt.Sprintf(`(async () => {
		const at = %s, order = %s, url = at + '/admin/v1/providers/alpha/breaker';
		await fetch(url, {method: 'POST', mode: 'no-cors', body: order}).catch(e => e);
		await fetch(at + '/admin/v1/health', {mode: 'no-cors'}).catch(e => e);
		navigator.sendBeacon(url, order);
		for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
			const frame = document.createElement('iframe');
			frame.name = 'f' + type.length;
			const form = Object.assign(document.createElement('form'), {method: 'post', action: url, enctype: type, target: frame.name});
			form.append(Object.assign(document.createElement('input'), {name: order.slice(0, -1) + ',"x":"', value: '"}'}));
			document.body.append(frame, form);
			await new Promise(done => { frame.onload = () => done(); form.submit(); setTimeout(done, 2000); });
		}
		for (const tag of ['img', 'script']) {
			const e = document.createElement(tag);
			await new Promise(done => { e.onload = e.onerror = done; e.src = at + '/admin/v1/health'; document.body.append(e); setTimeout(done, 2000); });
		}
		return true;
	})()`, at, quoted(order)))

	passed := gate.seen()
	for _, reply := range passed {
		if reply[0] != '4' {
			t.Errorf("a foreign page was served: %s", reply)
		}
	}
	if len(passed) < 15 {
		t.Errorf("only %d attempts reached the gateway: %q", len(passed), passed)
	}
	g.untouched(t)

	// A frame of the dashboard in a foreign page, where clicks could be stolen, stays empty.
	if got := eval[string](p, fmt.Sprintf(`new Promise(done => {
		const frame = document.createElement('iframe');
		frame.onload = () => { try { done(frame.contentDocument ? 'readable' : 'closed'); } catch (e) { done('closed'); } };
		frame.src = %s + '/ui/';
		document.body.append(frame);
	})`, at)); got != "closed" {
		t.Errorf("the frame is %s", got)
	}
	refused := false
	for _, note := range p.everything() {
		refused = refused || strings.Contains(note, "frame-ancestors")
	}
	if !refused {
		t.Errorf("no word of frame-ancestors: %q", p.everything())
	}
}

// TestRebinding opens the gateway under a name that is none of its own: the browser takes that for the same origin.
func TestRebinding(t *testing.T) {
	t.Parallel()
	g, _, _ := twoProviders(t, "")
	p := blank(t)
	p.forgive(`40[0-9]`)
	call(p, cdppage.SetBypassCSP, cdppage.SetBypassCSPParams{Enabled: true}) // the stranger's page came from his own server
	p.goTo(fmt.Sprintf("http://%s:%d/healthz", rebound, g.port))
	for name, attempt := range map[string]string{
		"reading":      `fetch('/admin/v1/health')`,
		"events":       `fetch('/admin/v1/events')`,
		"order":        `fetch('/admin/v1/providers/alpha/breaker', {method: 'POST', body: order, headers: {'Content-Type': 'application/json'}})`,
		"a reload":     `fetch('/admin/v1/reload', {method: 'POST', body: '{"reason":"x"}', headers: {'Content-Type': 'application/json'}})`,
		"a completion": `fetch('/v1/chat/completions', {method: 'POST', body: '{"model":"fast","messages":[{"role":"user","content":"at your cost"}]}', headers: {'Content-Type': 'application/json'}})`,
	} {
		if got := eval[int](p, fmt.Sprintf(`(async () => { const order = %s; return (await %s).status; })()`, quoted(order), attempt)); got != http.StatusForbidden {
			t.Errorf("%s: %d", name, got)
		}
	}
	g.untouched(t)

	// The same from the gateway's own origin: what is refused above is refused for where it comes from.
	p.goTo(g.url + "/healthz")
	if got := eval[int](p, fmt.Sprintf(`fetch('/admin/v1/providers/alpha/breaker', {method: 'POST', body: %s, headers: {'Content-Type': 'application/json'}}).then(r => r.status)`, quoted(order))); got != http.StatusOK {
		t.Errorf("an order of the gateway's own origin: %d", got)
	}
	if got := g.breaker(t, "alpha").State; got != "open" {
		t.Errorf("the breaker is %s", got)
	}
}

// untouched fails the test if anybody changed anything.
func (g *gateway) untouched(t *testing.T) {
	t.Helper()
	for _, provider := range []string{"alpha", "beta"} {
		if b := g.breaker(t, provider); b.State != "closed" || b.Operator != nil {
			t.Errorf("the breaker of %s: %+v", provider, b)
		}
	}
	if audit := g.audit(t); len(audit) > 0 {
		t.Errorf("somebody changed something: %+v", audit)
	}
}
