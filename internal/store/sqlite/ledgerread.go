package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"math"
	"strconv"
	"strings"

	"evergate/internal/ledger"
)

// Requests implements ledger.Store.
func (l *Ledger) Requests(ctx context.Context, q ledger.RequestQuery) (page ledger.RequestPage, err error) {
	defer func() { err = explain(ctx, l.db.path, err) }()
	err = l.read(ctx, func(r *reading) error {
		looked, last := 0, ledger.Row("")
		floor, err := r.walk(&q, func(row *ledger.Request) bool {
			if len(page.Requests) == q.Size() || looked == ledger.MaxLooked {
				page.Next = last
				return false
			}
			looked, last = looked+1, row.Row
			if q.Matches(row) {
				page.Requests = append(page.Requests, *row)
			}
			return true
		})
		if page.Next == "" {
			page.Next = floor
		}
		return err
	})
	return page, err
}

// Request implements ledger.Store.
func (l *Ledger) Request(ctx context.Context, id string) (found *ledger.Request, ok bool, err error) {
	defer func() { err = explain(ctx, l.db.path, err) }()
	err = l.read(ctx, func(r *reading) error {
		if row, is := ledger.Row(id).Bytes(); is {
			found, err = r.named(row[:])
		}
		if found != nil || err != nil || id == "" {
			return err
		}
		q := ledger.RequestQuery{ID: id, Kind: ledger.AnyKind}
		w := r.walker(&q, true)
		w.decode = ledger.DecodeRequest
		_, err = w.walk(func(row *ledger.Request) bool {
			found = row
			return false
		})
		return err
	})
	return found, found != nil, err
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

// reading is one view of the file: what others write meanwhile it does not see.
type reading struct {
	ctx context.Context //nolint:containedctx // of one call
	tx  *sql.Tx
}

func (l *Ledger) read(ctx context.Context, work func(r *reading) error) error {
	tx, err := l.db.reader.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	return work(&reading{ctx, tx})
}

// each reads the rows of a statement.
func (r *reading) each(statement string, args []any, read func(scan func(...any) error) error) error {
	w := writing{ctx: r.ctx, tx: r.tx}
	return w.each(statement, args, read)
}

// named gives the row of a name; nil: it is not there.
func (r *reading) named(row []byte) (found *ledger.Request, err error) {
	var in int64
	place := -1
	if err := r.each(`SELECT d.id, d.names FROM blocks b CROSS JOIN block_bodies d ON d.id = b.id WHERE b.id >= ? AND b.oldest <= ?`, []any{micros(row) << 8, micros(row)},
		func(scan func(...any) error) error {
			var id int64
			var names sql.RawBytes
			err := scan(&id, &names)
			if at := findName(names, row); at >= 0 {
				in, place = id, at
			}
			return err
		}); err != nil || place < 0 {
		return nil, err
	}
	var body []byte
	if err := r.tx.QueryRowContext(r.ctx, `SELECT body FROM block_bodies WHERE id = ?`, in).Scan(&body); err != nil {
		return nil, err
	}
	eachRow(body, func(at int, row []byte) bool {
		if at == place {
			if r, err := ledger.DecodeRequest(row); err == nil { // else it is of a newer program, or broken
				found = r
			}
		}
		return at < place
	})
	return found, nil
}

// How a query is kept within its time whatever it asks for.
const (
	// passed is how many blocks are passed over for one page because none of their rows has all the words.
	passed = 20_000
	// fewest and most are how many blocks are asked for at once.
	fewest, most = 4, 512
)

// candidate is a block that may have wanted rows.
type candidate struct {
	id   int64
	rows rowSet
}

// walker gives the rows that may be wanted, the newest first. Blocks overlap where several instances wrote at once, or late: those whose newest row
// is not older than the next one to give are open together.
type walker struct {
	*reading

	q         *ledger.RequestQuery
	whole     bool // q.ID is a whole id
	decode    func([]byte) (*ledger.Request, error)
	words     []string
	from      []byte
	below     []byte
	statement string

	bound   int64 // blocks that are not yet read have ids below it
	ended   bool
	size    int
	passing int
	next    []candidate
	open    []*opened
}

// opened is a block of which rows are given.
type opened struct {
	body []byte
	at   int
	rows rowSet
}

func (r *reading) walker(q *ledger.RequestQuery, whole bool) *walker {
	w := &walker{reading: r, q: q, whole: whole, decode: ledger.DecodeListed, words: q.Words(), bound: math.MaxInt64, size: fewest}
	w.from, w.below = span(q.Bounds())
	var b strings.Builder
	b.WriteString("SELECT b.id, b.rows")
	if q.ID != "" {
		b.WriteString(", d.ids")
	} else {
		b.WriteString(", NULL")
	}
	b.WriteString(strings.Repeat(", NULL", max(1-len(w.words), 0)))
	for i := range w.words {
		b.WriteString(", " + alias(i) + ".which")
	}
	b.WriteString(" FROM ")
	on := "b.id"
	for i := range w.words {
		if i > 0 {
			b.WriteString(" CROSS JOIN ")
		}
		b.WriteString("block_words " + alias(i))
		if i > 0 {
			b.WriteString(" ON " + alias(i) + ".word = ? AND " + alias(i) + ".block = w0.block")
		}
		on = "w0.block"
	}
	if len(w.words) > 0 {
		b.WriteString(" CROSS JOIN blocks b ON b.id = w0.block")
	} else {
		b.WriteString("blocks b")
	}
	if q.ID != "" {
		b.WriteString(" CROSS JOIN block_bodies d ON d.id = b.id")
	}
	b.WriteString(" WHERE ")
	if len(w.words) > 0 {
		b.WriteString("w0.word = ? AND ")
	}
	b.WriteString(on + " >= ? AND " + on + " < ? AND b.oldest <= ? ORDER BY " + on + " DESC LIMIT ?")
	w.statement = b.String()
	return w
}

func alias(i int) string { return "w" + strconv.Itoa(i) }

// walk gives the rows of a query, each with all its words, until visit says no. floor is where to go on if it has passed over as many as it may; else it is empty.
func (r *reading) walk(q *ledger.RequestQuery, visit func(*ledger.Request) bool) (floor ledger.Row, err error) {
	return r.walker(q, false).walk(visit)
}

func (w *walker) walk(visit func(*ledger.Request) bool) (floor ledger.Row, err error) {
	for {
		newest := w.newest()
		for newest < 0 || w.upTo() >= micros(w.open[newest].name()) {
			at := w.upTo()
			if at < 0 {
				break
			}
			if len(w.next) == 0 {
				if w.passing >= passed {
					if floor, ok := w.rest(); ok {
						return floor, nil
					}
				}
				if err := w.more(); err != nil {
					return "", err
				}
				continue
			}
			if err := w.openNext(); err != nil {
				return "", err
			}
			newest = w.newest()
		}
		if newest < 0 {
			return "", nil
		}
		o := w.open[newest]
		row, err := w.decode(o.body[4 : 4+o.length()])
		if o.advance(w); len(o.body) == 0 {
			w.open[newest] = w.open[len(w.open)-1]
			w.open = w.open[:len(w.open)-1]
		}
		if err != nil {
			continue // of a newer program, or broken: it must not hide the others
		}
		if !visit(row) {
			return "", nil
		}
	}
}

// upTo is the time of the newest row that a block may have which is not open; -1: there is none.
func (w *walker) upTo() int64 {
	switch {
	case len(w.next) > 0:
		return w.next[0].id >> 8
	case w.ended:
		return -1
	}
	return w.bound >> 8
}

// rest is where a page that ends here goes on; false: it would not bring its reader on. Of all blocks that were passed every row was given.
func (w *walker) rest() (ledger.Row, bool) {
	_, below := w.q.Bounds()
	floor := ledger.RowsFrom(moment(w.bound>>8 + 1))
	return floor, len(w.open) == 0 && !w.whole && (below == "" || floor < below)
}

// more reads the next candidates.
func (w *walker) more() error {
	args := make([]any, 0, len(w.words)+4)
	for i := 1; i < len(w.words); i++ {
		args = append(args, w.words[i])
	}
	if len(w.words) > 0 {
		args = append(args, w.words[0])
	}
	until := int64(math.MaxInt64)
	if len(w.below) == 16 {
		until = micros(w.below)
	}
	from := int64(0)
	if len(w.from) == 16 {
		from = micros(w.from) << 8
	}
	args = append(args, from, w.bound, until, w.size)
	n := 0
	which := make([]sql.RawBytes, max(len(w.words), 1))
	var ids sql.RawBytes
	c := candidate{}
	var rows int
	into := []any{&c.id, &rows, &ids}
	for i := range which {
		into = append(into, &which[i])
	}
	err := w.each(w.statement, args, func(scan func(...any) error) error {
		if err := scan(into...); err != nil {
			return err
		}
		n++
		w.bound = c.id
		if w.q.ID != "" && !mayHave(ids, w.q.ID, w.whole) {
			w.passing++
			return nil
		}
		c.rows = allOf(min(rows, blockRows))
		for i := range w.words {
			c.rows.only(which[i])
		}
		if c.rows.empty() {
			w.passing++
			return nil
		}
		w.next = append(w.next, c)
		return nil
	})
	w.ended = n < w.size
	w.size = min(2*w.size, most)
	return err
}

// openNext opens the next candidate.
func (w *walker) openNext() error {
	c := w.next[0]
	w.next = w.next[1:]
	o := &opened{rows: c.rows, at: -1}
	if err := w.tx.QueryRowContext(w.ctx, `SELECT body FROM block_bodies WHERE id = ?`, c.id).Scan(&o.body); err != nil {
		return err
	}
	if o.advance(w); len(o.body) > 0 {
		w.open = append(w.open, o)
	}
	return nil
}

func (o *opened) length() int {
	return int(o.body[0])<<24 | int(o.body[1])<<16 | int(o.body[2])<<8 | int(o.body[3])
}

func (o *opened) name() []byte { return o.body[5:21] }

// advance goes to the next row that may be wanted; without one the body is empty.
func (o *opened) advance(w *walker) {
	for {
		if o.at >= 0 {
			o.body = o.body[4+o.length():]
		}
		o.at++
		if len(o.body) < 21 || o.at >= 64*len(o.rows) || o.length() > len(o.body)-4 {
			break
		}
		name := o.name()
		if bytes.Compare(name, w.from) < 0 {
			break
		}
		if !o.rows.has(o.at) || bytes.Compare(name, w.below) >= 0 {
			continue
		}
		if w.q.ID == "" {
			return
		}
		if id := ledger.IDOf(o.body[4 : 4+o.length()]); w.whole && string(id) == w.q.ID || !w.whole && strings.HasPrefix(string(id), w.q.ID) {
			return
		}
	}
	o.body = nil
}

// newest is the open block that has the next row; -1: none is open.
func (w *walker) newest() int {
	best := -1
	for i, o := range w.open {
		if best < 0 || bytes.Compare(o.name(), w.open[best].name()) > 0 {
			best = i
		}
	}
	return best
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
	rows, err := l.db.reader.QueryContext(ctx, `SELECT row, body FROM (`+strings.Join(parts, ` UNION ALL `)+`) ORDER BY row DESC LIMIT ?`, append(all, q.Size()+1)...) //nolint:gosec // names and signs of ours
	if err != nil {
		return page, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var row []byte
	for n := 0; rows.Next(); n++ {
		if n == q.Size() {
			page.Next = ledger.RowOf(row)
			break
		}
		var body sql.RawBytes
		if err := rows.Scan(&row, &body); err != nil {
			return page, err
		}
		if e, err := ledger.DecodeEntry(body); err == nil { // else as in each
			page.Entries = append(page.Entries, *e)
		}
	}
	return page, rows.Err()
}
