package ledger

import (
	"encoding/binary"
	"errors"
	"time"
	"unicode/utf8"

	"evergate/internal/journal"
)

// Rows are kept as bytes with a version in front. A word that a row says again (a provider's name in each step of its trail) is a number there.
const (
	codecVersion = 3  // 1 and 2 were never in a release
	withBody     = 4  // the same with a body behind it, and the length of that in four bytes behind both
	maxWords     = 32 // of a row that can be said again
	literal      = maxWords + 1
)

// What a row keeps at most. Attempts are always kept, so that sums stay whole; of skips the last ones go.
const (
	maxSteps   = 64
	maxRuns    = 256 // attempts
	maxTargets = 64
	maxLost    = 16
	maxName    = 256
	maxMessage = 300
)

var errBroken = errors.New("ledger: a row is not in the form in which rows are kept")

// coder writes a row.
type coder struct {
	b     []byte
	words [maxWords]string
	n     int
}

func (c *coder) number(n int64)       { c.b = binary.AppendVarint(c.b, n) }
func (c *coder) count(n int)          { c.b = binary.AppendUvarint(c.b, uint64(max(n, 0))) }
func (c *coder) bits(n byte)          { c.b = append(c.b, n) }
func (c *coder) raw(b []byte)         { c.b = append(c.b, b...) }
func (c *coder) span(d time.Duration) { c.number(d.Microseconds()) }

// word writes a text that may come again.
func (c *coder) word(s string) {
	if s == "" {
		c.b = append(c.b, 0)
		return
	}
	s = cut(s, maxName)
	for i := range c.n {
		if c.words[i] == s {
			c.b = append(c.b, byte(i+1))
			return
		}
	}
	if c.n < maxWords {
		c.words[c.n] = s
		c.n++
	}
	c.b = append(c.b, literal)
	c.text(s)
}

// text writes a text that comes once.
func (c *coder) text(s string) {
	c.count(len(s))
	c.b = append(c.b, s...)
}

// cut is the beginning of a text, of whole characters.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

func bit(yes bool, at byte) byte {
	if yes {
		return 1 << at
	}
	return 0
}

// instant writes a time as its distance from another one; zero is a bit elsewhere.
func (c *coder) instant(t, from time.Time) { c.number(t.UnixMicro() - from.UnixMicro()) }

func (c *coder) usage(u *journal.Usage) {
	for _, n := range [...]int64{u.Input, u.Output, u.CachedInput, u.CacheWrite, u.Reasoning, u.AudioInput, u.AudioOutput} {
		c.number(n)
	}
}

// AppendRequest appends a row's bytes to dst and returns it. It keeps no more of long texts and lists than the limits say.
func AppendRequest(dst []byte, r *Request) []byte {
	c := coder{b: dst}
	if r.fact != "" {
		c.b = append(c.b, r.fact...)
	} else {
		b, _ := r.Row.Bytes()
		c.head(&b, r.Instance, r.Kind)
		c.fact(&r.Request, (*targets)(&r.Targets), r.Cut)
	}
	a := &r.Account
	c.bits(bit(a.OK, 0) | bit(a.Failed, 1) | bit(a.Rescued, 2) | bit(a.AddedCost.Known, 3))
	c.span(a.AddedTime)
	c.number(a.AddedCost.Nano)
	if b := r.Body; b != nil {
		c.b[len(dst)] = withBody
		from := len(c.b)
		c.bits(bit(b.RequestCut, 0) | bit(b.ResponseCut, 1))
		c.text(b.Request)
		c.text(b.Response)
		c.b = binary.BigEndian.AppendUint32(c.b, uint32(len(c.b)-from)) //nolint:gosec // log.max_body is far below
	}
	return c.b
}

type targets []journal.Candidate

func (t *targets) Candidates() int                   { return len(*t) }
func (t *targets) Candidate(i int) journal.Candidate { return (*t)[i] }

func (c *coder) head(row *[rowBytes]byte, instance, kind string) {
	c.bits(codecVersion)
	c.raw(row[:])
	c.word(instance)
	c.word(kind)
}

// noAccount is how long an account is before it is made: who writes makes it.
const noAccount = 3

func (c *coder) noAccount() {
	c.bits(0)
	c.span(0)
	c.number(0)
}

