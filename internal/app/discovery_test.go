package app

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/mock"
)

// discovering are two providers whose models are discovered, and a model that is shared out between them.
const discovering = `
server: {listen: "gateway:80"}
auth: {allow_anonymous: true}
admin: {token: admin-token}
providers:
  a: {type: openai, base_url: "http://a/v1", api_key: sk-key-of-a}
  b: {type: openai, base_url: "http://b/v1", api_key: sk-key-of-b}
models:
  shared: {strategy: weighted, targets: [{target: a/m, weight: 1000000}, b/m2]}
failover: {a/backed: [b/m2]}
`

// A look takes its time; looks come each hour and each minute, with a tenth of jitter.
const (
	look    = time.Second
	hourly  = 66*time.Minute + look
	aMinute = 66*time.Second + look
)

// gone is a provider that is down, its model list too.
func gone() mock.Script {
	down := mock.Behaviour{Status: 503}
	return mock.Script{Rules: []mock.Rule{{Path: "/models", Do: down}, {Do: down}}}
}

// looks is how often a provider's model list was asked for.
func (s *stack) looks(name string) (n int) {
	for _, r := range s.mocks[name].Requests() {
		if r.Method == http.MethodGet && strings.HasSuffix(r.Path, "/models") {
			n++
		}
	}
	return n
}

