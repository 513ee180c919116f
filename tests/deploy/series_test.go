package deploy

import (
	"context"
	"slices"
	"sort"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// series are samples in memory, for Prometheus' own engine to query: its TSDB brings half the clouds' libraries along.
type series struct {
	byLabels map[string]*oneSeries
	engine   *promql.Engine
}

type oneSeries struct {
	labels  labels.Labels
	samples []chunks.Sample
}

func newSeries() *series {
	return &series{byLabels: map[string]*oneSeries{}, engine: promql.NewEngine(promql.EngineOpts{
		MaxSamples: 10_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, EnableAtModifier: true, EnableNegativeOffset: true,
		NoStepSubqueryIntervalFn: func(int64) int64 { return 60_000 }, Parser: parser.NewParser(parser.Options{}),
	})}
}

// sample is one, of a number.
type sample struct {
	t int64 // milliseconds
	v float64
}

func (s sample) T() int64                    { return s.t }
func (sample) ST() int64                     { return 0 }
func (s sample) F() float64                  { return s.v }
func (sample) H() *histogram.Histogram       { return nil }
func (sample) FH() *histogram.FloatHistogram { return nil }
func (sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample         { return s }
func (s *series) add(l labels.Labels, o sample) {
	key := l.String()
	one := s.byLabels[key]
	if one == nil {
		one = &oneSeries{labels: l}
		s.byLabels[key] = one
	}
	one.samples = append(one.samples, o)
}

// load adds a series as promtool's tests write it.
func (s *series) load(t *testing.T, name, values string, interval time.Duration) {
	t.Helper()
	l, sequence, err := parser.NewParser(parser.Options{}).ParseSeriesDesc(name + " " + values)
	if err != nil {
		t.Fatalf("%s %s: %v", name, values, err)
	}
	for i, v := range sequence {
		if !v.Omitted {
			s.add(l, sample{int64(i) * interval.Milliseconds(), v.Value})
		}
	}
}

// query evaluates an expression at a time since the beginning.
func (s *series) query(t *testing.T, expr string, at time.Duration) promql.Vector {
	t.Helper()
	q, err := s.engine.NewInstantQuery(t.Context(), s, nil, expr, time.UnixMilli(at.Milliseconds()))
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	defer q.Close()
	r := q.Exec(t.Context())
	if r.Err != nil {
		t.Fatalf("%s: %v", expr, r.Err)
	}
	switch v := r.Value.(type) {
	case promql.Vector:
		return append(promql.Vector(nil), v...)
	case promql.Scalar:
		return promql.Vector{{T: v.T, F: v.V}}
	}
	t.Fatalf("%s gives a %s", expr, r.Value.Type())
	return nil
}

// Querier implements storage.Queryable.
func (s *series) Querier(from, to int64) (storage.Querier, error) { return &querier{s, from, to}, nil }

type querier struct {
	*series
	from, to int64
}

func (*querier) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (*querier) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (*querier) Close() error { return nil }

// Select implements storage.Querier.
func (q *querier) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	found := &selected{at: -1}
	for _, one := range q.byLabels {
		if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(one.labels.Get(m.Name)) }) {
			from := sort.Search(len(one.samples), func(i int) bool { return one.samples[i].T() >= q.from })
			to := sort.Search(len(one.samples), func(i int) bool { return one.samples[i].T() > q.to })
			found.all = append(found.all, storage.NewListSeries(one.labels, one.samples[from:to]))
		}
	}
	slices.SortFunc(found.all, func(a, b storage.Series) int { return labels.Compare(a.Labels(), b.Labels()) })
	return found
}

// selected implements storage.SeriesSet.
type selected struct {
	all []storage.Series
	at  int
}

func (s *selected) Next() bool                      { s.at++; return s.at < len(s.all) }
func (s *selected) At() storage.Series              { return s.all[s.at] }
func (*selected) Err() error                        { return nil }
func (*selected) Warnings() annotations.Annotations { return nil }
