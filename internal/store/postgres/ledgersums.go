package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"evergate/internal/ledger"
)

// Usage takes two round trips; for a drill one for each page of its rows.
func (l ledgerStore) Usage(ctx context.Context, w ledger.UsageQuery) ([]ledger.UsageRow, error) {
	if w.Drill != "" {
		return l.drilled(ctx, &w)
	}
	return ask(ctx, l, "sum the ledger", func(ctx context.Context, conn *pgxpool.Conn, s *ledgerSQL) ([]ledger.UsageRow, error) {
		var now int64
		if err := conn.QueryRow(ctx, `SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint`).Scan(&now); err != nil {
			return nil, err
		}
		q := &question{}
		statement, args := q.whole(q.usage(s.sums, &w, time.UnixMicro(now)))
		rows, err := conn.Query(ctx, statement, args...)
		if err != nil {
			return nil, err
		}
		all, err := pgx.CollectRows(rows, usageRow)
		ledger.SortUsage(all) // by bytes, whatever the database's order of texts is
		return all, err
	})
}

// usage is the statement for sums: grouped by what is asked for, and the rest empty.
func (q *question) usage(table string, w *ledger.UsageQuery, now time.Time) string {
	step, from, below := w.Buckets(now)
	if step == ledger.Minute && w.RoutesOnly() {
		step = minuteByRoute
	}
	where := []string{"t.step = " + q.arg(int32(step), "smallint")}
	if !from.IsZero() {
		where = append(where, "t.at >= "+q.arg(from.UnixMicro(), "bigint"))
	}
	if !below.IsZero() {
		where = append(where, "t.at < "+q.arg(below.UnixMicro(), "bigint"))
	}
	columns := []string{"0::bigint"}
	var groups []string
	if w.Step != ledger.Whole {
		columns, groups = []string{"t.at"}, []string{"t.at"}
	}
	for _, c := range []struct {
		name, only string
		by         bool
	}{{"key", w.Key, w.ByKey}, {"route", w.Route, w.ByRoute}, {"model", w.Model, w.ByModel}, {"provider", w.Provider, w.ByProvider}} {
		if c.only != "" {
			where = append(where, "t."+c.name+" = "+q.arg(text(c.only), "text"))
		}
		if !c.by {
			columns = append(columns, "''::text")
			continue
		}
		columns, groups = append(columns, "t."+c.name), append(groups, "t."+c.name)
	}
	for _, n := range ledger.SumNames() {
		columns = append(columns, fmt.Sprintf("least(sum(t.%s), %s)::bigint", n, most))
	}
	statement := "SELECT " + strings.Join(columns, ", ") + " FROM " + table + " t WHERE " + strings.Join(where, " AND ")
	if len(groups) > 0 {
		return statement + " GROUP BY " + strings.Join(groups, ", ")
	}
	return statement + " HAVING count(*) > 0"
}

func usageRow(row pgx.CollectableRow) (r ledger.UsageRow, err error) {
	var at int64
	var names [4]string
	into := []any{&at, &names[0], &names[1], &names[2], &names[3]}
	for _, p := range r.Numbers() {
		into = append(into, p)
	}
	if err := row.Scan(into...); err != nil {
		return r, err
	}
	for i, to := range []*string{&r.Key, &r.Route, &r.Model, &r.Provider} {
		if *to, err = untext(names[i]); err != nil {
			return r, fmt.Errorf("a name in the sums: %w", err)
		}
	}
	r.At = when(at)
	return r, nil
}

// drilled sums the rows of a drill.
func (l ledgerStore) drilled(ctx context.Context, w *ledger.UsageQuery) ([]ledger.UsageRow, error) {
	var totals ledger.Totals
	q := ledger.RequestQuery{From: w.From, To: w.To, Drill: w.Drill, Kind: ledger.AnyKind}
	for n := 0; n < ledger.MaxDrilled; {
		page, err := l.Requests(ctx, q)
		if err != nil {
			return nil, err
		}
		for i := range page.Requests {
			totals.AnswerRow(w, &page.Requests[i])
		}
		n += len(page.Requests)
		if q.Cursor = page.Next; page.Next == "" {
			break
		}
	}
	return totals.Rows(), nil
}

// expireAtOnce is how many rows one statement takes away.
const expireAtOnce = 2000

// Expire takes one round trip for every 2000 rows, and some to see how many there are.
func (l ledgerStore) Expire(ctx context.Context, keep ledger.Retention) error {
	now, err := l.number(ctx, func(*ledgerSQL) string { return `SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint` })
	if err != nil {
		return err
	}
	for _, e := range []struct {
		most       int
		edge, gone func(*ledgerSQL) string
	}{
		{keep.Requests, func(q *ledgerSQL) string { return q.edgeRequests }, func(q *ledgerSQL) string { return q.expireRequests }},
		{keep.Entries, func(q *ledgerSQL) string { return q.edgeEntries }, func(q *ledgerSQL) string { return q.expireEntries }},
	} {
		var first ledger.Row // that stays
		if keep.Age > 0 && !keep.ByNumber {
			first = ledger.RowsFrom(time.UnixMicro(now).Add(-keep.Age))
		}
		if e.most > 0 {
			edge, err := l.edge(ctx, e.edge, e.most)
			if err != nil {
				return err
			}
			first = max(first, edge)
		}
		if first == "" {
			continue
		}
		if err := l.remove(ctx, e.gone, string(first), expireAtOnce); err != nil {
			return err
		}
	}
	if keep.ByNumber {
		return nil
	}
	for step, life := range map[ledger.Step]time.Duration{ledger.Minute: ledger.KeepMinutes, minuteByRoute: ledger.KeepMinutes, ledger.Hour: ledger.KeepHours} {
		if err := l.remove(ctx, func(q *ledgerSQL) string { return q.expireSum }, int32(step), life.Microseconds(), expireAtOnce); err != nil {
			return err
		}
	}
	return nil
}

// number asks for one.
func (l ledgerStore) number(ctx context.Context, statement func(*ledgerSQL) string, args ...any) (int64, error) {
	return ask(ctx, l, "expire the ledger", func(ctx context.Context, conn *pgxpool.Conn, q *ledgerSQL) (n int64, err error) {
		err = conn.QueryRow(ctx, statement(q), args...).Scan(&n)
		return n, err
	})
}

// edge is the oldest row that stays, of so many; empty: there are not more.
func (l ledgerStore) edge(ctx context.Context, statement func(*ledgerSQL) string, most int) (ledger.Row, error) {
	return ask(ctx, l, "expire the ledger", func(ctx context.Context, conn *pgxpool.Conn, q *ledgerSQL) (ledger.Row, error) {
		rows, err := conn.Query(ctx, statement(q), int64(most)-1)
		if err != nil {
			return "", err
		}
		found, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil || len(found) == 0 {
			return "", err
		}
		return ledger.Row(found[0]), nil
	})
}

// remove runs a statement again as long as it finds as many rows as it may take.
func (l ledgerStore) remove(ctx context.Context, statement func(*ledgerSQL) string, args ...any) error {
	for {
		n, err := l.number(ctx, statement, args...)
		if err != nil || n < expireAtOnce {
			return err
		}
	}
}
