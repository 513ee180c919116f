package meters

import (
	"encoding/binary"
	"errors"
	"strconv"
	"time"

	"evergate/internal/quota"
)

// form is the first byte of a tally's body. A reader that does not know it counts nothing of it.
const form = 1

// minuteMeter is the meter of what is used in a minute and in flight.
func (s *scope) minuteMeter() string { return s.kind.String() + " minute " + s.name }

// meter is that of one period.
func (s *scope) meter(p *period) string {
	return s.kind.String() + " " + p.per.String() + " " + strconv.FormatInt(p.from.Unix(), 10) + " " + p.zone + " " + s.name
}

// appendMinute writes windows and what is in flight. Times are ages, so that clocks need not agree.
func (s *scope) appendMinute(dst []byte, now time.Time) []byte {
	dst = append(dst, form)
	dst = appendAmount(dst, s.flight.held)
	for i := range s.windows {
		c := &s.windows[i]
		dst = appendAmount(dst, c.held)
		n := 0
		at := len(dst)
		if c.window != nil {
			c.window.Each(now, func(int64, int64) { n++ })
		}
		dst = binary.AppendUvarint(dst[:at], uint64(n))
		if c.window != nil {
			c.window.Each(now, func(age, n int64) { dst = appendAmount(appendAmount(dst, age), n) })
		}
	}
	return dst
}

func appendPeriod(dst []byte, p *period) []byte {
	dst = append(dst, form)
	for _, n := range [...]int64{p.nano.total, p.tokens.total, p.nano.held, p.tokens.held} {
		dst = appendAmount(dst, n)
	}
	return dst
}

func appendAmount(dst []byte, n int64) []byte {
	return binary.AppendUvarint(dst, uint64(max(n, 0)))
}

var errBody = errors.New("a tally cannot be read")

// reader takes a body apart.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) begin() {
	if len(r.b) == 0 || r.b[0] != form {
		r.bad = true
		return
	}
	r.b = r.b[1:]
}

func (r *reader) amount() int64 {
	n, size := binary.Uvarint(r.b)
	if size <= 0 || n > uint64(maxTotal) {
		r.bad = true
		return 0
	}
	r.b = r.b[size:]
	return int64(n)
}

// heardMinute is what others have of windows and in flight.
type heardMinute struct {
	flight int64
	held   [2]int64
	used   [2]*quota.Window
}

// add reads one instance's tally that is so old.
func (h *heardMinute) add(now time.Time, body []byte, age time.Duration) error {
	r := reader{b: body}
	r.begin()
	flight := r.amount()
	older := int64(age / quota.SlotLength)
	for i := range h.used {
		held := r.amount()
		if age <= heldFor {
			h.held[i] = min(h.held[i]+held, maxTotal)
		}
		for n := r.amount(); n > 0 && !r.bad; n-- {
			at, used := r.amount(), r.amount()
			if h.used[i] == nil {
				h.used[i] = new(quota.Window)
			}
			h.used[i].Fill(now, at+older, used)
		}
	}
	if age <= heldFor {
		h.flight = min(h.flight+flight, maxTotal)
	}
	if r.bad {
		return errBody
	}
	return nil
}

// heardPeriod is what others have of a budget.
type heardPeriod struct{ nano, tokens, heldNano, heldTokens int64 }

func (h *heardPeriod) add(body []byte, age time.Duration) error {
	r := reader{b: body}
	r.begin()
	nano, tokens, heldNano, heldTokens := r.amount(), r.amount(), r.amount(), r.amount()
	if r.bad {
		return errBody
	}
	h.nano, h.tokens = min(h.nano+nano, maxTotal), min(h.tokens+tokens, maxTotal)
	if age <= heldFor {
		h.heldNano, h.heldTokens = min(h.heldNano+heldNano, maxTotal), min(h.heldTokens+heldTokens, maxTotal)
	}
	return nil
}
