package storetest

import (
	"slices"
	"time"

	"evergate/internal/replica"
)

// ids gives the ids of members in their order.
func ids(members []replica.Member) []string {
	out := make([]string, len(members))
	for i, m := range members {
		out[i] = m.ID
	}
	return out
}

var memberTests = []test{
	{name: "nobody", run: func(t *trial) {
		if got := t.members(); len(got) != 0 {
			t.Errorf("got %v", got)
		}
	}},
	{name: "an instance is known as it announced itself", run: func(t *trial) {
		started := time.Date(2026, 3, 4, 5, 6, 7, 891e6, time.UTC)
		now := t.beat(replica.Member{ID: "a1", Version: "1.2.3", Started: started, Seen: started})
		got := t.members()
		if len(got) != 1 || got[0].ID != "a1" || got[0].Version != "1.2.3" || !got[0].Started.Equal(started) {
			t.Fatalf("got %v", got)
		}
		if !got[0].Seen.Equal(now) {
			t.Errorf("seen %v, the store said %v", got[0].Seen, now)
		}
	}},
	{name: "a beat renews", run: func(t *trial) {
		first := t.beat(replica.Member{ID: "a1", Version: "1"})
		t.tick()
		second := t.beat(replica.Member{ID: "a1", Version: "2"})
		if !second.After(first) {
			t.Errorf("the store's clock went from %v to %v", first, second)
		}
		got := t.members()
		if len(got) != 1 || got[0].Version != "2" || !got[0].Seen.Equal(second) {
			t.Errorf("got %v, want one of version 2 seen at %v", got, second)
		}
	}},
	{name: "one that left says so, until it beats again", run: func(t *trial) {
		for _, left := range []bool{true, false} {
			t.beat(replica.Member{ID: "a1", Left: left})
			if got := t.members(); len(got) != 1 || got[0].Left != left {
				t.Errorf("left %t: got %v", left, got)
			}
		}
	}},
	{name: "the store's clock goes on", run: func(t *trial) {
		first := t.beat(replica.Member{ID: "a1"})
		t.pass(50 * time.Millisecond)
		if d := t.beat(replica.Member{ID: "a1"}).Sub(first); d < 49*time.Millisecond || d > bound {
			t.Errorf("by %v in 50 ms", d)
		}
	}},
	{name: "by their seen, the last one last", run: func(t *trial) {
		for _, id := range []string{"b", "c", "a", "b"} {
			t.beat(replica.Member{ID: id})
			t.tick()
		}
		if got := ids(t.members()); !slices.Equal(got, []string{"c", "a", "b"}) {
			t.Errorf("got %v", got)
		}
	}},
	{name: "a peer sees both", run: func(t *trial) {
		peer := t.peer()
		t.beat(replica.Member{ID: "a1"})
		t.tick()
		if _, err := peer.Beat(t.ctx(), replica.Member{ID: "b2"}); err != nil {
			t.Fatal(err)
		}
		for _, s := range []replica.Store{t.store, peer} {
			if got, err := s.Members(t.ctx()); err != nil || !slices.Equal(ids(got), []string{"a1", "b2"}) {
				t.Errorf("got %v, %v", got, err)
			}
		}
	}},
	{name: "silence is not the end", run: func(t *trial) {
		t.beat(replica.Member{ID: "a1"})
		t.pass(t.Life)
		if got := t.members(); len(got) != 1 {
			t.Errorf("got %v", got)
		}
	}},
}

var dropTests = []test{
	{name: "an instance and its pages are gone", run: func(t *trial) {
		t.beat(replica.Member{ID: "a1"})
		t.beat(replica.Member{ID: "b2"})
		latency := page("a1", "all", 1, "x")
		latency.Topic = "latency"
		t.put(page("a1", "k", 9, "x"), page("a1", "k2", 9, "x"), page("b2", "k", 9, "other's"), page("", "k", 9, "the fleet's"), latency)
		if err := t.peer().Drop(t.ctx(), "a1"); err != nil {
			t.Fatal(err)
		}
		if got := ids(t.members()); !slices.Equal(got, []string{"b2"}) {
			t.Errorf("members: %v", got)
		}
		got := t.read(guards, time.Time{}, 0)
		if len(got) != 2 || slices.ContainsFunc(got, func(p replica.Page) bool { return p.Instance == "a1" }) {
			t.Errorf("guards: %s", tell(got))
		}
		if got := t.read("latency", time.Time{}, 0); len(got) != 0 {
			t.Errorf("latency: %s", tell(got))
		}
	}},
	{name: "it may come again with a low sequence", run: func(t *trial) {
		t.beat(replica.Member{ID: "a1"})
		t.put(page("a1", "k", 9, "old"))
		if err := t.store.Drop(t.ctx(), "a1"); err != nil {
			t.Fatal(err)
		}
		t.beat(replica.Member{ID: "a1"})
		t.put(page("a1", "k", 1, "new"))
		if got := t.only(guards); string(got.Body) != "new" || len(t.members()) != 1 {
			t.Errorf("got %s", tell([]replica.Page{got}))
		}
	}},
	{name: "one that nobody knows is no error", run: func(t *trial) {
		t.put(page("a1", "k", 1, "x"))
		if err := t.store.Drop(t.ctx(), "nobody"); err != nil {
			t.Fatal(err)
		}
		t.only(guards)
	}},
	{name: "pages without a member go too", run: func(t *trial) {
		t.put(page("a1", "k", 1, "x"))
		if err := t.store.Drop(t.ctx(), "a1"); err != nil {
			t.Fatal(err)
		}
		if got := t.read(guards, time.Time{}, 0); len(got) != 0 {
			t.Errorf("got %s", tell(got))
		}
	}},
	{name: "the fleet's pages are nobody's to drop", run: func(t *trial) {
		t.put(page("", "k", 1, "x"))
		_ = t.store.Drop(t.ctx(), "") // it may be refused
		t.only(guards)
	}},
}
