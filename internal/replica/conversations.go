package replica

import (
	"context"
	"encoding/binary"
	"time"

	"evergate/internal/affinity"
)

// A page of Conversations is what an instance answered in the last rounds, as a whole in a binary body; one of Remembered what it answered last, for those
// that start (R47). Both are quiet.
const (
	Conversations Topic = "affinity"
	Remembered    Topic = "affinity-last"
)

// Memory is what this instance knows of conversations. Its methods are safe for concurrent use and do no I/O.
type Memory interface {
	// Shared says whether there is anything to share.
	Shared() bool
	// News are the conversations answered here since it was last called, Latest those that were answered last; the latest first.
	News(most int) []affinity.Note
	Latest(most int) []affinity.Note
	// Hear takes what another instance tells.
	Hear(told []affinity.Note)
}

const (
	maxNotes = 1000
	// noteSize is that of one conversation: its id, its age in ms before the page's time, its target and its credential.
	noteSize = 16 + 4 + 4 + 2
	// notesHead is the version and the page's time, by the store's clock in Unix milliseconds.
	notesHead    = 1 + 8
	notesVersion = 1
	// maxTellers is to how many instances one listens.
	maxTellers = 32
	// rememberEvery is after how many rounds with news what was answered last is put anew.
	rememberEvery = 12
)

// telling is where the rounds of conversations stand. It belongs to the goroutine of the rounds, and to Stop after its end.
type telling struct {
	at       time.Time // when they are due
	read     time.Time // up to where they were read, by the store's clock
	sequence uint64
	last     [3][]affinity.Note // what was new in the last rounds; a page has all of it, for others read at moments of their own
	unput    bool               // the store does not have it
	since    int                // pages put since the last one of Remembered
	told     bool               // anything, ever
	started  bool               // what was remembered before the start was read
}

// converse tells others of the conversations that were answered here, and hears of theirs.
func (f *Fleet) converse(ctx context.Context, store Store) error {
	t := &f.telling
	now := f.o.Now()
	if f.o.Memory == nil || !f.o.Memory.Shared() || now.Before(t.at.Add(-f.o.Interval/2)) { // rounds jitter
		return nil
	}
	f.mu.Lock()
	c, pace := f.clock, f.o.Interval*time.Duration(f.scale())
	f.mu.Unlock()
	t.at = now.Add(pace)
	if err := f.tell(ctx, store, c, now); err != nil {
		return err
	}
	since := c.theirs(now).Add(-2 * pace)
	if later := t.read.Add(-f.overlap()); later.After(since) && !t.read.After(c.theirs(now)) { // later than now: a clock was set
		since = later
	}
	if err := f.hearConversations(ctx, store, Conversations, since); err != nil {
		return err
	}
	t.read = c.theirs(now)
	return nil
}

// tell puts what is new, and from time to time what was answered last.
func (f *Fleet) tell(ctx context.Context, store Store, c clock, now time.Time) error {
	t := &f.telling
	if !t.take(f.o.Memory) {
		return nil
	}
	t.sequence++
	pages := []Page{f.news(c, now)}
	if t.since++; t.since >= rememberEvery || !t.told {
		pages = append(pages, f.remembered(c, now))
	}
	if err := f.call(ctx, func(ctx context.Context) error { return store.Put(ctx, pages) }); err != nil {
		return err
	}
	t.unput, t.told = false, true
	if len(pages) > 1 {
		t.since = 0
	}
	return nil
}

// take hears what is new; false: there is nothing that the store does not have.
func (t *telling) take(m Memory) bool {
	if news := m.News(maxNotes); len(news) > 0 {
		t.last[2], t.last[1], t.last[0] = t.last[1], t.last[0], news
		t.unput = true
	}
	return t.unput
}

// news is a page of what was new in the last rounds, each conversation once, as it was last.
func (f *Fleet) news(c clock, now time.Time) Page {
	t := &f.telling
	seen := map[[2]uint64]bool{}
	var told []affinity.Note
	for _, batch := range t.last {
		for _, n := range batch {
			if !seen[n.Conversation] && len(told) < maxNotes {
				seen[n.Conversation] = true
				told = append(told, n)
			}
		}
	}
	return Page{Instance: f.o.Self.ID, Topic: Conversations, Sequence: t.sequence, Body: encodeNotes(c, now, told), Quiet: true}
}

