package threads_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/store/memory"
	"evergate/internal/threads"
)

// shelf is an archive with faults, and counts what it is asked.
type shelf struct {
	threads.Archive
	mu         sync.Mutex
	lost, mute bool // known to be lost; saying nothing
	refuse     error
	slow       time.Duration
	gets, puts int
	atOnce     atomic.Int64
	most       atomic.Int64
}

func (s *shelf) reached() threads.Archive {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost {
		return nil
	}
	return s
}

func (s *shelf) set(what func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what()
}

func (s *shelf) pass(ctx context.Context, count *int) error {
	s.mu.Lock()
	*count++
	mute, slow, refuse := s.mute, s.slow, s.refuse
	s.mu.Unlock()
	if mute {
		<-ctx.Done()
		return ctx.Err()
	}
	if slow > 0 {
		select {
		case <-time.After(slow):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return refuse
}

func (s *shelf) Get(ctx context.Context, owner, id string, turns, size int) ([]threads.Record, error) {
	n := s.atOnce.Add(1)
	defer s.atOnce.Add(-1)
	s.most.Store(max(s.most.Load(), n))
	if err := s.pass(ctx, &s.gets); err != nil {
		return nil, err
	}
	return s.Archive.Get(ctx, owner, id, turns, size)
}

func (s *shelf) Put(ctx context.Context, life time.Duration, put []threads.Record) error {
	if err := s.pass(ctx, &s.puts); err != nil {
		return err
	}
	return s.Archive.Put(ctx, life, put)
}

func (s *shelf) counts() (gets, puts int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gets, s.puts
}

// keeper is one process with its memory of answers, at an archive.
func keeper(t *testing.T, at *memory.Store) (*threads.Store, *shelf) {
	t.Helper()
	s := threads.New(threads.DefaultLimits())
	a := &shelf{Archive: at.Answers(threads.Room{Bytes: 1 << 30})}
	s.Archive(a.reached)
	t.Cleanup(func() { s.Stop(context.Background()) })
	return s, a
}

func put(s *threads.Store, id, previous string) {
	s.Put(time.Now(), "ci", &threads.Answer{ID: id, Previous: previous, Input: []byte("[1]"), Output: []byte("[2]"), Body: []byte(`{"id":"x"}`)})
}

func get(t *testing.T, s *threads.Store, owner, id string) (*threads.Answer, bool) {
	t.Helper()
	w := s.Search(t.Context())
	return s.Get(time.Now(), &w, owner, id)
}

// What one process keeps another one finds, whole, and its owner alone.
func TestArchivedAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		at := memory.New(time.Now)
		one, _ := keeper(t, at)
		want := &threads.Answer{ID: "r1", Previous: "r0", Input: []byte("[1]"), Output: []byte("[2]"), Body: []byte("{}")}
		one.Put(time.Now(), "ci", want)
		one.Put(time.Now(), "ci", &threads.Answer{ID: "r2", Provider: "openai", Model: "gpt"})
		synctest.Wait()
		two, shelf := keeper(t, at)
		got, ok := get(t, two, "ci", "r1")
		if !ok || got.ID != "r1" || got.Previous != "r0" || !bytes.Equal(got.Input, want.Input) || !bytes.Equal(got.Output, want.Output) || !bytes.Equal(got.Body, want.Body) {
			t.Errorf("%+v", got)
		}
		if got, ok := get(t, two, "ci", "r2"); !ok || got.Provider != "openai" || got.Model != "gpt" {
			t.Errorf("%+v", got)
		}
		before, _ := shelf.counts()
		if _, ok := get(t, two, "ci", "r1"); !ok {
			t.Error("forgotten")
		}
		if after, _ := shelf.counts(); after != before {
			t.Error("what was found is asked for again")
		}
		if _, ok := get(t, two, "other", "r1"); ok {
			t.Error("another reads it")
		}
		if _, ok := two.Get(time.Now(), nil, "ci", "r3"); ok {
			t.Error("found, without asking")
		}
		two.Delete(time.Now(), "ci", "r1")
		if _, ok := get(t, two, "ci", "r1"); ok {
			t.Error("deleted, and still there")
		}
		synctest.Wait()
		three, _ := keeper(t, at)
		if _, ok := get(t, three, "ci", "r1"); ok {
			t.Error("deleted, and still in the archive")
		}
	})
}

