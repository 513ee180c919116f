package affinity

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"evergate/internal/route"
	"evergate/internal/wire"
	"evergate/internal/wire/anthropic"
	"evergate/internal/wire/openaichat"
)

var start = time.Unix(1_800_000_000, 0)

func chat(body string) *Asked {
	return &Asked{Model: "demo", Caller: "ci", Header: http.Header{}, Dialect: openaichat.Chat{}, Request: &wire.Request{Body: []byte(body)}}
}

func byAll() *route.Affinity {
	a := route.DefaultAffinity()
	return &a
}

const goesOn = `{"messages":[{"role":"system","content":"You are terse."},{"role":"user","content":"Hello"},{"role":"assistant","content":"Hi."},{"role":"user","content":"And now?"}]}`

// R47: what an answered request is known by, another one finds, and nobody else's does.
func TestWhoMeetsWhom(t *testing.T) {
	keyed := `{"messages":[],"prompt_cache_key":"k1","user":"u1"}`
	cases := []struct {
		name       string
		one, other *Asked
		by         []route.Trait // nil: all
		meet       bool
	}{
		{"the same cache key", chat(keyed), chat(`{"prompt_cache_key":"k1","messages":[],"user":"u2"}`), nil, true},
		{"another cache key, the same user", chat(keyed), chat(`{"prompt_cache_key":"k2","messages":[],"user":"u1"}`), nil, false},
		{"the same user where keys are not looked at", chat(keyed), chat(`{"prompt_cache_key":"k2","messages":[],"user":"u1"}`), []route.Trait{route.ByUser}, true},
		{"a key that is a user's elsewhere", chat(`{"prompt_cache_key":"x","messages":[]}`), chat(`{"user":"x","messages":[]}`), nil, false},
		{"an empty key is none", chat(`{"prompt_cache_key":"","messages":[]}`), chat(`{"prompt_cache_key":"","messages":[]}`), nil, false},
		{"a key that is no text is none", chat(`{"prompt_cache_key":7,"messages":[]}`), chat(`{"prompt_cache_key":7,"messages":[]}`), nil, false},
		{"the same opening", chat(goesOn), chat(goesOn), nil, true},
		{"one more turn", chat(goesOn), chat(goesOn[:len(goesOn)-2] + `,{"role":"assistant","content":"Well."},{"role":"user","content":"Go on."}]}`), nil, true},
		{"the first turn, and the second", chat(`{"messages":[{"role":"system","content":"You are terse."},{"role":"user","content":"Hello"}]}`), chat(goesOn), nil, true},
		{"the first turn twice begins two", chat(goesOn), chat(`{"messages":[{"role":"system","content":"You are terse."},{"role":"user","content":"Hello"}]}`), nil, false},
		{"another first message", chat(goesOn), chat(`{"messages":[{"role":"system","content":"You are terse."},{"role":"user","content":"Hullo"},{"role":"assistant","content":"Hi."}]}`), nil, false},
		{"another system prompt", chat(goesOn), chat(`{"messages":[{"role":"system","content":"You are terse!"},{"role":"user","content":"Hello"},{"role":"assistant","content":"Hi."}]}`), nil, false},
		{"what is the system's there is the user's here", chat(`{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}`), chat(`{"messages":[{"role":"system","content":"a"},{"role":"user","content":""},{"role":"assistant","content":"b"}]}`), nil, false},
		{"other tools", chat(goesOn), chat(`{"tools":[1],` + goesOn[1:]), nil, false},
		{"no user has spoken", chat(`{"messages":[{"role":"assistant","content":"b"}]}`), chat(`{"messages":[{"role":"assistant","content":"b"}]}`), nil, false},
		{"openings where they are not looked at", chat(goesOn), chat(goesOn), []route.Trait{route.ByHeader, route.ByCacheKey}, false},
		{"another caller", chat(keyed), func() *Asked { a := chat(keyed); a.Caller = "other"; return a }(), nil, false},
		{"another model", chat(keyed), func() *Asked { a := chat(keyed); a.Model = "other"; return a }(), nil, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			table, by := New(), byAll()
			if c.by != nil {
				by.By = c.by
			}
			one := table.Recall(start, c.one, by)
			table.Answered(start, &one, "a", "m", 0, "")
			other := table.Recall(start, c.other, by)
			if other.Known() != c.meet {
				t.Errorf("known: %v", other.Known())
			}
		})
	}
}

// R47: the header of this gateway counts before those of clients, and any of them before the body.
func TestHeaders(t *testing.T) {
	with := func(pairs ...string) *Asked {
		a := chat(`{"messages":[],"prompt_cache_key":"k1"}`)
		for i := 0; i < len(pairs); i += 2 {
			a.Header.Set(pairs[i], pairs[i+1])
		}
		return a
	}
	for _, name := range headers {
		table := New()
		v := table.Recall(start, with(name, "s1"), byAll())
		table.Answered(start, &v, "a", "m", 0, "")
		for again, want := range map[*Asked]bool{
			with(name, "s1"):                                true,
			with(name, "s2"):                                false,
			with(Header, "s1", "Thread-Id", "s3"):           true,
			with("Session-Id", "", "Thread-Id", "s1"):       true,
			with("X-Claude-Code-Session-Id", "s1"):          true,
			with(Header, "s3", "X-Session-Id", "s1"):        false,
			with("X-Request-Id", "s1", "X-Amzn-Id", "s1"):   false,
			with("session_id", "s1", "conversation_id", ""): true,
		} {
			if v := table.Recall(start, again, byAll()); v.Known() != want {
				t.Errorf("%s, then %v: known %v", name, again.Header, v.Known())
			}
		}
	}
}

