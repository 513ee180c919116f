package replica_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/drill"
	"evergate/internal/replica"
	"evergate/internal/store/memory"
)

// board is an instance's drills, as far as replication has to do with them.
type board struct {
	mu     sync.Mutex
	heard  []drill.State
	counts map[string]drill.Counts
	there  map[string]map[string]drill.Counts
}

func (b *board) Running() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.heard) > 0 && !b.heard[len(b.heard)-1].Over()
}

func (b *board) Hear(s drill.State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.heard = append(b.heard, s)
}

func (b *board) Counts() map[string]drill.Counts {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.counts)
}

func (b *board) HearCounts(instance string, all map[string]drill.Counts) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.there == nil {
		b.there = map[string]map[string]drill.Counts{}
	}
	b.there[instance] = all
}

// all are the drills that were heard of so far.
func (b *board) all() []drill.State {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]drill.State(nil), b.heard...)
}

func (b *board) last() drill.State {
	if all := b.all(); len(all) > 0 {
		return all[len(all)-1]
	}
	return drill.State{}
}

// rehearse starts a drill on an instance, or ends one.
func (i *instance) rehearse(id string, length time.Duration, why string) drill.State {
	now := i.now()
	s := drill.State{Rule: drill.Rule{
		ID: id, Provider: "p", Model: "m", Key: "k", Header: drill.Header{Name: "x-team", Value: "blue"}, Share: 0.5, Shape: drill.Shape{Kind: drill.Cut, After: 3, Latency: time.Second},
		Since: now, Until: now.Add(length), Budget: 7, MaxUserErrors: 3, Reason: "rehearsal", By: "operator",
	}}
	if why != "" {
		s.End = drill.End{Why: why, At: now, Reason: "enough", By: "operator"}
	}
	i.board.mu.Lock()
	i.board.heard = append(i.board.heard, s)
	i.board.mu.Unlock()
	i.fleet.Drilled(s)
	return s
}

// R74: a drill is heard at once on every instance as it was written, its end by each one's own clock; so is its stop.
func TestDrillsAreHeard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		var all []*instance
		for n, skew := range []time.Duration{0, 10 * time.Minute, -10 * time.Minute} {
			all = append(all, join(t, at, string(rune('a'+n)), setup{skew: skew}))
		}
		time.Sleep(2 * interval)
		said := all[1].rehearse("drill_1", time.Hour, "")
		time.Sleep(soon)
		late := join(t, at, "late", setup{skew: 5 * time.Minute})
		for _, i := range []*instance{all[0], all[2], late} {
			got := i.board.last()
			if d := got.Rule.Until.Add(-i.skew).Sub(said.Rule.Until.Add(-all[1].skew)); d.Abs() > 5*time.Millisecond {
				t.Errorf("%s: it ends %v off", i.id, d)
			}
			got.Rule.Since, got.Rule.Until = said.Rule.Since, said.Rule.Until
			if got != said {
				t.Errorf("%s heard %+v\nof %+v", i.id, got, said)
			}
		}
		all[2].rehearse("drill_1", time.Hour, drill.Stopped)
		time.Sleep(soon)
		for _, i := range []*instance{all[0], all[1], late} {
			if end := i.board.last().End; end.Why != drill.Stopped || end.Reason != "enough" || end.By != "operator" {
				t.Errorf("%s: %+v", i.id, end)
			}
		}
		time.Sleep(30 * interval)
		for _, i := range all {
			if n := len(i.board.all()); n > 2 {
				t.Errorf("%s heard %d times of it", i.id, n)
			}
		}
	}))
}

// R74: who hears nothing at once reads of a drill, and of its stop in the round after it. A store that is away hears of both when it is back.
func TestDrillsWithFaults(t *testing.T) {
	t.Parallel()
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		all := three(t, at, setup{})
		all[2].line.set(func(l *line) { l.lose = 1 })
		all[0].line.set(func(l *line) { l.err = errDown })
		all[0].rehearse("drill_1", time.Hour, "")
		time.Sleep(time.Minute)
		if n := len(all[1].board.all()); n != 0 {
			t.Fatal("it was heard of without the store")
		}
		all[0].line.set(func(l *line) { l.err = nil })
		time.Sleep(15 * interval)
		for _, i := range all {
			if i.board.last().Rule.ID != "drill_1" || i.board.last().Over() {
				t.Fatalf("%s: %+v", i.id, i.board.last())
			}
		}
		all[1].rehearse("drill_1", time.Hour, drill.Spent)
		time.Sleep(2 * interval)
		if got := all[2].board.last().End.Why; got != drill.Spent {
			t.Errorf("who loses messages has it end by %q", got)
		}
	}))
}

