package app

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"time"

	"evergate/internal/admin"
	"evergate/internal/config"
	"evergate/internal/provider"
	"evergate/internal/replica"
	"evergate/internal/resilience"
	"evergate/internal/store/postgres"
	"evergate/internal/store/redis"
	"evergate/internal/store/sqlite"
	"evergate/internal/telemetry"
)

// StateOpener opens the store that a config names. An error that is there without asking anybody says that the address is wrong.
type StateOpener func(context.Context, config.State) (replica.Store, error)

// OpenState is the table of stores; adding one is adding a line here and its schemes to package config.
func OpenState(ctx context.Context, s config.State) (replica.Store, error) {
	switch s.Kind() {
	case "sqlite":
		return storeOf(sqlite.OpenPages(ctx, s.File()))
	case "redis":
		return storeOf(redis.Open(s.URL.Reveal()))
	case "postgres":
		return storeOf(postgres.Open(s.URL.Reveal()))
	}
	return nil, fmt.Errorf("there is no store of kind %s", s.Kind())
}

// storeOf makes no store of a nil one.
func storeOf[S replica.Store](s S, err error) (replica.Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// verifyState says what is wrong with the address of a store, without asking for it.
func verifyState(s config.State) error {
	if s.Kind() == "sqlite" || s.URL == config.NoState || s.URL == "" {
		return nil
	}
	store, err := OpenState(context.Background(), s)
	if err != nil {
		return fmt.Errorf("state.url: %w", err)
	}
	return store.Close()
}

// replicate makes this instance one of its fleet, if the config names a store and there is somebody who opens it.
func (a *App) replicate(c *config.Config) error {
	if a.opts.OpenState == nil || c.State.URL == config.NoState || c.State.URL == "" {
		return nil
	}
	if err := verifyState(c.State); err != nil {
		return err
	}
	state := c.State
	a.state = state
	o := replica.Options{
		Open:     func(ctx context.Context) (replica.Store, error) { return a.opts.OpenState(ctx, state) },
		Self:     replica.Member{ID: a.instance, Version: a.opts.Version, Started: time.Now()},
		Averages: a.health, Memory: a.ingress.Affinity(), Interval: state.SyncInterval, Told: func(reached bool, why error) { a.toldOfState(state, reached, why) },
	}
	if state.KeepAnswers {
		o.Answers = a.ingress.Threads()
	}
	o.Drills, o.Keys = a.drills, a.callers
	a.fleet = replica.New(o)
	a.shareDrills()
	a.health.OnEvidence(a.fleet.Moved)
	return nil
}

// toldOfState is the line of the log for a store that is reached, or lost (R64).
func (a *App) toldOfState(s config.State, reached bool, why error) {
	if reached {
		a.alerts.StoreChanged(time.Now(), true, "")
		a.log.Info("state store reached", "store", s.Kind(), "address", s.Where())
		return
	}
	a.alerts.StoreChanged(time.Now(), false, why.Error())
	a.log.Warn("state store not reached, this instance goes on alone", "store", s.Kind(), "address", s.Where(), "error", why.Error())
}

// share tells the fleet of the providers of a configuration.
func (a *App) share(c *config.Config) {
	if a.fleet == nil {
		return
	}
	a.ingress.Affinity().Share(remembers(c))
	var all []replica.Provider
	for i := range c.Providers {
		o := &c.Providers[i].Options
		if guards := a.health.Provider(o.Name); guards != nil {
			all = append(all, replica.Provider{Name: o.Name, Of: upstreamOf(o), Guards: guards})
		}
	}
	a.fleet.Apply(all)
}

// remembers says whether any model holds conversations to their targets (R47).
func remembers(c *config.Config) bool {
	for _, v := range c.Table.Virtual {
		if len(v.Affinity.By) > 0 {
			return true
		}
	}
	return false
}

// upstreamOf is a fingerprint of what a provider is: gateways with other upstreams under one name do not mix their state.
func upstreamOf(o *provider.Options) string {
	h := sha256.New()
	base := ""
	if o.BaseURL != nil {
		base = o.BaseURL.String()
	}
	_, _ = fmt.Fprintf(h, "%q|%q|%q|%q|%q", o.Type, base, o.Region, o.Project, o.Location) // a hash never fails
	return hex.EncodeToString(h.Sum(nil)[:4])
}

// fingerprint tells whether a credential of one name is the same secret elsewhere. It has 32 bits of what the secret was the key of, from
// which nobody gets it back; 0 is unknown.
func fingerprint(c *provider.Credential) uint32 {
	var key strings.Builder
	_, _ = io.WriteString(&key, c.Value.Reveal())
	writeGrant(&key, c.OAuth)
	if key.Len() == 0 {
		return 0
	}
	h := hmac.New(sha256.New, []byte(key.String()))
	_, _ = io.WriteString(h, "evergate credential")
	return max(binary.BigEndian.Uint32(h.Sum(nil)), 1)
}

// startState begins to replicate, and waits a moment for what is known (R65).
func (a *App) startState() {
	if a.fleet == nil {
		return
	}
	a.stops = append(a.stops, func(ctx context.Context) error {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime) // the grace period may be over
		defer cancel()
		a.fleet.Stop(last)
		return nil
	})
	a.archive(a.config.Load().State)
	a.fleet.Start(context.Background())
}