// Marks for caches, which clients move on from turn to turn, and the two ways to write a text make no other opening.
func TestAnOpeningIsItsWords(t *testing.T) {
	ask := func(body string) *Asked {
		a := chat(body)
		a.Dialect = anthropic.Messages{}
		return a
	}
	table := New()
	v := table.Recall(start, ask(`{"system":"S","messages":[{"role":"user","content":[{"type":"text","text":"Hello","cache_control":{"type":"ephemeral"}}]}]}`), byAll())
	table.Answered(start, &v, "a", "m", 0, "")
	for _, body := range []string{
		`{"system":"S","messages":[{"role":"user","content":[{"type":"text","text":"Hello"}]},{"role":"assistant","content":"Hi"}]}`,
		`{"system":[{"type":"text","text":"S","cache_control":{"type":"ephemeral"}}],"messages":[{"content":"Hello","role":"user"},{"role":"assistant","content":"Hi"}]}`,
	} {
		if v := table.Recall(start, ask(body), byAll()); !v.Known() {
			t.Errorf("not known: %s", body)
		}
	}
}

// R47: a conversation is remembered for ttl after its last answer, at the target that gave it.
func TestTTLAndMoves(t *testing.T) {
	table, by := New(), &route.Affinity{By: []route.Trait{route.ByCacheKey}, TTL: time.Minute}
	a, clock := chat(`{"messages":[],"prompt_cache_key":"k"}`), start
	for i, step := range []struct {
		after    time.Duration
		provider string
		want     string
	}{
		{0, "a", Miss},
		{59 * time.Second, "a", Hit},
		{59 * time.Second, "b", Moved},
		{59 * time.Second, "b", Hit},
		{time.Minute, "b", Miss},
		{0, "b", Hit},
	} {
		clock = clock.Add(step.after)
		v := table.Recall(clock, a, by)
		if got := table.Answered(clock, &v, step.provider, "m", 1, ""); got != step.want {
			t.Errorf("step %d: %s, want %s", i, got, step.want)
		}
	}
	v := table.Recall(clock, a, by)
	if !table.Is(&v, "b", "m") || table.Is(&v, "a", "m") || table.Is(&v, "b", "m2") || v.Credential() != 2 {
		t.Errorf("remembered: %+v", v)
	}
}

// A request of no conversation leaves no trace.
func TestInNoConversation(t *testing.T) {
	table := New()
	v := table.Recall(start, chat(`{"messages":[]}`), byAll())
	if got := table.Answered(start, &v, "a", "m", 0, ""); got != "" || v.Known() || table.Is(&v, "a", "m") {
		t.Errorf("%q %+v", got, v)
	}
	for i := range table.shards {
		if table.shards[i].sets != nil {
			t.Error("something is kept")
		}
	}
}

// The memory does not grow, and forgets what was answered longest ago.
func TestBounds(t *testing.T) {
	table, by := New(), &route.Affinity{By: []route.Trait{route.ByHeader}, TTL: 100 * time.Hour}
	ask := func(i int) *Asked {
		a := chat(`{"messages":[]}`)
		a.Header.Set(Header, fmt.Sprint(i))
		return a
	}
	const n = 2 * shards * sets * ways
	for i := range n {
		now := start.Add(time.Duration(i) * time.Millisecond)
		v := table.Recall(now, ask(i), by)
		table.Answered(now, &v, "a", "m", 0, "")
	}
	kept := func(from, to int) (out int) {
		for i := from; i < to; i++ {
			if v := table.Recall(start, ask(i), by); v.Known() {
				out++
			}
		}
		return out
	}
	if all := kept(0, n); all > shards*sets*ways || all < shards*sets*ways*9/10 {
		t.Errorf("%d are kept", all)
	}
	if last := kept(n-n/10, n); last < n/10*98/100 {
		t.Errorf("of the last %d, %d are kept", n/10, last)
	}
	for i := range table.shards {
		if got := len(table.shards[i].sets); got != sets {
			t.Errorf("shard %d has %d sets", i, got)
		}
	}
}

func TestManyAtATime(t *testing.T) {
	table := New()
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 2000 {
				a := chat(`{"messages":[]}`)
				a.Header.Set(Header, fmt.Sprint(i%100))
				v := table.Recall(start, a, byAll())
				table.Is(&v, "a", "m")
				table.Answered(start, &v, "a", "m", g, "")
			}
		})
	}
	wg.Wait()
}
