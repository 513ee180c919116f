package ledger

import (
	"context"
	"time"
)

// flushFor is how long Find waits for a row that is on its way to the store.
const flushFor = time.Second

// Find is the function Find for the writer's store. Rows that are not yet written are found, too: they are written
// first, and if that cannot be they come without a body.
func (w *Writer) Find(ctx context.Context, id string) (*Request, bool, error) {
	var waiting *Request
	for _, b := range w.queue.find(id) {
		if r, err := DecodeRequest(b); err == nil && (waiting == nil || r.Kind == KindRequest || waiting.Kind != KindRequest) {
			waiting = r
		}
	}
	if waiting != nil {
		if waiting.Kind == KindRequest {
			waiting.Account = AccountOf(&waiting.Request)
		}
		bounded, cancel := context.WithTimeout(ctx, flushFor)
		_ = w.Flush(bounded) // else the row that waits must do
		cancel()
	}
	store := w.o.Store()
	if store == nil {
		if waiting != nil {
			return waiting, true, nil
		}
		return nil, false, errNoStore
	}
	r, ok, err := Find(ctx, store, id)
	if !ok && waiting != nil {
		return waiting, true, nil
	}
	return r, ok, err
}

// Find gives one request of a store, by its row or by its id. It prefers a client's request to copies of it for a mirror, which have the same id and are newer.
func Find(ctx context.Context, store Store, id string) (*Request, bool, error) {
	r, ok, err := store.Request(ctx, id)
	if err != nil || !ok || r.Kind == KindRequest || string(r.Row) == id {
		return r, ok, err
	}
	for q := (RequestQuery{ID: id}); ; {
		page, err := store.Requests(ctx, q)
		if err != nil {
			return nil, false, err
		}
		for i := range page.Requests {
			if page.Requests[i].ID == id {
				return store.Request(ctx, string(page.Requests[i].Row)) // a list has no bodies
			}
		}
		if page.Next == "" {
			return r, true, nil
		}
		q.Cursor = page.Next
	}
}
