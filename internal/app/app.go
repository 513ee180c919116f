// Package app is the whole program as a type: it turns a configuration into running parts, holds the tables of
// dialects and exporters, and starts, reloads and stops. It knows everyone and is known by cmd alone; it decides
// nothing about a request.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"evergate/internal/alert"
	"evergate/internal/attempt"
	"evergate/internal/catalog"
	"evergate/internal/config"
	"evergate/internal/drill/running"
	"evergate/internal/feed"
	"evergate/internal/front"
	"evergate/internal/guardrail"
	"evergate/internal/health"
	"evergate/internal/identity"
	"evergate/internal/ingress"
	"evergate/internal/journal"
	"evergate/internal/mirror"
	"evergate/internal/probing"
	"evergate/internal/quota/meters"
	"evergate/internal/replica"
	"evergate/internal/telemetry"
	"evergate/internal/telemetry/traces"
	"evergate/internal/wire"
)

// Options are what the command line gives.
type Options struct {
	Config *config.Config
	// Load reads the configuration anew, for a reload; nil: there is nothing to reload.
	Load func() (*config.Config, error)
	// Watch is a file whose changes trigger a reload; empty: none.
	Watch   string
	Logger  *slog.Logger
	Version string
	// LogDropped gives the number of log lines lost so far; nil: none are.
	LogDropped func() uint64
	// Settle is how long a start may wait for what the providers have before it serves: another process serves until then.
	Settle time.Duration
	// Sinks hear every fact, beside logs and metrics.
	Sinks []journal.Sink
	// Traces is how spans of requests are sent; nil: nothing is traced.
	Traces *traces.Settings
	// OpenState opens the store of the config's state; nil: the state is kept in the process alone.
	OpenState StateOpener
	// Dial and Listen replace the network in tests; nil: the real one.
	Dial   dialFunc
	Listen func(setting, addr string) (net.Listener, error) // setting is server.listen or admin.listen
}

// App is one gateway. Its methods are safe for concurrent use.
type App struct {
	opts     Options
	log      *slog.Logger
	health   *health.Health
	catalog  *catalog.Catalog
	ingress  *ingress.Handler
	callers  *identity.Book
	keys     *identity.Registry
	issuers  identity.Fetch
	meters   *meters.Table
	sink     journal.Sink
	feed     *feed.Feed
	metrics  *telemetry.Metrics
	alerts   *alert.Watcher
	copies   mirror.Memory
	book     *book
	tracer   *traces.Tracer // nil: nothing is traced
	prober   *probing.Prober
	drills   *running.Drills
	dialects *wire.Table
	back     atomic.Pointer[http.Handler] // the admin API, health and metrics; a reload swaps it with its token
	draining atomic.Bool                  // not ready
	leaving  atomic.Bool                  // answers end their connections
	instance string                       // this process, in the health reply and for its fleet
	fleet    *replica.Fleet               // nil: it is alone
	state    config.State                 // where its state is, as it was at the start
	ballast  []byte

	door    atomic.Pointer[doorway]
	shown   map[string]shown // the listeners' certificates as they were at the start, by setting
	refused front.Refusals
	guesses *front.Guesses // of keys

	privateReceivers atomic.Pointer[[]string] // hosts of receivers of alerts whose names may lead to private addresses

	reload    sync.Mutex // serialises reloads; guards the two below
	config    atomic.Pointer[config.Config]
	upstreams map[string]*upstream
	doubted   []byte                    // what providers' files held at the last look, where it is not in force
	doubts    string                    // what was said of what cannot be used
	redaction atomic.Pointer[redaction] // of bodies that are kept
	guards    map[string]*guardrail.Named
	hooks     atomic.Pointer[hookClients] // of guards that are services; nil: there are none yet
	marks     map[string]uint64           // of models that keep answers, as lastMark was for each
	lastMark  uint64
	live      atomic.Pointer[map[string]*upstream] // the same, for readers; the map is never changed

	hard      context.Context //nolint:containedctx // ends every request when the grace period is over
	abandon   context.CancelCauseFunc
	stops     []func(context.Context) error // run in reverse order
	served    sync.WaitGroup
	entrances []*entrance
	left      time.Time     // since when it is leaving
	quiet     time.Duration // how long a connection says nothing before a drain closes it
	addr      net.Addr
	admin     net.Addr
}

