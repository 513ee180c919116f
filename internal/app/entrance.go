package app

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"evergate/internal/attempt"
	"evergate/internal/config"
	"evergate/internal/front"
)

// entrance is a listener and the server behind it. Its drain is not http.Server.Shutdown, which closes idle connections at once:
// a request that crosses such an end is lost, as clients do not repeat a POST, and a connection whose stream ended a moment ago
// is just where the next one comes from.
type entrance struct {
	setting  string // that names it
	listener net.Listener
	server   *http.Server
	certs    *front.Certificates // nil: plain text is spoken
	opened   time.Time
	conns    sync.Map // net.Conn → *visit
	leaving  *atomic.Bool
	closed   atomic.Bool   // by us
	served   chan struct{} // closed once nobody accepts any more
}

// visit is what a connection is doing.
type visit struct {
	state atomic.Int32 // an http.ConnState
	since atomic.Int64 // when that began, ns after the entrance was opened; kept for new connections, and for idle ones once the entrance is leaving
}

// The times for which a connection says nothing before a drain closes it. A stop is waited for; after a hand-over nobody does.
const (
	quietAtStop     = time.Second
	quietAtHandOver = 5 * time.Second
	// lookAround is how often a drain looks at its connections.
	lookAround = 20 * time.Millisecond
	// lastReplies is how long what was cut off may take to be told so.
	lastReplies = 2 * time.Second
)

// open listens at an address; key is the setting that names it. Nobody is served before start.
func (a *App) open(key, listen string, h http.Handler) (net.Addr, error) {
	l, err := a.opts.Listen(key, listen)
	if err != nil {
		return nil, listenError(key, listen, err)
	}
	cfg := a.config.Load()
	e := &entrance{setting: key, listener: a.limited(key, l, cfg), opened: time.Now(), leaving: &a.leaving, served: make(chan struct{})}
	e.server = a.newServer(e.closing(a.received(h)), cfg)
	e.server.ConnState = e.note
	if s, ok := a.shown[key]; ok {
		e.certs = front.NewCertificates(s.files, s.loaded)
		e.server.TLSConfig = e.certs.Config()
	}
	a.entrances = append(a.entrances, e)
	return l.Addr(), nil
}

// settle waits for the models that providers have, and for the keys in the store, so that a process which takes over knows them as the one before does.
func (a *App) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, a.opts.Settle)
	defer cancel()
	a.catalog.Settle(ctx)
	look := time.NewTicker(lookAround)
	defer look.Stop()
	for a.callers.Waits() && a.config.Load().Auth.Mode == config.AuthKeys {
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
}

// start serves at every open entrance.
func (a *App) start() {
	for _, e := range a.entrances {
		go func() {
			defer close(e.served)
			if err := e.serve(); err != nil && !e.closed.Load() {
				a.log.Error("listener failed", "listen", e.listener.Addr().String(), "error", err.Error())
			}
		}()
		a.stops = append(a.stops, func(ctx context.Context) error { return a.drain(ctx, e) })
	}
}

func (e *entrance) serve() error {
	if e.certs != nil {
		return e.server.ServeTLS(e.listener, "", "")
	}
	return e.server.Serve(e.listener)
}

// closing has clients told, in answers to what they ask once the entrance is leaving, that their connection ends.
func (e *entrance) closing(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if inDoubt(r) || e.leaving.Load() && !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
			w.Header().Set("Connection", "close")
		}
		h.ServeHTTP(w, r)
	})
}

// inDoubt says of a request that who stands before the gateway may have taken its end for another one than the gateway does: net/http goes by
// chunks and forgets without a word a Content-Length that came beside them. What follows on such a connection may be the inside of
// somebody's body, so that it ends with the answer (RFC 9112 §6.1). HTTP/2 has no chunks.
func inDoubt(r *http.Request) bool { return len(r.TransferEncoding) > 0 }