// A conversation is read with few questions, whatever of it is in memory.
func TestHistoryFromTheArchive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		at := memory.New(time.Now)
		one, _ := keeper(t, at)
		const turns = 1000
		for i := range turns {
			previous := ""
			if i > 0 {
				previous = fmt.Sprint("r", i-1)
			}
			put(one, fmt.Sprint("r", i), previous)
		}
		synctest.Wait()
		two, shelf := keeper(t, at)
		if _, ok := get(t, two, "ci", "r500"); !ok { // one in the middle is there already
			t.Fatal("not found")
		}
		w := two.Search(t.Context())
		items, missing, err := two.History(time.Now(), &w, "ci", "r999", 1<<20)
		if err != nil || missing != "" || len(items) != 2*turns {
			t.Fatalf("%d items, %q missing, %v", len(items), missing, err)
		}
		if gets, _ := shelf.counts(); gets > 5 {
			t.Errorf("%d questions for %d turns", gets, turns)
		}
		if _, missing, err := two.History(time.Now(), nil, "other", "r999", 1<<20); !errors.Is(err, threads.ErrGone) || missing != "r999" {
			t.Errorf("another's: %q, %v", missing, err)
		}
		one.Delete(time.Now(), "ci", "r10")
		synctest.Wait()
		three, _ := keeper(t, at)
		w = three.Search(t.Context())
		if _, missing, err := three.History(time.Now(), &w, "ci", "r999", 1<<20); !errors.Is(err, threads.ErrGone) || missing != "r10" {
			t.Errorf("with a hole: %q, %v", missing, err)
		}
		w = three.Search(t.Context())
		if _, _, err := three.History(time.Now(), &w, "ci", "r999", 100); !errors.Is(err, threads.ErrLong) {
			t.Errorf("longer than it may be: %v", err)
		}
	})
}

// R60: one request waits 250 ms in all, then nobody for a second; and nobody while the archive is known to be lost, or fails.
func TestSearchIsPatientOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, shelf := keeper(t, memory.New(time.Now))
		took := func(what func()) time.Duration {
			start := time.Now()
			what()
			return time.Since(start)
		}
		shelf.set(func() { shelf.slow = 100 * time.Millisecond })
		w := s.Search(t.Context())
		if d := took(func() {
			for i := range 10 {
				_, _ = s.Get(time.Now(), &w, "ci", fmt.Sprint("r", i))
			}
		}); d != threads.Patience {
			t.Errorf("ten slow answers: %v", d)
		}
		time.Sleep(2 * time.Second)
		shelf.set(func() { shelf.mute = true })
		if d := took(func() { _, _ = get(t, s, "ci", "r1") }); d != threads.Patience {
			t.Errorf("a mute one: %v", d)
		}
		if d := took(func() { _, _ = get(t, s, "ci", "r1") }); d != 0 {
			t.Errorf("right after: %v", d)
		}
		time.Sleep(2 * time.Second)
		shelf.set(func() { shelf.lost = true })
		if d := took(func() { _, _ = get(t, s, "ci", "r1") }); d != 0 {
			t.Errorf("a lost one: %v", d)
		}
		shelf.set(func() { shelf.lost, shelf.mute, shelf.refuse = false, false, errors.New("no") })
		if d := took(func() { _, _ = get(t, s, "ci", "r1") }); d > 100*time.Millisecond {
			t.Errorf("one that fails: %v", d)
		}
		// A client that leaves says nothing of the archive.
		time.Sleep(2 * time.Second)
		shelf.set(func() { shelf.refuse = nil })
		gone, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		w = s.Search(gone)
		if d := took(func() { _, _ = s.Get(time.Now(), &w, "ci", "r1") }); d != 10*time.Millisecond {
			t.Errorf("a client that leaves: %v", d)
		}
		before, _ := shelf.counts()
		_, _ = get(t, s, "ci", "r1")
		if after, _ := shelf.counts(); after != before+1 {
			t.Error("the next one does not ask")
		}
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() { _, _ = get(t, s, "ci", fmt.Sprint("r", i)) })
		}
		wg.Wait()
		if n := shelf.most.Load(); n > 2 {
			t.Errorf("%d asked at once", n)
		}
	})
}

