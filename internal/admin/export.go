package admin

import (
	"context"
	"net/http"
	"time"

	"evergate/internal/ledger"
)

// maxExports is how many exports are made at a time: each keeps the ledger's store busy for as long as it lasts.
const maxExports = 2

// export writes the rows of a time, the one that ended last first, page by page: no more than a page, and a group of a Parquet file, is in memory.
// What ends during it is not in it.
func (a *handler) export(w http.ResponseWriter, r *http.Request) {
	p := parameters(r, "kind", "from", "to", "key", "route", "format")
	from, to := p.span()
	if to.IsZero() || to.After(p.now) {
		to = p.now
	}
	if from.IsZero() {
		from = to.Add(-24 * time.Hour)
	}
	q := ledger.RequestQuery{From: from, To: to, Key: p.text("key"), Route: p.text("route"), Kind: ledger.AnyKind, Limit: ledger.MaxPage}
	attempts := p.choice("kind", "requests", "attempts") == "attempts"
	format := p.choice("format", "csv", "json", "jsonl", "parquet")
	if p.wrong != nil {
		p.wrong.write(w)
		return
	}
	if a.exports.Add(1) > maxExports {
		a.exports.Add(-1)
		w.Header().Set("Retry-After", "10")
		writeError(w, http.StatusTooManyRequests, "busy", "other exports are under way; ask again when they are done")
		return
	}
	defer a.exports.Add(-1)
	var page ledger.RequestPage
	read := func(ctx context.Context, store ledger.Store) (err error) {
		page, err = store.Requests(ctx, q)
		return err
	}
	begun := false
	a.ask(w, r, func(ctx context.Context, store ledger.Store) error { // the first page says whether there is an answer
		err := read(ctx, store)
		begun = err == nil
		return err
	})
	if !begun {
		return
	}
	columns, name := requestColumns(), "requests."
	if attempts {
		columns, name = attemptColumns(), "attempts."
	}
	h := w.Header()
	h.Set("Content-Type", exportTypes[format])
	h.Set("Content-Disposition", `attachment; filename="`+name+format+`"`)
	h.Set("Cache-Control", "no-store")
	if r.Method == http.MethodHead { // whose answer has no rows
		return
	}
	x := &exporting{w: w, control: http.NewResponseController(w), columns: columns, attempts: attempts, words: a.sources.Words, cells: make([]datum, len(columns))}
	x.form = newExportForm(format, w, columns)
	for {
		err := x.page(page.Requests)
		if err == nil && page.Next == "" {
			x.limit()
			err = x.form.end()
			if err == nil {
				return
			}
		}
		if q.Cursor = page.Next; err == nil {
			err = a.again(r.Context(), read)
		}
		if err != nil {
			panic(http.ErrAbortHandler) //nolint:forbidigo // net/http's way to break a reply off: a table that ended early must not look whole
		}
	}
}

// again asks the ledger's store for more.
func (a *handler) again(ctx context.Context, read func(context.Context, ledger.Store) error) error {
	ctx, cancel := context.WithTimeout(ctx, askStore)
	defer cancel()
	store := a.sources.Ledger()
	if store == nil {
		return context.Canceled
	}
	return read(ctx, store)
}

// exporting is an export under way.
type exporting struct {
	w        http.ResponseWriter
	control  *http.ResponseController
	columns  []exportColumn
	attempts bool
	words    func(key string) KeyWords
	form     exportForm
	cells    []datum
}

// limit gives the client time to take what comes next.
func (x *exporting) limit() {
	_ = x.control.SetWriteDeadline(time.Now().Add(writeTimeout)) // a writer without deadlines (tests) has no slow client either
}

// page writes the rows of a page, and has them sent.
func (x *exporting) page(rows []ledger.Request) error {
	x.limit()
	for i := range rows {
		if err := rowsOf(&rows[i], x.attempts, x.of(rows[i].Key), x.row); err != nil {
			return err
		}
	}
	if err := x.form.flush(); err != nil {
		return err
	}
	return x.control.Flush()
}

func (x *exporting) of(key string) KeyWords {
	if x.words == nil || key == "" {
		return KeyWords{}
	}
	return x.words(key)
}

func (x *exporting) row(e *exported) error {
	for i := range x.columns {
		x.cells[i] = x.columns[i].value(e)
	}
	return x.form.row(x.cells)
}