func (f *Fleet) remembered(c clock, now time.Time) Page {
	return Page{
		Instance: f.o.Self.ID, Topic: Remembered, Sequence: f.telling.sequence, Quiet: true, Body: encodeNotes(c, now, f.o.Memory.Latest(maxNotes)),
	}
}

// recall hears, once, what was remembered before this instance started.
func (f *Fleet) recall(ctx context.Context, store Store) error {
	if f.o.Memory == nil || !f.o.Memory.Shared() || f.telling.started {
		return nil
	}
	for _, topic := range []Topic{Remembered, Conversations} {
		if err := f.hearConversations(ctx, store, topic, time.Time{}); err != nil {
			return err
		}
	}
	f.telling.started = true
	return nil
}

// remember puts what was answered last, before this instance leaves. It says whether its pages are to stay.
func (f *Fleet) remember(ctx context.Context, store Store) bool {
	if f.o.Memory == nil || !f.o.Memory.Shared() {
		return false
	}
	f.mu.Lock()
	c := f.clock
	f.mu.Unlock()
	last := f.o.Memory.Latest(1)
	if len(last) == 0 || !c.known() {
		return false
	}
	f.telling.sequence++
	pages := []Page{f.remembered(c, f.o.Now())}
	if f.telling.take(f.o.Memory) {
		pages = append(pages, f.news(c, f.o.Now()))
	}
	return f.call(ctx, func(ctx context.Context) error { return store.Put(ctx, pages) }) == nil
}

func (f *Fleet) hearConversations(ctx context.Context, store Store, topic Topic, since time.Time) error {
	var pages []Page
	err := f.call(ctx, func(ctx context.Context) (err error) {
		pages, err = store.Read(ctx, topic, since, maxTellers+1)
		return err
	})
	if err != nil {
		return err
	}
	f.mu.Lock()
	c := f.clock
	f.mu.Unlock()
	now := f.o.Now()
	for i := range pages {
		if pages[i].Instance != f.o.Self.ID {
			f.o.Memory.Hear(decodeNotes(c, now, pages[i].Body))
		}
	}
	return nil
}

// encodeNotes is the body of a page of conversations.
func encodeNotes(c clock, now time.Time, told []affinity.Note) []byte {
	out := make([]byte, 0, notesHead+len(told)*noteSize)
	out = append(out, notesVersion)
	out = binary.BigEndian.AppendUint64(out, uint64(stamp(c, now))) //nolint:gosec // the bits
	for i := range told {
		n := &told[i]
		out = binary.BigEndian.AppendUint64(out, n.Conversation[0])
		out = binary.BigEndian.AppendUint64(out, n.Conversation[1])
		out = binary.BigEndian.AppendUint32(out, uint32(min(max(now.UnixMilli()-n.At, 0), 1<<32-1)))
		out = binary.BigEndian.AppendUint32(out, n.Target)
		out = binary.BigEndian.AppendUint16(out, n.Credential)
	}
	return out
}

// decodeNotes reads a page of conversations, as of now; nothing from one that this program does not know, or that cannot be true.
func decodeNotes(c clock, now time.Time, body []byte) []affinity.Note {
	if len(body) < notesHead || body[0] != notesVersion || (len(body)-notesHead)%noteSize != 0 || len(body) > notesHead+maxNotes*noteSize {
		return nil
	}
	t := reader{clock: c, now: now, sane: true}
	written := t.past(int64(binary.BigEndian.Uint64(body[1:]))) //nolint:gosec // the bits
	if written.IsZero() {
		return nil
	}
	if written.After(now) { // by what clocks may be wrong
		written = now
	}
	var out []affinity.Note
	for rest := body[notesHead:]; len(rest) > 0; rest = rest[noteSize:] {
		out = append(out, affinity.Note{
			Conversation: [2]uint64{binary.BigEndian.Uint64(rest), binary.BigEndian.Uint64(rest[8:])},
			At:           written.UnixMilli() - int64(binary.BigEndian.Uint32(rest[16:])),
			Target:       binary.BigEndian.Uint32(rest[20:]), Credential: binary.BigEndian.Uint16(rest[24:]),
		})
	}
	return out
}
