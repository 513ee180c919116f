package admin

import (
	"context"
	"encoding/csv"
	"net/http"
	"strconv"
	"strings"
	"time"

	"evergate/internal/ledger"
)

// usage is the reply of GET /admin/v1/usage.
type usage struct {
	From  Time       `json:"from"`
	To    Time       `json:"to"`
	Rows  []usageRow `json:"rows"`
	Total usageRow   `json:"total"`
}

// usageRow is what a group came to. What it is not grouped by is left out.
type usageRow struct {
	At       *Time   `json:"at,omitempty"`
	Key      *string `json:"key,omitempty"`
	Route    *string `json:"route,omitempty"`
	Model    *string `json:"model,omitempty"`
	Provider *string `json:"provider,omitempty"`
	Owner    *string `json:"owner,omitempty"`
	Team     *string `json:"team,omitempty"`
	// Labels are those of the group, by name; null where the keys have none of that name.
	Labels map[string]*string `json:"labels,omitempty"`

	Requests     int64        `json:"requests"`
	Attempts     int64        `json:"attempts"`
	Input        int64        `json:"input_tokens"`
	Output       int64        `json:"output_tokens"`
	CachedInput  int64        `json:"cached_input_tokens"`
	CacheWrite   int64        `json:"cache_write_tokens"`
	Reasoning    int64        `json:"reasoning_tokens"`
	Cost         usd          `json:"cost_usd"`
	OK           int64        `json:"ok"`
	Failed       int64        `json:"failed"`
	Rescued      int64        `json:"rescued"`
	Failovers    int64        `json:"failovers"`
	Availability *float64     `json:"availability"`
	Added        int64        `json:"added_ms"`
	AddedCost    usd          `json:"added_cost_usd"`
	Duration     *float64     `json:"duration_ms_avg"`
	FirstContent firstContent `json:"first_content_ms"`
	Unpriced     int64        `json:"unpriced_attempts"`
	Estimated    int64        `json:"estimated_tokens"`
	// Current is what the tokens would cost by today's prices, and CurrentUnpriced how many of them have none; both with prices=current alone.
	Current         *usd   `json:"current_cost_usd,omitempty"`
	CurrentUnpriced *int64 `json:"current_unpriced_tokens,omitempty"`
}

// firstContent is the time to the first content; null where none came.
type firstContent struct {
	Avg *float64 `json:"avg"`
	P50 *float64 `json:"p50"`
	P95 *float64 `json:"p95"`
}

// ratio is null where there is nothing to divide by.
func ratio(a, b int64) *float64 {
	if b == 0 {
		return nil
	}
	r := float64(a) / float64(b)
	return &r
}

// tenths rounds milliseconds; what is read off a histogram is no finer.
func tenths(v *float64) *float64 {
	if v != nil {
		*v = float64(int64(*v*10+0.5)) / 10
	}
	return v
}

func newFirstContent(s *ledger.Sums) firstContent {
	out := firstContent{Avg: tenths(ratio(s.FirstMillis, s.Firsts))}
	if s.Firsts > 0 {
		p50, p95 := s.FirstQuantile(0.5).Seconds()*1000, s.FirstQuantile(0.95).Seconds()*1000
		out.P50, out.P95 = tenths(&p50), tenths(&p95)
	}
	return out
}

func newUsageRow(s *ledger.Sums) usageRow {
	return usageRow{
		Requests: s.Requests, Attempts: s.Attempts, Input: s.Input, Output: s.Output, CachedInput: s.CachedInput, CacheWrite: s.CacheWrite,
		Reasoning: s.Reasoning, Cost: usd(s.CostNano), OK: s.OK, Failed: s.Failed, Rescued: s.Rescued, Failovers: s.Failovers,
		Availability: availability(s), Added: s.AddedMillis, AddedCost: usd(s.AddedCostNano), Duration: tenths(ratio(s.DurationMillis, s.Requests)),
		FirstContent: newFirstContent(s), Unpriced: s.Unpriced, Estimated: s.EstimatedTokens,
	}
}

// usageOf sums up what requests and attempts came to.
func (a *handler) usage(w http.ResponseWriter, r *http.Request) {
	p := parameters(r, "group_by", "from", "to", "step", "key", "route", "model", "provider", "drill", "format", "prices")
	by := p.grouping()
	from, to := p.span()
	if to.IsZero() {
		to = p.now
	}
	if from.IsZero() {
		from = to.Add(-24 * time.Hour)
	}
	q := ledger.UsageQuery{
		From: from, To: to, Key: p.text("key"), Route: p.text("route"), Model: p.text("model"), Provider: p.text("provider"), Drill: p.text("drill"),
	}
	by.ask(&q)
	switch p.choice("step", "", "minute", "hour", "day") {
	case "minute":
		q.Step = ledger.Minute
		if p.now.Sub(from) > ledger.KeepMinutes {
			p.mistake("step", "sums by the minute are kept for %d hours; ask for hours, or for a later from", int(ledger.KeepMinutes.Hours()))
		}
	case "hour":
		q.Step = ledger.Hour
	case "day":
		q.Step, by.days = ledger.Hour, true
	}
	format := p.choice("format", "json", "csv")
	if p.wrong != nil {
		p.wrong.write(w)
		return
	}
	a.ask(w, r, func(ctx context.Context, store ledger.Store) error {
		rows, err := store.Usage(ctx, q)
		if err != nil {
			return err
		}
		reply := usage{From: Time(from), To: Time(to), Rows: make([]usageRow, 0, len(rows))}
		var total usageGroup
		for _, u := range by.gather(&a.sources.UsageSources, rows) {
			total.sums.Add(&u.sums)
			total.now, total.nowNot = total.now+u.now, total.nowNot+u.nowNot
			reply.Rows = append(reply.Rows, by.shown(u, q.Step))
		}
		reply.Total = (&grouping{current: by.current}).shown(&total, ledger.Whole)
		if format == "csv" {
			writeUsageCSV(w, &by, q.Step, reply.Rows)
		} else {
			writeJSON(w, http.StatusOK, reply)
		}
		return nil
	})
}

