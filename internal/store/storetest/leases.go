package storetest

import (
	"fmt"
	"sync"
	"time"

	"evergate/internal/replica"
)

var leaseTests = []test{
	{name: "one of ten has it", run: func(t *trial) {
		peer := t.peer()
		for round := range 5 {
			lease := fmt.Sprintf("probe/openai/gpt/%d", round)
			var wg sync.WaitGroup
			won, failed := make(chan string, 10), make(chan error, 10)
			ctx := t.ctx()
			for i := range 10 {
				s := []replica.Store{t.store, peer}[i%2]
				wg.Go(func() {
					holder := fmt.Sprint("h", i)
					got, err := s.Claim(ctx, lease, holder, time.Minute)
					if err != nil {
						failed <- err
					}
					if got {
						won <- holder
					}
				})
			}
			wg.Wait()
			if len(failed) > 0 {
				t.Fatal(<-failed)
			}
			if len(won) != 1 {
				t.Fatalf("%d holders", len(won))
			}
			if holder := <-won; !t.claim(t.store, lease, holder, time.Minute) {
				t.Error("the holder cannot renew")
			}
		}
	}},
	{name: "leases are apart", run: func(t *trial) {
		if !t.claim(t.store, "one", "a1", time.Minute) || !t.claim(t.store, "two", "b2", time.Minute) {
			t.Error("a lease was refused because of another")
		}
	}},
	{name: "it ends by itself", run: func(t *trial) {
		peer := t.peer()
		if !t.claim(t.store, "lease", "a1", t.Life) {
			t.Fatal("refused")
		}
		if t.claim(peer, "lease", "b2", t.Life) {
			t.Error("taken from its holder")
		}
		t.pass(t.Life + t.Life/10)
		if !t.claim(peer, "lease", "b2", time.Minute) {
			t.Error("it did not end")
		}
		if t.claim(t.store, "lease", "a1", t.Life) {
			t.Error("the one that had it has it still")
		}
	}},
	{name: "a renewal makes it last", run: func(t *trial) {
		if !t.claim(t.store, "lease", "a1", t.Life) || !t.claim(t.store, "lease", "a1", time.Minute) {
			t.Fatal("refused")
		}
		t.pass(t.Life + t.Life/10)
		if t.claim(t.store, "lease", "b2", time.Minute) {
			t.Error("it ended as if it had not been renewed")
		}
	}},
	{name: "a claim that is refused changes nothing", run: func(t *trial) {
		if !t.claim(t.store, "lease", "a1", t.Life) || t.claim(t.store, "lease", "b2", time.Hour) {
			t.Fatal("not exclusive")
		}
		t.pass(t.Life + t.Life/10)
		if !t.claim(t.store, "lease", "c3", time.Minute) {
			t.Error("the refused claim made it longer")
		}
	}},
	{name: "yield hands it back", run: func(t *trial) {
		peer := t.peer()
		if !t.claim(t.store, "lease", "a1", time.Minute) {
			t.Fatal("refused")
		}
		t.yield(t.store, "lease", "a1")
		if !t.claim(peer, "lease", "b2", time.Minute) {
			t.Error("it was not handed back")
		}
	}},
	{name: "yield of another's is nothing", run: func(t *trial) {
		t.yield(t.store, "lease", "a1") // nobody's
		if !t.claim(t.store, "lease", "a1", time.Minute) {
			t.Fatal("refused")
		}
		t.yield(t.store, "lease", "b2")
		t.yield(t.store, "lease", "")
		if t.claim(t.store, "lease", "b2", time.Minute) {
			t.Error("another gave it away")
		}
		if !t.claim(t.store, "lease", "a1", time.Minute) {
			t.Error("the holder lost it")
		}
	}},
	{name: "yield by one that had it is nothing", run: func(t *trial) {
		if !t.claim(t.store, "lease", "a1", t.Life) {
			t.Fatal("refused")
		}
		t.pass(t.Life + t.Life/10)
		if !t.claim(t.store, "lease", "b2", time.Minute) {
			t.Fatal("it did not end")
		}
		t.yield(t.store, "lease", "a1")
		if t.claim(t.store, "lease", "c3", time.Minute) {
			t.Error("the last holder gave away what is another's")
		}
	}},
}
