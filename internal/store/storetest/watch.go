package storetest

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"evergate/internal/replica"
)

// watcher is a watch under way.
type watcher struct {
	t     *trial
	stop  context.CancelFunc
	heard chan replica.Page
	ended chan error
	mu    sync.Mutex
	ready int // how often the watch said so
}

// watch begins to watch a store, and waits until it hears.
func (t *trial) watch(s replica.Store) *watcher {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	w := &watcher{t: t, stop: stop, heard: make(chan replica.Page, 10_000), ended: make(chan error, 1)}
	begun := make(chan struct{})
	go func() {
		w.ended <- s.Watch(ctx, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.ready++; w.ready == 1 {
				close(begun)
			}
		}, func(p replica.Page) { w.heard <- p })
	}()
	t.Cleanup(func() { _ = w.end() })
	timer := time.NewTimer(bound)
	defer timer.Stop()
	select {
	case <-begun:
	case err := <-w.ended:
		w.ended <- err
		t.Fatalf("the watch ended before it heard: %v", err)
	case <-timer.C:
		t.Fatal("the watch does not say that it hears")
	}
	return w
}

// end ends the watch and gives what it ended with.
func (w *watcher) end() error {
	w.t.Helper()
	w.stop()
	timer := time.NewTimer(bound)
	defer timer.Stop()
	select {
	case err := <-w.ended:
		w.ended <- err // for the next who asks
		return err
	case <-timer.C:
		w.t.Error("the watch does not end with its context")
		return nil
	}
}

// next waits for one page.
func (w *watcher) next() replica.Page {
	w.t.Helper()
	timer := time.NewTimer(w.t.Soon)
	defer timer.Stop()
	select {
	case p := <-w.heard:
		return p
	case err := <-w.ended:
		w.ended <- err
		w.t.Fatalf("the watch ended: %v", err)
	case <-timer.C:
		w.t.Fatalf("nothing heard within %v", w.t.Soon)
	}
	return replica.Page{}
}