// column is one of the table that spreadsheets read.
type column struct {
	name string
	cell func(*usageRow) string
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

func decimal(n *float64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatFloat(*n, 'f', -1, 64)
}

func dollars(n usd) string {
	text, _ := n.MarshalJSON() // it never fails
	return string(text)
}

// cellText is text for a spreadsheet, which would take what begins with some signs for a formula.
func cellText(text *string) string {
	if text == nil {
		return ""
	}
	if *text != "" && strings.ContainsRune("=+-@\t\r\n", rune((*text)[0])) {
		return "'" + *text
	}
	return *text
}

// columns are those of a query's table.
func columns(g *grouping, step ledger.Step) []column {
	var all []column
	add := func(when bool, name string, cell func(*usageRow) string) {
		if when {
			all = append(all, column{name, cell})
		}
	}
	add(step != ledger.Whole, "at", func(u *usageRow) string { return time.Time(*u.At).UTC().Format(timeLayout) })
	add(g.owner, "owner", func(u *usageRow) string { return cellText(u.Owner) })
	add(g.team, "team", func(u *usageRow) string { return cellText(u.Team) })
	for _, name := range g.labels {
		title := labelWord + name // it begins with no sign of a formula
		add(true, title, func(u *usageRow) string { return cellText(u.Labels[name]) })
	}
	add(g.key, "key", func(u *usageRow) string { return cellText(u.Key) })
	add(g.route, "route", func(u *usageRow) string { return cellText(u.Route) })
	add(g.model, "model", func(u *usageRow) string { return cellText(u.Model) })
	add(g.provider, "provider", func(u *usageRow) string { return cellText(u.Provider) })
	add(true, "requests", func(u *usageRow) string { return number(u.Requests) })
	add(true, "attempts", func(u *usageRow) string { return number(u.Attempts) })
	add(true, "input_tokens", func(u *usageRow) string { return number(u.Input) })
	add(true, "output_tokens", func(u *usageRow) string { return number(u.Output) })
	add(true, "cached_input_tokens", func(u *usageRow) string { return number(u.CachedInput) })
	add(true, "cache_write_tokens", func(u *usageRow) string { return number(u.CacheWrite) })
	add(true, "reasoning_tokens", func(u *usageRow) string { return number(u.Reasoning) })
	add(true, "cost_usd", func(u *usageRow) string { return dollars(u.Cost) })
	add(true, "ok", func(u *usageRow) string { return number(u.OK) })
	add(true, "failed", func(u *usageRow) string { return number(u.Failed) })
	add(true, "rescued", func(u *usageRow) string { return number(u.Rescued) })
	add(true, "failovers", func(u *usageRow) string { return number(u.Failovers) })
	add(true, "availability", func(u *usageRow) string { return decimal(u.Availability) })
	add(true, "added_ms", func(u *usageRow) string { return number(u.Added) })
	add(true, "added_cost_usd", func(u *usageRow) string { return dollars(u.AddedCost) })
	add(true, "duration_ms_avg", func(u *usageRow) string { return decimal(u.Duration) })
	add(true, "first_content_ms_p50", func(u *usageRow) string { return decimal(u.FirstContent.P50) })
	add(true, "first_content_ms_p95", func(u *usageRow) string { return decimal(u.FirstContent.P95) })
	add(true, "unpriced_attempts", func(u *usageRow) string { return number(u.Unpriced) })
	add(true, "estimated_tokens", func(u *usageRow) string { return number(u.Estimated) })
	add(g.current, "current_cost_usd", func(u *usageRow) string { return dollars(*u.Current) })
	add(g.current, "current_unpriced_tokens", func(u *usageRow) string { return number(*u.CurrentUnpriced) })
	return all
}

func writeUsageCSV(w http.ResponseWriter, g *grouping, step ledger.Step, rows []usageRow) {
	h := w.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="usage.csv"`)
	h.Set("Cache-Control", "no-store")
	all := columns(g, step)
	line := make([]string, len(all))
	for i, c := range all {
		line[i] = c.name
	}
	out := csv.NewWriter(w)
	_ = out.Write(line) // a client that is gone needs no table
	for i := range rows {
		for j, c := range all {
			line[j] = c.cell(&rows[i])
		}
		_ = out.Write(line) // as above
	}
	out.Flush()
}
