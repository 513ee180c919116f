package replica

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"evergate/internal/drill"
)

// Drills are pages of two kinds (R74). One says what drill there is, or how it ended; it is the drill's own, with its id for an instance, so
// that it outlives who started it. The other says what an instance has seen of drills.
const Drills Topic = "drills"

// Board is the drills of this instance. Its methods are safe for concurrent use and do no I/O.
type Board interface {
	// Running says whether any is in force.
	Running() bool
	// Hear takes a drill as somebody of the fleet said it.
	Hear(s drill.State)
	// Counts are what this instance has seen, by id, and HearCounts takes what another one has.
	Counts() map[string]drill.Counts
	HearCounts(instance string, all map[string]drill.Counts)
}

const (
	// idleDrills is after how many rounds drills are read while none runs, by those that did not hear of one at once.
	idleDrills = 12
	// lingerDrills is for how many rounds they are read after that: others say last what they have seen.
	lingerDrills = 4
	// keptDrills is how long the page of one that is over stands.
	keptDrills = 24 * time.Hour
	// maxDrills is how many pages are kept in mind; of more the oldest go.
	maxDrills = 1024
	// firstLife is how long the lease of First holds: longer than instances differ in when they ask.
	firstLife = 10 * time.Minute
)

// The sequences of a drill's page: it begins, and it ends.
const (
	drillBegan uint64 = 1 + iota
	drillEnded
)

type drillBody struct {
	Version  int             `json:"v"`
	ID       string          `json:"id"`
	Provider string          `json:"provider,omitempty"`
	Model    string          `json:"model,omitempty"`
	Key      string          `json:"key,omitempty"`
	Header   *drill.Header   `json:"header,omitempty"`
	Share    float64         `json:"share"`
	Said     json.RawMessage `json:"shape"`
	Since    int64           `json:"since"`
	Until    int64           `json:"until"`
	Budget   int64           `json:"budget"`
	Errors   int64           `json:"max_user_errors,omitempty"`
	Reason   string          `json:"reason"`
	By       string          `json:"by"`
	Why      string          `json:"ended,omitempty"`
	At       int64           `json:"ended_at,omitempty"`
	Words    string          `json:"ended_reason,omitempty"`
	Who      string          `json:"ended_by,omitempty"`
}

type countsBody struct {
	Version int                     `json:"v"`
	Counts  map[string]drill.Counts `json:"c"`
}

// drills is where this stands. What rounds alone use belongs to their goroutine, and the rest to Fleet.mu.
type drills struct {
	known   map[string]Page // by id: as it stands in the store
	pending []drill.State   // not in the store yet

	sequence uint64 // of this instance's counts; of the rounds, as what follows
	said     map[string]drill.Counts
	rounds   int
	linger   int       // for how many rounds more they are read, though none may run
	readAt   time.Time // up to where they were read, by the store's clock
}

// Drilled says that a drill was started or ended here. It is told to the fleet at once, or when the store is back.
func (f *Fleet) Drilled(s drill.State) {
	f.mu.Lock()
	f.drills.pending = append(f.drills.pending, s)
	f.mu.Unlock()
	poke(f.push)
}

// First says whether this instance is the first of the fleet to ask for something by this name; the answer holds for ten minutes. Where
// nobody can be asked it is.
func (f *Fleet) First(ctx context.Context, name string) bool {
	f.mu.Lock()
	store := f.store
	f.mu.Unlock()
	if store == nil {
		return true
	}
	first := true
	err := f.call(ctx, func(ctx context.Context) (err error) {
		first, err = store.Claim(ctx, name, f.o.Self.ID, firstLife)
		return err
	})
	return first || err != nil
}