// New wires an App without serving.
func New(o Options) (*App, error) {
	a := &App{opts: o, log: o.Logger, dialects: dialects(), callers: identity.NewBook(), guesses: front.NewGuesses(), instance: fmt.Sprintf("%016x", rand.Uint64())} //nolint:gosec // a name, not a secret
	a.hard, a.abandon = context.WithCancelCause(context.Background())
	if a.opts.Listen == nil {
		a.opts.Listen = func(_, addr string) (net.Listener, error) { return net.Listen("tcp", addr) }
	}
	a.sink = a.sinks()
	sink := a.sink
	a.health = health.New(sink)
	p, err := build(o.Config, nil, o.Dial)
	if err != nil {
		return nil, err
	}
	a.catalog = catalog.New(p.sources, catalog.Options{
		Refresh: o.Config.RefreshInterval, Recheck: o.Config.RecheckInterval, Journal: sink,
	})
	runner := &attempt.Runner{Health: a.health, Journal: sink, Drills: a.drills}
	a.ingress = ingress.New(a.dialects, routes(), runner, sink, a.catalog)
	if a.tracer != nil {
		a.ingress.Trace(a.tracer)
	}
	if err := a.replicate(o.Config); err != nil {
		return nil, err
	}
	a.register()
	a.issuers = a.readIssuers()
	a.newMeters()
	a.shown = p.shown
	a.take(o.Config, p)
	return a, nil
}

// take puts a configuration in force.
func (a *App) take(c *config.Config, p *parts) {
	inherit(c, p, a.upstreams)
	a.health.Apply(p.guards)
	a.share(c)
	a.prober.Apply(a.probes(c, p))
	a.takeAlerts(c)
	a.catalog.Apply(p.sources)
	a.redaction.Store(newRedaction(c, p.upstreams))
	a.takeCallers(c)
	data := ingressConfig(c, p, a.health, a.callers)
	data.Guardrails = a.guardrails(c)
	a.cacheRules(c, p, data)
	a.guesses.Limit(c.Auth.FailedLimit)
	data.Guesses = a.guesses
	a.limitedParts(c, data)
	a.ingress.Configure(data)
	a.purgeCache(data.Replies)
	a.door.Store(newDoorway(c))
	a.takeShown(p.shown)
	before := a.config.Swap(c)
	a.drills.Forbid(c.Admin.NoDrills)
	back := a.adminHandler()
	a.back.Store(&back)
	if before != nil && before.Admin.Token != c.Admin.Token {
		a.feed.HangUp() // whoever has the new one comes back
	}
	old := a.upstreams
	a.upstreams = p.upstreams
	a.live.Store(&p.upstreams)
	for name, up := range old {
		if p.upstreams[name] != up {
			up.client.Close() // idle connections alone: requests under way go on
		}
	}
}

// Reload reads the configuration again and puts it in force, or keeps the old one and says what is wrong. Guards, and requests
// under way, are kept. A changed listener needs a restart; that is said in the log.
func (a *App) Reload() error { return a.reloadFor("", bySignal) }

// reloadFor is Reload for somebody, who says why or nothing; the audit log has it.
func (a *App) reloadFor(why, by string) error {
	err := a.reloadNow()
	change := journal.Change{At: time.Now(), Action: "reload", Subject: a.config.Load().File, Reason: why, By: by, Result: "ok"}
	if err != nil {
		change.Result = firstLine(err)
	}
	a.sink.Changed(&change)
	return err
}

func (a *App) reloadNow() error {
	a.reload.Lock()
	defer a.reload.Unlock()
	if a.opts.Load == nil {
		a.log.Warn("there is no config file to reload")
		return errors.New("there is no config file to reload: the providers come from the environment")
	}
	next, err := a.opts.Load()
	if err == nil && a.fleet != nil {
		err = verifyState(next.State)
	}
	if err == nil {
		var p *parts
		if p, err = build(next, a.upstreams, a.opts.Dial); err == nil {
			err = a.keepShown(next, p.shown, time.Now())
		}
		if err == nil {
			a.warnRestart(next)
			a.take(next, p)
			a.log.Info("config reloaded", "file", next.File, "providers", len(next.Providers), "models", len(next.Table.Virtual))
			return nil
		}
	}
	a.log.Error("config refused, the old one stays in force", "error", err.Error())
	return err
}

// warnRestart tells of changes that a reload cannot make.
func (a *App) warnRestart(next *config.Config) {
	now := a.config.Load()
	if now.Server.Listen != next.Server.Listen || now.Admin.Listen != next.Admin.Listen {
		a.log.Warn("a changed listen address takes effect at the next start or upgrade", "server", next.Server.Listen, "admin", next.Admin.Listen)
	}
	if a.needsNewListeners(next) {
		a.log.Warn("changed limits of connections, proxy_protocol, and TLS turned on or off take effect at the next start or upgrade")
	}
	if now.Log.Format != next.Log.Format || now.Log.Level != next.Log.Level || now.RefreshInterval != next.RefreshInterval || now.RecheckInterval != next.RecheckInterval {
		a.log.Warn("changed log settings and discovery intervals take effect at the next start")
	}
	if now.State != next.State {
		a.log.Warn("a changed state store takes effect at the next start", "store", next.State.Kind(), "address", next.State.Where())
	}
}

