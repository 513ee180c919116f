package sqlite

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"evergate/internal/journal"
	"evergate/internal/ledger"
)

// BenchmarkLedgerRow is what a row costs all in all, from its fact to the file, in CPU time of the whole process: the caller's part, the writing goroutine's,
// SQLite's and that of the garbage.
func BenchmarkLedgerRow(b *testing.B) {
	db := openDB(b, newPath(b), defaults(b))
	store := db.Ledger()
	w := ledger.NewWriter(ledger.Options{Store: func() ledger.Store { return store }, Instance: "a1"})
	w.Start()
	r := rand.New(rand.NewPCG(1, 2))
	facts := make([]*journal.Request, 4096)
	for i := range facts {
		facts[i] = fact(r, i)
	}
	cpu := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	begin, rows := cpu(), 0
	for b.Loop() {
		for range 2000 { // and then as long as it takes to write them
			f := facts[rows%len(facts)]
			f.Start = time.Now().Add(-f.Duration)
			f.Trail[0].Start = f.Start
			w.RequestEnded(f)
			rows++
		}
		if err := w.Flush(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Stop(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64((cpu()-begin).Nanoseconds())/float64(rows), "cpu-ns/row")
	b.ReportMetric(float64(w.Stats().Dropped), "dropped")
}