// ownDrills are the pages of drills that are to be put: what happened here, and now and then all that stand. It requires the lock.
func (f *Fleet) ownDrills(how what) (out []parcel) {
	d := &f.drills
	if !f.clock.known() {
		return nil
	}
	for _, s := range d.pending {
		p := Page{Instance: s.Rule.ID, Topic: Drills, Key: s.Rule.ID, Sequence: drillBegan, Body: encodeDrill(f.clock, &s)}
		if s.Over() {
			p.Sequence = drillEnded
		}
		d.keep(p)
		out = append(out, parcel{p, func() { f.drilled(s) }})
	}
	if how == everything {
		maps.DeleteFunc(d.known, func(_ string, p Page) bool { return f.drillIsOld(&p) })
		for _, id := range slices.Sorted(maps.Keys(d.known)) {
			if p := d.known[id]; !slices.ContainsFunc(out, func(o parcel) bool { return o.page.Key == id }) {
				p.Quiet = true
				out = append(out, parcel{p, func() {}})
			}
		}
	}
	return out
}

// drilled says that something of this instance's is in the store. It requires the lock.
func (f *Fleet) drilled(s drill.State) {
	f.drills.pending = slices.DeleteFunc(f.drills.pending, func(p drill.State) bool {
		return p.Rule.ID == s.Rule.ID && p.Over() == s.Over()
	})
}

// keep takes note of a page, if it is newer; false: it is not.
func (d *drills) keep(p Page) bool {
	known, seen := d.known[p.Key]
	if seen && p.Sequence <= known.Sequence {
		return false
	}
	if !seen && len(d.known) >= maxDrills {
		oldest := ""
		for key, k := range d.known {
			if oldest == "" || k.At.Before(d.known[oldest].At) {
				oldest = key
			}
		}
		delete(d.known, oldest)
	}
	if d.known == nil {
		d.known = map[string]Page{}
	}
	p.Body = slices.Clone(p.Body)
	d.known[p.Key] = p
	return true
}

// hearDrills takes a page of either kind.
func (f *Fleet) hearDrills(p *Page) {
	if f.o.Drills == nil || p.Instance == f.o.Self.ID || p.Instance == "" || len(p.Body) > MaxBody {
		return
	}
	if p.Key != p.Instance {
		var body countsBody
		if json.Unmarshal(p.Body, &body) == nil && body.Version == pageVersion {
			f.o.Drills.HearCounts(p.Instance, body.Counts)
		}
		return
	}
	now := f.o.Now()
	f.mu.Lock()
	s, sane := decodeDrill(f.clock, now, p.Body)
	news := sane && f.clock.known() && s.Rule.ID == p.Key && f.drills.keep(*p)
	f.mu.Unlock()
	if !news {
		return
	}
	if !s.Over() && !now.Before(s.Rule.Until) {
		s.End = drill.End{Why: drill.TimeUp, At: s.Rule.Until}
	}
	f.o.Drills.Hear(s)
}

// rehearse says what this instance has seen of drills, and reads what there are; all of them if it is asked to.
func (f *Fleet) rehearse(ctx context.Context, store Store, all bool) error {
	if f.o.Drills == nil {
		return nil
	}
	d := &f.drills
	if counts := f.o.Drills.Counts(); len(counts) > 0 && !maps.Equal(counts, d.said) {
		text, err := json.Marshal(&countsBody{Version: pageVersion, Counts: counts})
		if err == nil && len(text) <= MaxBody {
			p := Page{Instance: f.o.Self.ID, Topic: Drills, Sequence: d.sequence + 1, Body: text, Quiet: true}
			if err := f.call(ctx, func(ctx context.Context) error { return store.Put(ctx, []Page{p}) }); err != nil {
				return err
			}
			d.sequence, d.said, d.linger = p.Sequence, counts, lingerDrills
		}
	}
	f.mu.Lock()
	now := f.clock.theirs(f.o.Now())
	f.mu.Unlock()
	d.rounds, d.linger = d.rounds+1, max(d.linger-1, 0)
	if f.o.Drills.Running() {
		d.linger = lingerDrills
	}
	if !all && d.linger == 0 && d.rounds%idleDrills != 1 && !d.readAt.IsZero() {
		return nil
	}
	pages, err := f.readSince(ctx, store, Drills, d.readAt, all, maxNews)
	if err != nil {
		return err
	}
	for i := range pages {
		if pages[i].Key == pages[i].Instance { // the drills before what was seen of them
			f.hearDrills(&pages[i])
		}
	}
	for i := range pages {
		if pages[i].Key != pages[i].Instance {
			f.hearDrills(&pages[i])
		}
	}
	d.readAt = now
	return nil
}

