package admin

import (
	"context"
	"net/http"
	"time"

	"evergate/internal/ledger"
)

// askStore is how long the ledger's store may take to answer.
const askStore = 10 * time.Second

// requestPage is the reply of GET /admin/v1/requests.
type requestPage struct {
	Requests []request `json:"requests"`
	Next     string    `json:"next"`
	Dropped  uint64    `json:"dropped"`
}

// requests lists requests that ended, the newest first.
func (a *handler) requests(w http.ResponseWriter, r *http.Request) {
	p := parameters(r, "limit", "cursor", "from", "to", "id", "key", "route", "model", "provider", "code", "status", "failed", "rescued", "drill", "q")
	from, to := p.span()
	q := ledger.RequestQuery{
		From: from, To: to, ID: p.text("id"), Key: p.text("key"), Route: p.text("route"), Model: p.text("model"), Provider: p.text("provider"),
		Code: p.text("code"), Status: p.status(), Failed: p.flag("failed"), Rescued: p.flag("rescued"), Drill: p.text("drill"), Text: p.text("q"),
		Cursor: p.cursor(), Limit: p.limit(),
	}
	if q.Drill == "true" { // whichever
		q.Drill, q.Drilled = "", true
	}
	if p.wrong != nil {
		p.wrong.write(w)
		return
	}
	a.ask(w, r, func(ctx context.Context, store ledger.Store) error {
		page, err := store.Requests(ctx, q)
		if err != nil {
			return err
		}
		reply := requestPage{Requests: make([]request, 0, len(page.Requests)), Next: string(page.Next)}
		for i := range page.Requests {
			reply.Requests = append(reply.Requests, newRequest(&page.Requests[i]))
		}
		if a.sources.Dropped != nil {
			reply.Dropped = a.sources.Dropped()
		}
		writeJSON(w, http.StatusOK, reply)
		return nil
	})
}

// request shows one request with its trail.
func (a *handler) request(w http.ResponseWriter, r *http.Request) {
	if p := parameters(r); p.wrong != nil {
		p.wrong.write(w)
		return
	}
	a.keptRequest(w, r, func(found *ledger.Request) any { return newDetail(found) })
}

// keptRequest shows the request of the path.
func (a *handler) keptRequest(w http.ResponseWriter, r *http.Request, show func(*ledger.Request) any) {
	ctx, cancel := context.WithTimeout(r.Context(), askStore)
	defer cancel()
	id := r.PathValue("id")
	var found *ledger.Request
	var ok bool
	var err error
	if len(id) <= maxParam && storable(id) { // else no request has it
		found, ok, err = a.sources.Request(ctx, id)
	}
	switch {
	case err != nil:
		unavailable(w)
	case !ok:
		writeError(w, http.StatusNotFound, "not_found", "no request of this id is kept")
	default:
		writeJSON(w, http.StatusOK, show(found))
	}
}

// ask has the ledger's store asked; its errors are told in general words, for they may hold more than an answer should.
func (a *handler) ask(w http.ResponseWriter, r *http.Request, question func(context.Context, ledger.Store) error) {
	ctx, cancel := context.WithTimeout(r.Context(), askStore)
	defer cancel()
	store := a.sources.Ledger()
	if store == nil || question(ctx, store) != nil {
		unavailable(w)
	}
}

func unavailable(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "5")
	writeError(w, http.StatusServiceUnavailable, "ledger_unavailable", "the store of the ledger cannot be read now; GET /admin/v1/health says how it fares")
}
