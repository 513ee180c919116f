package postgres

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"evergate/internal/ledger"
)

// ledgerStore is the ledger of a schema. Safe for concurrent use.
type ledgerStore struct{ store *Store }

// ledgerCalls run at once: replication has the other connections, however long somebody's question takes.
const ledgerCalls = 2

// Ledger gives the ledger of the same schema.
func (s *Store) Ledger() ledger.Store { return ledgerStore{s} }

// turn waits for one; done gives it back.
func (l ledgerStore) turn(ctx context.Context) (done func(), err error) {
	select {
	case l.store.ledgerTurns <- struct{}{}:
		return func() { <-l.store.ledgerTurns }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// ask runs do with a connection.
func ask[T any](ctx context.Context, l ledgerStore, what string, do func(context.Context, *pgxpool.Conn, *ledgerSQL) (T, error)) (T, error) {
	done, err := l.turn(ctx)
	if err != nil {
		var zero T
		return zero, err
	}
	defer done()
	return call(ctx, l.store, what, func(ctx context.Context, conn *pgxpool.Conn, q *sql) (T, error) { return do(ctx, conn, &q.ledger) })
}

// column is a text as a column has it: what an index can hold. It is the same for the same text, and for others only by their first 256 characters.
func column(s string) string {
	s = text(s)
	if len(s) <= columnBytes {
		return s
	}
	n := columnBytes
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

const columnBytes = 256

// Words of requests, told apart by the letter before them.
const (
	wordProvider = "p "
	wordModel    = "m "
	wordDrill    = "d "
)

// Write takes five round trips, and commits as the server does by itself: what is acknowledged is on its disk.
func (l ledgerStore) Write(ctx context.Context, b ledger.Batch) error {
	if b.Len() == 0 {
		return ctx.Err()
	}
	all, err := b.All()
	if err != nil {
		return err
	}
	requests, words := requestArgs(all)
	entries := entryArgs(b.Entries)
	_, err = ask(ctx, l, "write to the ledger", func(ctx context.Context, conn *pgxpool.Conn, q *ledgerSQL) (bool, error) {
		return true, pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `SELECT set_config('lock_timeout', '5s', true)`); err != nil {
				return err
			}
			if len(b.Entries) > 0 {
				if _, err := tx.Exec(ctx, q.putEntries, entries...); err != nil {
					return err
				}
			}
			if len(all) == 0 {
				return nil
			}
			found, err := tx.Query(ctx, q.putRequests, append(requests, words...)...)
			if err != nil {
				return err
			}
			added, err := pgx.CollectRows(found, pgx.RowTo[string])
			if err != nil || len(added) == 0 {
				return err
			}
			_, err = tx.Exec(ctx, q.addSums, sumArgs(all, added)...)
			return err
		})
	})
	return err
}

// requestArgs are the columns of requests, and of the words of theirs that have no column.
func requestArgs(all []ledger.Request) (columns, words []any) {
	n := len(all)
	var texts [8][]string // row, id, kind, key, route, provider, model, code
	statuses, bodies := make([]int32, 0, n), make([][]byte, 0, n)
	var failed, rescued, drilled []bool
	var wordOf, word []string
	for i := range all {
		r := &all[i]
		model := r.Model
		if r.Provider == "" {
			model = "" // of an answer that nobody gave
		}
		for j, s := range [...]string{string(r.Row), r.ID, r.Kind, r.Key, r.Route, r.Provider, model, r.Code} {
			texts[j] = append(texts[j], column(s))
		}
		statuses = append(statuses, int32(r.Status)) //nolint:gosec // three digits
		failed, rescued = append(failed, r.Account.Failed), append(rescued, r.Account.Rescued)
		own := wordsOf(r)
		drilled = append(drilled, slices.ContainsFunc(own, func(w string) bool { return strings.HasPrefix(w, wordDrill) }))
		for _, w := range own {
			wordOf, word = append(wordOf, string(r.Row)), append(word, w)
		}
		bodies = append(bodies, ledger.AppendRequest(nil, r))
	}
	for _, column := range texts {
		columns = append(columns, column)
	}
	return append(columns, statuses, failed, rescued, drilled, bodies), []any{wordOf, word}
}

// wordsOf are the words that a request can be found by beside its columns.
func wordsOf(r *ledger.Request) []string {
	var out []string
	add := func(kind, s, but string) {
		if w := kind + column(s); s != "" && s != but && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	for i := range r.Trail {
		s := &r.Trail[i]
		if !s.Skipped {
			add(wordProvider, s.Provider, r.Provider)
			add(wordModel, s.Model, r.Model)
		}
		add(wordDrill, s.Drill, "")
	}
	return out
}

func entryArgs(all []ledger.Entry) []any {
	var texts [4][]string // row, kind, provider, request's id
	var bodies [][]byte
	for i := range all {
		e := &all[i]
		for j, s := range [...]string{string(e.Row), e.Kind, e.Provider, e.RequestID} {
			texts[j] = append(texts[j], column(s))
		}
		bodies = append(bodies, ledger.AppendEntry(nil, e))
	}
	return []any{texts[0], texts[1], texts[2], texts[3], bodies}
}

// minuteByRoute is the step of sums of a minute by route alone, of which an overview of a day reads a fraction.
const minuteByRoute = ledger.Step(3)

// sumKey is a row of sums.
type sumKey struct {
	step ledger.Step
	at   int64
	ledger.Group
}

// sumArgs are the columns of what the rows that were added come to.
func sumArgs(all []ledger.Request, added []string) []any {
	isNew := make(map[ledger.Row]bool, len(added))
	for _, row := range added {
		isNew[ledger.Row(row)] = true
	}
	sums := map[sumKey]*ledger.Sums{}
	for i := range all {
		r := &all[i]
		if !isNew[r.Row] {
			continue
		}
		delete(isNew, r.Row) // a batch may have a row twice
		ledger.Fold(r, func(g ledger.Group, s *ledger.Sums) {
			g = ledger.Group{Key: text(g.Key), Route: text(g.Route), Model: text(g.Model), Provider: text(g.Provider)}
			end := r.End()
			for _, k := range [...]sumKey{
				{ledger.Minute, ledger.Minute.Of(end).UnixMicro(), g},
				{ledger.Hour, ledger.Hour.Of(end).UnixMicro(), g},
				{minuteByRoute, ledger.Minute.Of(end).UnixMicro(), ledger.Group{Route: g.Route}},
			} {
				if sums[k] == nil {
					sums[k] = &ledger.Sums{}
				}
				sums[k].Add(s)
			}
		})
	}
	n := len(sums)
	steps, ats := make([]int32, 0, n), make([]int64, 0, n)
	var names [4][]string
	var numbers [ledger.SumCount][]int64
	for k := range sums {
		steps, ats = append(steps, int32(k.step)), append(ats, k.at)
		for i, s := range [...]string{k.Key, k.Route, k.Model, k.Provider} {
			names[i] = append(names[i], s)
		}
		for i, p := range sums[k].Numbers() {
			numbers[i] = append(numbers[i], *p)
		}
	}
	args := []any{steps, ats, names[0], names[1], names[2], names[3]}
	for i := range numbers {
		args = append(args, numbers[i])
	}
	return args
}

// newest is the last row of a time, in a query: there are none later than that of no bound.
func newest(below ledger.Row) string {
	if below == "" {
		return "ffffffffffffffffffffffffffffffff"
	}
	return string(below)
}

// oldest is the first row of a time.
func oldest(from ledger.Row) string {
	if from == "" {
		return "00000000000000000000000000000000"
	}
	return string(from)
}

// when reads a bucket's time.
func when(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}
