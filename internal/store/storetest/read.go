package storetest

import (
	"fmt"
	"slices"
	"time"

	"evergate/internal/replica"
)

// keys gives the keys of pages in their order.
func keys(pages []replica.Page) []string {
	out := make([]string, len(pages))
	for i, p := range pages {
		out[i] = p.Key
	}
	return out
}

// putInTurn puts a page for each key, each later than the one before.
func (t *trial) putInTurn(keys ...string) {
	t.Helper()
	for _, key := range keys {
		t.put(page("a1", key, 1, "body of "+key))
		t.tick()
	}
}

var readTests = []test{
	{name: "a topic that nobody wrote is empty", run: func(t *trial) {
		t.put(page("a1", "k", 1, "x"))
		if got := t.read("nobody's", time.Time{}, 0); len(got) != 0 {
			t.Errorf("got %s", tell(got))
		}
	}},
	{name: "the latest page comes first", run: func(t *trial) {
		t.putInTurn("b", "c", "a")
		if got := keys(t.read(guards, time.Time{}, 0)); !slices.Equal(got, []string{"a", "c", "b"}) {
			t.Errorf("got %v", got)
		}
		t.put(page("a1", "c", 2, "again"))
		if got := keys(t.read(guards, time.Time{}, 0)); !slices.Equal(got, []string{"c", "a", "b"}) {
			t.Errorf("after c was put again: %v", got)
		}
	}},
	{name: "a page passed over is no later", run: func(t *trial) {
		t.putInTurn("a", "b")
		t.put(page("a1", "a", 1, "again"))
		if got := keys(t.read(guards, time.Time{}, 0)); !slices.Equal(got, []string{"b", "a"}) {
			t.Errorf("got %v", got)
		}
	}},
	{name: "since is included", run: func(t *trial) {
		t.putInTurn("a", "b", "c")
		all := t.read(guards, time.Time{}, 0)
		if len(all) != 3 {
			t.Fatalf("got %s", tell(all))
		}
		if got := keys(t.read(guards, all[1].At, 0)); !slices.Equal(got, []string{"c", "b"}) {
			t.Errorf("since b: %v", got)
		}
		if got := keys(t.read(guards, all[0].At, 0)); !slices.Equal(got, []string{"c"}) {
			t.Errorf("since c: %v", got)
		}
		if got := keys(t.read(guards, all[0].At.Add(time.Millisecond), 0)); len(got) != 0 {
			t.Errorf("after c: %v", got)
		}
	}},
	{name: "since any year", run: func(t *trial) {
		t.putInTurn("a")
		for _, c := range []struct {
			since time.Time
			want  int
		}{
			{time.Time{}, 1},
			{time.Unix(0, 0), 1},
			{time.Date(1800, 1, 1, 0, 0, 0, 0, time.UTC), 1},
			{time.Date(2500, 1, 1, 0, 0, 0, 0, time.UTC), 0},
		} {
			if got := t.read(guards, c.since, 0); len(got) != c.want {
				t.Errorf("since %v: %d pages, want %d", c.since, len(got), c.want)
			}
		}
	}},
	{name: "limit keeps the latest", run: func(t *trial) {
		t.putInTurn("a", "b", "c", "d")
		for limit, want := range map[int][]string{0: {"d", "c", "b", "a"}, 1: {"d"}, 3: {"d", "c", "b"}, 4: {"d", "c", "b", "a"}, 100: {"d", "c", "b", "a"}} {
			if got := keys(t.read(guards, time.Time{}, limit)); !slices.Equal(got, want) {
				t.Errorf("limit %d: got %v, want %v", limit, got, want)
			}
		}
	}},
	{name: "limit and since together", run: func(t *trial) {
		t.putInTurn("a", "b", "c", "d")
		since := t.read(guards, time.Time{}, 0)[2].At // b's
		if got := keys(t.read(guards, since, 2)); !slices.Equal(got, []string{"d", "c"}) {
			t.Errorf("got %v", got)
		}
		if got := keys(t.read(guards, since, 10)); !slices.Equal(got, []string{"d", "c", "b"}) {
			t.Errorf("got %v", got)
		}
	}},
	{name: "limit counts pages of the topic alone", run: func(t *trial) {
		t.putInTurn("a", "b")
		for i := range 5 {
			t.put(replica.Page{Instance: "a1", Topic: "latency", Key: fmt.Sprint(i), Sequence: 1})
		}
		if got := keys(t.read(guards, time.Time{}, 2)); !slices.Equal(got, []string{"b", "a"}) {
			t.Errorf("got %v", got)
		}
	}},
	{name: "times are those of the store's clock", run: func(t *trial) {
		before := t.beat(replica.Member{ID: "a1"})
		t.tick()
		t.put(replica.Page{Instance: "a1", Topic: guards, Key: "k", Sequence: 1, At: time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)})
		t.tick()
		after := t.beat(replica.Member{ID: "a1"})
		if got := t.only(guards); !got.At.After(before) || !got.At.Before(after) {
			t.Errorf("put at %v, not between %v and %v", got.At, before, after)
		}
	}},
	{name: "all pages of a thousand", run: func(t *trial) {
		const n = 1000
		pages := make([]replica.Page, n)
		for i := range pages {
			pages[i] = page(fmt.Sprintf("i%02d", i%20), fmt.Sprintf("k%03d", i), uint64(i), "x")
		}
		for chunk := range slices.Chunk(pages, 100) {
			t.put(chunk...)
			t.tick()
		}
		got := t.read(guards, time.Time{}, 0)
		if len(got) != n {
			t.Fatalf("%d pages, want %d", len(got), n)
		}
		if !slices.IsSortedFunc(got, func(a, b replica.Page) int { return b.At.Compare(a.At) }) {
			t.Error("not the latest first")
		}
		seen := map[string]bool{}
		for _, p := range got {
			seen[p.Key] = true
		}
		if len(seen) != n {
			t.Errorf("%d keys, want %d", len(seen), n)
		}
	}},
}
