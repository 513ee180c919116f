package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"evergate/internal/ledger"
)

// LockOf is the number of the advisory lock that a schema's migration takes.
var LockOf = lockOf

// CountsTidied sets when counts that have ended were last taken away, in Unix seconds.
func (s *Store) CountsTidied(at int64) { s.counts.tidied.Store(at) }

// Versions are those of all migrations, in their order.
func Versions() string {
	all, err := ordered(migrations)
	if err != nil {
		return err.Error()
	}
	var out []string
	for _, m := range all {
		out = append(out, fmt.Sprint(m.version))
	}
	return strings.Join(out, " ")
}

// ExplainRequests is the server's plan for a page of requests.
func (s *Store) ExplainRequests(ctx context.Context, w ledger.RequestQuery) (string, error) {
	from, below := w.Bounds()
	q := &question{}
	return s.explain(ctx, q, func(l *ledgerSQL) (string, string, []clause) { return l.requests, l.words, q.requests(&w) }, from, below)
}

// ExplainTimeline is the server's plan for a page of the timeline.
func (s *Store) ExplainTimeline(ctx context.Context, w ledger.TimelineQuery) (string, error) {
	from, below := w.Bounds()
	q := &question{}
	return s.explain(ctx, q, func(l *ledgerSQL) (string, string, []clause) { return l.timeline, "", q.timeline(&w) }, from, below)
}

func (s *Store) explain(ctx context.Context, q *question, of func(*ledgerSQL) (string, string, []clause), from, below ledger.Row) (string, error) {
	return call(ctx, s, "explain", func(ctx context.Context, conn *pgxpool.Conn, sql *sql) (string, error) {
		table, words, all := of(&sql.ledger)
		rows, edge := page(table, words, all, q.between(from, below), "101")
		var plan []string
		err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			// Of few rows reading them all is the quickest, of many it is the slowest.
			if _, err := tx.Exec(ctx, "SET LOCAL enable_seqscan = off"); err != nil {
				return err
			}
			for _, statement := range []string{rows, edge} {
				statement, args := q.whole(statement)
				found, err := tx.Query(ctx, "EXPLAIN "+statement, args...)
				if err != nil {
					return err
				}
				lines, err := pgx.CollectRows(found, pgx.RowTo[string])
				if err != nil {
					return err
				}
				plan = append(plan, lines...)
			}
			return nil
		})
		return strings.Join(plan, "\n"), err
	})
}
