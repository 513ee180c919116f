package replica

import (
	"context"
	"encoding/json"
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
	// A page has the last so many deletions, in case somebody missed one.
	maxDeletions = 500
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
	unput    bool
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
		d.last = append(d.last, deleted...)
		d.last = d.last[max(0, len(d.last)-maxDeletions):]
		d.unput = true
	}
	if d.unput {
		d.sequence++
		p := Page{Instance: f.o.Self.ID, Topic: Deletions, Sequence: d.sequence, Body: encodeDeletions(d.last)}
		if err := f.call(ctx, func(ctx context.Context) error { return store.Put(ctx, []Page{p}) }); err != nil {
			return err
		}
		d.unput = false
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

// encodeDeletions is the body of a page of deletions, without the oldest if they are too long.
func encodeDeletions(last []threads.Deletion) []byte {
	for ; ; last = last[(len(last)+1)/2:] {
		body := deletionsBody{Version: pageVersion, Deleted: [][2]string{}}
		for i := range last {
			body.Deleted = append(body.Deleted, [2]string{last[i].Owner, last[i].ID})
		}
		text, err := json.Marshal(&body)
		if err != nil {
			return nil // there is nothing in it that JSON cannot say
		}
		if len(text) <= MaxBody {
			return text
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
