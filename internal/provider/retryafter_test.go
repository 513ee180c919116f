package provider

import (
	"net/http"
	"testing"
	"time"

	"evergate/internal/fault"
)

// now is a Friday, half a second past a whole one.
var now = time.Date(2026, 1, 2, 3, 4, 5, 500_000_000, time.UTC)

// R41, up to the cap and the computed cooldowns, which are not the upstream's word.
func TestReadWait(t *testing.T) {
	const absent = -1
	google := `{"error":{"code":429,"details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure"},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.074s"}]}}`
	for _, tc := range []struct {
		name   string
		header map[string]string
		body   string
		want   time.Duration
	}{
		{"nothing", nil, "", absent},
		{"ms first", map[string]string{"Retry-After-Ms": "644", "Retry-After": "1"}, "", 644 * time.Millisecond},
		{"ms with a fraction", map[string]string{"Retry-After-Ms": "0.5"}, "", 500 * time.Microsecond},
		{"unusable ms: the next", map[string]string{"Retry-After-Ms": "soon", "Retry-After": "1"}, "", time.Second},
		{"ms too far: the next", map[string]string{"Retry-After-Ms": "86400001", "Retry-After": "1"}, "", time.Second},
		{"seconds", map[string]string{"Retry-After": "120"}, "", 2 * time.Minute},
		{"fraction", map[string]string{"Retry-After": " 1.25 "}, "", 1250 * time.Millisecond},
		{"zero is a value", map[string]string{"Retry-After": "0"}, "", 0},
		{"negative", map[string]string{"Retry-After": "-1"}, "", absent},
		{"plus", map[string]string{"Retry-After": "+1"}, "", absent},
		{"exponent", map[string]string{"Retry-After": "1e1"}, "", absent},
		{"infinite", map[string]string{"Retry-After": "Inf"}, "", absent},
		{"no number", map[string]string{"Retry-After": "NaN"}, "", absent},
		{"hex", map[string]string{"Retry-After": "0x10"}, "", absent},
		{"two points", map[string]string{"Retry-After": "1.2.3"}, "", absent},
		{"a day", map[string]string{"Retry-After": "86400"}, "", 24 * time.Hour},
		{"beyond a day", map[string]string{"Retry-After": "86400.001"}, "", absent},
		{"huge", map[string]string{"Retry-After": "99999999999999999999999999"}, "", absent},
		{"date", map[string]string{"Retry-After": "Fri, 02 Jan 2026 03:04:15 GMT"}, "", 9500 * time.Millisecond},
		{"date by its own clock", map[string]string{"Retry-After": "Fri, 02 Jan 2026 05:00:10 GMT", "Date": "Fri, 02 Jan 2026 05:00:00 GMT"}, "", 10 * time.Second},
		{"date equal", map[string]string{"Retry-After": "Fri, 02 Jan 2026 05:00:00 GMT", "Date": "Fri, 02 Jan 2026 05:00:00 GMT"}, "", 0},
		{"date past", map[string]string{"Retry-After": "Fri, 02 Jan 2026 03:04:05 GMT"}, "", absent},
		{"date too far", map[string]string{"Retry-After": "Sun, 04 Jan 2026 03:04:05 GMT"}, "", absent},
		{"old date formats", map[string]string{"Retry-After": "Friday, 02-Jan-26 03:04:15 GMT"}, "", 9500 * time.Millisecond},

		{"one reset alone", map[string]string{"X-Ratelimit-Reset": "1m30s"}, "", 90 * time.Second},
		{"reset, milliseconds", map[string]string{"X-Ratelimit-Reset": "250ms"}, "", 250 * time.Millisecond},
		{"reset, fraction", map[string]string{"X-Ratelimit-Reset": "6.5s"}, "", 6500 * time.Millisecond},
		{"reset, days", map[string]string{"X-Ratelimit-Reset": "0d2h"}, "", 2 * time.Hour},
		{"reset, seconds", map[string]string{"X-Ratelimit-Reset": "11.38"}, "", 11380 * time.Millisecond},
		{"reset, epoch seconds", map[string]string{"X-Ratelimit-Reset": "1767323050"}, "", 4500 * time.Millisecond},
		{"reset, epoch milliseconds", map[string]string{"X-Ratelimit-Reset": "1767323050250"}, "", 4750 * time.Millisecond},
		{"reset past", map[string]string{"X-Ratelimit-Reset": "1767323040"}, "", absent},
		{"reset negative", map[string]string{"X-Ratelimit-Reset": "-6s"}, "", absent},
		{"reset too far", map[string]string{"X-Ratelimit-Reset": "25h"}, "", absent},
		{"reset of another epoch", map[string]string{"X-Ratelimit-Reset": "1767323"}, "", absent},
		{"reset of what is left", map[string]string{"X-Ratelimit-Reset": "6s", "X-Ratelimit-Remaining": "1"}, "", absent},
		{"of several the one used up", map[string]string{
			"X-Ratelimit-Reset-Requests": "8m", "X-Ratelimit-Remaining-Requests": "99",
			"X-Ratelimit-Reset-Tokens": "6s", "X-Ratelimit-Remaining-Tokens": "0",
		}, "", 6 * time.Second},
		{"of several used up the latest", map[string]string{
			"X-Ratelimit-Reset-Requests": "8m", "X-Ratelimit-Remaining-Requests": "0",
			"X-Ratelimit-Reset-Tokens": "6s", "X-Ratelimit-Remaining-Tokens": "0",
		}, "", 8 * time.Minute},
		{"of several none used up", map[string]string{
			"X-Ratelimit-Reset-Requests": "8m", "X-Ratelimit-Remaining-Requests": "99",
			"X-Ratelimit-Reset-Tokens": "6s", "X-Ratelimit-Remaining-Tokens": "63",
		}, "", absent},
		{"of several without remaining none", map[string]string{"X-Ratelimit-Reset-Requests": "8m", "X-Ratelimit-Reset-Tokens": "6s"}, "", absent},
		{"retry-after before resets", map[string]string{"Retry-After": "3", "X-Ratelimit-Reset": "8m", "X-Ratelimit-Remaining": "0"}, "", 3 * time.Second},
		{"not a reset", map[string]string{"X-Ratelimit-Resetting": "8m"}, "", absent},
		{"anthropic", map[string]string{
			"Anthropic-Ratelimit-Requests-Reset": "2026-01-02T03:04:35Z", "Anthropic-Ratelimit-Requests-Remaining": "0",
			"Anthropic-Ratelimit-Output-Tokens-Reset": "2026-01-02T03:09:35Z", "Anthropic-Ratelimit-Output-Tokens-Remaining": "8000",
		}, "", 29500 * time.Millisecond},
		{"anthropic by a clock that is off", map[string]string{
			"Anthropic-Ratelimit-Requests-Reset": "2026-01-02T05:00:30Z", "Anthropic-Ratelimit-Requests-Remaining": "0",
			"Date": "Fri, 02 Jan 2026 05:00:00 GMT",
		}, "", 30 * time.Second},
		{"absolute reset with Date in agreement", map[string]string{
			"X-Ratelimit-Reset": "1767323047000", "Date": "Fri, 02 Jan 2026 03:04:05 GMT",
		}, "", 1500 * time.Millisecond},

		{"google", nil, google, 34074 * time.Millisecond},
		{"google in an array", nil, "[" + google + "]", 34074 * time.Millisecond},
		{"google last", map[string]string{"Retry-After": "1"}, google, time.Second},
		{"google broken", nil, google[:len(google)-3], absent},
		{"google negative", nil, `{"error":{"details":[{"@type":"x.RetryInfo","retryDelay":"-3s"}]}}`, absent},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := http.Header{}
			for k, v := range tc.header {
				h.Set(k, v)
			}
			got := ReadWait(h, []byte(tc.body), now)
			want := fault.Wait{For: tc.want, Named: true}
			if tc.want == absent {
				want = fault.Wait{}
			}
			if got != want {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
}

// R41: whatever comes, a wait is within a day and never negative.
func FuzzReadWait(f *testing.F) {
	f.Add("644", "1", "6s", "0", "Fri, 02 Jan 2026 03:04:15 GMT", []byte(`{"error":{"details":[{"@type":"RetryInfo","retryDelay":"3s"}]}}`))
	f.Add("", "Fri, 02 Jan 2026 03:04:15 GMT", "1767323050250", "", "", []byte(`[{"error":{}}]RetryInfo`))
	f.Add("", "", "2026-01-02T03:04:35Z", "0", "Fri, 31 Dec 9999 23:59:59 GMT", []byte("RetryInfo"))
	f.Fuzz(func(t *testing.T, ms, after, reset, remaining, date string, body []byte) {
		h := http.Header{
			"Retry-After-Ms": {ms}, "Retry-After": {after}, "X-Ratelimit-Reset": {reset}, "X-Ratelimit-Remaining": {remaining},
			"Date": {date}, "Anthropic-Ratelimit-Tokens-Reset": {reset}, "Anthropic-Ratelimit-Tokens-Remaining": {remaining},
		}
		w := ReadWait(h, body, now)
		if w.For < 0 || w.For > 24*time.Hour || !w.Named && w.For != 0 {
			t.Errorf("%+v", w)
		}
	})
}
