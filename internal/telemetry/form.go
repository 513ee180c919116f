package telemetry

import (
	"encoding"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"
)

// form is how a line is written: JSON or text.
type form interface {
	begin(line []byte) []byte
	// fixed appends what WithAttrs wrote before.
	fixed(line, attrs []byte) []byte
	// open opens groups within those that are open.
	open(line []byte, opened, groups []string) []byte
	// attr appends one attribute within groups; nothing for an empty one.
	attr(line []byte, groups []string, a slog.Attr) []byte
	// end closes the groups and the line.
	end(line []byte, opened []string) []byte
}

// jsonForm writes {"time":…,"level":…,"msg":…,…}. A comma is needed unless an object was just opened.
type jsonForm struct{}

func (jsonForm) begin(line []byte) []byte { return append(line, '{') }

func (jsonForm) fixed(line, attrs []byte) []byte {
	if len(attrs) == 0 {
		return line
	}
	return append(append(line, ','), attrs...)
}

func (f jsonForm) open(line []byte, _, groups []string) []byte {
	for _, g := range groups {
		line = append(f.key(line, g), '{')
	}
	return line
}

func (jsonForm) key(line []byte, key string) []byte {
	if n := len(line); n > 0 && line[n-1] != '{' {
		line = append(line, ',')
	}
	return append(appendQuoted(line, key), ':')
}

func (f jsonForm) attr(line []byte, groups []string, a slog.Attr) []byte {
	v := resolved(a.Value)
	if v.Kind() != slog.KindGroup {
		if a.Key == "" && v.Equal(slog.Value{}) {
			return line
		}
		return appendValue(f.key(line, a.Key), v, true)
	}
	before := len(line)
	if a.Key != "" {
		line = append(f.key(line, a.Key), '{')
	}
	start := len(line)
	for _, member := range v.Group() {
		line = f.attr(line, groups, member)
	}
	switch {
	case len(line) == start: // empty groups are left out
		return line[:before]
	case a.Key != "":
		return append(line, '}')
	}
	return line
}

func (jsonForm) end(line []byte, opened []string) []byte {
	for range opened {
		line = append(line, '}')
	}
	return append(line, "}\n"...)
}

// textForm writes key=value pairs; groups are prefixes of the key.
type textForm struct{}

func (textForm) begin(line []byte) []byte { return line }

func (textForm) fixed(line, attrs []byte) []byte {
	if len(attrs) == 0 {
		return line
	}
	return append(append(line, ' '), attrs...)
}

func (textForm) open(line []byte, _, _ []string) []byte { return line }

func (f textForm) attr(line []byte, groups []string, a slog.Attr) []byte {
	v := resolved(a.Value)
	if v.Kind() == slog.KindGroup {
		if a.Key != "" {
			groups = append(groups[:len(groups):len(groups)], a.Key)
		}
		for _, member := range v.Group() {
			line = f.attr(line, groups, member)
		}
		return line
	}
	if a.Key == "" && v.Equal(slog.Value{}) {
		return line
	}
	if len(line) > 0 {
		line = append(line, ' ')
	}
	for _, g := range groups {
		line = append(appendBare(line, g), '.')
	}
	return appendValue(append(appendBare(line, a.Key), '='), v, false)
}

func (textForm) end(line []byte, _ []string) []byte { return append(line, '\n') }

// resolved is Resolve without its cost for the many values that need none.
func resolved(v slog.Value) slog.Value {
	if v.Kind() != slog.KindLogValuer {
		return v
	}
	return v.Resolve()
}

// appendValue appends a resolved value that is no group; in text, strings that need no quotes get none.
func appendValue(line []byte, v slog.Value, quote bool) []byte {
	switch v.Kind() {
	case slog.KindInt64:
		return strconv.AppendInt(line, v.Int64(), 10)
	case slog.KindUint64:
		return strconv.AppendUint(line, v.Uint64(), 10)
	case slog.KindBool:
		return strconv.AppendBool(line, v.Bool())
	case slog.KindFloat64:
		if f := v.Float64(); !math.IsNaN(f) && !math.IsInf(f, 0) {
			return appendFloat(line, f)
		}
	case slog.KindTime:
		if !quote {
			return appendTime(line, v.Time())
		}
		return append(appendTime(append(line, '"'), v.Time()), '"')
	case slog.KindAny:
		if v.Any() == nil {
			return append(line, "null"...)
		}
		return appendAny(line, v.Any(), quote)
	case slog.KindString, slog.KindDuration, slog.KindGroup, slog.KindLogValuer:
	}
	return appendString(line, v.String(), quote)
}

