package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"evergate/internal/ledger"
)

// How a query is kept within its time whatever it asks for.
const (
	// sample is how many rows tell which of several words is the rarest.
	sample = 1000
	// looked is how many rows of the rarest word are held against the other words for one page.
	looked = 20_000
	// begin is how many rows may have an id of some beginning, so that they are all read.
	begin = 2000
)

// Requests implements ledger.Store.
func (l *Ledger) Requests(ctx context.Context, q ledger.RequestQuery) (page ledger.RequestPage, err error) {
	defer func() { err = explain(ctx, l.db.path, err) }()
	from, below := span(q.Bounds())
	words := q.Words()
	if q.ID != "" {
		few, err := l.few(ctx, q.ID)
		if err != nil {
			return page, err
		}
		if few {
			return l.page(ctx, &q, `
				SELECT r.body FROM request_words w CROSS JOIN requests r ON r.row = w.row
				WHERE w.word >= ? AND w.word < ? AND w.row >= ? AND w.row < ? ORDER BY w.row DESC`,
				append(prefix(ledger.WordOfID(q.ID)), from, below), "")
		}
	}
	if len(words) == 0 {
		return l.page(ctx, &q, `SELECT body FROM requests WHERE row >= ? AND row < ? ORDER BY row DESC`, []any{from, below}, "")
	}
	floor := ledger.Row("")
	if len(words) > 1 {
		if from, floor, err = l.drive(ctx, words, from, below); err != nil {
			return page, err
		}
	}
	statement := `SELECT r.body FROM request_words w CROSS JOIN requests r ON r.row = w.row WHERE w.word = ? AND w.row >= ? AND w.row < ?` +
		strings.Repeat(` AND EXISTS (SELECT 1 FROM request_words o WHERE o.word = ? AND o.row = w.row)`, len(words)-1) + ` ORDER BY w.row DESC`
	args := []any{words[0], from, below}
	for _, w := range words[1:] {
		args = append(args, w)
	}
	return l.page(ctx, &q, statement, args, floor)
}

// span is bounds as the columns have them.
func span(from, below ledger.Row) (lo, hi []byte) {
	lo, hi = []byte{}, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	if b, ok := from.Bytes(); ok {
		lo = b[:]
	}
	if b, ok := below.Bytes(); ok {
		hi = b[:]
	}
	return lo, hi
}

// prefix is between what all words of a beginning are.
func prefix(s string) []any { return []any{s, s + "\U0010ffff"} }

// few says whether the ids of a beginning are few.
func (l *Ledger) few(ctx context.Context, id string) (bool, error) {
	var n int
	err := l.db.reader.QueryRowContext(ctx, `SELECT count(*) FROM (SELECT 1 FROM request_words WHERE word >= ? AND word < ? LIMIT ?)`,
		append(prefix(ledger.WordOfID(id)), begin+1)...).Scan(&n)
	return n <= begin, err
}

// drive puts the rarest word in front and gives how far back its rows are looked at for one page; an empty floor: all of them.
func (l *Ledger) drive(ctx context.Context, words []string, from, below []byte) (lo []byte, floor ledger.Row, err error) {
	const nth = `SELECT row FROM request_words WHERE word = ? AND row >= ? AND row < ? ORDER BY row DESC LIMIT 1 OFFSET ?`
	var rarest string // the row, as bytes
	for i, w := range words {
		var row []byte
		switch err := l.db.reader.QueryRowContext(ctx, nth, w, from, below, sample).Scan(&row); {
		case errors.Is(err, sql.ErrNoRows):
			words[0], words[i] = words[i], words[0]
			return from, "", nil
		case err != nil:
			return nil, "", err
		case rarest == "" || string(row) < rarest:
			rarest = string(row)
			words[0], words[i] = words[i], words[0]
		}
	}
	var row []byte
	switch err := l.db.reader.QueryRowContext(ctx, nth, words[0], from, below, looked-1).Scan(&row); {
	case errors.Is(err, sql.ErrNoRows):
		return from, "", nil
	case err != nil:
		return nil, "", err
	}
	return row, ledger.RowOf(row), nil
}