// fact writes a fact, of which so many steps and targets were already left out.
func (c *coder) fact(f *journal.Request, of journal.Candidates, gone int) {
	c.bits(bit(f.Stream, 0) | bit(f.Committed, 1) | bit(f.Usage.Known, 2) | bit(f.Estimated, 3) | bit(f.Cost.Known, 4) | bit(f.Trace.ID != [16]byte{}, 5))
	c.number(f.Start.UnixMicro())
	c.text(cut(f.ID, maxName))
	for _, s := range [...]string{f.Dialect, f.Key, f.Asked, f.Route, f.Provider, f.Model, f.Code, f.Finish, f.Order, f.Affinity} {
		c.word(s)
	}
	c.text(cut(f.UpstreamRequestID, maxName))
	c.count(f.Status)
	for _, d := range [...]time.Duration{f.Duration, f.FirstContent, f.Upstream, f.Waits, f.Overhead} {
		c.span(d)
	}
	c.usage(&f.Usage)
	c.number(f.Cost.Nano)
	c.count(f.Dropped)
	if f.Trace.ID != [16]byte{} {
		c.raw(f.Trace.ID[:])
		c.raw(f.Trace.Span[:])
		c.raw(f.Trace.Parent[:])
	}
	lost := f.Lost[:min(len(f.Lost), maxLost)]
	c.count(len(lost))
	for _, s := range lost {
		c.text(cut(s, maxName))
	}
	gone += c.trail(f)
	n := 0
	if of != nil {
		n = min(of.Candidates(), maxTargets)
		gone += of.Candidates() - n
	}
	c.count(n)
	for i := range n {
		t := of.Candidate(i)
		c.word(t.Provider)
		c.word(t.Model)
		c.word(t.On)
	}
	c.extra(f, gone)
}

// trail writes the steps that are kept, each behind a 1, and a 0. It says how many are not.
func (c *coder) trail(f *journal.Request) (gone int) {
	steps, runs := 0, 0
	for i := range f.Trail {
		s := &f.Trail[i]
		if s.Skipped && steps >= maxSteps || runs >= maxRuns {
			gone++
			continue
		}
		steps++
		if !s.Skipped {
			runs++
		}
		c.bits(1)
		c.step(s, f.Start)
	}
	c.bits(0)
	return gone
}

func (c *coder) step(s *journal.Step, start time.Time) {
	c.bits(bit(s.Skipped, 0) | bit(s.Usage.Known, 1) | bit(s.Estimated, 2) | bit(s.Cost.Known, 3) |
		bit(!s.Until.IsZero(), 4) | bit(!s.Start.IsZero(), 5) | bit(s.Span != [8]byte{}, 6) | bit(s.Usage != journal.Usage{}, 7))
	for _, w := range [...]string{s.Provider, s.Model, s.Label, s.Credential, s.Reason, s.Why, s.Drill} {
		c.word(w)
	}
	c.text(cut(s.Message, maxMessage))
	c.count(s.Status)
	if !s.Until.IsZero() {
		c.instant(s.Until, start)
	}
	if !s.Start.IsZero() {
		c.instant(s.Start, start)
	}
	if s.Span != [8]byte{} {
		c.raw(s.Span[:])
	}
	if s.Usage != (journal.Usage{}) {
		c.usage(&s.Usage)
	}
	c.number(s.Cost.Nano)
	c.count(s.Seam)
	c.span(s.Duration)
	c.span(s.FirstContent)
}

// AppendEntry appends an entry's bytes to dst and returns it.
func AppendEntry(dst []byte, e *Entry) []byte {
	b, _ := e.Row.Bytes()
	c := coder{b: dst}
	c.head(&b, e.Instance, e.Kind)
	c.bits(bit(!e.Until.IsZero(), 0))
	if !e.Until.IsZero() {
		c.number(e.Until.UnixMicro())
	}
	for _, w := range [...]string{e.Provider, e.Model, e.Credential, e.Guard, e.From, e.To, e.Trip, e.By, e.RequestID} {
		c.word(w)
	}
	c.text(cut(e.Reason, 2*maxMessage))
	c.text(cut(e.Message, maxMessage))
	return c.b
}
