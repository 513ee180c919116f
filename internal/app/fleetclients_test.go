package app

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/config"
	"evergate/internal/mock"
	"evergate/internal/replica"
	"evergate/internal/store/memory"
	"evergate/internal/store/postgres"
	"evergate/internal/store/redis"
	"evergate/internal/store/sqlite"
	"evergate/internal/threads"
)

// enter starts a gateway at a store.
func enter(t *testing.T, text string, open StateOpener) *stack {
	t.Helper()
	return newStackWith(t, parse(t, text), map[string]mock.Script{"a": answers(), "b": answers()}, slog.New(slog.DiscardHandler), func(s *stack) { s.open = open })
}

func at(store *memory.Store) StateOpener {
	return func(context.Context, config.State) (replica.Store, error) { return store.Peer(), nil }
}

// places has some conversations begin, and gives where each is.
func (s *stack) places(n int) map[string]string {
	s.t.Helper()
	out := map[string]string{}
	for i := range n {
		said := fmt.Sprintf(`,"prompt_cache_key":"k%d"`, i)
		out[said] = s.converse("demo", said)
	}
	return out
}

// stays says how many of the conversations go where they were.
func (s *stack) stays(places map[string]string) (n int) {
	s.t.Helper()
	for said, place := range places {
		if s.converse("demo", said) == place && s.facts.last().Affinity == "hit" {
			n++
		}
	}
	return n
}

// R47: a conversation that one gateway placed is known to the others of its fleet an interval later, and to those that start later, also
// when the first was killed. It yields to guards there as ever.
func TestFleetKnowsConversations(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(time.Now)
		one, two := enter(t, halves+sharedState, at(store)), enter(t, halves+sharedState, at(store))
		time.Sleep(10 * time.Second)
		places := one.places(20)
		time.Sleep(13 * time.Second) // one interval to tell, one to hear, and their jitter
		if n := two.stays(places); n != 20 {
			t.Errorf("at the other gateway %d of 20 stay", n)
		}
		three := enter(t, halves+sharedState, at(store))
		if n := three.stays(places); n != 20 {
			t.Errorf("at one that starts later %d of 20 stay", n)
		}
		if n := enter(t, halves, nil).stays(places); n == 20 {
			t.Error("one without a store knows them, too")
		}
		three.operate("a", `{"action":"open","reason":"maintenance","for":"10m"}`)
		for said := range places {
			if got := three.converse("demo", said); got != "b" {
				t.Fatalf("the guard blocks a, and %s answers", got)
			}
		}
		time.Sleep(13 * time.Second)
		for said := range places { // what is newer counts
			if got := one.converse("demo", said); got != "b" || one.facts.last().Affinity != "hit" {
				t.Fatalf("after it moved: %s, a %q", got, one.facts.last().Affinity)
			}
		}
	})
}

// A model whose conversations are not remembered has nothing told of them.
func TestFleetWithoutAffinity(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(time.Now)
		text := strings.ReplaceAll(halves, "affinity: {ttl: 10m}", "affinity: off")
		text = strings.ReplaceAll(text, "row: {strategy: ordered,", "row: {affinity: off, strategy: ordered,")
		one := enter(t, text+sharedState, at(store))
		one.places(20)
		time.Sleep(time.Minute)
		for _, topic := range []replica.Topic{replica.Conversations, replica.Remembered} {
			if pages, err := store.Read(t.Context(), topic, time.Time{}, 0); err != nil || len(pages) != 0 {
				t.Errorf("%s: %d pages, %v", topic, len(pages), err)
			}
		}
	})
}

const threadsOfFleet = everyVendor + sharedState

// continued asks for an answer that continues another one.
func (s *stack) continued(model, input, previous string, headers ...string) *heard {
	s.t.Helper()
	responses := speakers()[2]
	body := fmt.Sprintf(`{"model":%q,"input":%q,"previous_response_id":%q}`, model, input, previous)
	if previous == "" {
		body = fmt.Sprintf(`{"model":%q,"input":%q}`, model, input)
	}
	return s.talk(&responses, model, false, body, headers...)
}

// lastBody is that of the last request for an answer; model lists have none.
func (s *stack) lastBody() (body string) {
	for _, r := range s.mocks["a"].Requests() {
		if len(r.Body) > 0 {
			body = string(r.Body)
		}
	}
	return body
}

