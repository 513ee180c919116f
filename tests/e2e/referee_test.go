package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// words60 is what every simulated model says: 60 tokens, no two alike.
var words60 = func() string {
	words := make([]string, 60)
	for i := range words {
		words[i] = fmt.Sprintf("word-%02d", i+1)
	}
	return strings.Join(words, " ")
}()

// refereeCase is one fault, at one provider, for one caller: all of it under names of its own, so that all cases can run at once.
type refereeCase struct {
	row     *refereeRow
	fault   *refereeFault
	client  *strictClient
	sdk     string // python or typescript: their official SDK asks in place of the strict client
	stream  bool
	primary string // type of the primary; the fallback's is the other
	name    string
	// where it runs
	gateway, upstream string

	got  *got
	seen map[string][]asked // what primary and fallback saw
}

// asked is one request in the log of `evergate mock`.
type asked struct {
	Model  string
	Status int
	Chunks int
	Start  time.Time
	Ms     int
}

// upstreamTypes are the two APIs that primary and fallback speak, each in both places.
var upstreamTypes = map[string]string{"openai": "anthropic", "anthropic": "openai"}

// cases are those of a row: every fault for every caller, the strict ones with each API in both places.
func (r *refereeRow) cases(sdks []string) (out []*refereeCase) {
	add := func(i int, client *strictClient, sdk string, stream bool, primary string) {
		form := map[bool]string{true: "stream", false: "plain"}[stream]
		out = append(out, &refereeCase{
			row: r, fault: &r.faults[i], client: client, sdk: sdk, stream: stream, primary: primary,
			name: fmt.Sprintf("r%02d-%d-%s%s-%s-%s", r.n, i, sdk, client.name, form, primary),
		})
	}
	for i := range r.faults {
		for c := range strictClients {
			for _, stream := range r.forms {
				add(i, &strictClients[c], "", stream, "openai")
				add(i, &strictClients[c], "", stream, "anthropic")
				for _, sdk := range sdks {
					add(i, &strictClients[c], sdk, stream, "openai")
				}
			}
		}
	}
	return out
}

func (c *refereeCase) String() string {
	form := map[bool]string{true: "stream", false: "plain"}[c.stream]
	return fmt.Sprintf("row %d, %s, %s %s, %s before %s", c.row.n, c.fault.name, strings.TrimSpace(c.sdk+" "+c.client.name), form, c.primary, upstreamTypes[c.primary])
}

// script is what the simulated providers of a fault do, in all cases of it.
func (f *refereeFault) script(cases []*refereeCase) string {
	text := fmt.Sprintf("defaults: { latency: 20ms, chunk_delay: 2ms, prefill: continue, text: %q }\nrules:\n", words60)
	for _, c := range cases {
		if c.fault != f {
			continue
		}
		for _, rule := range c.fault.primary(c.primary) {
			text += fmt.Sprintf("  - { model: alpha-%s, %s }\n", c.name, rule)
		}
		for _, rule := range c.fault.fallback {
			text += fmt.Sprintf("  - { model: beta-%s, %s }\n", c.name, rule)
		}
	}
	return text
}

// config is the gateway's, without its server section: for each case a primary and one fallback of another model.
func (r *refereeRow) config(cases []*refereeCase) string {
	providers, models := "providers:\n", "models:\n"
	for _, c := range cases {
		for _, p := range [][3]string{{"p", "alpha", c.primary}, {"f", "beta", upstreamTypes[c.primary]}} {
			api := ""
			if p[2] == "openai" {
				api = ", api: " + r.api()
			}
			providers += fmt.Sprintf("  %s-%s: { type: %s%s, base_url: %q, api_key: unused, models: [%s-%s] }\n", p[0], c.name, p[2], api, c.upstream+"/v1", p[1], c.name)
		}
		resume := "continue"
		if c.fault.noResume {
			resume = "off"
		}
		// The budget: all cases are hedged in the same second.
		models += fmt.Sprintf("  %[1]s: { targets: [p-%[1]s/alpha-%[1]s, f-%[1]s/beta-%[1]s], hedge: { after: 10s, max: 1, budget: 1 }, resume: %[2]s }\n", c.name, resume)
	}
	return providers + models + "timeouts: { attempt: 30s, first_chunk: 30s, idle: 30s }\nresilience: { retry: { max_retries: 2 } }\n"
}

func (r *refereeRow) api() string {
	if r.chatOnly {
		return "chat"
	}
	return "auto"
}

