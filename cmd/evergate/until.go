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
	signals chan os.Signal
}

// run serves until SIGTERM or SIGINT, or until another process has taken over, then drains. SIGHUP reloads.
func (l *life) run() error {
	l.signals = make(chan os.Signal, 4)
	signal.Notify(l.signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer signal.Stop(l.signals)
	if l.process != nil {
		signal.Notify(l.signals, handover.Signal)
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
		case s := <-l.signals:
			switch s {
			case syscall.SIGHUP:
				go func() { _ = l.app.Reload() }() // it says in the log what became of it; a file that hangs does not hold up a SIGTERM
			case handover.Signal:
				go func() {
					if l.upgrade() {
						close(replaced)
					}
				}()
			default:
				return l.stop()
			}
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

// untilAgain calls f with a context that ends at the next SIGTERM or SIGINT. Other signals are passed over.
func (l *life) untilAgain(f func(context.Context) error) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case <-done:
				return
			case s := <-l.signals:
				if s == syscall.SIGTERM || s == syscall.SIGINT {
					cancel()
				}
			}
		}
	}()
	return f(ctx)
}
