package feed

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"evergate/internal/journal"
	"evergate/internal/ledger"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var _ ledger.Hearer = (*Feed)(nil)

// say has the feed hear a request of this number.
func say(f *Feed, n int) { hear(f, ledger.KindRequest, strconv.Itoa(n)) }

func hear(f *Feed, kind, id string) {
	f.Heard(kind, ledger.AppendRequest(nil, &ledger.Request{
		Row: ledger.RowsFrom(noon), Kind: kind, Request: journal.Request{ID: id, Start: noon},
	}))
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func idOf(e *Event) string {
	r, entry, err := e.Row()
	switch {
	case err != nil:
		return err.Error()
	case entry != nil:
		return entry.Kind
	}
	return r.ID
}

func read(t *testing.T, f *Feed, kinds Kinds, after string) *Reader {
	t.Helper()
	r, err := f.Read(kinds, after)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// next gives what is read at once, in short: "1 2 lost:3".
func next(r *Reader) string {
	events, lost, err := r.Next(context.Background(), time.Second)
	var out []string
	if lost != 0 {
		out = append(out, fmt.Sprintf("lost:%d", lost))
	}
	for _, e := range events {
		out = append(out, idOf(e))
	}
	if err != nil {
		out = append(out, err.Error())
	}
	return strings.Join(out, " ")
}

func expect(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func TestReadersHearWhatHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := New("a")
		say(f, 0) // nobody listens
		one, two := read(t, f, All, ""), read(t, f, All, "")
		say(f, 1)
		say(f, 2)
		expect(t, "one", next(one), "1 2")
		expect(t, "two", next(two), "1 2")
		expect(t, "nothing", next(one), "")
		go func() {
			time.Sleep(100 * time.Millisecond)
			say(f, 3)
			say(f, 4)
		}()
		began := time.Now()
		expect(t, "later", next(one), "3 4")
		if took := time.Since(began); took != 100*time.Millisecond+gather {
			t.Errorf("took %v", took)
		}
	})
}

func TestKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := New("a")
		kinds, err := ParseKinds("guard,mirror")
		if err != nil {
			t.Fatal(err)
		}
		some, all := read(t, f, kinds, ""), read(t, f, All, "")
		say(f, 1)
		hear(f, ledger.KindMirror, "m")
		hear(f, "probe row", "p")
		for _, kind := range []string{ledger.EntryGuard, ledger.EntryOrder, ledger.EntryDiscovery, ledger.EntryChange, ledger.EntryProbe, "other"} {
			f.Heard(kind, ledger.AppendEntry(nil, &ledger.Entry{Row: ledger.RowsFrom(noon), At: noon, Kind: kind}))
		}
		expect(t, "some", next(some), "m guard")
		expect(t, "all", next(all), "1 m guard order discovery change probe")
		_, err = ParseKinds("guard,reqest")
		expect(t, "misspelt", fmt.Sprint(err), `there is no kind "reqest"; did you mean "request"?`)
	})
}

// What the feed keeps is its own: a row's room is used again.
func TestRowsAreCopied(t *testing.T) {
	f := New("a")
	r := read(t, f, All, "")
	row := ledger.AppendEntry(nil, &ledger.Entry{Row: ledger.RowsFrom(noon), At: noon, Kind: ledger.EntryOrder, Reason: "maintenance"})
	f.Heard(ledger.EntryOrder, row)
	clear(row)
	events, _, err := r.Next(t.Context(), time.Second)
	if err != nil || len(events) != 1 {
		t.Fatal(events, err)
	}
	if _, e, err := events[0].Row(); err != nil || e.Reason != "maintenance" {
		t.Errorf("%+v %v", e, err)
	}
}

func TestAnEventIsWrittenOnce(t *testing.T) {
	f := New("a")
	one, two := read(t, f, All, ""), read(t, f, All, "")
	say(f, 1)
	var writes atomic.Int32
	write := func(e *Event) []byte { writes.Add(1); return []byte(idOf(e)) }
	for _, r := range []*Reader{one, two} {
		events, _, _ := r.Next(t.Context(), time.Second)
		expect(t, "text", string(events[0].Text(write)), "1")
		expect(t, "id", events[0].ID(), "a-1")
	}
	if writes.Load() != 1 {
		t.Errorf("%d writes", writes.Load())
	}
}

