package ledger

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/journal"
)

// list is a store that has some rows, the newest first.
type list struct {
	Store

	rows []Request
	err  error
	hang atomic.Bool
	size int // rows of a page; 0: all
}

func (l *list) Write(ctx context.Context, b Batch) error {
	if l.hang.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	all, err := b.All()
	l.rows = append(all, l.rows...)
	return errors.Join(err, l.err)
}

func (l *list) Expire(context.Context, Retention) error { return nil }

func (l *list) Request(_ context.Context, id string) (*Request, bool, error) {
	for i := range l.rows {
		if r := &l.rows[i]; r.ID == id || string(r.Row) == id {
			return r, true, l.err
		}
	}
	return nil, false, l.err
}

func (l *list) Requests(_ context.Context, q RequestQuery) (page RequestPage, err error) {
	for i := range l.rows {
		if !q.Matches(&l.rows[i]) {
			continue
		}
		if l.size > 0 && len(page.Requests) == l.size {
			page.Next = page.Requests[l.size-1].Row
			break
		}
		r := l.rows[i]
		r.Body = nil
		page.Requests = append(page.Requests, r)
	}
	return page, l.err
}

func TestFind(t *testing.T) {
	t.Parallel()
	numbers := NewNumbers("a1")
	row := func(at int64, id, kind string) Request {
		r := Request{Row: numbers.Row(time.Unix(at, 0)), Kind: kind, Body: &Body{Request: "asked"}}
		r.ID = id
		return r
	}
	store := &list{size: 1, rows: []Request{
		row(9, "req_12", KindMirror), row(8, "req_1", KindMirror), row(7, "req_12", KindRequest), row(6, "req_13", KindRequest),
		row(5, "req_1", KindRequest), row(4, "req_2", KindMirror),
	}}
	for name, c := range map[string]struct {
		id   string
		want int // index; -1: none
	}{
		"a request, not its copy, though that is newer":     {"req_1", 4},
		"a longer id is another one":                        {"req_12", 2},
		"no copy":                                           {"req_13", 3},
		"a copy of what is not kept is better than nothing": {"req_2", 5},
		"a copy by its row":                                 {string(store.rows[1].Row), 1},
		"the beginning of an id is none":                    {"req_", -1},
	} {
		r, ok, err := Find(t.Context(), store, c.id)
		if err != nil || ok != (c.want >= 0) || ok && (r.Row != store.rows[c.want].Row || r.Body == nil) {
			t.Errorf("%s: %+v %t %v", name, r, ok, err)
		}
	}
	store.err = errors.New("lost")
	if _, _, err := Find(t.Context(), store, "req_1"); err == nil {
		t.Error("a store that is lost has an answer")
	}
}

// A request can be found as soon as it has ended, also while the store takes nothing.
func TestFindWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &list{}
		var lost atomic.Bool
		w := NewWriter(Options{Instance: "a1", Redact: func(b []byte) []byte { return b }, Store: func() Store {
			if lost.Load() {
				return nil
			}
			return store
		}})
		w.Start()
		ended := func(id string) {
			f := numberedFact(1)
			f.ID, f.Status = id, 503
			f.Bodies = &journal.Bodies{Limit: 100, Request: journal.Copy{Text: []byte("asked"), Size: 5}}
			w.RequestEnded(f)
		}
		find := func(id string, body bool) {
			t.Helper()
			r, ok, err := w.Find(t.Context(), id)
			if err != nil || !ok || r.ID != id || !r.Account.Failed || (r.Body != nil) != body {
				t.Errorf("%s: %+v %t %v", id, r, ok, err)
			}
		}
		ended("r1")
		find("r1", true)
		if _, ok, err := w.Find(t.Context(), "r2"); ok || err != nil {
			t.Errorf("what never was: %t %v", ok, err)
		}
		store.hang.Store(true)
		ended("r2")
		time.Sleep(time.Second) // it is being written
		ended("r3")             // it waits behind that
		w.MirrorEnded(&journal.Mirror{RequestID: "r3", Credential: "default"})
		for _, id := range []string{"r2", "r3"} {
			find(id, false)
		}
		lost.Store(true)
		find("r3", false)
		if _, ok, err := w.Find(t.Context(), "r9"); ok || err == nil {
			t.Errorf("nobody can know: %t %v", ok, err)
		}
		lost.Store(false)
		store.hang.Store(false)
		time.Sleep(time.Minute)
		find("r3", true)
		_ = w.Stop(t.Context())
		find("r3", true)
	})
}
