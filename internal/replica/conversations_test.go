package replica_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/affinity"
	"evergate/internal/replica"
	"evergate/internal/route"
	"evergate/internal/store/memory"
	"evergate/internal/wire"
	"evergate/internal/wire/openaichat"
)

// talker is an instance that does nothing but to remember conversations.
type talker struct {
	table *affinity.Table
	fleet *replica.Fleet
	line  *line
	skew  time.Duration
}

func (k *talker) now() time.Time { return time.Now().Add(k.skew) }

func talk(t *testing.T, at *memory.Store, id string, skew time.Duration) *talker {
	t.Helper()
	k := &talker{table: affinity.New(), line: &line{Store: at.Peer(), cut: make(chan struct{})}, skew: skew}
	k.table.Share(true)
	k.fleet = replica.New(replica.Options{
		Open: func(ctx context.Context) (replica.Store, error) { return k.line, k.line.pass(ctx) },
		Self: replica.Member{ID: id, Started: k.now()}, Interval: interval, Now: k.now, Memory: k.table,
	})
	k.fleet.Start(t.Context())
	t.Cleanup(func() { k.fleet.Stop(context.Background()) })
	return k
}

// visit is a request of a conversation; provider answers it, empty: nobody does.
func (k *talker) visit(conversation, provider string) (known bool, at func(provider string) bool) {
	by := route.DefaultAffinity()
	v := k.table.Recall(k.now(), &affinity.Asked{
		Header: http.Header{affinity.Header: {conversation}}, Dialect: openaichat.Chat{}, Request: &wire.Request{Body: []byte(`{}`)},
	}, &by)
	if provider != "" {
		k.table.Answered(k.now(), &v, provider, "m", 0, "default")
	}
	return v.Known(), func(provider string) bool { return k.table.Is(&v, provider, "m") }
}

// rounds is by when what one said is heard by another: one round to say it, one to hear it.
const rounds = 13 * time.Second

// R47, R63: what one instance answered is known to the others after a round of each, with the time that it was, whatever their clocks say; to
// one that starts later at once; and from one that left, or was killed, too.
func TestConversationsAreShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		one, two := talk(t, at, "one", 10*time.Minute), talk(t, at, "two", -10*time.Minute)
		for i := range 30 {
			one.visit(fmt.Sprint("c", i), "a")
		}
		time.Sleep(rounds)
		for i := range 30 {
			if known, is := two.visit(fmt.Sprint("c", i), ""); !known || !is("a") {
				t.Fatalf("conversation %d: known %v", i, known)
			}
		}
		// Whatever round an answer falls into, nobody misses it.
		for i := range 100 {
			one.visit(fmt.Sprint("d", i), "a")
			time.Sleep(300 * time.Millisecond)
		}
		time.Sleep(rounds)
		for i := range 100 {
			if known, _ := two.visit(fmt.Sprint("d", i), ""); !known {
				t.Errorf("conversation %d was missed", i)
			}
		}
		two.visit("c1", "b")
		time.Sleep(rounds)
		if _, is := one.visit("c1", ""); !is("b") {
			t.Error("it moved, and the first does not know")
		}
		late := talk(t, at, "late", 0)
		if _, is := late.visit("c1", ""); !is("b") {
			t.Error("one that starts does not know what is newer")
		}
		if _, is := late.visit("c2", ""); !is("a") {
			t.Error("one that starts does not know what was told a while ago")
		}
		for _, k := range []*talker{one, two, late} {
			k.visit("last", "c")
			k.fleet.Stop(t.Context())
		}
		next := talk(t, at, "next", 0)
		if _, is := next.visit("last", ""); !is("c") {
			t.Error("what was answered right before the stop is forgotten")
		}
		time.Sleep(50*time.Minute - 2*rounds)
		if known, _ := next.visit("c2", ""); !known {
			t.Error("forgotten before its time")
		}
		time.Sleep(11 * time.Minute)
		if known, _ := next.visit("c2", ""); known {
			t.Error("kept beyond its time")
		}
	}))
}

// One page in a round, quiet, and of at most 32 KiB; nothing where nothing is new.
func TestConversationsCostLittle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		heard := 0
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_ = at.Watch(ctx, func() {}, func(p replica.Page) {
				if p.Topic == replica.Conversations || p.Topic == replica.Remembered {
					heard++
				}
			})
		}()
		one := talk(t, at, "one", 0)
		sequences := map[uint64]bool{}
		for range 10 {
			for i := range 3000 {
				one.visit(fmt.Sprint("c", i), "a")
			}
			time.Sleep(interval)
			pages, err := at.Read(t.Context(), replica.Conversations, time.Time{}, 0)
			if err != nil || len(pages) > 1 {
				t.Fatalf("%d pages, %v", len(pages), err)
			}
			for _, p := range pages {
				sequences[p.Sequence] = true
				if len(p.Body) > 32<<10 {
					t.Errorf("%d bytes", len(p.Body))
				}
			}
		}
		if n := len(sequences); n < 5 || n > 11 { // the jitter of rounds and of these looks may fall together
			t.Errorf("%d pages in 10 intervals", n)
		}
		time.Sleep(rounds)
		before, _ := at.Read(t.Context(), replica.Conversations, time.Time{}, 0)
		time.Sleep(10 * interval)
		if after, _ := at.Read(t.Context(), replica.Conversations, time.Time{}, 0); after[0].Sequence != before[0].Sequence {
			t.Error("nothing is new, and something is told")
		}
		cancel()
		synctest.Wait()
		if heard != 0 {
			t.Errorf("%d pages were told to all", heard)
		}
	}))
}

// R64: what could not be told while the store was lost is told when it is back.
func TestConversationsWaitForTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		one, two := talk(t, at, "one", 0), talk(t, at, "two", 0)
		one.line.set(func(l *line) { l.err = errDown })
		one.visit("c", "a")
		time.Sleep(time.Minute)
		if known, _ := two.visit("c", ""); known {
			t.Fatal("how?")
		}
		one.line.set(func(l *line) { l.err = nil })
		time.Sleep(time.Minute)
		if known, _ := two.visit("c", ""); !known {
			t.Error("not told")
		}
	}))
}
