package admin

import (
	"context"
	"maps"
	"math"
	"net/http"
	"slices"
	"time"

	"evergate/internal/ledger"
)

// overview is the reply of GET /admin/v1/overview (R77).
type overview struct {
	At     Time         `json:"at"`
	Now    lastMinute   `json:"now"`
	Window window       `json:"window"`
	Step   millis       `json:"step_ms"` // between two points of the series
	Series []point      `json:"series"`
	Models []modelShare `json:"models"`
}

// lastMinute is how it goes: the whole minute before this one, and what there is of this one.
type lastMinute struct {
	PerSecond    float64      `json:"requests_per_second"`
	Availability *float64     `json:"availability"`
	FirstContent firstContent `json:"first_content_ms"`
	PerRequest   *float64     `json:"attempts_per_request"`
	Rescued      int64        `json:"rescued"`
	Spend        usd          `json:"spend_usd_per_hour"`
}

type window struct {
	From         Time         `json:"from"`
	To           Time         `json:"to"`
	Requests     int64        `json:"requests"`
	OK           int64        `json:"ok"`
	Failed       int64        `json:"failed"`
	Rescued      int64        `json:"rescued"`
	Failovers    int64        `json:"failovers"`
	Availability *float64     `json:"availability"`
	Attempts     int64        `json:"attempts"`
	PerRequest   *float64     `json:"attempts_per_request"`
	Cost         usd          `json:"cost_usd"`
	Unpriced     int64        `json:"unpriced_attempts"`
	Added        int64        `json:"added_ms"`
	AddedCost    usd          `json:"added_cost_usd"`
	FirstContent firstContent `json:"first_content_ms"`
}

type point struct {
	At           Time         `json:"at"`
	Requests     int64        `json:"requests"`
	Failed       int64        `json:"failed"`
	Rescued      int64        `json:"rescued"`
	Attempts     int64        `json:"attempts"`
	Cost         usd          `json:"cost_usd"`
	FirstContent firstContent `json:"first_content_ms"`
}

// modelShare is how a model fares against its target.
type modelShare struct {
	Route        string   `json:"route"`
	Requests     int64    `json:"requests"`
	Failed       int64    `json:"failed"`
	Availability *float64 `json:"availability"`
	Target       *float64 `json:"target"`
	BudgetLeft   *float64 `json:"budget_left"`
	BurnRate     *float64 `json:"burn_rate"`
}

// The windows that may be asked for.
const (
	leastWindow = 10 * time.Minute
	mostWindow  = 90 * 24 * time.Hour
)

// steps are how far apart the points of a window's series are; longer ones have a point an hour, as sums by the minute are not
// kept for long enough.
var steps = []struct{ upTo, step time.Duration }{
	{3 * time.Hour, time.Minute}, {12 * time.Hour, 5 * time.Minute}, {ledger.KeepMinutes - time.Hour, 15 * time.Minute},
}

// overview tells how it goes, now and over a window.
func (a *handler) overview(w http.ResponseWriter, r *http.Request) {
	p := parameters(r, "window")
	length := 24 * time.Hour
	if v := p.text("window"); v != "" {
		var err error
		if length, err = time.ParseDuration(v); err != nil || length < leastWindow || length > mostWindow {
			p.mistake("window", "window must be a duration from 10m to 2160h, not %q", clip(v))
		}
	}
	if p.wrong != nil {
		p.wrong.write(w)
		return
	}
	targets := map[string]float64{}
	if a.sources.Targets != nil {
		targets = a.sources.Targets()
	}
	a.ask(w, r, func(ctx context.Context, store ledger.Store) error {
		reply, err := a.lookout.look(ctx, length, func(ctx context.Context) (*overview, error) {
			return overviewOf(ctx, store, time.Now(), length, targets)
		})
		if err == nil {
			writeJSON(w, http.StatusOK, reply)
		}
		return err
	})
}