// R74: a drill outlives who started it, in order or not; when it is over nobody hears of it as one that runs, and its page goes after a day.
func TestDrillsOutliveTheirInstance(t *testing.T) {
	t.Parallel()
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		all := three(t, at, setup{})
		all[0].rehearse("drill_1", time.Hour, "")
		time.Sleep(soon)
		all[0].fleet.Stop(context.Background())
		time.Sleep(30 * time.Minute) // it is swept by then
		if got := join(t, at, "d", setup{}).board.last(); got.Rule.ID != "drill_1" || got.Over() {
			t.Errorf("a new one hears %+v", got)
		}
		time.Sleep(31 * time.Minute)
		if got := join(t, at, "e", setup{}).board.last(); got.End.Why != drill.TimeUp || !got.End.At.Equal(got.Rule.Until) {
			t.Errorf("after its end a new one hears %+v", got)
		}
		time.Sleep(25 * time.Hour)
		pages, err := at.Peer().Read(t.Context(), replica.Drills, time.Time{}, 0)
		if err != nil || len(pages) != 0 {
			t.Errorf("%v: %d pages are left", err, len(pages))
		}
	}))
}

// R74: what each instance has seen of a drill comes to the others in a round or two, after the drill as well.
func TestDrillCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		all := three(t, at, setup{})
		all[0].rehearse("drill_1", time.Minute, "")
		for n := range 3 {
			for _, i := range all {
				i.board.mu.Lock()
				i.board.counts = map[string]drill.Counts{"drill_1": {Injected: int64(n + 1), Failed: 1}}
				i.board.mu.Unlock()
			}
			if n == 2 {
				all[1].rehearse("drill_1", time.Minute, drill.Stopped)
			}
			time.Sleep(3 * interval)
			for _, i := range all {
				i.board.mu.Lock()
				if len(i.board.there) != 2 {
					t.Errorf("%s has heard from %d", i.id, len(i.board.there))
				}
				for from, c := range i.board.there {
					if c["drill_1"] != (drill.Counts{Injected: int64(n + 1), Failed: 1}) {
						t.Errorf("%d: %s has %+v from %s", n, i.id, c, from)
					}
				}
				i.board.mu.Unlock()
			}
		}
	}))
}

// A page that no program of ours wrote is passed over.
func TestDrillPagesOfStrangers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		i := join(t, at, "a", setup{})
		time.Sleep(2 * interval)
		now := time.Now().UnixMilli()
		good := map[string]any{
			"v": 1, "id": "drill_1", "share": 1, "shape": map[string]any{"reset": true}, "since": now, "until": now + 60_000, "budget": 1, "reason": "r", "by": "b",
		}
		n := uint64(0)
		for name, change := range map[string]map[string]any{
			"version": {"v": 2}, "no shape": {"shape": nil}, "odd shape": {"shape": map[string]any{"explode": 1}}, "share": {"share": 2}, "budget": {"budget": 0},
			"no end": {"until": 0}, "an end years away": {"until": now + 4e11}, "longer than a drill may be": {"until": now + 90_000_000}, "another id": {"id": "drill_2"}, "no reason": {"reason": ""},
		} {
			body := maps.Clone(good)
			maps.Copy(body, change)
			text, _ := json.Marshal(body)
			n++
			page := replica.Page{Instance: "drill_1", Topic: replica.Drills, Key: "drill_1", Sequence: n, Body: text}
			if err := at.Peer().Put(t.Context(), []replica.Page{page}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(soon)
			if all := i.board.all(); len(all) != 0 {
				t.Fatalf("%s: it is believed: %+v", name, all)
			}
		}
		text, _ := json.Marshal(good)
		_ = at.Peer().Put(t.Context(), []replica.Page{{Instance: "drill_1", Topic: replica.Drills, Key: "drill_1", Sequence: n + 1, Body: text}})
		time.Sleep(soon)
		if all := i.board.all(); len(all) != 1 {
			t.Errorf("a good one is not: %+v", all)
		}
	}))
}

// However many drills there have been, a new one is heard of.
func TestManyDrills(t *testing.T) {
	t.Parallel()
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		i := join(t, at, "a", setup{})
		time.Sleep(2 * interval)
		for n := range 1100 {
			id := fmt.Sprint("drill_", n)
			now := time.Now().UnixMilli()
			text, _ := json.Marshal(map[string]any{
				"v": 1, "id": id, "share": 1, "shape": map[string]any{"reset": true}, "since": now, "until": now + 1000, "budget": 1, "reason": "r", "by": "b",
			})
			if err := at.Peer().Put(t.Context(), []replica.Page{{Instance: id, Topic: replica.Drills, Key: id, Sequence: 1, Body: text}}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(soon)
		if got := i.board.last().Rule.ID; got != "drill_1099" {
			t.Errorf("the last that was heard of is %q", got)
		}
	}))
}