// Start listens and serves. On an error everything that was started is stopped again.
func (a *App) Start() error {
	cfg := a.config.Load()
	ctx, cancel := context.WithCancel(context.Background())
	a.startState()
	a.startMeters()
	a.startBook()
	a.startAlerts()
	a.stops = append(a.stops, a.closeHooks)
	a.stops = append(a.stops, a.endDrills)
	a.stops = append(a.stops, func(context.Context) error { a.prober.Stop(); return nil })
	a.stops = append(a.stops, func(context.Context) error { cancel(); a.catalog.Wait(); return nil })
	clients := a.toPages(a.ingress)
	public := a.operators(clients)
	if cfg.Admin.Listen != "" {
		public = clients
		addr, err := a.open("admin.listen", cfg.Admin.Listen, a.operators(nil))
		if err != nil {
			_ = a.Stop(context.Background())
			return err
		}
		a.admin = addr
	}
	addr, err := a.open("server.listen", cfg.Server.Listen, public)
	if err != nil {
		_ = a.Stop(context.Background())
		return err
	}
	a.addr = addr
	for _, w := range cfg.Warnings {
		a.log.Warn("config warning", "problem", w.String())
	}
	a.log.Info("listening", "version", a.opts.Version, "address", a.addr.String(), "admin", a.adminWhere(), "config", cfg.File,
		"providers", len(cfg.Providers), "models", len(cfg.Table.Virtual))
	if a.tracer != nil {
		a.tracer.Start()
	}
	a.catalog.Start(ctx)
	a.settle(ctx)
	a.start()
	a.ballast = make([]byte, ballastSize)
	a.served.Go(func() { a.tidy(ctx) })
	if a.fleet != nil {
		others := &feed.Others{Feed: a.feed, Instance: a.instance, Store: a.book.Store}
		a.served.Go(func() { others.Run(ctx) })
	}
	a.served.Go(func() { a.watchCertificates(ctx) })
	if a.opts.Watch != "" && a.opts.Load != nil {
		if err := a.watchFile(ctx, a.opts.Watch); err != nil {
			a.log.Warn("the config file is not watched; SIGHUP reloads it", "error", err.Error())
		}
	}
	return nil
}

// adminWhere is the admin API's address, for the log.
func (a *App) adminWhere() string {
	if a.admin != nil {
		return a.admin.String()
	}
	return a.addr.String()
}

// Stop fails readiness, drains until ctx ends and stops everything. It may be called more than once.
func (a *App) Stop(ctx context.Context) error {
	a.draining.Store(true)
	a.leave()
	return a.stop(ctx, quietAtStop)
}

func (a *App) stop(ctx context.Context, quiet time.Duration) error {
	a.quiet = quiet
	a.feed.Stop() // who watches would be waited for
	var err error
	for i := len(a.stops) - 1; i >= 0; i-- {
		err = errors.Join(err, a.stops[i](ctx))
	}
	a.stops = nil
	for _, e := range a.entrances {
		e.close() // of a start that failed half way
	}
	if !errors.Is(err, errCutOff) {
		err = errors.Join(err, a.outlast(ctx))
	}
	a.ingress.StopCopies(ctx)
	a.served.Wait()
	a.stopTraces(ctx)
	a.abandon(attempt.ErrShutdown)
	if a.reload.TryLock() { // else one is under way and may hang on its file: a stop does not wait for it
		defer a.reload.Unlock()
		for _, up := range a.upstreams {
			up.client.Close()
		}
	}
	return err
}

// Grace is how long a stop waits for requests under way, by the configuration in force.
func (a *App) Grace() time.Duration { return a.config.Load().Server.ShutdownGrace }

// Addr is the address clients use, known after Start.
func (a *App) Addr() net.Addr { return a.addr }

// AdminAddr is the admin listener's address; nil if it is the same listener.
func (a *App) AdminAddr() net.Addr { return a.admin }

// listenError says what to do about an address that cannot be had.
func listenError(key, listen string, err error) error {
	if op := (*net.OpError)(nil); errors.As(err, &op) {
		err = op.Err // the rest of it only says again what listen says
	}
	if key == "server.listen" {
		key += " (or --listen)"
	}
	return fmt.Errorf("listen on %s: %w; set %s to a free address", listen, err, key)
}