func overviewOf(ctx context.Context, store ledger.Store, now time.Time, length time.Duration, targets map[string]float64) (*overview, error) {
	out := &overview{At: Time(now)}
	if err := out.now(ctx, store, now); err != nil {
		return nil, err
	}
	q := ledger.UsageQuery{From: now.Add(-length), To: now, Step: ledger.Hour, ByRoute: true}
	step := time.Hour
	for _, s := range steps {
		if length <= s.upTo {
			q.Step, step = ledger.Minute, s.step
			break
		}
	}
	rows, err := store.Usage(ctx, q)
	if err != nil {
		return nil, err
	}
	// One answer gives all three, so that they reconcile.
	var total ledger.Sums
	byTime, byRoute := map[time.Time]*ledger.Sums{}, map[string]*ledger.Sums{}
	for i := range rows {
		s := &rows[i].Sums
		total.Add(s)
		into(byTime, rows[i].At.UTC().Truncate(step)).Add(s)
		into(byRoute, rows[i].Route).Add(s)
	}
	out.Window, out.Step = newWindow(q.From, now, &total), millis(step)
	for at := q.Step.Of(q.From).Truncate(step); !at.After(now); at = at.Add(step) {
		s := byTime[at]
		if s == nil {
			s = &ledger.Sums{}
		}
		out.Series = append(out.Series, point{
			Time(at), s.Requests, s.Failed, s.Rescued, s.Attempts, usd(s.CostNano), newFirstContent(s),
		})
	}
	out.Models = shares(byRoute, targets)
	return out, nil
}

func into[K comparable](all map[K]*ledger.Sums, k K) *ledger.Sums {
	s := all[k]
	if s == nil {
		s = &ledger.Sums{}
		all[k] = s
	}
	return s
}

func (o *overview) now(ctx context.Context, store ledger.Store, now time.Time) error {
	from := now.Truncate(time.Minute).Add(-time.Minute)
	rows, err := store.Usage(ctx, ledger.UsageQuery{From: from, To: now, Step: ledger.Minute})
	if err != nil {
		return err
	}
	var s ledger.Sums
	for i := range rows {
		s.Add(&rows[i].Sums)
	}
	seconds := now.Sub(from).Seconds()
	o.Now = lastMinute{
		PerSecond: math.Round(1000*float64(s.Requests)/seconds) / 1000, Availability: availability(&s), FirstContent: newFirstContent(&s),
		PerRequest: ratio(s.Attempts, s.Requests), Rescued: s.Rescued, Spend: usd(float64(s.CostNano) * 3600 / seconds),
	}
	return nil
}

func newWindow(from, to time.Time, s *ledger.Sums) window {
	return window{
		From: Time(from), To: Time(to), Requests: s.Requests, OK: s.OK, Failed: s.Failed, Rescued: s.Rescued, Failovers: s.Failovers,
		Availability: availability(s), Attempts: s.Attempts, PerRequest: ratio(s.Attempts, s.Requests), Cost: usd(s.CostNano),
		Unpriced: s.Unpriced, Added: s.AddedMillis, AddedCost: usd(s.AddedCostNano), FirstContent: newFirstContent(s),
	}
}

// shares are the models that were asked for, and those that have a target.
func shares(byRoute map[string]*ledger.Sums, targets map[string]float64) []modelShare {
	for route := range targets {
		into(byRoute, route)
	}
	out := make([]modelShare, 0, len(byRoute))
	for _, route := range slices.Sorted(maps.Keys(byRoute)) {
		s := byRoute[route]
		m := modelShare{Route: route, Requests: s.Requests, Failed: s.Failed, Availability: availability(s)}
		if target, ok := targets[route]; ok {
			m.Target = &target
			if rate, ok := s.BurnRate(target); ok {
				left := 1 - rate
				m.BurnRate, m.BudgetLeft = &rate, &left
			}
		}
		out = append(out, m)
	}
	return out
}

// availability is null where no request counts.
func availability(s *ledger.Sums) *float64 {
	if share, ok := s.Availability(); ok {
		return &share
	}
	return nil
}