// TestReferee has a referee's sixteen faults at a primary that has one fallback of another model: two retries, 30 s for a request and for a
// silent stream, a hedge after 10 s, and streams that are resumed. It asks in every client dialect, with the primary speaking OpenAI's
// API and the fallback Anthropic's, and the other way round, and with the official SDKs of two languages; and it holds what the caller got
// against what the providers saw.
// Everything runs at once; then each row reports.
func TestReferee(t *testing.T) {
	sideBySide(t)
	var all sync.WaitGroup
	var sdks []string
	for _, sdk := range slices.Sorted(maps.Keys(refereeSDKs)) {
		if installed(t, sdk) {
			sdks = append(sdks, sdk)
		}
	}
	bySDK := map[string][]*refereeCase{}
	cases := map[int][]*refereeCase{}
	gateways := map[int]*gateway{}
	for i := range refereeRows {
		r := &refereeRows[i]
		cases[r.n] = r.cases(sdks)
		for f := range r.faults { // each with a log of its own
			upstream := startMock(t, r.faults[f].script(cases[r.n]))
			for _, c := range cases[r.n] {
				if c.fault == &r.faults[f] {
					c.upstream = upstream
				}
			}
		}
		g := serve(t, r.config(cases[r.n]), "")
		gateways[r.n] = g
		for _, c := range cases[r.n] {
			c.gateway = g.url
			if bySDK[c.sdk] = append(bySDK[c.sdk], c); c.sdk == "" {
				all.Go(func() { c.run(t.Context()) })
			}
		}
	}
	for _, sdk := range sdks {
		askBySDK(t, &all, sdk, bySDK[sdk])
	}
	outages := startOutages(t, &all)
	all.Wait()
	for i := range refereeRows {
		r := &refereeRows[i]
		t.Run(fmt.Sprintf("%02d %s", r.n, r.name), func(t *testing.T) {
			for _, c := range cases[r.n] {
				if complaint := c.judge(); complaint != "" {
					t.Errorf("%v: %s", c, complaint)
				}
			}
			gateways[r.n].isWell(t)
		})
	}
	t.Run("15 down for 60 s, then healthy", func(t *testing.T) {
		for _, o := range outages {
			o.judge(t)
		}
	})
}

// isWell checks that the process lives and says that it is healthy.
func (g *gateway) isWell(t *testing.T) {
	t.Helper()
	select {
	case <-g.done:
		t.Fatalf("the gateway has ended: %v", g.err)
	default:
	}
	if resp, err := http.Get(g.url + "/healthz"); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("health: %v, %v", resp, err)
	} else {
		_ = resp.Body.Close()
	}
	if strings.Contains(g.out.String(), "panic") {
		t.Error("the gateway panicked")
	}
}

// run asks, and looks at what the providers saw.
func (c *refereeCase) run(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	c.got = c.client.ask(ctx, c.gateway, c.name, c.stream)
	c.look(ctx)
}

// look fetches what the providers saw.
func (c *refereeCase) look(ctx context.Context) {
	c.seen = map[string][]asked{}
	log := seenBy(ctx, c.upstream)
	c.got.want(len(log) < 256, "the provider's log is full: it cannot be counted in it")
	for _, a := range log {
		switch a.Model {
		case "alpha-" + c.name:
			c.seen["primary"] = append(c.seen["primary"], a)
		case "beta-" + c.name:
			c.seen["fallback"] = append(c.seen["fallback"], a)
		}
	}
}

// seenBy is the log of `evergate mock`.
func seenBy(ctx context.Context, upstream string) (log []asked) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, upstream+"/mock/requests", http.NoBody)
	if err != nil {
		return nil
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil
	}
	defer func() { _ = resp.Body.Close() }()
	_ = json.NewDecoder(resp.Body).Decode(&log)
	return log
}

// judge says in one line what was expected and what was seen; nothing if the row holds.
func (c *refereeCase) judge() string {
	w := c.fault.want
	complaint := w.held(c)
	if complaint == "" {
		return ""
	}
	line := fmt.Sprintf("%s: expected %v; seen %v", complaint, w, c.got)
	for _, who := range []string{"primary", "fallback"} {
		line += fmt.Sprintf("; %s asked %d×", who, len(c.seen[who]))
		for i, a := range c.seen[who] {
			line += fmt.Sprintf(" [+%.2fs %d, %d chunks, %d ms]", a.Start.Sub(c.seen[who][0].Start).Seconds(), a.Status, a.Chunks, a.Ms)
			if i == 9 {
				line += " …"
				break
			}
		}
	}
	return line
}