func TestASlowReaderIsToldWhatItMissed(t *testing.T) {
	t.Parallel()
	for _, missed := range []int{1, 2, 10, 11, Kept, Kept + 1} {
		f := New("a")
		r := read(t, f, All, "")
		for n := range Kept + missed {
			say(f, n)
		}
		if got := next(r); !strings.HasPrefix(got, fmt.Sprintf("lost:%d %d %d ", missed, missed, missed+1)) {
			t.Errorf("%.60s", got)
		}
		for read := most; read < Kept; {
			events, lost, err := r.Next(t.Context(), time.Second)
			if lost != 0 || err != nil || len(events) == 0 {
				t.Fatal(lost, err, len(events))
			}
			read += len(events)
		}
		expect(t, "last", r.ID(), "a-"+strconv.Itoa(Kept+missed))
	}
}

// However large rows are, what is kept of them is bounded; a slow reader is told what it missed by that, too.
func TestLargeRowsAreKeptWithinABound(t *testing.T) {
	t.Parallel()
	f := New("a")
	r := read(t, f, All, "")
	row := make([]byte, 64<<10) // as it came: the feed does not read it
	const said = 100
	for range said {
		f.Heard(ledger.EntryOrder, row)
	}
	kept := 0
	for _, e := range f.kept {
		if e != nil {
			kept += len(e.row)
		}
	}
	if kept > KeptBytes || kept != f.bytes || kept < KeptBytes-2*len(row) {
		t.Errorf("%d bytes are kept, %d counted", kept, f.bytes)
	}
	events, lost, err := r.Next(t.Context(), time.Second)
	if err != nil || len(events)+int(lost) != said {
		t.Errorf("%d events, %d lost, %v", len(events), lost, err)
	}
	f.Heard(ledger.EntryOrder, make([]byte, KeptBytes+1))
	if events, lost, _ := r.Next(t.Context(), time.Second); len(events) != 1 || lost != 0 {
		t.Errorf("%d events, %d lost: the latest is always kept", len(events), lost)
	}
}

func TestComingBack(t *testing.T) {
	tests := []struct {
		name, after, want string
		missed            int // events between the visits
		away              time.Duration
		last              bool // after the last reader went an event comes, however late
	}{
		{"at once", "a-2", "", 0, 0, false},
		{"earlier", "a-1", "2", 0, 0, false},
		{"after some events", "a-2", "3 4", 2, time.Second, false},
		{"after a minute", "a-2", "3 4", 2, linger, false},
		{"after too long", "a-2", "lost:-1", 2, linger + time.Second, false},
		{"after too long without events", "a-2", "lost:-1", 0, linger + time.Second, false},
		{"of another instance", "b-1", "lost:-1", 0, 0, false},
		{"of the future", "a-9", "lost:-1", 0, 0, false},
		{"garbage", "\x00", "lost:-1", 0, 0, false},
		{"without a number", "a-", "lost:-1", 0, 0, false},
		{"before the first", "a-0", "1 2", 0, 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := New("a")
				r, err := f.Read(All, "")
				if err != nil {
					t.Fatal(err)
				}
				say(f, 1)
				say(f, 2)
				expect(t, "first visit", next(r), "1 2")
				expect(t, "id", r.ID(), "a-2")
				r.Close()
				time.Sleep(tt.away)
				for n := range tt.missed {
					say(f, 3+n)
				}
				back := read(t, f, All, tt.after)
				expect(t, "second visit", next(back), tt.want)
				say(f, 7)
				expect(t, "then", next(back), "7")
			})
		})
	}
}

// While nobody watches nothing is kept, a minute after the last one left.
func TestNothingIsKeptForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := New("a")
		r, _ := f.Read(All, "")
		say(f, 1)
		r.Close()
		if !f.Listening() || f.kept == nil {
			t.Error("a reader that comes back has nothing")
		}
		time.Sleep(linger + 1)
		say(f, 2)
		if f.Listening() || f.kept != nil {
			t.Error("it still keeps")
		}
		if n := testing.AllocsPerRun(100, func() { f.Heard(ledger.KindRequest, quiet) }); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

