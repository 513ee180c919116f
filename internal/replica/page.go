package replica

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"evergate/internal/resilience"
)

// The topics. A page of Guards is one provider's guards as one instance saw them; of Orders one order of an operator's, which is the
// fleet's; of Latencies one instance's averages.
const (
	Guards    Topic = "guards"
	Orders    Topic = "orders"
	Latencies Topic = "latency"
)

// What others wrote is not trusted: a page that is beyond these bounds is cut, and a row that is not sane is passed over.
const (
	pageVersion = 1
	maxRows     = 4096
	maxName     = 1024 // bytes of a model's or a credential's name
	maxCount    = 1 << 20
	maxAhead    = 366 * 24 * time.Hour // how far an end may lie in the future: the longest that a config may say
	maxPast     = 366 * 24 * time.Hour
	maxEarly    = time.Minute // how far what happened may lie in the future: what clocks may be wrong by
)

// guardsBody is a page's body. Names of fields are short: there are many rows. Fields that are not known are passed over,
// so that a later program may add some; another version is passed over as a whole.
type guardsBody struct {
	Version int       `json:"v"`
	Of      string    `json:"of,omitempty"`
	Base    int64     `json:"b,omitempty"` // of the store's clock, in Unix milliseconds: the rows' times are so long after it; 0 is none
	Rows    []rowBody `json:"r"`
}

type rowBody struct {
	Guard      string `json:"g"`
	Credential string `json:"c,omitempty"`
	Secret     uint32 `json:"k,omitempty"`
	Model      string `json:"m,omitempty"`
	Failures   int    `json:"f,omitempty"`
	FailedAt   int64  `json:"l,omitempty"` // times are milliseconds after the body's base
	Since      int64  `json:"s,omitempty"`
	Until      int64  `json:"u,omitempty"`
	Named      bool   `json:"n,omitempty"`
	Word       string `json:"w,omitempty"` // a breaker's trip, a block's reason
	Level      int    `json:"e,omitempty"`
	ProvedAt   int64  `json:"p,omitempty"`
}

var guardLetters = map[resilience.Guard]string{
	resilience.CircuitBreaker: "b", resilience.CredentialCooldownGuard: "c", resilience.ModelLockoutGuard: "m",
}

// The words that a row may bring, by guard.
var rowWords = map[resilience.Guard][]string{
	resilience.CircuitBreaker:          {"", "failures", "cooldown"},
	resilience.CredentialCooldownGuard: {string(resilience.RateLimited), string(resilience.QuotaExhausted), string(resilience.AuthFailed)},
	resilience.ModelLockoutGuard:       {string(resilience.ModelNotFound), string(resilience.ModelLimited)},
}

// arrange puts rows into one order, so that the same ones are the same page.
func arrange(rows []resilience.Row) {
	slices.SortFunc(rows, byGuard)
}

func byGuard(a, b resilience.Row) int {
	return cmp.Or(cmp.Compare(a.Guard, b.Guard), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Credential, b.Credential))
}

// encodeRows is the body of a page of guards; nil for no rows. If there are more than a page may hold, blocks go before counts, and those
// that end later before the others.
func encodeRows(c clock, of string, rows []resilience.Row) []byte {
	if len(rows) == 0 {
		return nil
	}
	for most := maxRows; ; most -= most/16 + 1 {
		if len(rows) > most {
			rows = slices.Clone(rows)
			slices.SortStableFunc(rows, func(a, b resilience.Row) int { return b.Until.Compare(a.Until) })
			rows = rows[:most]
		}
		body := guardsBody{Version: pageVersion, Of: of, Base: baseOf(c, rows), Rows: make([]rowBody, len(rows))}
		for i := range rows {
			body.Rows[i] = encodeRow(c, body.Base, &rows[i])
		}
		text, err := json.Marshal(&body)
		if err != nil {
			return nil // there is nothing in it that JSON cannot say
		}
		if len(text) <= MaxBody {
			return text
		}
	}
}