// page reads rows until it has what was asked for. floor is the Next of a page that came to the end of what it may look at.
func (l *Ledger) page(ctx context.Context, q *ledger.RequestQuery, statement string, args []any, floor ledger.Row) (page ledger.RequestPage, err error) {
	n, last := 0, ledger.Row("")
	whole, err := l.each(ctx, statement, args, ledger.DecodeListed, func(r *ledger.Request) bool {
		if len(page.Requests) == q.Size() || n == ledger.MaxLooked {
			page.Next = last
			return false
		}
		n, last = n+1, r.Row
		if q.Matches(r) {
			page.Requests = append(page.Requests, *r)
		}
		return true
	})
	if !whole && err == nil {
		return page, nil
	}
	page.Next = floor
	return page, err
}

// decoding reads a row, with its body or without.
type decoding = func([]byte) (*ledger.Request, error)

// each reads requests until visit says no; whole: it came to the end.
func (l *Ledger) each(ctx context.Context, statement string, args []any, decode decoding, visit func(*ledger.Request) bool) (whole bool, err error) {
	rows, err := l.db.reader.QueryContext(ctx, statement, args...)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var body sql.RawBytes
		if err := rows.Scan(&body); err != nil {
			return false, err
		}
		r, err := decode(body)
		if err != nil {
			continue // of a newer program, or broken: it must not hide the others
		}
		if !visit(r) {
			return false, nil
		}
	}
	return true, rows.Err()
}

// Request implements ledger.Store.
func (l *Ledger) Request(ctx context.Context, id string) (found *ledger.Request, ok bool, err error) {
	defer func() { err = explain(ctx, l.db.path, err) }()
	take := func(r *ledger.Request) bool { found = r; return false }
	if row, is := ledger.Row(id).Bytes(); is {
		_, err = l.each(ctx, `SELECT body FROM requests WHERE row = ?`, []any{row[:]}, ledger.DecodeRequest, take)
	}
	if found == nil && err == nil {
		_, err = l.each(ctx, `
			SELECT r.body FROM request_words w CROSS JOIN requests r ON r.row = w.row WHERE w.word = ? ORDER BY w.row DESC LIMIT 1`,
			[]any{ledger.WordOfID(id)}, ledger.DecodeRequest, take)
	}
	return found, found != nil, err
}

