package app

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"evergate/internal/admin"
	"evergate/internal/alert"
	"evergate/internal/config"
	"evergate/internal/identity"
	"evergate/internal/ingress"
	"evergate/internal/quota"
	"evergate/internal/quota/meters"
	"evergate/internal/telemetry"
)

// meterStore is a store that keeps counts of limits beside pages.
type meterStore interface{ Meters() meters.Store }

// newMeters makes what counts against limits and budgets: in the fleet's store, too, if there is one.
func (a *App) newMeters() {
	o := meters.Options{Instance: a.instance, Told: a.budgetPassed}
	if a.fleet != nil {
		o.Store, o.Instances, o.Failed = a.countsOf, a.liveInstances, a.toldOfCounts
	}
	a.meters = meters.New(o)
}

// countsOf gives where the fleet's counts are; nil while the store is lost.
func (a *App) countsOf() meters.Store {
	if s, ok := a.fleet.Reached().(meterStore); ok {
		return s.Meters()
	}
	return nil
}

// liveInstances is how many gateways of the fleet are heard of, this one included.
func (a *App) liveInstances() int {
	n := 0
	for _, i := range a.fleet.Status().Instances {
		if !i.Silent && !i.Left {
			n++
		}
	}
	return max(n, 1)
}

// toldOfCounts is the line of the log for counts that cannot be shared, or can again.
func (a *App) toldOfCounts(err error) {
	if err != nil {
		a.log.Warn("limits and budgets are not shared, each instance keeps to its part of them", "error", err.Error())
		return
	}
	a.log.Info("limits and budgets are shared again")
}

// startMeters begins to share what is counted. It is stopped after the requests, and before the store.
func (a *App) startMeters() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	a.recall(ctx)
	go func() {
		defer close(done)
		a.meters.Run(ctx, flushTime)
	}()
	a.stops = append(a.stops, func(context.Context) error {
		cancel()
		<-done
		return nil
	})
}

// recall has what was spent before the start known before the first request comes, if the store answers soon.
func (a *App) recall(ctx context.Context) {
	if a.fleet == nil {
		return
	}
	var all []meters.Bound
	cfg := a.config.Load()
	for i := range cfg.Auth.Keys {
		k := &cfg.Auth.Keys[i]
		all = append(all, meters.Bound{Kind: meters.Key, Name: k.Name, Limits: k.Limits, Budgets: k.Budgets})
	}
	for i := range cfg.Auth.Teams {
		t := &cfg.Auth.Teams[i]
		all = append(all, meters.Bound{Kind: meters.Team, Name: t.Name, Limits: t.Limits, Budgets: t.Budgets})
	}
	for _, r := range a.callers.Records() { // as far as they are known by now
		if r.Revoked.IsZero() {
			all = append(all, meters.Bound{Kind: meters.Key, Name: r.Name, Limits: r.Limits, Budgets: r.Budgets})
		}
	}
	ctx, cancel := context.WithTimeout(ctx, flushTime)
	defer cancel()
	a.meters.Recall(ctx, all)
}

// limitedParts puts limits of models and providers into the data plane's configuration.
func (a *App) limitedParts(c *config.Config, data *ingress.Config) {
	data.Meters, data.ModelLimits = a.meters, c.ModelLimits
	for i := range c.Providers {
		pc := &c.Providers[i]
		if pc.Limits != (quota.Limits{}) {
			data.Providers[pc.Options.Name].Limit = &meters.Gate{Table: a.meters, Bound: meters.Bound{
				Kind: meters.Provider, Name: pc.Options.Name, Limits: pc.Limits,
			}}
		}
	}
}

// budgetPassed tells of a budget that is near its end, or at it.
func (a *App) budgetPassed(e meters.Event) {
	a.alerts.BudgetPassed(alertOfBudget(&e))
}