// listed are the bare ids that the gateway lists.
func (s *stack) listed() (ids []string) {
	s.t.Helper()
	res, err := s.client.Get("http://gateway/v1/models")
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	var list struct{ Data []struct{ ID string } }
	if err := json.NewDecoder(res.Body).Decode(&list); err != nil {
		s.t.Fatal(err)
	}
	for _, m := range list.Data {
		if !strings.Contains(m.ID, "/") {
			ids = append(ids, m.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// Reference 003's story of a provider's health, from the start to its return, step by step. Its breaker is off, so that all of it is
// discovery's doing.
func TestReference003ProviderHealth(t *testing.T) {
	text := discovering + strings.Replace(settings(t, "003"), "failure_threshold: 5", "failure_threshold: 0", 1)
	up := mock.Script{Models: []string{"m", "backed"}, Defaults: steady()}
	down := gone()
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, text, map[string]mock.Script{"a": up, "b": {Models: []string{"m2"}, Defaults: steady()}})
		settle := func(d time.Duration) { pass(d); synctest.Wait() }
		expect := func(step, provider, status string) {
			t.Helper()
			if got := s.look(provider); got.Status != status || time.Time(got.LastChecked).IsZero() {
				t.Errorf("%s: %s is %s, last checked %v; want %s", step, provider, got.Status, got.LastChecked, status)
			}
		}
		asked := func(step, model string, status int, trail string) {
			t.Helper()
			if a := s.ask(model, true); a.status != status || trailOf(s, &a) != trail {
				t.Errorf("%s: %s: %d [%s], want %d [%s]", step, model, a.status, trailOf(s, &a), status, trail)
			}
		}

		// At startup every provider is looked at.
		settle(look)
		expect("start", "a", "healthy")
		expect("start", "b", "healthy")
		if got := strings.Join(s.listed(), " "); got != "backed m m2 shared" {
			t.Errorf("start: %s", got)
		}
		asked("start", "shared", 200, "a/m=200")

		// On every refresh, once an hour, they are looked at again.
		settle(hourly)
		if s.looks("a") != 2 || s.looks("b") != 2 {
			t.Errorf("after an hour: %d and %d looks", s.looks("a"), s.looks("b"))
		}

		// Its refresh fails: it is degraded, and its models are kept.
		s.set("a", down)
		settle(hourly)
		expect("down", "a", "degraded")
		expect("down", "b", "healthy")
		if got := strings.Join(s.listed(), " "); got != "backed m m2 shared" {
			t.Errorf("down: %s", got)
		}
		// Direct requests still go there, and hear its own 503, not that there is no such model.
		asked("down", "a/m", 503, "a/m=503")
		asked("down", "m", 503, "a/m=503")
		// Manual rules fire.
		asked("down", "a/backed", 200, "a/backed=503, b/m2=200")
		// The shared model goes on with the healthy one, and does not ask the other.
		before := len(s.chats("a"))
		for range 5 {
			asked("down", "shared", 200, "b/m2=200")
		}
		if n := len(s.chats("a")) - before; n != 0 {
			t.Errorf("down: the shared model asked it %d times", n)
		}

		// Only the failing one is looked at each minute.
		a, b := s.looks("a"), s.looks("b")
		settle(3 * aMinute)
		if more := s.looks("a") - a; more < 3 || s.looks("b") != b {
			t.Errorf("rechecks: %d of a, %d of b", more, s.looks("b")-b)
		}
		checked := s.look("a").LastChecked
		settle(aMinute)
		if now := s.look("a").LastChecked; !time.Time(now).After(time.Time(checked)) {
			t.Errorf("last checked stays at %v", now)
		}

		// With nobody fresh left the stale one is asked all the same.
		s.set("b", down)
		asked("nobody is left", "shared", 502, "b/m2=503, a/m=503")
		s.set("b", mock.Script{Models: []string{"m2"}, Defaults: steady()})

		// Within a minute of its return all is as it was.
		s.set("a", up)
		settle(aMinute)
		expect("back", "a", "healthy")
		asked("back", "shared", 200, "a/m=200")
		a = s.looks("a")
		settle(3 * aMinute)
		if s.looks("a") != a {
			t.Error("back: it is still looked at each minute")
		}

		// On demand: a request names a model of a provider that it was not found to have.
		s.set("a", mock.Script{Models: []string{"m", "backed", "newer"}, Defaults: steady()})
		asked("on demand", "a/newer", 200, "a/newer=200")
		settle(look)
		if s.looks("a") != a+1 || !slices.Contains(s.listed(), "newer") {
			t.Errorf("on demand: %d looks, %v", s.looks("a")-a, s.listed())
		}
		// But not again and again.
		for range 5 {
			s.ask("a/none", false)
		}
		if s.looks("a") != a+1 {
			t.Errorf("on demand: %d looks", s.looks("a")-a)
		}
		// A bare id that nobody has is looked for at all of them, and the request waits for that.
		settle(aMinute)
		s.set("b", mock.Script{Models: []string{"m2", "newest"}, Defaults: steady()})
		asked("on demand", "newest", 200, "b/newest=200")
	})
}

// A provider that is down at the start has nothing to be kept: it is unhealthy until its first good look.
func TestReference003DownAtTheStart(t *testing.T) {
	text := discovering + settings(t, "003")
	down := gone()
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, text, map[string]mock.Script{"a": down, "b": {Models: []string{"m2"}, Defaults: steady()}})
		pass(look)
		synctest.Wait()
		if got := s.look("a").Status; got != "unhealthy" || slices.Contains(s.listed(), "m") {
			t.Errorf("%s, %v", got, s.listed())
		}
		s.set("a", mock.Script{Models: []string{"m"}, Defaults: steady()})
		pass(aMinute)
		synctest.Wait()
		if got := s.look("a").Status; got != "healthy" || !slices.Contains(s.listed(), "m") {
			t.Errorf("after its first good look: %s, %v", got, s.listed())
		}
	})
}

// PROVIDER_RECHECK_INTERVAL=0 turns the quick looks off, CACHE_REFRESH_INTERVAL sets the others.
func TestReference003Intervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := parse(t, discovering+settings(t, "003"))
		cfg.RefreshInterval, cfg.RecheckInterval = 10*time.Minute, 0
		s := newStackWith(t, cfg, map[string]mock.Script{"a": gone(), "b": answers()}, slog.New(slog.DiscardHandler))
		pass(8 * time.Minute)
		if n := s.looks("a"); n != 1 {
			t.Errorf("%d looks in eight minutes", n)
		}
		pass(4 * time.Minute)
		if n := s.looks("a"); n != 2 {
			t.Errorf("%d looks in twelve minutes", n)
		}
	})
}
