package config

import (
	"regexp"
	"strings"
)

// What may be kept of a body.
const (
	defaultBody = 64 << 10
	leastBody   = 1 << 10
	mostBody    = 1 << 20
)

// bodySize is how much of a body may be kept.
func bodySize() shape[int64] {
	s := size()
	return shape[int64]{schema: s.schema, read: func(r *reader, n *node) (int64, bool) {
		v, ok := s.read(r, n)
		if ok && (v < leastBody || v > mostBody) {
			r.problem(n.at, "", "must be from 1KiB to 1MiB")
			return 0, false
		}
		return v, ok
	}}
}

// expression is a regular expression. One that is found everywhere, as it matches nothing, is a mistake.
func expression() shape[*regexp.Regexp] {
	const want = "a regular expression such as '[0-9]{13,16}'"
	return single(want, map[string]any{"type": "string", "minLength": 1}, func(s string) (*regexp.Regexp, string, string) {
		re, err := regexp.Compile(s)
		switch {
		case err != nil:
			return nil, "is no regular expression that RE2 takes: " + strings.TrimPrefix(err.Error(), "error parsing regexp: "), ""
		case re.MatchString(""):
			return nil, "matches where there is nothing; it must be " + want, ""
		}
		return re, "", ""
	})
}

func (b *builder) log() Log {
	f := &b.file.log.v
	l := Log{Format: f.format.or(""), Level: f.level.or(defaultLogLevel)}
	if f.bodies.or(false) {
		l.Bodies = int(f.maxBody.or(defaultBody))
	}
	for _, re := range f.redact.v {
		l.Redact = append(l.Redact, re.v)
	}
	return l
}