func alertOfBudget(e *meters.Event) alert.Budget {
	return alert.Budget{
		At: e.At, Scope: e.Kind.String(), Name: e.Name, Limit: amountText(e.What, e.Limit), Used: amountText(e.What, e.Used), Per: e.Budget.Per.A(), Until: e.To,
		Spent: e.Spent, Refuses: !e.Budget.WarnOnly,
	}
}

func amountText(what meters.What, n int64) string {
	if what == meters.BudgetUSD {
		return "$" + strconv.FormatFloat(float64(n)/1e9, 'f', -1, 64)
	}
	return strconv.FormatInt(n, 10) + " tokens"
}

// limitsView is the reply of GET /admin/v1/limits.
func (a *App) limitsView() admin.Limits {
	out := admin.Limits{Shared: a.fleet != nil && a.countsOf() != nil, Instances: a.meters.Instances()}
	for _, v := range a.meters.Views(time.Now()) {
		s := admin.LimitedScope{
			Scope: v.Kind.String(), Name: v.Name, Requests: gaugeOf(v.Requests), Tokens: gaugeOf(v.Tokens), Concurrent: gaugeOf(v.Concurrent),
			Budgets: []admin.BudgetGauge{},
		}
		for i := range v.Budgets {
			s.Budgets = append(s.Budgets, budgetGauge(&v.Budgets[i]))
		}
		out.Scopes = append(out.Scopes, s)
	}
	return out
}

func gaugeOf(g meters.Gauge) *admin.LimitGauge {
	if g.Limit == 0 {
		return nil
	}
	return &admin.LimitGauge{Limit: g.Limit, Used: g.Used, Held: g.Held}
}

func budgetGauge(b *meters.BudgetView) admin.BudgetGauge {
	out := admin.BudgetGauge{
		Per: b.Budget.Per.String(), Zone: zoneOf(b), From: admin.Time(b.From), To: admin.Time(b.To), Warn: b.Budget.Warn, Mode: "block",
		SpentTokens: b.Tokens.Used, HeldTokens: b.Tokens.Held,
	}
	out.Money(b.Nano.Limit, b.Nano.Used, b.Nano.Held)
	if l := b.Tokens.Limit; l > 0 {
		out.LimitTokens = &l
	}
	if b.Budget.WarnOnly {
		out.Mode = "warn"
	}
	return out
}

func zoneOf(b *meters.BudgetView) string {
	if b.Budget.Zone == nil {
		return "UTC"
	}
	return b.Budget.Zone.String()
}

// spentBy is what a key has spent of its budgets, for the list of keys.
func (a *App) spentBy(who *identity.Principal) (out []admin.KeySpent) {
	views := a.meters.Spent(time.Now(), &meters.Bound{Kind: meters.Key, Name: who.Name, Budgets: who.Budgets})
	for i := range views {
		b := &views[i]
		out = append(out, admin.KeySpent{
			Per: b.Budget.Per.String(), Zone: zoneOf(b), From: admin.Time(b.From), To: admin.Time(b.To),
			USD: float64(b.Nano.Used) / 1e9, Tokens: b.Tokens.Used, LimitUSD: float64(b.Nano.Limit) / 1e9, LimitTokens: b.Tokens.Limit,
		})
	}
	return out
}

// mostBudgets bounds the budgets that metrics tell of.
const mostBudgets = 500

// budgetStates are what the metrics read of budgets at a scrape, the fullest first.
func (a *App) budgetStates() (out []telemetry.BudgetState) {
	for _, v := range a.meters.Views(time.Now()) {
		for i := range v.Budgets {
			b := &v.Budgets[i]
			out = append(out, telemetry.BudgetState{Scope: v.Kind.String(), Name: v.Name, Per: b.Budget.Per.String(), Used: b.Ratio()})
		}
	}
	slices.SortStableFunc(out, func(x, y telemetry.BudgetState) int { return cmp.Compare(y.Used, x.Used) })
	return out[:min(len(out), mostBudgets)]
}
