package browser

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestPlayground asks in every dialect, streamed and not: the answer shows, and how it came about.
func TestPlayground(t *testing.T) {
	t.Parallel()
	g, _, _ := twoProviders(t, "")
	p := blank(t)
	for i, dialect := range []string{"chat", "messages", "responses", "gemini"} {
		p.goTo(fmt.Sprintf("%s/ui/?%d#/playground?model=fast&dialect=%s", g.url, i, dialect))
		p.find("heading", "Playground")
		p.when(5*time.Second, isLive)
		for _, streamed := range []bool{true, false} {
			question := fmt.Sprintf("Is it %s, %t?", dialect, streamed)
			p.find("textbox", "^Prompt").fill(question)
			if !streamed {
				p.find("checkbox", "Stream").click()
			}
			p.find("button", "^Send$").click()
			p.when(5*time.Second, fmt.Sprintf(`document.querySelector('[data-testid=answer][aria-busy=false]')?.innerText.includes(%s)`, quoted(question)))
			p.says(5*time.Second, "alpha/m=200")
			p.says(5*time.Second, "first choice") // its trail, drawn
		}
	}
	p.accessible("an answer in the playground")
	p.picture("played")
}

// TestSimulation plays an example; a scenario with a mistake is refused with the line it is in.
func TestSimulation(t *testing.T) {
	t.Parallel()
	g, _, _ := twoProviders(t, "")
	p := open(t, g.url+"/ui/#/simulate")
	p.find("button", "^Play it$").click()
	p.says(15*time.Second, "What came of it")
	p.settled()
	p.accessible("a simulation")
	p.picture("simulated")
	p.size(375, 812)
	p.settled()
	p.fits("a simulation")
	p.picture("simulated narrow")

	p.forgive(`\b4[0-9][0-9]\b.*simulate|status of 4`)
	p.find("textbox", "^Scenario").fill("duration: soon\nnonsense: 1\n")
	p.find("button", "^Play it$").click()
	p.when(5*time.Second, `/nonsense/.test(document.querySelector('main form').innerText) && /line|:2/.test(document.querySelector('main form').innerText)`)
	p.accessible("a refused scenario")
}

// TestDrillPage starts a drill by its form, sees what it does, and stops it.
func TestDrillPage(t *testing.T) {
	t.Parallel()
	g, _, _ := twoProviders(t, "")
	p := open(t, g.url+"/ui/#/drills")
	p.when(5*time.Second, isLive)
	p.find("button", "^Start a drill").click()
	p.find("dialog", "")
	p.picture("drill dialog")
	p.accessible("the form of a drill")
	p.find("combobox", "^Provider").choose("^alpha$")
	p.find("spinbutton", "^Share").fill("100")
	p.find("textbox", "^Reason").fill("a rehearsal")
	p.find("button", "^Start it$").click()
	p.gone("dialog")
	p.says(3*time.Second, "running")
	if status := g.ask(t, "fast", "hello"); status != http.StatusOK {
		t.Errorf("a request under the drill: %d", status)
	}

	p.find("link", "^drill|^fault|^d_|^[0-9a-f]{6}").click()
	p.find("heading", "^Drill$")
	p.when(5*time.Second, `/Rescued\s+1\b/i.test(document.body.innerText)`)
	p.picture("drill report")
	p.accessible("the report of a drill")
	p.find("button", "^Stop").click()
	p.find("dialog", "")
	p.find("button", "^Stop it$").click()
	p.gone("dialog")
	p.when(3*time.Second, `/ended/i.test(document.body.innerText)`)
	if _, body := g.do(t, http.MethodGet, "/admin/v1/faults", ""); strings.Contains(string(body), `"running"`) {
		t.Errorf("the drill goes on: %s", body)
	}
}