// flushTime is how long a stop may take for the last words to the store.
const flushTime = 2 * time.Second

// ordered tells the fleet of an operator's order.
func (a *App) ordered(provider string, o resilience.Order) {
	if a.fleet != nil {
		a.fleet.Ordered(replica.Order{Provider: provider, Order: o})
	}
}

// showFleet adds the store and the instances to a health reply.
func (a *App) showFleet(view *admin.Health, now time.Time) {
	s := a.state // a reload does not change where it is
	if a.fleet == nil {
		view.State = admin.State{Store: "memory", Reached: true}
		view.Instances = []admin.Instance{{ID: a.instance, Self: true, Version: a.opts.Version, LastSeen: admin.Time(now), Believes: map[string][]admin.Belief{}}}
		return
	}
	f := a.fleet.Status()
	view.State = admin.State{
		Store: s.Kind(), Address: s.Where(), Reached: f.Reached, Since: admin.Time(f.Since), LastSync: admin.Time(f.LastSync), LagMS: f.Lag.Milliseconds(),
		Errors: f.Errors, Message: f.Problem,
	}
	view.Instances = view.Instances[:0]
	for i := range f.Instances {
		m := &f.Instances[i]
		shown := admin.Instance{
			ID: m.ID, Self: m.Self, Version: m.Version, Started: admin.Time(m.Started), LastSeen: admin.Time(m.Seen), LagMS: m.Lag.Milliseconds(),
			Silent: m.Silent, Left: m.Left, Believes: map[string][]admin.Belief{},
		}
		for _, b := range m.Blocks {
			shown.Believes[b.Provider] = append(shown.Believes[b.Provider], admin.Belief{
				Guard: b.Guard, Model: b.Model, Credential: b.Credential, Reason: b.Reason, Until: admin.Time(b.Until),
			})
		}
		view.Instances = append(view.Instances, shown)
	}
}

// syncState is what the metrics read of the store at a scrape.
func (a *App) syncState() telemetry.SyncState {
	if a.fleet == nil {
		return telemetry.SyncState{Reached: true, Instances: 1}
	}
	f := a.fleet.Status()
	s := telemetry.SyncState{Reached: f.Reached, Errors: f.Errors, Lag: f.Lag, Answers: a.ingress.Threads().Lost(), Conversations: a.ingress.Affinity().Lost()}
	for i := range f.Instances {
		if !f.Instances[i].Silent {
			s.Instances++
		}
	}
	return s
}