// baseOf is a moment before all that rows tell of.
func baseOf(c clock, rows []resilience.Row) (base int64) {
	for i := range rows {
		r := &rows[i]
		for _, at := range [...]time.Time{r.FailedAt, r.Since, r.Until, r.ProvedAt} {
			if ms := stamp(c, at); ms != 0 && (base == 0 || ms <= base) {
				base = ms - 1
			}
		}
	}
	return base
}

func encodeRow(c clock, base int64, r *resilience.Row) rowBody {
	after := func(at time.Time) int64 {
		if at.IsZero() {
			return 0
		}
		return stamp(c, at) - base
	}
	word := string(r.Reason)
	if r.Guard == resilience.CircuitBreaker {
		word = r.Trip
	}
	return rowBody{
		Guard: guardLetters[r.Guard], Credential: r.Credential, Secret: r.Secret, Model: r.Model,
		Failures: r.Failures, FailedAt: after(r.FailedAt), Since: after(r.Since), Until: after(r.Until), Named: r.Named, Word: word,
		Level: r.Level, ProvedAt: after(r.ProvedAt),
	}
}

// decodeRows reads a page of guards, as of now; ok is false where it is none that this program knows. Rows that it does not
// know, or that cannot be true, are left out.
func decodeRows(c clock, now time.Time, text []byte) (of string, rows []resilience.Row, ok bool) {
	if len(text) == 0 {
		return "", nil, true
	}
	var body guardsBody
	if len(text) > MaxBody || json.Unmarshal(text, &body) != nil || body.Version != pageVersion {
		return "", nil, false
	}
	if len(body.Rows) > maxRows {
		body.Rows = body.Rows[:maxRows]
	}
	for i := range body.Rows {
		if r, sane := decodeRow(c, now, body.Base, &body.Rows[i]); sane {
			rows = append(rows, r)
		}
	}
	return body.Of, rows, true
}

func decodeRow(c clock, now time.Time, base int64, b *rowBody) (r resilience.Row, sane bool) {
	for guard, letter := range guardLetters {
		if letter == b.Guard {
			r.Guard = guard
		}
	}
	if r.Guard == resilience.None || !slices.Contains(rowWords[r.Guard], b.Word) || len(b.Model) > maxName || len(b.Credential) > maxName {
		return r, false
	}
	r.Credential, r.Secret, r.Model, r.Named = b.Credential, b.Secret, b.Model, b.Named
	r.Failures, r.Level = min(max(b.Failures, 0), maxCount), min(max(b.Level, 0), maxCount)
	t := reader{clock: c, now: now, sane: true, base: base}
	r.FailedAt, r.Since, r.Until, r.ProvedAt = t.past(b.FailedAt), t.past(b.Since), t.end(b.Until), t.past(b.ProvedAt)
	if r.Guard == resilience.CircuitBreaker {
		r.Trip = b.Word
		if r.Failures > 0 && r.FailedAt.IsZero() {
			t.sane = false
		}
	} else {
		r.Reason = resilience.Reason(b.Word)
	}
	if r.Since.IsZero() != r.Until.IsZero() || r.Until.Before(r.Since) {
		t.sane = false
	}
	return r, t.sane
}

// stamp is a local time in a page; 0 is none.
func stamp(c clock, at time.Time) int64 {
	if at.IsZero() {
		return 0
	}
	return c.theirs(at).UnixMilli()
}

// reader reads times out of a page.
type reader struct {
	clock clock
	now   time.Time
	base  int64
	sane  bool // all so far may be true
}

// past is a moment that has been.
func (r *reader) past(ms int64) time.Time { return r.within(ms, maxPast, maxEarly) }

// end is a moment when something ends.
func (r *reader) end(ms int64) time.Time { return r.within(ms, maxPast, maxAhead) }

func (r *reader) within(ms int64, before, after time.Duration) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	now := r.clock.theirs(r.now).UnixMilli()
	if r.base != 0 && (r.base < now-maxPast.Milliseconds() || r.base > now+maxEarly.Milliseconds() || ms < 0 || ms > (maxPast+maxAhead).Milliseconds()) {
		r.sane = false
		return time.Time{}
	}
	ms += r.base
	if ms < now-before.Milliseconds() || ms > now+after.Milliseconds() {
		r.sane = false
		return time.Time{}
	}
	return r.clock.ours(time.UnixMilli(ms))
}
