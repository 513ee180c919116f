package postgres

import (
	"context"
	"errors"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"evergate/internal/ledger"
)

// wanted is what a page is made of.
type wanted[T any] struct {
	table, words string
	from, below  ledger.Row
	size         int
	// exact: the conditions find nothing that matches does not want.
	exact   bool
	decode  func([]byte) (*T, error)
	matches func(*T) bool
	row     func(*T) ledger.Row
}

// turnPage answers with two statements at most.
func turnPage[T any](ctx context.Context, conn *pgxpool.Conn, q *question, all []clause, w wanted[T]) (found []T, next ledger.Row, err error) {
	between := q.between(w.from, w.below)
	most := w.size + 1
	if !w.exact {
		most = ledger.MaxLooked
	}
	statement, edge := page(w.table, w.words, all, between, strconv.Itoa(most))
	statement, args := q.whole(statement)
	rows, err := conn.Query(ctx, statement, args...)
	if err != nil {
		return nil, "", err
	}
	defer rows.Close()
	looked, broken, last := 0, false, ""
	for ; len(found) <= w.size && rows.Next(); looked++ {
		var body []byte
		if err := rows.Scan(&body, &last); err != nil {
			return nil, "", err
		}
		item, err := w.decode(body)
		if err != nil { // of a newer program, or broken: it must not hide the others
			broken = true
			continue
		}
		if w.matches(item) {
			found = append(found, *item)
		}
	}
	rows.Close()
	if err := rows.Err(); err != nil {
		return nil, "", err
	}
	if len(found) > w.size {
		found = found[:w.size]
		return found, w.row(&found[w.size-1]), nil
	}
	if w.exact && broken && looked == most {
		return found, ledger.Row(last), nil
	}
	edge, args = q.whole(edge)
	switch err := conn.QueryRow(ctx, edge, args...).Scan(&last); {
	case errors.Is(err, pgx.ErrNoRows):
		return found, "", nil
	case err != nil:
		return nil, "", err
	}
	next = ledger.Row(last)
	for len(found) > 0 && w.row(&found[len(found)-1]) < next {
		found = found[:len(found)-1]
	}
	return found, next, nil
}

// Requests takes one round trip, and another one for a page that is not full.
func (l ledgerStore) Requests(ctx context.Context, w ledger.RequestQuery) (ledger.RequestPage, error) {
	return ask(ctx, l, "read the ledger", func(ctx context.Context, conn *pgxpool.Conn, s *ledgerSQL) (page ledger.RequestPage, err error) {
		q := &question{}
		from, below := w.Bounds()
		page.Requests, page.Next, err = turnPage(ctx, conn, q, q.requests(&w), wanted[ledger.Request]{
			table: s.requests, words: s.words, from: from, below: below, size: w.Size(),
			exact:  w.Text == "" && (w.Provider == "" || w.Model == "") && (w.ID == "" || column(w.ID) == w.ID),
			decode: ledger.DecodeListed, matches: w.Matches, row: func(r *ledger.Request) ledger.Row { return r.Row },
		})
		return page, err
	})
}

// Timeline takes one round trip, and another one for a page that is not full.
func (l ledgerStore) Timeline(ctx context.Context, w ledger.TimelineQuery) (ledger.TimelinePage, error) {
	return ask(ctx, l, "read the timeline", func(ctx context.Context, conn *pgxpool.Conn, s *ledgerSQL) (page ledger.TimelinePage, err error) {
		q := &question{}
		from, below := w.Bounds()
		page.Entries, page.Next, err = turnPage(ctx, conn, q, q.timeline(&w), wanted[ledger.Entry]{
			table: s.timeline, from: from, below: below, size: w.Size(), exact: true,
			decode: ledger.DecodeEntry, matches: w.Matches, row: func(e *ledger.Entry) ledger.Row { return e.Row },
		})
		return page, err
	})
}

// Request takes one round trip, and another one for what is not a row's name.
func (l ledgerStore) Request(ctx context.Context, id string) (*ledger.Request, bool, error) {
	r, err := ask(ctx, l, "read a request", func(ctx context.Context, conn *pgxpool.Conn, s *ledgerSQL) (*ledger.Request, error) {
		var body []byte
		err := pgx.ErrNoRows
		if _, isRow := ledger.Row(id).Bytes(); isRow {
			err = conn.QueryRow(ctx, s.byRow, id).Scan(&body)
		}
		if errors.Is(err, pgx.ErrNoRows) {
			err = conn.QueryRow(ctx, s.byID, column(id)).Scan(&body)
		}
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return nil, nil //nolint:nilnil // there is none
		case err != nil:
			return nil, err
		}
		return ledger.DecodeRequest(body)
	})
	return r, r != nil, err
}
