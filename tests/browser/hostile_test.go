package browser

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"evergate/internal/mock"
)

// hostile are texts that want to be more than text. Each would raise a dialog, break the page's layout, or hide what it is.
var hostile = []string{
	`<img src=x onerror=alert(1)>`,
	`"><script>alert(2)</script>`,
	`'><svg/onload=alert(3)>`,
	`javascript:alert(4)`,
	`</script><script>alert(5)</script>`,
	`{{constructor.constructor('alert(6)')()}}`,
	`<a href="javascript:alert(7)">here</a>`,
	`<iframe srcdoc="<script>alert(8)</script>"></iframe>`,
	"\u202Egnp.exe\u202C and \u2066isolated\u2069",
	"bell \a, escape \x1b[31mred, null \u0000, and the end of a \u0085 line \u2028 and another",
	"&lt;b&gt;twice&lt;/b&gt; &#x3c;b&#x3e;",
	"__proto__",
}

// long has no place to break.
var long = strings.Repeat("Wide", 1250)

// bare is a hostile text as the name of a model, which has no white space.
func bare(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '/'
		case r < ' ' || r == '\u0085' || r == '\u2028':
			return '~'
		}
		return r
	}, text)
}

// printed is a hostile text as a word of a key, which is of printable characters.
func printed(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '~'
		}
		return r
	}, text)
}

// TestHostileTexts fills the dashboard with texts of strangers, wherever a stranger can put one: models a provider lists,
// its errors, models and prompts clients ask for, answers, names in the config, reasons of orders, addresses of pages.
// Nothing of it is carried out, all of it shows as what it is, and the page keeps its shape.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	first, second := startUpstream(t), startUpstream(t)
	var config strings.Builder
	fmt.Fprintf(&config, "providers:\n  alpha: { type: openai-compatible, base_url: %q, api_key: unused }\n  beta: { type: openai-compatible, base_url: %q, api_key: unused, models: [m] }\nmodels:\n", first.url+"/v1", second.url+"/v1")
	listed := []string{"m"}
	for i, text := range hostile {
		fmt.Fprintf(&config, "  %s: { strategy: ordered, targets: [alpha/m, beta/m] }\n", quoted(fmt.Sprintf("virtual-%d-%s", i, bare(text))))
		listed = append(listed, "listed-"+text)
	}
	listed = append(listed, long)
	first.SetScript(mock.Script{Models: listed})
	config.WriteString("log: { bodies: true }\nresilience: { retry: { max_retries: 0 } }\nauth:\n  keys:\n    - { name: plain, value: key-plain }\n")
	for i, text := range hostile {
		name := quoted(printed(text))
		fmt.Fprintf(&config, "    - { name: %s, value: key-%d, owner: %s, team: %s, labels: { app: %s } }\n", name, i, name, name, name)
	}
	g := serve(t, config.String(), "")

	for i, text := range hostile {
		key := fmt.Sprintf("Bearer key-%d", i)
		first.SetScript(mock.Script{Models: listed})
		g.ask(t, fmt.Sprintf("virtual-%d-%s", i, bare(text)), text, "Authorization", key) // answered, quoting the prompt
		g.ask(t, "asked-"+text, text, "Authorization", key)                               // no such model
		first.does(mock.Behaviour{Status: http.StatusServiceUnavailable, Message: "down: " + text, Code: text, Type: text})
		g.ask(t, "alpha/m", text, "Authorization", key)
		first.does(mock.Behaviour{Status: http.StatusBadRequest, Body: text, ContentType: "text/html"})
		g.ask(t, "alpha/m", text, "Authorization", key)
		if status, reply := g.do(t, http.MethodPost, "/admin/v1/providers/alpha/breaker", `{"action":"close","for":"1h","reason":`+quoted(text)+`}`); status != http.StatusOK {
			t.Errorf("an order because of %q: %d %s", text, status, reply)
		}
		drill := fmt.Sprintf(`{"provider":"beta","model":%[1]s,"key":%[1]s,"shape":{"status":503,"body":%[1]s},"for":"10m","reason":%[1]s}`, quoted(text))
		if status, reply := g.do(t, http.MethodPost, "/admin/v1/faults", drill); status != http.StatusCreated {
			t.Errorf("a drill for %q: %d %s", text, status, reply)
		}
	}
	g.ask(t, long, long, "Authorization", "Bearer key-plain")
	first.does(mock.Behaviour{Status: http.StatusServiceUnavailable, Message: long})
	g.ask(t, "alpha/m", long, "Authorization", "Bearer key-plain")
	first.SetScript(mock.Script{Models: listed})

	var paths []string
	for _, visit := range everyPage {
		paths = append(paths, visit.path)
	}
	type row struct{ ID, Asked string }
	var rows []row
	eventually(t, 3*time.Second, func() error {
		if rows = get[struct{ Requests []row }](t, g, "/admin/v1/requests?limit=100").Requests; len(rows) < 4*len(hostile)+2 {
			return fmt.Errorf("%d requests are listed", len(rows))
		}
		return nil
	})
	for i := 0; i < len(rows); i += 11 {
		paths = append(paths, "requests/"+rows[i].ID)
	}
	paths = append(paths, "requests/"+withBodies, "incidents?view=all", "incidents?view=audit", "providers/alpha", "models/"+url.PathEscape("virtual-0-"+bare(hostile[0])))
	for _, f := range get[struct{ Faults []row }](t, g, "/admin/v1/faults").Faults {
		paths = append(paths, "drills/"+f.ID)
	}
	for _, text := range hostile[:9] {
		paths = append(paths, "requests/"+url.PathEscape(text), "requests?q="+url.QueryEscape(text), "providers/"+url.PathEscape(text), url.PathEscape(text), text)
	}

	paths = append(paths, "providers/__proto__", "providers/constructor", "requests/constructor", "__proto__", "toString", "models/__proto__", "usage?group_by=constructor", "incidents?view=__proto__&from=x",
		"playground?dialect=__proto__&model=constructor", "%", "%E0%A4%A", "?", "//", "requests/%00")

	p := blank(t)
	p.forgive(`reply 40[04]: GET .*/admin/v1/(requests|timeline|faults)`) // of ids and filters that cannot be
	p.forgive(`Failed to load resource: the server responded with a status of 40[04]`)
	p.forgive(`NavigationEntryMarkedSkippable`) // nobody clicked before the address changed
	p.goTo(before(t, g, bodies(t, g, rows[0].ID)).url + "/ui/")
	p.when(5*time.Second, isLive)
	seen := ""
	for i, path := range paths {
		p.size([]int64{1280, 375}[i%2], 812)
		eval[bool](p, `(location.hash = `+quoted("#/"+path)+`, true)`)
		p.settled()
		p.harmless(path)
		p.fits(path)
		seen += p.text()
		if i < len(everyPage) || strings.HasSuffix(path, withBodies) {
			p.picture("hostile " + path)
		}
	}
	for _, text := range []string{hostile[0], hostile[1], hostile[2], hostile[3], hostile[4], hostile[6], hostile[10], long} {
		if !strings.Contains(seen, text) {
			t.Errorf("%q is nowhere to be read", text)
		}
	}
	for i, text := range hostile[:3] {
		p.playground(fmt.Sprintf("%s/ui/?play%d#/playground?model=beta%%2Fm", g.url, i), "key-plain", text)
	}
}