func appendAny(line []byte, value any, quote bool) []byte {
	switch x := value.(type) {
	case error:
		return appendString(line, x.Error(), quote)
	case encoding.TextMarshaler:
		if text, err := x.MarshalText(); err == nil {
			return appendString(line, string(text), quote)
		}
	case fmt.Stringer:
		return appendString(line, x.String(), quote)
	}
	if quote {
		if text, err := json.Marshal(value); err == nil {
			return append(line, text...)
		}
	}
	return appendString(line, fmt.Sprintf("%+v", value), quote)
}

func appendString(line []byte, s string, quote bool) []byte {
	if quote {
		return appendQuoted(line, s)
	}
	return appendBare(line, s)
}

// appendBare appends a string for text: quoted only if it is empty or has a space or a sign that would confuse.
func appendBare(line []byte, s string) []byte {
	if s == "" {
		return append(line, `""`...)
	}
	for i := range len(s) {
		if asciiMarks[s[i]]&bare == 0 {
			return appendQuoted(line, s)
		}
	}
	return append(line, s...)
}

const (
	plain = 1 << iota // stands for itself within quotes
	bare              // … and without them
)

// asciiMarks says for each byte what it may stand as.
var asciiMarks = func() (marks [256]byte) {
	for c := byte(' '); c < 0x7f; c++ {
		if c == '"' || c == '\\' {
			continue
		}
		marks[c] = plain
		if c != ' ' && c != '=' {
			marks[c] |= bare
		}
	}
	return marks
}()

// appendQuoted appends a JSON string. Everything that is not printable is escaped, which is more than JSON asks for:
// DEL, C1 controls and the invisible characters that turn the direction of text reach no terminal.
func appendQuoted(line []byte, s string) []byte {
	const hex = "0123456789abcdef"
	line = append(line, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if asciiMarks[c]&plain != 0 {
			i++
			continue
		}
		r, size := rune(c), 1
		if c >= utf8.RuneSelf {
			if r, size = utf8.DecodeRuneInString(s[i:]); unicode.IsPrint(r) && (r != utf8.RuneError || size > 1) {
				i += size
				continue
			}
		}
		line = append(line, s[start:i]...)
		switch {
		case c == '"' || c == '\\':
			line = append(line, '\\', c)
		case c == '\n':
			line = append(line, `\n`...)
		case c == '\t':
			line = append(line, `\t`...)
		case c == '\r':
			line = append(line, `\r`...)
		case r > 0xffff: // a surrogate pair
			r -= 0x10000
			for _, half := range [2]rune{0xd800 + r>>10, 0xdc00 + r&0x3ff} {
				line = append(line, '\\', 'u', hex[half>>12&15], hex[half>>8&15], hex[half>>4&15], hex[half&15])
			}
		default:
			line = append(line, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
		}
		i += size
		start = i
	}
	return append(append(line, s[start:]...), '"')
}

// appendFloat appends a finite number in its shortest form. Numbers of at most three decimals, such as milliseconds to
// the microsecond, take a way that costs a third.
func appendFloat(line []byte, f float64) []byte {
	thousandths := math.Round(f * 1000)
	if !(math.Abs(thousandths) < 1<<53) || thousandths/1000 != f || thousandths == 0 {
		return strconv.AppendFloat(line, f, 'f', -1, 64)
	}
	n := int64(thousandths)
	if n < 0 {
		line, n = append(line, '-'), -n
	}
	line = strconv.AppendInt(line, n/1000, 10)
	if n %= 1000; n != 0 {
		line = appendPadded(append(line, '.'), int(n), 3)
		for line[len(line)-1] == '0' {
			line = line[:len(line)-1]
		}
	}
	return line
}

// appendTime appends a time as RFC 3339 in UTC with milliseconds. AppendFormat costs three times as much.
func appendTime(line []byte, t time.Time) []byte {
	t = t.UTC()
	year, month, day := t.Date()
	if year < 0 || year > 9999 {
		return t.AppendFormat(line, "2006-01-02T15:04:05.000Z07:00")
	}
	hour, minute, second := t.Clock()
	line = appendPadded(line, year, 4)
	line = appendPadded(append(line, '-'), int(month), 2)
	line = appendPadded(append(line, '-'), day, 2)
	line = appendPadded(append(line, 'T'), hour, 2)
	line = appendPadded(append(line, ':'), minute, 2)
	line = appendPadded(append(line, ':'), second, 2)
	line = appendPadded(append(line, '.'), t.Nanosecond()/1e6, 3)
	return append(line, 'Z')
}

func appendPadded(line []byte, n, width int) []byte {
	for unit := [...]int{1, 10, 100, 1000}[width-1]; unit > 0; unit /= 10 {
		line = append(line, byte('0'+n/unit%10))
	}
	return line
}
