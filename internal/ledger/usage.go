package ledger

import (
	"cmp"
	"slices"
	"time"
)

// Totals add sums up for an answer. The zero value is ready. It is for one goroutine.
type Totals struct{ rows map[totalKey]*Sums }

type totalKey struct {
	at int64 // of the bucket, microseconds
	Group
}

// Add adds the sums of a group in the bucket that begins at a time; zero: of no bucket.
func (t *Totals) Add(at time.Time, g Group, s *Sums) { t.at(at, g).Add(s) }

// at gives the sums of a group in a bucket, which are added to.
func (t *Totals) at(at time.Time, g Group) *Sums {
	k := totalKey{Group: g}
	if !at.IsZero() {
		k.at = at.UnixMicro()
	}
	if t.rows == nil {
		t.rows = map[totalKey]*Sums{}
	}
	have := t.rows[k]
	if have == nil {
		have = &Sums{}
		t.rows[k] = have
	}
	return have
}

// AddRow adds what a request came to, by the buckets of step.
func (t *Totals) AddRow(step Step, r *Request) {
	at := step.Of(r.End())
	Fold(r, func(g Group, s *Sums) { t.Add(at, g, s) })
}

// Answer adds up the sums of a bucket as a query wants them.
func (t *Totals) Answer(q *UsageQuery, at time.Time, g Group, s *Sums) {
	if !q.Wants(g) {
		return
	}
	if q.Step == Whole {
		at = time.Time{}
	}
	t.Add(at, q.Of(g), s)
}

// AnswerRow adds up what a row came to as a query wants it.
func (t *Totals) AnswerRow(q *UsageQuery, r *Request) {
	at := q.Step.Of(r.End())
	Fold(r, func(g Group, s *Sums) { t.Answer(q, at, g, s) })
}

// Rows gives all of it, in the order of SortUsage.
func (t *Totals) Rows() []UsageRow {
	keys := make([]*totalKey, 0, len(t.rows))
	for k := range t.rows {
		keys = append(keys, &k)
	}
	slices.SortFunc(keys, func(a, b *totalKey) int { return cmp.Or(cmp.Compare(a.at, b.at), a.compare(&b.Group)) })
	out := make([]UsageRow, len(keys))
	for i, k := range keys {
		out[i] = UsageRow{Group: k.Group, Sums: *t.rows[*k]}
		if k.at != 0 {
			out[i].At = time.UnixMicro(k.at).UTC()
		}
	}
	return out
}

func (g *Group) compare(o *Group) int {
	return cmp.Or(cmp.Compare(g.Key, o.Key), cmp.Compare(g.Route, o.Route), cmp.Compare(g.Model, o.Model), cmp.Compare(g.Provider, o.Provider))
}

// SortUsage puts sums in the order of time, key, route, model and provider.
func SortUsage(rows []UsageRow) {
	slices.SortFunc(rows, func(a, b UsageRow) int {
		return cmp.Or(a.At.Compare(b.At), a.compare(&b.Group))
	})
}
