package telemetry

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// NewLogger makes a logger that writes one line a record to w, in format "json" or "text". Every string in a line is
// escaped so that no control, invisible or invalid character gets through: a line stays a line, and a terminal shows
// what is there. If w is a *LineWriter, records of level warn and above hasten it.
func NewLogger(w io.Writer, format string, level slog.Leveler) (*slog.Logger, error) {
	h := &handler{out: &output{w: w}, level: level}
	switch format {
	case "json":
		h.form = jsonForm{}
	case "text":
		h.form = textForm{}
	default:
		return nil, fmt.Errorf("log format %q is neither json nor text", format)
	}
	if lines, ok := w.(*LineWriter); ok {
		h.out.lines = lines
		lines.tellDropped(func(dropped uint64) []byte {
			return h.append(nil, time.Now(), slog.LevelWarn, "log lines dropped", []slog.Attr{slog.Uint64("lines", dropped)})
		})
	}
	return slog.New(h), nil
}

// handler is a slog.Handler. slog's own cost three to four times as much for a request's line (BenchmarkRequestLine),
// and let some invisible characters through; hence this one.
type handler struct {
	out   *output
	level slog.Leveler
	form  form
	// fixed is what WithAttrs added, as it is written; opened the groups that are open at its end, pending those that
	// are opened once something is in them.
	fixed           []byte
	opened, pending []string
}

// output is shared by a handler and those derived from it.
type output struct {
	lines *LineWriter // w, if it is one: it needs no lock of ours
	mu    sync.Mutex
	w     io.Writer
}

func (o *output) write(line []byte, urgent bool) error {
	if o.lines != nil {
		_, err := o.lines.put(line, urgent)
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	_, err := o.w.Write(line)
	return err
}

var _ slog.Handler = (*handler)(nil)

// Enabled says whether records of the level are written.
func (h *handler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level.Level() }

// WithAttrs gives a handler that writes attrs in every line.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	d := *h
	d.fixed = h.form.open(slices.Clone(h.fixed), h.opened, h.pending)
	before := len(d.fixed)
	groups := slices.Concat(h.opened, h.pending)
	for _, a := range attrs {
		d.fixed = h.form.attr(d.fixed, groups, a)
	}
	if len(d.fixed) == before { // nothing in it: the groups stay pending
		return h
	}
	d.opened, d.pending = groups, nil
	return &d
}

// WithGroup gives a handler whose further attributes are in a group.
func (h *handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	d := *h
	d.pending = append(slices.Clone(h.pending), name)
	return &d
}

// Handle writes one record.
func (h *handler) Handle(_ context.Context, r slog.Record) error {
	attrs := make([]slog.Attr, 0, 24)
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, a)
		return true
	})
	return h.emit(r.Time, r.Level, r.Message, attrs)
}

// emit writes one line. It is Handle without a Record, which would cost a copy of the attributes on the heap.
func (h *handler) emit(at time.Time, level slog.Level, msg string, attrs []slog.Attr) error {
	buf := lineBuffers.Get().(*[]byte)
	line := h.append((*buf)[:0], at, level, msg, attrs)
	err := h.out.write(line, level >= slog.LevelWarn)
	if cap(line) <= maxPooledLine {
		*buf = line
		lineBuffers.Put(buf)
	}
	return err
}

const maxPooledLine = 16 << 10

var lineBuffers = sync.Pool{New: func() any { b := make([]byte, 0, 1024); return &b }}

func (h *handler) append(line []byte, at time.Time, level slog.Level, msg string, attrs []slog.Attr) []byte {
	line = h.form.begin(line)
	if !at.IsZero() {
		line = h.form.attr(line, nil, slog.Time(slog.TimeKey, at))
	}
	line = h.form.attr(line, nil, slog.String(slog.LevelKey, level.String()))
	line = h.form.attr(line, nil, slog.String(slog.MessageKey, msg))
	line = h.form.fixed(line, h.fixed)
	opened := h.opened
	if len(attrs) > 0 {
		before := len(line)
		groups := h.opened
		if len(h.pending) > 0 {
			groups = slices.Concat(h.opened, h.pending)
			line = h.form.open(line, h.opened, h.pending)
		}
		start := len(line)
		for i := range attrs {
			line = h.form.attr(line, groups, attrs[i])
		}
		if len(line) == start {
			line = line[:before]
		} else {
			opened = groups
		}
	}
	return h.form.end(line, opened)
}