// note keeps a connection's state. It is called twice for every request: no lock, no clock, no allocation then.
func (e *entrance) note(c net.Conn, s http.ConnState) {
	switch s {
	case http.StateNew:
		v := &visit{}
		v.since.Store(int64(time.Since(e.opened)))
		e.conns.Store(c, v)
	case http.StateActive, http.StateIdle:
		if v, ok := e.conns.Load(c); ok {
			v := v.(*visit) //nolint:forcetypeassert // all there is in it
			if s == http.StateIdle && e.leaving.Load() {
				v.since.Store(int64(time.Since(e.opened)))
			}
			v.state.Store(int32(s)) //nolint:gosec // there are five
		}
	case http.StateClosed, http.StateHijacked:
		e.conns.Delete(c)
	}
}

// close ends accepting. It may be called more than once.
func (e *entrance) close() {
	if e.closed.CompareAndSwap(false, true) {
		_ = e.listener.Close()
	}
}

// sweep closes the connections that nobody has asked anything on for so long, counted from left at the earliest, and gives how
// many are still open.
func (e *entrance) sweep(left time.Time, quiet time.Duration) int {
	open, now, least := 0, time.Since(e.opened), left.Sub(e.opened)
	e.conns.Range(func(c, v any) bool {
		open++
		visit := v.(*visit) //nolint:forcetypeassert // all there is in it
		busy := http.ConnState(visit.state.Load()) == http.StateActive
		if since := max(time.Duration(visit.since.Load()), least); !busy && now-since >= quiet {
			_ = c.(net.Conn).Close() // its goroutine notices, and it is gone at the next look
		}
		return true
	})
	return open
}

// empty waits until no connection is open; false: ctx ended first.
func (e *entrance) empty(ctx context.Context, left time.Time, quiet time.Duration) bool {
	look := time.NewTicker(lookAround)
	defer look.Stop()
	for e.sweep(left, quiet) > 0 {
		select {
		case <-look.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// drain closes an entrance and waits for requests under way until ctx ends; what is left then is told so in its own dialect
// (attempt.ErrShutdown).
func (a *App) drain(ctx context.Context, e *entrance) error {
	e.close()
	<-e.served // else a connection just accepted could be overlooked
	defer func() { _ = e.server.Close() }()
	if e.empty(ctx, a.left, a.quiet) {
		return nil
	}
	busy := a.ingress.InFlight() > 0 // else a connection is left that never sent a whole request
	a.abandon(attempt.ErrShutdown)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastReplies)
	defer cancel()
	e.empty(last, a.left, 0) // whoever is still there takes nothing
	if !busy {
		return nil
	}
	a.idle(last) // WebSockets close behind the frame under way
	return errCutOff
}

// outlast waits until ctx ends for the connections that became WebSockets, of which no server knows any more; what is left then
// is cut off.
func (a *App) outlast(ctx context.Context) error {
	if a.idle(ctx) {
		return nil
	}
	a.abandon(attempt.ErrShutdown)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastReplies)
	defer cancel()
	a.idle(last)
	return errCutOff
}

// idle waits until no client request is being served; false: ctx ended first.
func (a *App) idle(ctx context.Context) bool {
	look := time.NewTicker(lookAround)
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

// leave has every answer from now on say that its connection ends. It may be called more than once.
func (a *App) leave() {
	if !a.leaving.Load() {
		a.left = time.Now()
		a.leaving.Store(true)
	}
}

// Leave fails readiness and goes on serving for the delay that the configuration names, or until ctx ends, so that whoever sends
// requests here notices before Stop closes the listeners.
func (a *App) Leave(ctx context.Context) {
	a.draining.Store(true)
	a.leave()
	delay := a.config.Load().Server.ShutdownDelay
	if delay <= 0 {
		return
	}
	a.log.Info("stopping: not ready, requests are still taken", "for", delay.String())
	ctx, cancel := context.WithTimeout(ctx, delay)
	defer cancel()
	<-ctx.Done()
}

// HandOver is Stop for a process whose listeners another one has by now: they are closed first, all of them, and readiness does
// not fail, as who asks for it here on a connection from before means the other.
func (a *App) HandOver(ctx context.Context) error {
	a.leave()
	for _, e := range a.entrances {
		e.close()
	}
	return a.stop(ctx, quietAtHandOver)
}
