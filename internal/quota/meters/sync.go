package meters

import (
	"context"
	"slices"
	"time"

	"evergate/internal/quota"
)

const (
	// tick is how often the others are told of what moved, and lookEvery how often what did not move is looked at: of those who asked in the last minute.
	tick      = 100 * time.Millisecond
	lookEvery = time.Second
	warm      = quota.WindowLength
	// sayHeld is how often what is held is said again: others forget it after heldFor.
	sayHeld = 10 * time.Second
	// sayAgain is how often what was spent is said again: the store may have been emptied, or have lost its last writes.
	sayAgain = 10 * time.Minute
	// patience is how long one exchange may take, and rest how long the next one waits after one that failed.
	patience = 2 * time.Second
	rest     = time.Second
	// atOnce is how many scopes one exchange is about.
	atOnce = 200
	// keepWindow and keepPeriod are how long tallies are of use: windows, and periods after their end.
	keepWindow = 3 * quota.WindowLength
	keepPeriod = 48 * time.Hour
)

// Run tells the others, and hears them, until ctx ends; it tells what is left then, within last. Without a fleet it only tidies.
func (t *Table) Run(ctx context.Context, last time.Duration) {
	l := loop{t: t, due: map[*scope]bool{}}
	l.count(time.Now())
	next := time.Now().Add(l.rest())
	timer := time.NewTimer(time.Until(next))
	defer timer.Stop()
	for {
		what := ordinary
		select {
		case <-ctx.Done():
			if t.shared() {
				final, cancel := context.WithTimeout(context.WithoutCancel(ctx), last)
				defer cancel()
				l.rested = time.Time{}
				l.round(final, time.Now(), everything)
			}
			return
		case <-t.wake:
			what = all
		case <-t.stirred:
			if soon := time.Now().Add(tick); soon.Before(next) { // else it looks sooner, whatever stirs
				next = soon
				timer.Reset(tick)
			}
			continue
		case <-timer.C:
		}
		now := time.Now()
		if now.Sub(l.swept) >= quota.WindowLength {
			l.swept = now
			t.sweep(now)
		}
		if t.shared() {
			l.round(ctx, now, what)
		}
		next = now.Add(l.rest())
		timer.Reset(max(time.Until(next), 0))
	}
}

// rest is how long the loop may sleep if nothing stirs: a gateway that nobody asks has nothing to do.
func (l *loop) rest() time.Duration {
	switch {
	case len(l.due) > 0 || l.again:
		return tick
	case l.warm:
		return lookEvery
	}
	return quota.WindowLength
}

// loop is the state of Run.
type loop struct {
	t      *Table
	due    map[*scope]bool
	swept  time.Time
	looked time.Time
	warm   bool // somebody asked lately, or holds anything
	seen   int  // instances in the last exchange
	sawAt  time.Time
	rested time.Time // until when nothing is tried
	failed bool
	lost   bool // the store was, and may come back with nothing in it
	again  bool // all that was spent is to be said again
}

// which scopes a round is about.
type which uint8

const (
	ordinary   which = iota // that moved, but for those far from their limits
	all                     // that moved
	everything              // and that hold anything
)

// round makes the exchanges that are due.
func (l *loop) round(ctx context.Context, now time.Time, w which) {
	l.collect()
	if now.Before(l.rested) {
		return
	}
	store := l.t.o.Store()
	if store == nil {
		l.lost = true
		return
	}
	if w == everything || now.Sub(l.looked) >= lookEvery || l.again {
		l.looked = now
		l.count(now)
		l.lookAround(now)
	}
	batch := make([]*scope, 0, min(len(l.due), atOnce))
	for s := range l.due {
		if s.gone { // this goroutine alone says so
			delete(l.due, s)
			continue
		}
		if w == ordinary && !s.ripe(now) {
			continue
		}
		batch = append(batch, s)
		if len(batch) == atOnce {
			if !l.exchange(ctx, store, now, batch) {
				return
			}
			batch = batch[:0]
		}
	}
	if len(batch) > 0 {
		l.exchange(ctx, store, now, batch)
	}
}