var watchTests = []test{
	{name: "it says once that it hears, and ends with its context", run: func(t *trial) {
		w := t.watch(t.store)
		if err := w.end(); err != nil {
			t.Errorf("ended with %v, want nil", err)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.ready != 1 {
			t.Errorf("said %d times that it hears", w.ready)
		}
	}},
	{name: "a context that has ended", run: func(t *trial) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := t.store.Watch(ctx, func() {}, func(replica.Page) {}); err != nil {
			t.Errorf("got %v, want nil", err)
		}
	}},
	{name: "it hears a peer's page whole", hears: true, run: func(t *trial) {
		w := t.watch(t.store)
		put := page("b2", "openai", math.MaxUint64, "a body")
		t.putTo(t.peer(), put)
		heard := w.next()
		if !same(heard, put) {
			t.Errorf("heard %s", tell([]replica.Page{heard}))
		}
		if stored := t.only(guards); !heard.At.Equal(stored.At) {
			t.Errorf("heard as of %v, stored as of %v", heard.At, stored.At)
		}
	}},
	{name: "it hears what its own store puts", hears: true, run: func(t *trial) {
		w := t.watch(t.store)
		put := page("a1", "openai", 1, "x")
		t.put(put)
		if heard := w.next(); !same(heard, put) {
			t.Errorf("heard %s", tell([]replica.Page{heard}))
		}
	}},
	{name: "every topic and the fleet's pages", hears: true, run: func(t *trial) {
		w := t.watch(t.store)
		peer := t.peer()
		for _, topic := range []replica.Topic{"guards", "latency", "orders", "of tomorrow"} {
			put := replica.Page{Topic: topic, Key: "k", Sequence: 1, Body: []byte("x")}
			t.putTo(peer, put)
			if heard := w.next(); !same(heard, put) {
				t.Errorf("heard %s", tell([]replica.Page{heard}))
			}
		}
	}},
	{name: "all pages of a put", hears: true, run: func(t *trial) {
		w := t.watch(t.store)
		pages := make([]replica.Page, 100)
		var want []string
		for i := range pages {
			pages[i] = page("b2", fmt.Sprintf("k%03d", i), 1, "x")
			want = append(want, pages[i].Key)
		}
		t.putTo(t.peer(), pages...)
		var got []string
		for range pages {
			got = append(got, w.next().Key)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("heard %v", got)
		}
	}},
	{name: "nothing of a page passed over", hears: true, run: func(t *trial) {
		peer := t.peer()
		t.putTo(peer, page("b2", "k", 5, "stands"))
		w := t.watch(t.store)
		t.putTo(peer, page("b2", "k", 5, "late"))
		t.putTo(peer, page("b2", "k", 4, "late"))
		t.putTo(peer, page("b2", "last", 1, "x"))
		if heard := w.next(); heard.Key != "last" {
			t.Errorf("heard %s", tell([]replica.Page{heard}))
		}
	}},
	{name: "a quiet page is kept and not heard", hears: true, run: func(t *trial) {
		w := t.watch(t.store)
		quiet := page("b2", "quiet", 1, "x")
		quiet.Quiet = true
		t.putTo(t.peer(), quiet, page("b2", "loud", 1, "x"))
		t.putTo(t.peer(), page("b2", "last", 1, "x"))
		for _, want := range []string{"loud", "last"} {
			if heard := w.next(); heard.Key != want {
				t.Errorf("heard %s, want %s", tell([]replica.Page{heard}), want)
			}
		}
		if got := t.read(guards, time.Time{}, 0); len(got) != 3 {
			t.Errorf("read %s", tell(got))
		}
	}},
	{name: "bodies of every size", hears: true, run: func(t *trial) {
		w := t.watch(t.store)
		peer := t.peer()
		for i, size := range []int{0, 1, 5_000, 7_999, 8_000, 8_001, 65_536, replica.MaxBody} {
			put := page("b2", "k", uint64(i+1), string(noise(size)))
			t.putTo(peer, put)
			heard := w.next()
			if heard.Sequence != put.Sequence || !bytes.Equal(heard.Body, put.Body) {
				t.Errorf("%d bytes put, heard %s", size, tell([]replica.Page{heard}))
			}
		}
	}},
	{name: "odd strings", hears: true, run: func(t *trial) {
		w := t.watch(t.store)
		peer := t.peer()
		for i, odd := range []string{"", "a\x00b", "模型", "a\xffb", `'"\{}:|`} {
			put := replica.Page{Instance: odd, Topic: replica.Topic("t" + odd), Key: odd, Sequence: uint64(i + 1), Body: []byte(odd)}
			t.putTo(peer, put)
			if heard := w.next(); !same(heard, put) {
				t.Errorf("heard %s", tell([]replica.Page{heard}))
			}
		}
	}},
	{name: "every watcher hears", hears: true, run: func(t *trial) {
		peer := t.peer()
		watchers := []*watcher{t.watch(t.store), t.watch(t.store), t.watch(peer)}
		put := page("b2", "k", 1, "x")
		t.putTo(peer, put)
		for i, w := range watchers {
			if heard := w.next(); !same(heard, put) {
				t.Errorf("watcher %d heard %s", i, tell([]replica.Page{heard}))
			}
		}
	}},
	{name: "one that ended hears no more, and others go on", hears: true, run: func(t *trial) {
		first, second := t.watch(t.store), t.watch(t.store)
		if err := first.end(); err != nil {
			t.Fatal(err)
		}
		t.put(page("a1", "k", 1, "x"))
		second.next()
		if len(first.heard) != 0 {
			t.Error("the one that ended heard")
		}
	}},
	{name: "what was put before is not heard", hears: true, run: func(t *trial) {
		t.put(page("a1", "before", 1, "x"))
		w := t.watch(t.store)
		t.put(page("a1", "after", 1, "x"))
		if heard := w.next(); heard.Key != "after" {
			t.Errorf("heard %s", tell([]replica.Page{heard}))
		}
	}},
	{name: "the last version is heard of many", hears: true, run: func(t *trial) {
		w := t.watch(t.store)
		peer := t.peer()
		const last = 200
		for i := range last {
			t.putTo(peer, page("b2", "k", uint64(i+1), "x"))
		}
		for before := uint64(0); before != last; {
			p := w.next()
			if p.Sequence <= before {
				t.Fatalf("heard %d after %d", p.Sequence, before)
			}
			before = p.Sequence
		}
	}},
}
