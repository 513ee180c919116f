package ledger

import (
	"encoding/binary"
	"time"

	"evergate/internal/journal"
)

// decoder reads a row. What is not there reads as zero, and is an error at the end.
type decoder struct {
	s      string
	at     int
	words  [maxWords]string
	n      int
	broken bool
}

func (d *decoder) fail() { d.broken, d.at = true, len(d.s) }

func (d *decoder) raw(n int) string {
	if n < 0 || n > len(d.s)-d.at {
		d.fail()
		return ""
	}
	d.at += n
	return d.s[d.at-n : d.at]
}

func (d *decoder) bits() byte {
	if s := d.raw(1); s != "" {
		return s[0]
	}
	return 0
}

func (d *decoder) uvarint() uint64 {
	var n uint64
	for shift := uint(0); shift < 64; shift += 7 {
		b := d.bits()
		if d.broken {
			return 0
		}
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
	d.fail()
	return 0
}

func (d *decoder) number() int64 {
	n := d.uvarint()
	return int64(n>>1) ^ -int64(n&1)
}

func (d *decoder) count() int {
	n := d.uvarint()
	if n > 1<<40 {
		d.fail()
		return 0
	}
	return int(n)
}

func (d *decoder) span() time.Duration {
	n := d.number()
	if n > int64(maxSpan/time.Microsecond) || n < -int64(maxSpan/time.Microsecond) {
		d.fail()
		return 0
	}
	return time.Duration(n) * time.Microsecond
}

// maxSpan is the longest duration in a row.
const maxSpan = 1 << 62

func (d *decoder) text() string { return d.raw(d.count()) }

func (d *decoder) word() string {
	code := int(d.bits())
	switch {
	case code == 0:
		return ""
	case code <= d.n:
		return d.words[code-1]
	case code != literal:
		d.fail()
		return ""
	}
	s := d.text()
	if d.n < maxWords {
		d.words[d.n] = s
		d.n++
	}
	return s
}

func (d *decoder) usage(u *journal.Usage) {
	for _, n := range [...]*int64{&u.Input, &u.Output, &u.CachedInput, &u.CacheWrite, &u.Reasoning, &u.AudioInput, &u.AudioOutput} {
		*n = d.number()
	}
}

// head reads what all rows begin with.
func (d *decoder) head() (row Row, instance, kind string) {
	if v := d.bits(); v != codecVersion && v != withBody {
		d.fail()
	}
	row = RowOf([]byte(d.raw(rowBytes)))
	return row, d.word(), d.word()
}

// DecodeRequest reads what AppendRequest wrote. The row shares nothing with b.
func DecodeRequest(b []byte) (*Request, error) {
	r := &Request{}
	return r, r.decode(string(b))
}

// DecodeListed is DecodeRequest without the body, which may be a thousand times as long as the rest: no list has it.
func DecodeListed(b []byte) (*Request, error) {
	r := &Request{}
	rest, _, _ := cutBody(b)
	return r, r.read(string(rest))
}

// IDOf is the id of the request of a row, without the reading of the rest.
func IDOf(b []byte) []byte {
	at := 1 + rowBytes
	skip := func(n int) {
		if at += n; n < 0 || at > len(b) {
			at = len(b)
		}
	}
	count := func() int {
		n, size := binary.Uvarint(b[at:])
		if size <= 0 || n > uint64(len(b)) {
			skip(len(b))
			return 0
		}
		skip(size)
		return int(n) //nolint:gosec // no more than there are bytes
	}
	if len(b) < at {
		return nil
	}
	for range 2 { // instance and kind
		if at < len(b) && b[at] == literal {
			skip(1)
			skip(count())
			continue
		}
		skip(1)
	}
	skip(1) // bits
	for at < len(b) && b[at] >= 0x80 {
		skip(1) // of the start
	}
	skip(1)
	n := count()
	if n > len(b)-at {
		return nil
	}
	return b[at : at+n]
}

// cutBody cuts the body off a row's bytes; false: it has none.
func cutBody[B string | []byte](b B) (rest, body B, ok bool) {
	if len(b) < 5 || b[0] != withBody {
		return b, body, false
	}
	end := len(b) - 4
	n := int(b[end])<<24 | int(b[end+1])<<16 | int(b[end+2])<<8 | int(b[end+3])
	if n >= end {
		return b, body, false
	}
	return b[:end-n], b[end-n : end], true
}

func (r *Request) decode(s string) error {
	rest, body, kept := cutBody(s)
	if kept {
		b := decoder{s: body}
		flags := b.bits()
		r.Body = &Body{RequestCut: flags&1 != 0, ResponseCut: flags&2 != 0, Request: b.text(), Response: b.text()}
		if b.broken {
			return errBroken
		}
	}
	return r.read(rest)
}

// read reads all but the body.
func (r *Request) read(s string) error {
	d := decoder{s: s}
	r.Row, r.Instance, r.Kind = d.head()
	d.fact(r)
	flags := d.bits()
	a := &r.Account
	a.OK, a.Failed, a.Rescued, a.AddedCost.Known = flags&1 != 0, flags&2 != 0, flags&4 != 0, flags&8 != 0
	a.AddedTime, a.AddedCost.Nano = d.span(), d.number()
	if d.broken {
		return errBroken
	}
	return nil
}

func (d *decoder) fact(r *Request) {
	f := &r.Request
	flags := d.bits()
	f.Stream, f.Committed, f.Usage.Known, f.Estimated, f.Cost.Known = flags&1 != 0, flags&2 != 0, flags&4 != 0, flags&8 != 0, flags&16 != 0
	f.Start = time.UnixMicro(d.number()).UTC()
	f.ID = d.text()
	for _, s := range [...]*string{&f.Dialect, &f.Key, &f.Asked, &f.Route, &f.Provider, &f.Model, &f.Code, &f.Finish, &f.Order, &f.Affinity} {
		*s = d.word()
	}
	f.UpstreamRequestID = d.text()
	f.Status = d.count()
	for _, s := range [...]*time.Duration{&f.Duration, &f.FirstContent, &f.Upstream, &f.Waits, &f.Overhead} {
		*s = d.span()
	}
	d.usage(&f.Usage)
	f.Cost.Nano = d.number()
	f.Dropped = d.count()
	if flags&32 != 0 {
		copy(f.Trace.ID[:], d.raw(16))
		copy(f.Trace.Span[:], d.raw(8))
		copy(f.Trace.Parent[:], d.raw(8))
	}
	for range d.few(maxLost) {
		f.Lost = append(f.Lost, d.text())
	}
	for n := 0; d.bits() == 1 && !d.broken; n++ {
		if n > maxSteps+maxRuns {
			d.fail()
			return
		}
		f.Trail = append(f.Trail, journal.Step{})
		d.step(&f.Trail[n], f.Start)
	}
	f.Drill = journal.DrillOf(f.Trail)
	for range d.few(maxTargets) {
		r.Targets = append(r.Targets, journal.Candidate{Provider: d.word(), Model: d.word(), On: d.word()})
	}
	d.extra(r)
}

// few reads the length of a list.
func (d *decoder) few(limit int) int {
	n := d.count()
	if n > limit {
		d.fail()
		return 0
	}
	return n
}

func (d *decoder) instant(from time.Time) time.Time {
	return time.UnixMicro(from.UnixMicro() + d.number()).UTC()
}

func (d *decoder) step(s *journal.Step, start time.Time) {
	flags := d.bits()
	s.Skipped, s.Usage.Known, s.Estimated, s.Cost.Known = flags&1 != 0, flags&2 != 0, flags&4 != 0, flags&8 != 0
	for _, w := range [...]*string{&s.Provider, &s.Model, &s.Label, &s.Credential, &s.Reason, &s.Why, &s.Drill} {
		*w = d.word()
	}
	s.Message = d.text()
	s.Status = d.count()
	if flags&16 != 0 {
		s.Until = d.instant(start)
	}
	if flags&32 != 0 {
		s.Start = d.instant(start)
	}
	if flags&64 != 0 {
		copy(s.Span[:], d.raw(8))
	}
	if flags&128 != 0 {
		d.usage(&s.Usage)
	}
	s.Cost.Nano = d.number()
	s.Seam = d.count()
	s.Duration, s.FirstContent = d.span(), d.span()
}

// DecodeEntry reads what AppendEntry wrote. The entry shares nothing with b.
func DecodeEntry(b []byte) (*Entry, error) {
	d := decoder{s: string(b)}
	e := &Entry{}
	e.Row, e.Instance, e.Kind = d.head()
	e.At, _ = e.Row.At()
	if d.bits()&1 != 0 {
		e.Until = time.UnixMicro(d.number()).UTC()
	}
	for _, w := range [...]*string{&e.Provider, &e.Model, &e.Credential, &e.Guard, &e.From, &e.To, &e.Trip, &e.By, &e.RequestID} {
		*w = d.word()
	}
	e.Reason, e.Message = d.text(), d.text()
	if d.broken {
		return nil, errBroken
	}
	return e, nil
}
