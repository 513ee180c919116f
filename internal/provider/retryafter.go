package provider

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"evergate/internal/fault"
)

// maxWait: a wait beyond it counts as not said (R41).
const maxWait = 24 * time.Hour

// maxSkew is how far the upstream's clock, which Date shows in whole seconds, may be from ours to count as the same.
const maxSkew = 2 * time.Second

// ReadWait is an upstream's own word on when to come back (R41), the first usable of: retry-after-ms; Retry-After, in
// seconds, with a fraction or not, or as an HTTP date; the rate-limit resets; Google's RetryInfo in the body. Zero is a
// value. What is past, negative, unreadable or beyond 24 h counts as absent.
//
// A date is the upstream's, so it is taken relative to the response's own Date where there is one: a clock that is off
// then does no harm. An absolute reset, which may be finer than a second, is relative to now while Date agrees with it.
func ReadWait(h http.Header, body []byte, now time.Time) fault.Wait {
	date, dated := http.ParseTime(h.Get("Date"))
	if dated != nil {
		date = now
	}
	if w, ok := readNumber(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return w
	}
	if w, ok := readRetryAfter(h.Get("Retry-After"), date); ok {
		return w
	}
	upstreamNow := now
	if skew := now.Sub(date); skew < -maxSkew || skew > maxSkew {
		upstreamNow = date
	}
	if w, ok := readResets(h, upstreamNow); ok {
		return w
	}
	if w, ok := readRetryInfo(body); ok {
		return w
	}
	return fault.Wait{}
}

// usable makes a wait of a duration that R41 admits.
func usable(d time.Duration) (fault.Wait, bool) {
	if d < 0 || d > maxWait {
		return fault.Wait{}, false
	}
	return fault.Wait{For: d, Named: true}, true
}

// readNumber reads digits with an optional fraction, and nothing else that a float may look like.
func readNumber(s string, unit time.Duration) (fault.Wait, bool) {
	n, ok := decimal(strings.TrimSpace(s))
	if !ok || n > float64(maxWait/unit) {
		return fault.Wait{}, false
	}
	return usable(time.Duration(math.Round(n * float64(unit))))
}

func decimal(s string) (float64, bool) {
	if s == "" || strings.Trim(s, "0123456789.") != "" || s[0] == '.' {
		return 0, false
	}
	n, err := strconv.ParseFloat(s, 64)
	return n, err == nil
}

func readRetryAfter(s string, date time.Time) (fault.Wait, bool) {
	if w, ok := readNumber(s, time.Second); ok {
		return w, true
	}
	t, err := http.ParseTime(strings.TrimSpace(s))
	if err != nil {
		return fault.Wait{}, false
	}
	return usable(t.Sub(date))
}

// readResets reads the rate-limit resets: of several the latest whose limit is used up. A single one that comes
// without its remaining stands by itself; with none used up they are about other limits than the one that was hit.
func readResets(h http.Header, now time.Time) (fault.Wait, bool) {
	var best fault.Wait
	found, resets := false, 0
	var alone string
	for name, values := range h {
		remaining, ok := remainingOf(name)
		if !ok || len(values) == 0 {
			continue
		}
		resets++
		left := h.Get(remaining)
		if left == "" {
			alone = values[0]
			continue
		}
		if n, ok := decimal(strings.TrimSpace(left)); !ok || n != 0 {
			continue
		}
		if w, ok := readReset(values[0], now); ok && (!found || w.For > best.For) {
			best, found = w, true
		}
	}
	if resets == 1 && alone != "" {
		return readReset(alone, now)
	}
	return best, found
}

// remainingOf names the header that says how much is left of the limit that a reset header is about:
// X-Ratelimit-Reset[-Tokens…] and Anthropic-Ratelimit-…-Reset.
func remainingOf(name string) (string, bool) {
	name = http.CanonicalHeaderKey(name)
	if rest, ok := strings.CutPrefix(name, "X-Ratelimit-Reset"); ok && (rest == "" || rest[0] == '-') {
		return "X-Ratelimit-Remaining" + rest, true
	}
	if strings.HasPrefix(name, "Anthropic-Ratelimit-") {
		if of, ok := strings.CutSuffix(name, "-Reset"); ok {
			return of + "-Remaining", true
		}
	}
	return "", false
}

// readReset reads a duration (1m30s, 250ms), a time (RFC 3339), or a number: epoch milliseconds, epoch seconds or, as
// no epoch is that small, seconds to go.
func readReset(s string, now time.Time) (fault.Wait, bool) {
	s = strings.TrimSpace(s)
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return usable(t.Sub(now))
	}
	n, ok := decimal(s)
	if !ok {
		return readDuration(s)
	}
	switch {
	case n <= maxWait.Seconds():
		return readNumber(s, time.Second)
	case n >= 1e11 && n < 1e14:
		return usable(time.UnixMilli(int64(n)).Sub(now))
	case n >= 1e8 && n < 1e11:
		return usable(time.Unix(0, int64(n*1e9)).Sub(now))
	}
	return fault.Wait{}, false
}

// readDuration reads Go's own form and days.
func readDuration(s string) (fault.Wait, bool) {
	var days time.Duration
	if head, rest, ok := strings.Cut(s, "d"); ok {
		n, ok := decimal(head)
		if !ok || n > 1 {
			return fault.Wait{}, false
		}
		days = time.Duration(n * float64(maxWait))
		if s = rest; s == "" {
			return usable(days)
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 || d > maxWait {
		return fault.Wait{}, false
	}
	return usable(days + d)
}

// retryInfo is google.rpc.RetryInfo as it comes in an error's details.
type retryInfo struct {
	Error struct {
		Details []struct {
			Type       string          `json:"@type"`
			RetryDelay json.RawMessage `json:"retryDelay"`
		} `json:"details"`
	} `json:"error"`
}

func readRetryInfo(body []byte) (fault.Wait, bool) {
	body = bytes.TrimSpace(body)
	if len(body) > maxErrorJSON || !bytes.Contains(body, []byte("RetryInfo")) {
		return fault.Wait{}, false
	}
	// The OpenAI-compatible face of Gemini puts its errors into an array.
	list := make([]retryInfo, 1)
	if body[0] == '[' {
		if json.Unmarshal(body, &list) != nil {
			return fault.Wait{}, false
		}
	} else if json.Unmarshal(body, &list[0]) != nil {
		return fault.Wait{}, false
	}
	for _, e := range list {
		for _, d := range e.Error.Details {
			var s string
			if strings.HasSuffix(d.Type, "RetryInfo") && json.Unmarshal(d.RetryDelay, &s) == nil {
				if w, ok := readDuration(strings.TrimSpace(s)); ok {
					return w, true
				}
			}
		}
	}
	return fault.Wait{}, false
}
