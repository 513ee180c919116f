package meters_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/quota"
	"evergate/internal/quota/meters"
	"evergate/internal/store/memory"
)

// wire is the way of one instance to the store: slow, and cut when it is.
type wire struct {
	meters.Store

	delay time.Duration
	mu    sync.Mutex
	cut   bool
}

func (w *wire) Exchange(ctx context.Context, own []meters.Tally, wanted []string) ([]meters.Tally, error) {
	time.Sleep(w.delay / 2)
	w.mu.Lock()
	cut := w.cut
	w.mu.Unlock()
	if cut {
		return nil, errors.New("it is down")
	}
	got, err := w.Store.Exchange(ctx, own, wanted)
	time.Sleep(w.delay / 2)
	return got, err
}

func (w *wire) set(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
}

// fleet is several instances in virtual time.
type fleet struct {
	tables []*meters.Table
	wires  []*wire
	ctx    context.Context //nolint:containedctx // of one test
	stop   context.CancelFunc
	done   sync.WaitGroup
}

func newFleet(n int, delay time.Duration) *fleet {
	ctx, cancel := context.WithCancel(context.Background())
	f := &fleet{stop: cancel}
	place := memory.New(time.Now)
	for i := range n {
		w := &wire{Store: place.Peer().Meters(), delay: delay}
		m := meters.New(meters.Options{
			Instance: fmt.Sprint("i", i), Store: func() meters.Store { return w }, Instances: func() int { return n },
		})
		f.tables, f.wires = append(f.tables, m), append(f.wires, w)
	}
	f.ctx = ctx
	return f
}

// start has them share what they count.
func (f *fleet) start() {
	for _, m := range f.tables {
		f.done.Go(func() { m.Run(f.ctx, time.Second) })
	}
}

func (f *fleet) end() {
	f.stop()
	f.done.Wait()
}

// most is how many of times lie within any 60 s.
func most(times []time.Time) int {
	best, from := 0, 0
	for to := range times {
		for times[to].Sub(times[from]) >= quota.WindowLength {
			from++
		}
		best = max(best, to-from+1)
	}
	return best
}

// TestFleetKeepsToItsLimit: requests come to instances of a fleet as they like, the store is slow, and is lost for all of them at times. No more are let
// in than the limit, a lease for each instance, what comes to an instance while an exchange is under way, and, where the store is lost in the middle, what
// came in the second before; and of what there is room for hardly less.
func TestFleetKeepsToItsLimit(t *testing.T) {
	rounds := 12
	if n, err := strconv.Atoi(os.Getenv("EVERGATE_FLEETS")); err == nil {
		rounds = n
	}
	for seed := range uint64(rounds) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		n := 2 + rnd.IntN(4)
		limit := 50 + rnd.Int64N(1450)
		delay := time.Duration(rnd.IntN(21)) * time.Millisecond
		weights := make([]int, n)
		for i := range weights {
			weights[i] = rnd.IntN(11)
		}
		outage := []string{"none", "from the beginning", "in between"}[rnd.IntN(3)]
		weights[0]++
		var in []time.Time
		var perInstance, perSecond int64
		synctest.Test(t, func(*testing.T) {
			f := newFleet(n, delay)
			defer f.end()
			f.start()
			time.Sleep(10 * time.Millisecond)
			b := []meters.Bound{{Kind: meters.Key, Name: "k", Limits: quota.Limits{RequestsPerMinute: limit}}}
			var draw []int
			for i, w := range weights {
				for range w {
					draw = append(draw, i)
				}
			}
			const step = 10 * time.Millisecond
			perStep := int(limit)/500 + 1 // the whole limit within five seconds
			perSecond = int64(perStep) * int64(time.Second/step)
			perInstance = int64(perStep) * (int64(2*delay/step) + 2)
			if outage == "from the beginning" {
				for _, w := range f.wires {
					w.set(true)
				}
			}
			for i := range 13_000 { // 130 s
				if outage == "in between" && (i == 350 || i == 8000) {
					for _, w := range f.wires {
						w.set(i == 350)
					}
				}
				for range perStep {
					if _, _, r := f.tables[draw[rnd.IntN(len(draw))]].Reserve(time.Now(), meters.Amount{}, b); r == nil {
						in = append(in, time.Now())
					}
				}
				time.Sleep(step)
			}
		})
		allowed := limit + int64(n)*(quota.Lease(limit)+perInstance)
		if outage == "in between" { // who is far from its limit hears once a second
			allowed += perSecond
		}
		if got := int64(most(in)); got > allowed {
			t.Fatalf("seed %d: %d of %d were let in by %d instances, outage %s", seed, got, limit, n, outage)
		}
		if least := limit * 2 * 98 / 100; outage == "none" && int64(len(in)) < least {
			t.Fatalf("seed %d: %d were let in within 130 s, less than %d", seed, len(in), least)
		}
		if least := limit / int64(n) * 2 * 95 / 100; int64(len(in)) < least {
			t.Fatalf("seed %d: %d were let in within 130 s, although the store's loss is to block nobody", seed, len(in))
		}
	}
}
