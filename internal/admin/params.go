package admin

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"evergate/internal/ledger"
)

// maxParam bounds a parameter's value, in bytes.
const maxParam = 256

// params reads the parameters of a request; wrong is the first mistake in them.
type params struct {
	values url.Values
	now    time.Time
	wrong  *mistake
}

// parameters takes a request's parameters; known are those that there are.
func parameters(r *http.Request, known ...string) *params {
	p := &params{now: time.Now()}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		p.wrong = invalid("", "the parameters cannot be read: a sign after %% is not as it must be, or a semicolon stands between them")
		return p
	}
	p.values = values
	for name, given := range values {
		switch {
		case !slices.Contains(known, name):
			p.mistake(name, "%s", unknown("parameter", name, known))
		case len(given) > 1:
			p.mistake(name, "%s is there %d times; once is enough", name, len(given))
		case len(given[0]) > maxParam:
			p.mistake(name, "%s is longer than %d bytes", name, maxParam)
		case !storable(given[0]):
			p.mistake(name, "%s is not UTF-8, or has a NUL, which no text that is kept has", name)
		}
	}
	return p
}

// storable says whether a text is one that a store may be asked for.
func storable(text string) bool { return utf8.ValidString(text) && !strings.Contains(text, "\x00") }

// clip cuts what stands in a message.
func clip(text string) string {
	if len(text) > 40 {
		return strings.ToValidUTF8(text[:40], "") + "…"
	}
	return text
}

func (p *params) mistake(name, format string, args ...any) {
	if p.wrong == nil {
		p.wrong = invalid(clip(name), format, args...)
	}
}

// text is a parameter as it is; empty where there is none.
func (p *params) text(name string) string { return p.values.Get(name) }

// flag is a parameter that is true or false; false where there is none.
func (p *params) flag(name string) bool {
	v := p.text(name)
	if v != "" && v != "true" && v != "false" {
		p.mistake(name, "%s must be true or false, not %q", name, clip(v))
	}
	return v == "true"
}

// limit is how many rows a page shall have.
func (p *params) limit() int {
	const otherwise = 50
	v := p.text("limit")
	if v == "" {
		return otherwise
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > ledger.MaxPage {
		p.mistake("limit", "limit must be a number from 1 to %d, not %q", ledger.MaxPage, clip(v))
	}
	return n
}

// cursor is where a page begins.
func (p *params) cursor() ledger.Row {
	row := ledger.Row(p.text("cursor"))
	if row == "" {
		return ""
	}
	if _, ok := row.At(); !ok {
		p.mistake("cursor", "cursor must be next of the page before, as it came")
	}
	return row
}

// time is a time, or one so long before now; zero where there is none.
func (p *params) time(name string) time.Time {
	v := p.text(name)
	if v == "" {
		return time.Time{}
	}
	if back, err := time.ParseDuration(v); err == nil && back >= 0 {
		return p.now.Add(-back)
	}
	at, err := time.Parse(time.RFC3339, v)
	if err != nil || at.Year() < 1970 || at.Year() > 9999 {
		p.mistake(name, "%s must be a time such as 2026-01-31T12:00:00Z, or a duration back from now such as 24h, not %q", name, clip(v))
		return time.Time{}
	}
	return at
}

// span is the time between from and to, which must not be after it.
func (p *params) span() (from, to time.Time) {
	from, to = p.time("from"), p.time("to")
	if !from.IsZero() && !to.IsZero() && !from.Before(to) {
		p.mistake("to", "to must be after from")
	}
	return from, to
}

// status is a status, or a class such as 5xx as its first digit; 0 where there is none.
func (p *params) status() int {
	v := p.text("status")
	if v == "" {
		return 0
	}
	digits := v
	if len(v) == 3 && strings.HasSuffix(v, "xx") {
		digits = v[:1]
	}
	n, err := strconv.Atoi(digits)
	if err != nil || len(v) != 3 || v[0] < '1' || v[0] > '5' {
		p.mistake("status", "status must be one such as 429, or a class such as 5xx, not %q", clip(v))
	}
	return n
}

// words are words with commas between them, each one of known and there once; nil where there are none.
func (p *params) words(name string, known ...string) []string {
	v := p.text(name)
	if v == "" {
		return nil
	}
	words := strings.Split(v, ",")
	for i, w := range words {
		switch {
		case !slices.Contains(known, w):
			p.mistake(name, "%s; %s may have %s", unknown("word", w, known), name, strings.Join(known, ", "))
		case slices.Contains(words[:i], w):
			p.mistake(name, "%s has %s twice", name, w)
		}
	}
	return words
}

// choice is one of known; the first of them where there is none.
func (p *params) choice(name string, known ...string) string {
	v := p.text(name)
	if v == "" {
		return known[0]
	}
	if !slices.Contains(known, v) {
		p.mistake(name, "%s must be %s, not %q", name, strings.Join(slices.DeleteFunc(slices.Clone(known), func(s string) bool { return s == "" }), " or "), clip(v))
	}
	return v
}