// A conversation that one gateway kept goes on at another one, from its beginning; its answers are read and deleted there.
func TestFleetContinuesAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(time.Now)
		one, two := enter(t, threadsOfFleet, at(store)), enter(t, threadsOfFleet, at(store))
		time.Sleep(10 * time.Second)
		first := idOf(t, one.continued("anthropic/m", "my name is Ada", ""))
		second := idOf(t, one.continued("anthropic/m", "who am I?", first))
		time.Sleep(time.Second)
		h := two.continued("chat/m", "and now?", second)
		if h.status != 200 {
			t.Fatalf("%d %s", h.status, h.raw)
		}
		for _, words := range []string{"my name is Ada", "who am I?", "and now?"} {
			if !strings.Contains(two.lastBody(), words) {
				t.Errorf("the request does not hold %q: %s", words, two.lastBody())
			}
		}
		if status, body := two.on(http.MethodGet, "/v1/responses/"+second); status != 200 || !strings.Contains(body, second) {
			t.Errorf("GET: %d %s", status, body)
		}
		// Back at the first: a turn that only the other has seen, after turns of its own.
		third := idOf(t, h)
		time.Sleep(time.Second)
		if h := one.continued("anthropic/m", "go on", third); h.status != 200 || !strings.Contains(one.lastBody(), "and now?") {
			t.Errorf("%d %s", h.status, one.lastBody())
		}
		// What a provider keeps itself is known by all, too.
		native := idOf(t, one.continued("responses/m", "hello", ""))
		time.Sleep(time.Second)
		if h := two.continued("anthropic/m", "?", native); h.status != 400 || !strings.Contains(h.raw, `\"responses\" keeps it`) {
			t.Errorf("%d %s", h.status, h.raw)
		}
		// Deleted at the second, which has it no more at once; and whoever starts then does not find it.
		if status, body := two.on(http.MethodDelete, "/v1/responses/"+second); status != 200 {
			t.Errorf("DELETE: %d %s", status, body)
		}
		if status, _ := two.on(http.MethodGet, "/v1/responses/"+second); status != 404 {
			t.Errorf("GET after it: %d", status)
		}
		time.Sleep(7 * time.Second) // a round, with its jitter
		if status, _ := one.on(http.MethodGet, "/v1/responses/"+second); status != 404 {
			t.Errorf("GET where it was given: %d", status)
		}
		three := enter(t, threadsOfFleet, at(store))
		if status, _ := three.on(http.MethodGet, "/v1/responses/"+second); status != 404 {
			t.Errorf("GET at another: %d", status)
		}
		if h := three.continued("chat/m", "and now?", third); h.status != 400 || !strings.Contains(h.raw, second) {
			t.Errorf("a conversation with a hole: %d %s", h.status, h.raw)
		}
	})
}

// Nobody reads another caller's answers, wherever.
func TestFleetKeepsOwnersApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(time.Now)
		text := strings.Replace(threadsOfFleet, "auth: {allow_anonymous: true}", "auth: {mode: keys, keys: [{name: one, value: key-one}, {name: two, value: key-two}]}", 1)
		one, two := enter(t, text, at(store)), enter(t, text, at(store))
		time.Sleep(10 * time.Second)
		mine, theirs := []string{"Authorization", "Bearer key-one"}, []string{"Authorization", "Bearer key-two"}
		id := idOf(t, one.continued("anthropic/m", "my name is Ada", "", mine...))
		time.Sleep(time.Second)
		if h := two.continued("anthropic/m", "who am I?", id, theirs...); h.status != 400 {
			t.Errorf("another caller: %d %s", h.status, h.raw)
		}
		if h := two.continued("anthropic/m", "who am I?", id, mine...); h.status != 200 {
			t.Errorf("the caller: %d %s", h.status, h.raw)
		}
	})
}

// keep_answers: false leaves nothing in the store.
func TestAnswersStayAtHome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(time.Now)
		text := strings.Replace(threadsOfFleet, "state: {", "state: { keep_answers: false,", 1)
		one, two := enter(t, text, at(store)), enter(t, text, at(store))
		time.Sleep(10 * time.Second)
		id := idOf(t, one.continued("anthropic/m", "my name is Ada", ""))
		time.Sleep(10 * time.Second)
		if h := two.continued("anthropic/m", "who am I?", id); h.status != 400 {
			t.Errorf("%d %s", h.status, h.raw)
		}
		if h := one.continued("anthropic/m", "who am I?", id); h.status != 200 {
			t.Errorf("where it was kept: %d %s", h.status, h.raw)
		}
	})
}

