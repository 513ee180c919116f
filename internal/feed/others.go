package feed

import (
	"context"
	"slices"
	"time"

	"evergate/internal/ledger"
)

const (
	// askOthers is how often the store is asked while somebody watches.
	askOthers = time.Second
	// lookBack is how late an entry may come to the store, by its own time and another instance's clock, and still be told.
	lookBack = 30 * time.Second
	// maxAsked is how many entries are read at once: more of one look back are in the timeline alone.
	maxAsked = 4 * ledger.MaxPage
)

// Others tells those who watch a feed what other instances of the fleet entered into the timeline of the store that they share. The store is asked only while
// somebody watches. What an instance could not write in time is in the timeline alone. Requests are not told: there may be any number of them.
type Others struct {
	Feed *Feed
	// Instance is this process's name, whose entries the feed has heard itself.
	Instance string
	// Store gives the ledger's store while it is reached, else nil.
	Store func() ledger.Store

	seen map[ledger.Row]struct{} // of the last look back; nil: nobody watched
}

// Run asks until ctx ends.
func (o *Others) Run(ctx context.Context) {
	tick := time.NewTicker(askOthers)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if !o.Feed.Listening() {
			o.seen = nil
			continue
		}
		bounded, cancel := context.WithTimeout(ctx, lookBack/3)
		_ = o.ask(bounded, time.Now()) // the next time asks for the same
		cancel()
	}
}

// ask tells what is new since the last time. The first time all is old: who begins to watch is told of what happens from then on.
func (o *Others) ask(ctx context.Context, now time.Time) error {
	store := o.Store()
	if store == nil {
		return nil
	}
	q := ledger.TimelineQuery{From: now.Add(-lookBack), Limit: ledger.MaxPage}
	var entries []ledger.Entry
	for {
		page, err := store.Timeline(ctx, q)
		if err != nil {
			return err
		}
		entries = append(entries, page.Entries...)
		if q.Cursor = page.Next; q.Cursor == "" || len(entries) >= maxAsked {
			break
		}
	}
	seen := make(map[ledger.Row]struct{}, len(entries))
	for i := range slices.Backward(entries) { // the oldest first
		e := &entries[i]
		if e.Instance == o.Instance {
			continue
		}
		seen[e.Row] = struct{}{}
		if _, old := o.seen[e.Row]; !old && o.seen != nil {
			if kind, ok := kindOf(e.Kind); ok {
				o.Feed.publish(&Event{Kind: kind, row: ledger.AppendEntry(nil, e)})
			}
		}
	}
	o.seen = seen
	return nil
}
