package admin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"evergate/internal/nearest"
	"evergate/internal/resilience"
)

const (
	maxOrder  = 16 << 10 // bytes of a request's body
	maxReason = 500      // bytes: it stands in logs and status pages
	maxFor    = 8760 * time.Hour
)

// order is the body of POST /admin/v1/providers/{p}/breaker.
type order struct {
	Action string  `json:"action"` // reset, open, close
	Reason string  `json:"reason"`
	For    *string `json:"for"`   // a duration; none: until the next order
	Model  string  `json:"model"` // none: the provider's breaker
}

var orderFields = []string{"action", "reason", "for", "model"}

// breaker carries out an order and answers with the provider's health after it (R31).
func (a *handler) breaker(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("provider")
	providers := a.sources.Health().Providers
	if _, ok := providers[name]; !ok {
		writeError(w, http.StatusNotFound, "unknown_provider", unknown("provider", name, slices.Sorted(maps.Keys(providers))))
		return
	}
	o, wrong := readOrder(w, r, time.Now())
	if wrong != nil {
		wrong.write(w)
		return
	}
	switch err := a.sources.Operate(name, o, a.who(r)); {
	case errors.Is(err, resilience.ErrOneBreaker):
		invalid("model", "%q has one breaker for all its models: leave model out, or set circuit_breaker.scope to model or auto", name).write(w)
		return
	case err != nil:
		writeError(w, http.StatusConflict, "conflict", err.Error())
		return
	}
	writeJSON(w, http.StatusOK, a.sources.Health().Providers[name])
}

// who is whom the log will name.
func (a *handler) who(r *http.Request) string {
	from := r.RemoteAddr
	if host, _, err := net.SplitHostPort(from); err == nil {
		from = host
	}
	if a.guard.open {
		return from
	}
	return "holder of the admin token at " + from
}

// unread says why a body was not read to its end.
func unread(err error) string {
	tooLarge := (*http.MaxBytesError)(nil)
	switch {
	case errors.As(err, &tooLarge):
		return "the body is too large"
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "the body came too slowly"
	}
	return "the body ended early"
}

// readBody reads a JSON object with these fields and no others from a request's body into what is given; an empty body leaves it as
// it is. such is an example of one.
func readBody(w http.ResponseWriter, r *http.Request, into any, such string, fields ...string) *mistake {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxOrder))
	if err != nil {
		return invalid("", "the body cannot be read: %s; at most %d bytes are", err, maxOrder)
	}
	trimmed := bytes.TrimSpace(text)
	if len(trimmed) == 0 {
		return nil
	}
	if trimmed[0] != '{' {
		return invalid("", `the body must be a JSON object such as %s`, such)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return misread(err, fields)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return invalid("", "there is more than one JSON object in the body")
	}
	return nil
}

// readOrder reads a request's body, or says what is wrong with it.
func readOrder(w http.ResponseWriter, r *http.Request, now time.Time) (o resilience.Order, wrong *mistake) {
	const such = `{"action": "open", "reason": "maintenance", "for": "30m"}`
	var in order
	if r.ContentLength == 0 {
		return o, invalid("", "the body must be a JSON object such as %s", such)
	}
	if wrong := readBody(w, r, &in, such, orderFields...); wrong != nil {
		return o, wrong
	}
	o.Model, o.Reason = in.Model, strings.TrimSpace(in.Reason)
	switch in.Action {
	case "reset":
		o.Action = resilience.Reset
	case "open":
		o.Action = resilience.ForceOpen
	case "close":
		o.Action = resilience.ForceClosed
	case "":
		return o, invalid("action", "action is missing; it must be reset, open or close")
	default:
		return o, invalid("action", "%s; it must be reset, open or close", unknown("action", in.Action, []string{"reset", "open", "close"}))
	}
	switch {
	case o.Reason == "":
		return o, invalid("reason", "reason is missing; say why, for whoever wonders later")
	case len(o.Reason) > maxReason:
		return o, invalid("reason", "reason is longer than %d bytes", maxReason)
	case in.For == nil:
		return o, nil
	case o.Action == resilience.Reset:
		return o, invalid("for", "a reset holds nothing, so that for has no meaning; leave it out")
	}
	length, err := time.ParseDuration(*in.For)
	if err != nil || length <= 0 || length > maxFor {
		return o, invalid("for", "%q must be a duration such as 90s, 30m or 8h, at most a year; leave it out to hold it until the next order", *in.For)
	}
	o.Until = now.Add(length)
	return o, nil
}

// misread puts what the JSON decoder says into words.
func misread(err error, fields []string) *mistake {
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind):
		return invalid(kind.Field, "%s must be text, not %s", kind.Field, kind.Value)
	case strings.HasPrefix(err.Error(), "json: unknown field "):
		name := strings.Trim(strings.TrimPrefix(err.Error(), "json: unknown field "), `"`)
		return invalid(clip(name), "%s", unknown("field", name, fields))
	}
	return invalid("", "the body is not valid JSON: %s", strings.TrimPrefix(err.Error(), "json: "))
}

// unknown says that there is none of that name, and which was likely meant.
func unknown(what, name string, known []string) string {
	text := fmt.Sprintf("there is no %s %q", what, clip(name))
	if near := nearest.Names(name, known, 1); len(near) > 0 {
		text += fmt.Sprintf("; did you mean %q?", near[0])
	}
	return text
}

// mistake is what is wrong with a request, and in which field; an empty one: with all of it.
type mistake struct{ param, message string }

func invalid(param, format string, args ...any) *mistake {
	return &mistake{param, fmt.Sprintf(format, args...)}
}

func (m *mistake) write(w http.ResponseWriter) {
	body := errorBody{"", "invalid_request", m.param}
	body.Message = m.message
	writeJSON(w, http.StatusBadRequest, map[string]errorBody{"error": body})
}