// withBodies is the id of a request whose prompt and answer were kept, if it may be believed.
const withBodies = "req_bodies"

// bodies answers for such a request: a real one, whose bodies are texts as hostile as JSON can be, and no JSON.
func bodies(t *testing.T, g *gateway, id string) func(http.ResponseWriter, *http.Request) bool {
	t.Helper()
	status, reply := g.do(t, http.MethodGet, "/admin/v1/requests/"+id, "")
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, reply)
	}
	own, kept, _ := strings.Cut(strings.TrimSpace(string(reply)), `,"body":{`) // which is the last field
	if !strings.Contains(kept, `"request":"{`) {
		t.Errorf("the request's body is not kept: %s", reply)
	}
	all := quoted(strings.Join(hostile, "\n") + long)
	told := fmt.Sprintf(`%s,"body":{"request":%s,"response":%[2]s,"request_cut":true,"response_cut":false}}`, strings.TrimSuffix(own, "}"), all)
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/admin/v1/requests/"+withBodies {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, told)
		return true
	}
}

// playground asks the given question in the playground; the simulated model says it back.
func (p *page) playground(address, key, question string) {
	p.t.Helper()
	p.goTo(address)
	p.find("heading", "Playground")
	p.settled()
	p.find("textbox", "^Gateway key").fill(key)
	p.find("textbox", "^Prompt").fill(question)
	p.find("button", "^Send$").click()
	p.when(5*time.Second, fmt.Sprintf(`document.querySelector('[data-testid=answer][aria-busy=false]')?.innerText.includes(%s)`, quoted(question)))
	p.settled()
	p.harmless("playground")
	p.picture("hostile answer")
}

// harmless minds that what the page shows is text and nothing else.
func (p *page) harmless(where string) {
	p.t.Helper()
	type found struct {
		Elements, Links []string
		Hidden          string
	}
	got := eval[found](p, `(() => {
		const page = document.body.cloneNode(true);
		page.querySelectorAll('datalist').forEach(list => list.remove()); // what is typed for who chooses it
		return {
		elements: [...document.querySelectorAll('img, iframe, object, embed, base, meta[http-equiv=refresh], script:not([src]), style, svg[onload]')].map(e => e.outerHTML)
			.concat([...document.querySelectorAll('*')].filter(e => [...e.attributes].some(a => a.name.startsWith('on'))).map(e => e.outerHTML)),
		links: [...document.querySelectorAll('[href], [src], [action], [formaction]')].filter(e => e.rel !== 'icon').map(e => String(e.href ?? e.src ?? e.action))
			.filter(h => new URL(h, location.href).origin !== location.origin),
		hidden: [document.title, document.body.innerText, page.outerHTML].map(text => text.match(/.{0,40}[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u2028\u2029].{0,40}/s)?.[0]).find(text => text) ?? '',
	}; })()`)
	if len(got.Elements) > 0 || len(got.Links) > 0 || got.Hidden != "" {
		p.t.Errorf("%s: elements %.500q, links %.500q, character in %+q", where, got.Elements, got.Links, got.Hidden)
	}
	if notes := p.notes(); slices.ContainsFunc(notes, func(note string) bool { return strings.Contains(note, "dialog") }) {
		p.t.Fatalf("%s: %q", where, notes)
	}
}
