package browser

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"evergate/internal/mock"
)

// TestIncident is an operator's worst hour in short: a provider breaks, the open page says so by itself within a second, the
// operator closes the breaker with the keyboard alone and says why, and everybody can read later who did it and what for.
func TestIncident(t *testing.T) {
	g, first, _ := twoProviders(t, "")
	g.ask(t, "fast", "hello")
	p := open(t, g.url+"/ui/#/providers")
	p.when(5*time.Second, isLive)
	p.when(5*time.Second, shows("alpha", "closed"))
	p.when(5*time.Second, shows("beta", "closed"))
	eval[bool](p, `window.sameDocument = true`)

	first.does(mock.Behaviour{Status: http.StatusServiceUnavailable, Message: "out of service"})
	for range 3 {
		if status := g.ask(t, "fast", "hello"); status != http.StatusOK {
			t.Errorf("a request beside the broken provider: %d", status)
		}
	}
	seen := p.when(5*time.Second, shows("alpha", "open"))
	opened := g.breaker(t, "alpha")
	if opened.State != "open" || opened.OpenedAt == nil {
		t.Fatalf("the breaker of alpha: %+v", opened)
	}
	late := seen.Sub(*opened.OpenedAt)
	t.Logf("the page shows the open breaker %v after it opened", late.Round(time.Millisecond))
	if late > time.Second {
		t.Errorf("the page shows the open breaker %v after it opened", late)
	}
	p.when(time.Second, shows("beta", "closed"))
	p.ticks(t)
	p.picture("incident")
	p.accessible("an open breaker")

	// By keyboard alone from here on.
	const reason = `fixed by the provider, see "ticket 42"`
	eval[bool](p, `(document.activeElement?.blur(), scrollTo(0, 0), true)`)
	trigger := p.tabTo("button", `^Close the circuit breaker of alpha`)
	p.press(kb.Enter)
	dialog := p.find("dialog", "")
	if name := p.focused(); !on[bool](dialog, `function() { return this.contains(document.activeElement); }`) {
		t.Errorf("the dialog is open and the keyboard is on %s %q", name.role, name.name)
	}
	p.picture("incident dialog")
	p.accessible("the dialog")
	p.press(kb.Escape)
	p.gone("dialog")
	if e := p.focused(); e.name != trigger.name {
		t.Errorf("Escape leaves the keyboard on %s %q", e.role, e.name)
	}
	p.press(kb.Enter)
	p.find("dialog", "")
	p.tabTo("textbox", `^Reason`)
	p.write(reason)
	p.tabTo("button", `^Close it$`)
	p.press(kb.Enter)
	p.gone("dialog")
	p.when(2*time.Second, shows("alpha", "closed"))
	p.says(2*time.Second, "ticket 42")
	if e := p.focused(); e.name != trigger.name {
		t.Errorf("after the dialog the keyboard is on %s %q", e.role, e.name)
	}
	held := g.breaker(t, "alpha")
	if held.State != "closed" || held.Operator == nil || held.Operator.Reason != reason {
		t.Errorf("the breaker of alpha: %+v", held)
	}
	if !eval[bool](p, `window.sameDocument === true`) {
		t.Error("the page was loaded anew")
	}

	eventually(t, 2*time.Second, func() error {
		for _, e := range g.audit(t) {
			if e.Provider == "alpha" && e.Reason == reason && strings.Contains(e.By, "127.0.0.1") {
				return nil
			}
		}
		return fmt.Errorf("the audit log does not have it: %+v", g.audit(t))
	})

	// The page of incidents tells the story: what opened it and the requests that did, who closed it and why.
	p.tabTo("link", `^Incidents$`)
	p.press(kb.Enter)
	p.find("heading", "Incidents")
	p.says(3*time.Second, "alpha")
	p.settled()
	p.picture("incident told")
	p.find("combobox", "^Show").choose("audit")
	p.says(3*time.Second, "ticket 42")
	p.picture("incident audited")
	p.find("combobox", "^Show").choose("^incidents$")
	p.find("link", "^req_").click()
	p.says(3*time.Second, "503")
	p.says(3*time.Second, "beta")
}

// ticks minds that the countdown of the open breaker runs by itself.
func (p *page) ticks(t *testing.T) {
	t.Helper()
	left := func() (seconds []int) {
		for _, text := range eval[[]string](p, `[...document.querySelector('section[aria-label="Circuit breaker of alpha"]').innerText.matchAll(/in (\d+)\s?s\b/g)].map(m => m[1])`) {
			n, err := strconv.Atoi(text)
			if err == nil {
				seconds = append(seconds, n)
			}
		}
		return seconds
	}
	before := left()
	if !slices.ContainsFunc(before, func(n int) bool { return n >= 20 && n <= 30 }) {
		t.Errorf("no countdown from 30 s: %v in %s", before, p.text())
		return
	}
	eventually(t, 3*time.Second, func() error {
		if after := left(); slices.Equal(after, before) {
			return fmt.Errorf("the countdown stands still: %v", after)
		}
		return nil
	})
}

// gone waits until there is no such thing any more.
func (p *page) gone(role string) {
	p.t.Helper()
	eventually(p.t, 3*time.Second, func() error {
		if left := p.all(role, ""); len(left) > 0 {
			return fmt.Errorf("there still is a %s %q", role, left[0].name)
		}
		return nil
	})
}
