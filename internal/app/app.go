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

	"evergate/internal/attempt"
	"evergate/internal/catalog"
	"evergate/internal/config"
	"evergate/internal/health"
	"evergate/internal/ingress"
	"evergate/internal/journal"
	"evergate/internal/probing"
	"evergate/internal/recent"
	"evergate/internal/telemetry"
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
	// Sinks hear every fact, beside logs and metrics.
	Sinks []journal.Sink
	// Dial and Listen replace the network in tests; nil: the real one.
	Dial   dialFunc
	Listen func(network, addr string) (net.Listener, error)
}

// App is one gateway. Its methods are safe for concurrent use.
type App struct {
	opts     Options
	log      *slog.Logger
	health   *health.Health
	catalog  *catalog.Catalog
	ingress  *ingress.Handler
	metrics  *telemetry.Metrics
	recent   recent.Ring
	prober   *probing.Prober
	back     atomic.Pointer[http.Handler] // the admin API, health and metrics; a reload swaps it with its token
	draining atomic.Bool
	instance string // this process, in the health reply
	ballast  []byte

	reload    sync.Mutex // serialises reloads; guards the two below
	config    atomic.Pointer[config.Config]
	upstreams map[string]*upstream
	live      atomic.Pointer[map[string]*upstream] // the same, for readers; the map is never changed

	hard    context.Context //nolint:containedctx // ends every request when the grace period is over
	abandon context.CancelCauseFunc
	stops   []func(context.Context) error // run in reverse order
	served  sync.WaitGroup
	addr    net.Addr
	admin   net.Addr
}

// New wires an App without serving.
func New(o Options) (*App, error) {
	a := &App{opts: o, log: o.Logger, instance: fmt.Sprintf("%08x", rand.Uint32())} //nolint:gosec // a name, not a secret
	a.hard, a.abandon = context.WithCancelCause(context.Background())
	if a.opts.Listen == nil {
		a.opts.Listen = net.Listen
	}
	sink := a.sinks()
	a.health = health.New(sink)
	p, err := build(o.Config, nil, o.Dial)
	if err != nil {
		return nil, err
	}
	a.catalog = catalog.New(p.sources, catalog.Options{
		Refresh: o.Config.RefreshInterval, Recheck: o.Config.RecheckInterval, Journal: sink,
	})
	runner := &attempt.Runner{Health: a.health, Journal: sink}
	a.ingress = ingress.New(dialects(), routes(), runner, sink, a.catalog)
	a.take(o.Config, p)
	return a, nil
}

// take puts a configuration in force.
func (a *App) take(c *config.Config, p *parts) {
	inherit(c, p, a.upstreams)
	a.health.Apply(p.guards)
	a.prober.Apply(probes(c, p, a.health))
	a.catalog.Apply(p.sources)
	a.ingress.Configure(ingressConfig(c, p, a.health))
	a.config.Store(c)
	back := a.adminHandler()
	a.back.Store(&back)
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
func (a *App) Reload() error {
	a.reload.Lock()
	defer a.reload.Unlock()
	if a.opts.Load == nil {
		a.log.Warn("there is no config file to reload")
		return errors.New("there is no config file to reload: the providers come from the environment")
	}
	next, err := a.opts.Load()
	if err == nil {
		var p *parts
		if p, err = build(next, a.upstreams, a.opts.Dial); err == nil {
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
		a.log.Warn("a changed listen address takes effect at the next start", "server", next.Server.Listen, "admin", next.Admin.Listen)
	}
	if now.Log != next.Log || now.RefreshInterval != next.RefreshInterval || now.RecheckInterval != next.RecheckInterval {
		a.log.Warn("changed log settings and discovery intervals take effect at the next start")
	}
}

// Start listens and serves. On an error everything that was started is stopped again.
func (a *App) Start() error {
	cfg := a.config.Load()
	ctx, cancel := context.WithCancel(context.Background())
	a.stops = append(a.stops, func(context.Context) error { a.prober.Stop(); return nil })
	a.stops = append(a.stops, func(context.Context) error { cancel(); a.catalog.Wait(); return nil })
	front := a.split()
	if cfg.Admin.Listen != "" {
		front = a.ingress
		addr, err := a.serve("admin.listen", cfg.Admin.Listen, http.HandlerFunc(a.serveAdmin))
		if err != nil {
			_ = a.Stop(context.Background())
			return err
		}
		a.admin = addr
	}
	addr, err := a.serve("server.listen (or --listen)", cfg.Server.Listen, front)
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
	a.catalog.Start(ctx)
	a.ballast = make([]byte, ballastSize)
	a.served.Go(func() { a.tidy(ctx) })
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

// serve starts one listener; key is the setting that names its address.
func (a *App) serve(key, listen string, h http.Handler) (net.Addr, error) {
	l, err := a.opts.Listen("tcp", listen)
	if err != nil {
		return nil, listenError(key, listen, err)
	}
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(serverLog{a.log.Handler()}, slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return a.hard },
	}
	a.served.Go(func() {
		if err := server.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
			a.log.Error("listener failed", "listen", listen, "error", err.Error())
		}
	})
	a.stops = append(a.stops, func(ctx context.Context) error { return a.drain(ctx, server) })
	return l.Addr(), nil
}

// drain waits for requests under way until ctx ends; what is left then is told so in its own dialect (attempt.ErrShutdown).
func (a *App) drain(ctx context.Context, server *http.Server) error {
	err := server.Shutdown(ctx)
	if err == nil {
		return nil
	}
	busy := a.ingress.InFlight() > 0 // else a connection is left that never sent a whole request
	a.abandon(attempt.ErrShutdown)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if server.Shutdown(last) != nil {
		_ = server.Close() // whoever is still there takes nothing
	}
	if !busy {
		return nil
	}
	return errCutOff
}

// outlast waits until ctx ends for the connections that became WebSockets, of which no server knows any more; what is left then
// is cut off.
func (a *App) outlast(ctx context.Context) error {
	if a.idle(ctx) {
		return nil
	}
	a.abandon(attempt.ErrShutdown)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	a.idle(last)
	return errCutOff
}

// idle waits until no client request is being served; false: ctx ended first.
func (a *App) idle(ctx context.Context) bool {
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for a.ingress.InFlight() > 0 {
		select {
		case <-look.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// errCutOff says that requests were cut off at the end of the grace period.
var errCutOff = errors.New("requests were cut off at the end of the grace period")

// Stop fails readiness, drains until ctx ends and stops everything. It may be called more than once.
func (a *App) Stop(ctx context.Context) error {
	a.draining.Store(true)
	var err error
	for i := len(a.stops) - 1; i >= 0; i-- {
		err = errors.Join(err, a.stops[i](ctx))
	}
	a.stops = nil
	if !errors.Is(err, errCutOff) {
		err = errors.Join(err, a.outlast(ctx))
	}
	a.served.Wait()
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
	return fmt.Errorf("listen on %s: %w; set %s to a free address", listen, err, key)
}