// Writing never waits for the archive: what it does not take waits within bounds, what is more is counted, and all of it is written when it is back.
func TestWritingBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		at := memory.New(time.Now)
		s, shelf := keeper(t, at)
		shelf.set(func() { shelf.mute = true })
		start := time.Now()
		for i := range 5000 {
			put(s, fmt.Sprint("r", i), "")
		}
		if time.Since(start) != 0 {
			t.Error("a request waited")
		}
		time.Sleep(5 * time.Second)
		shelf.set(func() { shelf.lost = true })
		time.Sleep(10 * time.Minute)
		shelf.set(func() { shelf.lost, shelf.mute = false, false })
		time.Sleep(time.Minute)
		if lost := s.Lost(); lost != 5000-4096 {
			t.Errorf("%d lost", lost)
		}
		two, _ := keeper(t, at)
		for _, id := range []string{"r0", "r4095"} {
			if _, ok := get(t, two, "ci", id); !ok {
				t.Errorf("%s was not written", id)
			}
		}
		if _, puts := shelf.counts(); puts > 100 {
			t.Errorf("%d calls", puts)
		}
		before := s.Lost()
		shelf.set(func() { shelf.lost = true })
		for range 40 {
			s.Put(time.Now(), "ci", &threads.Answer{ID: "large", Body: make([]byte, 3<<20)})
		}
		s.Put(time.Now(), "ci", &threads.Answer{ID: "too large", Body: make([]byte, threads.MaxRecord)})
		if lost := s.Lost() - before; lost != 31 {
			t.Errorf("%d of 41 large ones lost: 32 MiB may wait", lost)
		}
		shelf.set(func() { shelf.lost = false })
		// One that the archive refuses does not hold up the others for ever.
		time.Sleep(time.Minute)
		shelf.set(func() { shelf.refuse = errors.New("no") })
		before = s.Lost()
		put(s, "refused", "")
		time.Sleep(time.Minute)
		shelf.set(func() { shelf.refuse = nil })
		put(s, "taken", "")
		time.Sleep(time.Minute)
		if lost := s.Lost() - before; lost != 1 {
			t.Errorf("%d lost", lost)
		}
		if _, ok := get(t, two, "ci", "taken"); !ok {
			t.Error("the next one was not written")
		}
	})
}

// What a client deleted while the store was away is deleted, however many answers wait for the store before it.
func TestDeletionsHaveRoomOfTheirOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		at := memory.New(time.Now)
		s, shelf := keeper(t, at)
		put(s, "first", "")
		time.Sleep(time.Second)
		shelf.set(func() { shelf.lost = true })
		for i := range 5000 {
			put(s, fmt.Sprint("r", i), "")
		}
		s.Delete(time.Now(), "ci", "first")
		s.Put(time.Now(), "ci", &threads.Answer{ID: "more"})
		if lost := s.Lost(); lost != 5001-4096 {
			t.Errorf("%d lost", lost)
		}
		for i := range 5000 { // they have bounds, too
			s.Delete(time.Now(), "ci", fmt.Sprint("x", i))
		}
		if lost := s.Lost(); lost != 5001-4096+5001-4096 {
			t.Errorf("%d lost", lost)
		}
		shelf.set(func() { shelf.lost = false })
		time.Sleep(time.Minute)
		two, _ := keeper(t, at)
		if _, ok := get(t, two, "ci", "first"); ok {
			t.Error("deleted, and still in the archive")
		}
		if _, ok := get(t, two, "ci", "r4095"); !ok {
			t.Error("one that waited was not written")
		}
	})
}

// A store that refuses what it is given is known to be lost a round later only: what was given to it meanwhile waits as well.
func TestWritingWaitsUntilTheStoreIsKnownToBeLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		at := memory.New(time.Now)
		s, shelf := keeper(t, at)
		shelf.set(func() { shelf.refuse = errors.New("read-only") })
		put(s, "r1", "")
		time.Sleep(7 * time.Second) // a sync_interval, and what rounds are late by
		shelf.set(func() { shelf.lost = true })
		time.Sleep(time.Minute)
		shelf.set(func() { shelf.lost, shelf.refuse = false, nil })
		time.Sleep(time.Minute)
		two, _ := keeper(t, at)
		if _, ok := get(t, two, "ci", "r1"); !ok || s.Lost() != 0 {
			t.Errorf("found: %v, %d lost", ok, s.Lost())
		}
	})
}