// muted is a store that says nothing more of answers, and of pages neither once all is set.
type muted struct {
	*memory.Store

	all chan struct{} // closed: of nothing
}

func (m muted) Answers(threads.Room) threads.Archive { return m.archive() }

func (m muted) archive() threads.Archive { return mute{m.Store.Answers(threads.Room{Bytes: 1 << 20})} }

func (m muted) Beat(ctx context.Context, self replica.Member) (time.Time, error) {
	select {
	case <-m.all:
		<-ctx.Done()
		return time.Time{}, ctx.Err()
	default:
		return m.Store.Beat(ctx, self)
	}
}

type mute struct{ threads.Archive }

func (mute) Get(ctx context.Context, _, _ string, _, _ int) ([]threads.Record, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// R60: a request for an answer that is not here waits for a mute store 250 ms at most, the next ones do not, none does once the store is
// known to be lost, and no other request ever.
func TestMuteStoreHoldsUpLittle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := muted{memory.New(time.Now), make(chan struct{})}
		s := enter(t, threadsOfFleet, func(context.Context, config.State) (replica.Store, error) { return store, nil })
		time.Sleep(10 * time.Second)
		took := func(previous string, status int) time.Duration {
			t.Helper()
			start := time.Now()
			if h := s.continued("anthropic/m", "hello", previous); h.status != status {
				t.Errorf("%d %s", h.status, h.raw)
			}
			return time.Since(start)
		}
		answer := took("", 200) // the provider takes its time
		if answer >= threads.Patience {
			t.Errorf("a request that continues nothing: %v", answer)
		}
		if d := took("resp_unknown", 400); d != threads.Patience {
			t.Errorf("the first that asks for what is not here: %v", d)
		}
		if d := took("resp_unknown", 400); d != 0 {
			t.Errorf("the second: %v", d)
		}
		id := idOf(t, s.continued("anthropic/m", "hello", ""))
		time.Sleep(2 * time.Second)
		if d := took(id, 200); d != answer {
			t.Errorf("one that continues what is here: %v", d)
		}
		if d := took("resp_unknown", 400); d != threads.Patience {
			t.Errorf("one that asks again, later: %v", d)
		}
		close(store.all)
		time.Sleep(10 * time.Second)
		if d := took("resp_unknown", 400); d != 0 {
			t.Errorf("the store is lost, and a request waits %v", d)
		}
	})
}

// With the default store, a file, a restart forgets neither conversations nor where they are.
func TestRestartRemembersConversations(t *testing.T) {
	t.Parallel()
	state := "state: { url: 'sqlite:" + filepath.Join(t.TempDir(), "evergate.db") + "', sync_interval: 100ms }\n"
	start := func(text string) *stack {
		quick := map[string]mock.Script{"a": {}, "b": {}} // the time is real here
		s := newStackWith(t, parse(t, text+state), quick, slog.New(slog.DiscardHandler), func(s *stack) { s.open = OpenState })
		for s.app.fleet.Status().LastSync.IsZero() {
			if t.Context().Err() != nil {
				t.Fatal("the file is not read")
			}
			<-time.After(5 * time.Millisecond)
		}
		return s
	}
	stop := func(s *stack) {
		t.Helper()
		s.client.CloseIdleConnections() // a stop gives them a moment
		if err := s.app.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	s := start(halves)
	places := s.places(20)
	stop(s)
	s = start(halves)
	if n := s.stays(places); n != 20 {
		t.Errorf("%d of 20 conversations stay", n)
	}
	stop(s)

	s = start(everyVendor)
	id := idOf(t, s.continued("anthropic/m", "my name is Ada", ""))
	stop(s)
	s = start(everyVendor)
	if h := s.continued("anthropic/m", "who am I?", id); h.status != 200 || !strings.Contains(s.lastBody(), "Ada") {
		t.Errorf("%d %s", h.status, h.raw)
	}
}

// Every store keeps answers.
var _ = []archivist{(*sqlite.Pages)(nil), (*redis.Store)(nil), (*postgres.Store)(nil), (*memory.Store)(nil)}
