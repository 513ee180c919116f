package browser

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp/kb"
)

const adminToken = "right-token-4f1c9a7be2"

// TestToken opens a dashboard that a token guards: it asks for it, takes no other, keeps it where it dies with the tab, and
// forgets it on request.
func TestToken(t *testing.T) {
	t.Parallel()
	g, _, _ := twoProviders(t, adminToken)
	g.ask(t, "fast", "hello")
	p := open(t, g.url+"/ui/")
	p.forgive(`\b401\b`)
	field := p.find("textbox", `(?i)token`)
	if kind := on[string](field, `function() { return this.type; }`); kind != "password" {
		t.Errorf("the token's field is a %s", kind)
	}
	if text := p.text(); strings.Contains(text, "alpha") {
		t.Errorf("the locked page says %.500s", text)
	}
	p.accessible("the login")
	p.picture("login")

	field.fill("wrong-token")
	p.press(kb.Enter)
	p.when(5*time.Second, `/not the admin token/i.test(document.body.innerText)`)
	p.accessible("the login, refused")
	p.find("textbox", `(?i)token`).fill(adminToken)
	p.press(kb.Enter)
	p.when(5*time.Second, isLive)
	p.goTo(g.url + "/ui/#/providers")
	p.says(5*time.Second, "alpha")

	for _, visit := range everyPage {
		p.goTo(g.url + "/ui/#/" + visit.path)
		p.find("heading", visit.title)
		if got := eval[string](p, `location.href + JSON.stringify(localStorage) + document.documentElement.outerHTML + JSON.stringify(history.state) + document.title`); strings.Contains(got, adminToken) {
			t.Errorf("%s: the token shows", visit.path)
		}
	}
	if cookies := call(p, network.GetCookies, network.GetCookiesParams{}).Cookies; len(cookies) > 0 {
		t.Errorf("the page sets cookies: %v", cookies)
	}
	for _, line := range p.sent() {
		if strings.Contains(line, "token-") {
			t.Errorf("an address has a token: %s", line)
		}
	}

	// It stays through a reload, and another tab does not have it.
	p.goTo(g.url + "/ui/?again#/providers")
	p.says(5*time.Second, "alpha")
	other := open(t, g.url+"/ui/#/providers")
	other.forgive(`\b401\b`)
	other.find("textbox", `(?i)token`)

	p.find("button", `(?i)log ?out|sign out|forget`).click()
	p.find("textbox", `(?i)token`)
	if got := eval[string](p, `JSON.stringify(sessionStorage) + JSON.stringify(localStorage)`); strings.Contains(got, adminToken) {
		t.Errorf("the token is still there after the logout: %s", got)
	}
	if text := p.text(); strings.Contains(text, "alpha") {
		t.Errorf("the page still shows what it knew after the logout: %.500s", text)
	}
	p.goTo(g.url + "/ui/?thereafter#/providers")
	p.find("textbox", `(?i)token`)
}

// TestFromAfar opens the dashboard from another machine's point of view, without TLS: by an address that is not the loopback's.
// The token is needed; with it every page works, though browsers give such pages less than others.
func TestFromAfar(t *testing.T) {
	t.Parallel()
	address := outward(t)
	port := freePort(t)
	g := begin(t, fmt.Sprintf(`
server: { listen: "0.0.0.0:%d" }
admin: { token: %q }
auth: { keys: [{ name: ci, value: some-key }] }
providers:
  alpha: { type: openai-compatible, base_url: "%s/v1", api_key: unused, models: [m] }
`, port, adminToken, startUpstream(t).url), port, adminToken)
	far := fmt.Sprintf("http://%s:%d/ui/", address, port)
	p := open(t, far)
	p.forgive(`\b401\b`)
	p.forgive(`Cross-Origin-Opener-Policy header has been ignored`) // it counts where TLS is in front, and only there
	p.find("textbox", `(?i)token`).fill(adminToken)
	p.press(kb.Enter)
	p.when(5*time.Second, isLive)
	for _, visit := range everyPage {
		eval[bool](p, `(location.hash = '#/`+visit.path+`', true)`)
		p.find("heading", visit.title)
		p.settled()
	}
	p.forgive(`NavigationEntryMarkedSkippable`)
	if status, body := g.do(t, http.MethodGet, "/admin/v1/health", "", "Authorization", "Bearer wrong"); status != http.StatusUnauthorized {
		t.Errorf("a wrong token: %d %s", status, body)
	}
}

// outward is an address of this machine that is not the loopback's.
func outward(t *testing.T) string {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		if ip, ok := a.(*net.IPNet); ok && !ip.IP.IsLoopback() && ip.IP.To4() != nil {
			return ip.IP.String()
		}
	}
	t.Skip("this machine has no address but the loopback's")
	return ""
}
