package browser

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
)

// TestKeyboard walks through the frame of the page without a mouse: the skip link, every page by its link, the menu of a
// narrow window, the theme.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	g, _, _ := twoProviders(t, "")
	p := open(t, g.url+"/ui/")
	p.when(5*time.Second, isLive)

	p.press(kb.Tab)
	if e := p.focused(); e.role != "link" || e.name != "Skip to the page" {
		t.Errorf("the first Tab leads to %s %q", e.role, e.name)
	}
	p.press(kb.Enter)
	p.when(time.Second, `document.activeElement === document.querySelector('main')`)

	links := p.find("navigation", "").all("link", "")
	for _, link := range append(links[1:], links[0]) { // the first is the page that shows
		p.tabTo("link", "^"+link.name+"$")
		p.press(kb.Enter)
		p.find("heading", "^"+link.name+"$")
		p.when(2*time.Second, `document.activeElement?.matches('h1') && document.title.startsWith(document.activeElement.innerText)`)
		if current := eval[string](p, `document.querySelector('nav [aria-current=page]')?.innerText ?? ''`); current != link.name {
			t.Errorf("on the page %s the navigation marks %q", link.name, current)
		}
	}

	p.size(375, 812)
	p.tabTo("button", "^Menu$")
	p.press(kb.Enter)
	p.tabTo("link", "^Models$")
	p.press(kb.Enter)
	p.find("heading", "^Models$")
	p.when(time.Second, `document.querySelector('[aria-controls]').ariaExpanded === 'false'`)

	// The theme: as the system has it, until it is chosen.
	dark := func() bool {
		return eval[bool](p, `(() => { const c = getComputedStyle(document.body).backgroundColor.match(/\d+(\.\d+)?/g).map(Number); return c[0] + c[1] + c[2] < 300; })()`)
	}
	p.theme("dark")
	if !dark() {
		t.Error("the page is light where the system is dark")
	}
	p.find("combobox", "Theme").choose("^light$")
	p.when(time.Second, `getComputedStyle(document.documentElement).colorScheme.includes('light')`)
	if dark() {
		t.Error("the page is dark where light was chosen")
	}
	p.goTo(g.url + "/ui/?again")
	p.find("heading", "Overview")
	if dark() {
		t.Error("the choice of a theme is forgotten")
	}

	p.prefers("prefers-reduced-motion", "reduce")
	p.goTo(g.url + "/ui/?still")
	p.find("heading", "Overview")
	p.settled()
	if n := eval[int](p, `document.getAnimations().length`); n > 0 {
		t.Errorf("%d things move for who wants none of it", n)
	}
}
