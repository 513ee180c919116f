package app

import (
	"context"
	"time"

	"evergate/internal/config"
	"evergate/internal/ledger"
	"evergate/internal/replica"
	"evergate/internal/store/memory"
	"evergate/internal/telemetry"
)

// bookkeeper is a store that keeps a ledger beside pages.
type bookkeeper interface{ Ledger() ledger.Store }

// book is the ledger of this instance.
type book struct {
	*ledger.Writer

	fleet func() *replica.Fleet // nil: it is alone
	rows  *memory.Ledger        // where no store is configured
}

// keepBook makes the ledger: in the store of the state, or in memory where there is none.
func (a *App) keepBook(c *config.Config) *book {
	b := &book{fleet: func() *replica.Fleet { return a.fleet }, rows: memory.NewLedger(time.Now).AtMost(c.Ledger.MaxRequests)}
	b.Writer = ledger.NewWriter(ledger.Options{
		Store: b.store, Instance: a.instance, Hear: a.feed, Redact: a.redact,
		Keep: func() ledger.Retention {
			of := a.config.Load().Ledger
			return ledger.Retention{Age: of.Retention, Requests: of.MaxRequests, Entries: of.MaxRequests, Bytes: ledger.FileBytes(of.MaxRequests)}
		},
		Told: func(err error) {
			if err != nil {
				a.log.Warn("the ledger is not written, its rows wait", "error", err.Error())
				return
			}
			a.log.Info("the ledger is written again")
		},
	})
	return b
}

// store is nil while the store is lost.
func (b *book) store() ledger.Store {
	fleet := b.fleet()
	if fleet == nil {
		return b.rows
	}
	if keeper, ok := fleet.Reached().(bookkeeper); ok {
		return keeper.Ledger()
	}
	return nil
}

// startBook begins to write. It is stopped after the requests, and before the store.
func (a *App) startBook() {
	a.book.Start()
	a.stops = append(a.stops, func(ctx context.Context) error {
		a.ingress.StopCopies(ctx)                                                  // what they cost is to be written, too
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime) // the grace period may be over
		defer cancel()
		_ = a.book.Stop(last) // what was not written is counted
		return nil
	})
}

// ledgerState is what the metrics read of the ledger at a scrape.
func (a *App) ledgerState() telemetry.LedgerState {
	s := a.book.Stats()
	return telemetry.LedgerState{Written: s.Written, Dropped: s.Dropped}
}