// strict is an archive that refuses all of what it is given together with an id that its index cannot hold.
type strict struct{ threads.Archive }

func (s strict) Put(ctx context.Context, life time.Duration, put []threads.Record) error {
	for i := range put {
		if len(put[i].ID) > 2000 {
			return errors.New("index row size exceeds btree maximum")
		}
	}
	return s.Archive.Put(ctx, life, put)
}

// An id beyond all measure, which an upstream may give, costs no other answer its place in the archive.
func TestAnIDBeyondMeasure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		at := memory.New(time.Now)
		s := threads.New(threads.DefaultLimits())
		s.Archive(func() threads.Archive { return strict{at.Answers(threads.Room{Bytes: 1 << 30})} })
		t.Cleanup(func() { s.Stop(context.Background()) })
		s.Put(time.Now(), "ci", &threads.Answer{ID: strings.Repeat("x", 3000), Provider: "openai"})
		put(s, "next", "")
		time.Sleep(time.Minute)
		two, _ := keeper(t, at)
		if _, ok := get(t, two, "ci", "next"); !ok || s.Lost() != 1 {
			t.Errorf("the next one is there: %v, %d lost", ok, s.Lost())
		}
	})
}

// A stop writes what waits, but not for longer than it may take.
func TestStopWritesWhatWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		at := memory.New(time.Now)
		s, shelf := keeper(t, at)
		shelf.set(func() { shelf.lost = true })
		put(s, "r1", "")
		time.Sleep(100 * time.Millisecond)
		shelf.set(func() { shelf.lost = false })
		s.Stop(t.Context())
		two, other := keeper(t, at)
		if _, ok := get(t, two, "ci", "r1"); !ok || s.Lost() != 0 {
			t.Errorf("not written: %d lost", s.Lost())
		}
		other.set(func() { other.mute = true })
		put(two, "r2", "")
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		start := time.Now()
		two.Stop(ctx)
		two.Stop(ctx)
		put(two, "r3", "")
		if d := time.Since(start); d > 2*time.Second || two.Lost() != 2 {
			t.Errorf("it took %v, %d lost", d, two.Lost())
		}
	})
}

// slowReader has read, and tells it late.
type slowReader struct {
	threads.Archive
	meanwhile func()
}

func (s *slowReader) Get(ctx context.Context, owner, id string, turns, size int) ([]threads.Record, error) {
	found, err := s.Archive.Get(ctx, owner, id, turns, size)
	s.meanwhile()
	return found, err
}

// What is deleted, here or by another instance, while it is being read in the archive, is neither found by that read nor kept by it.
func TestDeletedWhileItIsRead(t *testing.T) {
	t.Parallel()
	const id = "r1"
	reads := map[string]func(*testing.T, *threads.Store) bool{
		"get": func(t *testing.T, s *threads.Store) bool { _, ok := get(t, s, "ci", id); return ok },
		"peek": func(t *testing.T, s *threads.Store) bool {
			w := s.Search(t.Context())
			_, ok := s.Peek(time.Now(), &w, "ci", id)
			return ok
		},
		"history": func(t *testing.T, s *threads.Store) bool {
			w := s.Search(t.Context())
			_, _, err := s.History(time.Now(), &w, "ci", id, 1<<20)
			return err == nil
		},
	}
	deletes := map[string]func(*threads.Store){
		"here":      func(s *threads.Store) { s.Delete(time.Now(), "ci", id) },
		"elsewhere": func(s *threads.Store) { s.Forget([]threads.Deletion{{Owner: "ci", ID: id}}) },
	}
	for where, remove := range deletes {
		for how, read := range reads {
			t.Run(where+"/"+how, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					at := memory.New(time.Now)
					one, _ := keeper(t, at)
					put(one, id, "")
					synctest.Wait()
					two := threads.New(threads.DefaultLimits())
					archive := &slowReader{Archive: at.Answers(threads.Room{Bytes: 1 << 30}), meanwhile: func() {
						remove(two)
						time.Sleep(time.Millisecond) // until the deletion is done
					}}
					two.Archive(func() threads.Archive { return archive })
					t.Cleanup(func() { two.Stop(context.Background()) })
					if read(t, two) {
						t.Error("found")
					}
					if _, ok := two.Get(time.Now(), nil, "ci", id); ok {
						t.Error("kept")
					}
				})
			})
		}
	}
}
