package traces

import (
	"strings"
	"time"
)

// The kinds of spans that there are here, as OTLP numbers them.
const (
	kindServer = 2
	kindClient = 3
)

// maxText is how long a value may be that clients and upstreams choose, in bytes.
const maxText = 200

// span is one span on its way into bytes. It is used again for the next one.
type span struct {
	trace      [16]byte
	id, parent [8]byte // a zero parent: it is the first of its trace
	remote     bool    // the parent is another process's
	state      string
	name       string
	kind       int
	start, end time.Time
	failed     bool
	attrs      []attr
	events     []event
}

// event is something that happened in a span.
type event struct {
	at    time.Time
	name  string
	attrs []attr
}

type kind uint8

const (
	textKind kind = iota
	boolKind
	intKind
	floatKind
	listKind
)

// attr is one attribute.
type attr struct {
	key  string
	kind kind
	text string
	n    int64 // of boolKind, too
	f    float64
	list []string
}

func flag(key string, v bool) attr {
	a := attr{key: key, kind: boolKind}
	if v {
		a.n = 1
	}
	return a
}

func number(key string, n int64) attr { return attr{key: key, kind: intKind, n: n} }

func seconds(key string, d time.Duration) attr {
	return attr{key: key, kind: floatKind, f: d.Seconds()}
}

// text is a value that somebody outside may have chosen: cut, and made valid UTF-8, without which a collector refuses the
// whole batch.
func text(key, v string) attr { return attr{key: key, text: clean(v)} }

func clean(s string) string {
	if len(s) > maxText {
		s = s[:maxText]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

func (s *span) set(a ...attr) { s.attrs = append(s.attrs, a...) }

// say sets an attribute unless it is empty.
func (s *span) say(key, v string) {
	if v != "" {
		s.attrs = append(s.attrs, text(key, v))
	}
}

// count sets a number unless it is 0.
func (s *span) count(key string, n int64) {
	if n > 0 {
		s.attrs = append(s.attrs, number(key, n))
	}
}

// reset makes the span empty; its slices keep their room.
func (s *span) reset() {
	clear(s.attrs)
	clear(s.events)
	*s = span{attrs: s.attrs[:0], events: s.events[:0]}
}

// flags are those of OTLP: sampled, and whether the parent is known to be another process's.
func (s *span) flags() uint32 {
	const sampled, known, remote = 1, 0x100, 0x200
	f := uint32(sampled | known)
	if s.remote {
		f |= remote
	}
	return f
}