// sweepDrills drops the pages of drills that have long been over. It is done by one instance at a time.
func (f *Fleet) sweepDrills(ctx context.Context, store Store) error {
	var pages []Page
	err := f.call(ctx, func(ctx context.Context) (err error) {
		pages, err = store.Read(ctx, Drills, time.Time{}, 0)
		return err
	})
	if err != nil {
		return err
	}
	for i := range pages {
		p := &pages[i]
		f.mu.Lock()
		old := p.Key == p.Instance && p.Instance != "" && f.drillIsOld(p)
		f.mu.Unlock()
		if !old {
			continue
		}
		if err := f.call(ctx, func(ctx context.Context) error { return store.Drop(ctx, p.Instance) }); err != nil {
			return err
		}
	}
	return nil
}

// drillIsOld says whether nobody wants to know of a drill any more, or nobody can. It requires the lock.
func (f *Fleet) drillIsOld(p *Page) bool {
	now := f.o.Now()
	s, sane := decodeDrill(f.clock, now, p.Body)
	return !sane && f.clock.theirs(now).Sub(p.At) > keptDrills || sane && now.Sub(s.Rule.Until) > keptDrills
}

// encodeDrill is the body of a drill's page.
func encodeDrill(c clock, s *drill.State) []byte {
	shape, err := json.Marshal(s.Rule.Shape)
	if err != nil {
		return nil // there is nothing in it that JSON cannot say
	}
	r := &s.Rule
	b := drillBody{
		Version: pageVersion, ID: r.ID, Provider: r.Provider, Model: r.Model, Key: r.Key, Share: r.Share, Said: shape,
		Since: stamp(c, r.Since), Until: stamp(c, r.Until), Budget: r.Budget, Errors: r.MaxUserErrors, Reason: r.Reason, By: r.By,
		Why: s.End.Why, At: stamp(c, s.End.At), Words: s.End.Reason, Who: s.End.By,
	}
	if r.Header.Name != "" {
		b.Header = &r.Header
	}
	text, err := json.Marshal(&b)
	if err != nil {
		return nil // as above
	}
	return text
}

// decodeDrill reads a page of a drill, as of now; sane is false where it is none that this program knows, or can be true.
func decodeDrill(c clock, now time.Time, text []byte) (s drill.State, sane bool) {
	var b drillBody
	if json.Unmarshal(text, &b) != nil || b.Version != pageVersion {
		return s, false
	}
	shape, err := drill.ReadShape(b.Said)
	if err != nil {
		return s, false
	}
	t := reader{clock: c, now: now, sane: true}
	s.Rule = drill.Rule{
		ID: b.ID, Provider: b.Provider, Model: b.Model, Key: b.Key, Share: b.Share, Shape: shape, Since: t.past(b.Since), Until: t.end(b.Until),
		Budget: b.Budget, MaxUserErrors: b.Errors, Reason: b.Reason, By: b.By,
	}
	if b.Header != nil {
		s.Rule.Header = *b.Header
	}
	if b.Why != "" {
		s.End = drill.End{Why: b.Why, At: t.past(b.At), Reason: b.Words, By: b.Who}
	}
	return s, t.sane && !s.Rule.Until.IsZero() && len(b.Why) < 32 && len(b.Words) <= maxWords && len(b.Who) <= maxWords && s.Rule.Sane()
}