// collect takes what moved from the shards.
func (l *loop) collect() {
	for i := range l.t.shards {
		sh := &l.t.shards[i]
		sh.mu.Lock()
		for _, s := range sh.moved {
			l.due[s] = true
		}
		clear(sh.moved)
		sh.moved = sh.moved[:0]
		sh.mu.Unlock()
	}
}

// lookAround has those looked at who asked lately, or hold anything.
func (l *loop) lookAround(now time.Time) {
	l.warm = false
	l.t.each(func(s *scope) {
		s.mu.Lock()
		defer s.mu.Unlock()
		l.warm = l.warm || now.Sub(s.touched) <= warm || s.flight.held != 0
		if now.Sub(s.touched) <= warm && now.Sub(s.said) >= lookEvery || s.flight.held != 0 && now.Sub(s.said) >= sayHeld ||
			(l.again || now.Sub(s.said) >= sayAgain) && s.spent(now) {
			l.due[s] = true
		}
	})
	l.again = false
}

// spent says whether anything of a budget is. It requires the lock.
func (s *scope) spent(now time.Time) bool {
	return slices.ContainsFunc(s.periods, func(p *period) bool { return p.counts(now) })
}

// ripe says whether the others are to hear now.
func (s *scope) ripe(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return now.Sub(s.said) >= lookEvery || !s.far(s.present(now))
}

// exchange tells of some scopes, and takes in what the others have; false: the store failed.
func (l *loop) exchange(ctx context.Context, store Store, now time.Time, batch []*scope) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var own []Tally
	wanted := make([]string, 0, 2*len(batch))
	for _, s := range batch {
		l.t.versions++
		own = s.tell(now, l.t.o.Instance, l.t.versions, own)
	}
	for i := range own {
		wanted = append(wanted, own[i].Meter)
	}
	got, err := store.Exchange(ctx, own, wanted)
	if err != nil {
		l.fail(now, err)
		return false
	}
	l.fail(now, nil)
	heard := time.Now()
	of := make(map[string][]Tally, len(wanted))
	for _, meter := range wanted {
		of[meter] = nil // it was asked for
	}
	instances := map[string]bool{l.t.o.Instance: true}
	for i := range got {
		if got[i].Instance != l.t.o.Instance {
			of[got[i].Meter] = append(of[got[i].Meter], got[i])
			if got[i].Age < heldFor {
				instances[got[i].Instance] = true
			}
		}
	}
	l.seen, l.sawAt = len(instances), now
	l.count(now)
	var told []Event
	for _, s := range batch {
		told = s.hear(heard, of, told)
		delete(l.due, s)
	}
	if l.t.o.Told != nil {
		for i := range told {
			l.t.o.Told(told[i])
		}
	}
	return true
}

// count notes how many share the store: those who are heard of, and those who counted lately. It is not asked while the store is lost, and the last word
// holds: who is not heard of may be there.
func (l *loop) count(now time.Time) {
	n := 1
	if now.Sub(l.sawAt) <= heldFor {
		n = max(n, l.seen)
	}
	if l.t.o.Instances != nil {
		n = max(n, l.t.o.Instances())
	}
	l.t.instances.Store(int64(n))
}

func (l *loop) fail(now time.Time, err error) {
	if err != nil {
		l.rested, l.lost = now.Add(rest), true
	} else if l.lost {
		l.lost, l.again = false, true
	}
	if l.failed != (err != nil) {
		l.failed = err != nil
		if l.t.o.Failed != nil {
			l.t.o.Failed(err)
		}
	}
}

