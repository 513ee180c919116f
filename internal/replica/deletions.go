package replica

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"evergate/internal/threads"
)

// Deletions are pages that name the answers that clients deleted last at an instance, so that others do not answer for them out of their memory.
const Deletions Topic = "deleted"

// Answers are those that this instance has in memory. Its methods are safe for concurrent use and do no I/O.
type Answers interface {
	// Deleted are those that were deleted here since it was last called.
	Deleted() []threads.Deletion
	// Forget drops what was deleted elsewhere.
	Forget(deleted []threads.Deletion)
}

const (
	// A page has so many deletions at most. The last ones are told again with those that come, in case somebody missed one.
	maxDeletions = 500
	// maxDeletionPages is how many pages an instance puts where there are more deletions at once.
	maxDeletionPages = 8
	// deletionsEvery is after how many rounds they are read, by those that did not hear of them at once.
	deletionsEvery = 12
)

type deletionsBody struct {
	Version int         `json:"v"`
	Deleted [][2]string `json:"d"` // owner and id
}

// deleting is where the rounds of deletions stand. It belongs to the goroutine of the rounds.
type deleting struct {
	last     []threads.Deletion
	untold   int // of the last, how many the store does not have
	sequence uint64
	rounds   int
	read     time.Time // up to where they were read, by the store's clock
}

// forgetAnswers tells of deletions, and hears of others'.
func (f *Fleet) forgetAnswers(ctx context.Context, store Store) error {
	if f.o.Answers == nil {
		return nil
	}
	d := &f.deleting
	if deleted := f.o.Answers.Deleted(); len(deleted) > 0 {
		d.untold = min(d.untold+len(deleted), maxDeletionPages*maxDeletions)
		d.last = append(d.last, deleted...)
		d.last = d.last[max(0, len(d.last)-max(d.untold, maxDeletions)):]
	}
	if d.untold > 0 {
		d.sequence++
		pages := d.pages(f.o.Self.ID)
		if err := f.call(ctx, func(ctx context.Context) error { return store.Put(ctx, pages) }); err != nil {
			return err
		}
		d.untold = 0
	}
	f.mu.Lock()
	now := f.clock.theirs(f.o.Now())
	f.mu.Unlock()
	if d.rounds++; d.rounds%deletionsEvery != 1 {
		return nil
	}
	since := now.Add(-2 * deletionsEvery * f.o.Interval)
	if before := d.read.Add(-f.overlap()); !d.read.IsZero() && before.Before(since) { // the store was away
		since = before
	}
	var pages []Page
	err := f.call(ctx, func(ctx context.Context) (err error) {
		pages, err = store.Read(ctx, Deletions, since, maxNews)
		return err
	})
	if err != nil {
		return err
	}
	d.read = now
	for i := range pages {
		f.hearDeletions(&pages[i])
	}
	return nil
}

// hearDeletions takes what another instance deleted.
func (f *Fleet) hearDeletions(p *Page) {
	if f.o.Answers != nil && p.Instance != f.o.Self.ID {
		f.o.Answers.Forget(decodeDeletions(p.Body))
	}
}

// pages are those of the last deletions, the latest first.
func (d *deleting) pages(instance string) (out []Page) {
	for rest := d.last; len(rest) > 0 && len(out) < maxDeletionPages; {
		p := Page{Instance: instance, Topic: Deletions, Sequence: d.sequence}
		if len(out) > 0 {
			p.Key = strconv.Itoa(len(out))
		}
		p.Body, rest = encodeDeletions(rest)
		out = append(out, p)
	}
	return out
}

// encodeDeletions is the body of a page of the last of some deletions, as many as it holds, and gives those before them. One that no page holds is passed over.
func encodeDeletions(last []threads.Deletion) (text []byte, before []threads.Deletion) {
	for from := max(0, len(last)-maxDeletions); ; from = (from + len(last) + 1) / 2 {
		body := deletionsBody{Version: pageVersion, Deleted: [][2]string{}}
		for i := range last[from:] {
			body.Deleted = append(body.Deleted, [2]string{last[from+i].Owner, last[from+i].ID})
		}
		text, err := json.Marshal(&body)
		if err != nil {
			return nil, nil // there is nothing in it that JSON cannot say
		}
		if len(text) <= MaxBody {
			return text, last[:min(from, len(last)-1)]
		}
	}
}

// decodeDeletions reads a page of deletions; nothing from one that this program does not know.
func decodeDeletions(text []byte) []threads.Deletion {
	var body deletionsBody
	if len(text) > MaxBody || json.Unmarshal(text, &body) != nil || body.Version != pageVersion {
		return nil
	}
	out := make([]threads.Deletion, 0, min(len(body.Deleted), maxDeletions))
	for _, d := range body.Deleted[:min(len(body.Deleted), maxDeletions)] {
		out = append(out, threads.Deletion{Owner: d[0], ID: d[1]})
	}
	return out
}
