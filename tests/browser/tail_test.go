package browser

import (
	"fmt"
	"testing"
	"time"
)

// rows is a JavaScript expression: how many requests the page lists.
const rows = `document.querySelectorAll('main tbody tr').length`

// TestTail watches requests come: each shows within a second of its end, a pause holds them back, and filters stand in the
// address.
func TestTail(t *testing.T) {
	g, _, _ := twoProviders(t, "")
	g.ask(t, "fast", "hello")
	g.latest(t, "")
	p := open(t, g.url+"/ui/#/requests")
	p.when(5*time.Second, isLive)
	p.when(5*time.Second, rows+` === 1`)
	for n := range 5 {
		g.ask(t, "fast", "hello")
		ended := time.Now()
		if late := p.when(5*time.Second, fmt.Sprintf("%s === %d", rows, n+2)).Sub(ended); late > time.Second {
			t.Errorf("a request shows %v after its end", late)
		}
	}

	p.find("button", "^Pause$").click()
	p.find("button", "^Resume$")
	g.ask(t, "fast", "hello")
	g.ask(t, "no-such-model", "hello")
	p.says(2*time.Second, "2 new")
	if n := eval[int](p, rows); n != 6 {
		t.Errorf("a paused page lists %d requests", n)
	}
	p.find("button", "^Resume$").click()
	p.when(2*time.Second, rows+` === 8`)

	p.find("combobox", "^Status").choose("^4xx$")
	p.when(2*time.Second, rows+` === 1 && location.hash.includes('status=4xx')`)
	g.ask(t, "fast", "hello")
	g.ask(t, "no-such-model", "hello")
	p.when(2*time.Second, rows+` === 2`)
	p.goTo(g.url + "/ui/?again" + eval[string](p, `location.hash`))
	p.find("heading", "Requests")
	p.when(5*time.Second, rows+` === 2`)
	p.find("button", "^Clear filters$").click()
	p.when(2*time.Second, rows+` === 10`)
}

// TestAdminApart serves the dashboard on the admin API's own address: there it is, whole, and the playground says that
// clients ask elsewhere.
func TestAdminApart(t *testing.T) {
	t.Parallel()
	g := apart(t)
	p := open(t, g.url+"/ui/#/playground")
	p.when(5*time.Second, isLive)
	p.says(5*time.Second, "127.0.0.1:"+g.clients)
	p.settled()
	p.accessible("a playground that cannot ask")
	p.picture("playground apart")
	for _, visit := range everyPage {
		p.goTo(g.url + "/ui/?" + visit.path + "#/" + visit.path)
		p.find("heading", visit.title)
		p.settled()
	}
}
