package redis

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"evergate/internal/ledger"
)

const (
	// LedgerRequests is how many requests a ledger in Redis keeps unless it is told another number: rows are in the server's memory, about 700 bytes each.
	LedgerRequests = 100_000
	// LedgerBytes is what the bodies of rows take together at most, however many they are: the oldest go. Of a row that is beside the ids and the order,
	// about 250 bytes a row.
	LedgerBytes = 256 << 20
)

const (
	ledgerBatch = 500     // rows that one script lays down
	ledgerRead  = 1 << 20 // bytes that one read of rows aims at
)

// ledgerStore is the ledger under the same keys. Safe for concurrent use.
type ledgerStore struct {
	store  *Store
	room   int // in bytes
	groups int // of each series of sums; 0: as many as it says
}

// Ledger gives the ledger of the same server.
//
// Rows are found by time and by id. All other filters look at rows, the newest first: ledger.MaxLooked for a page.
func (s *Store) Ledger() ledger.Store { return ledgerStore{store: s, room: LedgerBytes} }

// line is a row on its way.
type line struct {
	row, id, body string
	request       *ledger.Request // nil: an entry
}

// Write takes one round trip for 500 rows or a megabyte; each of these is one step. Rows of a batch that are there already cost one more.
func (l ledgerStore) Write(ctx context.Context, b ledger.Batch) error {
	if b.Len() == 0 {
		return ctx.Err()
	}
	requests, err := b.All()
	if err != nil {
		return err
	}
	var lines []line
	for i := range requests {
		r := &requests[i]
		row, ok := raw(r.Row)
		if !ok {
			continue
		}
		lines = append(lines, line{row, r.ID, string(ledger.AppendRequest(nil, r)), r})
	}
	for i := range b.Entries {
		if row, ok := raw(b.Entries[i].Row); ok {
			lines = append(lines, line{row: row, body: string(ledger.AppendEntry(nil, &b.Entries[i]))})
		}
	}
	for from := 0; from < len(lines); {
		to, size := from, 0
		for to < len(lines) && to-from < ledgerBatch && (to == from || size+len(lines[to].body) <= batchBytes) {
			size += len(lines[to].body)
			to++
		}
		if err := l.lay(ctx, lines[from:to]); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// raw is a row as members of the sorted sets begin.
func raw(row ledger.Row) (string, bool) {
	b, ok := row.Bytes()
	return string(b[:]), ok
}

// lay has the script lay lines down. It reckons the sums as if none of the rows were there; of those that are the script tells, and another turn
// leaves them out.
func (l ledgerStore) lay(ctx context.Context, lines []line) error {
	for {
		keys, args := l.writing(lines)
		there, err := call(ctx, l.store, "write to the ledger", func(ctx context.Context, c rueidis.Client) ([]string, error) {
			return l.store.scripts.write.Exec(ctx, c, keys, args).AsStrSlice()
		})
		if err != nil || len(there) == 0 {
			return err
		}
		stands := make(map[string]bool, len(there))
		for _, row := range there {
			stands[row] = true
		}
		var left []line
		for _, n := range lines {
			if n.request == nil || !stands[n.row] {
				left = append(left, n)
			}
		}
		if lines = left; len(lines) == 0 {
			return nil
		}
	}
}

// writing are the script's keys and arguments.
func (l ledgerStore) writing(lines []line) (keys, args []string) {
	n := l.store.names
	keys = []string{n.ledger(), n.ledgerIDs(), n.ledgerBytes(), n.timeline(), n.sums()}
	var requests, entries []string
	var sums [len(series)]ledger.Totals
	for _, line := range lines {
		if line.request == nil {
			entries = append(entries, line.row, line.body)
			continue
		}
		requests = append(requests, line.row, line.id, line.body)
		ledger.Fold(line.request, func(g ledger.Group, sum *ledger.Sums) {
			for i := range series {
				g := g
				if series[i].byRoute {
					g = ledger.Group{Route: g.Route}
				}
				sums[i].Add(series[i].step.Of(line.request.End()), g, sum)
			}
		})
	}
	var groups []string
	for i := range series {
		for _, row := range sums[i].Rows() {
			from := bucketName(&series[i], row.At)
			keys = append(keys, n.bucket(from))
			groups = append(groups, from[:1], from[1:], millis(series[i].life),
				pack(row.Key, row.Route, row.Model, row.Provider), numbers(&row.Sums))
		}
	}
	args = []string{
		millis(KeepFleet), strconv.Itoa(l.room), strconv.Itoa(len(requests) / 3), strconv.Itoa(len(entries) / 2), strconv.Itoa(len(groups) / 5),
	}
	args = append(args, requests...)
	args = append(args, entries...)
	return keys, append(args, groups...)
}

// sumSeries is one kind of buckets that sums are kept in: minutes, hours, and minutes by route alone, of which an overview of a day reads a fraction.
type sumSeries struct {
	letter  string // that names of its buckets begin with
	step    ledger.Step
	byRoute bool
	// life is how long buckets are kept: from their beginning on where somebody expires them, else from when they were last added to.
	life time.Duration
	// most is how many groups all its buckets have, so that memory has a bound: about 200 bytes each. The oldest buckets go.
	most int
}

//nolint:gochecknoglobals // it does not change
var series = [...]sumSeries{
	{letter: "m", step: ledger.Minute, life: ledger.KeepMinutes, most: 500_000},
	{letter: "r", step: ledger.Minute, life: ledger.KeepMinutes, most: 500_000, byRoute: true},
	{letter: "h", step: ledger.Hour, life: ledger.KeepHours, most: 1_000_000},
}

// seriesOf is the smallest one that answers a query.
func seriesOf(q *ledger.UsageQuery, step ledger.Step) *sumSeries {
	for i := range series {
		if s := &series[len(series)-1-i]; s.step == step && (!s.byRoute || q.RoutesOnly()) {
			return s
		}
	}
	return nil
}

// bucketName is the letter of its series, and the beginning in seconds since 1970: ten digits, whose order is that of time.
func bucketName(of *sumSeries, at time.Time) string {
	digits := strconv.FormatInt(max(at.Unix(), 0), 10)
	return of.letter + strings.Repeat("0", max(bucketDigits-len(digits), 0)) + digits
}

const bucketDigits = 10

// numbers are the sums, without the zeros at the end.
func numbers(s *ledger.Sums) string {
	var b []byte
	end := 0
	for i, p := range s.Numbers() {
		if i > 0 {
			b = append(b, ' ')
		}
		if b = strconv.AppendInt(b, max(*p, 0), 10); *p > 0 {
			end = len(b)
		}
	}
	return string(b[:end])
}

// readNumbers reads what numbers wrote; what a newer program has added stays out.
func readNumbers(said string) (s ledger.Sums, err error) {
	fields := strings.Fields(said)
	for i, p := range s.Numbers() {
		if i == len(fields) {
			break
		}
		if *p, err = strconv.ParseInt(fields[i], 10, 64); err != nil {
			return s, errMalformed
		}
	}
	return s, nil
}
