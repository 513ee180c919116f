package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/admin"
	"evergate/internal/mock"
)

// issuer is a token endpoint that takes a second, and rotates refresh tokens: each is good once.
type issuer struct {
	mu      sync.Mutex
	refresh string // the one that is good
	given   map[string]time.Time
	asked   int
	life    time.Duration
	status  int // 0: it gives tokens
	slow    time.Duration
}

func newIssuer() *issuer {
	return &issuer{refresh: "refresh-token-0", given: map[string]time.Time{}, life: time.Hour}
}

func (i *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	i.asked++
	takes := time.Second + i.slow
	i.mu.Unlock()
	time.Sleep(takes)
	i.mu.Lock()
	defer i.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	refuse := func(status int, word string) {
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"error":%q,"error_description":"%s of %s is no good"}`, word, r.PostFormValue("refresh_token"), r.PostFormValue("client_secret"))
	}
	switch {
	case i.status != 0:
		refuse(i.status, "server_error")
	case r.PostFormValue("client_secret") != "secret-of-the-client":
		refuse(http.StatusUnauthorized, "invalid_client")
	case r.PostFormValue("refresh_token") != i.refresh:
		refuse(http.StatusBadRequest, "invalid_grant")
	default:
		token := fmt.Sprintf("access-token-%d", i.asked)
		i.refresh = fmt.Sprintf("refresh-token-%d", i.asked)
		i.given[token] = time.Now().Add(i.life)
		_ = json.NewEncoder(w).Encode(map[string]any{
			"access_token": token, "token_type": "Bearer", "expires_in": int(i.life.Seconds()), "refresh_token": i.refresh,
		})
	}
}

func (i *issuer) change(f func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	f()
}

func (i *issuer) count() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.asked
}

// revoke ends every token that was given.
func (i *issuer) revoke() { i.change(func() { clear(i.given) }) }

// door lets requests pass that have a good token, or the key. It lists models to everybody.
type door struct {
	issuer *issuer
	mu     sync.Mutex
	behind http.Handler
	shut   bool // no token is good
	sent   []string
}

// put has another provider stand behind the door.
func (d *door) put(behind http.Handler) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.behind = behind
}

func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	behind := d.behind
	d.mu.Unlock()
	if r.Method == http.MethodGet {
		behind.ServeHTTP(w, r)
		return
	}
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	d.issuer.mu.Lock()
	good := time.Now().Before(d.issuer.given[token]) || token == "sk-key-of-a"
	d.issuer.mu.Unlock()
	d.mu.Lock()
	d.sent = append(d.sent, token)
	good = good && !d.shut
	d.mu.Unlock()
	if good {
		behind.ServeHTTP(w, r)
		return
	}
	w.Header().Set("X-Echo", token)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusUnauthorized)
	_, _ = fmt.Fprintf(w, `{"error":{"message":"the token %s has ended","type":"authentication_error"}}`, token)
}

// tokens are those that requests came with since it was last asked, in order.
func (d *door) tokens() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := strings.Join(d.sent, " ")
	d.sent = nil
	return out
}

func (d *door) shutdown(shut bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shut = shut
}

const (
	grantOfA = `{token_url: "http://issuer.localhost/token", client_id: gateway, client_secret: secret-of-the-client, refresh_token: refresh-token-0}`
	// oauthOnly is one provider with one OAuth credential.
	oauthOnly = `
server: {listen: "gateway:80"}
auth: {allow_anonymous: true}
admin: {token: admin-token}
providers:
  a: {type: openai, base_url: "http://door/v1", oauth: ` + grantOfA + `, models: [m]}
`
	// oauthAndKey has a second credential and a second provider.
	oauthAndKey = `
server: {listen: "gateway:80"}
auth: {allow_anonymous: true}
admin: {token: admin-token}
providers:
  a: {type: openai, base_url: "http://door/v1", key_strategy: fill_first, keys: [{name: grant, oauth: ` + grantOfA + `}, {name: key, value: sk-key-of-a, models: [m]}], models: [m, grant-only]}
  b: {type: openai, base_url: "http://b/v1", api_key: sk-key-of-b, models: [m]}
models:
  demo: {targets: [a/grant-only, b/m]}
`
)

// granted is a stack whose provider a is behind a door, with the door's issuer.
func granted(t *testing.T, config string, log *slog.Logger, before ...func(*stack, *issuer)) (*stack, *door, *issuer) {
	t.Helper()
	i := newIssuer()
	d := &door{issuer: i, behind: mock.New(mock.Script{Name: "a"})}
	t.Cleanup(func() { time.Sleep(time.Minute) }) // fetches under way outlast the gateway
	cfg := parse(t, config)
	cfg.RefreshInterval, cfg.RecheckInterval = 1000*time.Hour, 1000*time.Hour // discovery needs tokens, too
	s := newStackWith(t, cfg, map[string]mock.Script{"b": {}}, log, func(s *stack) {
		s.net.Serve(t, "door:80", d)
		s.net.Serve(t, "issuer.localhost:80", i)
		for _, f := range before {
			f(s, i)
		}
	})
	return s, d, i
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// R32: a token is renewed some minutes before it ends, by one fetch, while the old one serves: no request waits for it, and
// none is refused.
func TestOAuthRenewsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d, i := granted(t, oauthOnly, quiet())
		start := time.Now()
		for _, step := range []struct {
			at     time.Duration
			took   time.Duration
			tokens string
			asked  int
		}{
			{0, time.Second, "access-token-1", 1},
			{50 * time.Minute, 0, "access-token-1", 1},
			{55*time.Minute + time.Second, 0, "access-token-1", 2},
			{55*time.Minute + 3*time.Second, 0, "access-token-2", 2},
		} {
			time.Sleep(step.at - time.Since(start))
			a := s.ask("a/m", false)
			synctest.Wait()
			if got := d.tokens(); a.status != 200 || a.took != step.took || got != step.tokens {
				t.Errorf("at %v: %s with %s, want %s after %v", step.at, a.story(), got, step.tokens, step.took)
			}
			time.Sleep(1500 * time.Millisecond) // for what is fetched beside it
			if n := i.count(); n != step.asked {
				t.Errorf("at %v: %d fetches, want %d", step.at, n, step.asked)
			}
		}
	})
}

// R32: however many requests need the first token, it is fetched once.
func TestOAuthFetchesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, i := granted(t, oauthOnly, quiet())
		for n, a := range s.together(40, func(n int) answer { return s.ask("a/m", n%2 == 0) }) {
			if a.status != 200 || a.took > 2*time.Second {
				t.Errorf("request %d: %s", n, a.story())
			}
		}
		if n := i.count(); n != 1 {
			t.Errorf("%d fetches", n)
		}
	})
}

// R32: a token endpoint that is down opens the credential's own refresh breaker alone: the next credential, or the next
// candidate, answers, and the provider's breaker hears nothing of it.
func TestOAuthEndpointDown(t *testing.T) {
	for _, weather := range []string{"fails", "refuses", "hangs"} {
		t.Run(weather, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, d, i := granted(t, oauthAndKey, quiet(), func(s *stack, i *issuer) {
					switch weather {
					case "refuses":
						s.net.Refuse("issuer.localhost")
					case "hangs":
						s.net.Blackhole("issuer.localhost")
					default:
						i.status = 503
					}
				})
				for n := range 10 {
					a := s.ask("a/m", n%2 == 0)
					if trail := a.header.Get("X-Evergate-Trail"); a.status != 200 || trail != "a/m=no_token, a/m=200" {
						t.Errorf("%s, trail %s", a.story(), trail)
					}
					if n > 0 && a.took > 0 && weather == "fails" {
						t.Errorf("%s: asked again too early", a.story())
					}
				}
				if got := d.tokens(); strings.Trim(strings.ReplaceAll(got, "sk-key-of-a", ""), " ") != "" {
					t.Errorf("sent %s", got)
				}
				p := s.look("a")
				if c := p.Credentials["grant"]; c.State != "ok" || c.Token == nil || c.Token.State == "closed" || c.Token.Failures == 0 {
					t.Errorf("credential %+v, token %+v", c, c.Token)
				}
				if p.Credentials["key"].Token != nil {
					t.Error("a key has a token")
				}
				s.expectState("with a key", "a", "closed", 0)
				for n := range 10 {
					if a := s.ask("demo", n%2 == 0); a.status != 200 || !strings.Contains(a.text, "provider b") {
						t.Errorf("%s, trail %s", a.story(), a.header.Get("X-Evergate-Trail"))
					}
				}
				s.expectState("with another provider", "a", "closed", 0)
				i.change(func() { i.status = 0 })
				s.net.Restore("issuer.localhost")
				time.Sleep(time.Minute)
				d.tokens()
				if a := s.ask("a/m", false); a.status != 200 || d.tokens() != "access-token-"+fmt.Sprint(i.count()) {
					t.Errorf("%s once it is back", a.story())
				}
				if c := s.look("a").Credentials["grant"]; *c.Token != (admin.Token{State: "closed"}) {
					t.Errorf("token %+v", c.Token)
				}
			})
		})
	}
}

// R32: a token endpoint that hangs is no timeout of the provider's: not where the attempt's time is up, and not where clients
// leave.
func TestOAuthEndpointHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, _ := granted(t, strings.Replace(oauthOnly, "models: [m]", "models: [m], timeouts: {attempt: 12s, first_chunk: 12s}", 1)+oneTry, quiet(),
			func(_ *stack, i *issuer) { i.slow = time.Hour })
		for n := range 6 {
			ctx, leave := context.WithTimeout(t.Context(), 11*time.Second)
			if n%2 == 0 {
				ctx = t.Context()
			}
			s.post(ctx, "/v1/chat/completions", fmt.Sprintf(`{"model":"a/m","stream":%t,"messages":[{"role":"user","content":"hi"}]}`, n > 2))
			leave()
			synctest.Wait()
			s.expectState(fmt.Sprint("request ", n), "a", "closed", 0)
		}
		if n := s.app.health.Provider("a").Snapshot(time.Now()).InFlight; n != 0 {
			t.Errorf("%d in flight", n)
		}
		time.Sleep(2 * time.Hour)
	})
}

// R32: with nothing else to ask, a request waits out a short pause of its only token endpoint and tells the client when to
// come back if that is too long.
func TestOAuthNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, i := granted(t, oauthOnly, quiet())
		i.change(func() { i.status = 500 })
		time.AfterFunc(1500*time.Millisecond, func() { i.change(func() { i.status = 0 }) })
		if a := s.ask("a/m", false); a.status != 200 {
			t.Errorf("%s, trail %s", a.story(), a.header.Get("X-Evergate-Trail"))
		}
		i.change(func() { i.status = 500; clear(i.given) })
		a := s.ask("a/m", false)
		if a.status != 502 || a.errCode != "provider_error" || a.header.Get("Retry-After") == "" {
			t.Errorf("%s, %v: %s", a.story(), a.header, a.body)
		}
		s.expectState("afterwards", "a", "closed", 0)
	})
}

// R7, R32: a refresh token that is good no more rests the credential like a refused key; on a probe of the provider's breaker
// it is no word of the provider's.
func TestOAuthRevokedGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d, _ := granted(t, oauthAndKey, quiet(), func(_ *stack, i *issuer) { i.refresh = "another" })
		if a := s.ask("a/m", false); a.status != 200 || a.header.Get("X-Evergate-Trail") != "a/m=auth_failed, a/m=200" {
			t.Errorf("%s, trail %s", a.story(), a.header.Get("X-Evergate-Trail"))
		}
		if c := s.look("a").Credentials["grant"]; c.State != "cooldown" || c.Reason != "auth_failed" {
			t.Errorf("%+v", c)
		}
		if got := d.tokens(); got != "sk-key-of-a" {
			t.Errorf("sent %s", got)
		}
		s.expectState("a revoked grant", "a", "closed", 0)
	})
	for _, status := range []int{400, 503} {
		t.Run(fmt.Sprint("on a probe, ", status), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, d, i := granted(t, oauthOnly+oneTry, quiet())
				s.ask("a/m", false)
				d.put(mock.New(do(mock.Behaviour{Status: 500})))
				for range 3 {
					s.ask("a/m", false)
				}
				s.expectState("failures", "a", "open", 3)
				i.change(func() { i.refresh, i.status = "another", map[int]int{503: 503}[status] })
				time.Sleep(2 * time.Hour)
				if a := s.ask("a/m", false); a.status < 500 {
					t.Errorf("%s", a.story())
				}
				s.expectState("no token", "a", "half_open", 3)
			})
		})
	}
}

// R7, R32: a 401 has the token renewed and the request repeated once, before the client hears of it.
func TestOAuthRefusedToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d, i := granted(t, oauthOnly, quiet())
		s.ask("a/m", false)
		d.tokens()
		i.revoke()
		for n, a := range s.together(20, func(n int) answer { return s.ask("a/m", n%2 == 0) }) {
			if a.status != 200 || a.header.Get("X-Evergate-Trail") != "a/m=200" {
				t.Errorf("request %d: %s, trail %s", n, a.story(), a.header.Get("X-Evergate-Trail"))
			}
		}
		if got := d.tokens(); !strings.Contains(got, "access-token-1") || strings.Count(got, "access-token-2") != 20 || i.count() != 2 {
			t.Errorf("sent %s with %d fetches", got, i.count())
		}
		if p := s.look("a"); p.Breaker.State != "closed" || p.Credentials["default"].State != "ok" {
			t.Errorf("%+v", p)
		}
		// A provider that refuses every token costs one fetch in half a minute, and the credential rests.
		d.shutdown(true)
		for range 5 {
			s.ask("a/m", false)
		}
		if c := s.look("a").Credentials["default"]; c.State != "cooldown" || c.Reason != "auth_failed" {
			t.Errorf("%+v", c)
		}
		if n := i.count(); n != 2 {
			t.Errorf("%d fetches within half a minute", n)
		}
		time.Sleep(31 * time.Second)
		d.tokens()
		if a := s.ask("a/m", false); a.status != 502 || d.tokens() != "access-token-2 access-token-3" || i.count() != 3 {
			t.Errorf("%s, %d fetches", a.story(), i.count())
		}
		s.expectState("tokens that are refused", "a", "closed", 0)
		d.shutdown(false)
		time.Sleep(2 * time.Hour)
		if a := s.ask("a/m", true); a.status != 200 {
			t.Errorf("%s", a.story())
		}
	})
}

// R32: a refresh token that was rotated outlives a reload, whatever else of the provider changes; another grant begins anew.
func TestOAuthReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d, i := granted(t, oauthOnly, quiet())
		s.ask("a/m", false)
		d.tokens()
		reload := func(old, new string) {
			t.Helper()
			s.next = parse(t, strings.NewReplacer(old, new).Replace(oauthOnly))
			if err := s.app.Reload(); err != nil {
				t.Fatal(err)
			}
		}
		sends := func(model, want string, asked int) {
			t.Helper()
			if a := s.ask(model, false); a.status != 200 || d.tokens() != want || i.count() != asked {
				t.Errorf("%s, %d fetches", a.story(), i.count())
			}
		}
		reload("models: [m]", "models: [m], headers: {X-Team: one}")
		sends("a/m", "access-token-1", 1)
		time.Sleep(2 * time.Hour)
		sends("a/m", "access-token-2", 2)
		reload("  a: {", "  renamed: {")
		sends("renamed/m", "access-token-2", 2)
		time.Sleep(2 * time.Hour)
		sends("renamed/m", "access-token-3", 3)
		i.change(func() { i.refresh = "refresh-token-of-another" })
		reload("refresh-token-0", "refresh-token-of-another")
		sends("a/m", "access-token-4", 4)
		// Its refresh token is revoked; a reload with another lets it serve at once.
		i.change(func() { clear(i.given); i.refresh = "refresh-token-of-a-third" })
		s.ask("a/m", false)
		if c := s.look("a").Credentials["default"]; c.State != "cooldown" {
			t.Errorf("%+v", c)
		}
		d.tokens()
		reload("refresh-token-0", "refresh-token-of-a-third")
		if c := s.look("a").Credentials["default"]; c.State != "ok" {
			t.Errorf("%+v", c)
		}
		sends("a/m", "access-token-6", 6)
		if n := s.app.health.Provider("a").Snapshot(time.Now()).InFlight; n != 0 {
			t.Errorf("%d in flight", n)
		}
	})
}

// R32: one grant at two providers is one: each would rotate the other's refresh token away.
func TestOAuthGrantShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		two := strings.Replace(oauthOnly, "providers:\n", "providers:\n  c: {type: openai-compatible, base_url: \"http://door/v1\", oauth: "+grantOfA+", models: [m]}\n", 1)
		s, _, i := granted(t, two, quiet())
		for range 3 {
			for _, model := range []string{"a/m", "c/m"} {
				if a := s.ask(model, false); a.status != 200 {
					t.Errorf("%s: %s", model, a.story())
				}
			}
			time.Sleep(2 * time.Hour)
		}
		if n := i.count(); n != 3 {
			t.Errorf("%d fetches", n)
		}
	})
}

// R32, CONTRACT §5: nothing that is a secret of the exchange with a token endpoint is in any answer, log or page, not even where
// endpoint and provider quote it.
func TestOAuthTellsNoSecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			mu  sync.Mutex
			out bytes.Buffer
		)
		told := locked{&mu, &out}
		s, d, i := granted(t, oauthAndKey, slog.New(slog.NewJSONHandler(told, &slog.HandlerOptions{Level: slog.LevelDebug})))
		ask := func() {
			for _, model := range []string{"a/m", "a/grant-only", "demo"} {
				a := s.ask(model, false)
				_, _ = fmt.Fprintf(told, "%v %s\n%s\n", a.header, a.body, s.health())
			}
		}
		ask()
		d.shutdown(true) // it quotes tokens, in a header and in its words
		ask()
		d.shutdown(false)
		time.Sleep(2 * time.Hour)
		i.change(func() { i.status = 503 })
		ask()
		i.change(func() { i.status, i.refresh = 0, "another" })
		time.Sleep(2 * time.Hour)
		ask()
		s.next = parse(t, oauthOnly)
		if err := s.app.Reload(); err != nil {
			t.Fatal(err)
		}
		ask()
		_, _ = fmt.Fprintf(told, "%s %+v %#v", s.app.config.Load().Effective(), s.app.config.Load().Providers[0], s.app.config.Load().Providers[0].Options.Credentials)
		_, metrics := s.on(http.MethodGet, "/metrics")
		_, _ = fmt.Fprint(told, metrics)
		text := out.String()
		for _, secret := range []string{"secret-of-the-client", "refresh-token-", "access-token-", "sk-key-of-a"} {
			if at := strings.Index(text, secret); at >= 0 {
				t.Errorf("%s: …%s", secret, text[max(0, at-300):min(len(text), at+100)])
			}
		}
		if !strings.Contains(text, "the token *** has ended") || !strings.Contains(text, "no_token") {
			t.Errorf("the test did not do what it is for: %s", text)
		}
	})
}

// Every type of provider gets an access token as a bearer (RFC 6750), and no header of its keys.
func TestOAuthOfEveryVendor(t *testing.T) {
	own := regexp.MustCompile(`api_key: sk-key-[a-z]+|aws: \{[^}]*\}`)
	text := strings.NewReplacer("type: vertex,", "type: vertex, project: p, location: global,", "//a", "//witness").
		Replace(own.ReplaceAllString(everyVendor, "oauth: "+grantOfA))
	synctest.Test(t, func(t *testing.T) {
		w, i := &witness{provider: mock.New(mock.Script{Name: "a"})}, newIssuer()
		t.Cleanup(func() { time.Sleep(time.Minute) })
		s := newStackWith(t, parse(t, text), nil, quiet(), func(s *stack) {
			s.net.Serve(t, "witness:80", w)
			s.net.Serve(t, "issuer.localhost:80", i)
		})
		for _, vendor := range vendors {
			before, _ := w.posts()
			if a := s.ask(vendor+"/m", false); a.status != 200 {
				t.Errorf("%s: %s %s", vendor, a.story(), a.body)
			}
			requests, _ := w.posts()
			if len(requests) != len(before)+1 {
				t.Fatalf("%s: %d requests", vendor, len(requests)-len(before))
			}
			r := requests[len(requests)-1]
			if got := r.Header.Get("Authorization"); got != "Bearer access-token-1" {
				t.Errorf("%s: sent %q", vendor, got)
			}
			for _, name := range []string{"Api-Key", "X-Api-Key", "X-Goog-Api-Key", "X-Amz-Date"} {
				if r.Header[name] != nil {
					t.Errorf("%s: sent %s", vendor, name)
				}
			}
		}
		if n := i.count(); n != 1 {
			t.Errorf("%d fetches for one grant", n)
		}
	})
}

// R30: a provider with an OAuth key has the numbers of its class, 3 failures and 60 s, unless its class is given.
func TestOAuthClassNumbers(t *testing.T) {
	for class, want := range map[string]struct {
		failures int
		open     time.Duration
	}{"": {3, time.Minute}, "class: api_key, ": {5, 30 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			s, d, _ := granted(t, strings.Replace(oauthOnly, "oauth: {", class+"oauth: {", 1)+oneTry, quiet())
			d.put(mock.New(do(mock.Behaviour{Status: 500})))
			for n := range want.failures {
				s.expectState("before", "a", "closed", n)
				s.ask("a/m", false)
			}
			if b := s.look("a").Breaker; b.State != "open" || lasting(b) != want.open {
				t.Errorf("%q: %s for %v, want open for %v", class, b.State, lasting(b), want.open)
			}
		})
	}
}
