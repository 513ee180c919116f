package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// page is a tab in a profile of its own. All that a careful person would mind is noted while it lives: what the console
// says, requests that fail or leave for another origin, dialogs, violations of the content security policy. A test fails
// at its end for whatever was noted and not forgiven.
type page struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	noted    []string
	forgiven []*regexp.Regexp
	asked    map[network.RequestID]string // method and URL
	weight   float64                      // bytes that came, as they were sent
	requests []string                     // "POST http://…"
}

// early runs in each document before its own scripts.
const early = `
	addEventListener('securitypolicyviolation', e => console.error('CSP:', e.violatedDirective, 'blocked', e.blockedURI, e.sample, e.sourceFile));
	window.longTasks = [];
	new PerformanceObserver(list => { for (const e of list.getEntries()) longTasks.push(Math.round(e.duration)); }).observe({type: 'longtask', buffered: true});
`

// open opens a page and waits until it is loaded.
func open(t *testing.T, address string) *page {
	t.Helper()
	p := blank(t)
	p.goTo(address)
	return p
}

// blank opens an empty tab.
func blank(t *testing.T) *page {
	t.Helper()
	p := &page{t: t, asked: map[network.RequestID]string{}}
	ctx, cancel := chromedp.NewContext(chromium, chromedp.WithNewBrowserContext(), chromedp.WithListener(p.hear))
	p.ctx = ctx
	if err := chromedp.Do(ctx); err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			p.picture("failed " + t.Name())
		}
		_ = chromedp.Cancel(ctx)
		for _, note := range p.notes() {
			t.Errorf("the page: %s", note)
		}
	})
	call(p, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: early})
	call(p, audits.Enable, cdp.Empty{})
	p.size(1280, 800)
	return p
}

// call sends a command of the DevTools protocol.
func call[P, R any](p *page, command cdp.Command[P, R], params P) R {
	p.t.Helper()
	result, err := try(p, command, params)
	if err != nil {
		p.t.Fatalf("%s: %v", command.Method, err)
	}
	return result
}

func try[P, R any](p *page, command cdp.Command[P, R], params P) (R, error) {
	ctx, cancel := context.WithTimeout(p.ctx, 20*time.Second)
	defer cancel()
	return chromedp.Call(ctx, command, params)
}

// eval evaluates a JavaScript expression; a promise is waited for.
func eval[T any](p *page, expression string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, 30*time.Second)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%v\nin %.300s\nThe page says: %.2000s", err, expression, p.text())
	}
	return value
}

// text is what the page shows.
func (p *page) text() string {
	ctx, cancel := context.WithTimeout(p.ctx, 5*time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body?.innerText ?? ''`))
	if err != nil {
		return err.Error()
	}
	return text
}

// goTo loads an address.
func (p *page) goTo(address string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, 20*time.Second)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Navigate(address)); err != nil {
		p.t.Fatalf("open %s: %v", address, err)
	}
}

// when waits until a JavaScript condition holds, looking every 10 ms from inside the page, and says when that was.
func (p *page) when(within time.Duration, condition string) time.Time {
	p.t.Helper()
	at := eval[float64](p, fmt.Sprintf(`new Promise(done => {
		const end = Date.now() + %d;
		const look = () => { if (%s) done(Date.now()); else if (Date.now() > end) done(0); else setTimeout(look, 10); };
		look();
	})`, within.Milliseconds(), condition))
	if at == 0 {
		p.t.Fatalf("not within %v: %s\nThe page says: %.3000s", within, condition, p.text())
	}
	return time.UnixMilli(int64(at))
}

// says waits until the page shows the text, with any white space where that has a space.
func (p *page) says(within time.Duration, text string) time.Time {
	p.t.Helper()
	return p.when(within, fmt.Sprintf(`document.body.innerText.replace(/\s+/g, ' ').includes(%s)`, quoted(text)))
}

// quoted is a text as a JavaScript literal.
func quoted(text string) string {
	literal, err := json.Marshal(text)
	if err != nil {
		return `""`
	}
	return string(literal)
}

func (p *page) size(width, height int64) {
	p.t.Helper()
	call(p, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1})
}

// theme is what the person's system prefers: light or dark.
func (p *page) theme(name string) { p.prefers("prefers-color-scheme", name) }

func (p *page) prefers(feature, value string) {
	p.t.Helper()
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: feature, Value: value}}})
}

// picture takes a screenshot of what is in view.
func (p *page) picture(name string) {
	shot, err := try(p, cdppage.CaptureScreenshot, cdppage.CaptureScreenshotParams{})
	if err != nil {
		p.t.Logf("no screenshot: %v", err)
		return
	}
	file := filepath.Join(pictures, regexp.MustCompile(`[^a-zA-Z0-9]+`).ReplaceAllString(name, "-")+".png")
	if err := os.WriteFile(file, shot.Data, 0o600); err != nil {
		p.t.Error(err)
	}
}
