package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"evergate/internal/app"
	"evergate/internal/handover"
)

// runUntilSignal serves until SIGTERM or SIGINT, then drains: started is called once it listens.
func runUntilSignal(a *app.App, started func()) error {
	return (&life{app: a, started: started}).run()
}

// life is a gateway's from its start to its end, as signals direct it.
type life struct {
	app     *app.App
	started func()            // called once it listens
	process *handover.Process // nil: no other process takes over
	log     *slog.Logger
	// Each kind of signal has a channel of its own, so that none that comes while nobody looks, at the start for instance, takes another's place. Two ends
	// are two things to do; of reloads and upgrades one that waits is as good as many.
	ends, reloads, upgrades chan os.Signal
}

// run serves until SIGTERM or SIGINT, or until another process has taken over, then drains. SIGHUP reloads.
func (l *life) run() error {
	l.ends, l.reloads, l.upgrades = make(chan os.Signal, 2), make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(l.ends, syscall.SIGTERM, syscall.SIGINT)
	defer signal.Stop(l.ends)
	signal.Notify(l.reloads, syscall.SIGHUP)
	defer signal.Stop(l.reloads)
	if l.process != nil {
		signal.Notify(l.upgrades, handover.Signal)
		defer signal.Stop(l.upgrades)
	}
	if err := l.app.Start(); err != nil {
		return err
	}
	l.started()
	replaced := make(chan struct{})
	for {
		select {
		case <-replaced:
			return l.handOver()
		case <-l.ends:
			return l.stop()
		case <-l.reloads:
			go func() { _ = l.app.Reload() }() // it says in the log what became of it; a file that hangs does not hold up a SIGTERM
		case <-l.upgrades:
			go func() {
				if l.upgrade() {
					close(replaced)
				}
			}()
		}
	}
}

// upgrade has a new process take over; false: this one goes on.
func (l *life) upgrade() bool {
	l.log.Info("upgrade: starting a new process")
	if err := l.process.Upgrade(); err != nil {
		l.log.Error("upgrade failed, this process goes on serving", "error", err.Error())
		return false
	}
	l.log.Info("upgrade: the new process serves, this one finishes its requests", "grace", l.app.Grace().String())
	return true
}

// handOver ends a process that another one has replaced.
func (l *life) handOver() error {
	return l.untilAgain(func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, l.app.Grace())
		defer cancel()
		return l.app.HandOver(ctx)
	})
}

// stop ends the gateway: SIGTERM or SIGINT skips the delay before it closes its listeners, and one after that ends at once.
func (l *life) stop() error {
	if l.process != nil {
		l.process.Stopping()
		defer l.process.Close()
	}
	_ = l.untilAgain(func(ctx context.Context) error { l.app.Leave(ctx); return nil })
	return l.untilAgain(func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, l.app.Grace())
		defer cancel()
		return l.app.Stop(ctx)
	})
}

// untilAgain calls f with a context that ends at the next SIGTERM or SIGINT. Other signals do nothing any more.
func (l *life) untilAgain(f func(context.Context) error) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-done:
		case <-l.ends:
			cancel()
		}
	}()
	return f(ctx)
}
