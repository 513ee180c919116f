package browser

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
)

// withKeys is a gateway that asks for keys, with one of the config, a team and a provider that is limited.
func withKeys(t *testing.T) *gateway {
	t.Helper()
	return serve(t, fmt.Sprintf(`
auth:
  mode: keys
  keys: [{ name: ci, value: key-of-the-config-0123456789, models: [fast], owner: ada }]
  teams: { core: { limits: { requests_per_minute: 600 }, budget: { usd: 50, per: month } } }
providers:
  alpha: { type: openai-compatible, base_url: "%s/v1", api_key: unused, models: [m, n], limits: { requests_per_minute: 1000 } }
models:
  fast: { targets: [alpha/m] }
catalog:
  alpha/m: { input_price: 1000, output_price: 2000 }
`, startUpstream(t).url), adminToken)
}

// TestKeysPage makes a key by its form, uses it, changes it, replaces it and revokes it; each works when the page says so. The key itself is shown once.
func TestKeysPage(t *testing.T) {
	t.Parallel()
	g := withKeys(t)
	p := open(t, g.url+"/ui/#/usage")
	p.forgive(`\b401\b`)
	p.find("textbox", `(?i)token`).fill(adminToken)
	p.press(kb.Enter)
	p.find("heading", "(?i)keys & usage")
	p.says(5*time.Second, "of the config")

	p.find("button", "^Make a key").click()
	p.find("dialog", "")
	p.accessible("the form of a key")
	p.picture("key form")
	p.find("textbox", "^Name").fill("deploy")
	p.find("textbox", "^Owner").fill("grace")
	p.find("textbox", "^Team").fill("core")
	p.find("textbox", "^Labels").fill("app=build, cost=4711")
	p.find("textbox", "^Models").fill("fast")
	p.find("spinbutton", "^Requests a minute").fill("30")
	p.find("button", "^Add a budget").click()
	p.find("spinbutton", "^US dollars").fill("2.5")
	p.find("button", "^Make it$").click()
	p.find("dialog", "^The key deploy")
	p.accessible("a key that was made")
	p.picture("key made")
	first := eval[string](p, `document.querySelector('[data-testid=secret]').textContent`)
	if !strings.HasPrefix(first, "eg_") {
		t.Fatalf("the key is %q", first)
	}
	p.find("button", "^Done$").click()
	p.gone("dialog")
	p.forgets(first)
	p.says(5*time.Second, "cost=4711")
	if status := g.ask(t, "fast", "hello", "Authorization", "Bearer "+first); status != http.StatusOK {
		t.Fatalf("the key that was made: %d", status)
	}
	p.says(10*time.Second, "1 of 30 requests a minute")
	p.says(10*time.Second, "of $2.50")
	p.settled()
	p.accessible("the list of keys")
	p.picture("keys")
	p.theme("dark")
	p.settled()
	p.accessible("the list of keys, dark", "color-contrast", "link-in-text-block")
	p.picture("keys dark")
	p.size(375, 812)
	p.settled()
	p.fits("the list of keys")
	p.picture("keys narrow")
	p.theme("light")

	p.find("button", "^Change the key deploy").click()
	p.find("dialog", "^Change the key deploy")
	p.settled()
	p.fits("the form of a key that is there")
	p.accessible("the form of a key that is there, narrow")
	p.picture("key form narrow")
	p.size(1280, 800)
	p.find("textbox", "^Labels").fill("app=test")
	p.find("spinbutton", "^Requests a minute").fill("40")
	p.find("button", "^Save$").click()
	p.gone("dialog")
	p.says(5*time.Second, "of 40 requests a minute")
	p.when(5*time.Second, `!document.body.innerText.includes('cost=4711') && document.body.innerText.includes('app=test')`)

	p.find("button", "^Replace the key deploy").click()
	p.find("combobox", "^The old key goes on").choose("^1 hour$")
	p.find("button", "^Replace it$").click()
	p.find("dialog", "^The key deploy")
	p.says(3*time.Second, "The key before it is good until")
	second := eval[string](p, `document.querySelector('[data-testid=secret]').textContent`)
	p.find("button", "^Done$").click()
	p.gone("dialog")
	p.forgets(second)
	p.says(5*time.Second, "rotating")
	for _, key := range []string{first, second} {
		if status := g.ask(t, "fast", "hello", "Authorization", "Bearer "+key); status != http.StatusOK {
			t.Errorf("after the rotation: %d", status)
		}
	}

	p.find("button", "^Revoke the key deploy").click()
	p.find("dialog", "^Revoke the key deploy")
	p.accessible("the question before a key is revoked")
	p.picture("key revoke")
	p.find("textbox", "^Reason").fill("it leaked")
	p.find("button", "^Revoke it$").click()
	p.gone("dialog")
	p.when(5*time.Second, `!document.body.innerText.includes('grace')`)
	for _, key := range []string{first, second} {
		if status := g.ask(t, "fast", "hello", "Authorization", "Bearer "+key); status != http.StatusUnauthorized {
			t.Errorf("after it was revoked: %d", status)
		}
	}
	p.find("checkbox", "^Revoked ones").click()
	p.says(5*time.Second, "revoked")

	// A refusal of the admin API stands at its field.
	p.forgive(`status of 4|reply 400: POST .*keys`)
	p.find("button", "^Make a key").click()
	p.find("textbox", "^Name").fill("other")
	p.find("textbox", "^Models").fill("no-such-model")
	p.find("textbox", "^Addresses").fill("not an address")
	p.find("button", "^Make it$").click()
	p.when(5*time.Second, `document.querySelector('dialog .field.wrong') !== null`)
	p.accessible("a refused key")
}

// TestUsagePage groups what was asked by what is said of keys, and shows it over time.
func TestUsagePage(t *testing.T) {
	t.Parallel()
	g := withKeys(t)
	for range 3 {
		g.ask(t, "fast", "hello", "Authorization", "Bearer key-of-the-config-0123456789")
	}
	p := open(t, g.url+"/ui/#/usage?by=owner,model&from=1h&chart=requests")
	p.forgive(`\b401\b`)
	p.find("textbox", `(?i)token`).fill(adminToken)
	p.press(kb.Enter)
	p.says(10*time.Second, "Requests by owner")
	p.when(10*time.Second, `[...document.querySelectorAll('tbody th')].some(e => e.innerText.trim() === 'ada')`)
	p.find("textbox", "by a label").fill("app")
	p.find("checkbox", "(?i)today.s prices").click()
	p.says(5*time.Second, "At today’s prices")
	p.settled()
	p.accessible("usage by owner")
	p.picture("usage over time")
	for _, name := range []string{"^Download CSV$", "^Export$"} {
		p.find("button", name).click()
	}
	p.settled()
	if text := p.text(); strings.Contains(text, "NaN") || strings.Contains(text, "undefined") {
		t.Errorf("the page says %.2000s", text)
	}
}

// forgets says that a text is nowhere in the page any more, nor in what it keeps.
func (p *page) forgets(secret string) {
	p.t.Helper()
	if got := eval[string](p, `location.href + JSON.stringify(localStorage) + JSON.stringify(sessionStorage) + document.documentElement.outerHTML + JSON.stringify(history.state) + document.title`); strings.Contains(got, secret) {
		p.t.Error("the key is still in the page")
	}
	for _, line := range p.sent() {
		if strings.Contains(line, secret) {
			p.t.Errorf("an address has the key: %s", line)
		}
	}
}