// Timeline implements ledger.Store.
func (l *Ledger) Timeline(ctx context.Context, q ledger.TimelineQuery) (page ledger.TimelinePage, err error) {
	defer func() { err = explain(ctx, l.db.path, err) }()
	from, below := span(q.Bounds())
	where, args := `row >= ? AND row < ?`, []any{from, below}
	if q.Provider != "" {
		where, args = where+` AND provider = ? AND provider <> ''`, append(args, q.Provider)
	}
	if q.RequestID != "" {
		where, args = where+` AND request = ? AND request <> ''`, append(args, q.RequestID)
	}
	// A page of each kind, of which the newest make one: an index gives each in its order.
	kinds := q.Kinds
	if len(kinds) == 0 || len(args) > 2 {
		kinds = []string{""}
	}
	var parts []string
	var all []any
	for _, k := range kinds {
		part := `SELECT row, body FROM entries WHERE ` + where
		all = append(all, args...)
		switch {
		case k != "":
			part, all = part+` AND kind = ?`, append(all, k)
		case len(q.Kinds) > 0:
			part += ` AND kind IN (?` + strings.Repeat(`, ?`, len(q.Kinds)-1) + `)`
			for _, k := range q.Kinds {
				all = append(all, k)
			}
		}
		parts, all = append(parts, `SELECT * FROM (`+part+` ORDER BY row DESC LIMIT ?)`), append(all, q.Size()+1)
	}
	rows, err := l.db.reader.QueryContext(ctx, `SELECT body FROM (`+strings.Join(parts, ` UNION ALL `)+`) ORDER BY row DESC LIMIT ?`, append(all, q.Size()+1)...) //nolint:gosec // names and signs of ours
	if err != nil {
		return page, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for n := 0; rows.Next(); n++ {
		if last := len(page.Entries) - 1; n == q.Size() && last >= 0 {
			page.Next = page.Entries[last].Row
			break
		}
		var body sql.RawBytes
		if err := rows.Scan(&body); err != nil {
			return page, err
		}
		if e, err := ledger.DecodeEntry(body); err == nil { // else as in each
			page.Entries = append(page.Entries, *e)
		}
	}
	return page, rows.Err()
}

// Usage implements ledger.Store.
func (l *Ledger) Usage(ctx context.Context, q ledger.UsageQuery) (out []ledger.UsageRow, err error) {
	defer func() { err = explain(ctx, l.db.path, err) }()
	if q.Drill != "" {
		return l.drilled(ctx, &q)
	}
	out, err = l.usage(ctx, &q, "sum(%s)")
	if err != nil && strings.Contains(err.Error(), "integer overflow") { // of numbers that an upstream made up: then about right, and the largest number at most
		return l.usage(ctx, &q, "CAST(total(%s) AS INTEGER)")
	}
	return out, err
}

// usage adds up buckets; sum is how a column is.
func (l *Ledger) usage(ctx context.Context, q *ledger.UsageQuery, sum string) (out []ledger.UsageRow, err error) {
	names := ledger.SumNames()
	for i, n := range names {
		names[i] = fmt.Sprintf(sum, n)
	}
	columns := []string{"0", "''", "''", "''", "''"}
	if q.Step != ledger.Whole {
		columns[0] = "at"
	}
	only, wanted := "", []any(nil)
	for i, by := range [...]struct {
		on         bool
		name, want string
	}{{q.ByKey, "key", q.Key}, {q.ByRoute, "route", q.Route}, {q.ByModel, "model", q.Model}, {q.ByProvider, "provider", q.Provider}} {
		if by.on {
			columns[i+1] = by.name
		}
		if by.want != "" {
			only, wanted = only+" AND "+by.name+" = ?", append(wanted, by.want)
		}
	}
	var parts []string
	var args []any
	for _, p := range l.buckets(q) {
		parts = append(parts, `SELECT * FROM `+p.table+` WHERE at >= ? AND at < ?`+only)
		args = append(append(args, p.from, p.below), wanted...)
	}
	rows, err := l.db.reader.QueryContext(ctx, `SELECT `+strings.Join(columns, ", ")+`, `+strings.Join(names[:], `, `)+` FROM (`+ //nolint:gosec // names and signs of ours
		strings.Join(parts, " UNION ALL ")+`) GROUP BY 1, 2, 3, 4, 5`, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var row ledger.UsageRow
		var at int64
		into := []any{&at, &row.Key, &row.Route, &row.Model, &row.Provider}
		for _, n := range row.Numbers() {
			into = append(into, n)
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		if at != 0 {
			row.At = moment(at)
		}
		out = append(out, row)
	}
	ledger.SortUsage(out)
	return out, rows.Err()
}

// stretch is a time for which one table has the sums.
type stretch struct {
	table       string
	from, below int64
}

// buckets says which tables have the sums that a query wants: of a long time the days, and hours for what of a day is wanted at its ends.
func (l *Ledger) buckets(q *ledger.UsageQuery) []stretch {
	step, from, below := q.Buckets(l.db.now())
	whole := stretch{"minutes", -1, math.MaxInt64}
	if !from.IsZero() {
		whole.from = from.UnixMicro()
	}
	if !below.IsZero() {
		whole.below = below.UnixMicro()
	}
	if step == ledger.Minute {
		return []stretch{whole}
	}
	whole.table = "hours"
	if q.Step != ledger.Whole {
		return []stretch{whole}
	}
	const day = int64(24 * time.Hour / time.Microsecond)
	days := stretch{"days", whole.from, whole.below}
	if whole.from > 0 {
		days.from = (whole.from + day - 1) / day * day
	}
	if whole.below < math.MaxInt64 {
		days.below = max(whole.below, 0) / day * day
	}
	if days.from >= days.below {
		return []stretch{whole}
	}
	return []stretch{{"hours", whole.from, days.from}, days, {"hours", days.below, whole.below}}
}

// drilled sums rows.
func (l *Ledger) drilled(ctx context.Context, q *ledger.UsageQuery) ([]ledger.UsageRow, error) {
	wanted := ledger.RequestQuery{From: q.From, To: q.To, Drill: q.Drill, Kind: ledger.AnyKind}
	from, below := span(wanted.Bounds())
	var totals ledger.Totals
	n := 0
	_, err := l.each(ctx, `
		SELECT r.body FROM request_words w CROSS JOIN requests r ON r.row = w.row WHERE w.word = ? AND w.row >= ? AND w.row < ? ORDER BY w.row DESC`,
		[]any{wanted.Words()[0], from, below}, ledger.DecodeListed, func(r *ledger.Request) bool {
			if wanted.Matches(r) {
				totals.AnswerRow(q, r)
				n++
			}
			return n < ledger.MaxDrilled
		})
	return totals.Rows(), err
}