// tell writes the scope's tallies; what is told counts as said once hear was called.
func (s *scope) tell(now time.Time, instance string, version uint64, out []Tally) []Tally {
	s.mu.Lock()
	defer s.mu.Unlock()
	now = s.present(now)
	for i := range s.bound.Budgets {
		s.period(now, &s.bound.Budgets[i])
	}
	s.tidyPast(now)
	s.moved = false // what moves from here on is told the next time
	s.flight.saying = s.flight.held
	for i := range s.windows {
		s.windows[i].saying = s.windows[i].total + s.windows[i].held
	}
	out = append(out, Tally{
		Meter: s.minuteMeter(), Instance: instance, Version: version, Life: keepWindow, Body: s.appendMinute(nil, now),
	})
	s.telling = len(s.past)
	for _, past := range s.past {
		out = append(out, Tally{
			Meter: s.meter(past), Instance: instance, Version: version, Life: past.to.Sub(now) + keepPeriod, Body: appendPeriod(nil, past),
		})
	}
	for _, p := range s.periods {
		p.nano.saying, p.tokens.saying = p.nano.total+p.nano.held, p.tokens.total+p.tokens.held
		out = append(out, Tally{
			Meter: s.meter(p), Instance: instance, Version: version, Life: p.to.Sub(now) + keepPeriod, Body: appendPeriod(nil, p),
		})
	}
	return out
}

// tidyPast leaves those that are of use, each meter once: a clock that went ahead and back may have ended a period that runs, or ended it twice. It requires
// the lock.
func (s *scope) tidyPast(now time.Time) {
	kept := s.past[:0]
	for i, p := range s.past {
		if p.ofUse(now) && !slices.ContainsFunc(s.periods, p.same) && !slices.ContainsFunc(s.past[i+1:], p.same) {
			kept = append(kept, p)
		}
	}
	clear(s.past[len(kept):])
	s.past = kept
}

// hear takes in what the others have of the scope, after it was told. Who cannot be read counts nothing.
func (s *scope) hear(now time.Time, of map[string][]Tally, told []Event) []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	now = s.present(now)
	s.said, s.known = now, true
	var m heardMinute
	for _, tally := range of[s.minuteMeter()] {
		_ = m.add(now, tally.Body, tally.Age)
	}
	s.flight.said, s.flight.heard = s.flight.saying, heard{held: m.flight, at: now}
	for i := range s.windows {
		c := &s.windows[i]
		c.said, c.heard = c.saying, heard{window: m.used[i], held: m.held[i], at: now}
	}
	if s.past = s.past[s.telling:]; len(s.past) == 0 {
		s.past = nil
	}
	for _, p := range s.periods {
		tallies, asked := of[s.meter(p)]
		if !asked {
			continue // it began meanwhile
		}
		var h heardPeriod
		for _, tally := range tallies {
			_ = h.add(tally.Body, tally.Age)
		}
		p.known = true
		// What was spent stays so, also if the store has lost it.
		p.nano.said, p.nano.heard = p.nano.saying, heard{total: max(h.nano, p.nano.heard.total), held: h.heldNano, at: now}
		p.tokens.said, p.tokens.heard = p.tokens.saying, heard{total: max(h.tokens, p.tokens.heard.total), held: h.heldTokens, at: now}
	}
	return s.passed(now, told)
}

// Recall takes in what the others, and this instance before it was started anew, have used of some bounds, as far as the store answers before ctx ends. It
// must not be called beside Run.
func (t *Table) Recall(ctx context.Context, bounds []Bound) {
	if !t.shared() {
		return
	}
	store := t.o.Store()
	if store == nil {
		return
	}
	now := time.Now()
	l := loop{t: t, due: map[*scope]bool{}}
	var batch []*scope
	for i := range bounds {
		b := &bounds[i]
		if b.Free() {
			continue
		}
		s := t.lock(b)
		s.prepare(now, b)
		s.mu.Unlock()
		if batch = append(batch, s); len(batch) == atOnce {
			if !l.exchange(ctx, store, now, batch) {
				return
			}
			batch = batch[:0]
		}
	}
	if len(batch) > 0 {
		l.exchange(ctx, store, now, batch)
	}
}
