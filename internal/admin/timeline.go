package admin

import (
	"context"
	"net/http"

	"evergate/internal/ledger"
)

// timelinePage is the reply of GET /admin/v1/timeline and of GET /admin/v1/audit.
type timelinePage struct {
	Entries []entry `json:"entries"`
	Next    string  `json:"next"`
}

var entryKinds = []string{ledger.EntryGuard, ledger.EntryOrder, ledger.EntryDiscovery, ledger.EntryChange, ledger.EntryProbe}

// timeline lists what happened to guards, discovery and by hand, the newest first.
func (a *handler) timeline(w http.ResponseWriter, r *http.Request) {
	p := parameters(r, "limit", "cursor", "from", "to", "provider", "kinds", "request_id")
	a.entries(w, r, p, p.words("kinds", entryKinds...))
}

// audit lists who changed what, and why.
func (a *handler) audit(w http.ResponseWriter, r *http.Request) {
	a.entries(w, r, parameters(r, "limit", "cursor", "from", "to", "provider"), []string{ledger.EntryOrder, ledger.EntryChange})
}

func (a *handler) entries(w http.ResponseWriter, r *http.Request, p *params, kinds []string) {
	from, to := p.span()
	q := ledger.TimelineQuery{
		From: from, To: to, Kinds: kinds, Provider: p.text("provider"), RequestID: p.text("request_id"), Cursor: p.cursor(), Limit: p.limit(),
	}
	if p.wrong != nil {
		p.wrong.write(w)
		return
	}
	a.ask(w, r, func(ctx context.Context, store ledger.Store) error {
		page, err := store.Timeline(ctx, q)
		if err != nil {
			return err
		}
		reply := timelinePage{Entries: make([]entry, 0, len(page.Entries)), Next: string(page.Next)}
		for i := range page.Entries {
			reply.Entries = append(reply.Entries, newEntry(&page.Entries[i]))
		}
		writeJSON(w, http.StatusOK, reply)
		return nil
	})
}