func TestBounds(t *testing.T) {
	f := New("a")
	for range MaxReaders {
		read(t, f, All, "")
	}
	if _, err := f.Read(All, ""); !errors.Is(err, ErrFull) {
		t.Errorf("%v", err)
	}
}

func TestStopAndHangUpEndAtOnce(t *testing.T) {
	tests := []struct {
		name string
		end  func(*Feed)
		want error
		back error
	}{
		{"stop", (*Feed).Stop, ErrStopped, ErrStopped},
		{"hang up", (*Feed).HangUp, ErrHungUp, nil},
		{"both", func(f *Feed) { f.HangUp(); f.Stop(); f.Stop(); f.HangUp() }, ErrStopped, ErrStopped},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := New("a")
				waiting, busy := read(t, f, All, ""), read(t, f, All, "")
				say(f, 1)
				expect(t, "waiting", next(waiting), "1")
				began := time.Now()
				go func() { time.Sleep(time.Millisecond); tt.end(f) }()
				if _, _, err := waiting.Next(context.Background(), time.Hour); !errors.Is(err, tt.want) {
					t.Errorf("waiting: %v", err)
				}
				if took := time.Since(began); took > time.Millisecond {
					t.Errorf("took %v", took)
				}
				if _, _, err := busy.Next(context.Background(), time.Hour); !errors.Is(err, tt.want) {
					t.Errorf("busy: %v", err)
				}
				say(f, 2) // nobody is harmed by it
				back, err := f.Read(All, waiting.ID())
				if !errors.Is(err, tt.back) {
					t.Fatalf("back: %v", err)
				}
				if back != nil {
					expect(t, "back", next(back), "2")
					back.Close()
				}
			})
		})
	}
}

func TestNextEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := read(t, New("a"), All, "")
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, _, err := r.Next(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

// Whatever is said and read in whatever order, each reader gets all events since it came in order, but for those that it is told it
// lost; what it gets after coming back continues what it got before.
func TestNothingIsLostUntold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := New("a")
		said := 0
		type watcher struct {
			r    *Reader
			seen int // the number of the last event that it got or lost
		}
		var all []*watcher
		defer func() {
			for _, w := range all {
				w.r.Close()
			}
		}()
		t.Repeat(map[string]func(*rapid.T){
			"say": func(t *rapid.T) {
				n := rapid.SampledFrom([]int{1, 2, 50, Kept - 1, Kept, Kept + 1}).Draw(t, "n")
				for range n {
					if f.Listening() {
						said++
					}
					say(f, said)
				}
			},
			"come": func(t *rapid.T) {
				if len(all) < 4 {
					r, err := f.Read(All, "")
					if err != nil {
						t.Fatal(err)
					}
					all = append(all, &watcher{r, said})
				}
			},
			"come back": func(t *rapid.T) {
				if len(all) == 0 {
					t.Skip()
				}
				w := all[rapid.IntRange(0, len(all)-1).Draw(t, "who")]
				id := w.r.ID()
				w.r.Close()
				r, err := f.Read(All, id)
				if err != nil {
					t.Fatal(err)
				}
				w.r = r
			},
			"read": func(t *rapid.T) {
				if len(all) == 0 {
					t.Skip()
				}
				w := all[rapid.IntRange(0, len(all)-1).Draw(t, "who")]
				if w.seen == said {
					t.Skip()
				}
				events, lost, err := w.r.Next(context.Background(), 0)
				if err != nil || lost < 0 {
					t.Fatal(lost, err)
				}
				w.seen += int(lost)
				for _, e := range events {
					w.seen++
					if idOf(e) != strconv.Itoa(w.seen) {
						t.Fatalf("got %s, want %d", idOf(e), w.seen)
					}
				}
				if len(events) == 0 {
					t.Fatal("nothing came")
				}
			},
		})
	})
}
